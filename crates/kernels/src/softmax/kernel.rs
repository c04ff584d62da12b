//! The body.

use crate::rows::RowPlan;
use warpsmith_dsl::prelude::*;

/// Softmax of rows of one length, each read once and kept in registers.
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
        Launch::grid(a.x.dim(0).div_ceil(self.rows.rows())).block(self.rows.threads())
    }

    fn body(&self, a: SoftmaxParams) {
        let p = &self.rows;
        let mine = |t: &Tensor| t.tile(p.tile(), (block_idx().x, 0)).partition(&p.tv, thread_idx().x);

        wait_for_upstream();
        let x = mine(&a.x).load_or(f32::NEG_INFINITY).f32(); // what lies past the row weighs nothing
        let max = row_reduce(x.max(), Max, &p.group);
        let e = (x - max).exp();
        let sum = row_reduce(e.sum(), Sum, &p.group);
        mine(&a.y).store((e * sum.rcp()).to(self.output));
        launch_dependents();
    }

    fn command(&self) -> Option<String> {
        // The command line gives both tensors one dtype.
        let alike = self.input == self.output;
        alike.then(|| format!("warpsmith run softmax --random {{x}} --dtype {} --device emulated", self.input))
    }
}
