//! What a block and a cluster keep for the sake of races.

use super::clock::{Clock, Entry};
use super::flags::Flags;
use super::later::Later;
use super::threads::{Hint, WarpClock, Why};
use crate::memory::Shadow;
use crate::program::{MbarrierOp, Scope};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A block's part.
#[derive(Debug, Default)]
pub(crate) struct BlockRaces {
    pub warps: Vec<WarpClock>,
    /// The history of its shared memory.
    pub shadow: Shadow,
    /// Reads of it that are not in there yet.
    pub(super) later: Later,
    /// Flags in its shared memory.
    pub flags: Flags,
    /// What has arrived at each of the block's barriers.
    barriers: [Clock; 16],
    /// Mbarriers, by offset.
    mbarriers: FxHashMap<u32, Known>,
    /// The time of each channel of its copy engines: one for each mbarrier that counts bytes.
    channels: Vec<(u32, u32)>,
    /// Whether a copy was under way since the history was last forgotten.
    pub copies: bool,
}

/// What has arrived at an mbarrier in its phase, and what its last phase makes known: from the block that it is of, and
/// from others of the cluster.
#[derive(Debug, Default)]
struct Known {
    arriving: [Clock; 2],
    ended: [Rc<Clock>; 2],
    /// A block and instruction of the others.
    other: Option<(u64, u32)>,
}

impl BlockRaces {
    /// Makes it another block's.
    pub(crate) fn restart(&mut self, block: u64, warps: u32, bytes: usize, launch: u64, start: &Rc<Clock>) {
        self.warps.clear();
        self.warps.extend((0..warps).map(|n| WarpClock::new(block, n as u16, start)));
        self.shadow.prepare(bytes, launch);
        self.shadow.forget();
        self.later.clear();
        self.flags.clear();
        self.barriers = Default::default();
        self.mbarriers.clear();
        self.channels.clear();
        self.copies = false;
    }

    /// Threads come to a barrier of the block.
    pub(crate) fn arrive(&mut self, id: u8, warp: u32, lanes: u32) {
        let Some(w) = self.warps.get_mut(warp as usize) else { return };
        w.arrive(lanes, &mut self.barriers[id as usize & 15]);
        w.step();
    }

    /// The barrier is complete.
    pub(crate) fn complete(&mut self, id: u8) -> Rc<Clock> {
        Rc::new(std::mem::take(&mut self.barriers[id as usize & 15]))
    }

    /// Threads go on from where a clock was complete.
    pub(crate) fn acquire(&mut self, warp: u32, lanes: u32, live: u32, clock: &Rc<Clock>) {
        if let Some(w) = self.warps.get_mut(warp as usize) {
            w.acquire(lanes, live, clock);
        }
    }

    /// Lanes of a warp have met.
    #[inline(always)]
    pub(crate) fn meet(&mut self, warp: u32, lanes: u32, live: u32) {
        if let Some(w) = self.warps.get_mut(warp as usize) {
            w.meet(lanes, live);
        }
    }

    /// All threads of the block have met, and nothing is under way: what was is before all that comes.
    pub(crate) fn all_met(&mut self) {
        if !self.copies && !self.shadow.is_pending() {
            self.shadow.forget();
            self.later.clear();
        }
    }

    /// An instruction of another block arrives at an mbarrier.
    pub(super) fn arrive_from(&mut self, offset: u32, clock: &Clock, other: (u64, u32)) {
        let known = self.mbarriers.entry(offset).or_default();
        known.arriving[1].join(clock);
        known.other = Some(other);
    }

    /// A phase of an mbarrier has ended.
    pub(crate) fn phase_ended(&mut self, offset: u32) {
        let Known { arriving, ended, .. } = self.mbarriers.entry(offset).or_default();
        for (arriving, ended) in arriving.iter_mut().zip(ended) {
            let mut clock = std::mem::take(arriving);
            clock.join(ended);
            *ended = Rc::new(clock);
        }
    }

    /// Gives warps that do something together the same time.
    pub(crate) fn align(&mut self, warps: &[u32]) {
        let time = |w: &u32| self.warps.get(*w as usize).map_or(0, |w| w.tick);
        let latest = warps.iter().map(time).max().unwrap_or_default();
        for warp in warps {
            if let Some(w) = self.warps.get_mut(*warp as usize) {
                w.tick = latest;
            }
        }
    }

    /// Lanes have seen that a phase has ended. A wait that says it is for its own block does not see what came from
    /// others.
    pub(crate) fn see_phase(&mut self, offset: u32, op: &MbarrierOp, (warp, pc): (u32, u32), lanes: u32, live: u32) {
        if op.relaxed {
            return;
        }
        let Some(known) = self.mbarriers.get(&offset) else { return };
        let ([own, others], other) = (known.ended.clone(), known.other);
        self.acquire(warp, lanes, live, &own);
        if op.scope != Some(Scope::Cta) {
            self.acquire(warp, lanes, live, &others);
        } else if let Some((block, write)) = other
            && let Some(w) = self.warps.get_mut(warp as usize)
        {
            w.hint(Hint { block, why: Why::ReadScope(Scope::Cta), write, read: pc });
        }
    }

    /// Lanes of a warp of this block arrive at one of its mbarriers. [`BlockRaces::step`] must follow.
    pub(crate) fn arrive_at(&mut self, offset: u32, warp: u32, lanes: u32) {
        let clock = &mut self.mbarriers.entry(offset).or_default().arriving[0];
        if let Some(w) = self.warps.get_mut(warp as usize) {
            w.arrive(lanes, clock);
        }
    }

    /// What comes now is later than what lanes of a warp have made known.
    pub(crate) fn step(&mut self, warp: u32) {
        if let Some(w) = self.warps.get_mut(warp as usize) {
            w.step();
        }
    }

    /// The channel of the copy engines that counts at an mbarrier, as a warp beyond the block's and a lane.
    pub(super) fn channel(&mut self, offset: u32) -> (u16, u32) {
        let place = match self.channels.iter().position(|(o, _)| *o == offset) {
            Some(place) => place,
            None => {
                self.channels.push((offset, 0));
                self.channels.len() - 1
            }
        };
        ((self.warps.len() + place / 32) as u16, place as u32 % 32)
    }

    /// A copy of that channel is done: its time, and what it adds to the mbarrier. `other` started it, if another block.
    pub(super) fn channel_done(&mut self, offset: u32, block: u64, other: Option<(u64, u32)>) -> u32 {
        let (warp, lane) = self.channel(offset);
        let Some((_, tick)) = self.channels.iter_mut().find(|(o, _)| *o == offset) else { return 0 };
        *tick += 1;
        let entry = Entry::Flat { base: 0, mask: 1 << lane, top: *tick };
        let tick = *tick;
        let known = self.mbarriers.entry(offset).or_default();
        known.arriving[usize::from(other.is_some())].add(block, warp.into(), &entry);
        known.other = other.or(known.other);
        tick
    }
}

/// A cluster's part: what has arrived at its barrier, and what its last round makes known.
#[derive(Debug, Default)]
pub(crate) struct ClusterRaces {
    pub arriving: Clock,
    pub complete: Rc<Clock>,
}

impl ClusterRaces {
    /// The barrier is complete.
    pub(crate) fn round(&mut self) -> Rc<Clock> {
        self.complete = Rc::new(std::mem::take(&mut self.arriving));
        Rc::clone(&self.complete)
    }

    /// Threads come to the cluster's barrier. A relaxed arrival only makes known what a fence has released.
    pub(crate) fn arrive(&mut self, warp: &mut WarpClock, lanes: u32, relaxed: bool) {
        if !relaxed {
            warp.arrive(lanes, &mut self.arriving);
            warp.step();
            return;
        }
        // That the block has started is known.
        self.arriving.add(warp.block, warp.warp.into(), &Entry::NOTHING);
        let fenced = crate::lanes::each(lanes).filter_map(|lane| warp.fenced(lane as u32));
        fenced.for_each(|(clock, _)| self.arriving.join(&clock));
    }
}
