//! Operators whose plans are measured.

use super::kernels::Kernels;
use super::{Bound, LaunchError};
use crate::bench::{Settings, measure};
use crate::device::Device;
use crate::error::Error;
use crate::prepare::side_by_side;
use crate::tuning::{self, Contest, Decision, Measure, Measured, Provenance, Record, Store, Tuned, contest};
use std::fmt::Write;
use std::hash::Hash;
use std::time::Duration;
use warpsmith_dsl::{Arguments, Kernel, Launch, Params, Tracing};

/// A kernel that can be had with other plans.
pub trait Plans: Kernel + Sized {
    /// The same kernel with each plan that may be the fastest, this one's first.
    fn plans(&self) -> Vec<Self>;

    /// This one's plan, in words.
    fn plan(&self) -> String;
}

/// Repetitions of a measurement.
const SETTINGS: Settings = Settings { warm_up: 3, repetitions: 15, cold: true, graph: true };

impl<K: Plans + Clone + Eq + Hash> Kernels<K> {
    /// An operator that has plans to choose from.
    pub const fn with_plans() -> Kernels<K> {
        Kernels::choosing(Some(stored::<K>))
    }

    /// Finds the fastest plan for calls like this one, and takes it for them in this process from here on. What was measured
    /// before for the same kernels, card and driver is not measured again. `model` is the kernel that the operator takes by
    /// itself; on an emulated device it stays.
    ///
    /// The kernels run on the arguments as they are, many times, with a cold cache.
    ///
    /// # Errors
    /// As [`Jit::bind`](super::Jit::bind), or when the device breaks.
    pub fn tune(
        &self,
        model: K,
        args: &<K::Args as Params>::Host<'_>,
        size: u32,
        device: &Device,
    ) -> Result<Tuned<K>, LaunchError> {
        let plans = model.plans();
        if device.is_emulated() || plans.len() < 2 {
            return Ok(Tuned { kernel: model, by: Decision::Model, record: None });
        }
        let arguments = Arguments::of::<K::Args>(args);
        let provenance = provenance(&plans, |k| k.launch(args), &arguments, size, device);
        let found = Store::process().and_then(|s| s.find(&provenance));
        let (record, by) = match found.filter(|r| r.winner < plans.len()) {
            Some(record) => (record, Decision::Stored),
            None => {
                let launches: Vec<(&K, Launch)> = plans.iter().map(|p| (p, p.launch(args))).collect();
                let bound = side_by_side(&launches, |(plan, launch)| {
                    self.kernel((*plan).clone()).form(&arguments, launch, device).map(|_| ())
                });
                let mut contestants = Contestants { device, bound: vec![] };
                for (plan, compiled) in plans.iter().zip(bound) {
                    // A plan that the assembler refuses does not compete; wrong arguments are the caller's.
                    let bound = match compiled {
                        Ok(()) => Some(self.bind(plan.clone(), args, device)?),
                        Err(LaunchError::Device(Error::Compile { .. })) => None,
                        Err(e) => return Err(e),
                    };
                    contestants.bound.push(bound);
                }
                let Some(contest) = contest(plans.len(), &mut contestants)? else {
                    return Ok(Tuned { kernel: model, by: Decision::Model, record: None });
                };
                let record = record(provenance, &plans, contest);
                if let Some(store) = Store::process() {
                    store.keep(&record);
                }
                (record, Decision::Measured)
            }
        };
        let kernel = plans[record.winner].clone();
        self.prefer(&arguments, size, device, (model, kernel.clone()));
        Ok(Tuned { kernel, by, record: Some(record) })
    }
}

/// The stored winner among a kernel's plans, for calls when the environment asks for it.
fn stored<K: Plans + Clone>(
    model: &K,
    arguments: &Arguments,
    launch: &dyn Fn(&K) -> Launch,
    size: u32,
    device: &Device,
) -> Option<K> {
    if device.is_emulated() || !tuning::is_on() {
        return None;
    }
    let plans = model.plans();
    let record = Store::process()?.find(&provenance(&plans, launch, arguments, size, device))?;
    plans.get(record.winner).cloned()
}

/// What a measurement of these plans holds for.
fn provenance<K: Plans>(
    plans: &[K],
    launch: impl Fn(&K) -> Launch,
    arguments: &Arguments,
    size: u32,
    device: &Device,
) -> Provenance {
    let mut texts = blake3::Hasher::new();
    for plan in plans {
        let options = Tracing { target: device.chip().target, ..Tracing::default() };
        // A plan that does not compile counts by that.
        let text = match warpsmith_dsl::compile_with(plan, arguments, &launch(plan), options) {
            Ok(compiled) => compiled.module.to_string(),
            Err(e) => e.to_string(),
        };
        for line in crate::cache::without_lines(&text) {
            texts.update(line.as_bytes());
        }
        texts.update(&[0]);
    }
    let info = device.info();
    let mut card = info.name.clone();
    // Writing to a string does not fail.
    let _ = write!(card, ", {} multiprocessors", info.chip.multiprocessors);
    if let Some(memory) = info.memory {
        let _ = write!(card, ", {} MiB", memory >> 20);
    }
    let kernel = plans.first().map_or(String::new(), Kernel::name);
    Provenance { kernel, size, texts: texts.finalize().to_hex().to_string(), card, driver: device.assembler() }
}

fn record<K: Plans>(provenance: Provenance, plans: &[K], contest: Contest) -> Record {
    let candidates = plans.iter().enumerate().map(|(i, plan)| {
        let again = contest.again.iter().find(|(c, _)| *c == i).map(|(_, t)| *t);
        Measured { plan: plan.plan(), first: contest.first[i], again }
    });
    Record { provenance, date: tuning::today(), winner: contest.winner, candidates: candidates.collect() }
}

/// The plans, ready to run.
struct Contestants<'d> {
    device: &'d Device,
    bound: Vec<Option<Bound>>,
}

impl Measure for Contestants<'_> {
    type Error = LaunchError;

    fn measure(&mut self, candidate: usize) -> Result<Option<Duration>, LaunchError> {
        let Some(bound) = self.bound.get(candidate).and_then(Option::as_ref) else { return Ok(None) };
        let timing = measure(self.device, &SETTINGS, |stream| match bound.launch(stream) {
            Ok(_) => Ok(()),
            Err(LaunchError::Device(e)) => Err(e),
            // A launch whose shape no device takes: the numbers themselves do not fit.
            Err(LaunchError::Compile(e)) => Err(Error::Ptx { entry: String::new(), message: e.to_string() }),
        });
        match timing {
            Ok(timing) => Ok(Some(timing.median())),
            Err(Error::Launch { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}
