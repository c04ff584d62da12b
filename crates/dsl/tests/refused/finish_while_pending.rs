//! expect E0505: an accumulator finished while an MMA runs
use warpsmith_dsl::pipeline::Full;
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, a: Full<'_>, b: Full<'_>) {
    let acc = mma.accumulator();
    let pending = acc.mma(a, b);
    let _sums = acc.finish();
    pending.wait();
}
