//! expect E0599: `range` is no iterator
use warpsmith_dsl::prelude::*;
pub fn body(x: F32) -> F32 {
    range(0, 8).fold(x, |a, _| a + 1.0)
}
