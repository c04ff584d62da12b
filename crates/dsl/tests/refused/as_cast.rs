//! expect E0605: `as` on a run-time value
use warpsmith_dsl::prelude::*;
pub fn body() -> usize {
    thread_idx().x as usize
}
