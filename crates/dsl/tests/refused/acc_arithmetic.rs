//! expect E0369: an accumulator read before `finish`
use warpsmith_dsl::prelude::*;
pub fn body(mma: Mma) {
    let acc = mma.accumulator();
    let _ = acc * 2.0;
}
