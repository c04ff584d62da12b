//! Which kernel takes which arguments.

use super::RmsNorm;
use crate::rows::{RowPlan, check, check_vector, vector};
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::Plans;

impl RmsNorm {
    pub(super) fn plan(
        x: &TensorArg,
        weight: Option<&TensorArg>,
        y: &TensorArg,
        eps: f32,
    ) -> Result<RmsNorm, ArgumentError> {
        let dim = check(&[("x", x), ("y", y)])?;
        if let Some(w) = weight {
            check_vector("weight", w, dim)?;
        }
        check_eps(eps)?;
        // The weight is read once for each row, from cache: it narrows an access only when it is misaligned itself.
        let rows = RowPlan::new(dim, vector(&[x, y]))?;
        Ok(RmsNorm { input: x.dtype, output: y.dtype, weight: weight.map(|w| w.dtype), dim, rows })
    }
}

/// What no signature says of `eps`.
pub(super) fn check_eps(eps: f32) -> Result<(), ArgumentError> {
    if eps >= 0.0 {
        return Ok(());
    }
    let expected = "a number of at least 0".into();
    Err(ArgumentError::Unexpected { name: "eps", expected, got: eps.to_string() })
}

impl Plans for RmsNorm {
    fn plans(&self) -> Vec<RmsNorm> {
        self.rows.others(self.dim).map(|rows| RmsNorm { rows, ..self.clone() }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}
