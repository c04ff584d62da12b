//! Reads of shared memory that nobody need look at before something is written there: between two barriers a block
//! mostly only reads a tile, and after the second one no read of it matters any more.

use super::block::BlockRaces;
use super::order::Judge;
use super::parties::Parties;
use super::threads::{Snapshot, WarpClock};
use crate::lanes::LANES;
use crate::memory::{LaneWords, Touch};

/// Words that lanes of a warp have read.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The number of the access in the history of the block's shared memory.
    pub number: u32,
    /// What the warp knew.
    pub clock: Snapshot,
    pub touch: Touch,
    pub offsets: [u32; LANES],
    pub mask: u32,
    pub bytes: u32,
}

/// Such reads, in order.
#[derive(Debug, Default)]
pub(crate) struct Later {
    reads: Vec<Read>,
    /// They lie between these bytes.
    start: u32,
    end: u32,
}

/// Reads that are kept; more are looked at.
const MOST: usize = 512;

impl Later {
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        (self.start, self.end) = (u32::MAX, 0);
    }

    fn overlaps(&self, start: u32, end: u32) -> bool {
        !self.reads.is_empty() && start < self.end && self.start < end
    }
}

impl BlockRaces {
    /// Keeps a read for later, which lies between two bytes that nothing was written to.
    pub(super) fn read_later(&mut self, read: Read, (start, end): (u32, u32)) {
        let later = &mut self.later;
        (later.start, later.end) = (later.start.min(start), later.end.max(end));
        later.reads.push(read);
        if later.reads.len() >= MOST {
            self.settle();
        }
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
        for read in &reads {
            let clock = WarpClock::at(&read.clock);
            // It is weak: no scope matters.
            let (touch, bytes, parties) = (read.touch, read.bytes as u8, Parties(&[]));
            let judge = Judge { clock: &clock, by: None, touch, bytes, value: 0, parties };
            let words = LaneWords { offsets: &read.offsets, mask: read.mask, bytes: read.bytes };
            // There is no write that they could race with.
            self.shadow.touch_lanes(read.number, words, &mut |g, a, b| judge.order(g, a, b), &mut |_, _, _, _| {});
        }
        self.later.reads = reads;
        self.later.clear();
    }
}
