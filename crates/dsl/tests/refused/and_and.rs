//! expect E0308: `&&` wants Rust bools; `&` is right
use warpsmith_dsl::prelude::*;
pub fn body(a: Bool, b: Bool) {
    when(a && b, || sync_threads());
}
