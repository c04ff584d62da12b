//! The device layer, on the device of the environment: emulated, or a card with `WARPSMITH_DEVICE=cuda`.

mod common;
mod graph;
mod launch;
mod memory;
mod peers;
mod pinned;
mod pool;
mod streams;
