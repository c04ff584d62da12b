//! A warp: registers, and the groups that its lanes have parted into.
//!
//! PTX has no structure, so there is no stack of masks. Lanes at the same instruction form a group; the group that is
//! furthest behind runs, and groups that meet merge. Compilers lay code out so that this reconverges where their own
//! analysis would. A group that keeps the others waiting for long gives way, so that every lane makes progress.

use super::arrive::Timeouts;
use super::block::Common;
use super::calls::Stacks;
use super::cluster_barrier::Arrived;
use super::copies::Copies;
use super::core::Core;
use super::peers::Peers;
use super::products::Products;
use super::spin::Spin;
use crate::lanes::{FULL, LANES, Registers};
use crate::memory::{Flat, Writer};

/// Lanes at one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub pc: u32,
    pub mask: u32,
    pub state: State,
    /// When it last ran, in the worker's instruction count.
    pub ran: u64,
}

/// What a group can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Waits for these lanes at the same `.sync` instruction.
    Sync {
        members: u32,
    },
    /// Waits for these lanes at any `bar.warp.sync`.
    WarpBarrier {
        members: u32,
    },
    /// Waits at a barrier of the block.
    Barrier {
        id: u8,
    },
    /// Waits at the cluster's barrier.
    Cluster {
        round: u32,
    },
    /// Waits until so many products of the warp are complete.
    Products {
        until: u64,
    },
    /// Waits for the launch before to be over.
    Upstream,
    /// Waits for a phase of an `mbarrier` to end.
    Mbarrier {
        rank: u8,
        offset: u32,
        phase: u64,
    },
}

/// A warp of a block.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Its block's rank in the cluster.
    pub rank: u32,
    /// Its number in the block.
    pub index: u32,
    pub registers: Registers,
    /// Of each register, the lanes that were written; kept only where the program needs it.
    pub written: Vec<u32>,
    pub groups: Vec<Group>,
    /// Lanes that have not exited.
    pub live: u32,
    pub local: Flat,
    pub copies: Copies,
    pub products: Products,
    pub timeouts: Timeouts,
    /// How often it has told others that it went on: arrivals at barriers.
    pub releases: u32,
    /// At the cluster's barrier.
    pub cluster_arrived: Arrived,
    /// Groups of bulk copies that each lane has committed.
    pub bulk_groups: [u32; LANES],
    /// Instructions since the groups last took turns.
    pub hurry: u64,
    /// Calls that the lanes have not returned from.
    pub stacks: Stacks,
    /// Instructions that may have changed memory.
    pub stores: u64,
    /// Instructions, strong accesses counted as what they cost of a turn.
    pub worked: u64,
    pub spin: Spin,
    /// When it last stopped.
    pub rested: u64,
}

impl Warp {
    pub(crate) fn new(core: &Core<'_>, rank: u32, index: u32) -> Warp {
        let registers = core.blank.clone();
        let mut warp = Warp {
            rank,
            index,
            registers,
            written: vec![],
            groups: vec![],
            live: 0,
            local: Flat::new(core.program.local_bytes as usize * LANES),
            copies: Copies::default(),
            products: Products::default(),
            timeouts: Timeouts::default(),
            releases: 0,
            cluster_arrived: Arrived::default(),
            bulk_groups: [0; LANES],
            hurry: 0,
            stacks: Stacks::default(),
            stores: 0,
            worked: 0,
            spin: Spin::default(),
            rested: 0,
        };
        for (special, plane) in &core.program.specials {
            if core.uniform(*special, [0; 3], rank, index).is_none() {
                warp.registers.r32[*plane as usize] = core.by_lane(*special, index);
            }
        }
        if core.program.code.iter().any(|i| i.checked) {
            let counts = core.program.counts;
            warp.written = vec![0; counts.r32 + counts.r64 + counts.p];
        }
        warp
    }

    /// Makes it the same warp of another block.
    pub(crate) fn restart(&mut self, core: &Core<'_>, block: [u32; 3]) {
        for (special, plane) in &core.program.specials {
            if let Some(value) = core.uniform(*special, block, self.rank, self.index) {
                self.registers.r32[*plane as usize] = [value; LANES];
            }
        }
        let left = core.shape.threads - self.index * LANES as u32;
        self.live = if left >= LANES as u32 { FULL } else { (1 << left) - 1 };
        self.groups.clear();
        self.groups.push(Group { pc: core.program.entry, mask: self.live, state: State::Ready, ran: 0 });
        if !self.written.is_empty() {
            self.written.fill(0);
        }
        if self.local.len() > 0 {
            self.local.clear();
        }
        self.copies.clear();
        self.products.clear();
        self.timeouts.clear();
        self.releases = 0;
        self.cluster_arrived = Arrived::default();
        self.bulk_groups = [0; LANES];
        self.hurry = 0;
        self.stacks.clear();
        self.stores = 0;
        self.spin = Spin::default();
    }

    /// Takes out the group to run next, merged with all that stand at the same instruction, and gives the instruction
    /// at which it meets the next one. `None` when no lane can run.
    pub(crate) fn pick(&mut self, apart: bool) -> Option<(Group, u32)> {
        if apart {
            return self.pick_lane();
        }
        if let [only] = self.groups[..] {
            if only.state != State::Ready {
                return None;
            }
            self.groups.clear();
            return Some((only, u32::MAX));
        }
        let ready = self.groups.iter().filter(|g| g.state == State::Ready);
        let fair = self.hurry > PATIENCE;
        let first = if fair { ready.min_by_key(|g| g.ran) } else { ready.min_by_key(|g| g.pc) };
        let mut group = *first?;
        if fair {
            self.hurry = 0;
        }
        group.mask = 0;
        let mut limit = u32::MAX;
        self.groups.retain(|g| {
            if g.state != State::Ready {
                return true;
            }
            if g.pc == group.pc {
                group.mask |= g.mask;
                return false;
            }
            limit = limit.min(g.pc);
            true
        });
        // One that was behind its turn runs on regardless of whom it meets.
        Some((group, if fair { u32::MAX } else { limit }))
    }

    /// The same for one lane: the one that ran longest ago.
    fn pick_lane(&mut self) -> Option<(Group, u32)> {
        let ready = self.groups.iter().enumerate().filter(|(_, g)| g.state == State::Ready);
        let index = ready.min_by_key(|(_, g)| g.ran)?.0;
        let group = &mut self.groups[index];
        let lane = group.mask & group.mask.wrapping_neg();
        let picked = Group { mask: lane, ..*group };
        group.mask &= !lane;
        if group.mask == 0 {
            self.groups.remove(index);
        }
        Some((picked, u32::MAX))
    }

    /// The warp tells others that it went on: what it stored before is theirs to see.
    pub(super) fn releases(&mut self, peers: &mut Peers) {
        self.releases = self.releases.wrapping_add(1);
        if let Some(known) = peers.releases.get_mut(self.index as usize) {
            *known = self.releases;
        }
    }

    /// `fence.proxy.async`.
    pub(super) fn fence_proxy(&self, peers: &mut Peers) {
        let block: &mut Common = peers;
        block.shared.fence_proxy(self.index, &block.releases);
    }

    /// Who a store of this warp is by.
    #[inline(always)]
    pub(super) fn writer(&self) -> Writer {
        Writer::new(self.index, self.releases)
    }

    /// Whether any lane can run.
    pub(crate) fn is_ready(&self) -> bool {
        self.groups.iter().any(|g| g.state == State::Ready)
    }

    /// Lanes have exited: whoever waited only for them is free. Gives the lanes that have so met at a barrier.
    pub(crate) fn exited(&mut self, lanes: u32) -> u32 {
        self.live &= !lanes;
        let live = self.live;
        let waiting = |g: &Group| matches!(g.state, State::WarpBarrier { .. }).then_some(g.mask).unwrap_or(0);
        let at_warp_barrier = self.groups.iter().map(waiting).fold(0, |a, b| a | b);
        let mut met = 0;
        for g in &mut self.groups {
            match g.state {
                // It runs the instruction again and finds itself complete.
                State::Sync { members } if members & live & !g.mask == 0 => g.state = State::Ready,
                State::WarpBarrier { members } if members & live & !at_warp_barrier == 0 => {
                    g.state = State::Ready;
                    g.pc += 1;
                    met |= g.mask;
                }
                _ => {}
            }
        }
        met
    }
}

/// Instructions that one group may run while another waits for its turn.
pub(crate) const PATIENCE: u64 = 10_000;
