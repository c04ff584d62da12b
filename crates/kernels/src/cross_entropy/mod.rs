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

pub mod backward;
mod gradient;
mod kernel;
mod plan;
pub mod reference;

pub use backward::{Backward, CrossEntropyBackward, CrossEntropyBackwardArgs, CrossEntropyBackwardParams, backward};
pub use kernel::{CrossEntropy, CrossEntropyArgs, CrossEntropyParams, Separate};

use crate::act::{Act, TunedPlan, Tuner};
use crate::gate::Candidate;
use crate::rows::{check, check_dtype, check_vector};
use warpsmith_dsl::{ArgumentError, DType, TensorArg};
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

// Calls with separate logits, one a row or rows of them, can have one signature, by which a kernel is found again.
static CROSS_ENTROPY: Kernels<CrossEntropy> = Kernels::with_plans();
static OF_VALUES: Kernels<CrossEntropy> = Kernels::with_plans();
static OF_ROWS: Kernels<CrossEntropy> = Kernels::with_plans();

fn kernels(separate: Separate) -> &'static Kernels<CrossEntropy> {
    match separate {
        Separate::No => &CROSS_ENTROPY,
        Separate::Values => &OF_VALUES,
        Separate::Rows => &OF_ROWS,
    }
}

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
    forward(call, stream)
}

/// Launches a call, or does else with it.
pub(crate) fn forward<A: Act>(call: Forward<'_>, act: &A) -> Result<A::Done, LaunchError> {
    with_args(call, |args, separate| {
        act.act(kernels(separate), args, || {
            Ok(CrossEntropy { separate, rows: plan::rows(&rows(args.x, args.dx.as_deref()), act.chip())? })
        })
    })
}

/// Does something with a call's arguments as the kernel takes them.
fn with_args<R>(
    call: Forward<'_>,
    f: impl FnOnce(&CrossEntropyArgs<'_>, Separate) -> Result<R, LaunchError>,
) -> Result<R, LaunchError> {
    let separate = call.check()?;
    let Forward { x, weight, dx, options, .. } = call;
    let target = column("target", call.target, &CLASSES)?;
    let mut loss = column("loss", call.loss, &[DType::F32])?;
    let mut lse = call.lse.map(|t| column("lse", t, &[DType::F32])).transpose()?;
    let target_logit = match (separate, call.target_logit) {
        (Separate::Values, Some(t)) => Some(column("target_logit", t, &FLOATS)?),
        (_, t) => t.cloned(),
    };
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
    f(&args, separate)
}

/// The rows that a plan is for.
fn rows<'a>(x: &'a TensorArg, dx: Option<&'a TensorArg>) -> Vec<&'a TensorArg> {
    std::iter::once(x).chain(dx).collect()
}

/// Checks the arguments and compiles the kernel that [`cross_entropy`](cross_entropy()) takes for them, without launching
/// it.
///
/// # Errors
/// As [`cross_entropy`](cross_entropy()).
pub fn bind(call: Forward<'_>, device: &Device) -> Result<Bound, LaunchError> {
    forward(call, device)
}

/// The same for a kernel of the caller's choice, as [`candidates`] gives them, with another
/// [`RowPlan`](crate::rows::RowPlan).
///
/// # Errors
/// As [`cross_entropy`](cross_entropy()).
pub fn bind_plan(kernel: CrossEntropy, call: Forward<'_>, device: &Device) -> Result<Bound, LaunchError> {
    with_args(call, |args, _| kernels(kernel.separate).bind(kernel, args, device))
}

/// Measures the plans for calls like this one, and has [`cross_entropy`](cross_entropy()) take the fastest for them in
/// this process, as [`Kernels::tune`] says. Outputs are written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As [`cross_entropy`](cross_entropy()), or when the device breaks.
pub fn tune(call: Forward<'_>, device: &Device) -> Result<TunedPlan, LaunchError> {
    forward(call, &Tuner(device))
}

/// What each implementation says of a call on a chip: the first that takes it is the one that
/// [`cross_entropy`](cross_entropy()) runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take it.
pub fn candidates(call: &Forward<'_>, chip: &Chip) -> Result<Vec<Candidate<CrossEntropy>>, ArgumentError> {
    let separate = call.check()?;
    let all = plan::candidates(&rows(call.x, call.dx.as_deref()), chip);
    Ok(all.into_iter().map(|c| c.map(|rows| CrossEntropy { separate, rows })).collect())
}

/// Dtypes of class numbers.
const CLASSES: [DType; 2] = [DType::I32, DType::I64];
/// Dtypes of logits.
const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

impl Forward<'_> {
    /// Checks rows, weight and options, and says where the targets' logits are.
    fn check(&self) -> Result<Separate, ArgumentError> {
        let Forward { x, weight, dx, options, .. } = self;
        let dim = check(&[("x", x)])?;
        if let Some(dx) = dx {
            check(&[("x", x), ("dx", dx)])?;
        }
        if let Some(w) = weight {
            check_vector("weight", w, dim)?;
        }
        options.check()?;
        let separate = match self.target_logit {
            None => Separate::No,
            Some(t) if t.shape.len() == 2 => {
                check(&[("target_logit", t)])?;
                Separate::Rows
            }
            Some(t) => {
                check_dtype("target_logit", t.dtype)?;
                Separate::Values
            }
        };
        match self.target_logit {
            // A class would have no weight.
            Some(t) if separate == Separate::Rows && weight.is_some() && t.dim(1) != dim => {
                let (name, got, expected) = ("target_logit", t.dim(1), dim);
                Err(ArgumentError::Disagree { name, extent: "classes", got, other: "weight", expected })
            }
            _ => Ok(separate),
        }
    }
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
