//! Which kernel takes which arguments.

use super::Softmax;
use crate::gate::{Candidate, Implementation, Operator, Refusal, candidates};
use crate::rows::{check, in_registers};
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// The operator: `x` and `y`, (rows, dim) of one shape.
struct Ways;

impl Operator for Ways {
    type Arguments<'a> = [&'a TensorArg; 2];
    type Plan = Softmax;
    const GENERAL: Implementation<Ways> = Implementation {
        name: "registers",
        what: "a block reads its rows once and holds them in registers",
        supports: |[x, y], _| Softmax::in_registers(x, y),
    };
}

impl Softmax {
    pub(super) fn plan(x: &TensorArg, y: &TensorArg) -> Result<Softmax, ArgumentError> {
        check(&[("x", x), ("y", y)])?;
        Ok(Softmax::in_registers(x, y)?)
    }

    pub(super) fn candidates(
        x: &TensorArg,
        y: &TensorArg,
        chip: &Chip,
    ) -> Result<Vec<Candidate<Softmax>>, ArgumentError> {
        check(&[("x", x), ("y", y)])?;
        Ok(candidates::<Ways>(&[x, y], chip))
    }

    fn in_registers(x: &TensorArg, y: &TensorArg) -> Result<Softmax, Refusal> {
        Ok(Softmax { input: x.dtype, output: y.dtype, dim: x.dim(1), rows: in_registers(x, y)? })
    }
}

impl Plans for Softmax {
    fn plans(&self) -> Vec<Softmax> {
        self.rows.others(self.dim).map(|rows| Softmax { rows, ..self.clone() }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}
