//! expect E0368: `+=` on a Var
use warpsmith_dsl::prelude::*;
pub fn body(x: F32) {
    let mut sum = var(0.0);
    sum += x;
}
