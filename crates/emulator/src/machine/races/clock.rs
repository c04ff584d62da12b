//! Vector clocks: what of each warp's accesses is ordered before something.

use super::parties::party_of;
use crate::lanes::LANES;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is known of one warp: accesses of its lanes up to some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Of all lanes up to `base`, of those in `mask` up to `top`.
    Flat { base: u32, mask: u32, top: u32 },
    /// Of each lane, and the least of them.
    Full(Box<[u32; LANES]>, u32),
}

impl Entry {
    pub(super) const NOTHING: Entry = Entry::Flat { base: 0, mask: 0, top: 0 };

    /// What is known of each lane.
    pub(super) fn of(times: [u32; LANES]) -> Entry {
        let least = times.iter().copied().min().unwrap_or_default();
        Entry::Full(Box::new(times), least)
    }

    pub(super) fn time(&self, lane: u32) -> u32 {
        match self {
            Entry::Flat { base, mask, top } => {
                if mask >> (lane & 31) & 1 == 1 {
                    *top.max(base)
                } else {
                    *base
                }
            }
            Entry::Full(times, _) => times[lane as usize % LANES],
        }
    }

    /// The time up to which all lanes' accesses are known.
    pub(super) fn of_all(&self) -> u32 {
        match self {
            Entry::Flat { base, mask: u32::MAX, top } => *top.max(base),
            Entry::Flat { base, .. } => *base,
            Entry::Full(_, least) => *least,
        }
    }

    /// The time up to which some lane's accesses are known.
    pub(super) fn latest(&self) -> u32 {
        match self {
            Entry::Flat { base, mask: 0, .. } => *base,
            Entry::Flat { base, top, .. } => *top.max(base),
            Entry::Full(times, _) => times.iter().copied().max().unwrap_or_default(),
        }
    }

    pub(super) fn join(&mut self, other: &Entry) {
        if let (Entry::Flat { base, mask, top }, Entry::Flat { base: b, mask: m, top: t }) = (&mut *self, other) {
            let low = (*base).max(*b);
            // Masks whose time is not above what is known of all say nothing.
            let (mine, theirs) = (if *top > low { *mask } else { 0 }, if *t > low { *m } else { 0 });
            let (joined, time) = match (mine, theirs) {
                (0, n) => (n, *t),
                (n, 0) => (n, *top),
                (a, b) if *top == *t => (a | b, *t),
                (a, b) if *top > *t && b & !a == 0 => (a, *top),
                (a, b) if *top < *t && a & !b == 0 => (b, *t),
                _ => {
                    let times = std::array::from_fn(|lane| self.time(lane as u32).max(other.time(lane as u32)));
                    *self = Entry::of(times);
                    return;
                }
            };
            (*base, *mask, *top) = if joined == u32::MAX { (time, 0, 0) } else { (low, joined, time) };
            return;
        }
        let times: [u32; LANES] = std::array::from_fn(|lane| self.time(lane as u32).max(other.time(lane as u32)));
        *self = if times.iter().all(|t| *t == times[0]) {
            Entry::Flat { base: times[0], mask: 0, top: 0 }
        } else {
            Entry::of(times)
        };
    }
}

/// What is known of warps, by block. Parts are shared between clocks until they change.
type Blocks = FxHashMap<u64, Rc<Vec<Entry>>>;

/// What is known of all warps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    blocks: Blocks,
    /// What was known at some `fence.proxy.async` that is known: copies see it. Kept where there are any.
    fenced: Option<Rc<Blocks>>,
    /// A bit for each party of the run that is over, with all that it did.
    over: Option<Rc<Vec<u64>>>,
}

impl Clock {
    /// Whether all that a party did is known.
    pub(super) fn is_over(&self, party: usize) -> bool {
        let word = self.over.as_ref().and_then(|over| over.get(party / 64));
        word.is_some_and(|word| word >> (party % 64) & 1 == 1)
    }

    /// A party is over, and this makes it known.
    pub(crate) fn end(&mut self, party: usize) {
        let over = Rc::make_mut(self.over.get_or_insert_default());
        if over.len() <= party / 64 {
            over.resize(party / 64 + 1, 0);
        }
        over[party / 64] |= 1 << (party % 64);
        self.blocks.retain(|block, _| party_of(*block) != party);
        if let Some(fenced) = &mut self.fenced {
            Rc::make_mut(fenced).retain(|block, _| party_of(*block) != party);
        }
    }

    /// What is known by now is fenced for the async proxy.
    pub(super) fn fence_proxy(&mut self, known: &Clock) {
        let fenced = Rc::make_mut(self.fenced.get_or_insert_default());
        known.blocks.iter().for_each(|(block, theirs)| join_block(fenced, *block, theirs));
    }

    /// What of a warp's accesses is fenced for the async proxy.
    pub(super) fn fenced_entry(&self, block: u64, warp: usize) -> Option<&Entry> {
        self.fenced.as_ref()?.get(&block)?.get(warp)
    }

    fn join_fenced(&mut self, other: &Clock) {
        match (&mut self.fenced, &other.fenced) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(Rc::clone(theirs)),
            (Some(mine), Some(theirs)) if !Rc::ptr_eq(mine, theirs) => {
                let mine = Rc::make_mut(mine);
                theirs.iter().for_each(|(block, theirs)| join_block(mine, *block, theirs));
            }
            _ => {}
        }
    }

    /// Adds what another knows of other parties.
    pub(super) fn join_others(&mut self, other: &Clock, party: usize) {
        self.join_over(other);
        self.join_fenced(other);
        for (block, theirs) in other.blocks.iter().filter(|(block, _)| party_of(**block) != party) {
            join_block(&mut self.blocks, *block, theirs);
        }
    }

    fn join_over(&mut self, other: &Clock) {
        match (&mut self.over, &other.over) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(Rc::clone(theirs)),
            (Some(mine), Some(theirs)) if !Rc::ptr_eq(mine, theirs) => {
                let mine = Rc::make_mut(mine);
                mine.resize(mine.len().max(theirs.len()), 0);
                mine.iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a |= b);
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.over.is_none() && self.fenced.is_none()
    }

    pub(super) fn entry(&self, block: u64, warp: usize) -> Option<&Entry> {
        self.blocks.get(&block)?.get(warp)
    }

    /// Whether it is known that a block has started.
    pub(super) fn has_met(&self, block: u64) -> bool {
        self.blocks.contains_key(&block)
    }

    /// Adds what is known of one warp.
    pub(super) fn add(&mut self, block: u64, warp: usize, entry: &Entry) {
        let entries = Rc::make_mut(self.blocks.entry(block).or_default());
        if entries.len() <= warp {
            entries.resize(warp + 1, Entry::NOTHING);
        }
        entries[warp].join(entry);
    }

    pub(crate) fn join(&mut self, other: &Clock) {
        self.join_over(other);
        self.join_fenced(other);
        for (block, theirs) in &other.blocks {
            join_block(&mut self.blocks, *block, theirs);
        }
    }
}

fn join_block(blocks: &mut Blocks, block: u64, theirs: &Rc<Vec<Entry>>) {
    let mine = blocks.entry(block).or_insert_with(|| Rc::clone(theirs));
    if Rc::ptr_eq(mine, theirs) {
        return;
    }
    let mine = Rc::make_mut(mine);
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), Entry::NOTHING);
    }
    mine.iter_mut().zip(theirs.iter()).for_each(|(a, b)| {
        if a != b {
            a.join(b);
        }
    });
}

/// The join of two shared clocks.
pub(super) fn joined(a: &Rc<Clock>, b: &Rc<Clock>) -> Rc<Clock> {
    if Rc::ptr_eq(a, b) || b.is_empty() {
        return Rc::clone(a);
    }
    if a.is_empty() {
        return Rc::clone(b);
    }
    let mut clock = (**a).clone();
    clock.join(b);
    Rc::new(clock)
}

/// A value that the lanes of a warp share while they agree.
#[derive(Clone, Debug)]
pub(super) enum Lanes<T> {
    One(T),
    Each(Vec<T>),
}

impl<T: Clone> Lanes<T> {
    pub(super) fn of(&self, lane: usize) -> &T {
        match self {
            Lanes::One(value) => value,
            Lanes::Each(values) => &values[lane % LANES],
        }
    }

    /// Changes it for some lanes; `all` are those that count.
    pub(super) fn change(&mut self, mask: u32, all: u32, mut new: impl FnMut(&T) -> T) {
        match self {
            Lanes::One(value) if all & !mask == 0 => *value = new(value),
            Lanes::One(value) => {
                let (old, changed) = (value.clone(), new(value));
                let pick = |lane| if mask >> lane & 1 == 1 { changed.clone() } else { old.clone() };
                *self = Lanes::Each((0..LANES).map(pick).collect());
            }
            Lanes::Each(values) => {
                let chosen = values.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1);
                chosen.for_each(|(_, value)| *value = new(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(base: u32, mask: u32, top: u32) -> Entry {
        Entry::Flat { base, mask, top }
    }

    #[test]
    fn entries_join_lane_by_lane() {
        let join = |a: Entry, b: Entry| {
            let expected: Vec<u32> = (0..32).map(|l| a.time(l).max(b.time(l))).collect();
            let mut joined = a.clone();
            joined.join(&b);
            assert_eq!((0..32).map(|l| joined.time(l)).collect::<Vec<u32>>(), expected, "{a:?} and {b:?}");
            joined
        };
        assert_eq!(join(flat(3, 1, 5), flat(2, 2, 5)), flat(3, 3, 5));
        assert_eq!(join(flat(3, 1, 5), flat(6, 2, 7)), flat(6, 2, 7));
        assert_eq!(join(flat(3, 0xffff, 5), flat(3, 0xffff_0000, 5)), flat(5, 0, 0));
        assert!(matches!(join(flat(3, 1, 5), flat(3, 2, 7)), Entry::Full(..)));
        let full = join(flat(0, 0xffff, 5), flat(0, 0xffff_0000, 7));
        assert_eq!(join(full.clone(), flat(9, 0, 0)), flat(9, 0, 0));
        assert_eq!(full.of_all(), 5);
    }
}
