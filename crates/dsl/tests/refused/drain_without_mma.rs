//! expect E0308: a drained stage that no MMA reads
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, ring: TmaRing<2>) {
    let acc = mma.accumulator();
    ring.drain(8, |_, [a, b]| {
        acc.mma(a, b);
    });
}
