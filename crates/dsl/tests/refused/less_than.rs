//! expect E0369: `<` gives a Rust bool
use warpsmith_dsl::prelude::*;
pub fn body(a: F32, b: F32) {
    when(a < b, || sync_threads());
}
