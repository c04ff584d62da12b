//! Matrix product: `c[i, j] = Σ a[i, l] · b[j, l]`.
//!
//! `a` is (m, k), `b` is (n, k), `c` is (m, n): bf16 or f16, all of one dtype; any `m` and `k` from 1 on, `n` a multiple of
//! 8, rows aligned to 16 bytes. Products are exact, sums are f32 as the tensor cores form them (their order is the hardware's), and rounded once
//! to the output's dtype. Runs on Hopper (`sm_90a`).

mod kernel;
mod plan;
pub mod reference;

pub use kernel::{Gemm, GemmArgs, GemmParams};
pub use plan::GemmPlan;

use crate::gate::Candidate;
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

pub(crate) static GEMM: Kernels<Gemm> = Kernels::new();

/// Launches `c = a · bᵀ` on a stream.
///
/// # Errors
/// [`LaunchError`] names the argument that is not right: a rank other than 2, extents that differ, a dtype other than bf16
/// and f16, rows that are not aligned to 16 bytes, an `n` that is no multiple of 8, a device that is not Hopper.
pub fn gemm(a: &TensorArg, b: &TensorArg, c: &mut TensorArg, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    plan::check_extents(a, b, c)?;
    let args = GemmArgs { a, b, c };
    GEMM.launch(&args, 0, stream, || Gemm::plan(args.a, args.b, args.c, stream.device().chip()))
}

/// Checks the arguments and compiles the kernel that [`gemm`] takes for them, without launching it.
///
/// # Errors
/// As [`gemm`].
pub fn bind(a: &TensorArg, b: &TensorArg, c: &mut TensorArg, device: &Device) -> Result<Bound, LaunchError> {
    let kernel = Gemm::plan(a, b, c, device.chip())?;
    GEMM.bind(kernel, &GemmArgs { a, b, c }, device)
}

/// The kernel that [`gemm`] takes for these arguments on a chip.
///
/// # Errors
/// As [`gemm`].
pub fn plan(a: &TensorArg, b: &TensorArg, c: &TensorArg, chip: &Chip) -> Result<Gemm, ArgumentError> {
    Gemm::plan(a, b, c, chip)
}

/// What each implementation says of these arguments on a chip: the first that takes them is the one that [`gemm`] runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take them.
pub fn candidates(
    a: &TensorArg,
    b: &TensorArg,
    c: &TensorArg,
    chip: &Chip,
) -> Result<Vec<Candidate<Gemm>>, ArgumentError> {
    Gemm::candidates(a, b, c, chip)
}
