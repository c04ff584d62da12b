//! expect E0382: one accumulator finished by every run-time iteration
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, ring: TmaRing<2>) {
    let acc = mma.accumulator();
    for _ in range(0, 8) {
        ring.drain(8, |_, [a, b]| acc.mma(a, b));
        let _sums = acc.finish();
    }
}
