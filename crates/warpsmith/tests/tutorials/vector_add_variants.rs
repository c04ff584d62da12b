//! Variants of the vector addition: one that knows the length, one that is wrong.

use crate::vector_add::{VectorAdd, VectorAddArgs, VectorAddParams};
use warpsmith::prelude::*;

/// Adds to what `z` holds, which is nothing.
pub(crate) struct Accumulate(pub(crate) VectorAdd);

impl Kernel for Accumulate {
    type Args = VectorAddParams;
    fn name(&self) -> String {
        "accumulate".into()
    }
    fn launch(&self, a: &VectorAddArgs<'_>) -> Launch {
        self.0.launch(a)
    }
    fn body(&self, a: VectorAddParams) {
        let tile = |t: &Tensor| t.broadcast(1).tile(self.0.tv.tile(), (0, block_idx().x));
        let mine = |t: &Tensor| tile(t).partition(&self.0.tv, thread_idx().x);

        // ANCHOR: accumulate
        let x = mine(&a.x).load().f32();
        let z = mine(&a.z).load().f32(); // meant: y
        mine(&a.z).store((x + z).to(self.0.dtype));
        // ANCHOR_END: accumulate
    }
}

// ANCHOR: wide
#[derive(KernelArgs)]
pub(crate) struct WideArgs<'a> {
    #[tensor(n = fixed)]
    pub(crate) x: &'a TensorArg,
    #[tensor(n = fixed)]
    pub(crate) y: &'a TensorArg,
    #[tensor(n = fixed)]
    pub(crate) z: &'a mut TensorArg,
}
// ANCHOR_END: wide

/// The same for one length.
pub(crate) struct Wide(pub(crate) VectorAdd);

impl Kernel for Wide {
    type Args = WideParams;
    fn name(&self) -> String {
        "wide".into()
    }
    fn launch(&self, a: &WideArgs<'_>) -> Launch {
        Launch::grid(a.z.dim(0).div_ceil(1024)).block(256)
    }
    fn body(&self, a: WideParams) {
        self.0.body(VectorAddParams { x: a.x, y: a.y, z: a.z });
    }
}
