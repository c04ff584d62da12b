//! An emulated chip. Work is done when it is queued: its streams are names, its events times.

use super::backend::{Backend, EventHandle, GraphHandle, Kernel, Loaded, StreamHandle};
use super::function::{LaunchOutcome, Ptx};
use super::report::CompileReport;
use super::shape::{KernelLimits, LaunchShape, ptx_runs_on};
use crate::error::Error;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use warpsmith_emulator::{DevicePointer, Launch, Manifest, Options, Program, System};
use warpsmith_types::Chip;

/// A chip of its own, with the options of every launch on it.
pub(super) struct Emulated {
    machine: Arc<Machine>,
    events: Mutex<FxHashMap<u64, Instant>>,
    handles: AtomicU64,
}

struct Machine {
    chip: Chip,
    system: Mutex<System>,
    options: Options,
}

impl Machine {
    fn system(&self) -> MutexGuard<'_, System> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Emulated {
    pub(super) fn new(chip: Chip, options: Options) -> Emulated {
        let machine = Machine { chip, system: Mutex::new(System::new(chip)), options };
        Emulated { machine: Arc::new(machine), events: Mutex::default(), handles: AtomicU64::new(1) }
    }

    fn events(&self) -> MutexGuard<'_, FxHashMap<u64, Instant>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn no_graphs<T>(&self) -> Result<T, Error> {
        Err(Error::Unsupported { device: format!("emulated {}", self.machine.chip.name), what: "graphs" })
    }
}

impl Backend for Emulated {
    fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error> {
        Ok(self.machine.system().allocate(bytes, name)?.0)
    }

    fn free(&self, address: u64) {
        // The owner frees once, so there is nothing to report.
        let _ = self.machine.system().free(DevicePointer(address));
    }

    fn upload(&self, address: u64, bytes: &[u8], _stream: StreamHandle) -> Result<(), Error> {
        Ok(self.machine.system().write(DevicePointer(address), bytes)?)
    }

    fn download(&self, address: u64, bytes: &mut [u8], _stream: StreamHandle) -> Result<(), Error> {
        Ok(self.machine.system().read(DevicePointer(address), bytes)?)
    }

    fn copy(&self, to: u64, from: u64, bytes: usize, _stream: StreamHandle) -> Result<(), Error> {
        let mut system = self.machine.system();
        let mut data = vec![0; bytes];
        system.read(DevicePointer(from), &mut data)?;
        Ok(system.write(DevicePointer(to), &data)?)
    }

    fn fill(&self, address: u64, byte: u8, bytes: usize, _stream: StreamHandle) -> Result<(), Error> {
        Ok(self.machine.system().write(DevicePointer(address), &vec![byte; bytes])?)
    }

    fn poison(&self, address: u64, bytes: usize, _stream: StreamHandle) -> Result<(), Error> {
        Ok(self.machine.system().poison(DevicePointer(address), bytes)?)
    }

    fn is_initialized(&self, address: u64, bytes: usize) -> Result<Option<bool>, Error> {
        Ok(Some(self.machine.system().is_initialized(DevicePointer(address), bytes)?))
    }

    fn create_stream(&self, _ordered: bool) -> Result<StreamHandle, Error> {
        Ok(StreamHandle(self.handles.fetch_add(1, Ordering::Relaxed)))
    }

    fn destroy_stream(&self, _stream: StreamHandle) {}

    fn synchronize_stream(&self, _stream: StreamHandle) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    fn create_event(&self) -> Result<EventHandle, Error> {
        Ok(EventHandle(self.handles.fetch_add(1, Ordering::Relaxed)))
    }

    fn destroy_event(&self, event: EventHandle) {
        self.events().remove(&event.0);
    }

    fn record(&self, event: EventHandle, _stream: StreamHandle) -> Result<(), Error> {
        self.events().insert(event.0, Instant::now());
        Ok(())
    }

    fn wait(&self, _stream: StreamHandle, _event: EventHandle) -> Result<(), Error> {
        Ok(())
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error> {
        let events = self.events();
        match (events.get(&start.0), events.get(&end.0)) {
            (Some(start), Some(end)) => Ok(end.saturating_duration_since(*start)),
            _ => Err(Error::NotRecorded),
        }
    }

    fn begin_capture(&self, _stream: StreamHandle) -> Result<(), Error> {
        self.no_graphs()
    }

    fn end_capture(&self, _stream: StreamHandle) -> Result<GraphHandle, Error> {
        self.no_graphs()
    }

    fn replay(&self, _graph: GraphHandle, _kernels: &Arc<str>, _stream: StreamHandle) -> Result<(), Error> {
        self.no_graphs()
    }

    fn destroy_graph(&self, _graph: GraphHandle) {}

    fn load(&self, ptx: Ptx<'_>, entry: &str) -> Result<Loaded, Error> {
        let start = Instant::now();
        let module = ptx.module(entry)?;
        let kernel = module.entry(entry).ok_or_else(|| Error::NoEntry { entry: entry.into() })?;
        ptx_runs_on(&self.machine.chip, module.target, entry)?;
        let limits = KernelLimits::of(&module, kernel);
        let program = Program::decode(&module, entry)?;
        let report = CompileReport { shared: limits.shared, time: start.elapsed(), ..CompileReport::default() };
        Ok(Loaded { kernel: Box::new(Decoded { machine: self.machine.clone(), program }), limits, report })
    }
}

/// A decoded kernel, and the chip that runs it.
struct Decoded {
    machine: Arc<Machine>,
    program: Program,
}

impl Kernel for Decoded {
    fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        _stream: StreamHandle,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            dynamic_shared: shape.dynamic_shared,
            parameters: parameters.to_vec(),
        };
        let outcome = self.machine.system().launch(&self.program, &launch, manifest, &self.machine.options)?;
        Ok(LaunchOutcome {
            instructions: Some(outcome.instructions),
            findings: outcome.findings.iter().map(|f| f.diagnostic()).collect(),
        })
    }
}
