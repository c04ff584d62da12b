//! expect E0308: a run-time condition in a Rust `if`
use warpsmith_dsl::prelude::*;
pub fn body(n: U32) {
    if thread_idx().x.lt(n) {
        sync_threads();
    }
}
