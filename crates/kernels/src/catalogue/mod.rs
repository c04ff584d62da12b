//! Kernels by name and shape: what an engine or a deployment will call, to be compiled before it does.
//!
//! A list has a line for each operator, with a name and `key=value`; `#` begins a comment:
//!
//! ```text
//! rms_norm dtype=bf16 dim=4096,8192 weight=bf16    # weight=none; output=DTYPE; in_place=yes
//! softmax  dtype=f32  dim=1024..8192:1024          # each 1024th, the last included
//! gemm     dtype=bf16 m=1..4096*2 n=4096 k=4096    # doubled each time
//! ```
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
use crate::gemm::{GEMM, GemmArgs};
use crate::rms_norm::{RMS_NORM, RmsNormArgs};
use crate::softmax::{SOFTMAX, SoftmaxArgs};
use std::collections::HashSet;
use warpsmith_dsl::{ArgumentError, DType, DeviceId, TensorArg};
use warpsmith_runtime::Request;
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

/// Rows of a call to be. Their number does not change a kernel.
const ROWS: usize = 1024;

/// The requests of all that is wanted on a chip; those of one kernel are one.
///
/// # Errors
/// When an operator takes no such arguments, or not on that chip.
pub fn requests(wanted: &[Wanted], chip: &Chip) -> Result<Vec<Request<'static>>, ArgumentError> {
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
            Wanted::RmsNorm { .. } => "rms_norm",
            Wanted::Gemm { .. } => "gemm",
        }
    }

    fn requests(&self, chip: &Chip, all: &mut Vec<Request<'static>>) -> Result<(), ArgumentError> {
        match self {
            Wanted::Softmax { input, output, dims, in_place } => {
                for &dim in dims {
                    let [x, mut y] = rows(*input, *output, dim, *in_place);
                    let kernel = crate::softmax::plan_on(&x, &y, chip)?;
                    all.push(SOFTMAX.request(kernel, &SoftmaxArgs { x: &x, y: &mut y }, ALL_SIZES));
                }
            }
            Wanted::RmsNorm { input, output, weight, dims, in_place } => {
                for &dim in dims {
                    let [x, mut y] = rows(*input, *output, dim, *in_place);
                    let weight = weight.map(|dtype| tensor(2, dtype, &[dim]));
                    let kernel = crate::rms_norm::plan_on(&x, weight.as_ref(), &y, 0.0, chip)?;
                    let args = RmsNormArgs { x: &x, weight: weight.as_ref(), y: &mut y, eps: 0.0 };
                    all.push(RMS_NORM.request(kernel, &args, ALL_SIZES));
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

fn rows(input: DType, output: DType, dim: usize, in_place: bool) -> [TensorArg; 2] {
    [tensor(0, input, &[ROWS, dim]), tensor(usize::from(!in_place), output, &[ROWS, dim])]
}

/// A tensor that is nowhere, apart from those of other numbers.
fn tensor(number: usize, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new((number as u64 + 1) << 48, DeviceId(0), dtype, shape)
}
