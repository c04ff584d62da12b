//! Gradients of a normalisation.

use super::columns::{self, FUSED, most_parts};
use super::forward::statistic;
use super::{Kind, view};
use crate::gate::{Implementation, Operator, choose};
use crate::rows::{Form, Room, RowPlan, Sum2, Walk, form, size, vector};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};
use warpsmith_types::Chip;

static BACKWARD: Kernels<NormBackward> = Kernels::new();

/// Plans by all that they depend on: the length of rows, the width of an access, the chip. Each call needs its plan before
/// it finds its kernel, and planning takes longer than a launch.
static PLANS: RwLock<Plans> = RwLock::new(BTreeMap::new());

type Plans = BTreeMap<(usize, usize, &'static str), Arc<RowPlan>>;

fn plan(rows: &Vec<&TensorArg>, dim: usize, chip: &Chip) -> Result<Arc<RowPlan>, ArgumentError> {
    let key = (dim, vector(rows), chip.name);
    if let Some(plan) = PLANS.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(plan.clone());
    }
    let plan = Arc::new(choose::<Ways>(rows, chip)?);
    PLANS.write().unwrap_or_else(PoisonError::into_inner).insert(key, plan.clone());
    Ok(plan)
}

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
    let dim = x.dim(x.shape.len().saturating_sub(1));
    [2, most_parts(dim), heads, dim]
}

/// The kernel of `dx` and `dresidual`, and of the weight's and the bias's gradients where rows are short.
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
    /// Sums of the weight's gradient over the rows of a block, when blocks go over several.
    #[tensor(parts, heads, dim = fixed)]
    pub dweight: Option<&'a mut TensorArg>,
    /// The same of the bias's.
    #[tensor(parts, heads, dim = fixed)]
    pub dbias: Option<&'a mut TensorArg>,
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
        let parts = a.dweight.as_ref().or(a.dbias.as_ref()).map(|t| t.dim(0));
        let blocks = parts.unwrap_or_else(|| p.blocks(a.x.dim(0)));
        Launch::grid_3d([blocks, a.x.dim(1), 1]).block(p.threads()).cluster(p.cluster)
    }

    fn body(&self, a: NormBackwardParams) {
        let (p, head) = (&self.rows, block_idx().y);
        wait_for_upstream();
        if a.dweight.is_none() && a.dbias.is_none() {
            self.rows(&a, &Walk::new(p, 1));
        } else {
            let zeros = || Frag::filled(p.tv.values(), 0.0);
            let sums = var((zeros(), zeros()));
            for block in range(block_idx().x, a.x.dim(0).div_ceil(p.rows())).step(grid_size().x) {
                if let Some((dweight, dbias)) = self.rows(&a, &Walk::at(p, block)) {
                    let (w, b) = sums.get();
                    sums.set((w + dweight, b + dbias));
                }
            }
            let (dweight, dbias) = sums.get();
            for (out, sum) in [(&a.dweight, dweight), (&a.dbias, dbias)] {
                if let Some(out) = out {
                    self.store_part(&out.slice(0, block_idx().x).slice(0, head), sum);
                }
            }
        }
        launch_dependents();
    }
}

impl NormBackward {
    /// The gradients of a block's rows; and what they add to those of weight and bias, where the block holds them.
    fn rows(&self, a: &NormBackwardParams, walk: &Walk<'_>) -> Option<(Frag<F32>, Frag<F32>)> {
        let (head, dim) = (block_idx().y, self.rows.dim as f32);
        let of_head = |t: &Option<Tensor>, mode| t.as_ref().map(|t| t.slice(mode, head));
        let [x, dy, dx] = [&a.x, &a.dy, &a.dx].map(|t| t.slice(1, head));
        let (dresidual_out, dresidual) = (of_head(&a.dresidual_out, 1), of_head(&a.dresidual, 1));
        let weight = of_head(&a.weight, 0);

        let (row, there) = (walk.row(), walk.row().lt(U32::from(a.x.dim(0))));
        let one = |t: &Tensor| t.at::<F32>((row, head, 0)).load_if(there, 0.0);
        let (rstd, mean) = (one(&a.rstd), a.mean.as_ref().map(one));
        // What lies past the row has no gradient.
        let held = walk.hold(|c| (c.load(&dy, 0.0), c.load(&x, 0.0)));
        let normal = |c| mean.map_or(held(c).1, |m| held(c).1 - m) * rstd;
        let both = |c| {
            let dy = held(c).0;
            let g = match &weight {
                None => dy,
                Some(w) => {
                    let w = c.load_vector(w);
                    dy * a.weight_offset.map_or(w, |offset| w + offset)
                }
            };
            (g, normal(c))
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
        self.rows.holds.then(|| {
            let (c, dy) = (walk.held(), held(walk.held()).0);
            (dy * normal(c), dy)
        })
    }

    /// Sums over the rows that a block has side by side, and stores it.
    fn store_part(&self, out: &Tensor, sum: Frag<F32>) {
        let (p, thread) = (&self.rows, thread_idx().x);
        let walk = Walk::at(p, U32::from(0));
        let store = |sum: Frag<F32>| walk.held().of_vector(out).store(sum);
        if p.rows() == 1 {
            return store(sum);
        }
        let (threads, across) = (p.threads(), p.group.threads_per_row);
        let slots = Shared::<F32>::new("rows", threads * p.tv.values());
        for (v, x) in sum.numbers().into_iter().enumerate() {
            slots.set(thread + v * threads, x);
        }
        sync_threads();
        when(thread.lt(across), || {
            let of_row = |v: usize, r: usize| slots.get(thread + (v * threads + r * across));
            let all = (0..p.tv.values()).map(|v| (1..p.rows()).fold(of_row(v, 0), |sum, r| sum + of_row(v, r)));
            store(Frag::of(&all.collect::<Vec<F32>>()).f32());
        });
    }
}

/// What the body needs.
const ROOM: Room = Room { tensors: 2, threads: 512 };

struct Ways;

impl Operator for Ways {
    type Arguments<'a> = Vec<&'a TensorArg>;
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |rows, chip| form(Form::Block, rows, ROOM, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |rows, chip| form(Form::Cluster, rows, ROOM, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read twice: for the sums, and for the output",
        supports: |rows, chip| form(Form::Streamed, rows, ROOM, chip),
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
    let sums = columns::Sums { x: &x, dy: &dy, rstd: &rstd, mean: mean.as_ref(), dweight, dbias };
    let rows: Vec<&TensorArg> =
        [Some(&x), Some(&dy), Some(&dx), dresidual_out.as_ref(), dresidual.as_ref()].into_iter().flatten().collect();
    let plan = plan(&rows, x.dim(2), stream.device().chip())?;
    let fused = !sums.is_empty() && plan.holds && x.dim(2) <= FUSED;
    let parts = match fused {
        true => plan.blocks(x.dim(0)).clamp(1, most_parts(x.dim(2))),
        false => columns::parts(x.dim(0)),
    };
    let mut room = match sums.is_empty() {
        true => None,
        false => Some(columns::room(call.workspace, parts, &x)?),
    };
    let mut all = vec![];
    if let Some(room) = room.as_mut().filter(|_| !fused) {
        // Before `dx` is written: it may lie where `dy` does.
        all.push(sums.partial(room, stream)?);
    }
    let [of_weight, of_bias] = match &mut room {
        Some([weight, bias]) if fused => {
            [sums.dweight.is_some().then_some(weight), sums.dbias.is_some().then_some(bias)]
        }
        _ => [None, None],
    };
    let args = NormBackwardArgs {
        x: &x,
        dy: &dy,
        weight: weight.as_ref(),
        rstd: &rstd,
        mean: mean.as_ref(),
        dresidual_out: dresidual_out.as_ref(),
        dx: &mut dx,
        dresidual: dresidual.as_mut(),
        dweight: of_weight,
        dbias: of_bias,
        weight_offset: (call.weight_offset != 0.0).then_some(call.weight_offset),
    };
    all.push(BACKWARD.launch(&args, size(args.x), stream, || Ok(NormBackward { kind, rows: (*plan).clone() }))?);
    if let Some(room) = &room {
        all.extend(sums.last(room, stream)?);
    }
    Ok(all)
}
