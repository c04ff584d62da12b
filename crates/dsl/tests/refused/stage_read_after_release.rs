//! expect E0382: a stage named after it was given back
use warpsmith_dsl::cute::{Pipeline, SmemTensor};
pub fn body(ring: Pipeline, memory: SmemTensor) {
    let stage = ring.consumer_wait();
    stage.release();
    let _ = memory.slice((.., stage.index()));
}
