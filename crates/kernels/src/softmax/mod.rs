//! Softmax over the last dimension: `y[r, c] = exp(x[r, c] − max x[r]) / Σ exp(x[r, ·] − max x[r])`.
//!
//! `x` and `y` are (rows, dim), bf16, f16 or f32, each of its own dtype; rows of any length from 1, any number of rows, rows
//! any stride ≥ `dim` apart. Arithmetic is f32. `y` may be `x` itself.
//!
//! A row with a NaN or with +∞ is all NaN, and so is a row of nothing but −∞, as in PyTorch: there is no distribution to
//! give. Elsewhere −∞ has probability 0.

pub mod backward;
mod kernel;
mod plan;
pub mod reference;

pub use backward::{SoftmaxBackward, SoftmaxBackwardArgs, SoftmaxBackwardParams, backward};
pub use kernel::{Softmax, SoftmaxArgs, SoftmaxParams};

use crate::act::ALL_SIZES;
use crate::gate::Candidate;
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::tuning::Tuned;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

pub(crate) static SOFTMAX: Kernels<Softmax> = Kernels::with_plans();

/// Launches softmax of `x` into `y` on a stream.
///
/// # Errors
/// [`LaunchError`] names the argument that is not right: a rank other than 2, shapes that differ, a dtype other than
/// bf16, f16 and f32, an inner stride other than 1.
///
/// ```
/// use warpsmith_kernels::softmax;
/// use warpsmith_runtime::{Device, Tensor};
/// use warpsmith_types::{Chip, DType};
///
/// let device = Device::emulated(Chip::H200);
/// let x: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let x = Tensor::from_bytes(&device, "x", DType::F32, &[1, 4], &x)?;
/// let mut y = Tensor::new(&device, "y", DType::F32, &[1, 4])?;
/// softmax(x.arg(), y.arg_mut(), &device.default_stream())?;
/// let last = f32::from_le_bytes(y.to_bytes()?[12..].try_into()?);
/// assert!((last - 0.643_914_3).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn softmax(x: &TensorArg, y: &mut TensorArg, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    let args = SoftmaxArgs { x, y };
    SOFTMAX.launch(&args, ALL_SIZES, stream, || Softmax::plan(args.x, args.y, stream.device().chip()))
}

/// Checks the arguments and compiles the kernel that [`softmax`] takes for them, without launching it.
///
/// # Errors
/// As [`softmax`].
pub fn bind(x: &TensorArg, y: &mut TensorArg, device: &Device) -> Result<Bound, LaunchError> {
    bind_plan(Softmax::plan(x, y, device.chip())?, x, y, device)
}

/// The same for a kernel of the caller's choice, as [`plan`] gives one, with another [`RowPlan`](crate::rows::RowPlan).
///
/// # Errors
/// As [`softmax`].
pub fn bind_plan(kernel: Softmax, x: &TensorArg, y: &mut TensorArg, device: &Device) -> Result<Bound, LaunchError> {
    SOFTMAX.bind(kernel, &SoftmaxArgs { x, y }, device)
}

/// Measures the plans for calls like this one, and has [`softmax`] take the fastest for them in this process, as
/// [`Kernels::tune`] says. `y` is written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As [`softmax`], or when the device breaks.
pub fn tune(x: &TensorArg, y: &mut TensorArg, device: &Device) -> Result<Tuned<Softmax>, LaunchError> {
    let model = Softmax::plan(x, y, device.chip())?;
    SOFTMAX.tune(model, &SoftmaxArgs { x, y }, ALL_SIZES, device)
}

/// The kernel that [`softmax`] takes for these arguments on an H200, where nothing was tuned; [`plan_on`] takes a chip.
///
/// # Errors
/// As [`softmax`].
pub fn plan(x: &TensorArg, y: &TensorArg) -> Result<Softmax, ArgumentError> {
    Softmax::plan(x, y, &Chip::H200)
}

/// The same on a chip.
///
/// # Errors
/// As [`softmax`].
pub fn plan_on(x: &TensorArg, y: &TensorArg, chip: &Chip) -> Result<Softmax, ArgumentError> {
    Softmax::plan(x, y, chip)
}

/// What each implementation says of these arguments on a chip: the first that takes them is the one that [`softmax`] runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take them.
pub fn candidates(x: &TensorArg, y: &TensorArg, chip: &Chip) -> Result<Vec<Candidate<Softmax>>, ArgumentError> {
    Softmax::candidates(x, y, chip)
}
