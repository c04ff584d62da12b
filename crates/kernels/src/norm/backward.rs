//! Gradients of a normalisation.

use super::columns::{self, most_parts};
use super::forward::statistic;
use super::{Kind, view};
use crate::act::{Act, TunedPlan, Tuner};
use crate::gate::{self, Candidate, choose};
use crate::rows::{
    BLOCK, Chunk, Leaving, Narrow, PORTABLE, Room, RowPlan, Rows, Staging, Sum2, Summing, Walk, Ways, launch, vector,
};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, Plans};
use warpsmith_types::Chip;

static BACKWARD: Kernels<NormBackward> = Kernels::with_plans();

/// Plans by all that they depend on: the length of rows, the width of an access, bytes of elements, the chip and how much of
/// it there is, and whether one sum over rows is wanted, or two. Each call needs its plan before it finds its kernel, and planning takes longer than a
/// launch.
static PLANS: RwLock<BTreeMap<Key, Planned>> = RwLock::new(BTreeMap::new());

type Key = (usize, usize, [usize; 2], (&'static str, u32), Option<Wanted>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    One,
    Two,
}

/// How a call's rows are read.
#[derive(Clone)]
struct Planned {
    rows: Arc<RowPlan>,
    /// How many blocks, or clusters, a chip runs at once, where they sum over rows on the way.
    parts: Option<usize>,
}

fn plan(rows: &[&TensorArg], dim: usize, sums: Option<Wanted>, chip: &Chip) -> Result<Planned, ArgumentError> {
    let bytes = |most: fn(usize, usize) -> usize| rows.iter().map(|t| t.dtype.bytes()).reduce(most).unwrap_or(1);
    let (vector, narrowest, widest) = (vector(rows), bytes(usize::min), bytes(usize::max));
    let key = (dim, vector, [narrowest, widest], (chip.name, chip.multiprocessors), sums);
    if let Some(plan) = PLANS.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(plan.clone());
    }
    let summing = sums.and_then(|sums| {
        let by = Summing { bytes: 2 * widest, copies: vector * narrowest >= 4, keeps: sums == Wanted::One };
        RowPlan::summing(dim, vector, by, chip)
    });
    // Where accesses are too narrow, or sums too many, another kernel sums.
    let planned = match summing {
        Some((rows, parts)) => Planned { rows: Arc::new(rows), parts: Some(parts.min(most_parts(dim))) },
        None => Planned { rows: Arc::new(choose::<Ways>(&(rows, ROOM), chip)?), parts: None },
    };
    PLANS.write().unwrap_or_else(PoisonError::into_inner).insert(key, planned.clone());
    Ok(planned)
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

/// The kernel of `dx` and `dresidual`, and of parts of the weight's and the bias's gradients where blocks hold such sums.
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
    #[tensor(heads, dim = fixed, constant)]
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
        let all = launch(&self.rows, [a.x.dim(0), a.x.dim(1)], &[a.weight]);
        let parts = a.dweight.as_ref().or(a.dbias.as_ref()).map(|t| t.dim(0));
        parts.map_or(all, |parts| Launch { grid: [parts * self.rows.cluster, a.x.dim(1), 1], ..all })
    }

    fn body(&self, a: NormBackwardParams) {
        let (p, head) = (&self.rows, block_idx().y);
        let [x, dy, dx] = [&a.x, &a.dy, &a.dx].map(|t| t.slice(1, head));
        let of_head = |t: &Option<Tensor>, mode| t.as_ref().map(|t| t.slice(mode, head));
        let (dresidual_out, dresidual) = (of_head(&a.dresidual_out, 1), of_head(&a.dresidual, 1));
        let weight = of_head(&a.weight, 0);
        let alone = a.dweight.is_none() && a.dbias.is_none();
        let rows = if alone {
            Rows::new(p, &[&dy, &x], 1, Leaving::Last)
        } else {
            Rows::looping(p, &[&dy, &x], 1, Leaving::Last)
        };
        wait_for_upstream();
        let weight = rows.keep(|c| {
            let w = weight.as_ref().map(|w| c.load_vector(w));
            w.map(|w| a.weight_offset.map_or(w, |offset| w + offset))
        });
        let zeros = || Frag::filled(p.tv.values(), 0.0);
        let sums = (!alone).then(|| var((zeros(), zeros())));
        let of_row = |row: U32| {
            let there = row.lt(U32::from(a.x.dim(0)));
            let one = |t: &Tensor| t.at::<F32>((row, head, 0)).load_if(there, 0.0);
            (one(&a.rstd), a.mean.as_ref().map_or(F32::from(0.0), one))
        };
        rows.run_ahead(of_row, |walk, (rstd, mean)| {
            let mean = a.mean.as_ref().map(|_| mean);
            self.row(walk, rstd, mean, &weight, dresidual_out.as_ref(), [Some(&dx), dresidual.as_ref()], |more| {
                if let Some(sums) = &sums {
                    let (w, b) = sums.get();
                    sums.set((w + more.0, b + more.1));
                }
            });
        });
        if let Some(sums) = sums {
            let (dweight, dbias) = sums.get();
            let part: Dim = if p.cluster == 1 { block_idx().x.into() } else { (block_idx().x / p.cluster).into() };
            for (out, sum) in [(&a.dweight, dweight), (&a.dbias, dbias)] {
                if let Some(out) = out {
                    self.store_part(&rows, &out.slice(0, part).slice(0, head), sum);
                }
            }
        }
        launch_dependents();
    }
}

impl NormBackward {
    /// The gradients of a group's rows; `sum` gets what they add to those of weight and bias, where the group holds them.
    #[allow(clippy::too_many_arguments, reason = "what a row's gradient depends on")]
    fn row<'w>(
        &self,
        walk: &Walk<'w>,
        rstd: F32,
        mean: Option<F32>,
        weight: &impl Fn(Chunk<'w>) -> Option<Frag<F32>>,
        dresidual_out: Option<&Tensor>,
        outs: [Option<&Tensor>; 2],
        sum: impl Fn((Frag<F32>, Frag<F32>)),
    ) {
        let dim = self.rows.dim as f32;
        // What lies past the row has no gradient.
        let held = walk.hold(|c| (c.input(0, 0.0), c.input(1, 0.0)));
        let normal = |c| mean.map_or(held(c).1, |m| held(c).1 - m) * rstd;
        let both = |c| {
            let dy = held(c).0;
            (weight(c).map_or(dy, |w| dy * w), normal(c))
        };
        let (projection, shift) = walk.reduce::<Sum2>(0, |c| {
            let (g, normal) = both(c);
            ((normal * g).sum(), if mean.is_some() { g.sum() } else { F32::from(0.0) })
        });
        let (projection, shift) = (projection / dim, mean.map(|_| shift / dim));
        walk.each(|c| {
            let (g, normal) = both(c);
            if !self.rows.is_streamed() {
                let dy = held(c).0;
                sum((dy * normal, dy));
            }
            let mut d = g - normal * projection;
            if let Some(shift) = shift {
                d = d - shift;
            }
            d = d * rstd;
            if let Some(more) = dresidual_out {
                d = d + c.load(more, 0.0);
            }
            for out in outs.into_iter().flatten() {
                c.store(out, d);
            }
        });
    }

    /// Sums over the rows that a block has side by side, and stores it.
    fn store_part(&self, rows: &Rows<'_>, out: &Tensor, sum: Frag<F32>) {
        let (p, thread) = (&self.rows, thread_idx().x);
        let store = |sum: Frag<F32>| rows.vector(out).store(sum);
        let side = p.rows() * p.groups();
        if side == 1 {
            return store(sum);
        }
        let (threads, across) = (p.threads(), p.group.threads_per_row);
        let slots = Shared::<F32>::new("sides", threads * p.tv.values());
        for (v, x) in sum.numbers().into_iter().enumerate() {
            slots.set(thread + v * threads, x);
        }
        sync_threads();
        when(thread.lt(across), || {
            let of_row = |v: usize, r: usize| slots.get(thread + (v * threads + r * across));
            let all = (0..p.tv.values()).map(|v| (1..side).fold(of_row(v, 0), |sum, r| sum + of_row(v, r)));
            store(Frag::of(&all.collect::<Vec<F32>>()).f32());
        });
    }
}

/// What the body needs.
const ROOM: Room = Room {
    tensors: 2,
    threads: 512,
    inputs: 2,
    block: BLOCK,
    accesses: [2, 4],
    held: 16 << 10,
    held_wide: PORTABLE,
    staging: Staging { threads: 256, blocks: 1, part: 32 << 10, most: 256, long_slices: 1, narrow: Narrow::USUAL },
    cluster: 256,
    once: false,
};

/// Launches a call, or does else with it, kernel by kernel.
pub(crate) fn backward<A: Act>(kind: Kind, call: Backward<'_>, act: &A) -> Result<Vec<A::Done>, LaunchError> {
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
    let wanted = match (sums.is_empty(), sums.dbias.is_some()) {
        (true, _) => None,
        (_, false) => Some(Wanted::One),
        (_, true) => Some(Wanted::Two),
    };
    let Planned { rows: plan, parts } = plan(&rows, x.dim(2), wanted, act.chip())?;
    let fused = parts.is_some();
    let parts = match parts {
        Some(parts) => parts.min(x.dim(0).div_ceil(plan.rows() * plan.groups())).max(1),
        None => columns::parts(x.dim(0)),
    };
    let mut room = match sums.is_empty() {
        true => None,
        false => Some(columns::room(call.workspace, parts, &x)?),
    };
    let mut all = vec![];
    if let Some(room) = room.as_mut().filter(|_| !fused) {
        // Before `dx` is written: it may lie where `dy` does.
        all.push(sums.partial(room, act)?);
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
    all.push(act.act(&BACKWARD, &args, || Ok(NormBackward { kind, rows: (*plan).clone() }))?);
    if let Some(room) = &room {
        all.extend(sums.last(room, act)?);
    }
    Ok(all)
}

/// Checks the arguments and compiles the kernels that a call takes for them, in the order that they are launched in.
///
/// # Errors
/// As the call.
pub fn bind_backward(kind: Kind, call: Backward<'_>, device: &Device) -> Result<Vec<Bound>, LaunchError> {
    backward(kind, call, device)
}

/// Measures the plans of a call's kernels, and has calls like it take the fastest in this process, as [`Kernels::tune`]
/// says. Outputs are written; on an emulated device nothing is run.
///
/// # Errors
/// As the call, or when the device breaks.
pub fn tune_backward(kind: Kind, call: Backward<'_>, device: &Device) -> Result<Vec<TunedPlan>, LaunchError> {
    backward(kind, call, &Tuner(device))
}

/// What each implementation says of the kernel of `dx` on a chip, for rows like `x` and their gradients: the first that
/// takes it is the one that runs. The other kernels of a call have one implementation each.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take it.
pub fn backward_candidates(
    kind: Kind,
    [x, dy, dx]: [&TensorArg; 3],
    chip: &Chip,
) -> Result<Vec<Candidate<NormBackward>>, ArgumentError> {
    let x = view::rows("x", x, None)?;
    let (dy, dx) = (view::rows("dy", dy, Some(&x))?, view::rows("dx", dx, Some(&x))?);
    let all = gate::candidates::<Ways>(&(&[&x, &dy, &dx], ROOM), chip);
    Ok(all.into_iter().map(|c| c.map(|rows| NormBackward { kind, rows })).collect())
}

impl Plans for NormBackward {
    fn plans(&self) -> Vec<NormBackward> {
        let plans = self.rows.others(self.rows.dim).filter(|p| p.threads() <= ROOM.threads);
        plans.map(|rows| NormBackward { kind: self.kind, rows }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}
