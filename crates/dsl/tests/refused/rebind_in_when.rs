//! expect E0594: a Rust variable assigned inside a run-time `if`
use warpsmith_dsl::prelude::*;
pub fn body(c: Bool, x: F32) -> F32 {
    let mut best = x;
    when(c, || best = x * 2.0);
    best
}
