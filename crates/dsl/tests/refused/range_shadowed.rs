//! expect E0618: a local named like the prelude's function
use warpsmith_dsl::prelude::*;
pub fn body() {
    let range = 0..4;
    for _ in range(0, 8) {}
    let _ = range;
}
