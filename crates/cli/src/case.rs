//! An operator on tensors of a dtype and a shape, whatever they hold.

use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
use warpsmith::dsl::{ArgumentError, Arguments, Compiled, Kernel, Launch, Params, TensorArg, compile};
use warpsmith::kernels::gate::{Candidate, Refusal};
use warpsmith::kernels::rows::RowPlan;
use warpsmith::kernels::{gemm, rms_norm, softmax};
use warpsmith::runtime::{Bound, Device, LaunchError};
use warpsmith_types::{Chip, DType};

/// Added to the mean square.
const EPS: f32 = 1e-6;

/// What to compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) operator: Operator,
    /// Of all tensors.
    pub(crate) dtype: DType,
    /// (rows, dim), or (m, n, k).
    pub(crate) shape: Vec<usize>,
    /// Another plan than the operator's own, for those over rows.
    pub(crate) threads_per_row: Option<usize>,
}

/// A tensor of a case.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) is_output: bool,
}

/// A case's tensors, where they are.
pub(crate) enum Tensors {
    Softmax { x: TensorArg, y: TensorArg },
    RmsNorm { x: TensorArg, weight: TensorArg, y: TensorArg },
    Gemm { a: TensorArg, b: TensorArg, c: TensorArg },
}

/// An implementation, and what it says of a case.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) verdict: Result<Made, Refusal>,
}

/// A kernel for a case.
pub(crate) struct Made {
    /// The plan in words.
    pub(crate) plan: String,
    pub(crate) launch: Launch,
    pub(crate) compiled: Compiled,
    /// The arguments as the kernel takes them, without tensor maps.
    pub(crate) arguments: Arguments,
}

impl Case {
    /// Refuses a shape with too many or too few extents, or a plan for an operator that has none to choose.
    pub(crate) fn new(
        operator: Operator,
        dtype: DType,
        shape: &[usize],
        threads_per_row: Option<usize>,
    ) -> Result<Case, Failure> {
        let typed = || shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let expected = operator.extents();
        if shape.len() != expected.split('x').count() {
            let name = operator.name();
            return Err(Failure::Option(format!("--shape {}: expected {expected} for {name}", typed())));
        }
        if shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent)).is_none() {
            return Err(Failure::Option(format!("--shape {}: more elements than an address reaches", typed())));
        }
        if threads_per_row.is_some() && operator == Operator::Gemm {
            return Err(Failure::Option(
                "--plan: gemm has one plan; softmax and rms_norm take threads_per_row=N".into(),
            ));
        }
        Ok(Case { operator, dtype, shape: shape.into(), threads_per_row })
    }

    /// Its tensors.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let part = |name, shape: &[usize], is_output| Part { name, shape: shape.into(), is_output };
        match (self.operator, &self.shape[..]) {
            (Operator::Rows(RowOperator::Softmax), shape) => vec![part("x", shape, false), part("y", shape, true)],
            (Operator::Rows(RowOperator::RmsNorm), shape) => {
                let dim = &shape[shape.len().min(1)..];
                vec![part("x", shape, false), part("weight", dim, false), part("y", shape, true)]
            }
            (Operator::Gemm, &[m, n, k]) => {
                vec![part("a", &[m, k], false), part("b", &[n, k], false), part("c", &[m, n], true)]
            }
            (Operator::Gemm, _) => vec![],
        }
    }

    /// Bytes that must move: each input read once, the output written once.
    pub(crate) fn bytes(&self) -> u64 {
        let elements = |p: Part| p.shape.iter().product::<usize>() as u64;
        self.parts().into_iter().map(elements).sum::<u64>() * self.dtype.bytes() as u64
    }

    /// Multiplications and additions of a matrix product.
    pub(crate) fn operations(&self) -> Option<u64> {
        (self.operator == Operator::Gemm).then(|| 2 * self.shape.iter().map(|n| *n as u64).product::<u64>())
    }

    /// The extents as they are typed.
    pub(crate) fn extents(&self) -> String {
        self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
    }

    /// Its tensors, each where `put` says.
    pub(crate) fn place<E>(&self, mut put: impl FnMut(&Part) -> Result<TensorArg, E>) -> Result<Tensors, E> {
        let mut all = self.parts().iter().map(&mut put).collect::<Result<Vec<_>, E>>()?.into_iter();
        let none = || TensorArg::new(0, warpsmith::dsl::DeviceId(0), self.dtype, &[0, 0]);
        let mut next = || all.next().unwrap_or_else(none);
        Ok(match self.operator {
            Operator::Rows(RowOperator::Softmax) => Tensors::Softmax { x: next(), y: next() },
            Operator::Rows(RowOperator::RmsNorm) => Tensors::RmsNorm { x: next(), weight: next(), y: next() },
            Operator::Gemm => Tensors::Gemm { a: next(), b: next(), c: next() },
        })
    }

    /// The operator's plan, or the one that was asked for.
    fn plan(&self, plan: RowPlan, dim: usize) -> Result<RowPlan, ArgumentError> {
        self.threads_per_row.map_or(Ok(plan.clone()), |n| RowPlan::with_threads(dim, plan.tv.vector(), n))
    }

    /// What each implementation says, the most specialised first; the first that takes the case is the one that a call
    /// takes.
    pub(crate) fn ways(&self, tensors: &mut Tensors, chip: &Chip) -> Result<Vec<Way>, LaunchError> {
        match tensors {
            Tensors::Softmax { x, y } => {
                let mut all = softmax::candidates(x, y, chip)?;
                for kernel in all.iter_mut().filter_map(|c| c.verdict.as_mut().ok()) {
                    kernel.rows = self.plan(kernel.rows.clone(), kernel.dim)?;
                }
                ways(all, &softmax::SoftmaxArgs { x, y }, |k| k.rows.to_string(), chip)
            }
            Tensors::RmsNorm { x, weight, y } => {
                let mut all = rms_norm::candidates(x, Some(weight), y, EPS, chip)?;
                for kernel in all.iter_mut().filter_map(|c| c.verdict.as_mut().ok()) {
                    kernel.rows = self.plan(kernel.rows.clone(), kernel.dim)?;
                }
                let host = rms_norm::RmsNormArgs { x, weight: Some(weight), y, eps: EPS };
                ways(all, &host, |k| k.rows.to_string(), chip)
            }
            Tensors::Gemm { a, b, c } => {
                let all = gemm::candidates(a, b, c, chip)?;
                ways(all, &gemm::GemmArgs { a, b, c }, |k| k.plan.to_string(), chip)
            }
        }
    }

    /// The kernel that a call takes on a device, ready to be launched, and its plan in words.
    pub(crate) fn bind(&self, tensors: &mut Tensors, device: &Device) -> Result<(Bound, String), LaunchError> {
        match tensors {
            Tensors::Softmax { x, y } => {
                let mut kernel = softmax::plan_on(x, y, device.chip())?;
                kernel.rows = self.plan(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((softmax::bind_plan(kernel, x, y, device)?, plan))
            }
            Tensors::RmsNorm { x, weight, y } => {
                let mut kernel = rms_norm::plan_on(x, Some(weight), y, EPS, device.chip())?;
                kernel.rows = self.plan(kernel.rows, kernel.dim)?;
                let plan = kernel.rows.to_string();
                Ok((rms_norm::bind_plan(kernel, x, Some(weight), y, EPS, device)?, plan))
            }
            Tensors::Gemm { a, b, c } => {
                let plan = gemm::plan(a, b, c, device.chip())?.plan.to_string();
                Ok((gemm::bind(a, b, c, device)?, plan))
            }
        }
    }
}

fn ways<K: Kernel>(
    candidates: Vec<Candidate<K>>,
    host: &<K::Args as Params>::Host<'_>,
    plan: impl Fn(&K) -> String,
    chip: &Chip,
) -> Result<Vec<Way>, LaunchError> {
    let make = |kernel: K| -> Result<Made, LaunchError> {
        let (launch, arguments) = (kernel.launch(host), Arguments::of::<K::Args>(host));
        let compiled = compile(&kernel, &arguments, &launch, chip.target)?;
        Ok(Made { plan: plan(&kernel), launch, compiled, arguments })
    };
    let way = |c: Candidate<K>| {
        let verdict = match c.verdict {
            Ok(kernel) => Ok(make(kernel)?),
            Err(refusal) => Err(refusal),
        };
        Ok(Way { name: c.name, what: c.what, verdict })
    };
    candidates.into_iter().map(way).collect()
}
