//! How a kernel goes over its rows: the same body for rows that are held and for rows that are read twice.

use super::RowPlan;
use super::reduce::{Exchange, Statistic};
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Part, Stored};

/// A block's rows, and this thread's part of them.
pub(crate) struct Walk<'p> {
    pub(crate) plan: &'p RowPlan,
    exchange: Exchange,
    /// Which `plan.rows()` rows the block has.
    block: Dim,
    /// The block in its row's cluster.
    rank: Dim,
}

/// One tile of a block's rows.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'w> {
    walk: &'w Walk<'w>,
    /// The tile's number in its rows.
    tile: Dim,
}

impl<'p> Walk<'p> {
    /// For a kernel that reduces so many times along its rows.
    pub(crate) fn new(plan: &'p RowPlan, reductions: usize) -> Walk<'p> {
        let x = block_idx().x;
        let (block, rank) = match plan.cluster {
            1 => (x.into(), Dim::Static(0)),
            n => ((x / n).into(), cluster_rank().into()),
        };
        Walk { plan, exchange: Exchange::new(plan, reductions), block, rank }
    }

    /// For rows number `block` of a block that goes over several in a loop; of plans where a block holds its rows.
    pub(crate) fn at(plan: &'p RowPlan, block: U32) -> Walk<'p> {
        Walk { plan, exchange: Exchange::again(), block: block.into(), rank: Dim::Static(0) }
    }

    /// What is held: loaded once and now, or, by a plan that holds nothing, when it is asked for.
    pub(crate) fn hold<'w, T: Clone>(&'w self, load: impl Fn(Chunk<'w>) -> T) -> impl Fn(Chunk<'w>) -> T {
        let held = self.plan.holds.then(|| load(self.held()));
        move |chunk| held.clone().unwrap_or_else(|| load(chunk))
    }

    /// Does something with each tile of the block.
    pub(crate) fn each<'w>(&'w self, f: impl Fn(Chunk<'w>)) {
        if self.plan.holds {
            return f(self.held());
        }
        for tile in range(self.rank, self.plan.tiles()).step(self.plan.cluster) {
            f(Chunk { walk: self, tile: tile.into() });
        }
    }

    /// Reduces over a row: reduction `which` of the kernel.
    pub(crate) fn reduce<'w, S: Statistic>(&'w self, which: usize, part: impl Fn(Chunk<'w>) -> S::State) -> S::State {
        let mine = if self.plan.holds {
            part(self.held())
        } else {
            let all = var(S::empty());
            for tile in range(self.rank, self.plan.tiles()).step(self.plan.cluster) {
                let next = part(Chunk { walk: self, tile: tile.into() });
                all.update(|so_far| S::merge(so_far, next));
            }
            all.get()
        };
        self.exchange.reduce::<S>(self.plan, which, mine)
    }

    /// The one tile of a block that holds its rows.
    pub(crate) fn held(&self) -> Chunk<'_> {
        Chunk { walk: self, tile: self.rank }
    }

    /// The thread's row, and whether it is a row of so many.
    pub(crate) fn row(&self) -> U32 {
        let first = self.block * self.plan.rows();
        U32::from(first + thread_idx().x / self.plan.group.threads_per_row)
    }

    /// Whether this thread, of all that share its row, has a column of it; of rows that are there.
    pub(crate) fn owns(&self, column: U32, rows: Dim) -> Bool {
        let (plan, threads) = (self.plan, self.plan.group.threads_per_row);
        let [_, columns] = plan.tile();
        let place = column % columns / plan.tv.vector() % threads;
        let mine = (thread_idx().x % threads).eq(place) & self.row().lt(U32::from(rows));
        match self.rank {
            Dim::Static(_) => mine,
            rank => mine & (column / columns % plan.cluster).eq(U32::from(rank)),
        }
    }

    /// Whether this thread speaks for its row: one of all that share it does, of rows that are there.
    pub(crate) fn speaks(&self, rows: Dim) -> Bool {
        self.owns(U32::from(0), rows)
    }
}

impl Chunk<'_> {
    /// This thread's part of rows.
    pub(crate) fn of(&self, rows: &Tensor) -> Part {
        let plan = self.walk.plan;
        rows.tile(plan.tile(), (self.walk.block, self.tile)).partition(&plan.tv, thread_idx().x)
    }

    /// Of a vector that goes with every row.
    pub(crate) fn of_vector(&self, vector: &Tensor) -> Part {
        let plan = self.walk.plan;
        let tile = vector.broadcast(plan.rows()).tile(plan.tile(), (0, self.tile));
        tile.partition(&plan.tv, thread_idx().x)
    }

    /// Loads floats of rows; what lies past the row reads as `outside`.
    pub(crate) fn load(&self, rows: &Tensor, outside: f32) -> Frag<F32> {
        self.of(rows).load_or(outside).f32()
    }

    /// Loads floats of a vector that goes with every row; what lies past it reads as 0.
    pub(crate) fn load_vector(&self, vector: &Tensor) -> Frag<F32> {
        self.of_vector(vector).load_or(0.0).f32()
    }

    /// Stores floats to rows, in their dtype.
    pub(crate) fn store(&self, rows: &Tensor, x: Frag<F32>) {
        let x: Frag<Stored> = x.to(rows.dtype());
        self.of(rows).store(x);
    }

    /// The columns of this thread's values.
    pub(crate) fn columns(&self) -> Vec<U32> {
        let plan = self.walk.plan;
        let (vector, threads) = (plan.tv.vector(), plan.group.threads_per_row);
        let first = U32::from(self.tile * plan.tile()[1] + Dim::from(thread_idx().x % threads) * vector);
        (0..plan.tv.values()).map(|v| first + (v / vector * vector * threads + v % vector)).collect()
    }

    /// Values with 0 in place of those past the row.
    pub(crate) fn inside(&self, x: Frag<F32>) -> Frag<F32> {
        let plan = self.walk.plan;
        if !plan.overhangs() {
            return x;
        }
        let (mut runs, columns) = (vec![], self.columns());
        for (run, first) in x.numbers().chunks(plan.tv.vector()).zip(columns.chunks(plan.tv.vector())) {
            // A run is whole: its length divides the row's.
            let there = first[0].lt(plan.dim);
            runs.extend(run.iter().map(|v| select(there, *v, 0.0)));
        }
        Frag::of(&runs).f32()
    }
}

/// One element as a float; of f32, f16 and bf16.
pub(crate) fn scalar(t: &Tensor, at: (U32, U32)) -> F32 {
    match t.dtype() {
        DType::BF16 => t.at::<BF16>(at).load().f32(),
        DType::F16 => t.at::<F16>(at).load().f32(),
        _ => t.at::<F32>(at).load(),
    }
}
