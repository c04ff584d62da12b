//! The body.

use crate::rows::{Leaving, RowPlan, Rows, Sum1, launch};
use warpsmith_dsl::prelude::*;

/// RMS normalisation of rows of one length.
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
    #[tensor(dim = fixed, constant)]
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
        launch(&self.rows, [a.x.dim(0), 1], &[a.weight])
    }

    fn body(&self, a: RmsNormParams) {
        let rows = Rows::new(&self.rows, &[&a.x], 1, Leaving::Last);
        wait_for_upstream();
        let kept = rows.keep(|c| a.weight.as_ref().map(|w| c.load_vector(w)));
        rows.run(|walk| {
            let x = walk.hold(|c| c.input(0, 0.0));
            // Early, so that both loads are under way at once; but the largest blocks have no registers to hold it meanwhile.
            let early = self.rows.ring.is_none() && self.rows.holds && self.rows.threads() <= 512;
            let early = early.then(|| kept(walk.held()));
            let mean_square = walk.reduce::<Sum1>(0, |c| x(c).square().sum()) / self.dim as f32;
            let scale = (mean_square + a.eps).rsqrt();
            walk.each(|c| {
                let y = x(c) * scale;
                let weight = early.unwrap_or_else(|| kept(c));
                // A Rust `match`: decided when the kernel is traced.
                c.store(&a.y, weight.map_or(y, |weight| y * weight));
            });
        });
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
