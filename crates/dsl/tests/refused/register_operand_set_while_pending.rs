//! expect E0502: A's registers changed while an MMA reads them
use warpsmith_dsl::cute::SmemTensor;
use warpsmith_dsl::prelude::*;
pub fn body(mma: WarpgroupMma, b: SmemTensor, first: Frag, second: Frag) {
    let acc = mma.accumulator();
    let mut a = mma.register_a(64, first);
    let pending = acc.mma(&a, &b);
    a.set(second);
    pending.wait();
}
