//! How a kernel goes over its rows: the same body for rows that are held, that come through a ring, or are read twice.

use super::RowPlan;
use super::leaving::Leaving;
use super::reduce::{Exchange, Statistic};
use super::ring::{Ring, Stage};
use std::cell::Cell;
use warpsmith_dsl::bundle::Bundle;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Part, Stored};

/// Bytes of registers at most that one element is picked out of.
const PICKED: usize = 64;

/// A kernel's rows.
pub(crate) struct Rows<'p> {
    plan: &'p RowPlan,
    inputs: Vec<Tensor>,
    exchange: Exchange,
    ring: Option<Ring<'p>>,
    /// The block in its row's cluster.
    rank: Dim,
    /// Whether a block goes over several tiles of rows in a loop without a ring.
    loops: bool,
    /// How L2 treats what is read by rows.
    policy: Option<CachePolicy>,
}

/// A group's rows, and this thread's part of them.
pub(crate) struct Walk<'w> {
    pub(crate) plan: &'w RowPlan,
    rows: &'w Rows<'w>,
    /// Which `plan.rows()` rows the group has.
    tile: Dim,
    stage: Option<Stage>,
    released: Cell<bool>,
}

/// One tile of a group's rows.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'w> {
    rows: &'w Rows<'w>,
    /// Which rows.
    tile: Dim,
    /// Which columns of them.
    column: Dim,
    /// Which slice of those.
    slice: usize,
    stage: Option<Stage>,
}

impl<'p> Rows<'p> {
    /// For a kernel that reads `inputs` by rows, all of one shape, and reduces so many times along them.
    pub(crate) fn new(plan: &'p RowPlan, inputs: &[&Tensor], reductions: usize, leaving: Leaving) -> Rows<'p> {
        Rows::with(plan, inputs, reductions, leaving, false)
    }

    /// The same for a block that goes over several tiles of rows in any case.
    pub(crate) fn looping(plan: &'p RowPlan, inputs: &[&Tensor], reductions: usize, leaving: Leaving) -> Rows<'p> {
        Rows::with(plan, inputs, reductions, leaving, true)
    }

    fn with(plan: &'p RowPlan, inputs: &[&Tensor], reductions: usize, leaving: Leaving, loops: bool) -> Rows<'p> {
        // Narrow accesses take their registers for themselves.
        let policy = (plan.tv.vector() > 1).then(|| leaving.policy(inputs, plan.dim)).flatten();
        let rank = if plan.cluster == 1 { Dim::Static(0) } else { cluster_rank().into() };
        let exchange = Exchange::new(plan, reductions, loops || plan.ring.is_some_and(|ring| ring.stages > 1));
        let ring = plan.ring.map(|ring| Ring::new(plan, ring.stages, inputs, rank, policy));
        Rows { plan, inputs: inputs.iter().map(|t| (*t).clone()).collect(), exchange, ring, rank, loops, policy }
    }

    /// What goes with every row: loaded once and now where a loop is to come and registers hold it, or else when it is asked
    /// for.
    pub(crate) fn keep<'w, T: Clone>(&'w self, load: impl Fn(Chunk<'w>) -> T) -> impl Fn(Chunk<'w>) -> T {
        let chunk = Chunk { rows: self, tile: Dim::Static(0), column: self.rank, slice: 0, stage: None };
        let kept = self.plan.ring.is_some_and(|ring| ring.keeps).then(|| load(chunk));
        move |chunk| kept.clone().unwrap_or_else(|| load(chunk))
    }

    /// Does something with each of the group's tiles of rows.
    pub(crate) fn run<'w>(&'w self, body: impl Fn(&Walk<'w>)) {
        self.run_ahead(|_| (), |walk, ()| body(walk));
    }

    /// The same, with what a row has one of: `ahead` loads it for this thread's row, a tile ahead where there is a loop. The
    /// row may be one that is not there.
    pub(crate) fn run_ahead<'w, T: Bundle>(&'w self, ahead: impl Fn(U32) -> T, body: impl Fn(&Walk<'w>, T)) {
        let plan = self.plan;
        let mine = |tile: U32| self.row(tile.into());
        let Some(first) = self.inputs.first() else { return };
        let walk = |tile: Dim, stage| Walk { plan, rows: self, tile, stage, released: Cell::new(false) };
        let tiles = U32::from(first.dim(0).div_ceil(plan.rows()));
        if let Some(ring) = &self.ring {
            if !ring.loops() {
                return ring.each(
                    tiles,
                    || (),
                    |tile, _, stage| {
                        body(&walk(tile.into(), Some(stage)), ahead(mine(tile)));
                        true
                    },
                );
            }
            let next = var(ahead(mine(ring.first(tiles))));
            ring.each(
                tiles,
                || self.exchange.ready(),
                |tile, then, stage| {
                    let now = next.get();
                    next.set(ahead(mine(then)));
                    let walk = walk(tile.into(), Some(stage));
                    body(&walk, now);
                    self.exchange.next();
                    walk.released.get()
                },
            );
            return self.exchange.finish();
        }
        self.exchange.ready();
        let block: Dim = if plan.cluster == 1 { block_idx().x.into() } else { (block_idx().x / plan.cluster).into() };
        if !self.loops {
            let walk = walk(block, None);
            return body(&walk, ahead(walk.row()));
        }
        for tile in range(block, tiles).step(grid_size().x / plan.cluster) {
            let walk = walk(tile.into(), None);
            body(&walk, ahead(walk.row()));
            self.exchange.next();
        }
        self.exchange.finish();
    }

    /// The thread's row of a tile.
    fn row(&self, tile: Dim) -> U32 {
        let plan = self.plan;
        match plan.rows() {
            1 => U32::from(tile),
            rows => U32::from(tile * rows + plan.lane() / plan.group.threads_per_row),
        }
    }

    /// This thread's part of a vector that goes with every row, by the columns of the block's tile.
    pub(crate) fn vector(&self, vector: &Tensor) -> Part {
        Chunk { rows: self, tile: Dim::Static(0), column: self.rank, slice: 0, stage: None }.of_vector(vector)
    }
}

impl<'w> Walk<'w> {
    /// What is held: loaded once and now, or, by a plan that holds nothing, when it is asked for.
    pub(crate) fn hold<T: Clone>(&self, load: impl Fn(Chunk<'w>) -> T) -> impl Fn(Chunk<'w>) -> T {
        let held = self.plan.holds.then(|| load(self.held()));
        move |chunk| held.clone().unwrap_or_else(|| load(chunk))
    }

    /// Does something with each tile of the row.
    pub(crate) fn each(&self, f: impl Fn(Chunk<'w>)) {
        if !self.plan.is_streamed() {
            return (0..self.plan.slices()).for_each(|slice| f(Chunk { slice, ..self.held() }));
        }
        for column in range(self.rows.rank, self.plan.tiles()).step(self.plan.cluster) {
            f(Chunk { column: column.into(), ..self.held() });
        }
    }

    /// Reduces over a row: reduction `which` of the kernel.
    pub(crate) fn reduce<S: Statistic>(&self, which: usize, part: impl Fn(Chunk<'w>) -> S::State) -> S::State {
        let mine = if self.plan.is_streamed() {
            let all = var(S::empty());
            // Twice, so that the next tile is under way while one is reduced.
            for column in range(self.rows.rank, self.plan.tiles()).step(self.plan.cluster).unroll(2) {
                let next = part(Chunk { column: column.into(), ..self.held() });
                all.update(|so_far| S::merge(so_far, next));
            }
            all.get()
        } else {
            let slices = (1..self.plan.slices()).map(|slice| Chunk { slice, ..self.held() });
            slices.fold(part(self.held()), |so_far, c| S::merge(so_far, part(c)))
        };
        if self.plan.holds {
            self.release();
        }
        self.rows.exchange.reduce::<S>(self.plan, which, mine)
    }

    /// Lets the next rows come, once.
    fn release(&self) {
        let ring = self.rows.ring.as_ref().filter(|ring| ring.loops());
        if let (Some(ring), Some(stage), false) = (ring, self.stage, self.released.replace(true)) {
            ring.release(U32::from(self.tile), stage);
        }
    }

    /// The one tile of a group that holds its rows.
    pub(crate) fn held(&self) -> Chunk<'w> {
        Chunk { rows: self.rows, tile: self.tile, column: self.rows.rank, slice: 0, stage: self.stage }
    }

    /// The thread's row, and whether it is a row of so many.
    pub(crate) fn row(&self) -> U32 {
        self.rows.row(self.tile)
    }

    /// One element of the thread's row of input number `which`, before the first reduction; of a column that
    /// [`owns`](Walk::owns) says is its own.
    pub(crate) fn element(&self, which: usize, column: U32) -> F32 {
        let input = &self.rows.inputs[which];
        let staged = self.stage.and_then(|stage| self.rows.ring.as_ref()?.element(which, stage, column));
        staged.unwrap_or_else(|| scalar(input, (self.row(), column)))
    }

    /// The same of a row that is held as `x` gives it, where this thread `asks` for it: picked out of registers, or read again.
    pub(crate) fn held_element(&self, x: impl Fn(Chunk<'w>) -> Frag<Stored>, asks: Bool, column: U32) -> F32 {
        if !self.picks() {
            return branch(asks, || self.element(0, column), || F32::from(0.0));
        }
        let (plan, vector) = (self.plan, self.plan.tv.vector());
        let (within, run) = (column % plan.tile()[1], vector * plan.group.threads_per_row);
        x(self.held()).pick(within / run * vector + within % vector).f32().numbers()[0]
    }

    /// Whether one element of a held row is picked out of registers: that waits for nothing that the row does not wait for, but
    /// takes registers for itself, with which fewer blocks fit. Where several warps share a row of packed elements that costs more
    /// than it gains.
    fn picks(&self) -> bool {
        let (plan, bytes) = (self.plan, self.rows.inputs[0].dtype().bytes());
        let whole = plan.holds && plan.ring.is_none() && plan.slices() == 1;
        whole && plan.tv.values() * bytes <= PICKED && (bytes == 4 || plan.group.threads_per_row <= 32)
    }

    /// Whether this thread, of all that share its row, has a column of it; of rows that are there.
    pub(crate) fn owns(&self, column: U32, rows: Dim) -> Bool {
        let (plan, threads) = (self.plan, self.plan.group.threads_per_row);
        let [_, columns] = plan.tile();
        let place = column % columns / plan.tv.vector() % threads;
        let mine = (plan.lane() % threads).eq(place) & self.row().lt(U32::from(rows));
        match self.rows.rank {
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
    /// Which of all slices of rows it is.
    fn number(&self) -> Dim {
        self.column * self.rows.plan.slices() + self.slice
    }

    /// Its first columns that are there for sure.
    fn sure(&self) -> usize {
        let plan = self.rows.plan;
        plan.sure().saturating_sub(self.slice * plan.at_once().tile()[1])
    }

    /// This thread's part of rows.
    pub(crate) fn of(&self, rows: &Tensor) -> Part {
        let (plan, tv) = (self.rows.plan, self.rows.plan.at_once());
        rows.tile(tv.tile(), (self.tile, self.number())).partition(tv, plan.lane()).within(self.sure())
    }

    /// Of a vector that goes with every row.
    pub(crate) fn of_vector(&self, vector: &Tensor) -> Part {
        let (plan, tv) = (self.rows.plan, self.rows.plan.at_once());
        let tile = vector.broadcast(plan.rows()).tile(tv.tile(), (0, self.number()));
        tile.partition(tv, plan.lane()).within(self.sure())
    }

    /// Loads floats of input number `which`; what lies past the row reads as `outside`.
    pub(crate) fn input(&self, which: usize, outside: f32) -> Frag<F32> {
        self.stored(which, outside).f32()
    }

    /// The same as they are stored.
    pub(crate) fn stored(&self, which: usize, outside: f32) -> Frag<Stored> {
        let staged = self.stage.and_then(|stage| self.rows.ring.as_ref()?.load(which, stage, self.slice, outside));
        staged.unwrap_or_else(|| self.once(&self.rows.inputs[which]).load_or(outside))
    }

    /// Loads floats of rows; what lies past the row reads as `outside`.
    pub(crate) fn load(&self, rows: &Tensor, outside: f32) -> Frag<F32> {
        self.once(rows).load_or(outside).f32()
    }

    /// This thread's part of rows that are read.
    fn once(&self, rows: &Tensor) -> Part {
        let part = self.of(rows);
        match self.rows.policy {
            Some(policy) => part.policy(policy),
            None => part,
        }
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
        let (plan, tv) = (self.rows.plan, self.rows.plan.at_once());
        let (vector, threads) = (tv.vector(), plan.group.threads_per_row);
        let first = U32::from(self.number() * tv.tile()[1] + Dim::from(plan.lane() % threads) * vector);
        (0..tv.values()).map(|v| first + (v / vector * vector * threads + v % vector)).collect()
    }

    /// Values with 0 in place of those past the row.
    pub(crate) fn inside(&self, x: Frag<F32>) -> Frag<F32> {
        let plan = self.rows.plan;
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
