//! An emulated chip. Work is done when it is queued: its streams are names, its events times.

mod work;

use super::backend::{Backend, EventHandle, GraphHandle, Kernel, Loaded, StreamHandle};
use super::function::{LaunchOutcome, Ptx};
use super::shape::{KernelLimits, LaunchShape, ptx_runs_on};
use super::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use crate::error::Error;
use crate::report::CompileReport;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use warpsmith_emulator::{DevicePointer, Fill, Launch, Manifest, Options, Program, Swizzle};
use warpsmith_types::Chip;
use work::{Machine, Work};

/// Modes of an emulated tensor map.
const RANK: usize = 5;

/// A chip of its own.
pub(super) struct Emulated {
    machine: Arc<Machine>,
    events: Mutex<FxHashMap<u64, Instant>>,
    graphs: Mutex<FxHashMap<u64, Arc<[Work]>>>,
    /// The next handle of anything; 0 is the default stream.
    next: AtomicU64,
}

impl Emulated {
    /// `options` are those of every launch on it.
    pub(super) fn new(chip: Chip, options: Options) -> Emulated {
        Emulated {
            machine: Arc::new(Machine::new(chip, options)),
            events: Mutex::default(),
            graphs: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    fn events(&self) -> MutexGuard<'_, FxHashMap<u64, Instant>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn graphs(&self) -> MutexGuard<'_, FxHashMap<u64, Arc<[Work]>>> {
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn queue(&self, stream: StreamHandle, work: Work) -> Result<(), Error> {
        self.machine.queue(stream.0, work).map(|_| ())
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

    fn copy(&self, to: u64, from: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.queue(stream, Work::Copy { to, from, bytes })
    }

    fn fill(&self, address: u64, byte: u8, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.queue(stream, Work::Fill { address, byte, bytes })
    }

    fn poison(&self, address: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.queue(stream, Work::Poison { address, bytes })
    }

    fn is_initialized(&self, address: u64, bytes: usize) -> Result<Option<bool>, Error> {
        Ok(Some(self.machine.system().is_initialized(DevicePointer(address), bytes)?))
    }

    fn create_stream(&self, _ordered: bool) -> Result<StreamHandle, Error> {
        Ok(StreamHandle(self.handle()))
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.machine.captured(stream.0);
    }

    fn synchronize_stream(&self, _stream: StreamHandle) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    fn create_event(&self) -> Result<EventHandle, Error> {
        Ok(EventHandle(self.handle()))
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

    fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error> {
        self.machine.capture(stream.0);
        Ok(())
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error> {
        let handle = self.handle();
        self.graphs().insert(handle, self.machine.captured(stream.0).into());
        Ok(GraphHandle(handle))
    }

    fn replay(&self, graph: GraphHandle, _kernels: &Arc<str>, _stream: StreamHandle) -> Result<LaunchOutcome, Error> {
        let work = self.graphs().get(&graph.0).cloned();
        let mut all = LaunchOutcome { instructions: Some(0), ..LaunchOutcome::default() };
        for work in work.iter().flat_map(|w| w.iter()) {
            let outcome = self.machine.run(work)?;
            all.instructions = Some(all.instructions.unwrap_or(0) + outcome.instructions.unwrap_or(0));
            all.findings.extend(outcome.findings);
            all.printed.push_str(&outcome.printed);
        }
        Ok(all)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.graphs().remove(&graph.0);
    }

    fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
        let swizzle = match map.swizzle {
            0 => Swizzle::None,
            32 => Swizzle::Bytes32,
            64 => Swizzle::Bytes64,
            _ => Swizzle::Bytes128,
        };
        let rank = map.extents.len().min(RANK);
        let (mut extents, mut strides, mut box_extents) = ([1; RANK], [0; RANK], [1; RANK]);
        extents[..rank].copy_from_slice(&map.extents[..rank]);
        strides[0] = map.dtype.bytes() as u64;
        strides[1..rank].copy_from_slice(&map.strides[..rank - 1]);
        box_extents[..rank].copy_from_slice(&map.boxed[..rank]);
        let encoded = warpsmith_emulator::TensorMap {
            base: DevicePointer(map.address),
            dtype: map.dtype,
            rank,
            extents,
            strides,
            box_extents,
            element_strides: [1; RANK],
            swizzle,
            fill: Fill::Zero,
        };
        Ok(encoded.encode())
    }

    fn load(&self, ptx: Ptx<'_>, entry: &str) -> Result<Loaded, Error> {
        let start = Instant::now();
        let module = ptx.module(entry)?;
        let kernel = module.entry(entry).ok_or_else(|| Error::NoEntry { entry: entry.into() })?;
        ptx_runs_on(&self.machine.chip, module.target, entry)?;
        let limits = KernelLimits::of(&module, kernel);
        let program = Arc::new(Program::decode(&module, entry)?);
        let report = CompileReport { shared: limits.shared, time: start.elapsed(), ..CompileReport::default() };
        Ok(Loaded { kernel: Box::new(Decoded { machine: self.machine.clone(), program }), limits, report })
    }
}

/// A decoded kernel, and the chip that runs it.
struct Decoded {
    machine: Arc<Machine>,
    program: Arc<Program>,
}

impl Kernel for Decoded {
    fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: StreamHandle,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            dynamic_shared: shape.dynamic_shared,
            parameters: parameters.to_vec(),
            cooperative: shape.cooperative,
            dependent: shape.pdl,
        };
        let program = self.program.clone();
        self.machine.queue(stream.0, Work::Launch { program, launch, manifest: manifest.cloned() })
    }
}
