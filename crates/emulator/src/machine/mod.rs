//! Launches: grids of blocks, blocks of warps, warps of lanes that part and meet again.

mod access;
mod atomic;
mod barrier;
mod block;
mod cell;
mod copies;
mod core;
mod grid;
mod interpret;
mod report;
mod span;
mod warp;

pub use grid::{Checks, Launch, Options, Outcome};
pub(crate) use grid::{check, run};
