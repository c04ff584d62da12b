//! What RMS and layer normalisation share: arguments, kernels, plans. They differ by whether the mean is taken off.

mod backward;
mod columns;
mod forward;
mod plan;
mod view;

pub use backward::{
    Backward, NormBackward, NormBackwardArgs, NormBackwardParams, backward_candidates, bind_backward, tune_backward,
    workspace,
};
pub use columns::{
    ColumnSum, ColumnSumArgs, ColumnSumParams, WeightGradient, WeightGradientArgs, WeightGradientParams,
};
pub use forward::{Forward, Norm, NormArgs, NormParams, bind, bind_plan, candidates, plan_on, tune};

pub(crate) use backward::backward;
pub(crate) use forward::forward;
pub(crate) use plan::{Call, Ways};

/// Which normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// By the root of the mean square.
    Rms,
    /// By mean and variance.
    Layer,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Rms => "rms_norm",
            Kind::Layer => "layer_norm",
        }
    }
}
