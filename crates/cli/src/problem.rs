//! An operator with its tensors.

use crate::commands::RunArgs;
use crate::failure::Failure;
use crate::operator::RowOperator;
use crate::tensor_file::{self, Tensor as HostTensor};
use rayon::prelude::*;
use warpsmith::kernels::compare::{decode, encode};
use warpsmith::kernels::random::Random;
use warpsmith::kernels::rows::RowPlan;
use warpsmith::kernels::{rms_norm, softmax};
use warpsmith::runtime::{Bound, Device, Error, LaunchError, Tensor};
use warpsmith_types::DType;

/// What to compute.
pub(crate) struct Problem {
    pub(crate) operator: RowOperator,
    /// Where the input came from, for the report.
    pub(crate) source: String,
    pub(crate) x: HostTensor,
    weight: Option<HostTensor>,
    eps: f32,
}

/// The same on a device.
pub(crate) struct Placed {
    x: Tensor,
    weight: Option<Tensor>,
    pub(crate) y: Tensor,
}

impl Problem {
    /// Reads or draws what the command names.
    pub(crate) fn new(args: &RunArgs) -> Result<Problem, Failure> {
        let operator = RowOperator::named(&args.operator)?;
        let (x, source) = match (&args.input, args.random) {
            (Some(path), _) => {
                let x = tensor_file::read_float(path, args.tensor.as_deref())?;
                (x, path.display().to_string())
            }
            (None, Some([rows, dim])) => {
                if !matches!(args.dtype, DType::F32 | DType::F16 | DType::BF16) {
                    return Err(Failure::Option(format!("--dtype: expected f32, f16 or bf16, got {}", args.dtype)));
                }
                (random(args.dtype, &[rows, dim], args.seed), format!("normal random numbers, seed {}", args.seed))
            }
            (None, None) => return Err(Failure::Option("expected --input FILE or --random ROWSxDIM".into())),
        };
        let weight = Problem::weight(operator, args, &x)?;
        Ok(Problem { operator, source, x, weight, eps: args.eps })
    }

    fn weight(operator: RowOperator, args: &RunArgs, x: &HostTensor) -> Result<Option<HostTensor>, Failure> {
        let wanted = args.weight.is_some() || args.weight_tensor.is_some();
        if operator != RowOperator::RmsNorm {
            let refusal = || Failure::Option(format!("{} takes no weight", operator.name()));
            return if wanted { Err(refusal()) } else { Ok(None) };
        }
        if args.random.is_some() && !wanted {
            let dim = x.shape.last().copied().unwrap_or(0);
            return Ok(Some(random(x.dtype, &[dim], args.seed.wrapping_add(1))));
        }
        match args.weight.as_ref().or(args.input.as_ref()) {
            Some(path) if wanted => Ok(Some(tensor_file::read_float(path, args.weight_tensor.as_deref())?)),
            _ => Ok(None),
        }
    }

    /// The extents, once the operator has accepted them.
    pub(crate) fn shape(&self) -> [usize; 2] {
        let dim = self.x.shape.last().copied().unwrap_or(0);
        [self.x.shape.iter().product::<usize>() / dim.max(1), dim]
    }

    /// Bytes that must move: each input read once, the output written once.
    pub(crate) fn bytes(&self) -> u64 {
        (2 * self.x.bytes.len() + self.weight.as_ref().map_or(0, |w| w.bytes.len())) as u64
    }

    /// Copies the tensors to a device, and poisons the output.
    pub(crate) fn place(&self, device: &Device) -> Result<Placed, Error> {
        let put = |name, t: &HostTensor| Tensor::from_bytes(device, name, t.dtype, &t.shape, &t.bytes);
        let x = put("x", &self.x)?;
        let weight = self.weight.as_ref().map(|w| put("weight", w)).transpose()?;
        let y = Tensor::new(device, "y", self.x.dtype, &self.x.shape)?;
        y.buffer().poison()?;
        Ok(Placed { x, weight, y })
    }

    /// Compiles the operator for the placed tensors, by the plan that it takes or by one with so many threads to a row.
    pub(crate) fn bind(
        &self,
        placed: &mut Placed,
        device: &Device,
        threads_per_row: Option<usize>,
    ) -> Result<(Bound, String), LaunchError> {
        let Placed { x, weight, y } = placed;
        let weight = weight.as_ref().map(Tensor::arg);
        let choose = |plan: RowPlan, dim| match threads_per_row {
            Some(n) => RowPlan::with_threads(dim, plan.tv.vector(), n),
            None => Ok(plan),
        };
        match self.operator {
            RowOperator::Softmax => {
                let mut kernel = softmax::plan(x.arg(), y.arg())?;
                kernel.rows = choose(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((softmax::bind_plan(kernel, x.arg(), y.arg_mut(), device)?, plan))
            }
            RowOperator::RmsNorm => {
                let mut kernel = rms_norm::plan(x.arg(), weight, y.arg(), self.eps)?;
                kernel.rows = choose(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((rms_norm::bind_plan(kernel, x.arg(), weight, y.arg_mut(), self.eps, device)?, plan))
            }
        }
    }

    /// What the result should be, in float64, row after row.
    pub(crate) fn reference(&self) -> Vec<f64> {
        let [_, dim] = self.shape();
        let weight = self.weight.as_ref().map(|w| decode(w.dtype, &w.bytes));
        let row_bytes = (dim * self.x.dtype.bytes()).max(1);
        let rows = self.x.bytes.par_chunks(row_bytes).map(|bytes| {
            let row = decode(self.x.dtype, bytes);
            match self.operator {
                RowOperator::Softmax => softmax::reference::softmax(&row),
                RowOperator::RmsNorm => rms_norm::reference::rms_norm(&row, weight.as_deref(), self.eps.into()),
            }
        });
        rows.flatten_iter().collect()
    }
}

/// Normal random numbers, each row from a seed of its own so that rows are drawn side by side.
fn random(dtype: DType, shape: &[usize], seed: u64) -> HostTensor {
    let (rows, dim) = (shape[..shape.len() - 1].iter().product::<usize>(), shape[shape.len() - 1]);
    let first = seed.wrapping_mul(1 << 32);
    let row = |r: usize| encode(dtype, &Random::new(first.wrapping_add(r as u64 + 1)).normals(dim, 1.0));
    HostTensor { dtype, shape: shape.into(), bytes: (0..rows).into_par_iter().flat_map_iter(row).collect() }
}
