//! expect E0507: an accumulator consumed under a run-time `if`
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma, last: Bool) {
    let acc = mma.accumulator();
    when(last, || drop(acc.finish()));
}
