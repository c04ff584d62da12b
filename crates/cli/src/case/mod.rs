//! An operator on tensors of a dtype and a shape, whatever they hold.

mod visit;

use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
pub(crate) use visit::taken;
use visit::{Bind, Visitor, Ways};
use warpsmith::dsl::{ArgumentError, Arguments, Compiled, Launch, TensorArg};
use warpsmith::kernels::cross_entropy::{self, Options};
use warpsmith::kernels::gate::Refusal;
use warpsmith::kernels::norm::{self, Kind};
use warpsmith::kernels::{gemm, rms_norm, softmax};
use warpsmith::runtime::{Bound, Device, LaunchError};
use warpsmith_types::{Chip, DType};

/// Added to the mean square.
const EPS: f32 = 1e-6;

/// What to compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) operator: Operator,
    /// Of all tensors but those that have their own.
    pub(crate) dtype: DType,
    /// (rows, dim), or (m, n, k).
    pub(crate) shape: Vec<usize>,
    /// Another plan than the operator's own, for those over rows.
    pub(crate) threads_per_row: Option<usize>,
    /// Whether weights are promised to be constant.
    pub(crate) constant: bool,
}

/// A tensor of a case.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) role: Role,
}

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Numbers that are read.
    Input,
    /// The same, and they do not change from call to call.
    Weight,
    /// Classes, as many as a row has columns.
    Classes,
    /// Written.
    Output,
}

/// A case's tensors, where they are, in the order of its parts.
pub(crate) struct Tensors(Vec<TensorArg>);

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
                "--plan: gemm has one plan; operators over rows take threads_per_row=N".into(),
            ));
        }
        Ok(Case { operator, dtype, shape: shape.into(), threads_per_row, constant: false })
    }

    /// Its tensors.
    pub(crate) fn parts(&self) -> Vec<Part> {
        use RowOperator as Op;
        let (shape, own, f32) = (&self.shape[..], self.dtype, DType::F32);
        let part = |name, dtype, shape: &[usize], role| Part { name, dtype, shape: shape.into(), role };
        let rows = |name| part(name, own, shape, Role::Input);
        let out = |name| part(name, own, shape, Role::Output);
        let one = |name, role| part(name, f32, &shape[..shape.len().min(1)], role);
        let vector = |name| part(name, own, &shape[shape.len().min(1)..], Role::Weight);
        let target = || part("target", DType::I64, &shape[..shape.len().min(1)], Role::Classes);
        match (self.operator, shape) {
            (Operator::Rows(Op::Softmax), _) => vec![rows("x"), out("y")],
            (Operator::Rows(Op::RmsNorm), _) => vec![rows("x"), vector("weight"), out("y")],
            (Operator::Rows(Op::LayerNorm), _) => vec![rows("x"), vector("weight"), vector("bias"), out("y")],
            (Operator::Rows(Op::CrossEntropy), _) => vec![rows("x"), target(), one("loss", Role::Output)],
            (Operator::Rows(Op::SoftmaxBackward), _) => vec![rows("dy"), rows("y"), out("dx")],
            (Operator::Rows(Op::RmsNormBackward), _) => {
                vec![rows("x"), rows("dy"), vector("weight"), one("rstd", Role::Input), out("dx")]
            }
            (Operator::Rows(Op::LayerNormBackward), _) => {
                let [rstd, mean] = ["rstd", "mean"].map(|name| one(name, Role::Input));
                vec![rows("x"), rows("dy"), vector("weight"), rstd, mean, out("dx")]
            }
            (Operator::Rows(Op::CrossEntropyBackward), _) => {
                let [dloss, lse] = ["dloss", "lse"].map(|name| one(name, Role::Input));
                vec![rows("x"), target(), dloss, lse, out("dx")]
            }
            (Operator::Gemm, &[m, n, k]) => vec![
                part("a", own, &[m, k], Role::Input),
                part("b", own, &[n, k], Role::Input),
                part("c", own, &[m, n], Role::Output),
            ],
            (Operator::Gemm, _) => vec![],
        }
    }

    /// Bytes that must move: each input read once, the output written once.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |p: Part| (p.shape.iter().product::<usize>() * p.dtype.bytes()) as u64;
        self.parts().into_iter().map(bytes).sum()
    }

    /// A class for each row, i64, all over its columns.
    pub(crate) fn classes(&self) -> Vec<u8> {
        let (rows, columns) = (self.shape.first().copied().unwrap_or(0), self.shape.last().copied().unwrap_or(0));
        // A prime, so that neighbours are apart.
        (0..rows).flat_map(|row| ((row * 7919 % columns.max(1)) as u64).to_le_bytes()).collect()
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
        let place = |part: &Part| {
            let constant = self.constant && part.role == Role::Weight;
            put(part).map(|t| if constant { t.constant() } else { t })
        };
        Ok(Tensors(self.parts().iter().map(place).collect::<Result<_, E>>()?))
    }

    /// What each implementation says, the most specialised first; the first that takes the case is the one that a call
    /// takes.
    pub(crate) fn ways(&self, tensors: &mut Tensors, chip: &Chip) -> Result<Vec<Way>, LaunchError> {
        self.visit(tensors, chip, &Ways { threads: self.threads_per_row, chip })
    }

    /// The kernel that a call takes on a device, ready to be launched, and its plan in words.
    pub(crate) fn bind(&self, tensors: &mut Tensors, device: &Device) -> Result<(Bound, String), LaunchError> {
        self.visit(tensors, device.chip(), &Bind { threads: self.threads_per_row, device })
    }

    /// Shows the kernels that may take the case to a visitor, with the arguments as they take them.
    fn visit<V: Visitor>(&self, tensors: &mut Tensors, chip: &Chip, visitor: &V) -> Result<V::Out, LaunchError> {
        use RowOperator as Op;
        let options = Options::default();
        match (self.operator, &mut tensors.0[..]) {
            (Operator::Rows(Op::Softmax), [x, y]) => {
                visitor.visit(softmax::candidates(x, y, chip)?, &softmax::SoftmaxArgs { x, y })
            }
            (Operator::Rows(Op::RmsNorm), [x, weight, y]) => {
                let all = rms_norm::candidates(x, Some(weight), y, EPS, chip)?;
                visitor.visit(all, &rms_norm::RmsNormArgs { x, weight: Some(weight), y, eps: EPS })
            }
            (Operator::Rows(Op::LayerNorm), [x, weight, bias, y]) => {
                let mut view = rows(y);
                let call = norm::Forward { weight: Some(weight), bias: Some(bias), ..norm::Forward::new(x, y, EPS) };
                let all = norm::candidates(Kind::Layer, &call, chip)?;
                let (weight, bias) = (vector(weight), vector(bias));
                let host = norm::NormArgs {
                    x: &rows(x),
                    residual: None,
                    weight: Some(&weight),
                    bias: Some(&bias),
                    y: &mut view,
                    residual_out: None,
                    rstd: None,
                    mean: None,
                    eps: EPS,
                    weight_offset: None,
                };
                visitor.visit(all, &host)
            }
            (Operator::Rows(Op::CrossEntropy), [x, target, loss]) => {
                let mut view = column(loss);
                let (weight, target_logit, lse, dx) = (None, None, None, None);
                let call = cross_entropy::Forward { x, target, target_logit, weight, loss, lse, dx, options };
                let all = cross_entropy::candidates(&call, chip)?;
                let host = cross_entropy::CrossEntropyArgs {
                    x,
                    target: &column(target),
                    target_logit,
                    weight,
                    loss: &mut view,
                    lse: None,
                    dx: None,
                    ignore_index: options.ignore_index,
                    smoothing: None,
                    z_loss: None,
                };
                visitor.visit(all, &host)
            }
            (Operator::Rows(Op::SoftmaxBackward), [dy, y, dx]) => {
                let all = softmax::backward::candidates(dy, y, dx, chip)?;
                visitor.visit(all, &softmax::SoftmaxBackwardArgs { dy, y, dx })
            }
            (Operator::Rows(Op::RmsNormBackward), [x, dy, weight, rstd, dx]) => {
                self.norm_gradient(Kind::Rms, [x, dy, weight, rstd], None, dx, (chip, visitor))
            }
            (Operator::Rows(Op::LayerNormBackward), [x, dy, weight, rstd, mean, dx]) => {
                self.norm_gradient(Kind::Layer, [x, dy, weight, rstd], Some(mean), dx, (chip, visitor))
            }
            (Operator::Rows(Op::CrossEntropyBackward), [x, target, dloss, lse, dx]) => {
                let mut out = dx.clone();
                let call = cross_entropy::Backward { x, target, dloss, lse, weight: None, dx, options };
                let all = cross_entropy::backward::candidates(&call, chip)?;
                let host = cross_entropy::CrossEntropyBackwardArgs {
                    x,
                    target: &column(target),
                    dloss: &column(dloss),
                    lse: &column(lse),
                    weight: None,
                    dx: &mut out,
                    ignore_index: options.ignore_index,
                    smoothing: None,
                    z_loss: None,
                };
                visitor.visit(all, &host)
            }
            (Operator::Gemm, [a, b, c]) => visitor.visit(gemm::candidates(a, b, c, chip)?, &gemm::GemmArgs { a, b, c }),
            _ => {
                let (expected, got) = ("the operator's tensors".into(), tensors.0.len().to_string());
                Err(ArgumentError::Unexpected { name: "operator", expected, got }.into())
            }
        }
    }

    fn norm_gradient<V: Visitor>(
        &self,
        kind: Kind,
        [x, dy, weight, rstd]: [&TensorArg; 4],
        mean: Option<&TensorArg>,
        dx: &TensorArg,
        (chip, visitor): (&Chip, &V),
    ) -> Result<V::Out, LaunchError> {
        let all = norm::backward_candidates(kind, [x, dy, dx], chip)?;
        let (mean, weight) = (mean.map(column).map(|t| rows(&t)), vector(weight));
        let host = norm::NormBackwardArgs {
            x: &rows(x),
            dy: &rows(dy),
            weight: Some(&weight),
            rstd: &rows(&column(rstd)),
            mean: mean.as_ref(),
            dresidual_out: None,
            dx: &mut rows(dx),
            dresidual: None,
            dweight: None,
            dbias: None,
            weight_offset: None,
        };
        visitor.visit(all, &host)
    }
}

/// (rows, dim) with the mode for heads that normalisations have: there is one.
fn rows(t: &TensorArg) -> TensorArg {
    let (n, dim) = (t.dim(0), t.dim(1));
    TensorArg { shape: vec![n, 1, dim], strides: vec![dim, dim, 1], ..t.clone() }
}

/// (dim) for all heads.
fn vector(t: &TensorArg) -> TensorArg {
    TensorArg { shape: vec![1, t.dim(0)], strides: vec![0, 1], ..t.clone() }
}

/// (rows) as (rows, 1).
fn column(t: &TensorArg) -> TensorArg {
    TensorArg { shape: vec![t.dim(0), 1], strides: vec![1, 1], ..t.clone() }
}
