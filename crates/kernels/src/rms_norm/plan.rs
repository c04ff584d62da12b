//! Which kernel takes which arguments.

use super::RmsNorm;
use crate::gate::{Candidate, Implementation, Operator, Refusal, candidates};
use crate::rows::{check, check_vector, in_registers};
use warpsmith_dsl::{ArgumentError, TensorArg};
use warpsmith_runtime::Plans;
use warpsmith_types::Chip;

/// What a kernel is chosen by.
struct Call<'a> {
    x: &'a TensorArg,
    weight: Option<&'a TensorArg>,
    y: &'a TensorArg,
}

/// The operator.
struct Ways;

impl Operator for Ways {
    type Arguments<'a> = Call<'a>;
    type Plan = RmsNorm;
    const GENERAL: Implementation<Ways> = Implementation {
        name: "registers",
        what: "a block reads its rows once and holds them in registers",
        supports: |call, _| call.in_registers(),
    };
}

impl Call<'_> {
    fn check(&self, eps: f32) -> Result<(), ArgumentError> {
        let dim = check(&[("x", self.x), ("y", self.y)])?;
        if let Some(w) = self.weight {
            check_vector("weight", w, dim)?;
        }
        check_eps(eps)
    }

    fn in_registers(&self) -> Result<RmsNorm, Refusal> {
        let Call { x, weight, y } = self;
        // The weight is read once for each row, from cache: it narrows an access only when it is misaligned itself.
        let rows = in_registers(x, y)?;
        Ok(RmsNorm { input: x.dtype, output: y.dtype, weight: weight.map(|w| w.dtype), dim: x.dim(1), rows })
    }
}

impl RmsNorm {
    pub(super) fn plan(
        x: &TensorArg,
        weight: Option<&TensorArg>,
        y: &TensorArg,
        eps: f32,
    ) -> Result<RmsNorm, ArgumentError> {
        let call = Call { x, weight, y };
        call.check(eps)?;
        Ok(call.in_registers()?)
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
        Ok(candidates::<Ways>(&call, chip))
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
