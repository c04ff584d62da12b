//! expect E0382: a stage given to the consumers twice
use warpsmith_dsl::cute::Pipeline;
pub fn body(ring: Pipeline) {
    let stage = ring.producer_acquire();
    stage.commit();
    stage.commit();
}
