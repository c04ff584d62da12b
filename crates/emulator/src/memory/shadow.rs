//! Who read and wrote each byte of a stretch of memory, as far as it may still matter.
//!
//! A cell for each word names the last write, and the reads since that no later read stands for. An instruction of a
//! warp is one [`Group`]; a cell names a group and a lane, or a set of them. A word that lanes of one instruction share
//! byte by byte stays one cell; one whose bytes have different histories is split into bytes.

use rustc_hash::FxHashMap;

/// What an instruction of a warp did to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The block's number in the grid.
    pub block: u64,
    /// The warp, or a channel of the block's copy engines where it is beyond the warps.
    pub warp: u16,
    /// How many warps from there did it together.
    pub warps: u8,
    /// Bytes that each lane accessed.
    pub bytes: u8,
    /// When, by the warp's clock; [`Group::PENDING`] while it is under way.
    pub tick: u32,
    pub pc: u32,
    pub touch: Touch,
    /// Whether nobody knows what is there until it is done.
    pub lands: bool,
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub writes: bool,
    /// The scope of a strong access; `None` for a weak one.
    pub strong: Option<crate::program::Scope>,
    /// A read through the path for data that does not change: `.nc`.
    pub constant: bool,
    /// By a copy or a product, and not by a thread itself.
    pub asynchronous: bool,
}

impl Group {
    /// The time of what is under way: after everything that anybody knows of.
    pub(crate) const PENDING: u32 = u32::MAX;

    /// Whether it is a bulk copy that has not landed.
    pub(crate) fn asynchronous_landing(&self) -> bool {
        self.tick == Group::PENDING && self.touch.writes && self.lands
    }
}

/// An access of a lane: a group's number and the lane, or with [`SET`] a set's.
type Cell = u32;

const SET: Cell = 1 << 31;
/// The word's bytes have cells of their own.
const SPLIT: Cell = u32::MAX;
/// Accesses that a cell remembers beside each other.
const MOST: usize = 24;
/// Groups after which a stretch of memory forgets what was.
const GROUPS: usize = 1 << 18;
/// Groups that are looked for among the last.
const RECENT: usize = 256;
/// The largest number of a group or set, far below what a cell holds.
const NUMBERS: u32 = 1 << 25;

/// The history of a stretch of memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    writes: Vec<Cell>,
    reads: Vec<Cell>,
    /// From number `first` on; what is below is forgotten.
    groups: Vec<Group>,
    first: u32,
    /// Groups, each with its lanes relative to that of the cell.
    sets: Vec<Vec<(u32, u32)>>,
    first_set: u32,
    /// The set for a cell and one more access; 0 where that access stands for all.
    unions: FxHashMap<(Cell, u32, u32), u32>,
    split: FxHashMap<u32, [[Cell; 2]; 4]>,
    /// Numbers of groups, to find one again that is repeated.
    recent: Vec<u32>,
    /// Groups under way.
    pending: u32,
    /// Whether any write, any read was noted since everything was forgotten.
    wrote: bool,
    was_read: bool,
    launch: u64,
}

/// One new access to a stretch of words, for [`Shadow::touch`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Its first byte.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
    /// The lane of the first byte.
    pub lane: u32,
    /// Bytes a lane; 0 when all are the one lane's.
    pub stride: u32,
}

/// How an earlier access is ordered to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before it, whatever its lane.
    Before,
    /// Before it, for this lane.
    BeforeLane,
    /// Not ordered, and that is fine: both are strong.
    Allowed,
    /// A race.
    Race,
}

impl Shadow {
    /// Gets ready for so many bytes in a launch; forgets earlier ones.
    pub(crate) fn prepare(&mut self, bytes: usize, launch: u64) {
        if self.launch != launch {
            self.launch = launch;
            self.forget();
        }
        let words = bytes.div_ceil(4);
        if self.writes.len() < words {
            self.writes.resize(words, 0);
            self.reads.resize(words, 0);
        }
    }

    /// Forgets everything: what comes is ordered after it.
    pub(crate) fn forget(&mut self) {
        for word in std::mem::take(&mut self.split).into_keys() {
            self.writes[word as usize] = 0;
            self.reads[word as usize] = 0;
        }
        self.first += self.groups.len() as u32;
        self.first_set += self.sets.len() as u32;
        self.groups.clear();
        self.sets.clear();
        self.unions.clear();
        self.pending = 0;
        (self.wrote, self.was_read) = (false, false);
        if self.first.max(self.first_set) > NUMBERS / 2 {
            self.writes.fill(0);
            self.reads.fill(0);
            (self.first, self.first_set) = (0, 0);
        }
    }

    /// Whether something is under way.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// The number of a group for an access that is about to be noted.
    pub(crate) fn group(&mut self, group: Group) -> u32 {
        // Reads that nothing tells apart are one; of writes, each may be overwritten by the next.
        let slot = (group.block as usize * 31 + usize::from(group.warp) * 7 + group.pc as usize) % RECENT;
        if group.tick != Group::PENDING
            && !group.touch.writes
            && let Some(number) = self.recent.get(slot)
            && self.get(*number) == Some(&group)
        {
            return *number;
        }
        if self.groups.len() >= GROUPS {
            self.forget();
        }
        self.pending += u32::from(group.tick == Group::PENDING);
        self.groups.push(group);
        // Numbers start at 1: an empty cell is 0.
        let number = self.first + self.groups.len() as u32;
        self.recent.resize(RECENT, 0);
        self.recent[slot] = number;
        number
    }

    /// What was under way is done at that time.
    pub(crate) fn complete(&mut self, number: u32, tick: u32) {
        let group = number.checked_sub(self.first + 1).and_then(|n| self.groups.get_mut(n as usize));
        if let Some(group) = group
            && group.tick == Group::PENDING
        {
            group.tick = tick;
            self.pending -= 1;
        }
    }

    fn get(&self, number: u32) -> Option<&Group> {
        self.groups.get(number.checked_sub(self.first + 1)? as usize)
    }

    /// Notes an access to a stretch of bytes. `judge` says how an earlier access of a lane is ordered to this one of a
    /// lane; `race` hears of each that is not, with both lanes and the byte.
    pub(crate) fn touch(
        &mut self,
        number: u32,
        s: Stretch,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
        race: &mut impl FnMut(&Group, u32, u32, u32),
    ) {
        let end = s.offset + s.bytes;
        let lane_at = |byte: u32| s.lane + (byte - s.offset).checked_div(s.stride).unwrap_or(0);
        // What is known of the last group and set that was looked at.
        let mut known = Known::default();
        let Some(touch) = self.get(number).map(|g| g.touch) else { return };
        if self.fresh(number, s, touch.writes) {
            return;
        }
        self.wrote |= touch.writes;
        self.was_read |= !touch.writes;
        let mut word = s.offset / 4;
        while 4 * word < end {
            let (from, to) = ((4 * word).max(s.offset), (4 * word + 4).min(end));
            let at = word as usize;
            if at >= self.writes.len() {
                return;
            }
            let whole = to - from == 4;
            if self.writes[at] == SPLIT || !whole {
                self.divide(word);
                for byte in from..to {
                    let Some([write, read]) = self.split.get(&word).map(|b| b[(byte % 4) as usize]) else { return };
                    let lane = lane_at(byte);
                    let cells =
                        self.step((number, lane, 1), (write, read), touch, &mut known, judge, &mut |g, a, b| {
                            race(g, a, b, byte);
                        });
                    if let Some(bytes) = self.split.get_mut(&word) {
                        bytes[(byte % 4) as usize] = cells.into();
                    }
                }
            } else {
                let lane = lane_at(from);
                let lanes = if s.stride > 0 && s.stride < 4 { 4 / s.stride } else { 1 };
                let cells = (self.writes[at], self.reads[at]);
                (self.writes[at], self.reads[at]) =
                    self.step((number, lane, lanes), cells, touch, &mut known, judge, &mut |g, a, b| {
                        race(g, a, b, from)
                    });
            }
            word += 1;
        }
    }

    /// The largest cell that is forgotten.
    #[inline(always)]
    fn limit(&self) -> Cell {
        self.first << 5 | 31
    }

    /// Notes an access to whole words that nobody touched yet; false when they are not.
    fn fresh(&mut self, number: u32, s: Stretch, writes: bool) -> bool {
        let words = (s.offset / 4) as usize..((s.offset + s.bytes) / 4) as usize;
        let per_lane = if s.stride == 0 { words.len() } else { (s.stride / 4) as usize };
        let whole = per_lane > 0 && [s.offset, s.bytes, s.stride].iter().all(|n| n.is_multiple_of(4));
        if !whole || words.end > self.writes.len() {
            return false;
        }
        let limit = self.limit();
        let latest = |cells: &[Cell]| cells.iter().fold(0, |latest, cell| latest.max(*cell));
        let writes_there = self.wrote && latest(&self.writes[words.clone()]) > limit;
        if writes_there || self.was_read && latest(&self.reads[words.clone()]) > limit {
            return false;
        }
        self.wrote |= writes;
        self.was_read |= !writes;
        let cells = if writes { &mut self.writes[words] } else { &mut self.reads[words] };
        for (lane, cells) in (s.lane..).zip(cells.chunks_mut(per_lane)) {
            cells.fill(number << 5 | (lane & 31));
        }
        true
    }

    /// Judges what a cell holds and gives its new contents.
    #[inline(always)]
    fn step(
        &mut self,
        (number, lane, lanes): (u32, u32, u32),
        (write, read): (Cell, Cell),
        touch: Touch,
        known: &mut Known,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
        race: &mut impl FnMut(&Group, u32, u32),
    ) -> (Cell, Cell) {
        let mine = number << 5 | (lane & 31);
        let limit = self.limit();
        let after_writes = write <= limit || self.judge(write, (number, lane, lanes), known, judge, race);
        if !touch.writes {
            if read <= limit {
                return (write, mine);
            }
            if read >> 5 == number && lanes == 1 && read & 31 == lane {
                return (write, read);
            }
            return (write, self.union(read, (number, lane, lanes), known, judge));
        }
        if read > limit {
            self.judge(read, (number, lane, lanes), known, judge, race);
        }
        // A write that others are not ordered to, all of them strong, stands beside them.
        let new = if after_writes { mine } else { self.union(write, (number, lane, lanes), known, judge) };
        (new, 0)
    }

    /// Tells of every access in a cell that is no predecessor. Gives whether all are ordered before, or part of the same
    /// instruction.
    #[inline(always)]
    fn judge(
        &self,
        cell: Cell,
        (mine, lane, lanes): (u32, u32, u32),
        known: &mut Known,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
        race: &mut impl FnMut(&Group, u32, u32),
    ) -> bool {
        if cell == 0 || (cell & SET == 0 && cell >> 5 == known.before) {
            return true;
        }
        let mut all = true;
        self.each_member(cell, |number, old| {
            let Some(group) = self.get(number).filter(|_| number != mine) else { return };
            let olds = if group.bytes < 4 && lanes > 1 { 4 / u32::from(group.bytes.max(1)) } else { 1 };
            for n in 0..lanes.max(olds) {
                let (old, new) =
                    ((old + if olds > 1 { n } else { 0 }) & 31, (lane + if lanes > 1 { n } else { 0 }) & 31);
                match judge(group, old, new) {
                    Order::Before => {
                        if cell & SET == 0 {
                            known.before = number;
                        }
                        return;
                    }
                    Order::BeforeLane => {}
                    Order::Allowed => all = false,
                    Order::Race => {
                        race(group, old, new);
                        return;
                    }
                }
            }
        });
        all
    }

    /// The groups of a cell with their lanes, relative to the cell's.
    #[inline(always)]
    fn members(&self, cell: Cell, mut visit: impl FnMut(u32, u32)) {
        if cell & SET == 0 {
            return visit(cell >> 5, 1);
        }
        let number = (cell & !SET) >> 5;
        let Some(set) = number.checked_sub(self.first_set + 1).and_then(|n| self.sets.get(n as usize)) else { return };
        set.iter().for_each(|(group, lanes)| visit(*group, *lanes));
    }

    /// The groups of a cell lane by lane.
    #[inline(always)]
    fn each_member(&self, cell: Cell, mut visit: impl FnMut(u32, u32)) {
        self.members(cell, |group, lanes| {
            let mut lanes = lanes.rotate_left(cell & 31);
            while lanes != 0 {
                visit(group, lanes.trailing_zeros());
                lanes &= lanes - 1;
            }
        });
    }

    /// The cell with one more access, without those that are ordered before it.
    fn union(
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
            let set = match self.unions.get(&key) {
                Some(set) => *set,
                None => self.new_union(cell, key, (lane, lanes), judge),
            };
            (known.key, known.set) = (Some(key), set);
            set
        };
        match set {
            0 => mine,
            u32::MAX => cell,
            set => SET | set << 5 | base,
        }
    }

    #[cold]
    fn new_union(
        &mut self,
        cell: Cell,
        key: (Cell, u32, u32),
        (lane, lanes): (u32, u32),
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
    ) -> u32 {
        let (_, number, delta) = key;
        let mut there = false;
        self.members(cell, |member, relative| there |= member == number && relative >> delta & 1 == 1);
        if there {
            self.unions.insert(key, u32::MAX);
            return u32::MAX;
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
        set
    }

    /// Gives each byte of a word a cell.
    fn divide(&mut self, word: u32) {
        let at = word as usize;
        if self.writes[at] == SPLIT {
            return;
        }
        let (write, read) = (self.writes[at], self.reads[at]);
        let shared = |cell: Cell, byte: u32| {
            let group = if cell & SET == 0 { self.get(cell >> 5) } else { None };
            match group {
                Some(g) if g.bytes < 4 && cell != 0 => (cell & !31) | ((cell + byte / u32::from(g.bytes.max(1))) & 31),
                _ => cell,
            }
        };
        let bytes = std::array::from_fn(|byte| [shared(write, byte as u32), shared(read, byte as u32)]);
        self.split.insert(word, bytes);
        self.writes[at] = SPLIT;
        self.reads[at] = 0;
    }
}

/// What was found out about the last cells.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// A group that is ordered before, all of it.
    before: u32,
    key: Option<(Cell, u32, u32)>,
    set: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(warp: u16, tick: u32, writes: bool) -> Group {
        let touch = Touch { writes, strong: None, constant: false, asynchronous: false };
        Group { block: 0, warp, warps: 1, bytes: 4, tick, pc: tick, touch, lands: false }
    }

    /// Touches bytes as one lane of a warp, with nothing ordered but a warp's own accesses; gives the warps it races with.
    fn touch(s: &mut Shadow, warp: u16, tick: u32, writes: bool, offset: u32, bytes: u32) -> Vec<u16> {
        let n = s.group(Group { bytes: bytes as u8, ..group(warp, tick, writes) });
        let mut races = vec![];
        let stretch = Stretch { offset, bytes, lane: 3, stride: 0 };
        let mut judge = |g: &Group, _, _| if g.warp == warp { Order::BeforeLane } else { Order::Race };
        s.touch(n, stretch, &mut judge, &mut |g, _, _, _| races.push(g.warp));
        races.sort();
        races.dedup();
        races
    }

    #[test]
    fn every_reader_counts() {
        let mut s = Shadow::default();
        s.prepare(64, 1);
        assert!(touch(&mut s, 0, 1, false, 8, 8).is_empty());
        assert!(touch(&mut s, 1, 1, false, 8, 8).is_empty());
        assert!(touch(&mut s, 2, 1, false, 12, 4).is_empty());
        assert_eq!(touch(&mut s, 3, 1, true, 8, 4), [0, 1]);
        assert_eq!(touch(&mut s, 3, 1, true, 12, 4), [0, 1, 2]);
        assert_eq!(touch(&mut s, 0, 2, false, 12, 4), [3]);
    }

    #[test]
    fn bytes_of_a_word_are_apart() {
        let mut s = Shadow::default();
        s.prepare(64, 1);
        assert!(touch(&mut s, 0, 1, true, 0, 2).is_empty());
        assert!(touch(&mut s, 1, 1, true, 2, 2).is_empty());
        assert_eq!(touch(&mut s, 2, 1, false, 0, 4), [0, 1]);
        assert_eq!(touch(&mut s, 1, 2, true, 0, 1), [0, 2]);
        s.forget();
        assert!(touch(&mut s, 3, 1, true, 0, 4).is_empty());
    }

    #[test]
    fn what_is_under_way_ends() {
        let mut s = Shadow::default();
        s.prepare(64, 1);
        let n = s.group(group(0, Group::PENDING, true));
        assert!(s.is_pending());
        s.complete(n, 5);
        assert!(!s.is_pending());
        assert_eq!(s.get(n).map(|g| g.tick), Some(5));
    }
}
