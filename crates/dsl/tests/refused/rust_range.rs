//! expect E0308: a Rust range to a run-time bound
use warpsmith_dsl::prelude::*;
pub fn body(n: U32) {
    for _ in 0..n {}
}
