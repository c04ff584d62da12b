//! The gradient of cross-entropy, from the logits and what forward kept.

use super::gradient::{Gradient, Target};
use super::{Options, column, plan};
use crate::rows::{RowPlan, Rows, Sum1, check, check_vector, size};
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};

static BACKWARD: Kernels<CrossEntropyBackward> = Kernels::new();

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
    #[tensor(dim = fixed)]
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
        let p = &self.rows;
        p.launch(a.x.dim(0), 1)
    }

    fn body(&self, a: CrossEntropyBackwardParams) {
        // Only weights that are smoothed over are summed.
        let sums_weights = a.smoothing.is_some() && a.weight.is_some();
        let (dim, weights) = (self.rows.dim, a.weight.as_ref());
        let rows = Rows::new(&self.rows, &[&a.x], usize::from(sums_weights));
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

/// Launches the gradient of cross-entropy on a stream.
///
/// # Errors
/// As [`cross_entropy`](super::cross_entropy()).
pub fn backward(call: Backward<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
    let Backward { x, weight, dx, options, .. } = call;
    let dim = check(&[("x", x), ("dx", dx)])?;
    if let Some(w) = weight {
        check_vector("weight", w, dim)?;
    }
    options.check()?;
    let target = column("target", call.target, &[DType::I32, DType::I64])?;
    let dloss = column("dloss", call.dloss, &[DType::F32])?;
    let lse = column("lse", call.lse, &[DType::F32])?;
    let out = dx.clone();
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
    BACKWARD.launch(&args, size(x), stream, || {
        Ok(CrossEntropyBackward { rows: plan::rows(&[x, &out], stream.device().chip())? })
    })
}
