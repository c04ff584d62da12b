//! Launches that can be repeated: on a fresh device, of a kernel's own PTX or of an edited one.

use crate::weaker::Place;
use std::fmt::Display;
use warpsmith_emulator::{Options, Schedule};
use warpsmith_ptx::Module;
use warpsmith_runtime::{Bound, Device, LaunchOutcome, Tensor};
use warpsmith_types::Chip;

/// Runs it on a device, with its own PTX or another.
type Run = dyn Fn(&Device, Option<&str>) -> Ran + Send + Sync;

/// A launch of one kernel on data that are always the same.
pub struct Subject {
    pub name: String,
    launch: Box<Run>,
}

/// What came of a launch.
pub struct Ran {
    /// The kernel as it was compiled.
    pub module: Module,
    /// What of its launch matters.
    pub place: Place,
    pub outcome: LaunchOutcome,
    /// All bytes of its outputs.
    pub result: Vec<u8>,
}

impl Subject {
    /// `launch` makes the tensors on a device, binds the kernel, and has [`Ran::of`] launch it.
    pub fn new(
        name: impl Into<String>,
        launch: impl Fn(&Device, Option<&str>) -> Ran + Send + Sync + 'static,
    ) -> Subject {
        Subject { name: name.into(), launch: Box::new(launch) }
    }

    /// Runs it on a chip of its own; the text stands for the kernel's PTX where there is one.
    pub fn run(&self, options: Options, ptx: Option<&str>) -> Ran {
        (self.launch)(&Device::emulated_with(Chip::H200, options), ptx)
    }
}

impl Ran {
    /// Launches what is bound, or the text in its place; `outputs` are read afterwards.
    pub fn of(bound: &Bound, device: &Device, ptx: Option<&str>, outputs: &[&Tensor]) -> Ran {
        Ran::after(&[], bound, device, ptx, outputs)
    }

    /// The same behind other launches on a stream, so that one may start before they are over.
    pub fn after(before: &[&Bound], bound: &Bound, device: &Device, ptx: Option<&str>, outputs: &[&Tensor]) -> Ran {
        let module = bound.loaded().unwrap().compiled.module.clone();
        let shape = bound.shape();
        let place = Place {
            clustered: shape.cluster.is_some_and(|c| c.iter().product::<usize>() > 1),
            warps: shape.block.iter().product::<usize>() > 32,
            programmatic: shape.pdl,
        };
        let edited = ptx.map(|text| bound.with_ptx(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
        let stream = device.create_stream().unwrap();
        for bound in before.iter().copied().chain([edited.as_ref().unwrap_or(bound)]) {
            bound.launch(&stream).unwrap();
        }
        let outcome = stream.synchronize().unwrap();
        let result = outputs.iter().flat_map(|t| t.to_bytes().unwrap()).collect();
        Ran { module, place, outcome, result }
    }
}

/// Who runs when, and a seed.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub schedule: Schedule,
    pub seed: u64,
    pub lanes_apart: bool,
}

impl Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Order { schedule, seed, lanes_apart } = self;
        write!(f, "{schedule:?}, seed {seed}{}", if *lanes_apart { ", lanes apart" } else { "" })
    }
}

impl Order {
    /// Every kind of schedule with a seed.
    pub fn all(seed: u64) -> Vec<Order> {
        let kinds = [Schedule::Seeded, Schedule::RoundRobin, Schedule::SlowWarp, Schedule::SlowBlock];
        let order = |schedule| [false, true].map(|lanes_apart| Order { schedule, seed, lanes_apart });
        kinds.into_iter().flat_map(order).collect()
    }

    /// As options, every check on.
    pub fn options(self, budget: Option<u64>) -> Options {
        let Order { schedule, seed, lanes_apart } = self;
        Options { schedule, seed, lanes_apart, budget, threads: 1, ..Options::default() }
    }
}
