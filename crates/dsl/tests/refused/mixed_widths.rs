//! expect E0277: U64 + U32
use warpsmith_dsl::prelude::*;
pub fn body(x: U64) -> U64 {
    x + thread_idx().x
}
