//! The gradient of cross-entropy, from the logits and what forward kept.

use super::gradient::{Gradient, Target};
use super::{CLASSES, Options, column, plan};
use crate::act::{Act, TunedPlan, Tuner};
use crate::gate::Candidate;
use crate::rows::{Leaving, RowPlan, Rows, Sum1, check, check_vector, launch};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Plans, Stream};
use warpsmith_types::Chip;

static BACKWARD: Kernels<CrossEntropyBackward> = Kernels::with_plans();

/// What the gradient of cross-entropy takes and gives. Shapes and dtypes as in [`Forward`](super::Forward).
#[derive(Debug)]
pub struct Backward<'a> {
    /// Logits.
    pub x: &'a TensorArg,
    /// Class numbers.
    pub target: &'a TensorArg,
    /// The losses' gradients, (rows), f32, of any stride: 0 for one that all rows share.
    pub dloss: &'a TensorArg,
    /// What forward gave.
    pub lse: &'a TensorArg,
    /// As forward.
    pub weight: Option<&'a TensorArg>,
    /// Gets the logits' gradients; it may be `x`.
    pub dx: &'a mut TensorArg,
    /// As forward.
    pub options: Options,
}

/// The gradient for rows of one length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CrossEntropyBackward {
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// [`Backward`], as the kernel takes it.
#[derive(KernelArgs)]
pub struct CrossEntropyBackwardArgs<'a> {
    /// Logits.
    #[tensor(rows, dim = fixed)]
    pub x: &'a TensorArg,
    /// Class numbers.
    #[tensor(rows, one = fixed)]
    pub target: &'a TensorArg,
    /// The losses' gradients.
    #[tensor(rows, one = fixed)]
    pub dloss: &'a TensorArg,
    /// What forward gave.
    #[tensor(rows, one = fixed)]
    pub lse: &'a TensorArg,
    /// Of classes.
    #[tensor(dim = fixed, constant)]
    pub weight: Option<&'a TensorArg>,
    /// The logits' gradients.
    #[tensor(rows, dim = fixed)]
    pub dx: &'a mut TensorArg,
    /// The target of rows that do not count.
    pub ignore_index: i32,
    /// The share of all classes.
    pub smoothing: Option<f32>,
    /// What `lse²` counts.
    pub z_loss: Option<f32>,
}

impl Kernel for CrossEntropyBackward {
    type Args = CrossEntropyBackwardParams;

    fn name(&self) -> String {
        format!("cross_entropy_backward_{}", self.rows.dim)
    }

    fn launch(&self, a: &CrossEntropyBackwardArgs<'_>) -> Launch {
        launch(&self.rows, [a.x.dim(0), 1], &[a.weight])
    }

    fn body(&self, a: CrossEntropyBackwardParams) {
        // Only weights that are smoothed over are summed.
        let sums_weights = a.smoothing.is_some() && a.weight.is_some();
        let (dim, weights) = (self.rows.dim, a.weight.as_ref());
        let rows = Rows::new(&self.rows, &[&a.x], usize::from(sums_weights), Leaving::Last);
        wait_for_upstream();
        let of_row = |row: U32| {
            let there = row.lt(U32::from(a.x.dim(0)));
            let [dloss, lse] = [&a.dloss, &a.lse].map(|t| t.at::<F32>((row, 0)).load_if(there, 0.0));
            (dloss, lse, Target::load(&a.target, row))
        };
        rows.run_ahead(of_row, |walk, (dloss, lse, target)| {
            let x = walk.hold(|c| c.input(0, f32::NEG_INFINITY));
            let target = Target::new(target, walk.row().lt(U32::from(a.x.dim(0))), a.ignore_index, dim.into());
            let all = match weights.filter(|_| sums_weights) {
                Some(w) => walk.reduce::<Sum1>(0, |c| c.load_vector(w).sum()),
                None => F32::from(dim as f32),
            };
            let gradient = Gradient::new(target.weight(weights), all, lse, dim, a.smoothing, a.z_loss).scaled(dloss);
            walk.each(|c| {
                let p = (x(c) - lse).exp();
                c.store(&a.dx, gradient.of(p, c, &target, weights));
            });
        });
        launch_dependents();
    }
}

impl Plans for CrossEntropyBackward {
    fn plans(&self) -> Vec<CrossEntropyBackward> {
        plan::others(&self.rows).map(|rows| CrossEntropyBackward { rows }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}

impl Backward<'_> {
    fn check(&self) -> Result<(), ArgumentError> {
        let dim = check(&[("x", self.x), ("dx", self.dx)])?;
        if let Some(w) = self.weight {
            check_vector("weight", w, dim)?;
        }
        self.options.check()
    }
}

pub(crate) fn act<A: Act>(call: Backward<'_>, act: &A) -> Result<A::Done, LaunchError> {
    call.check()?;
    let Backward { x, weight, dx, options, .. } = call;
    let target = column("target", call.target, &CLASSES)?;
    let dloss = column("dloss", call.dloss, &[DType::F32])?;
    let lse = column("lse", call.lse, &[DType::F32])?;
    let args = CrossEntropyBackwardArgs {
        x,
        target: &target,
        dloss: &dloss,
        lse: &lse,
        weight,
        dx,
        ignore_index: options.ignore_index,
        smoothing: options.smoothing(),
        z_loss: options.z_loss(),
    };
    act.act(&BACKWARD, &args, || Ok(CrossEntropyBackward { rows: plan::rows(&[args.x, args.dx], act.chip())? }))
}

/// Launches the gradient of cross-entropy on a stream.
///
/// # Errors
/// As [`cross_entropy`](super::cross_entropy()).
pub fn backward(call: Backward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    act(call, stream)
}

/// Checks the arguments and compiles the kernel that [`backward`] takes for them, without launching it.
///
/// # Errors
/// As [`backward`].
pub fn bind(call: Backward<'_>, device: &Device) -> Result<Bound, LaunchError> {
    act(call, device)
}

/// Measures the plans for calls like this one, and has [`backward`] take the fastest for them in this process, as
/// [`Kernels::tune`] says. `dx` is written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As [`backward`], or when the device breaks.
pub fn tune(call: Backward<'_>, device: &Device) -> Result<TunedPlan, LaunchError> {
    act(call, &Tuner(device))
}

/// What each implementation says of a call on a chip: the first that takes it is the one that [`backward`] runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take it.
pub fn candidates(call: &Backward<'_>, chip: &Chip) -> Result<Vec<Candidate<CrossEntropyBackward>>, ArgumentError> {
    call.check()?;
    let all = plan::candidates(&[call.x, call.dx], chip);
    Ok(all.into_iter().map(|c| c.map(|rows| CrossEntropyBackward { rows })).collect())
}
