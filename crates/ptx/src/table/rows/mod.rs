//! The rows, a file per family.

mod atomic;
mod barrier;
mod bits;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod half;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod multimem;
mod tensormap;
mod video;
mod warp;
mod warpgroup;
mod wmma;

use super::row::{Row, row};

pub(super) const FAMILIES: &[&[Row]] = &[
    integer::ROWS,
    float::ROWS,
    half::ROWS,
    compare::ROWS,
    bits::ROWS,
    video::ROWS,
    convert::ROWS,
    memory::ROWS,
    atomic::ROWS,
    multimem::ROWS,
    control::ROWS,
    warp::ROWS,
    barrier::ROWS,
    mbarrier::ROWS,
    copy::ROWS,
    tensormap::ROWS,
    matrix::ROWS,
    wmma::ROWS,
    warpgroup::ROWS,
];
