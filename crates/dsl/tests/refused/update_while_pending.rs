//! expect E0502: sums rescaled while an MMA adds to them
use warpsmith_dsl::pipeline::Full;
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, a: Full<'_>, b: Full<'_>, scale: F32) {
    let mut acc = mma.accumulator();
    let pending = acc.mma(a, b);
    acc.update(|x| x * scale);
    pending.wait();
}
