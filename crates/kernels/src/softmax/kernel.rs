//! The body.

use crate::rows::{Leaving, MaxSum, RowPlan, Rows, launch};
use warpsmith_dsl::prelude::*;

/// Softmax of rows of one length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Softmax {
    /// The dtype of `x`.
    pub input: DType,
    /// The dtype of `y`.
    pub output: DType,
    /// The length of a row.
    pub dim: usize,
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// `x` and `y`, (rows, dim).
#[derive(KernelArgs)]
pub struct SoftmaxArgs<'a> {
    /// The input.
    #[tensor(rows, dim = fixed)]
    pub x: &'a TensorArg,
    /// The output.
    #[tensor(rows, dim = fixed)]
    pub y: &'a mut TensorArg,
}

impl Kernel for Softmax {
    type Args = SoftmaxParams;

    fn name(&self) -> String {
        let Softmax { input, output, dim, .. } = self;
        if input == output { format!("softmax_{input}_{dim}") } else { format!("softmax_{input}_{output}_{dim}") }
    }

    fn launch(&self, a: &SoftmaxArgs<'_>) -> Launch {
        launch(&self.rows, [a.x.dim(0), 1], &[])
    }

    fn body(&self, a: SoftmaxParams) {
        let rows = Rows::new(&self.rows, &[&a.x], 1, Leaving::Last);
        wait_for_upstream();
        // What lies past the row weighs nothing.
        rows.run(|walk| {
            if self.rows.holds {
                let chunk = walk.held();
                let (mine, e) = MaxSum::of(chunk.stored(0, f32::NEG_INFINITY));
                let (max, sum) = walk.reduce::<MaxSum>(0, |_| mine);
                chunk.store(&a.y, e.scaled((MaxSum::base(mine.0) - max).exp() * sum.rcp()));
            } else {
                let (max, sum) = walk.reduce::<MaxSum>(0, |c| MaxSum::of(c.stored(0, f32::NEG_INFINITY)).0);
                let scale = sum.rcp();
                walk.each(|c| c.store(&a.y, MaxSum::exponentials(c.stored(0, f32::NEG_INFINITY), max).scaled(scale)));
            }
        });
        launch_dependents();
    }

    fn command(&self) -> Option<String> {
        // The command line gives both tensors one dtype.
        let alike = self.input == self.output;
        alike.then(|| format!("warpsmith run softmax --random {{x}} --dtype {} --device emulated", self.input))
    }
}
