//! expect E0521: a stage's tile kept past the stage
use std::cell::Cell;
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, ring: TmaRing<2>) {
    let acc = mma.accumulator();
    let kept = Cell::new(None);
    ring.drain(8, |_, [a, b]| {
        kept.set(Some(a));
        acc.mma(a, b)
    });
}
