//! What goes wrong with a vector addition.

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
