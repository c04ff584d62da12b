//! expect E0382: an accumulator used after `finish`
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, ring: TmaRing<2>) {
    let acc = mma.accumulator();
    let _sums = acc.finish();
    ring.drain(8, |_, [a, b]| acc.mma(a, b));
}
