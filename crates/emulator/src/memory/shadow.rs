//! Who read and wrote each byte of a stretch of memory, as far as it may still matter.
//!
//! A cell for each word names the last write, and the reads since that no later read stands for. An instruction of a
//! warp is one [`Group`]; a cell names a group and a lane, or a set of them. A word that lanes of one instruction share
//! byte by byte stays one cell; one whose bytes have different histories is split into bytes.

mod group;
mod lanes;
mod parts;
mod sets;

pub(crate) use group::{Group, Order, Stretch, Touch};
pub(crate) use lanes::LaneWords;

use crate::simd::Simd;
use parts::Parts;
use rustc_hash::FxHashMap;

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
    /// Where writes may have been noted since everything was forgotten, and where reads.
    written: Parts,
    was_read: Parts,
    /// Bytes of a part, as a power of two.
    shift: u32,
    simd: Option<Simd>,
    launch: u64,
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
            self.shift = Parts::shift(4 * words);
            self.written.blur();
            self.was_read.blur();
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
        (self.written, self.was_read) = (Parts::default(), Parts::default());
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
            && self.get(*number).is_some_and(|g| g.tick == group.tick && *g == group)
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

    /// The accesses that are not forgotten.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
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
        let parts = Parts::between(s.offset, end, self.shift);
        let fresh = self.fresh(number, s, touch.writes, parts);
        if touch.writes {
            self.written.add(parts);
        } else {
            self.was_read.add(parts);
        }
        if fresh {
            return;
        }
        let mut word = s.offset / 4;
        let mut last = None;
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
                // Words of one lane with one history have one future.
                let new = match last {
                    Some((l, old, new)) if (l, old) == (lane, cells) => new,
                    _ => self.step((number, lane, lanes), cells, touch, &mut known, judge, &mut |g, a, b| {
                        race(g, a, b, from);
                    }),
                };
                last = Some((lane, cells, new));
                if s.stride == 0 {
                    let rest = at..((end / 4) as usize).min(self.writes.len());
                    let pairs = self.writes[rest.clone()].iter().zip(&self.reads[rest]);
                    let alike = pairs.take_while(|(write, read)| (**write, **read) == cells).count();
                    self.writes[at..at + alike].fill(new.0);
                    self.reads[at..at + alike].fill(new.1);
                    word += alike as u32;
                    continue;
                }
                (self.writes[at], self.reads[at]) = new;
            }
            word += 1;
        }
    }

    /// Whether anything between two bytes may have been written since everything was forgotten.
    #[inline(always)]
    pub(crate) fn was_written(&self, start: u32, end: u32) -> bool {
        self.written.touches(Parts::between(start, end, self.shift))
    }

    /// The largest cell that is forgotten.
    #[inline(always)]
    fn limit(&self) -> Cell {
        self.first << 5 | 31
    }

    /// Notes an access to whole words that nobody touched yet; false when they are not.
    fn fresh(&mut self, number: u32, s: Stretch, writes: bool, parts: Parts) -> bool {
        let words = (s.offset / 4) as usize..((s.offset + s.bytes) / 4) as usize;
        let fits = matches!(s.stride, 0..=2 | 4 | 8 | 16 | 32) && (s.offset | s.bytes).is_multiple_of(4);
        if !fits || words.end > self.writes.len() {
            return false;
        }
        let limit = self.limit();
        let simd = *self.simd.get_or_insert_with(Simd::detect);
        let (wrote, was_read) = (self.written.touches(parts), self.was_read.touches(parts));
        let (written, read) = (&mut self.writes[words.clone()], &mut self.reads[words]);
        simd.run(
            #[inline(always)]
            || {
                if wrote && any_above(written, limit) || was_read && any_above(read, limit) {
                    return false;
                }
                let cells = if writes { written } else { read };
                let first = number << 5;
                match s.stride {
                    0 => cells.fill(first | (s.lane & 31)),
                    4 => each_lane::<1>(cells, first, s.lane, 1),
                    8 => each_lane::<2>(cells, first, s.lane, 1),
                    16 => each_lane::<4>(cells, first, s.lane, 1),
                    32 => each_lane::<8>(cells, first, s.lane, 1),
                    // A word of several lanes names the first.
                    stride => each_lane::<1>(cells, first, s.lane, 4 / stride),
                }
                true
            },
        )
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
        // Reads of bytes are found where writes are looked for, too.
        self.written.add(Parts::between(4 * word, 4 * word + 4, self.shift));
        self.writes[at] = SPLIT;
        self.reads[at] = 0;
    }
}

/// Whether any cell is not forgotten.
#[inline(always)]
fn any_above(cells: &[Cell], limit: Cell) -> bool {
    cells.iter().fold(0, |any, cell| any | u32::from(*cell > limit)) != 0
}

/// Gives each lane its `N` cells, lanes `step` apart.
#[inline(always)]
fn each_lane<const N: usize>(cells: &mut [Cell], first: Cell, lane: u32, step: u32) {
    for (cells, n) in cells.chunks_exact_mut(N).zip(0..) {
        cells.fill(first | ((lane + n * step) & 31));
    }
}

/// What was found out about the last cells.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// A group that is ordered before, all of it.
    before: u32,
    key: Option<(Cell, u32, u32)>,
    set: u32,
    /// Whether the set is the one for the key wherever that comes.
    exact: bool,
}

impl Known {
    /// What comes does not follow what came.
    #[inline(always)]
    fn part(&mut self) {
        if !self.exact {
            self.key = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(warp: u16, tick: u32, writes: bool) -> Group {
        let touch = Touch { writes, strong: None, constant: false, asynchronous: false };
        Group { block: 0, warp, warps: 1, bytes: 4, tick, pc: tick, touch, lands: false, value: 0 }
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
    fn reads_of_bytes_are_kept_where_nobody_wrote() {
        let mut s = Shadow::default();
        s.prepare(64, 1);
        assert!(touch(&mut s, 0, 1, false, 8, 2).is_empty());
        assert_eq!(touch(&mut s, 1, 1, true, 8, 4), [0]);
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
