//! Which kernel takes which arguments.

use super::RmsNorm;
use crate::gate::{Candidate, Implementation, Operator, Refusal, candidates, choose};
use crate::rows::{Form, Room, check, check_vector, form};
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
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |call, chip| call.by(Form::Block, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |call, chip| call.by(Form::Cluster, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read twice: for the sum, and for the output",
        supports: |call, chip| call.by(Form::Streamed, chip),
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

    fn by(&self, way: Form, chip: &Chip) -> Result<RmsNorm, Refusal> {
        let Call { x, weight, y } = self;
        // The weight is read once for each row, from cache: it narrows an access only when it is misaligned itself.
        let rows = form(way, &[x, y], Room { tensors: 1, threads: 1024 }, chip)?;
        Ok(RmsNorm { input: x.dtype, output: y.dtype, weight: weight.map(|w| w.dtype), dim: x.dim(1), rows })
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
        Ok(choose::<Ways>(&call, chip)?)
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
