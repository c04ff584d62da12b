//! Layer normalisation over the last dimension (Ba, Kiros & Hinton 2016, arXiv:1607.06450):
//! `y[r, c] = (x[r, c] − mean x[r]) / √(var x[r] + eps) · weight[c] + bias[c]`, with the biased variance.
//!
//! Shapes, dtypes and what else it can do: [`Forward`]; its gradients: [`Backward`]. Rows of any length from 1. Arithmetic
//! is f32; the variance is the mean square of differences from the mean, formed in a second pass over registers.

pub mod reference;

use crate::norm::{Kind, backward as gradients, forward};
use warpsmith_runtime::{LaunchError, LaunchOutcome, Stream};

pub use crate::norm::{Backward, Forward, workspace};

/// Launches layer normalisation on a stream.
///
/// # Errors
/// [`LaunchError`] names the argument that is not right: a wrong rank, shapes that differ, a dtype other than bf16, f16
/// and f32, an inner stride other than 1, an `eps` that is negative or no number.
///
/// ```
/// use warpsmith_kernels::layer_norm::{Forward, layer_norm};
/// use warpsmith_runtime::{Device, Tensor};
/// use warpsmith_types::{Chip, DType};
///
/// let device = Device::emulated(Chip::H200);
/// let x: Vec<u8> = [1.0f32, 2.0, 3.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let x = Tensor::from_bytes(&device, "x", DType::F32, &[1, 4], &x)?;
/// let mut y = Tensor::new(&device, "y", DType::F32, &[1, 4])?;
/// let mut mean = Tensor::new(&device, "mean", DType::F32, &[1])?;
/// let call = Forward { mean: Some(mean.arg_mut()), ..Forward::new(x.arg(), y.arg_mut(), 1e-5) };
/// layer_norm(call, &device.default_stream())?;
/// assert_eq!(mean.to_bytes()?, 3f32.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn layer_norm(call: Forward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    forward(Kind::Layer, &call, stream)
}

/// Launches the gradients of layer normalisation on a stream: one kernel, and two or three more where those of weight or
/// bias are wanted.
///
/// # Errors
/// As [`layer_norm`], and where a workspace is needed and missing.
pub fn backward(call: Backward<'_>, stream: &Stream) -> Result<Vec<LaunchOutcome>, LaunchError> {
    gradients(Kind::Layer, call, stream)
}
