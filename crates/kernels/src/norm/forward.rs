//! Normalisation of rows, with all that goes with it.

use super::{Call, Kind, Ways, view};
use crate::act::{Act, TunedPlan, Tuner};
use crate::gate::{self, Candidate, choose};
use crate::rows::{Chunk, Leaving, RowPlan, Rows, Sum1, launch};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, Plans};
use warpsmith_types::Chip;

// Calls of both kinds can have one signature, by which a kernel is found again.
static RMS: Kernels<Norm> = Kernels::with_plans();
static LAYER: Kernels<Norm> = Kernels::with_plans();

fn kernels(kind: Kind) -> &'static Kernels<Norm> {
    match kind {
        Kind::Rms => &RMS,
        Kind::Layer => &LAYER,
    }
}

/// A normalisation of rows. `x`, `y`, `residual` and `residual_out` are (rows, dim) or (rows, heads, dim); `weight` and
/// `bias` are (dim), or (heads, dim); `rstd` and `mean` are (rows) or (rows, heads), f32. Each tensor has its own dtype of
/// bf16, f16, f32.
///
/// With h = x + residual: `y = (h − mean) · rstd · (weight + weight_offset) + bias`, where the mean of RMS normalisation
/// is 0. `residual_out` gets h, from before it is rounded; it may be `residual` or `x` itself.
#[derive(Debug)]
pub struct Forward<'a> {
    /// The rows.
    pub x: &'a TensorArg,
    /// Added to them first.
    pub residual: Option<&'a TensorArg>,
    /// Scales each column; without it, 1.
    pub weight: Option<&'a TensorArg>,
    /// Added to each column.
    pub bias: Option<&'a TensorArg>,
    /// The output.
    pub y: &'a mut TensorArg,
    /// Gets the sum of `x` and `residual`.
    pub residual_out: Option<&'a mut TensorArg>,
    /// Gets what rows were scaled by.
    pub rstd: Option<&'a mut TensorArg>,
    /// Gets the means that were taken off; of layer normalisation.
    pub mean: Option<&'a mut TensorArg>,
    /// Added to the mean square, or to the variance.
    pub eps: f32,
    /// Added to `weight`; 1 in Gemma's models.
    pub weight_offset: f32,
}

impl<'a> Forward<'a> {
    /// Of `x` into `y`, with nothing else.
    pub fn new(x: &'a TensorArg, y: &'a mut TensorArg, eps: f32) -> Forward<'a> {
        let (residual, weight, bias) = (None, None, None);
        let (residual_out, rstd, mean, weight_offset) = (None, None, None, 0.0);
        Forward { x, residual, weight, bias, y, residual_out, rstd, mean, eps, weight_offset }
    }
}

/// The kernel of [`Forward`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Norm {
    /// Which normalisation.
    pub kind: Kind,
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// [`Forward`], as the kernel takes it.
#[derive(KernelArgs)]
pub struct NormArgs<'a> {
    /// The rows.
    #[tensor(rows, heads, dim = fixed)]
    pub x: &'a TensorArg,
    /// Added to them first.
    #[tensor(rows, heads, dim = fixed)]
    pub residual: Option<&'a TensorArg>,
    /// Scales each column.
    #[tensor(heads, dim = fixed, constant)]
    pub weight: Option<&'a TensorArg>,
    /// Added to each column.
    #[tensor(heads, dim = fixed, constant)]
    pub bias: Option<&'a TensorArg>,
    /// The output.
    #[tensor(rows, heads, dim = fixed)]
    pub y: &'a mut TensorArg,
    /// The sum of `x` and `residual`.
    #[tensor(rows, heads, dim = fixed)]
    pub residual_out: Option<&'a mut TensorArg>,
    /// What rows were scaled by.
    #[tensor(rows, heads, one = fixed)]
    pub rstd: Option<&'a mut TensorArg>,
    /// The means.
    #[tensor(rows, heads, one = fixed)]
    pub mean: Option<&'a mut TensorArg>,
    /// Added to the mean square.
    pub eps: f32,
    /// Added to `weight`.
    pub weight_offset: Option<f32>,
}

impl Kernel for Norm {
    type Args = NormParams;

    fn name(&self) -> String {
        format!("{}_{}", self.kind.name(), self.rows.dim)
    }

    fn launch(&self, a: &NormArgs<'_>) -> Launch {
        launch(&self.rows, [a.x.dim(0), a.x.dim(1)], &[a.weight, a.bias])
    }

    fn body(&self, a: NormParams) {
        let (head, dim) = (block_idx().y, self.rows.dim as f32);
        let of_head = |t: &Option<Tensor>, mode| t.as_ref().map(|t| t.slice(mode, head));
        let (x, y) = (a.x.slice(1, head), a.y.slice(1, head));
        let (residual, residual_out) = (of_head(&a.residual, 1), of_head(&a.residual_out, 1));
        let (weight, bias) = (of_head(&a.weight, 0), of_head(&a.bias, 0));

        let inputs: Vec<&Tensor> = std::iter::once(&x).chain(&residual).collect();
        let rows = Rows::new(&self.rows, &inputs, if self.kind == Kind::Layer { 2 } else { 1 }, Leaving::Last);
        wait_for_upstream();
        let vectors = rows.keep(|c| {
            let weight = weight.as_ref().map(|w| c.load_vector(w));
            let weight = weight.map(|w| a.weight_offset.map_or(w, |offset| w + offset));
            (weight, bias.as_ref().map(|b| c.load_vector(b)))
        });
        rows.run(|walk| {
            let h = walk.hold(|c| {
                let x = c.input(0, 0.0);
                if residual.is_some() { x + c.input(1, 0.0) } else { x }
            });
            // At once where it is held, so that nothing keeps it in registers longer than its mean does.
            let store_sum = |c, h| residual_out.iter().for_each(|out| Chunk::store(&c, out, h));
            if self.rows.holds {
                walk.each(|c| store_sum(c, h(c)));
            }
            let (mean, mean_square) = match self.kind {
                Kind::Rms => (None, walk.reduce::<Sum1>(0, |c| h(c).square().sum()) / dim),
                Kind::Layer => {
                    let mean = walk.reduce::<Sum1>(0, |c| h(c).sum()) / dim;
                    // Around the mean itself: a difference of large numbers would lose the variance.
                    (Some(mean), walk.reduce::<Sum1>(1, |c| c.inside(h(c) - mean).square().sum()) / dim)
                }
            };
            let rstd = (mean_square + a.eps).rsqrt();
            walk.each(|c| {
                let h = h(c);
                if !self.rows.holds {
                    store_sum(c, h);
                }
                let mut out = mean.map_or(h, |m| h - m) * rstd;
                let (weight, bias) = vectors(c);
                if let Some(w) = weight {
                    out = out * w;
                }
                if let Some(b) = bias {
                    out = out + b;
                }
                c.store(&y, out);
            });
            when(walk.speaks(a.x.dim(0)), || {
                for (out, value) in [(&a.rstd, Some(rstd)), (&a.mean, mean)] {
                    if let (Some(out), Some(value)) = (out, value) {
                        out.at::<F32>((walk.row(), head, 0)).store(value);
                    }
                }
            });
        });
        launch_dependents();
    }
}

/// Threads to a block that the body has registers for, with everything that it can do.
const MOST_THREADS: usize = 512;

/// What a call's tensors are to the kernel.
struct Views {
    x: TensorArg,
    residual: Option<TensorArg>,
    weight: Option<TensorArg>,
    bias: Option<TensorArg>,
    y: TensorArg,
    residual_out: Option<TensorArg>,
    rstd: Option<TensorArg>,
    mean: Option<TensorArg>,
    eps: f32,
    weight_offset: f32,
}

impl Views {
    fn new(kind: Kind, call: &Forward<'_>) -> Result<Views, ArgumentError> {
        crate::rms_norm::check_eps(call.eps)?;
        let x = view::rows("x", call.x, None)?;
        let mean = call.mean.as_deref().map(|t| statistic("mean", t)).transpose()?;
        if mean.is_some() && kind == Kind::Rms {
            let (expected, got) = ("none: RMS normalisation takes no mean off".into(), "a tensor".into());
            return Err(ArgumentError::Unexpected { name: "mean", expected, got });
        }
        let rows = |name, t: Option<&TensorArg>| t.map(|t| view::rows(name, t, Some(&x))).transpose();
        let vector = |name, t: Option<&TensorArg>| t.map(|t| view::vector(name, t, &x)).transpose();
        Ok(Views {
            y: view::rows("y", call.y, Some(&x))?,
            residual: rows("residual", call.residual)?,
            residual_out: rows("residual_out", call.residual_out.as_deref())?,
            weight: vector("weight", call.weight)?,
            bias: vector("bias", call.bias)?,
            rstd: call.rstd.as_deref().map(|t| statistic("rstd", t)).transpose()?,
            mean,
            eps: call.eps,
            weight_offset: call.weight_offset,
            x,
        })
    }

    fn args(&mut self) -> NormArgs<'_> {
        NormArgs {
            x: &self.x,
            residual: self.residual.as_ref(),
            weight: self.weight.as_ref(),
            bias: self.bias.as_ref(),
            y: &mut self.y,
            residual_out: self.residual_out.as_mut(),
            rstd: self.rstd.as_mut(),
            mean: self.mean.as_mut(),
            eps: self.eps,
            weight_offset: (self.weight_offset != 0.0).then_some(self.weight_offset),
        }
    }
}

impl NormArgs<'_> {
    fn call(&self, kind: Kind) -> Call<'_> {
        let rows = [Some(self.x), Some(&*self.y), self.residual, self.residual_out.as_deref()];
        let plain = kind == Kind::Rms && self.bias.is_none() && self.mean.is_none() && self.weight_offset.is_none();
        let plain = plain && self.residual.is_none() && self.residual_out.is_none();
        Call {
            rows: rows.into_iter().flatten().collect(),
            inputs: 1 + usize::from(self.residual.is_some()),
            weight: self.weight.is_some(),
            plain,
            light: plain && self.weight.is_none_or(|w| w.dtype == DType::F32),
            vectors: [self.weight, self.bias].into_iter().flatten().map(|v| v.dtype.bytes()).sum(),
        }
    }

    fn plan(&self, kind: Kind, chip: &Chip) -> Result<Norm, ArgumentError> {
        Ok(Norm { kind, rows: choose::<Ways>(&self.call(kind), chip)? })
    }
}

impl Plans for Norm {
    fn plans(&self) -> Vec<Norm> {
        let plans = self.rows.others(self.rows.dim).filter(|p| p.threads() <= MOST_THREADS);
        plans.map(|rows| Norm { kind: self.kind, rows }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}

/// Launches a call, or does else with it.
pub(crate) fn forward<A: Act>(kind: Kind, call: &Forward<'_>, act: &A) -> Result<A::Done, LaunchError> {
    let mut views = Views::new(kind, call)?;
    let args = views.args();
    act.act(kernels(kind), &args, || args.plan(kind, act.chip()))
}

/// Checks the arguments and compiles the kernel that a call takes for them, without launching it.
///
/// # Errors
/// As the call.
pub fn bind(kind: Kind, call: Forward<'_>, device: &Device) -> Result<Bound, LaunchError> {
    forward(kind, &call, device)
}

/// The same for a kernel of the caller's choice, as [`plan_on`] gives one, with another [`RowPlan`].
///
/// # Errors
/// As the call.
pub fn bind_plan(kernel: Norm, call: Forward<'_>, device: &Device) -> Result<Bound, LaunchError> {
    let mut views = Views::new(kernel.kind, &call)?;
    kernels(kernel.kind).bind(kernel, &views.args(), device)
}

/// Measures the plans for calls like this one, and has those take the fastest in this process, as [`Kernels::tune`] says.
/// Outputs are written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As the call, or when the device breaks.
pub fn tune(kind: Kind, call: Forward<'_>, device: &Device) -> Result<TunedPlan, LaunchError> {
    forward(kind, &call, &Tuner(device))
}

/// The kernel that a call takes on a chip, where nothing was tuned.
///
/// # Errors
/// As the call.
pub fn plan_on(kind: Kind, call: &Forward<'_>, chip: &Chip) -> Result<Norm, ArgumentError> {
    Views::new(kind, call)?.args().plan(kind, chip)
}

/// What each implementation says of a call on a chip: the first that takes it is the one that runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take it.
pub fn candidates(kind: Kind, call: &Forward<'_>, chip: &Chip) -> Result<Vec<Candidate<Norm>>, ArgumentError> {
    let all = gate::candidates::<Ways>(&Views::new(kind, call)?.args().call(kind), chip);
    Ok(all.into_iter().map(|c| c.map(|rows| Norm { kind, rows })).collect())
}

/// One f32 number a row.
pub(super) fn statistic(name: &'static str, t: &TensorArg) -> Result<TensorArg, ArgumentError> {
    if t.dtype != DType::F32 {
        let expected = "elements of f32".into();
        return Err(ArgumentError::Unexpected { name, expected, got: t.dtype.to_string() });
    }
    view::one_a_row(name, t)
}
