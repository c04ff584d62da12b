//! CuTe's shapes on the device of the run, against plain Rust: shared tensors, tiled copies, products of warps and
//! warpgroups, pipelines; and what is said of those that can not be.

#![allow(clippy::print_stdout, reason = "skips are printed")]
#![allow(unreachable_pub, reason = "a test's modules")]

extern crate warpsmith_kernels as warpsmith;

#[path = "../common/mod.rs"]
mod common;

mod harness;
mod matrices;
mod memory;
mod pipelines;
mod products;
mod refused;
mod roles;
mod warpgroup;
