//! expect E0505: an accumulator finished whose product may still run
use warpsmith_dsl::cute::SmemTensor;
use warpsmith_dsl::prelude::*;
pub fn body(mma: WarpgroupMma, a: SmemTensor) {
    let (first, second) = (mma.accumulator(), mma.accumulator());
    let one = first.mma(&a, &a).close();
    let two = second.mma(&a, &a).close();
    one.wait_but(1);
    let _ = second.finish();
    two.wait();
}
