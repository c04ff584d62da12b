//! expect E0277: a Rust array indexed by a run-time value
use warpsmith_dsl::prelude::*;
pub fn body(xs: [F32; 4]) -> F32 {
    xs[thread_idx().x]
}
