//! Which kernel takes which arguments.

use super::Softmax;
use crate::gate::{Candidate, Implementation, Operator, Refusal, candidates, choose};
use crate::rows::{BLOCK, Form, Narrow, PORTABLE, Room, Staging, check, form, vector};
use warpsmith_dsl::{ArgumentError, DType, TensorArg};
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// The operator: `x` and `y`, (rows, dim) of one shape.
struct Ways;

/// The longest row that one block stages.
const HELD_AGAIN: usize = 12_288;
/// Bytes of a row to a block of the largest clusters, of which a thread has 96 at most.
const LONG: usize = 32 << 10;

/// The longest row that blocks of a cluster rather hold with more threads than with more to each.
const FEWER: usize = 131_072;

/// For longer rows that threads read element by element: larger clusters of few threads.
const NARROW: Narrow = Narrow { longest: 448 << 10, most: 57, slice: 19 };

/// What the body needs.
const ROOM: Room = Room {
    tensors: 1,
    threads: 1024,
    inputs: 1,
    block: BLOCK,
    accesses: [2, 3],
    held: 12 << 10,
    held_wide: 2 * PORTABLE,
    staging: Staging { threads: 192, blocks: 1, part: 16 << 10, most: 96, long_slices: 1, narrow: Narrow::USUAL },
    cluster: 1024,
    once: false,
};

impl Operator for Ways {
    type Arguments<'a> = [&'a TensorArg; 2];
    type Plan = Softmax;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |call, chip| Softmax::by(Form::Block, call, chip),
        },
        Implementation {
            name: "staged",
            what: "the blocks of a row copy it into shared memory once, and read it there",
            supports: |call, chip| Softmax::by(Form::Staged, call, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |call, chip| Softmax::by(Form::Cluster, call, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read twice: for the sum, and for the output",
        supports: |call, chip| Softmax::by(Form::Streamed, call, chip),
    };
}

impl Softmax {
    pub(super) fn plan(x: &TensorArg, y: &TensorArg, chip: &Chip) -> Result<Softmax, ArgumentError> {
        check(&[("x", x), ("y", y)])?;
        Ok(choose::<Ways>(&[x, y], chip)?)
    }

    pub(super) fn candidates(
        x: &TensorArg,
        y: &TensorArg,
        chip: &Chip,
    ) -> Result<Vec<Candidate<Softmax>>, ArgumentError> {
        check(&[("x", x), ("y", y)])?;
        Ok(candidates::<Ways>(&[x, y], chip))
    }

    fn by(way: Form, [x, y]: &[&TensorArg; 2], chip: &Chip) -> Result<Softmax, Refusal> {
        // Where clusters go no further, more to a thread.
        let long = x.dim(1) * x.dtype.bytes() > (LONG + LONG / 8) * chip.largest_cluster as usize;
        let most = if long { 160 } else { ROOM.staging.most };
        // Rows of 32 KiB are better held than staged by two blocks, and rows of f32 by as few threads.
        let few = x.dim(1) > HELD_AGAIN || x.dtype == DType::F32;
        let (held, accesses) = if few { (32 << 10, [2, 8]) } else { (ROOM.held, ROOM.accesses) };
        let cluster = if x.dim(1) > FEWER { 512 } else { ROOM.cluster };
        let longer = x.dim(1) * x.dtype.bytes() > NARROW.longest && chip.largest_cluster > chip.cluster;
        let (most, narrow) = match vector(&[x, y]) {
            1 if longer => (NARROW.most * x.dtype.bytes(), NARROW),
            _ => (most, Narrow::USUAL),
        };
        let room = Room { accesses, held, cluster, staging: Staging { most, narrow, ..ROOM.staging }, ..ROOM };
        let rows = form(way, &[x, y], room, chip)?;
        Ok(Softmax { input: x.dtype, output: y.dtype, dim: x.dim(1), rows })
    }
}

impl Plans for Softmax {
    fn plans(&self) -> Vec<Softmax> {
        self.rows.others(self.dim).map(|rows| Softmax { rows, ..self.clone() }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}
