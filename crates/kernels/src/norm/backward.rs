//! Gradients of a normalisation.

use super::columns::{self, PARTS};
use super::forward::statistic;
use super::{Kind, view};
use crate::gate::{Implementation, Operator, choose};
use crate::rows::{Form, RowPlan, Sum2, Walk, form, size};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};

static BACKWARD: Kernels<NormBackward> = Kernels::new();

/// Gradients of [`Forward`](super::Forward), whose `x` plus `residual` is `x` here. Shapes and dtypes as there.
///
/// With g = dy · (weight + weight_offset) and x̂ = (x − mean) · rstd:
/// `dx = (g − x̂ · mean(x̂ · g) − mean(g)) · rstd + dresidual_out`, where RMS normalisation has no mean(g);
/// `dweight = Σ dy · x̂` and `dbias = Σ dy`, over rows. The sums are in f32 and in one order for so many rows: bits are the
/// same run to run.
#[derive(Debug)]
pub struct Backward<'a> {
    /// What was normalised.
    pub x: &'a TensorArg,
    /// The gradient of the output.
    pub dy: &'a TensorArg,
    /// As forward.
    pub weight: Option<&'a TensorArg>,
    /// What forward gave.
    pub rstd: &'a TensorArg,
    /// What forward gave; of layer normalisation.
    pub mean: Option<&'a TensorArg>,
    /// The gradient of `residual_out`.
    pub dresidual_out: Option<&'a TensorArg>,
    /// Gets the gradient of `x`.
    pub dx: &'a mut TensorArg,
    /// Gets the same in another dtype, for a residual that has one.
    pub dresidual: Option<&'a mut TensorArg>,
    /// Gets the gradient of `weight`.
    pub dweight: Option<&'a mut TensorArg>,
    /// Gets the gradient of `bias`.
    pub dbias: Option<&'a mut TensorArg>,
    /// Memory for partial sums, where `dweight` or `dbias` is wanted: f32, of the shape that [`workspace`] says.
    pub workspace: Option<&'a mut TensorArg>,
    /// As forward.
    pub weight_offset: f32,
}

/// The shape of [`Backward::workspace`] for rows like `x`: (2, parts, heads, dim), f32.
pub fn workspace(x: &TensorArg) -> [usize; 4] {
    let heads = if x.shape.len() == 3 { x.dim(1) } else { 1 };
    [2, PARTS, heads, x.dim(x.shape.len().saturating_sub(1))]
}

/// The kernel of `dx` and `dresidual`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormBackward {
    /// Which normalisation.
    pub kind: Kind,
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// [`Backward`], as far as rows go.
#[derive(KernelArgs)]
pub struct NormBackwardArgs<'a> {
    /// What was normalised.
    #[tensor(rows, heads, dim = fixed)]
    pub x: &'a TensorArg,
    /// The gradient of the output.
    #[tensor(rows, heads, dim = fixed)]
    pub dy: &'a TensorArg,
    /// As forward.
    #[tensor(heads, dim = fixed)]
    pub weight: Option<&'a TensorArg>,
    /// What forward gave.
    #[tensor(rows, heads, one = fixed)]
    pub rstd: &'a TensorArg,
    /// What forward gave.
    #[tensor(rows, heads, one = fixed)]
    pub mean: Option<&'a TensorArg>,
    /// The gradient of `residual_out`.
    #[tensor(rows, heads, dim = fixed)]
    pub dresidual_out: Option<&'a TensorArg>,
    /// The gradient of `x`.
    #[tensor(rows, heads, dim = fixed)]
    pub dx: &'a mut TensorArg,
    /// The same in another dtype.
    #[tensor(rows, heads, dim = fixed)]
    pub dresidual: Option<&'a mut TensorArg>,
    /// As forward.
    pub weight_offset: Option<f32>,
}

impl Kernel for NormBackward {
    type Args = NormBackwardParams;

    fn name(&self) -> String {
        format!("{}_backward_{}", self.kind.name(), self.rows.dim)
    }

    fn launch(&self, a: &NormBackwardArgs<'_>) -> Launch {
        let p = &self.rows;
        Launch::grid_3d([p.blocks(a.x.dim(0)), a.x.dim(1), 1]).block(p.threads()).cluster(p.cluster)
    }

    fn body(&self, a: NormBackwardParams) {
        let (head, dim) = (block_idx().y, self.rows.dim as f32);
        let of_head = |t: &Option<Tensor>, mode| t.as_ref().map(|t| t.slice(mode, head));
        let [x, dy, dx] = [&a.x, &a.dy, &a.dx].map(|t| t.slice(1, head));
        let (dresidual_out, dresidual) = (of_head(&a.dresidual_out, 1), of_head(&a.dresidual, 1));
        let weight = of_head(&a.weight, 0);

        let walk = Walk::new(&self.rows, 1);
        wait_for_upstream();
        let (row, there) = (walk.row(), walk.row().lt(U32::from(a.x.dim(0))));
        let one = |t: &Tensor| t.at::<F32>((row, head, 0)).load_if(there, 0.0);
        let (rstd, mean) = (one(&a.rstd), a.mean.as_ref().map(one));
        // The gradient and the normalised row; what lies past the row has no gradient.
        let held = walk.hold(|c| (c.load(&dy, 0.0), c.load(&x, 0.0)));
        let both = |c| {
            let (dy, x) = held(c);
            let g = match &weight {
                None => dy,
                Some(w) => {
                    let w = c.load_vector(w);
                    dy * a.weight_offset.map_or(w, |offset| w + offset)
                }
            };
            (g, mean.map_or(x, |m| x - m) * rstd)
        };
        let (projection, shift) = walk.reduce::<Sum2>(0, |c| {
            let (g, normal) = both(c);
            ((normal * g).sum(), if mean.is_some() { g.sum() } else { F32::from(0.0) })
        });
        let (projection, shift) = (projection / dim, mean.map(|_| shift / dim));
        walk.each(|c| {
            let (g, normal) = both(c);
            let mut d = g - normal * projection;
            if let Some(shift) = shift {
                d = d - shift;
            }
            d = d * rstd;
            if let Some(more) = &dresidual_out {
                d = d + c.load(more, 0.0);
            }
            for out in [Some(&dx), dresidual.as_ref()].into_iter().flatten() {
                c.store(out, d);
            }
        });
        launch_dependents();
    }
}

struct Ways;

impl Operator for Ways {
    type Arguments<'a> = Vec<&'a TensorArg>;
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |rows, chip| form(Form::Block, rows, 2, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |rows, chip| form(Form::Cluster, rows, 2, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read twice: for the sums, and for the output",
        supports: |rows, chip| form(Form::Streamed, rows, 2, chip),
    };
}

pub(crate) fn backward(kind: Kind, call: Backward<'_>, stream: &Stream) -> Result<Vec<LaunchOutcome>, LaunchError> {
    let x = view::rows("x", call.x, None)?;
    let dy = view::rows("dy", call.dy, Some(&x))?;
    let mut dx = view::rows("dx", call.dx, Some(&x))?;
    let weight = call.weight.map(|t| view::vector("weight", t, &x)).transpose()?;
    let rstd = statistic("rstd", call.rstd)?;
    let mean = call.mean.map(|t| statistic("mean", t)).transpose()?;
    if mean.is_some() != (kind == Kind::Layer) {
        let expected = if kind == Kind::Layer { "what forward gave" } else { "none: no mean was taken off" };
        let got = if mean.is_some() { "a tensor" } else { "none" };
        return Err(ArgumentError::Unexpected { name: "mean", expected: expected.into(), got: got.into() }.into());
    }
    let dresidual_out = call.dresidual_out.map(|t| view::rows("dresidual_out", t, Some(&x))).transpose()?;
    let mut dresidual = call.dresidual.map(|t| view::rows("dresidual", t, Some(&x))).transpose()?;
    let dweight = call.dweight.map(|t| view::gradient("dweight", t, &x)).transpose()?;
    let dbias = call.dbias.map(|t| view::gradient("dbias", t, &x)).transpose()?;
    // First the sums over rows: `dx` may lie where `dy` does.
    let sums = columns::Sums { x: &x, dy: &dy, rstd: &rstd, mean: mean.as_ref(), dweight, dbias };
    let mut all = sums.launch(call.workspace, stream)?;

    let rows: Vec<TensorArg> = [Some(&x), Some(&dy), Some(&dx), dresidual_out.as_ref(), dresidual.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let args = NormBackwardArgs {
        x: &x,
        dy: &dy,
        weight: weight.as_ref(),
        rstd: &rstd,
        mean: mean.as_ref(),
        dresidual_out: dresidual_out.as_ref(),
        dx: &mut dx,
        dresidual: dresidual.as_mut(),
        weight_offset: (call.weight_offset != 0.0).then_some(call.weight_offset),
    };
    all.push(BACKWARD.launch(&args, size(args.x), stream, || {
        let rows = choose::<Ways>(&rows.iter().collect(), stream.device().chip())?;
        Ok(NormBackward { kind, rows })
    })?);
    Ok(all)
}
