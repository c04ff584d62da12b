//! Kernels by name and shape: what an engine or a deployment will call, to be compiled before it does.
//!
//! A list has a line for each operator, with a name and `key=value`; `#` begins a comment:
//!
//! ```text
//! rms_norm dtype=bf16 dim=4096,8192 weight=bf16    # weight=none; output=DTYPE; in_place=yes
//! softmax  dtype=f32  dim=1024..8192:1024          # each 1024th, the last included
//! gemm     dtype=bf16 m=1..4096*2 n=4096 k=4096    # doubled each time
//!
//! layer_norm    dtype=bf16 dim=4096 weight=f32 bias=none       # so rms_norm, with bias=, residual= or statistics=yes
//! cross_entropy dtype=bf16 dim=50257 target=i64 lse=yes        # gradient=yes: with the logits' in the same pass
//! softmax_backward       dtype=f32  dim=1000
//! cross_entropy_backward dtype=bf16 dim=50257
//! rms_norm_backward      dtype=bf16 dim=4096 sums=yes          # with the gradient of the weight; so layer_norm_backward
//! ```
//!
//! `constant=yes` has the weights of normalisations promised to be [constant](warpsmith_dsl::TensorArg::constant).
//!
//! ```
//! use warpsmith_kernels::{catalogue, softmax};
//! use warpsmith_runtime::{Device, Tensor, prepare};
//! use warpsmith_types::{Chip, DType};
//!
//! let device = Device::emulated(Chip::H200);
//! let wanted = catalogue::parse("softmax dtype=bf16 dim=128..1024*2")?;
//! for prepared in prepare(&device, &catalogue::requests(&wanted, device.chip())?) {
//!     println!("{}", prepared?.kernel);
//! }
//! let (x, mut y) = (Tensor::new(&device, "x", DType::BF16, &[3, 512])?, Tensor::new(&device, "y", DType::BF16, &[3, 512])?);
//! x.buffer().upload(&[0; 3072])?;
//! softmax(x.arg(), y.arg_mut(), &device.default_stream())?; // compiles nothing
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Which kernel a call takes depends on dtypes, row lengths and alignment: memory is taken to be aligned to 256 bytes and
//! dense, as allocators give it. What comes otherwise is compiled when it comes.

mod parse;

pub use parse::{CatalogueError, parse};

use crate::act::ALL_SIZES;
use crate::cross_entropy::{self, Options};
use crate::gemm::{GEMM, GemmArgs};
use crate::norm::{self, Kind};
use crate::rms_norm::{RMS_NORM, RmsNormArgs};
use crate::softmax::{SOFTMAX, SoftmaxArgs};
use std::collections::HashSet;
use warpsmith_dsl::{DType, DeviceId, TensorArg};
use warpsmith_runtime::{LaunchError, Request};
use warpsmith_types::Chip;

/// An operator with the dtypes and shapes that it will be called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Softmax of rows.
    Softmax {
        /// Of `x`.
        input: DType,
        /// Of `y`.
        output: DType,
        /// Lengths of rows.
        dims: Vec<usize>,
        /// Whether `y` is `x`.
        in_place: bool,
    },
    /// RMS normalisation of rows.
    RmsNorm {
        /// Of `x`.
        input: DType,
        /// Of `y`.
        output: DType,
        /// Of the weight, where there is one.
        weight: Option<DType>,
        /// Lengths of rows.
        dims: Vec<usize>,
        /// Whether `y` is `x`.
        in_place: bool,
        /// Whether the weight is promised to be constant.
        constant: bool,
    },
    /// A normalisation of rows with what goes with it.
    Norm(Norm),
    /// Cross-entropy of rows of logits.
    CrossEntropy {
        /// Of the logits.
        input: DType,
        /// Of the class numbers.
        target: DType,
        /// Whether the logarithms of sums are wanted.
        lse: bool,
        /// Whether the logits' gradients are, in the same pass.
        gradient: bool,
        /// Numbers of classes.
        dims: Vec<usize>,
    },
    /// The gradient of softmax.
    SoftmaxBackward {
        /// Of all.
        dtype: DType,
        /// Lengths of rows.
        dims: Vec<usize>,
    },
    /// The gradients of a normalisation.
    NormBackward {
        /// Which.
        kind: Kind,
        /// Of rows.
        dtype: DType,
        /// Of the weight and its gradient, where there is one.
        weight: Option<DType>,
        /// Whether the gradient of the weight is wanted; of layer normalisation, the bias's too.
        sums: bool,
        /// Whether the weight is promised to be constant.
        constant: bool,
        /// Lengths of rows.
        dims: Vec<usize>,
    },
    /// The gradient of cross-entropy, in a pass of its own.
    CrossEntropyBackward {
        /// Of the logits.
        dtype: DType,
        /// Of the class numbers.
        target: DType,
        /// Numbers of classes.
        dims: Vec<usize>,
    },
    /// Matrix products.
    Gemm {
        /// Of all three.
        dtype: DType,
        /// Rows of `a`.
        m: Vec<usize>,
        /// Rows of `b`.
        n: Vec<usize>,
        /// Columns of both.
        k: Vec<usize>,
    },
}

/// [`norm::Forward`], as it will be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Norm {
    /// Which normalisation.
    pub kind: Kind,
    /// Of `x`.
    pub input: DType,
    /// Of `y`.
    pub output: DType,
    /// Of the weight, where there is one.
    pub weight: Option<DType>,
    /// Of the bias, where there is one.
    pub bias: Option<DType>,
    /// Of the residual and of its sum with `x`, where there is one.
    pub residual: Option<DType>,
    /// Whether `rstd`, and the mean of layer normalisation, are wanted.
    pub statistics: bool,
    /// Whether weight and bias are promised to be constant.
    pub constant: bool,
    /// Lengths of rows.
    pub dims: Vec<usize>,
}

/// Rows of a call to be. Their number does not change a kernel.
const ROWS: usize = 1024;

/// The requests of all that is wanted on a chip; those of one kernel are one.
///
/// # Errors
/// When an operator takes no such arguments, or not on that chip.
pub fn requests(wanted: &[Wanted], chip: &Chip) -> Result<Vec<Request<'static>>, LaunchError> {
    let mut all = vec![];
    for wanted in wanted {
        wanted.requests(chip, &mut all)?;
    }
    let mut seen = HashSet::new();
    all.retain(|r| seen.insert((r.name().to_string(), r.signature().clone())));
    Ok(all)
}

impl Wanted {
    /// The operator's name.
    pub fn operator(&self) -> &'static str {
        match self {
            Wanted::Softmax { .. } => "softmax",
            Wanted::RmsNorm { .. } | Wanted::Norm(Norm { kind: Kind::Rms, .. }) => "rms_norm",
            Wanted::Norm(Norm { kind: Kind::Layer, .. }) => "layer_norm",
            Wanted::CrossEntropy { .. } => "cross_entropy",
            Wanted::SoftmaxBackward { .. } => "softmax_backward",
            Wanted::NormBackward { kind: Kind::Rms, .. } => "rms_norm_backward",
            Wanted::NormBackward { kind: Kind::Layer, .. } => "layer_norm_backward",
            Wanted::CrossEntropyBackward { .. } => "cross_entropy_backward",
            Wanted::Gemm { .. } => "gemm",
        }
    }

    fn requests(&self, chip: &Chip, all: &mut Vec<Request<'static>>) -> Result<(), LaunchError> {
        match self {
            Wanted::Softmax { input, output, dims, in_place } => {
                for &dim in dims {
                    let [x, mut y] = rows(*input, *output, dim, *in_place);
                    let kernel = crate::softmax::plan_on(&x, &y, chip)?;
                    all.push(SOFTMAX.request(kernel, &SoftmaxArgs { x: &x, y: &mut y }, ALL_SIZES));
                }
            }
            Wanted::RmsNorm { input, output, weight, dims, in_place, constant } => {
                for &dim in dims {
                    let [x, mut y] = rows(*input, *output, dim, *in_place);
                    let weight = weight.map(|dtype| promised(tensor(2, dtype, &[dim]), *constant));
                    let kernel = crate::rms_norm::plan_on(&x, weight.as_ref(), &y, 0.0, chip)?;
                    let args = RmsNormArgs { x: &x, weight: weight.as_ref(), y: &mut y, eps: 0.0 };
                    all.push(RMS_NORM.request(kernel, &args, ALL_SIZES));
                }
            }
            Wanted::Norm(norm) => {
                for &dim in &norm.dims {
                    all.push(norm.request(dim, chip)?);
                }
            }
            Wanted::CrossEntropy { input, target, lse, gradient, dims } => {
                for &dim in dims {
                    let (x, target) = (tensor(0, *input, &[ROWS, dim]), tensor(1, *target, &[ROWS]));
                    let [mut loss, mut sums] = [2, 3].map(|n| tensor(n, DType::F32, &[ROWS]));
                    let mut dx = tensor(4, *input, &[ROWS, dim]);
                    let call = cross_entropy::Forward {
                        x: &x,
                        target: &target,
                        target_logit: None,
                        weight: None,
                        loss: &mut loss,
                        lse: lse.then_some(&mut sums),
                        dx: gradient.then_some(&mut dx),
                        options: Options::default(),
                    };
                    all.push(cross_entropy::forward(call, chip)?);
                }
            }
            Wanted::SoftmaxBackward { dtype, dims } => {
                for &dim in dims {
                    let [dy, y, mut dx] = [0, 1, 2].map(|n| tensor(n, *dtype, &[ROWS, dim]));
                    all.push(crate::softmax::backward::act(&dy, &y, &mut dx, chip)?);
                }
            }
            Wanted::NormBackward { kind, dtype, weight, sums, constant, dims } => {
                for &dim in dims {
                    let [x, dy, mut dx] = [0, 1, 2].map(|n| tensor(n, *dtype, &[ROWS, dim]));
                    let weight = weight.map(|dtype| promised(tensor(3, dtype, &[dim]), *constant));
                    let [rstd, mean] = [4, 5].map(|n| tensor(n, DType::F32, &[ROWS]));
                    let of_sums = weight.as_ref().map_or(DType::F32, |w| w.dtype);
                    let [mut dweight, mut dbias] = [6, 7].map(|n| tensor(n, of_sums, &[dim]));
                    let mut workspace = tensor(8, DType::F32, &norm::workspace(&x));
                    let layer = *kind == Kind::Layer;
                    let call = norm::Backward {
                        x: &x,
                        dy: &dy,
                        weight: weight.as_ref(),
                        rstd: &rstd,
                        mean: layer.then_some(&mean),
                        dresidual_out: None,
                        dx: &mut dx,
                        dresidual: None,
                        dweight: sums.then_some(&mut dweight),
                        dbias: (*sums && layer).then_some(&mut dbias),
                        workspace: sums.then_some(&mut workspace),
                        weight_offset: 0.0,
                    };
                    all.extend(norm::backward(*kind, call, chip)?);
                }
            }
            Wanted::CrossEntropyBackward { dtype, target, dims } => {
                for &dim in dims {
                    let [x, mut dx] = [0, 1].map(|n| tensor(n, *dtype, &[ROWS, dim]));
                    let target = tensor(2, *target, &[ROWS]);
                    let [dloss, lse] = [3, 4].map(|n| tensor(n, DType::F32, &[ROWS]));
                    let call = cross_entropy::Backward {
                        x: &x,
                        target: &target,
                        dloss: &dloss,
                        lse: &lse,
                        weight: None,
                        dx: &mut dx,
                        options: Options::default(),
                    };
                    all.push(cross_entropy::backward::act(call, chip)?);
                }
            }
            Wanted::Gemm { dtype, m, n, k } => {
                for (&m, (&n, &k)) in
                    m.iter().flat_map(|m| n.iter().flat_map(move |n| k.iter().map(move |k| (m, (n, k)))))
                {
                    let (a, b) = (tensor(0, *dtype, &[m, k]), tensor(1, *dtype, &[n, k]));
                    let mut c = tensor(2, *dtype, &[m, n]);
                    let kernel = crate::gemm::plan(&a, &b, &c, chip)?;
                    all.push(GEMM.request(kernel, &GemmArgs { a: &a, b: &b, c: &mut c }, ALL_SIZES));
                }
            }
        }
        Ok(())
    }
}

impl Norm {
    fn request(&self, dim: usize, chip: &Chip) -> Result<Request<'static>, LaunchError> {
        let (x, mut y) = (tensor(0, self.input, &[ROWS, dim]), tensor(1, self.output, &[ROWS, dim]));
        let vector = |n, dtype: Option<DType>| dtype.map(|d| promised(tensor(n, d, &[dim]), self.constant));
        let (weight, bias) = (vector(2, self.weight), vector(3, self.bias));
        let residual = self.residual.map(|dtype| tensor(4, dtype, &[ROWS, dim]));
        let mut sum = self.residual.map(|dtype| tensor(5, dtype, &[ROWS, dim]));
        let [mut rstd, mut mean] = [6, 7].map(|n| tensor(n, DType::F32, &[ROWS]));
        let call = norm::Forward {
            residual: residual.as_ref(),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            residual_out: sum.as_mut(),
            rstd: self.statistics.then_some(&mut rstd),
            mean: (self.statistics && self.kind == Kind::Layer).then_some(&mut mean),
            ..norm::Forward::new(&x, &mut y, 0.0)
        };
        norm::forward(self.kind, &call, chip)
    }
}

fn promised(t: TensorArg, constant: bool) -> TensorArg {
    if constant { t.constant() } else { t }
}

fn rows(input: DType, output: DType, dim: usize, in_place: bool) -> [TensorArg; 2] {
    [tensor(0, input, &[ROWS, dim]), tensor(usize::from(!in_place), output, &[ROWS, dim])]
}

/// A tensor that is nowhere, apart from those of other numbers.
fn tensor(number: usize, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new((number as u64 + 1) << 48, DeviceId(0), dtype, shape)
}
