//! The body.

use super::gradient::{Gradient, Target};
use crate::rows::{Leaving, MaxSum, MaxSumDot, RowPlan, Rows, launch, scalar};
use warpsmith_dsl::prelude::*;

/// Where the targets' logits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separate {
    /// The rows themselves.
    No,
    /// A tensor of one a row.
    Values,
    /// The rows of another tensor.
    Rows,
}

/// Cross-entropy of rows of one length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CrossEntropy {
    /// Where the targets' logits come from.
    pub separate: Separate,
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// [`Forward`](super::Forward), as the kernel takes it.
#[derive(KernelArgs)]
pub struct CrossEntropyArgs<'a> {
    /// Logits.
    #[tensor(rows, dim = fixed)]
    pub x: &'a TensorArg,
    /// Class numbers.
    #[tensor(rows, one = fixed)]
    pub target: &'a TensorArg,
    /// The targets' logits.
    #[tensor(rows, classes)]
    pub target_logit: Option<&'a TensorArg>,
    /// Of classes.
    #[tensor(dim = fixed, constant)]
    pub weight: Option<&'a TensorArg>,
    /// The losses.
    #[tensor(rows, one = fixed)]
    pub loss: &'a mut TensorArg,
    /// Logarithms of sums of exponentials.
    #[tensor(rows, one = fixed)]
    pub lse: Option<&'a mut TensorArg>,
    /// Gradients.
    #[tensor(rows, dim = fixed)]
    pub dx: Option<&'a mut TensorArg>,
    /// The target of rows that do not count.
    pub ignore_index: i32,
    /// The share of all classes.
    pub smoothing: Option<f32>,
    /// What `lse²` counts.
    pub z_loss: Option<f32>,
}

impl Kernel for CrossEntropy {
    type Args = CrossEntropyParams;

    fn name(&self) -> String {
        format!("cross_entropy_{}", self.rows.dim)
    }

    fn launch(&self, a: &CrossEntropyArgs<'_>) -> Launch {
        launch(&self.rows, [a.x.dim(0), 1], &[a.weight])
    }

    fn body(&self, a: CrossEntropyParams) {
        let (dim, weights) = (self.rows.dim, a.weight.as_ref());
        let leaving = if a.dx.is_some() { Leaving::Last } else { Leaving::First };
        let rows = Rows::new(&self.rows, &[&a.x], 1, leaving);
        wait_for_upstream();
        let classes = match (self.separate, &a.target_logit) {
            (Separate::Rows, Some(t)) => t.dim(1),
            _ => dim.into(),
        };
        rows.run_ahead(
            |row| Target::load(&a.target, row),
            |walk, target| {
                let row = walk.row();
                let x = walk.hold(|c| c.stored(0, f32::NEG_INFINITY));
                let target = Target::new(target, row.lt(U32::from(a.x.dim(0))), a.ignore_index, classes);
                // The thread that may overwrite it by its gradient reads it, and gives the loss.
                let speaks = walk.owns(target.class, a.x.dim(0));
                let asks = target.counts & speaks;
                let separate = |class| move |t| branch(asks, || scalar(t, (row, class)), || F32::from(0.0));
                let logit = match (self.separate, &a.target_logit) {
                    (Separate::Values, Some(t)) => separate(0.into())(t),
                    (Separate::Rows, Some(t)) => separate(target.class)(t),
                    _ => walk.held_element(&x, asks, target.class),
                };
                let weight = target.weight(weights);

                // Where nothing is smoothed, two sums less.
                let ones = dim as f32;
                let (max, sum, dot, all_weights) = match a.smoothing {
                    None => {
                        let (max, sum) = walk.reduce::<MaxSum>(0, |c| MaxSum::of(x(c)).0);
                        (max, sum, None, F32::from(ones))
                    }
                    Some(_) => {
                        let (max, sum, dot, all) = walk.reduce::<MaxSumDot>(0, |c| {
                            let ((max, sum), inside) = (MaxSum::of(x(c)).0, c.inside(x(c).f32()));
                            match weights.map(|w| c.load_vector(w)) {
                                None => (max, sum, inside.sum(), F32::from(0.0)),
                                Some(w) => (max, sum, (inside * w).sum(), w.sum()),
                            }
                        });
                        (max, sum, Some(dot), if weights.is_some() { all } else { F32::from(ones) })
                    }
                };
                let lse = max + sum.log();
                let mut loss = lse - logit;
                if let Some(w) = weight {
                    loss = loss * w;
                }
                if let (Some(share), Some(dot)) = (a.smoothing, dot) {
                    loss = loss * (1.0 - share) + (all_weights * lse - dot) * (share / ones);
                }
                if let Some(z) = a.z_loss {
                    loss = loss + z * lse * lse;
                }
                when(speaks, || {
                    a.loss.at::<F32>((row, 0)).store(select(target.counts, loss, target.instead));
                    if let Some(out) = &a.lse {
                        out.at::<F32>((row, 0)).store(lse);
                    }
                });
                if let Some(dx) = &a.dx {
                    let gradient = Gradient::new(weight, all_weights, lse, dim, a.smoothing, a.z_loss);
                    let scale = sum.rcp();
                    walk.each(|c| {
                        let p = MaxSum::exponentials(x(c), max).scaled(scale);
                        c.store(dx, gradient.of(p, c, &target, weights));
                    });
                }
            },
        );
        launch_dependents();
    }
}
