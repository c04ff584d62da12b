//! Which kernel takes which arguments.

use super::RmsNorm;
use crate::gate::{Candidate, candidates, choose};
use crate::norm;
use crate::rows::{RowPlan, check, check_vector};
use warpsmith_dsl::{ArgumentError, DType, TensorArg};
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// What a kernel is chosen by.
struct Call<'a> {
    x: &'a TensorArg,
    weight: Option<&'a TensorArg>,
    y: &'a TensorArg,
}

impl Call<'_> {
    fn check(&self, eps: f32) -> Result<(), ArgumentError> {
        let dim = check(&[("x", self.x), ("y", self.y)])?;
        if let Some(w) = self.weight {
            check_vector("weight", w, dim)?;
        }
        check_eps(eps)
    }

    /// As a normalisation among others. The weight is read once for each row, from cache: it narrows an access only when it
    /// is misaligned itself.
    fn general(&self) -> norm::Call<'_> {
        norm::Call {
            rows: vec![self.x, self.y],
            inputs: 1,
            weight: self.weight.is_some(),
            plain: true,
            light: self.weight.is_none_or(|w| w.dtype == DType::F32),
            vectors: self.weight.map_or(0, |w| w.dtype.bytes()),
        }
    }

    fn by(&self, rows: RowPlan) -> RmsNorm {
        let Call { x, weight, y } = self;
        RmsNorm { input: x.dtype, output: y.dtype, weight: weight.map(|w| w.dtype), dim: x.dim(1), rows }
    }
}

impl RmsNorm {
    pub(super) fn plan(
        x: &TensorArg,
        weight: Option<&TensorArg>,
        y: &TensorArg,
        eps: f32,
        chip: &Chip,
    ) -> Result<RmsNorm, ArgumentError> {
        let call = Call { x, weight, y };
        call.check(eps)?;
        Ok(call.by(choose::<norm::Ways>(&call.general(), chip)?))
    }

    pub(super) fn candidates(
        x: &TensorArg,
        weight: Option<&TensorArg>,
        y: &TensorArg,
        eps: f32,
        chip: &Chip,
    ) -> Result<Vec<Candidate<RmsNorm>>, ArgumentError> {
        let call = Call { x, weight, y };
        call.check(eps)?;
        let all = candidates::<norm::Ways>(&call.general(), chip).into_iter();
        Ok(all
            .map(|c| Candidate { name: c.name, what: c.what, verdict: c.verdict.map(|rows| call.by(rows)) })
            .collect())
    }
}

/// What no signature says of `eps`.
pub(crate) fn check_eps(eps: f32) -> Result<(), ArgumentError> {
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
