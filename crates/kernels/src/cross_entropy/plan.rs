//! How rows of logits are read.

use super::CrossEntropy;
use crate::gate::{self, Candidate, Refusal, choose};
use crate::rows::{BLOCK, Narrow, PORTABLE, Room, RowPlan, Staging, Ways};
use std::ops::RangeInclusive;
use warpsmith_dsl::TensorArg;
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// What the body needs.
const ROOM: Room = Room {
    tensors: 1,
    threads: 512,
    inputs: 1,
    block: BLOCK,
    accesses: [4, 4],
    held: 16 << 10,
    held_wide: 2 * PORTABLE,
    staging: Staging { threads: 128, blocks: 1, part: 32 << 10, most: 256, long_slices: 1, narrow: Narrow::USUAL },
    cluster: 256,
    once: true,
};

/// Bytes of a row that a warp shares with others.
const SHORT: usize = 512;
/// Bytes of a row that 256 threads read in two accesses each, or almost.
const FEW: RangeInclusive<usize> = 7 << 10..=8 << 10;

/// The longest row that a block's threads read from shared memory at once.
const AT_ONCE: usize = 524_288;

/// For rows of logits and of gradients.
pub(super) fn rows(rows: &[&TensorArg], chip: &Chip) -> Result<RowPlan, Refusal> {
    choose::<Ways>(&(rows, room(rows)), chip)
}

fn room(rows: &[&TensorArg]) -> Room {
    let (dim, size) = rows.first().map_or((0, 0), |x| (x.shape.last().copied().unwrap_or(0), x.dtype.bytes()));
    let long_slices = if dim > AT_ONCE { 2 } else { 1 };
    let room = Room { staging: Staging { long_slices, ..ROOM.staging }, ..ROOM };
    if rows.len() > 1 {
        return room;
    }
    // A loss alone needs few registers: many threads with two accesses each, where that makes blocks of no more than 256.
    let short = dim * size <= SHORT;
    let block = if short || size == 4 { 2 * BLOCK } else { BLOCK };
    let accesses = if short || FEW.contains(&(dim * size)) { 2 } else { 4 };
    Room { block, accesses: [accesses; 2], ..room }
}

/// What each way says of them.
pub(super) fn candidates(rows: &[&TensorArg], chip: &Chip) -> Vec<Candidate<RowPlan>> {
    gate::candidates::<Ways>(&(rows, room(rows)), chip)
}

/// Other plans that the bodies have registers for, this one first.
pub(super) fn others(plan: &RowPlan) -> impl Iterator<Item = RowPlan> {
    plan.others(plan.dim).filter(|p| p.threads() <= ROOM.threads)
}

impl Plans for CrossEntropy {
    fn plans(&self) -> Vec<CrossEntropy> {
        others(&self.rows).map(|rows| CrossEntropy { rows, ..self.clone() }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}
