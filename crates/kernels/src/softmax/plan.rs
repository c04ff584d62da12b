//! Which kernel takes which arguments.

use super::Softmax;
use crate::rows::{RowPlan, check, vector};
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::Plans;

impl Softmax {
    pub(super) fn plan(x: &TensorArg, y: &TensorArg) -> Result<Softmax, ArgumentError> {
        let dim = check(&[("x", x), ("y", y)])?;
        Ok(Softmax { input: x.dtype, output: y.dtype, dim, rows: RowPlan::new(dim, vector(&[x, y]))? })
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
