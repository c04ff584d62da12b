//! Normalisation of rows, with all that goes with it.

use super::{Kind, view};
use crate::gate::{Implementation, Operator, Refusal, choose};
use crate::rows::{Chunk, Form, Room, RowPlan, Sum1, Walk, form, size};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

// Calls of both kinds can have one signature, by which a kernel is found again.
static RMS: Kernels<Norm> = Kernels::new();
static LAYER: Kernels<Norm> = Kernels::new();

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
    #[tensor(heads, dim = fixed)]
    pub weight: Option<&'a TensorArg>,
    /// Added to each column.
    #[tensor(heads, dim = fixed)]
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
        let p = &self.rows;
        Launch::grid_3d([p.blocks(a.x.dim(0)), a.x.dim(1), 1]).block(p.threads()).cluster(p.cluster)
    }

    fn body(&self, a: NormParams) {
        let (head, dim) = (block_idx().y, self.rows.dim as f32);
        let of_head = |t: &Option<Tensor>, mode| t.as_ref().map(|t| t.slice(mode, head));
        let (x, y) = (a.x.slice(1, head), a.y.slice(1, head));
        let (residual, residual_out) = (of_head(&a.residual, 1), of_head(&a.residual_out, 1));
        let (weight, bias) = (of_head(&a.weight, 0), of_head(&a.bias, 0));

        let walk = Walk::new(&self.rows, if self.kind == Kind::Layer { 2 } else { 1 });
        wait_for_upstream();
        let h = walk.hold(|c| {
            let x = c.load(&x, 0.0);
            residual.as_ref().map_or(x, |r| x + c.load(r, 0.0))
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
            if let Some(w) = &weight {
                let w = c.load_vector(w);
                out = out * a.weight_offset.map_or(w, |offset| w + offset);
            }
            if let Some(b) = &bias {
                out = out + c.load_vector(b);
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
        launch_dependents();
    }
}

/// The rows of a call, the widest dtype among them deciding an access.
struct Ways;

impl Operator for Ways {
    type Arguments<'a> = Vec<&'a TensorArg>;
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |rows, chip| by(Form::Block, rows, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |rows, chip| by(Form::Cluster, rows, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read for each reduction, and for the output",
        supports: |rows, chip| by(Form::Streamed, rows, chip),
    };
}

fn by(way: Form, rows: &[&TensorArg], chip: &Chip) -> Result<RowPlan, Refusal> {
    form(way, rows, Room { tensors: 1, threads: 512 }, chip)
}

pub(crate) fn forward(kind: Kind, call: Forward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    crate::rms_norm::check_eps(call.eps)?;
    let x = view::rows("x", call.x, None)?;
    let mut y = view::rows("y", call.y, Some(&x))?;
    let residual = call.residual.map(|t| view::rows("residual", t, Some(&x))).transpose()?;
    let mut residual_out = call.residual_out.map(|t| view::rows("residual_out", t, Some(&x))).transpose()?;
    let weight = call.weight.map(|t| view::vector("weight", t, &x)).transpose()?;
    let bias = call.bias.map(|t| view::vector("bias", t, &x)).transpose()?;
    let mut rstd = call.rstd.map(|t| statistic("rstd", t)).transpose()?;
    let mut mean = call.mean.map(|t| statistic("mean", t)).transpose()?;
    if mean.is_some() && kind == Kind::Rms {
        let (expected, got) = ("none: RMS normalisation takes no mean off".into(), "a tensor".into());
        return Err(ArgumentError::Unexpected { name: "mean", expected, got }.into());
    }
    // The others can be asked while the launch has these.
    let written: [Option<TensorArg>; 2] = [Some(y.clone()), residual_out.clone()];
    let args = NormArgs {
        x: &x,
        residual: residual.as_ref(),
        weight: weight.as_ref(),
        bias: bias.as_ref(),
        y: &mut y,
        residual_out: residual_out.as_mut(),
        rstd: rstd.as_mut(),
        mean: mean.as_mut(),
        eps: call.eps,
        weight_offset: (call.weight_offset != 0.0).then_some(call.weight_offset),
    };
    let kernels = match kind {
        Kind::Rms => &RMS,
        Kind::Layer => &LAYER,
    };
    kernels.launch(&args, size(args.x), stream, || {
        let read = [Some(&x), residual.as_ref()];
        let all = read.into_iter().chain(written.iter().map(Option::as_ref)).flatten().collect();
        let rows = choose::<Ways>(&all, stream.device().chip())?;
        Ok(Norm { kind, rows })
    })
}

/// One f32 number a row.
pub(super) fn statistic(name: &'static str, t: &TensorArg) -> Result<TensorArg, ArgumentError> {
    if t.dtype != DType::F32 {
        let expected = "elements of f32".into();
        return Err(ArgumentError::Unexpected { name, expected, got: t.dtype.to_string() });
    }
    view::one_a_row(name, t)
}
