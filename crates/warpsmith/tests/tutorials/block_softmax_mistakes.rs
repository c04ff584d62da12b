//! What goes wrong with a reduction over a block.

use crate::block_softmax::{BlockSoftmax, BlockSoftmaxArgs, BlockSoftmaxParams, THREADS, WARPS};
use warpsmith::prelude::*;

/// A kernel that stores the sum of a row in its elements, by some reduction over the block.
pub(crate) struct RowSum {
    pub(crate) plan: BlockSoftmax,
    pub(crate) reduce: fn(F32) -> F32,
}

impl Kernel for RowSum {
    type Args = BlockSoftmaxParams;
    fn name(&self) -> String {
        "row_sum".into()
    }
    fn launch(&self, a: &BlockSoftmaxArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(THREADS)
    }
    fn body(&self, a: BlockSoftmaxParams) {
        let tv = &self.plan.tv;
        let mine = |t: &Tensor| t.tile(tv.tile(), (block_idx().x, 0)).partition(tv, thread_idx().x);
        let x = mine(&a.x).load_or(0.0).f32();
        let sum = (self.reduce)(x.sum());
        mine(&a.y).store((x * 0.0 + sum).to(F32));
    }
}

// ANCHOR: unsynchronised
pub(crate) fn unsynchronised(x: F32) -> F32 {
    let (lane, warp) = (lane_idx(), warp_idx());
    let x = warp_reduce(x, 32, |a, b| a + b);
    let slots = Shared::<F32>::new("slots", WARPS);
    when(lane.eq(0), || slots.set(warp, x));
    // The barrier is missing.
    warp_reduce(slots.get(lane % WARPS), WARPS, |a, b| a + b)
}
// ANCHOR_END: unsynchronised

// ANCHOR: divergent
pub(crate) fn divergent(x: F32) -> F32 {
    let (lane, warp) = (lane_idx(), warp_idx());
    let x = warp_reduce(x, 32, |a, b| a + b);
    let slots = Shared::<F32>::new("slots", WARPS);
    when(lane.eq(0), || {
        slots.set(warp, x);
        sync_threads(); // one lane of each warp
    });
    warp_reduce(slots.get(lane % WARPS), WARPS, |a, b| a + b)
}
// ANCHOR_END: divergent
