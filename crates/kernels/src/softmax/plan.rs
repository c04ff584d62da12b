//! Which kernel takes which arguments.

use super::Softmax;
use crate::rows::{RowPlan, check, vector};
use warpsmith_dsl::{ArgumentError, TensorArg};

impl Softmax {
    pub(super) fn plan(x: &TensorArg, y: &TensorArg) -> Result<Softmax, ArgumentError> {
        let dim = check(&[("x", x), ("y", y)])?;
        Ok(Softmax { input: x.dtype, output: y.dtype, dim, rows: RowPlan::new(dim, vector(&[x, y]))? })
    }
}
