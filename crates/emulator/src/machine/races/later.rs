//! Reads of shared memory that nobody need look at before something is written there: between two barriers a block
//! mostly only reads a tile, and after the second one no read of it matters any more.

use super::block::BlockRaces;
use super::order::Judge;
use super::parties::Parties;
use super::threads::{Snapshot, WarpClock};
use crate::lanes::LANES;
use crate::memory::{Group, LaneWords, Touch};

/// Words that lanes of a warp have read.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The number of the access in the history of the block's shared memory.
    pub number: u32,
    pub touch: Touch,
    pub offsets: [u32; LANES],
    pub mask: u32,
    pub bytes: u32,
}

/// Such reads, in order.
#[derive(Debug, Default)]
pub(crate) struct Later {
    /// Each with the place of what its warp knew.
    reads: Vec<(u32, Read)>,
    /// What warps knew.
    clocks: Vec<Snapshot>,
    /// They lie between these bytes.
    start: u32,
    end: u32,
}

/// Reads that are kept; more are looked at.
const MOST: usize = 512;

impl Later {
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.clocks.clear();
        (self.start, self.end) = (u32::MAX, 0);
    }

    fn overlaps(&self, start: u32, end: u32) -> bool {
        !self.reads.is_empty() && start < self.end && self.start < end
    }
}

impl BlockRaces {
    /// Keeps a read of lanes of a warp for later, which lies between two bytes; false where something was written there,
    /// or where the warp's lanes do not agree on what they know.
    #[inline(always)]
    pub(super) fn read_later(
        &mut self,
        group: Group,
        (start, end): (u32, u32),
        mask: u32,
        offsets: impl FnOnce() -> [u32; LANES],
    ) -> bool {
        if self.shadow.was_written(start, end) {
            return false;
        }
        let number = self.shadow.group(group);
        let later = &mut self.later;
        let Some(clock) = self.warps.get(usize::from(group.warp)) else { return false };
        if !later.clocks.last().is_some_and(|last| clock.is_at(last)) {
            let Some(snapshot) = clock.snapshot() else { return false };
            later.clocks.push(snapshot);
        }
        (later.start, later.end) = (later.start.min(start), later.end.max(end));
        let (touch, bytes, offsets) = (group.touch, group.bytes.into(), offsets());
        later.reads.push((later.clocks.len() as u32 - 1, Read { number, touch, offsets, mask, bytes }));
        if later.reads.len() >= MOST {
            self.settle();
        }
        true
    }

    /// Something is about to be noted between two bytes.
    pub(super) fn settle_within(&mut self, start: u32, end: u32) {
        if self.later.overlaps(start, end) {
            self.settle();
        }
    }

    /// Notes the reads that were kept.
    pub(super) fn settle(&mut self) {
        let reads = std::mem::take(&mut self.later.reads);
        let clocks: Vec<WarpClock> = self.later.clocks.iter().map(WarpClock::at).collect();
        for (clock, read) in &reads {
            let Some(clock) = clocks.get(*clock as usize) else { continue };
            // It is weak: no scope matters.
            let (touch, bytes, parties) = (read.touch, read.bytes as u8, Parties(&[]));
            let judge = Judge { clock, by: None, touch, bytes, value: 0, parties };
            let words = LaneWords { offsets: &read.offsets, mask: read.mask, bytes: read.bytes };
            // There is no write that they could race with.
            self.shadow.touch_lanes(read.number, words, &mut |g, a, b| judge.order(g, a, b), &mut |_, _, _, _| {});
        }
        self.later.reads = reads;
        self.later.clear();
    }
}
