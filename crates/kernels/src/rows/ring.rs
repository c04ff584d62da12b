//! Rows on their way: a ring of stages in shared memory that is filled ahead of the threads that read them.
//!
//! A block goes over rows in a loop. Its groups of threads, a warp or the whole block, have a ring each, and within it a stage
//! for the rows that they reduce now and others for rows that are still under way, so that memory is busy while they do. A
//! thread copies what it reads itself: nobody waits for anybody.

use super::RowPlan;
use super::shifted::{self, SLACK};
use warpsmith_dsl::Stored;
use warpsmith_dsl::cute::{cp_async_fence, cp_async_wait};
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::runs::{Run, copy_async_own};

/// The stages of a group, for every tensor that comes by rows.
pub(crate) struct Ring<'p> {
    plan: &'p RowPlan,
    inputs: Vec<Input>,
    /// The block in its row's cluster.
    rank: Dim,
    stages: usize,
    /// Whether rows begin where they do in memory, modulo 16 bytes; of one stage.
    shifted: bool,
    /// How L2 treats them.
    policy: Option<CachePolicy>,
}

/// A tensor that comes by rows, and where its stages are.
struct Input {
    rows: Tensor,
    stages: Shared<U8>,
    /// From row to row of a stage.
    row_bytes: usize,
}

/// Which tile is in which stage.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    /// The tile that is in it.
    tile: U32,
    /// Of all of the block.
    number: U32,
    /// From the tile that is in it to the one that comes next.
    ahead: U32,
    /// Where the group's tiles end.
    end: U32,
}

/// The tiles that a group goes over.
struct Part {
    first: U32,
    step: U32,
    end: U32,
}

impl<'p> Ring<'p> {
    /// For tensors of one shape.
    pub(crate) fn new(
        plan: &'p RowPlan,
        stages: usize,
        inputs: &[&Tensor],
        rank: Dim,
        policy: Option<CachePolicy>,
    ) -> Ring<'p> {
        let shifted = plan.is_shifted(inputs.iter().map(|t| t.dtype().bytes()).min().unwrap_or(4));
        let inputs = inputs.iter().map(|t| {
            let row_bytes = plan.staged_columns() * t.dtype().bytes() + if shifted { SLACK } else { 0 };
            let bytes = row_bytes * plan.rows() * stages * plan.groups();
            Input { rows: (*t).clone(), stages: Shared::aligned("rows", bytes, 128), row_bytes }
        });
        Ring { plan, inputs: inputs.collect(), rank, stages, shifted, policy }
    }

    /// The group in its block.
    fn group(&self) -> Dim {
        match self.plan.groups() {
            1 => Dim::Static(0),
            _ => (thread_idx().x / self.plan.group.threads()).into(),
        }
    }

    /// The thread's row in its group's tile.
    fn row(&self) -> Dim {
        match self.plan.rows() {
            1 => Dim::Static(0),
            _ => (self.plan.lane() / self.plan.group.threads_per_row).into(),
        }
    }

    /// Where the thread's first run of an input is in a stage.
    fn place(&self, input: &Input, stage: Stage) -> Pointer<U8> {
        let (plan, element) = (self.plan, input.rows.dtype().bytes());
        let first = self.plan.lane() % plan.group.threads_per_row * plan.tv.vector();
        self.start(input, stage).offset(Dim::from(first) * element).assume_aligned(plan.tv.vector() * element)
    }

    /// Where the thread's row of an input begins in a stage.
    fn start(&self, input: &Input, stage: Stage) -> Pointer<U8> {
        let row = Dim::from(stage.number) * (self.plan.rows() * input.row_bytes) + self.row() * input.row_bytes;
        let start = input.stages.at(row);
        if self.shifted { start.offset(Dim::from(shifted::shift(self.begin(input, stage.tile)))) } else { start }
    }

    /// Where the block's part of a row begins in memory.
    fn begin(&self, input: &Input, tile: U32) -> Pointer<U8> {
        bytes_at(&input.rows, (Dim::from(tile) * self.plan.rows() + self.row(), self.rank * self.plan.tile()[1]))
    }

    /// The thread's runs, by their column in the block's tile from the first run's on, and whether they are in the row, where
    /// that is to be asked.
    fn runs(&self) -> Vec<(usize, Option<Bool>)> {
        let (plan, across) = (self.plan, self.plan.tv.vector() * self.plan.group.threads_per_row);
        let first = self.plan.lane() % plan.group.threads_per_row * plan.tv.vector();
        let runs = (0..plan.tv.values() / plan.tv.vector()).map(|run| {
            let column = run * across;
            let inside = (column + across > plan.sure()).then(|| {
                let column = first + column;
                match self.rank {
                    Dim::Static(_) => column.lt(plan.dim),
                    rank => (column + U32::from(rank) * plan.tile()[1]).lt(plan.dim),
                }
            });
            (column, inside)
        });
        runs.collect()
    }

    /// Starts to copy the thread's part of a tile, of which there may be none any more, into a stage that it does not read.
    fn fill(&self, stage: U32, tile: U32, end: U32) {
        if self.shifted {
            return self.fill_shifted(tile);
        }
        let (plan, runs) = (self.plan, self.runs());
        let first = self.plan.lane() % plan.group.threads_per_row * plan.tv.vector();
        let column = self.rank * plan.tile()[1] + Dim::from(first);
        when(tile.lt(end), || {
            for input in &self.inputs {
                let row = Dim::from(tile) * plan.rows() + self.row();
                let there = (plan.rows() > 1).then(|| U32::from(row).lt(U32::from(input.rows.dim(0))));
                let here = Stage { number: stage, tile, ahead: end, end };
                let from = bytes_at(&input.rows, (row, column));
                let from = self.policy.map_or(from, |policy| from.policy(policy));
                let to = self.place(input, here);
                for (column, inside) in &runs {
                    let offset = column * input.rows.dtype().bytes();
                    let condition = match (there, *inside) {
                        (Some(a), Some(b)) => Some(a & b),
                        (a, b) => a.or(b),
                    };
                    let bytes = plan.tv.vector() * input.rows.dtype().bytes();
                    copy_async_own(to.offset(offset), from.offset(offset), bytes, condition);
                }
            }
        });
        // A group of copies a tile, empty ones at the end, keeps the count of those that are waited for right.
        cp_async_fence();
    }

    /// The same by the whole block, of its one tile.
    fn fill_shifted(&self, tile: U32) {
        let (plan, [_, columns]) = (self.plan, self.plan.tile());
        let mine = match self.rank {
            Dim::Static(_) => U32::from(plan.dim),
            rank => (U32::from(plan.dim) - U32::from(rank) * columns).min(columns),
        };
        for input in &self.inputs {
            let bytes = input.rows.dtype().bytes();
            let stage = input.stages.at(0).assume_aligned(16);
            shifted::fill(stage, self.begin(input, tile), mine * bytes, columns * bytes, plan.lane(), plan.threads());
        }
        cp_async_fence();
    }

    /// Which of all tiles are the group's: first blocks have most of them in turn, those after them a few neighbours each.
    fn part(&self, tiles: U32) -> Part {
        let (plan, groups) = (self.plan, self.plan.groups());
        if self.stages == 1 {
            let first = block_idx().x / plan.cluster * groups + U32::from(self.group());
            return Part { first, step: tiles, end: tiles };
        }
        let Some(ring) = plan.ring else { return Part { first: U32::from(0), step: U32::from(1), end: tiles } };
        let (blocks, block) = (grid_size().x / plan.cluster, block_idx().x / plan.cluster);
        let many = ring.blocks / plan.cluster;
        let of_blocks = (tiles + (groups - 1)) / groups;
        let most = (ring.most_blocks / plan.cluster).max(1);
        let all = (of_blocks * 7 / (8 * most)) * many;
        let first = all + (block - many) * ring.few();
        let late = block.ge(many);
        let group = U32::from(self.group());
        let end = select(late, (first + ring.few()).min(of_blocks), select(blocks.gt(many), all, of_blocks));
        Part {
            first: select(late, first, block) * groups + group,
            step: select(late, U32::from(1), blocks.min(many)) * groups,
            end: (end * groups).min(tiles),
        }
    }

    /// Whether a block goes over several tiles.
    pub(crate) fn loops(&self) -> bool {
        self.stages > 1
    }

    /// The group's first tile, which may be none of so many.
    pub(crate) fn first(&self, tiles: U32) -> U32 {
        self.part(tiles).first
    }

    /// Does something with each tile of the group, `body(tile, next tile, stage)`, which says by [`Ring::release`] when it
    /// has read it, or does at its end.
    pub(crate) fn each(&self, tiles: U32, ready: impl Fn(), body: impl Fn(U32, U32, Stage) -> bool) {
        let (stages, Part { first, step, end }) = (self.stages, self.part(tiles));
        let base = U32::from(self.group() * stages);
        for stage in 0..stages {
            self.fill(base + stage, first + step * stage, end);
        }
        ready();
        if stages == 1 {
            cp_async_wait(0);
            if self.shifted {
                sync_threads();
            }
            let here = Stage { number: base, tile: first, ahead: end, end };
            let body = || {
                let _ = body(first, first, here);
            };
            // The last block may have groups without a tile.
            if self.plan.groups() == 1 {
                body();
            } else {
                when_uniform(first.lt(end), body);
            }
            return;
        }
        let stage = var(U32::from(0));
        for tile in range(first, end).step(step) {
            let number = base + stage.get();
            cp_async_wait(stages - 1);
            let here = Stage { number, tile, ahead: step * stages, end };
            if !body(tile, tile + step, here) {
                self.release(tile, here);
            }
            let last = (stage.get() + 1).eq(stages);
            stage.update(|s| select(last, U32::from(0), s + 1));
        }
    }

    /// The thread has read a stage: the next rows may come.
    pub(crate) fn release(&self, tile: U32, stage: Stage) {
        self.fill(stage.number, tile + stage.ahead, stage.end);
    }

    /// A slice of a thread's part of a stage, of input number `which`.
    pub(crate) fn load(&self, which: usize, stage: Stage, slice: usize, outside: f32) -> Option<Frag<Stored>> {
        let (vector, input) = (self.plan.tv.vector(), self.inputs.get(which)?);
        let at_once = self.plan.at_once().values() / vector;
        let (dtype, mine) = (input.rows.dtype(), self.place(input, stage));
        // What is not there was filled with zeros, but for rows that begin anywhere.
        let asks = outside != 0.0 || self.shifted;
        let runs = self
            .runs()
            .into_iter()
            .skip(slice * at_once)
            .take(at_once)
            .map(|(column, inside)| (mine.offset(column * dtype.bytes()), inside.filter(|_| asks)));
        Some(Frag::load_runs(dtype, vector, &runs.collect::<Vec<Run>>(), outside))
    }

    /// One element of a stage; its column is one of this block's.
    pub(crate) fn element(&self, which: usize, stage: Stage, column: U32) -> Option<F32> {
        let (plan, input) = (self.plan, self.inputs.get(which)?);
        let column = Dim::from(column % plan.tile()[1]) * input.rows.dtype().bytes();
        let at = self.start(input, stage).offset(column);
        Some(match input.rows.dtype() {
            DType::BF16 => at.assume_aligned(2).cast::<BF16>().load().f32(),
            DType::F16 => at.assume_aligned(2).cast::<F16>().load().f32(),
            _ => at.assume_aligned(4).cast::<F32>().load(),
        })
    }
}

/// Where an element is, as a byte.
fn bytes_at(t: &Tensor, at: (Dim, Dim)) -> Pointer<U8> {
    match t.dtype() {
        DType::BF16 => t.at::<BF16>(at).cast(),
        DType::F16 => t.at::<F16>(at).cast(),
        _ => t.at::<F32>(at).cast(),
    }
}
