//! Threads that poll in vain. A warp that comes back to a poll with all registers as they were, and has written
//! nothing, goes round in a circle until somebody else writes: when all do, nobody will.

use super::cluster::Cluster;
use super::complete::complete;
use super::core::Core;
use super::warp::{PATIENCE, State, Warp};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Polls from one look at the registers to the next.
const EVERY: u64 = 128;
/// Polls in a row that are looked at: a loop with more of them is not known for one.
const LOOKS: u64 = 8;

/// What is known of a warp's polling.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spin {
    polls: u64,
    /// A hash of the warp at a poll.
    state: u64,
    /// When that was, and when the warp was last found in that state again.
    since: u64,
    seen: u64,
    /// What the warp had done then.
    worked: u64,
    /// Whether it was in the last looks.
    again: bool,
    /// The last weak load, and its address.
    weak: (u32, u64),
    /// The instruction, the address, and the bytes that are read.
    pub at: (u32, u64, usize),
}

impl Spin {
    /// Whether the warp goes round in a circle.
    pub(super) fn is_vain(&self) -> bool {
        self.seen > self.since
    }
}

impl Warp {
    /// A strong read, or an atomic that changed nothing.
    #[inline]
    pub(super) fn polled(&mut self, core: &mut Core<'_>, at: (u32, u64, usize)) {
        self.spin.polls += 1;
        if self.spin.polls % EVERY >= EVERY - LOOKS {
            self.look(core, at);
        }
    }

    /// A weak load: one that comes again and again without another between is a poll, too.
    #[inline]
    pub(super) fn loaded(&mut self, core: &mut Core<'_>, at: (u32, u64, usize)) {
        if std::mem::replace(&mut self.spin.weak, (at.0, at.1)) == (at.0, at.1) {
            self.polled(core, at);
        }
    }

    #[cold]
    fn look(&mut self, core: &mut Core<'_>, at: (u32, u64, usize)) {
        let state = self.state_at(at.0);
        let now = core.now();
        let others = self.groups.iter().filter(|g| g.state == State::Ready).count() as u64;
        let spin = &mut self.spin;
        if spin.state == state {
            spin.again = true;
            // Other lanes of the warp that can run must have had their turn meanwhile.
            if others == 0 || self.worked - spin.worked > (others + 3) * PATIENCE {
                (spin.seen, spin.at) = (now, at);
                core.spins += 1;
            }
        }
        if spin.polls % EVERY == EVERY - 1 {
            if !spin.again {
                (spin.state, spin.since, spin.seen, spin.worked) = (state, now, 0, self.worked);
            }
            spin.again = false;
        }
    }

    fn state_at(&self, pc: u32) -> u64 {
        let mut hash = FxHasher::default();
        // Where several can run, each comes to a poll of its own, and the others stand anywhere.
        let pc = if self.is_ready() { 0 } else { pc };
        (pc, self.stores, self.live).hash(&mut hash);
        self.registers.r32.hash(&mut hash);
        self.registers.r64.hash(&mut hash);
        self.registers.p.hash(&mut hash);
        let waiting = self.groups.iter().filter(|g| g.state != State::Ready);
        let mut groups: Vec<_> = waiting.map(|g| (g.pc, g.mask)).collect();
        groups.sort_unstable();
        groups.hash(&mut hash);
        hash.finish()
    }
}

impl Cluster {
    /// When the last of its warps began to wait or to poll in vain, and up to when all have done so; `None` when one
    /// may go on.
    pub(super) fn stuck_since(&mut self, core: &mut Core<'_>) -> Option<(u64, u64)> {
        let mut all = (core.ended, u64::MAX);
        for warp in self.warps.iter().filter(|w| w.live != 0) {
            if !warp.is_ready() {
                all.0 = all.0.max(warp.rested);
                continue;
            }
            if !warp.spin.is_vain() {
                return None;
            }
            all = (all.0.max(warp.spin.since), all.1.min(warp.spin.seen));
        }
        // What engines have not done may yet be what is waited for.
        if let Some(agent) = self.peers.agents.take(0) {
            complete(core, &mut self.peers, agent);
            self.end_phases(core);
            return None;
        }
        Some(all)
    }
}
