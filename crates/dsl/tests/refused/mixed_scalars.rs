//! expect E0277: U32 + F32
use warpsmith_dsl::prelude::*;
pub fn body(x: F32) {
    let _ = x + thread_idx().x;
}
