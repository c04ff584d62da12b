//! Rows on their way: a ring of stages in shared memory that bulk copies fill ahead of the threads that read them.
//!
//! A block goes over rows in a loop. Its groups of threads, a warp or the whole block, have a ring each, and within it a stage
//! for the rows that they reduce now and others for rows that are still under way, so that memory is busy while they do.

use super::RowPlan;
use warpsmith_dsl::Stored;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::runs::Run;

/// The stages of a group, for every tensor that comes by rows.
pub(crate) struct Ring<'p> {
    plan: &'p RowPlan,
    /// Of all groups, stage by stage.
    full: Mbarriers,
    inputs: Vec<Input>,
    /// The block in its row's cluster.
    rank: Dim,
    stages: usize,
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
    pub(crate) fn new(plan: &'p RowPlan, stages: usize, inputs: &[&Tensor], rank: Dim) -> Ring<'p> {
        let full = Mbarriers::new("full", stages * plan.groups());
        when(thread_idx().x.eq(0), || {
            full.init(1);
            fence_barrier_init();
        });
        let inputs = inputs.iter().map(|t| {
            let row_bytes = plan.staged_columns() * t.dtype().bytes();
            let bytes = row_bytes * plan.rows() * stages * plan.groups();
            Input { rows: (*t).clone(), stages: Shared::aligned("rows", bytes, 128), row_bytes }
        });
        Ring { plan, full, inputs: inputs.collect(), rank, stages }
    }

    /// The group in its block.
    fn group(&self) -> Dim {
        match self.plan.groups() {
            1 => Dim::Static(0),
            _ => (thread_idx().x / self.plan.group.threads()).into(),
        }
    }

    /// Starts to copy a tile, of which there may be none any more, into a stage that nobody reads.
    fn fill(&self, stage: U32, tile: U32, end: U32) {
        let (plan, lane) = (self.plan, self.plan.lane());
        let [_, columns] = plan.tile();
        let rows = match self.inputs.first() {
            Some(input) => U32::from(input.rows.dim(0)),
            None => return,
        };
        let column = self.rank * columns;
        let count = match self.rank {
            Dim::Static(_) => U32::from(plan.dim.min(columns)),
            rank => (plan.dim - U32::from(rank) * columns).min(columns),
        };
        let bytes: usize = self.inputs.iter().map(|input| input.rows.dtype().bytes()).sum();
        let barrier = self.full.at(stage);
        let copy = |row: U32, place: Dim| {
            for input in &self.inputs {
                let element = input.rows.dtype().bytes();
                let to = input.stages.at(Dim::from(stage) * (plan.rows() * input.row_bytes) + place * input.row_bytes);
                let from = bytes_at(&input.rows, (row.into(), column));
                Bulk::new().load(to, from, count * element, barrier);
            }
        };
        if plan.rows() == 1 {
            return drop(when(lane.eq(0) & tile.lt(end), || {
                barrier.arrive_expect(count * bytes);
                copy(tile, 0.into());
            }));
        }
        let first = tile * plan.rows();
        let there = select(tile.lt(end), (rows - first).min(plan.rows()), U32::from(0));
        when(lane.eq(0) & there.gt(0), || barrier.arrive_expect(there * count * bytes));
        sync_warp();
        when(lane.lt(there), || copy(first + lane, lane.into()));
    }

    /// Which of all tiles are the group's: first blocks have most of them in turn, those after them a few neighbours each.
    fn part(&self, tiles: U32) -> Part {
        let (plan, groups) = (self.plan, self.plan.groups());
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

    /// The group's first tile, which may be none of so many.
    pub(crate) fn first(&self, tiles: U32) -> U32 {
        self.part(tiles).first
    }

    /// Does something with each tile of the group, `body(tile, next tile, stage)`, which says by [`Ring::release`] when it
    /// has read it, or does at its end.
    pub(crate) fn each(&self, tiles: U32, ready: impl Fn(), body: impl Fn(U32, U32, Stage) -> bool) {
        let (stages, Part { first, step, end }) = (self.stages, self.part(tiles));
        let base = U32::from(self.group() * stages);
        sync_threads(); // barriers are there
        for stage in 0..stages {
            self.fill(base + stage, first + step * stage, end);
        }
        ready();
        let (stage, parity) = (var(U32::from(0)), var(U32::from(0)));
        for tile in range(first, end).step(step) {
            let number = base + stage.get();
            self.full.at(number).wait(parity.get());
            let here = Stage { number, ahead: step * stages, end };
            if !body(tile, tile + step, here) {
                self.release(tile, here, false);
            }
            let last = (stage.get() + 1).eq(stages);
            parity.update(|p| select(last, p ^ 1, p));
            stage.update(|s| select(last, U32::from(0), s + 1));
        }
    }

    /// The group has read a stage: the next rows may come. `together` when its threads have met since.
    pub(crate) fn release(&self, tile: U32, stage: Stage, together: bool) {
        if !together {
            match self.plan.group.threads() {
                ..=32 => sync_warp(),
                _ => sync_threads(),
            }
        }
        self.fill(stage.number, tile + stage.ahead, stage.end);
    }

    /// A thread's part of a stage, of input number `which`.
    pub(crate) fn load(&self, which: usize, tile: U32, stage: Stage, outside: f32) -> Option<Frag<Stored>> {
        let (plan, input) = (self.plan, self.inputs.get(which)?);
        let (dtype, vector) = (input.rows.dtype(), plan.tv.vector());
        let (threads, [_, columns]) = (plan.group.threads_per_row, plan.tile());
        let (row, first) = (self.plan.lane() / threads, self.plan.lane() % threads * vector);
        let here = Dim::from(stage.number) * (plan.rows() * input.row_bytes);
        let mine = match plan.rows() {
            1 => here,
            _ => here + Dim::from(row) * input.row_bytes,
        };
        let mine = input.stages.at(mine + Dim::from(first) * dtype.bytes()).assume_aligned(vector * dtype.bytes());
        let there = (plan.rows() > 1).then(|| (tile * plan.rows() + row).lt(U32::from(input.rows.dim(0))));
        let runs: Vec<Run> = (0..plan.tv.values() / vector)
            .map(|v| {
                let column = v * vector * threads;
                let inside = (!plan.whole(column + vector * threads)).then(|| {
                    let column = first + column;
                    match self.rank {
                        Dim::Static(_) => column.lt(plan.dim),
                        rank => (column + U32::from(rank) * columns).lt(plan.dim),
                    }
                });
                let condition = match (there, inside) {
                    (Some(a), Some(b)) => Some(a & b),
                    (a, b) => a.or(b),
                };
                (mine.offset(column * dtype.bytes()), condition)
            })
            .collect();
        Some(Frag::load_runs(dtype, vector, &runs, outside))
    }

    /// One element of a stage; its column is one of this block's.
    pub(crate) fn element(&self, which: usize, stage: Stage, column: U32) -> Option<F32> {
        let (plan, input) = (self.plan, self.inputs.get(which)?);
        let row = self.plan.lane() / plan.group.threads_per_row;
        let here = Dim::from(stage.number) * (plan.rows() * input.row_bytes) + Dim::from(row) * input.row_bytes;
        let at = input.stages.at(here + Dim::from(column % plan.tile()[1]) * input.rows.dtype().bytes());
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
