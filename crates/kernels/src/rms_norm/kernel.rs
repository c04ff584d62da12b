//! The body.

use crate::rows::RowPlan;
use warpsmith_dsl::prelude::*;

/// RMS normalisation of rows of one length, each read once and kept in registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RmsNorm {
    /// The dtype of `x`.
    pub input: DType,
    /// The dtype of `y`.
    pub output: DType,
    /// The dtype of `weight`, where there is one.
    pub weight: Option<DType>,
    /// The length of a row.
    pub dim: usize,
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// `x` and `y`, (rows, dim); `weight`, (dim).
#[derive(KernelArgs)]
pub struct RmsNormArgs<'a> {
    /// The input.
    #[tensor(rows, dim = fixed)]
    pub x: &'a TensorArg,
    /// Scales each column.
    #[tensor(dim = fixed)]
    pub weight: Option<&'a TensorArg>,
    /// The output.
    #[tensor(rows, dim = fixed)]
    pub y: &'a mut TensorArg,
    /// Added to the mean square.
    pub eps: f32,
}

impl Kernel for RmsNorm {
    type Args = RmsNormParams;

    fn name(&self) -> String {
        let RmsNorm { input, output, weight, dim, .. } = self;
        let weight = weight.map_or("none", DType::name);
        format!("rms_norm_{input}_{weight}_{output}_{dim}")
    }

    fn launch(&self, a: &RmsNormArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0).div_ceil(self.rows.rows())).block(self.rows.threads())
    }

    fn body(&self, a: RmsNormParams) {
        let p = &self.rows;
        let mine = |t: &Tensor| t.tile(p.tile(), (block_idx().x, 0)).partition(&p.tv, thread_idx().x);

        let weight = || a.weight.as_ref().map(|w| mine(&w.broadcast(p.rows())).load_or(0.0).f32());

        wait_for_upstream();
        let x = mine(&a.x).load_or(0.0).f32();
        // Early, so that both loads are under way at once; but the largest blocks have no registers to hold it meanwhile.
        let early = if p.threads() <= 512 { weight() } else { None };
        let mean_square = row_reduce(x.square().sum(), Sum, &p.group) / self.dim as f32;
        let mut y = x * (mean_square + a.eps).rsqrt();
        if let Some(weight) = early.or_else(weight) {
            y = y * weight; // a Rust `if let`: decided when the kernel is traced
        }
        mine(&a.y).store(y.to(self.output));
        launch_dependents();
    }

    fn command(&self) -> Option<String> {
        // The command line gives all tensors one dtype, and always a weight.
        let alike = self.input == self.output && self.weight == Some(self.input);
        alike.then(|| {
            format!("warpsmith run rms_norm --random {{x}} --dtype {} --eps {{eps}} --device emulated", self.input)
        })
    }
}
