//! RMS normalisation over the last dimension (Zhang & Sennrich 2019, arXiv:1910.07467):
//! `y[r, c] = x[r, c] / √(mean x[r]² + eps) · weight[c]`.
//!
//! `x` and `y` are (rows, dim), `weight` is (dim); bf16, f16 or f32, each of its own dtype; rows of any length from 1, any
//! number of rows, rows any stride ≥ `dim` apart. Arithmetic is f32. `y` may be `x` itself.
//!
//! The sum of squares is formed in f32: where it passes 3.4·10³⁸ (a row whose norm is above 1.8·10¹⁹) the row becomes 0, as
//! in PyTorch. NaN passes through the whole row.

mod kernel;
mod plan;
pub mod reference;

pub use kernel::{RmsNorm, RmsNormArgs, RmsNormParams};

pub use crate::norm::{Backward, Forward, workspace};
pub(crate) use plan::check_eps;

use crate::act::ALL_SIZES;
use crate::gate::Candidate;
use crate::norm::{self, Kind};
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::tuning::Tuned;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

pub(crate) static RMS_NORM: Kernels<RmsNorm> = Kernels::with_plans();

/// Launches RMS normalisation of `x` into `y` on a stream; without `weight`, it is 1.
///
/// # Errors
/// [`LaunchError`] names the argument that is not right: a wrong rank, shapes that differ, a dtype other than bf16, f16
/// and f32, an inner stride other than 1, an `eps` that is negative or no number.
pub fn rms_norm(
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &mut TensorArg,
    eps: f32,
    stream: &Stream,
) -> Result<LaunchOutcome, LaunchError> {
    plan::check_eps(eps)?;
    let args = RmsNormArgs { x, weight, y, eps };
    RMS_NORM.launch(&args, ALL_SIZES, stream, || {
        RmsNorm::plan(args.x, args.weight, args.y, args.eps, stream.device().chip())
    })
}

/// Launches RMS normalisation with all that [`Forward`] has: residual, bias, weight offset, heads, `rstd`.
///
/// # Errors
/// As [`rms_norm`].
pub fn forward(call: Forward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    norm::forward(Kind::Rms, &call, stream)
}

/// Launches the gradients of RMS normalisation: one kernel, and two or three more where those of weight or bias are
/// wanted.
///
/// # Errors
/// As [`rms_norm`], and where a workspace is needed and missing.
pub fn backward(call: Backward<'_>, stream: &Stream) -> Result<Vec<LaunchOutcome>, LaunchError> {
    norm::backward(Kind::Rms, call, stream)
}

/// Checks the arguments and compiles the kernel that [`rms_norm`] takes for them, without launching it.
///
/// # Errors
/// As [`rms_norm`].
pub fn bind(
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &mut TensorArg,
    eps: f32,
    device: &Device,
) -> Result<Bound, LaunchError> {
    bind_plan(RmsNorm::plan(x, weight, y, eps, device.chip())?, x, weight, y, eps, device)
}

/// The same for a kernel of the caller's choice, as [`plan`] gives one, with another [`RowPlan`](crate::rows::RowPlan).
///
/// # Errors
/// As [`rms_norm`].
pub fn bind_plan(
    kernel: RmsNorm,
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &mut TensorArg,
    eps: f32,
    device: &Device,
) -> Result<Bound, LaunchError> {
    RMS_NORM.bind(kernel, &RmsNormArgs { x, weight, y, eps }, device)
}

/// Measures the plans for calls like this one, and has [`rms_norm`] take the fastest for them in this process, as
/// [`Kernels::tune`] says. `y` is written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As [`rms_norm`], or when the device breaks.
pub fn tune(
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &mut TensorArg,
    eps: f32,
    device: &Device,
) -> Result<Tuned<RmsNorm>, LaunchError> {
    let model = RmsNorm::plan(x, weight, y, eps, device.chip())?;
    RMS_NORM.tune(model, &RmsNormArgs { x, weight, y, eps }, ALL_SIZES, device)
}

/// The kernel that [`rms_norm`] takes for these arguments on an H200, where nothing was tuned; [`plan_on`] takes a chip.
///
/// # Errors
/// As [`rms_norm`].
pub fn plan(x: &TensorArg, weight: Option<&TensorArg>, y: &TensorArg, eps: f32) -> Result<RmsNorm, ArgumentError> {
    RmsNorm::plan(x, weight, y, eps, &Chip::H200)
}

/// The same on a chip.
///
/// # Errors
/// As [`rms_norm`].
pub fn plan_on(
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &TensorArg,
    eps: f32,
    chip: &Chip,
) -> Result<RmsNorm, ArgumentError> {
    RmsNorm::plan(x, weight, y, eps, chip)
}

/// What each implementation says of these arguments on a chip: the first that takes them is the one that [`rms_norm`] runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take them.
pub fn candidates(
    x: &TensorArg,
    weight: Option<&TensorArg>,
    y: &TensorArg,
    eps: f32,
    chip: &Chip,
) -> Result<Vec<Candidate<RmsNorm>>, ArgumentError> {
    RmsNorm::candidates(x, weight, y, eps, chip)
}
