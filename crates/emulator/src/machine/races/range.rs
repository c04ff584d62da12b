//! Accesses of those who are no threads of a kernel: copies and the host.

use super::access::{Race, add};
use super::clock::Clock;
use super::flags::{Flags, Signal};
use super::order::Judge;
use super::parties::{Parties, base_of};
use super::threads::WarpClock;
use crate::memory::{Global, Group, PAGE, Stretch, Touch};
use crate::program::{Scope, Semantics};
use std::rc::Rc;
use std::sync::PoisonError;

/// What a party of one thread knows and does.
#[derive(Clone, Debug)]
pub(crate) struct Solo {
    clock: WarpClock,
}

/// A stretch of memory that is touched in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub address: u64,
    pub bytes: usize,
    pub touch: Touch,
    /// Which step of the party it is.
    pub step: u32,
}

impl Solo {
    pub(crate) fn new(party: usize, start: &Rc<Clock>) -> Solo {
        Solo { clock: WarpClock::new(base_of(party), 0, start) }
    }

    /// Gets to know what a clock says.
    pub(crate) fn acquire(&mut self, clock: &Rc<Clock>) {
        self.clock.acquire(1, 1, clock);
    }

    /// What it has done, and what it knows.
    pub(crate) fn release(&mut self) -> Rc<Clock> {
        let clock = self.clock.release(1);
        self.clock.step();
        clock
    }

    /// A fence of the whole system.
    pub(crate) fn fence(&mut self) {
        self.clock.fence(1, 1, (true, true), Scope::Sys);
    }

    /// Notes accesses to a range of one allocation, and gives what they race with.
    pub(crate) fn touch(&self, memory: &Global, parties: Parties<'_>, range: Range) -> Vec<Race> {
        let Range { address, bytes, touch, step } = range;
        let size = if touch.strong.is_some() { bytes as u8 } else { 16 };
        let clock = &self.clock;
        let judge = Judge { clock, by: Some(0), touch, bytes: size, value: 0, parties };
        let (block, warp, tick) = (clock.block, clock.warp, clock.tick);
        let group = Group { block, warp, warps: 1, bytes: size, tick, pc: step, touch, lands: false, value: 0 };
        let mut races = vec![];
        let Some(allocation) = memory.find(address) else { return races };
        let (mut at, mut done) = (address - allocation.base, 0);
        while done < bytes {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(bytes - done);
            let page = if touch.writes { allocation.page_or_new(at) } else { allocation.page(at) };
            if let Some(page) = page {
                let mut shadow = page.shadow.lock().unwrap_or_else(PoisonError::into_inner);
                shadow.prepare(PAGE, memory.launches());
                let start = allocation.base + at - inside as u64;
                let number = shadow.group(group);
                let stretch = Stretch { offset: inside as u32, bytes: n as u32, lane: 0, stride: 0 };
                shadow.touch(number, stretch, &mut |g, a, b| judge.order(g, a, b), &mut |g, a, _, byte| {
                    add(&mut races, g, a, 0, start + u64::from(byte));
                });
            }
            at += n as u64;
            done += n;
        }
        races
    }

    /// A strong access of the whole system: reads a flag, writes it, or both.
    pub(crate) fn signal(
        &mut self,
        flags: &mut Flags,
        parties: Parties<'_>,
        (address, step): (u64, u32),
        order: Semantics,
        (reads, writes): (bool, bool),
    ) {
        let signal = Signal { address, lane: 0, live: 1, pc: step, order, scope: Scope::Sys };
        if reads {
            flags.read(&mut self.clock, signal, parties);
        }
        if writes {
            flags.write(&mut self.clock, signal, reads);
            self.clock.step();
        }
    }

    /// What would have ordered an access before one of this party.
    pub(crate) fn missing(&self, parties: Parties<'_>, old: &Group, old_lane: u32) -> String {
        if self.clock.knows_of_start(old, old_lane, 0) {
            return parties.not_waited(old);
        }
        match self.clock.hints.iter().rev().find(|h| h.block == old.block) {
            Some(hint) => parties.why(hint, self.clock.block),
            None => "nothing orders the two".into(),
        }
    }
}
