//! The library of kernels, a folder per operator.
//!
//! | operator | what |
//! |---|---|
//! | [`softmax`](mod@softmax) | softmax over the last dimension, forward and backward |
//! | [`rms_norm`](mod@rms_norm) | RMS normalisation over the last dimension, forward and backward |
//! | [`layer_norm`](mod@layer_norm) | layer normalisation over the last dimension, forward and backward |
//! | [`cross_entropy`](mod@cross_entropy) | cross-entropy of logits and class numbers, forward and backward |
//! | [`gemm`](mod@gemm) | matrix product of bf16 or f16 by Hopper's warpgroup instructions |
//!
//! Each folder holds the public call with its formula and errors (`mod.rs`), how it maps onto a chip (`plan.rs`), the
//! kernel (`kernel.rs`), and the same in plain Rust with float64 inside (`reference.rs`). [`gate`] is how a call
//! finds its kernel, [`rows`] what kernels over rows share, [`catalogue`] lists kernels to compile before anyone calls,
//! [`compare`] is how results are judged, [`random`] the data of tests and measurements.

// The derive macros name the language by the path that users have: `::warpsmith::dsl`.
extern crate self as warpsmith;
#[doc(hidden)]
pub use warpsmith_dsl as dsl;

mod act;
pub mod catalogue;
pub mod compare;
pub mod cross_entropy;
pub mod gate;
pub mod gemm;
pub mod layer_norm;
pub mod norm;
pub mod random;
pub mod rms_norm;
pub mod rows;
pub mod softmax;

pub use act::TunedPlan;
pub use cross_entropy::cross_entropy;
pub use gemm::gemm;
pub use layer_norm::layer_norm;
pub use rms_norm::rms_norm;
pub use softmax::softmax;
