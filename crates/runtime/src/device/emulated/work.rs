//! What is queued on an emulated chip, and doing it.

use super::super::function::LaunchOutcome;
use crate::error::Error;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpsmith_emulator::{DevicePointer, Launch, Manifest, Options, Program, System};
use warpsmith_types::Chip;

/// A chip with its memory, and what is being written down for graphs.
pub(super) struct Machine {
    pub(super) chip: Chip,
    system: Mutex<System>,
    options: Options,
    /// By stream.
    captures: Mutex<FxHashMap<u64, Vec<Work>>>,
}

/// A piece of work on a stream.
pub(super) enum Work {
    Copy { to: u64, from: u64, bytes: usize },
    Fill { address: u64, byte: u8, bytes: usize },
    Poison { address: u64, bytes: usize },
    Launch { program: Arc<Program>, launch: Launch, manifest: Option<Manifest> },
}

impl Machine {
    pub(super) fn new(chip: Chip, options: Options) -> Machine {
        Machine { chip, system: Mutex::new(System::new(chip)), options, captures: Mutex::default() }
    }

    pub(super) fn system(&self) -> MutexGuard<'_, System> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn captures(&self) -> MutexGuard<'_, FxHashMap<u64, Vec<Work>>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work on the stream is written down from here on.
    pub(super) fn capture(&self, stream: u64) {
        self.captures().insert(stream, vec![]);
    }

    /// Ends that, and gives what was written down.
    pub(super) fn captured(&self, stream: u64) -> Vec<Work> {
        self.captures().remove(&stream).unwrap_or_default()
    }

    /// Does the work, or writes it down when the stream is captured.
    pub(super) fn queue(&self, stream: u64, work: Work) -> Result<LaunchOutcome, Error> {
        if let Some(captured) = self.captures().get_mut(&stream) {
            captured.push(work);
            return Ok(LaunchOutcome::default());
        }
        self.run(&work)
    }

    /// Does the work.
    pub(super) fn run(&self, work: &Work) -> Result<LaunchOutcome, Error> {
        let mut system = self.system();
        match work {
            Work::Copy { to, from, bytes } => {
                // What is copied counts as written, whether it was or not.
                let mut data = vec![0; *bytes];
                system.read(DevicePointer(*from), &mut data)?;
                system.write(DevicePointer(*to), &data)?;
            }
            Work::Fill { address, byte, bytes } => system.write(DevicePointer(*address), &vec![*byte; *bytes])?,
            Work::Poison { address, bytes } => system.poison(DevicePointer(*address), *bytes)?,
            Work::Launch { program, launch, manifest } => {
                let outcome = system.launch(program, launch, manifest.as_ref(), &self.options)?;
                return Ok(LaunchOutcome {
                    instructions: Some(outcome.instructions),
                    findings: outcome.findings.iter().map(|f| f.diagnostic()).collect(),
                    printed: outcome.printed,
                });
            }
        }
        Ok(LaunchOutcome::default())
    }
}
