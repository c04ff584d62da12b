//! An operator with its tensors.

use crate::commands::RunArgs;
use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
use crate::tensor_file::{self, Tensor as HostTensor};
use rayon::prelude::*;
use warpsmith::dsl::{ArgumentError, DeviceId, TensorArg};
use warpsmith::kernels::compare::{decode, encode};
use warpsmith::kernels::cross_entropy::{self, Options};
use warpsmith::kernels::norm::{self, Kind};
use warpsmith::kernels::random::Random;
use warpsmith::kernels::rows::RowPlan;
use warpsmith::kernels::{gemm, layer_norm, rms_norm, softmax};
use warpsmith::runtime::{Bound, Device, Error, LaunchError, Tensor};
use warpsmith_types::{Chip, DType};

/// What to compute: an operator of `x` and, where it takes one, of a weight. A matrix product is `c = x · weightᵀ`, and
/// cross-entropy takes a class for each row.
pub(crate) struct Problem {
    pub(crate) operator: Operator,
    /// Where the input came from, for the report.
    pub(crate) source: String,
    pub(crate) x: HostTensor,
    weight: Option<HostTensor>,
    targets: Option<HostTensor>,
    eps: f32,
}

/// The same on a device.
pub(crate) struct Placed {
    x: Tensor,
    weight: Option<Tensor>,
    targets: Option<Tensor>,
    pub(crate) y: Tensor,
}

/// What some rows of the result should be, in float64.
pub(crate) struct Expected {
    /// Which.
    pub(crate) rows: Vec<usize>,
    /// Their elements.
    pub(crate) values: Vec<f64>,
    /// How far each may be off because sums were rounded, on top of the tolerance; empty where nothing is.
    pub(crate) slack: Vec<f64>,
}

/// Multiplications after which the rows of a product are compared in a sample: some seconds of a core.
const MOST_PRODUCTS: usize = 1 << 31;
/// Rounding of sums in f32, relative to the sum of the products' magnitudes: the tensor cores keep at least 22 bits.
pub(crate) const SUM: f64 = 1e-5;

impl Problem {
    /// Reads or draws what the command names.
    pub(crate) fn new(args: &RunArgs) -> Result<Problem, Failure> {
        let operator = Operator::named(&args.operator)?;
        if !operator.is_runnable() {
            let (name, others) = (operator.name(), crate::operator::runnable().join(", "));
            return Err(Failure::Option(format!("{name} is for bench, explain and inspect; run has {others}")));
        }
        if operator == Operator::Gemm && args.threads_per_row.is_some() {
            return Err(Failure::Option("--threads-per-row: gemm has one plan; operators over rows take it".into()));
        }
        let with_weight = args.weight.is_some() || args.weight_tensor.is_some();
        if with_weight && matches!(operator, Operator::Rows(RowOperator::Softmax | RowOperator::CrossEntropy)) {
            return Err(Failure::Option(format!("{} takes no weight", operator.name())));
        }
        let (x, weight, source) = match (&args.input, &args.random) {
            (Some(path), _) => {
                let x = tensor_file::read_float(path, args.tensor.as_deref())?;
                (x, weight_in_file(operator, args)?, path.display().to_string())
            }
            (None, Some(extents)) => {
                let (x, weight) = drawn(operator, args, extents)?;
                (x, weight, format!("normal random numbers, seed {}", args.seed))
            }
            (None, None) => return Err(Failure::Option("expected --input FILE or --random SHAPE".into())),
        };
        let of_classes = operator == Operator::Rows(RowOperator::CrossEntropy);
        let targets = of_classes.then(|| targets(&x, args.seed)).flatten();
        let problem = Problem { operator, source, x, weight, targets, eps: args.eps };
        problem.check()?;
        Ok(problem)
    }

    /// Refuses what no device could compute, so that all say the same.
    fn check(&self) -> Result<(), LaunchError> {
        let (Operator::Gemm, Some(weight)) = (self.operator, &self.weight) else { return Ok(()) };
        let tensor = |t: &HostTensor| TensorArg::new(256, DeviceId(0), t.dtype, &t.shape);
        let (a, b) = (tensor(&self.x), tensor(weight));
        let c = TensorArg::new(256, DeviceId(0), self.x.dtype, &self.output_shape());
        gemm::candidates(&a, &b, &c, &Chip::H200)?;
        if a.dim(1) != b.dim(1) {
            let (got, expected) = (b.dim(1), a.dim(1));
            return Err(ArgumentError::Disagree { name: "b", extent: "k", got, other: "a", expected }.into());
        }
        Ok(())
    }

    /// Its extents: (rows, dim), or (m, n, k).
    pub(crate) fn shape(&self) -> Vec<usize> {
        match self.operator {
            Operator::Rows(_) => self.x.shape.clone(),
            Operator::Gemm => [self.output_shape(), vec![self.depth()]].concat(),
        }
    }

    /// The result's extents, once the operator has accepted the inputs.
    pub(crate) fn output_shape(&self) -> Vec<usize> {
        let first = |t: &HostTensor| t.shape.first().copied().unwrap_or(0);
        match (self.operator, &self.weight) {
            (Operator::Gemm, Some(weight)) => vec![first(&self.x), first(weight)],
            (Operator::Rows(RowOperator::CrossEntropy), _) => vec![first(&self.x)],
            _ => self.x.shape.clone(),
        }
    }

    /// The result's dtype.
    pub(crate) fn output_dtype(&self) -> DType {
        match self.operator {
            Operator::Rows(RowOperator::CrossEntropy) => DType::F32,
            _ => self.x.dtype,
        }
    }

    /// The result as rows of one length.
    pub(crate) fn result_rows(&self) -> [usize; 2] {
        let shape = self.output_shape();
        if self.operator == Operator::Rows(RowOperator::CrossEntropy) {
            return [shape[0], 1];
        }
        let columns = shape.last().copied().unwrap_or(0);
        [shape.iter().product::<usize>() / columns.max(1), columns]
    }

    /// Bytes that must move: each input read once, the output written once.
    pub(crate) fn bytes(&self) -> u64 {
        let output = self.output_shape().iter().product::<usize>() * self.output_dtype().bytes();
        let others = [&self.weight, &self.targets].into_iter().flatten().map(|t| t.bytes.len());
        (self.x.bytes.len() + others.sum::<usize>() + output) as u64
    }

    /// Multiplications and additions of a matrix product.
    pub(crate) fn operations(&self) -> Option<u64> {
        let [m, n] = self.result_rows();
        (self.operator == Operator::Gemm).then(|| 2 * m as u64 * n as u64 * self.depth() as u64)
    }

    /// Elements that become one of a product.
    fn depth(&self) -> usize {
        self.x.shape.last().copied().unwrap_or(0)
    }

    /// Copies the tensors to a device, and poisons the output.
    pub(crate) fn place(&self, device: &Device) -> Result<Placed, Error> {
        let put = |name, t: &HostTensor| Tensor::from_bytes(device, name, t.dtype, &t.shape, &t.bytes);
        let [x, weight, y] = if self.operator == Operator::Gemm { ["a", "b", "c"] } else { ["x", "weight", "y"] };
        let x = put(x, &self.x)?;
        let weight = self.weight.as_ref().map(|w| put(weight, w)).transpose()?;
        let targets = self.targets.as_ref().map(|t| put("target", t)).transpose()?;
        let y = Tensor::new(device, y, self.output_dtype(), &self.output_shape())?;
        y.buffer().poison()?;
        Ok(Placed { x, weight, targets, y })
    }

    /// Compiles the operator for the placed tensors, by the plan that it takes or by one with so many threads to a row.
    pub(crate) fn bind(
        &self,
        placed: &mut Placed,
        device: &Device,
        threads_per_row: Option<usize>,
    ) -> Result<(Bound, String), LaunchError> {
        let Placed { x, weight, targets, y } = placed;
        let weight = weight.as_ref().map(Tensor::arg);
        let none =
            |name, expected: &str| ArgumentError::Unexpected { name, expected: expected.into(), got: "none".into() };
        let choose = |plan: RowPlan, dim| match threads_per_row {
            Some(n) => RowPlan::with_threads(dim, plan.tv.vector(), n),
            None => Ok(plan),
        };
        match self.operator {
            Operator::Rows(RowOperator::Softmax) => {
                let mut kernel = softmax::plan_on(x.arg(), y.arg(), device.chip())?;
                kernel.rows = choose(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((softmax::bind_plan(kernel, x.arg(), y.arg_mut(), device)?, plan))
            }
            Operator::Rows(RowOperator::RmsNorm) => {
                let mut kernel = rms_norm::plan_on(x.arg(), weight, y.arg(), self.eps, device.chip())?;
                kernel.rows = choose(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((rms_norm::bind_plan(kernel, x.arg(), weight, y.arg_mut(), self.eps, device)?, plan))
            }
            Operator::Rows(RowOperator::LayerNorm) => {
                let call = layer_norm::Forward { weight, ..layer_norm::Forward::new(x.arg(), y.arg_mut(), self.eps) };
                let mut kernel = norm::plan_on(Kind::Layer, &call, device.chip())?;
                kernel.rows = choose(kernel.rows.clone(), kernel.rows.dim)?;
                let plan = kernel.rows.to_string();
                Ok((norm::bind_plan(kernel, call, device)?, plan))
            }
            Operator::Rows(RowOperator::CrossEntropy) => {
                let target = targets.as_ref().ok_or_else(|| none("target", "classes"))?.arg();
                let call = cross_entropy::Forward {
                    x: x.arg(),
                    target,
                    target_logit: None,
                    weight: None,
                    loss: y.arg_mut(),
                    lse: None,
                    dx: None,
                    options: Options::default(),
                };
                let all = cross_entropy::candidates(&call, device.chip())?;
                let first = all.into_iter().find_map(|c| c.verdict.ok());
                let mut kernel = first.ok_or_else(|| none("x", "rows that a kernel takes"))?;
                kernel.rows = choose(kernel.rows.clone(), kernel.rows.dim)?;
                let plan = kernel.rows.to_string();
                Ok((cross_entropy::bind_plan(kernel, call, device)?, plan))
            }
            Operator::Rows(_) => Err(none("operator", "one that is no gradient").into()),
            Operator::Gemm => {
                let b = weight.ok_or_else(|| none("b", "a matrix"))?;
                let plan = gemm::plan(x.arg(), b, y.arg(), device.chip())?.plan.to_string();
                Ok((gemm::bind(x.arg(), b, y.arg_mut(), device)?, plan))
            }
        }
    }

    /// What the result should be: all of it, or a sample of rows where that would take long.
    pub(crate) fn expected(&self) -> Expected {
        let [rows, columns] = self.result_rows();
        let affordable = match self.operator {
            Operator::Rows(_) => rows,
            Operator::Gemm => (MOST_PRODUCTS / (columns * self.depth()).max(1)).clamp(1, rows.max(1)),
        };
        // Evenly, the first and the last among them.
        let sample = |i: usize| if affordable > 1 { i * (rows - 1) / (affordable - 1) } else { i };
        self.rows_of_reference(if affordable >= rows {
            (0..rows).collect()
        } else {
            (0..affordable).map(sample).collect()
        })
    }

    /// What the whole result should be.
    pub(crate) fn reference(&self) -> Vec<f64> {
        self.rows_of_reference((0..self.result_rows()[0]).collect()).values
    }

    fn rows_of_reference(&self, rows: Vec<usize>) -> Expected {
        let depth = self.depth();
        let weight = self.weight.as_ref().map(|w| decode(w.dtype, &w.bytes));
        let row_bytes = depth * self.x.dtype.bytes();
        let row = |r: &usize| decode(self.x.dtype, &self.x.bytes[r * row_bytes..(r + 1) * row_bytes]);
        let (values, slack) = match self.operator {
            Operator::Rows(RowOperator::Softmax) => {
                (rows.par_iter().flat_map_iter(|r| softmax::reference::softmax(&row(r))).collect(), vec![])
            }
            Operator::Rows(RowOperator::RmsNorm) => {
                let of_row = |r| rms_norm::reference::rms_norm(&row(r), weight.as_deref(), self.eps.into());
                (rows.par_iter().flat_map_iter(of_row).collect(), vec![])
            }
            Operator::Rows(RowOperator::LayerNorm) => {
                let of_row = |r| layer_norm::reference::layer_norm(&row(r), weight.as_deref(), None, self.eps.into());
                (rows.par_iter().flat_map_iter(of_row).collect(), vec![])
            }
            Operator::Rows(RowOperator::CrossEntropy) => {
                let bytes = self.targets.as_ref().map_or(&[][..], |t| &t.bytes);
                let classes: Vec<i64> = bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
                let loss = |r: &usize| {
                    let target = classes.get(*r).copied().unwrap_or(-1);
                    cross_entropy::reference::cross_entropy(&row(r), target, None, &Options::default()).0
                };
                (rows.par_iter().map(loss).collect(), vec![])
            }
            Operator::Rows(_) => (vec![], vec![]),
            Operator::Gemm => {
                let b = weight.as_deref().unwrap_or_default();
                let extents = [1, b.len() / depth.max(1), depth];
                let of_row = |r| gemm::reference::gemm(&row(r), b, extents);
                rows.par_iter().flat_map_iter(of_row).map(|(sum, magnitude)| (sum, SUM * magnitude)).unzip()
            }
        };
        Expected { rows, values, slack }
    }
}

fn weight_in_file(operator: Operator, args: &RunArgs) -> Result<Option<HostTensor>, Failure> {
    let path = match (&args.weight, &args.weight_tensor) {
        (Some(path), _) => Some(path),
        (None, Some(_)) => args.input.as_ref(),
        (None, None) => None,
    };
    match (operator, path) {
        (Operator::Gemm, None) => {
            Err(Failure::Option("gemm multiplies by a weight (n, k): --weight FILE or --weight-tensor NAME".into()))
        }
        (_, Some(path)) => Ok(Some(tensor_file::read_float(path, args.weight_tensor.as_deref())?)),
        (_, None) => Ok(None),
    }
}

/// Random inputs; a weight may still come from a file.
fn drawn(operator: Operator, args: &RunArgs, extents: &[usize]) -> Result<(HostTensor, Option<HostTensor>), Failure> {
    if !matches!(args.dtype, DType::F32 | DType::F16 | DType::BF16) {
        return Err(Failure::Option(format!("--dtype: expected f32, f16 or bf16, got {}", args.dtype)));
    }
    let (shape, weight) = match (operator, extents) {
        (Operator::Rows(RowOperator::RmsNorm | RowOperator::LayerNorm), &[rows, dim]) => ([rows, dim], Some(vec![dim])),
        (Operator::Rows(_), &[rows, dim]) => ([rows, dim], None),
        (Operator::Gemm, &[m, n, k]) => ([m, k], Some(vec![n, k])),
        _ => {
            let typed = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let (expected, name) = (operator.extents(), operator.name());
            return Err(Failure::Option(format!("--random {typed}: expected {expected} for {name}")));
        }
    };
    let from_file = args.weight.is_some() || args.weight_tensor.is_some();
    let weight = match weight {
        Some(shape) if !from_file => Some(random(args.dtype, &shape, args.seed.wrapping_add(1))),
        _ => weight_in_file(operator, args)?,
    };
    Ok((random(args.dtype, &shape, args.seed), weight))
}

/// A random class for each row of logits.
fn targets(logits: &HostTensor, seed: u64) -> Option<HostTensor> {
    let &[rows, classes] = &logits.shape[..] else { return None };
    let mut random = Random::new(seed.wrapping_add(2));
    let class = |x: f64| (x.abs() * 1e6) as u64 % classes.max(1) as u64;
    let bytes = random.normals(rows, 1.0).into_iter().flat_map(|x| class(x).to_le_bytes()).collect();
    Some(HostTensor { dtype: DType::I64, shape: vec![rows], bytes })
}

/// Normal random numbers, each row from a seed of its own so that rows are drawn side by side.
fn random(dtype: DType, shape: &[usize], seed: u64) -> HostTensor {
    let (rows, dim) = (shape[..shape.len() - 1].iter().product::<usize>(), shape[shape.len() - 1]);
    let first = seed.wrapping_mul(1 << 32);
    let row = |r: usize| encode(dtype, &Random::new(first.wrapping_add(r as u64 + 1)).normals(dim, 1.0));
    HostTensor { dtype, shape: shape.into(), bytes: (0..rows).into_par_iter().flat_map_iter(row).collect() }
}
