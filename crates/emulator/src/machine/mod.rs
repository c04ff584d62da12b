//! Launches: grids of blocks, blocks of warps, warps of lanes that part and meet again.

mod access;
mod agents;
mod arrive;
mod atomic;
mod barrier;
mod block;
mod boxes;
mod bulk;
mod calls;
mod cell;
mod cluster;
mod cluster_barrier;
mod complete;
mod copies;
mod core;
mod descriptor;
mod elements;
mod fragments;
mod gather;
mod grid;
mod interpret;
mod mbarrier;
mod multiply;
mod peers;
mod print;
mod products;
mod races;
mod report;
mod span;
mod tensor_maps;
mod tiles;
mod warp;
mod watch;

pub use grid::{Checks, Launch, Options, Outcome, Schedule};
pub(crate) use grid::{check, run};
pub(crate) use peers::{mapped, rank_of};
