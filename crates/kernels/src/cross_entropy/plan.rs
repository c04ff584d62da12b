//! How rows of logits are read.

use super::CrossEntropy;
use crate::gate::{self, Candidate, Refusal, choose};
use crate::rows::{PORTABLE, Room, RowPlan, Staging, Ways};
use warpsmith_dsl::TensorArg;
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// What the body needs.
const ROOM: Room = Room {
    tensors: 1,
    threads: 512,
    inputs: 1,
    accesses: [4, 4],
    held: 16 << 10,
    held_wide: 2 * PORTABLE,
    staging: Staging { threads: 128, blocks: 1, part: 32 << 10, most: 256, long_slices: 1 },
    cluster: 256,
    once: true,
};

/// The longest row that a block's threads read from shared memory at once.
const AT_ONCE: usize = 524_288;

/// For rows of logits and of gradients.
pub(super) fn rows(rows: &[&TensorArg], chip: &Chip) -> Result<RowPlan, Refusal> {
    choose::<Ways>(&(rows, room(rows)), chip)
}

fn room(rows: &[&TensorArg]) -> Room {
    let long = rows.first().is_some_and(|x| x.shape.last().is_some_and(|dim| *dim > AT_ONCE));
    Room { staging: Staging { long_slices: if long { 2 } else { 1 }, ..ROOM.staging }, ..ROOM }
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
