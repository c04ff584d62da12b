//! What the threads of a warp know.

use super::clock::{Clock, Entry, Lanes, joined};
use super::parties::party_of;
use crate::lanes::{LANES, each};
use crate::memory::Group;
use crate::program::Scope;
use std::rc::Rc;

/// Why something did not order what the author may have meant to order; told when a race shows that it was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    /// The block that wrote the flag.
    pub block: u64,
    pub why: Why,
    /// The instruction that wrote, and the one that read.
    pub write: u32,
    pub read: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The flag was written without a release.
    NoRelease,
    /// It was read without an acquire.
    NoAcquire,
    /// The writer's scope leaves the reader out.
    WriteScope(Scope),
    /// The reader's scope leaves the writer out.
    ReadScope(Scope),
}

/// A strong read, to tell whether it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Poll {
    pub pc: u32,
    pub mask: u32,
    pub address: u64,
    pub tick: u32,
}

/// The clock of a warp.
#[derive(Clone, Debug)]
pub(crate) struct WarpClock {
    pub block: u64,
    pub warp: u16,
    /// The time of what it does now.
    pub tick: u32,
    /// Up to then the lanes know of each other.
    synced: u32,
    /// What each lane knows of each other one, when some have met without the others.
    matrix: Option<Box<[[u32; LANES]; LANES]>>,
    /// What the lanes know of other warps.
    known: Lanes<Rc<Clock>>,
    /// What was known when the launch started.
    start: Rc<Clock>,
    /// What their last release fence makes known, and to whom.
    fenced: Lanes<Option<(Rc<Clock>, Scope)>>,
    /// What an acquire fence would make them know, by whom they read it.
    pending: Lanes<Option<(Rc<Clock>, Scope)>>,
    pub(super) hints: Vec<Hint>,
    /// The last strong read, and the number of strong writes before it.
    polled: Option<(Poll, u64)>,
    /// What a flag told each lane the last time, and at which instruction.
    seen: Vec<Option<(u32, Rc<Clock>)>>,
}

/// What a warp knows while its lanes agree, as far as it orders accesses.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    block: u64,
    warp: u16,
    synced: u32,
    known: Rc<Clock>,
}

/// Hints that a warp keeps.
const HINTS: usize = 16;

impl WarpClock {
    pub(crate) fn new(block: u64, warp: u16, start: &Rc<Clock>) -> WarpClock {
        WarpClock {
            block,
            warp,
            tick: 1,
            synced: 0,
            matrix: None,
            known: Lanes::One(Rc::clone(start)),
            start: Rc::clone(start),
            fenced: Lanes::One(None),
            pending: Lanes::One(None),
            hints: vec![],
            polled: None,
            seen: vec![],
        }
    }

    /// What it knows now; `None` where its lanes do not agree.
    #[inline(always)]
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        match (&self.known, &self.matrix) {
            (Lanes::One(known), None) => {
                Some(Snapshot { block: self.block, warp: self.warp, synced: self.synced, known: Rc::clone(known) })
            }
            _ => None,
        }
    }

    /// Whether it knows what it knew then.
    #[inline(always)]
    pub(super) fn is_at(&self, s: &Snapshot) -> bool {
        let same = |known: &Rc<Clock>| Rc::ptr_eq(known, &s.known);
        (self.block, self.warp, self.synced, self.matrix.is_none()) == (s.block, s.warp, s.synced, true)
            && matches!(&self.known, Lanes::One(known) if same(known))
    }

    /// The clock of a warp that knew this.
    pub(super) fn at(s: &Snapshot) -> WarpClock {
        WarpClock { synced: s.synced, ..WarpClock::new(s.block, s.warp, &s.known) }
    }

    /// Up to when a lane knows of another.
    #[inline(always)]
    pub(super) fn knows_lane(&self, lane: u32, of: u32) -> u32 {
        match &self.matrix {
            None => self.synced,
            Some(matrix) => matrix[lane as usize % LANES][of as usize % LANES],
        }
    }

    /// Up to when all lanes know of all.
    #[inline(always)]
    pub(super) fn all_know(&self) -> u32 {
        if self.matrix.is_none() { self.synced } else { 0 }
    }

    /// Whether all lanes know the same of other warps.
    #[inline(always)]
    pub(super) fn agrees(&self) -> bool {
        matches!(self.known, Lanes::One(_))
    }

    /// Whether an access of another party was ordered before the launch.
    pub(super) fn starts_after(&self, old: &Group, lane: u32) -> bool {
        self.start.is_over(party_of(old.block))
            || self.start.entry(old.block, old.warp.into()).is_some_and(|entry| old.tick <= entry.time(lane))
    }

    /// Whether an access is a bulk store of another block whose start is known to a lane.
    pub(super) fn knows_of_start(&self, old: &Group, old_lane: u32, lane: u32) -> bool {
        let stores = old.touch.asynchronous && old.touch.writes && !old.lands && old.block != self.block;
        let entry = self.known(lane).entry(old.block, old.warp.into());
        stores && entry.is_some_and(|entry| u64::from(entry.time(old_lane)) >= old.value)
    }

    pub(super) fn known(&self, lane: u32) -> &Clock {
        self.known.of(lane as usize)
    }

    /// Adds what a lane knows of other parties to a clock, unless it is what it started with.
    pub(crate) fn tell_others(&self, lane: u32, party: usize, start: &Rc<Clock>, to: &mut Clock) {
        let known = self.known.of(lane as usize);
        if !Rc::ptr_eq(known, start) {
            to.join_others(known, party);
        }
    }

    /// Lanes have met.
    pub(super) fn meet(&mut self, mask: u32, live: u32) {
        if live & !mask == 0 {
            self.synced = self.tick;
            self.matrix = None;
            if let Lanes::Each(clocks) = &self.known {
                self.known = Lanes::One(all(clocks, live));
            }
        } else {
            let matrix = self.matrix.get_or_insert_with(|| Box::new([[self.synced; LANES]; LANES]));
            let mut together = [0; LANES];
            for lane in each(mask) {
                together.iter_mut().zip(&matrix[lane]).for_each(|(a, b)| *a = (*a).max(*b));
            }
            each(mask).for_each(|lane| together[lane] = self.tick);
            each(mask).for_each(|lane| matrix[lane] = together);
            if let Lanes::Each(clocks) = &self.known {
                let clock = all(clocks, mask);
                self.known.change(mask, live, |_| Rc::clone(&clock));
            }
        }
        self.tick += 1;
    }

    /// What lanes know of their own warp, themselves included.
    fn own(&self, mask: u32) -> Entry {
        match &self.matrix {
            None => Entry::Flat { base: self.synced, mask, top: self.tick },
            Some(matrix) => {
                let mut times = [0; LANES];
                for lane in each(mask) {
                    times.iter_mut().zip(&matrix[lane]).for_each(|(a, b): (&mut u32, _)| *a = (*a).max(*b));
                }
                each(mask).for_each(|lane| times[lane] = self.tick);
                Entry::of(times)
            }
        }
    }

    /// Adds all that lanes know to a clock: they arrive somewhere. [`WarpClock::step`] must follow.
    pub(super) fn arrive(&mut self, mask: u32, at: &mut Clock) {
        match &self.known {
            Lanes::One(clock) => at.join(clock),
            Lanes::Each(clocks) => each(mask).for_each(|lane| at.join(&clocks[lane])),
        }
        at.add(self.block, self.warp.into(), &self.own(mask));
    }

    /// What comes now is later than what was made known.
    pub(super) fn step(&mut self) {
        self.tick += 1;
    }

    /// What lanes know, as a clock.
    pub(super) fn release(&mut self, mask: u32) -> Rc<Clock> {
        let mut clock = Clock::default();
        self.arrive(mask, &mut clock);
        Rc::new(clock)
    }

    /// Lanes get to know what a clock says.
    pub(super) fn acquire(&mut self, mask: u32, live: u32, clock: &Rc<Clock>) {
        if let Some(entry) = clock.entry(self.block, self.warp.into()) {
            self.learn(mask, live, entry);
        }
        self.known.change(mask, live, |known| joined(clock, known));
    }

    /// Lanes get to know of their own warp: others of it have made known what they did.
    fn learn(&mut self, mask: u32, live: u32, entry: &Entry) {
        if self.matrix.is_none() {
            if live & !mask == 0 {
                self.synced = self.synced.max(each(live).map(|lane| entry.time(lane as u32)).min().unwrap_or_default());
            }
            if entry.latest() <= self.synced {
                return;
            }
        }
        let synced = self.synced;
        let matrix = self.matrix.get_or_insert_with(|| Box::new([[synced; LANES]; LANES]));
        for lane in each(mask) {
            matrix[lane].iter_mut().enumerate().for_each(|(of, time)| *time = (*time).max(entry.time(of as u32)));
        }
    }

    /// A fence of some lanes.
    pub(super) fn fence(&mut self, mask: u32, live: u32, (acquires, releases): (bool, bool), scope: Scope) {
        if acquires {
            for lane in each(mask) {
                if let Some((clock, by)) = self.pending.of(lane).clone()
                    && by <= scope
                {
                    self.acquire(1 << lane, live, &clock);
                }
            }
        }
        if releases {
            // At one time for all lanes, each knowing of itself and of what it knew.
            for lane in each(mask) {
                let clock = self.release(1 << lane);
                self.fenced.change(1 << lane, live, |_| Some((Rc::clone(&clock), scope)));
            }
            self.step();
        }
    }

    /// A `fence.proxy.async` of some lanes.
    pub(super) fn fence_proxy(&mut self, mask: u32, live: u32) {
        let together = self.agrees() && self.matrix.is_none();
        let lanes = if together { 1 } else { LANES };
        for lane in each(mask).take(lanes) {
            let mask = if together { mask } else { 1 << lane };
            let now = self.release(mask);
            self.known.change(mask, live, |known| {
                let mut known = (**known).clone();
                known.fence_proxy(&now);
                Rc::new(known)
            });
        }
        self.step();
    }

    /// What the last release fence of a lane makes known.
    pub(super) fn fenced(&self, lane: u32) -> Option<(Rc<Clock>, Scope)> {
        self.fenced.of(lane as usize).clone()
    }

    /// A lane has read a flag: a fence may follow. `scope` is the narrowest that makes it an acquire.
    pub(super) fn await_fence(&mut self, lane: u32, live: u32, clock: &Rc<Clock>, scope: Scope) {
        self.pending.change(1 << lane, live, |old| match old {
            Some((old, by)) => Some((joined(old, clock), scope.max(*by))),
            None => Some((Rc::clone(clock), scope)),
        });
    }

    /// Whether a strong read is the one before once more, and nothing strong was written since; notes it.
    pub(super) fn polls_again(&mut self, poll: Poll, signals: u64) -> bool {
        let now = Some((Poll { tick: self.tick, ..poll }, signals));
        std::mem::replace(&mut self.polled, now) == now
    }

    /// Whether a lane was told the same at an instruction the last time; notes it.
    pub(super) fn has_seen(&mut self, lane: u32, pc: u32, clock: &Rc<Clock>) -> bool {
        self.seen.resize(LANES, None);
        let seen = &mut self.seen[lane as usize % LANES];
        let same = seen.as_ref().is_some_and(|(p, c)| *p == pc && Rc::ptr_eq(c, clock));
        if !same {
            *seen = Some((pc, Rc::clone(clock)));
        }
        same
    }

    pub(super) fn hint(&mut self, hint: Hint) {
        if self.hints.contains(&hint) {
            return;
        }
        if self.hints.len() >= HINTS {
            self.hints.remove(0);
        }
        self.hints.push(hint);
    }
}

/// The join of what some lanes know.
fn all(clocks: &[Rc<Clock>], mask: u32) -> Rc<Clock> {
    let mut lanes = each(mask).filter_map(|lane| clocks.get(lane));
    let first = lanes.next().cloned().unwrap_or_default();
    lanes.fold(first, |sum, clock| joined(&sum, clock))
}
