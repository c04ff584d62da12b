//! Cross-entropy of rows of logits `x` and class numbers `target`, forward and backward.
//!
//! With `lse = log Σ exp x[r, ·]`, weights w (1 without), smoothing ε, and n classes, as `torch.nn.functional.cross_entropy`:
//!
//! `loss[r] = (1 − ε) · w[t] · (lse − x[r, t]) + ε/n · Σ w[c] · (lse − x[r, c]) + z · lse²`
//!
//! A row whose target is `ignore_index` has loss 0 and gradient 0. A target that is neither that nor a class makes its
//! row's loss and gradient NaN; nothing outside of the row is read. Reductions over rows are the caller's.
//!
//! Logits are (rows, classes), bf16, f16 or f32, rows of any length from 1 and any stride; arithmetic is f32. Rows with NaN
//! or +∞, and rows of nothing but −∞, have a loss of NaN.

mod backward;
mod gradient;
mod kernel;
mod plan;
pub mod reference;

pub use backward::{Backward, CrossEntropyBackward, CrossEntropyBackwardArgs, CrossEntropyBackwardParams, backward};
pub use kernel::{CrossEntropy, CrossEntropyArgs, CrossEntropyParams, Separate};

use crate::rows::{check, check_dtype, check_vector, size};
use warpsmith_dsl::{ArgumentError, DType, TensorArg};
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};

// Calls with separate logits, one a row or rows of them, can have one signature, by which a kernel is found again.
static CROSS_ENTROPY: Kernels<CrossEntropy> = Kernels::new();
static OF_VALUES: Kernels<CrossEntropy> = Kernels::new();
static OF_ROWS: Kernels<CrossEntropy> = Kernels::new();

/// What cross-entropy takes and gives.
#[derive(Debug)]
pub struct Forward<'a> {
    /// Logits, (rows, classes).
    pub x: &'a TensorArg,
    /// Class numbers, (rows), i32 or i64.
    pub target: &'a TensorArg,
    /// The targets' logits, where they are not `x`'s, for classes that are spread over devices: (rows), or (rows, classes)
    /// to take column `target` of.
    pub target_logit: Option<&'a TensorArg>,
    /// A weight for each class, (classes).
    pub weight: Option<&'a TensorArg>,
    /// Gets the losses, (rows), f32.
    pub loss: &'a mut TensorArg,
    /// Gets the logarithms of sums of exponentials, (rows), f32.
    pub lse: Option<&'a mut TensorArg>,
    /// Gets the gradients of the logits where the losses' are 1, like `x`; it may be `x`.
    pub dx: Option<&'a mut TensorArg>,
    /// How the loss is formed.
    pub options: Options,
}

/// How the loss is formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The target of rows that do not count.
    pub ignore_index: i32,
    /// The share of the loss that goes to all classes alike, 0 to 1.
    pub smoothing: f32,
    /// What `lse²` counts.
    pub z_loss: f32,
}

impl Default for Options {
    /// As PyTorch's: −100 is ignored, nothing is smoothed.
    fn default() -> Options {
        Options { ignore_index: -100, smoothing: 0.0, z_loss: 0.0 }
    }
}

/// Launches cross-entropy on a stream.
///
/// # Errors
/// [`LaunchError`] names the argument that is not right: a wrong rank, shapes that differ, a dtype that it does not take,
/// an inner stride other than 1, smoothing that is no share.
///
/// ```
/// use warpsmith_kernels::cross_entropy::{Forward, Options, cross_entropy};
/// use warpsmith_runtime::{Device, Tensor};
/// use warpsmith_types::{Chip, DType};
///
/// let device = Device::emulated(Chip::H200);
/// let x: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let x = Tensor::from_bytes(&device, "x", DType::F32, &[1, 4], &x)?;
/// let target = Tensor::from_bytes(&device, "target", DType::I64, &[1], &3i64.to_le_bytes())?;
/// let mut loss = Tensor::new(&device, "loss", DType::F32, &[1])?;
/// let call = Forward {
///     x: x.arg(),
///     target: target.arg(),
///     target_logit: None,
///     weight: None,
///     loss: loss.arg_mut(),
///     lse: None,
///     dx: None,
///     options: Options::default(),
/// };
/// cross_entropy(call, &device.default_stream())?;
/// let loss = f32::from_le_bytes(loss.to_bytes()?[..].try_into()?);
/// assert!((loss - 0.440_189_7).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cross_entropy(call: Forward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    let Forward { x, options, weight, dx, .. } = call;
    let dim = check(&[("x", x)])?;
    if let Some(dx) = &dx {
        check(&[("x", x), ("dx", dx)])?;
    }
    if let Some(w) = weight {
        check_vector("weight", w, dim)?;
    }
    options.check()?;
    let target = column("target", call.target, &[DType::I32, DType::I64])?;
    let mut loss = column("loss", call.loss, &[DType::F32])?;
    let mut lse = call.lse.map(|t| column("lse", t, &[DType::F32])).transpose()?;
    let (separate, target_logit) = match call.target_logit {
        None => (Separate::No, None),
        Some(t) if t.shape.len() == 2 => {
            check(&[("target_logit", t)])?;
            (Separate::Rows, Some(t.clone()))
        }
        Some(t) => {
            check_dtype("target_logit", t.dtype)?;
            (Separate::Values, Some(column("target_logit", t, &[DType::F32, DType::BF16, DType::F16])?))
        }
    };
    if let (Separate::Rows, Some(t), Some(_)) = (separate, &target_logit, weight)
        && t.dim(1) != dim
    {
        // A class would have no weight.
        let (name, got, expected) = ("target_logit", t.dim(1), dim);
        return Err(ArgumentError::Disagree { name, extent: "classes", got, other: "weight", expected }.into());
    }
    let others: Vec<TensorArg> = dx.as_deref().into_iter().cloned().collect();
    let args = CrossEntropyArgs {
        x,
        target: &target,
        target_logit: target_logit.as_ref(),
        weight,
        loss: &mut loss,
        lse: lse.as_mut(),
        dx,
        ignore_index: options.ignore_index,
        smoothing: options.smoothing(),
        z_loss: options.z_loss(),
    };
    let kernels = match separate {
        Separate::No => &CROSS_ENTROPY,
        Separate::Values => &OF_VALUES,
        Separate::Rows => &OF_ROWS,
    };
    kernels.launch(&args, size(x), stream, || {
        let rows: Vec<&TensorArg> = std::iter::once(x).chain(&others).collect();
        Ok(CrossEntropy { separate, rows: plan::rows(&rows, stream.device().chip())? })
    })
}

impl Options {
    fn check(&self) -> Result<(), ArgumentError> {
        if (0.0..=1.0).contains(&self.smoothing) {
            return Ok(());
        }
        let (expected, got) = ("a share, 0 to 1".into(), self.smoothing.to_string());
        Err(ArgumentError::Unexpected { name: "smoothing", expected, got })
    }

    /// Where there is some: without, the kernel has no code for it.
    fn smoothing(&self) -> Option<f32> {
        (self.smoothing != 0.0).then_some(self.smoothing)
    }

    fn z_loss(&self) -> Option<f32> {
        (self.z_loss != 0.0).then_some(self.z_loss)
    }
}

/// One a row, of any stride, as the kernels take it: (rows, 1).
fn column(name: &'static str, t: &TensorArg, dtypes: &[DType]) -> Result<TensorArg, ArgumentError> {
    if !dtypes.contains(&t.dtype) {
        let names: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
        let (expected, got) = (format!("elements of {}", names.join(" or ")), t.dtype.to_string());
        return Err(ArgumentError::Unexpected { name, expected, got });
    }
    match (&t.shape[..], &t.strides[..]) {
        (&[n], &[s]) => Ok(TensorArg { shape: vec![n, 1], strides: vec![s, 1], ..t.clone() }),
        _ => Err(ArgumentError::Rank { name, expected: 1, modes: "rows".into(), shape: t.shape.clone() }),
    }
}
