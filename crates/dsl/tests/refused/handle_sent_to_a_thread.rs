//! expect E0277: a run-time value belongs to the thread that traces
use warpsmith_dsl::prelude::*;
pub fn body(x: F32) {
    std::thread::scope(|s| {
        s.spawn(|| x * 2.0);
    });
}
