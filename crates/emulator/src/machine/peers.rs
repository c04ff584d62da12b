//! The blocks of a cluster, seen from the one whose turn it is.

use super::agents::Agents;
use super::block::Common;
use super::cluster_barrier::ClusterBarrier;
use super::races::ClusterRaces;
use std::ops::{Deref, DerefMut};

/// What the blocks of a cluster have; reads as the state of the block that runs.
#[derive(Debug)]
pub(crate) struct Peers {
    /// By rank in the cluster; never empty.
    blocks: Vec<Common>,
    /// The block that runs.
    rank: usize,
    /// Whether a thread has looked at a phase that has not ended: something is to happen soon.
    pub polls: bool,
    /// Copies on their way.
    pub agents: Agents,
    /// `barrier.cluster`.
    pub barrier: ClusterBarrier,
    pub cluster_races: ClusterRaces,
}

/// Where the rank starts in an address of `shared::cluster`. An address without a rank is the block's own.
const RANK: u32 = 24;

impl Peers {
    pub(crate) fn new(first: Common, others: impl IntoIterator<Item = Common>) -> Peers {
        Peers {
            blocks: std::iter::once(first).chain(others).collect(),
            rank: 0,
            polls: false,
            agents: Agents::default(),
            barrier: ClusterBarrier::default(),
            cluster_races: ClusterRaces::default(),
        }
    }

    pub(crate) fn blocks(&self) -> &[Common] {
        &self.blocks
    }

    pub(crate) fn blocks_mut(&mut self) -> &mut [Common] {
        &mut self.blocks
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Lets another block run.
    pub(crate) fn turn_to(&mut self, rank: usize) {
        self.rank = rank.min(self.blocks.len() - 1);
    }

    /// The block that a `shared::cluster` address belongs to, and the offset in it.
    #[inline]
    pub(crate) fn locate(&self, address: u64) -> Option<(usize, u32)> {
        let address = u32::try_from(address).ok()?;
        match (address >> RANK) as usize {
            0 => Some((self.rank, address)),
            n if n <= self.blocks.len() => Some((n - 1, address & ((1 << RANK) - 1))),
            _ => None,
        }
    }

    /// Threads of the cluster that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.blocks.iter().map(|b| b.live).sum()
    }
}

/// The address in the window of `shared::cluster` that another block's shared memory is seen at.
pub(crate) fn mapped(address: u32, rank: u32) -> u32 {
    (address & ((1 << RANK) - 1)) | (rank.min(254) + 1) << RANK
}

/// The rank in an address of `shared::cluster`, if it has one.
pub(crate) fn rank_of(address: u32) -> Option<u32> {
    (address >> RANK).checked_sub(1)
}

impl Peers {
    /// Lanes of a warp of the block that runs come to the cluster's barrier.
    pub(super) fn arrive_at_cluster(&mut self, warp: u32, lanes: u32, relaxed: bool) {
        let Some(races) = &mut self.blocks[self.rank].races else { return };
        if let Some(clock) = races.warps.get_mut(warp as usize) {
            self.cluster_races.arrive(clock, lanes, relaxed);
        }
    }

    /// Lanes of a warp of the block that runs have met.
    #[inline(always)]
    pub(super) fn meet(&mut self, warp: u32, lanes: u32, live: u32) {
        if let Some(races) = &mut self.blocks[self.rank].races {
            races.meet(warp, lanes, live);
        }
    }
}

impl Deref for Peers {
    type Target = Common;

    #[inline(always)]
    fn deref(&self) -> &Common {
        &self.blocks[self.rank]
    }
}

impl DerefMut for Peers {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Common {
        &mut self.blocks[self.rank]
    }
}
