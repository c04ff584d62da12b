//! How rows of logits are read.

use super::CrossEntropy;
use crate::gate::{self, Candidate, Implementation, Operator, Refusal, choose};
use crate::rows::{Form, Room, RowPlan, form};
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
    staging: 128,
    blocks: 1,
    most: 256,
    cluster: 256,
};

struct Ways;

impl Operator for Ways {
    type Arguments<'a> = &'a [&'a TensorArg];
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |rows, chip| form(Form::Block, rows, ROOM, chip),
        },
        Implementation {
            name: "staged",
            what: "the blocks of a row copy it into shared memory once, and read it there",
            supports: |rows, chip| form(Form::Staged, rows, ROOM, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |rows, chip| form(Form::Cluster, rows, ROOM, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read for the sum, and again for the gradient where it is wanted",
        supports: |rows, chip| form(Form::Streamed, rows, ROOM, chip),
    };
}

/// For rows of logits and of gradients.
pub(super) fn rows(rows: &[&TensorArg], chip: &Chip) -> Result<RowPlan, Refusal> {
    choose::<Ways>(&rows, chip)
}

/// What each way says of them.
pub(super) fn candidates(rows: &[&TensorArg], chip: &Chip) -> Vec<Candidate<RowPlan>> {
    gate::candidates::<Ways>(&rows, chip)
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
