//! expect E0369: the same, with an operator
use warpsmith_dsl::prelude::*;
pub fn body(x: Frag, scale: F32) {
    let _ = x * scale;
}
