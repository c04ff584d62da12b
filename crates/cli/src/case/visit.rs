//! What is done with the kernels of a case: they are all compiled, or the one that a call takes is bound.

use super::{Made, Way};
use warpsmith::dsl::{ArgumentError, Arguments, Kernel, Params, compile};
use warpsmith::kernels::cross_entropy::{CrossEntropy, CrossEntropyBackward};
use warpsmith::kernels::gate::{Candidate, Refusal};
use warpsmith::kernels::gemm::Gemm;
use warpsmith::kernels::norm::{Norm, NormBackward};
use warpsmith::kernels::rms_norm::RmsNorm;
use warpsmith::kernels::rows::RowPlan;
use warpsmith::kernels::softmax::{Softmax, SoftmaxBackward};
use warpsmith::runtime::{Bound, Device, Jit, LaunchError};
use warpsmith_types::Chip;

/// A kernel whose plan can be said, and chosen where it is one for rows.
pub(crate) trait Planned: Kernel {
    /// Its plan in words.
    fn words(&self) -> String;
    /// Its plan for rows.
    fn rows(&mut self) -> Option<&mut RowPlan>;

    /// The same with so many threads to a row.
    fn with_threads(mut self, threads: Option<usize>) -> Result<Self, ArgumentError>
    where
        Self: Sized,
    {
        if let (Some(threads), Some(rows)) = (threads, self.rows()) {
            let chosen = RowPlan::with_threads(rows.dim, rows.tv.vector(), threads)?;
            *rows = RowPlan { tensors: rows.tensors, ..chosen };
        }
        Ok(self)
    }
}

macro_rules! over_rows {
    ($($kernel:ty),*) => {$(
        impl Planned for $kernel {
            fn words(&self) -> String {
                self.rows.to_string()
            }
            fn rows(&mut self) -> Option<&mut RowPlan> {
                Some(&mut self.rows)
            }
        }
    )*};
}

over_rows!(Softmax, SoftmaxBackward, RmsNorm, Norm, NormBackward, CrossEntropy, CrossEntropyBackward);

impl Planned for Gemm {
    fn words(&self) -> String {
        self.plan.to_string()
    }
    fn rows(&mut self) -> Option<&mut RowPlan> {
        None
    }
}

/// Is shown the implementations of a case, the most specialised first.
pub(crate) trait Visitor {
    /// What it makes of them.
    type Out;
    /// Makes it, for these arguments.
    fn visit<K: Planned>(
        &self,
        candidates: Vec<Candidate<K>>,
        host: &<K::Args as Params>::Host<'_>,
    ) -> Result<Self::Out, LaunchError>;
}

/// Compiles those that take it.
pub(super) struct Ways<'a> {
    pub(super) threads: Option<usize>,
    pub(super) chip: &'a Chip,
}

impl Visitor for Ways<'_> {
    type Out = Vec<Way>;

    fn visit<K: Planned>(
        &self,
        candidates: Vec<Candidate<K>>,
        host: &<K::Args as Params>::Host<'_>,
    ) -> Result<Vec<Way>, LaunchError> {
        let make = |kernel: K| -> Result<Made, LaunchError> {
            let kernel = kernel.with_threads(self.threads)?;
            let (launch, arguments) = (kernel.launch(host), Arguments::of::<K::Args>(host));
            let compiled = compile(&kernel, &arguments, &launch, self.chip.target)?;
            Ok(Made { plan: kernel.words(), launch, compiled, arguments })
        };
        let way = |c: Candidate<K>| {
            let verdict = match c.verdict {
                Ok(kernel) => Ok(make(kernel)?),
                Err(refusal) => Err(refusal),
            };
            Ok(Way { name: c.name, what: c.what, verdict })
        };
        candidates.into_iter().map(way).collect()
    }
}

/// Binds the first that takes it.
pub(super) struct Bind<'a> {
    pub(super) threads: Option<usize>,
    pub(super) device: &'a Device,
}

impl Visitor for Bind<'_> {
    type Out = (Bound, String);

    fn visit<K: Planned>(
        &self,
        candidates: Vec<Candidate<K>>,
        host: &<K::Args as Params>::Host<'_>,
    ) -> Result<(Bound, String), LaunchError> {
        let mut last: Option<Refusal> = None;
        for candidate in candidates {
            match candidate.verdict {
                Ok(kernel) => {
                    let kernel = kernel.with_threads(self.threads)?;
                    let plan = kernel.words();
                    return Ok((Jit::new(kernel).bind(host, self.device)?, plan));
                }
                Err(refusal) => last = Some(refusal),
            }
        }
        Err(refused(last).into())
    }
}

/// The implementation that a call takes; where none does, the reason of the most general one.
pub(crate) fn taken(ways: Vec<Way>) -> Result<Made, LaunchError> {
    let mut last: Option<Refusal> = None;
    for way in ways {
        match way.verdict {
            Ok(made) => return Ok(made),
            Err(refusal) => last = Some(refusal),
        }
    }
    Err(refused(last).into())
}

fn refused(last: Option<Refusal>) -> ArgumentError {
    let none =
        || ArgumentError::Unexpected { name: "operator", expected: "an implementation".into(), got: "none".into() };
    last.map_or_else(none, ArgumentError::from)
}
