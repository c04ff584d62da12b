//! Reductions along rows, from thread to warp to block to cluster.
//!
//! Each warp sends what its lanes agreed on to every block of the cluster, its own too: [`st.async`] into that block's
//! slots, counted by that block's mbarrier. Every warp then combines all slots, in the same order in every block. Without a
//! cluster the slots are written plainly, and `bar.sync` takes the place of the mbarrier.
//!
//! [`st.async`]: warpsmith_dsl::Pointer::store_async

use super::RowPlan;
use warpsmith_dsl::Stored;
use warpsmith_dsl::prelude::*;

/// What a reduction carries, and how two of them, or a warp's, become one.
pub(crate) trait Statistic {
    /// One thread's part.
    type State: Bundle;
    /// Floats in a slot.
    const FLOATS: usize;
    /// As floats, `FLOATS` of them.
    fn floats(state: Self::State) -> Vec<F32>;
    /// From floats.
    fn state(floats: &[F32]) -> Self::State;
    /// Of nothing.
    fn empty() -> Self::State;
    /// Of two.
    fn merge(a: Self::State, b: Self::State) -> Self::State;
    /// Of groups of `lanes` neighbouring lanes; each lane gets it.
    fn over_lanes(state: Self::State, lanes: usize) -> Self::State {
        warp_reduce(state, lanes, Self::merge)
    }
}

/// A sum.
pub(crate) struct Sum1;

impl Statistic for Sum1 {
    type State = F32;
    const FLOATS: usize = 1;
    fn floats(state: F32) -> Vec<F32> {
        vec![state]
    }
    fn state(floats: &[F32]) -> F32 {
        floats[0]
    }
    fn empty() -> F32 {
        F32::from(0.0)
    }
    fn merge(a: F32, b: F32) -> F32 {
        a + b
    }
}

/// Two sums at once.
pub(crate) struct Sum2;

impl Statistic for Sum2 {
    type State = (F32, F32);
    const FLOATS: usize = 2;
    fn floats((a, b): (F32, F32)) -> Vec<F32> {
        vec![a, b]
    }
    fn state(floats: &[F32]) -> (F32, F32) {
        (floats[0], floats[1])
    }
    fn empty() -> (F32, F32) {
        (F32::from(0.0), F32::from(0.0))
    }
    fn merge(a: (F32, F32), b: (F32, F32)) -> (F32, F32) {
        (a.0 + b.0, a.1 + b.1)
    }
}

/// The largest value, and the sum of exponentials relative to it (Milakov & Gimelshein 2018, arXiv:1805.02867).
pub(crate) struct MaxSum;

impl MaxSum {
    /// What exponents are relative to: a row, or a part of one, that has nothing but −∞ must not give ∞ − ∞.
    pub(crate) fn base(max: F32) -> F32 {
        select(max.eq(f32::NEG_INFINITY), F32::from(0.0), max)
    }

    /// Of values, with their exponentials relative to [`base`](MaxSum::base).
    pub(crate) fn of(x: Frag<Stored>) -> ((F32, F32), Exponentials) {
        let max = x.largest();
        let e = MaxSum::exponentials(x, max);
        let sum = e.values.sum();
        ((max, e.correction.map_or(sum, |c| sum * c)), e)
    }

    /// Exponentials of values relative to the largest.
    ///
    /// Of 16-bit floats each is 2 to the power of one fused multiplication and addition, x · log₂e − base · log₂e, since
    /// these kernels have no instructions to spare. Its second product was rounded; what was rounded away is the same for
    /// all values, and given beside them. From 2¹⁵ on that would be too much, but there a bf16 that is not the largest is
    /// 256 below it at least, so that any base serves; f16 do not go far enough to matter.
    pub(crate) fn exponentials(x: Frag<Stored>, max: F32) -> Exponentials {
        let (dtype, x, base) = (x.dtype(), x.f32(), MaxSum::base(max));
        if dtype == DType::F32 {
            return Exponentials { values: (x - base).exp(), correction: None };
        }
        let factor = match dtype {
            DType::BF16 => select(base.gt(BIG) | base.lt(-BIG), F32::from(1.0), std::f32::consts::LOG2_E),
            _ => F32::from(std::f32::consts::LOG2_E),
        };
        let shift = -(base * factor);
        let correction = (-base.mul_add(factor, shift)).exp2();
        Exponentials { values: x.map(|x| x.mul_add(factor, shift)).exp2(), correction: Some(correction) }
    }
}

/// 2¹⁵.
const BIG: f32 = 32768.0;

/// Exponentials, and by what they are to be multiplied.
#[derive(Clone, Copy)]
pub(crate) struct Exponentials {
    values: Frag<F32>,
    correction: Option<F32>,
}

impl Exponentials {
    /// All of them, times a factor.
    pub(crate) fn scaled(self, by: F32) -> Frag<F32> {
        self.values * self.correction.map_or(by, |c| by * c)
    }
}

impl Statistic for MaxSum {
    type State = (F32, F32);
    const FLOATS: usize = 2;
    fn floats((max, sum): (F32, F32)) -> Vec<F32> {
        vec![max, sum]
    }
    fn state(floats: &[F32]) -> (F32, F32) {
        (floats[0], floats[1])
    }
    fn empty() -> (F32, F32) {
        (F32::from(f32::NEG_INFINITY), F32::from(0.0))
    }
    fn merge(a: (F32, F32), b: (F32, F32)) -> (F32, F32) {
        let max = a.0.max(b.0);
        let base = MaxSum::base(max);
        (max, a.1 * (a.0 - base).exp() + b.1 * (b.0 - base).exp())
    }
    fn over_lanes((max, sum): (F32, F32), lanes: usize) -> (F32, F32) {
        // One exponential a lane, where merging pair by pair would take two a step.
        let all = warp_reduce(max, lanes, |a, b| a.max(b));
        (all, warp_reduce(sum * (max - MaxSum::base(all)).exp(), lanes, |a, b| a + b))
    }
}

/// The same, and two sums beside it.
pub(crate) struct MaxSumDot;

impl Statistic for MaxSumDot {
    type State = (F32, F32, F32, F32);
    const FLOATS: usize = 4;
    fn floats(s: Self::State) -> Vec<F32> {
        vec![s.0, s.1, s.2, s.3]
    }
    fn state(floats: &[F32]) -> Self::State {
        (floats[0], floats[1], floats[2], floats[3])
    }
    fn empty() -> Self::State {
        let (max, sum) = MaxSum::empty();
        (max, sum, F32::from(0.0), F32::from(0.0))
    }
    fn merge(a: Self::State, b: Self::State) -> Self::State {
        let (max, sum) = MaxSum::merge((a.0, a.1), (b.0, b.1));
        (max, sum, a.2 + b.2, a.3 + b.3)
    }
    fn over_lanes(s: Self::State, lanes: usize) -> Self::State {
        let (max, sum) = MaxSum::over_lanes((s.0, s.1), lanes);
        let (a, b) = Sum2::over_lanes((s.2, s.3), lanes);
        (max, sum, a, b)
    }
}

/// Where a block's warps, and a cluster's blocks, leave their parts.
pub(crate) struct Exchange {
    barriers: Option<Mbarriers>,
    /// In a loop: how many times the block went round. Slots and barriers are there twice, taken in turn: who writes in
    /// one pass has waited for the pass before, in which all have read those of the pass before that.
    turn: Option<Var<U32>>,
    /// In a loop of a cluster: the blocks that have read their slots. That parts have come from a block does not order
    /// its reads before: who sends them is not who read.
    read: Option<Mbarriers>,
}

impl Exchange {
    /// For kernels that reduce so many times, or so many times in each pass of a loop. Blocks of a cluster announce
    /// themselves here.
    pub(crate) fn new(plan: &RowPlan, reductions: usize, loops: bool) -> Exchange {
        let turn = (loops && plan.warps() * plan.cluster > 1 && reductions > 0).then(|| var(U32::from(0)));
        if plan.cluster == 1 || reductions == 0 {
            return Exchange { barriers: None, turn, read: None };
        }
        let barriers = Mbarriers::new("exchange", reductions * if loops { 2 } else { 1 });
        let read = loops.then(|| Mbarriers::new("read", reductions * 2));
        when(thread_idx().x.eq(0), || {
            barriers.init(1);
            read.iter().for_each(|read| read.init(plan.cluster));
            fence_barrier_init();
        });
        arrive_cluster_relaxed();
        Exchange { barriers: Some(barriers), turn, read }
    }

    /// Before a loop, when what is to be loaded is under way: blocks of a cluster wait for each other's barriers. Without
    /// a loop they do so before they send.
    pub(crate) fn ready(&self) {
        if self.barriers.is_some() && self.turn.is_some() {
            wait_cluster();
        }
    }

    /// After a loop: others may still say here that they have read.
    pub(crate) fn finish(&self) {
        if self.read.is_some() {
            sync_cluster();
        }
    }

    /// Before the next pass.
    pub(crate) fn next(&self) {
        if let Some(turn) = &self.turn {
            turn.add(1);
        }
    }

    /// Combines one state of each thread over all threads of a row: reduction `which` of the kernel.
    pub(crate) fn reduce<S: Statistic>(&self, plan: &RowPlan, which: usize, state: S::State) -> S::State {
        let (threads, warps) = (plan.group.threads_per_row, plan.warps());
        let state = S::over_lanes(state, threads.min(32));
        let parts = warps * plan.cluster;
        if parts == 1 {
            return state;
        }
        let floats = plan.rows() * parts * S::FLOATS;
        let slots = Shared::<F32>::new("row", floats * if self.turn.is_some() { 2 } else { 1 });
        let turn = self.turn.as_ref().map(Var::get);
        let side = turn.map_or(Dim::Static(0), |t| Dim::from(t & 1));
        let (lane, warp) = (lane_idx(), thread_idx().x / 32);
        // Rows of fewer threads than a warp have several states in it.
        let row = thread_idx().x / threads;
        let slot = |part: Dim| slots.at(side * floats + (Dim::from(row) * parts + part) * S::FLOATS);
        match &self.barriers {
            None => {
                when(lane.eq(0), || store::<S>(slot(Dim::from(warp % warps)), state.clone()));
                sync_threads();
            }
            Some(barriers) => {
                if which == 0 && self.turn.is_none() {
                    wait_cluster(); // all have their barriers
                }
                let barrier = match turn {
                    Some(_) => barriers.at(side + 2 * which),
                    None => barriers.at(which),
                };
                let pass = turn.map_or(U32::from(0), |t| t >> 1);
                let read = self.read.as_ref().map(|read| read.at(side + 2 * which));
                if let Some(read) = read {
                    read.wait_cluster((pass & 1) ^ 1);
                }
                when(thread_idx().x.eq(0), || barrier.arrive_expect(floats * 4));
                // Lane `l` of a row's threads sends to block `l`.
                let (to, first) = (thread_idx().x % threads.min(32), Dim::from(cluster_rank()) * warps);
                if threads.min(32) < plan.cluster {
                    for block in 0..plan.cluster {
                        let here = slot(first + warp % warps).in_block(block);
                        when(to.eq(0), || send::<S>(here, state.clone(), barrier.in_block(block)));
                    }
                } else {
                    when(to.lt(plan.cluster), || {
                        let here = slot(first + warp % warps).in_block(to);
                        send::<S>(here, state.clone(), barrier.in_block(to));
                    });
                }
                barrier.wait_cluster(pass & 1);
                let all = self.combine::<S>(threads, parts, &slot);
                if let Some(read) = read {
                    sync_threads();
                    when(thread_idx().x.lt(plan.cluster), || read.in_block(thread_idx().x).arrive());
                }
                return all;
            }
        }
        self.combine::<S>(threads, parts, &slot)
    }

    /// Combines all parts of a row.
    fn combine<S: Statistic>(&self, threads: usize, parts: usize, slot: &dyn Fn(Dim) -> Pointer<F32>) -> S::State {
        let lane = lane_idx();
        if threads < 32 {
            let all = (0..parts).map(|p| load::<S>(slot(p.into())));
            return all.reduce(S::merge).unwrap_or_else(S::empty);
        }
        if parts.is_power_of_two() && parts < 32 {
            return S::over_lanes(load::<S>(slot((lane % parts).into())), parts);
        }
        let strided = (0..parts.div_ceil(32)).map(|i| {
            let part = lane + 32 * i;
            let get = || load::<S>(slot(part.into()));
            if 32 * (i + 1) <= parts { get() } else { branch(part.lt(parts), get, S::empty) }
        });
        S::over_lanes(strided.reduce(S::merge).unwrap_or_else(S::empty), 32)
    }
}

fn load<S: Statistic>(from: Pointer<F32>) -> S::State {
    S::state(&match S::FLOATS {
        1 => vec![from.load()],
        2 => from.load_vector::<2>().to_vec(),
        _ => from.load_vector::<4>().to_vec(),
    })
}

fn store<S: Statistic>(to: Pointer<F32>, state: S::State) {
    match S::floats(state)[..] {
        [a] => to.store(a),
        [a, b] => to.store_vector([a, b]),
        [a, b, c, d] => to.store_vector([a, b, c, d]),
        _ => {}
    }
}

fn send<S: Statistic>(to: Pointer<F32>, state: S::State, barrier: RemoteMbarrier) {
    match S::floats(state)[..] {
        [a] => to.store_async(a, barrier),
        [a, b] => to.store_async_vector([a, b], barrier),
        [a, b, c, d] => to.store_async_vector([a, b, c, d], barrier),
        _ => {}
    }
}
