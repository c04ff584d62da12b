//! expect E0597: a tile that does not outlive the MMA that reads it
use warpsmith_dsl::cute::SmemTensor;
use warpsmith_dsl::prelude::*;
pub fn body(mma: WarpgroupMma, a: SmemTensor) {
    let acc = mma.accumulator();
    let pending = {
        let b = a.slice((.., .., 1));
        acc.mma(&a, &b)
    };
    pending.wait();
}
