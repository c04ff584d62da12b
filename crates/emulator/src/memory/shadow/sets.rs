//! Cells that name several accesses: sets, shared by all cells with the same history.

use super::{Cell, Group, Known, MOST, NUMBERS, Order, SET, Shadow};

impl Shadow {
    /// The groups of a cell with their lanes, relative to the cell's.
    #[inline(always)]
    pub(super) fn members(&self, cell: Cell, mut visit: impl FnMut(u32, u32)) {
        if cell & SET == 0 {
            return visit(cell >> 5, 1);
        }
        let number = (cell & !SET) >> 5;
        let Some(set) = number.checked_sub(self.first_set + 1).and_then(|n| self.sets.get(n as usize)) else { return };
        set.iter().for_each(|(group, lanes)| visit(*group, *lanes));
    }

    /// The groups of a cell lane by lane.
    #[inline(always)]
    pub(super) fn each_member(&self, cell: Cell, mut visit: impl FnMut(u32, u32)) {
        self.members(cell, |group, lanes| {
            let mut lanes = lanes.rotate_left(cell & 31);
            while lanes != 0 {
                visit(group, lanes.trailing_zeros());
                lanes &= lanes - 1;
            }
        });
    }

    /// The last writes to the words between two bytes, each with the lane and the first byte; of words in a row that one
    /// instruction wrote, for one lane, the first is enough.
    pub(crate) fn writes(&self, start: u32, end: u32, visit: &mut impl FnMut(&Group, u32, u32)) {
        let mut last = 0;
        for word in start / 4..end.div_ceil(4) {
            let Some(cell) = self.writes.get(word as usize).copied() else { return };
            if cell == super::SPLIT {
                let bytes = self.split.get(&word).into_iter().flatten().zip(4 * word..);
                for ([cell, _], byte) in bytes.filter(|(_, byte)| (start..end).contains(byte)) {
                    self.each_member(*cell, |number, lane| {
                        self.get(number).into_iter().for_each(|g| visit(g, lane, byte));
                    });
                }
            } else if cell != last && cell > self.limit() {
                self.each_member(cell, |number, lane| {
                    let Some(group) = self.get(number) else { return };
                    // A word of several lanes names the first.
                    let lanes = if group.bytes < 4 { 4 / u32::from(group.bytes.max(1)) } else { 1 };
                    (0..lanes).for_each(|n| visit(group, (lane + n) & 31, 4 * word + n * u32::from(group.bytes)));
                });
            }
            last = cell;
        }
    }

    /// The cell with one more access, without those that are ordered before it.
    pub(super) fn union(
        &mut self,
        cell: Cell,
        (number, lane, lanes): (u32, u32, u32),
        known: &mut Known,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
    ) -> Cell {
        let (base, delta) = (cell & 31, lane.wrapping_sub(cell) & 31);
        let mine = number << 5 | (lane & 31);
        if cell & SET == 0 && cell >> 5 == known.before {
            return mine;
        }
        let key = (cell & !31, number, delta);
        let set = if known.key == Some(key) {
            known.set
        } else {
            let (set, exact) = match self.unions.get(&key) {
                Some(set) => (*set, true),
                None => self.new_union(cell, key, (lane, lanes), judge),
            };
            (known.key, known.set, known.exact) = (Some(key), set, exact);
            set
        };
        match set {
            0 => mine,
            u32::MAX => cell,
            set => SET | set << 5 | base,
        }
    }

    /// The set, and whether it is the one for the key wherever that comes.
    #[cold]
    fn new_union(
        &mut self,
        cell: Cell,
        key: (Cell, u32, u32),
        (lane, lanes): (u32, u32),
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
    ) -> (u32, bool) {
        let (_, number, delta) = key;
        let mut there = false;
        self.members(cell, |member, relative| there |= member == number && relative >> delta & 1 == 1);
        if there {
            self.unions.insert(key, u32::MAX);
            return (u32::MAX, true);
        }
        let mut members: Vec<(u32, u32)> = vec![];
        let mut exact = true;
        self.members(cell, |member, relative| {
            let Some(group) = self.get(member) else { return };
            if member == number {
                return members.push((member, relative));
            }
            let mut rest = relative.rotate_left(cell & 31);
            let mut before = true;
            while rest != 0 && before {
                let old = rest.trailing_zeros();
                before = (0..lanes).all(|n| match judge(group, (old + n) & 31, (lane + n) & 31) {
                    Order::Before => true,
                    Order::BeforeLane => {
                        exact = false;
                        true
                    }
                    Order::Allowed | Order::Race => false,
                });
                rest &= rest - 1;
            }
            if !before {
                members.push((member, relative));
            }
        });
        let own = members.iter_mut().find(|(member, _)| *member == number);
        let full = match own {
            Some((_, relative)) => {
                *relative |= 1 << delta;
                false
            }
            None => {
                let full = members.len() >= MOST;
                members.push((number, 1 << delta));
                full
            }
        };
        let set = if members.len() == 1 && members[0].1.count_ones() == 1 {
            0
        } else if full || self.sets.len() as u32 >= NUMBERS / 2 {
            u32::MAX
        } else {
            self.sets.push(members);
            self.first_set + self.sets.len() as u32
        };
        // What holds for one lane need not for the next cell's.
        if exact {
            self.unions.insert(key, set);
        }
        (set, exact)
    }
}
