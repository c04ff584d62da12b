//! What is done with the kernels of a call: they are launched, bound, tuned, or asked for ahead. A call of several kernels,
//! as gradients are, says once which.

use std::hash::Hash;
use warpsmith_dsl::{ArgumentError, Params};
use warpsmith_runtime::tuning::{Decision, Record};
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Plans, Request, Stream};
use warpsmith_types::Chip;

/// Plans do not depend on how many rows a call has, tuned or not: a row gives the same bits in any batch.
pub(crate) const ALL_SIZES: u32 = 0;

/// One of these.
pub(crate) trait Act {
    /// What comes of it.
    type Done;

    /// The chip that plans are for.
    fn chip(&self) -> &Chip;

    /// Does it with the kernel that `choose` gives for these arguments.
    fn act<K: Plans + Clone + Eq + Hash>(
        &self,
        kernels: &'static Kernels<K>,
        args: &<K::Args as Params>::Host<'_>,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<Self::Done, LaunchError>;
}

/// Launched, by the plan that tuning found where it did.
impl Act for Stream {
    type Done = LaunchOutcome;

    fn chip(&self) -> &Chip {
        self.device().chip()
    }

    fn act<K: Plans + Clone + Eq + Hash>(
        &self,
        kernels: &'static Kernels<K>,
        args: &<K::Args as Params>::Host<'_>,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<LaunchOutcome, LaunchError> {
        kernels.launch(args, ALL_SIZES, self, choose)
    }
}

/// Bound.
impl Act for Device {
    type Done = Bound;

    fn chip(&self) -> &Chip {
        Device::chip(self)
    }

    fn act<K: Plans + Clone + Eq + Hash>(
        &self,
        kernels: &'static Kernels<K>,
        args: &<K::Args as Params>::Host<'_>,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<Bound, LaunchError> {
        kernels.bind(choose()?, args, self)
    }
}

/// Asked for.
impl Act for Chip {
    type Done = Request<'static>;

    fn chip(&self) -> &Chip {
        self
    }

    fn act<K: Plans + Clone + Eq + Hash>(
        &self,
        kernels: &'static Kernels<K>,
        args: &<K::Args as Params>::Host<'_>,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<Request<'static>, LaunchError> {
        Ok(kernels.request(choose()?, args, ALL_SIZES))
    }
}

/// Measured on a device.
pub(crate) struct Tuner<'d>(pub(crate) &'d Device);

/// The plan that calls take from here on for one of their kernels.
#[derive(Clone, Debug)]
pub struct TunedPlan {
    /// The kernel's name.
    pub kernel: String,
    /// The plan in words.
    pub plan: String,
    /// Who decided.
    pub by: Decision,
    /// What was measured.
    pub record: Option<Record>,
}

impl Act for Tuner<'_> {
    type Done = TunedPlan;

    fn chip(&self) -> &Chip {
        self.0.chip()
    }

    fn act<K: Plans + Clone + Eq + Hash>(
        &self,
        kernels: &'static Kernels<K>,
        args: &<K::Args as Params>::Host<'_>,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<TunedPlan, LaunchError> {
        let tuned = kernels.tune(choose()?, args, ALL_SIZES, self.0)?;
        let (kernel, plan) = (tuned.kernel.name(), tuned.kernel.plan());
        Ok(TunedPlan { kernel, plan, by: tuned.by, record: tuned.record })
    }
}
