//! Emulated chips. What is queued on streams runs at the next synchronisation of anything, all of it side by side; the
//! default stream of a device that is alone runs at once what nothing keeps waiting.
//!
//! | file | what |
//! |---|---|
//! | `node` | devices with one address space, and what is queued on them |
//! | `work` | a piece of it |
//! | `memory` | allocations and pools |
//! | `capture` | work that is written down, and replayed |
//! | `kernel` | loaded kernels |
//! | `copying` | copies that go on by themselves |

mod capture;
mod copying;
mod kernel;
mod memory;
mod node;
mod work;

use super::backend::{Backend, EventHandle, GraphHandle, IPC_BYTES, Loaded, Mapping, PoolUse, StreamHandle};
use super::function::{LaunchOutcome, Ptx};
use super::pinned::{Direction, Moving, PinnedBytes};
use super::shape::{KernelLimits, ptx_runs_on};
use super::share::Exported;
use super::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use crate::error::Error;
use crate::launched::{Launched, Recent};
use crate::report::CompileReport;
use copying::Copying;
use kernel::Decoded;
use node::{EventState, Node, State};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use warpsmith_emulator::{Device, DevicePointer, Fill, Options, Program, Swizzle, System};
use warpsmith_types::Chip;
use work::Work;

/// Modes of an emulated tensor map.
const RANK: usize = 5;

/// A chip of a node.
pub(super) struct Emulated {
    node: Arc<Node>,
    index: u8,
    /// Where launches are remembered that are taken and not run; without it they run.
    idle: Option<Arc<Recent>>,
}

impl Emulated {
    /// A chip by itself. `options` are those of every run.
    pub(super) fn alone(chip: Chip, options: Options) -> Emulated {
        Emulated { node: Arc::new(Node::new(System::new(chip), &[chip], options)), index: 0, idle: None }
    }

    /// One that takes launches, and does nothing.
    pub(super) fn idle(chip: Chip) -> Emulated {
        Emulated { idle: Some(Arc::default()), ..Emulated::alone(chip, Options::default()) }
    }

    /// Chips with one address space, each linked to each.
    pub(super) fn node(chips: &[Chip], options: Options) -> Result<Vec<Emulated>, Error> {
        let system = System::linked(chips.iter().copied())?;
        let node = Arc::new(Node::new(system, chips, options));
        Ok((0..chips.len() as u8).map(|index| Emulated { node: node.clone(), index, idle: None }).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.node.state()
    }

    fn chip(&self) -> &Chip {
        &self.node.chips[usize::from(self.index)]
    }

    /// Queues work, or does it.
    fn queue(&self, handle: StreamHandle, work: Work) -> Result<LaunchOutcome, Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, handle.0)?;
        state.queue(stream, work)
    }

    fn lacks(&self, what: &'static str) -> Error {
        Error::Unsupported { device: format!("emulated {}", self.chip().name), what }
    }

    fn is_capturing(&self, handle: StreamHandle) -> Result<bool, Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, handle.0)?;
        Ok(state.streams.get(&stream).is_some_and(|s| s.capture.is_some()))
    }
}

/// What emulated devices do not have.
const EXPORT: &str = "memory and events that other processes see";

impl Backend for Emulated {
    fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error> {
        self.state().allocate(self.index, bytes, name, false)
    }

    fn free(&self, address: u64) {
        self.state().free(address);
    }

    fn allocate_ordered(&self, bytes: usize, name: &str, stream: StreamHandle) -> Result<u64, Error> {
        if self.is_capturing(stream)? {
            return Err(Error::Capturing { what: "an allocation" });
        }
        self.state().allocate(self.index, bytes, name, true)
    }

    fn free_ordered(&self, address: u64, stream: StreamHandle) {
        let mut state = self.state();
        match state.stream(self.index, stream.0) {
            Ok(stream) => state.free_ordered(stream, address),
            Err(_) => state.free(address),
        }
    }

    fn pool_use(&self) -> Result<PoolUse, Error> {
        Ok(self.state().pools[usize::from(self.index)].now)
    }

    fn trim_pool(&self, keep: usize) -> Result<(), Error> {
        let pool = &mut self.state().pools[usize::from(self.index)];
        pool.now.reserved = pool.now.reserved.min(keep as u64).max(pool.now.used);
        Ok(())
    }

    fn set_pool_threshold(&self, bytes: u64) -> Result<(), Error> {
        self.state().pools[usize::from(self.index)].threshold = bytes;
        Ok(())
    }

    fn check_memory(&self, address: u64, bytes: usize, name: &str) -> Result<(), Error> {
        self.state().check(self.index, address, bytes).map_err(|got| Error::Foreign {
            what: format!("`{name}`, {bytes} bytes at {address:#x},"),
            expected: format!("allocated memory of emulated {} (device {} of its node)", self.chip().name, self.index),
            got,
        })
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<PinnedBytes, Error> {
        let mut memory = vec![];
        memory.try_reserve_exact(bytes).map_err(|_| Error::OutOfHostMemory { bytes: bytes as u64 })?;
        memory.resize(bytes, 0);
        Ok(PinnedBytes::Emulated(memory.into()))
    }

    fn transfer(
        &self,
        direction: Direction,
        address: u64,
        memory: PinnedBytes,
        stream: StreamHandle,
    ) -> Result<Box<dyn Moving>, Error> {
        let PinnedBytes::Emulated(memory) = memory else { return Err(self.lacks("copies from a card's memory")) };
        let mut result = None;
        if !memory.is_empty() {
            let work = match direction {
                Direction::ToDevice => Work::Write { to: address, data: memory.to_vec() },
                Direction::ToHost => {
                    let number = self.state().number();
                    result = Some(number);
                    Work::Read { from: address, bytes: memory.len(), result: number }
                }
            };
            self.queue(stream, work)?;
        }
        Ok(Box::new(Copying { node: self.node.clone(), memory, result }))
    }

    fn upload(&self, address: u64, bytes: &[u8], stream: StreamHandle) -> Result<(), Error> {
        if self.state().is_idle() && stream == StreamHandle::DEFAULT {
            return Ok(self.state().system.write(DevicePointer(address), bytes)?);
        }
        self.queue(stream, Work::Write { to: address, data: bytes.into() }).map(drop)
    }

    fn download(&self, address: u64, bytes: &mut [u8], stream: StreamHandle) -> Result<(), Error> {
        if self.is_capturing(stream)? {
            return Err(Error::Capturing { what: "a copy from or to the host" });
        }
        let mut state = self.state();
        if !state.is_idle() {
            let result = state.number();
            let stream = state.stream(self.index, stream.0)?;
            state.queue(stream, Work::Read { from: address, bytes: bytes.len(), result })?;
            state.run_awaited()?;
            if let Some(read) = state.results.remove(&result).filter(|read| read.len() == bytes.len()) {
                bytes.copy_from_slice(&read);
                return Ok(());
            }
        }
        Ok(state.system.read(DevicePointer(address), bytes)?)
    }

    fn copy(&self, to: u64, from: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.queue(stream, Work::Copy { to, from, bytes }).map(drop)
    }

    fn fill(&self, address: u64, byte: u8, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.queue(stream, Work::Fill { to: address, byte, bytes }).map(drop)
    }

    fn poison(&self, address: u64, bytes: usize, _stream: StreamHandle) -> Result<(), Error> {
        let mut state = self.state();
        state.run_unasked();
        Ok(state.system.poison(DevicePointer(address), bytes)?)
    }

    fn is_initialized(&self, address: u64, bytes: usize) -> Result<Option<bool>, Error> {
        let mut state = self.state();
        state.run_unasked();
        Ok(Some(state.system.is_initialized(DevicePointer(address), bytes)?))
    }

    fn meets(&self, other: &dyn Backend) -> bool {
        other.emulated().is_some_and(|other| Arc::ptr_eq(&self.node, &other.node))
    }

    fn can_access(&self, there: &dyn Backend) -> Result<bool, Error> {
        // Each device of a node is linked to each.
        Ok(self.meets(there))
    }

    fn enable_peer_access(&self, there: &dyn Backend) -> Result<(), Error> {
        let there = there.emulated().ok_or_else(|| self.lacks("way to a card"))?;
        Ok(self.state().system.map_peer(Device(self.index), Device(there.index))?)
    }

    fn copy_between(
        &self,
        to: (&dyn Backend, u64),
        from: (&dyn Backend, u64),
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), Error> {
        self.copy(to.1, from.1, bytes, stream)
    }

    fn create_shareable(&self, _bytes: usize, _name: &str) -> Result<Mapping, Error> {
        Err(self.lacks(EXPORT))
    }

    fn unmap(&self, _mapping: Mapping) {}

    fn export(&self, _address: u64, _mapping: Option<&Mapping>) -> Result<Exported, Error> {
        Err(self.lacks(EXPORT))
    }

    fn import(&self, _exported: &Exported) -> Result<(u64, Option<Mapping>), Error> {
        Err(self.lacks(EXPORT))
    }

    fn close(&self, _address: u64) {}

    fn create_stream(&self, ordered: bool) -> Result<StreamHandle, Error> {
        self.state().create_stream(self.index, ordered).map(StreamHandle)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.state().destroy_stream(stream.0);
    }

    fn has_stream(&self, stream: StreamHandle) -> bool {
        self.state().has_stream(self.index, stream.0)
    }

    fn synchronize_stream(&self, stream: StreamHandle) -> Result<LaunchOutcome, Error> {
        if self.is_capturing(stream)? {
            return Err(Error::Capturing { what: "a synchronisation" });
        }
        self.state().tell()
    }

    fn synchronize(&self) -> Result<LaunchOutcome, Error> {
        self.state().tell()
    }

    fn create_event(&self) -> Result<EventHandle, Error> {
        let mut state = self.state();
        let event = state.number();
        state.events.insert(event, EventState::default());
        Ok(EventHandle(event))
    }

    fn create_shared_event(&self) -> Result<EventHandle, Error> {
        Err(self.lacks(EXPORT))
    }

    fn export_event(&self, _event: EventHandle) -> Result<[u8; IPC_BYTES], Error> {
        Err(self.lacks(EXPORT))
    }

    fn open_event(&self, _handle: &[u8; IPC_BYTES]) -> Result<EventHandle, Error> {
        Err(self.lacks(EXPORT))
    }

    fn destroy_event(&self, event: EventHandle) {
        self.state().events.remove(&event.0);
    }

    fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, stream.0)?;
        let capture = state.streams.get(&stream).and_then(|s| s.capture);
        let mut recorded = EventState { at: Some(Instant::now()), moment: None, capture };
        if capture.is_some() || !state.is_idle() {
            let moment = state.number();
            recorded.moment = Some(moment);
            state.queue(stream, Work::Record { moment })?;
        }
        state.events.insert(event.0, recorded);
        Ok(())
    }

    fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, stream.0)?;
        state.wait(stream, event.0)
    }

    fn synchronize_event(&self, event: EventHandle) -> Result<(), Error> {
        let mut state = self.state();
        if state.events.get(&event.0).is_some_and(|e| e.capture.is_some()) {
            return Err(Error::Capturing { what: "a synchronisation" });
        }
        state.run_awaited()
    }

    fn has_happened(&self, event: EventHandle) -> Result<bool, Error> {
        self.synchronize_event(event).map(|()| true)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error> {
        let mut state = self.state();
        state.run_awaited()?;
        let at = |event: EventHandle| state.events.get(&event.0).and_then(|e| e.at);
        match (at(start), at(end)) {
            (Some(start), Some(end)) => Ok(end.saturating_duration_since(start)),
            _ => Err(Error::NotRecorded),
        }
    }

    fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, stream.0)?;
        state.begin_capture(stream);
        Ok(())
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error> {
        let mut state = self.state();
        let written = state.end_capture(stream.0)?;
        let graph = state.number();
        state.graphs.insert(graph, Arc::new(written));
        Ok(GraphHandle(graph))
    }

    fn end_capture_into(&self, graph: GraphHandle, stream: StreamHandle) -> Result<Option<GraphHandle>, Error> {
        Ok(self.state().end_capture_into(graph.0, stream.0)?.map(GraphHandle))
    }

    fn abandon_capture(&self, stream: StreamHandle) {
        self.state().abandon_capture(stream.0);
    }

    fn replay(
        &self,
        graph: GraphHandle,
        _launches: &Arc<[Launched]>,
        stream: StreamHandle,
    ) -> Result<LaunchOutcome, Error> {
        let mut state = self.state();
        let stream = state.stream(self.index, stream.0)?;
        state.replay(graph.0, stream)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.state().graphs.remove(&graph.0);
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
        ptx_runs_on(self.chip(), module.target, entry)?;
        let limits = KernelLimits::of(&module, kernel);
        let program = Arc::new(Program::decode(&module, entry)?);
        let report = CompileReport { shared: limits.shared, time: start.elapsed(), ..CompileReport::default() };
        let kernel = Decoded { node: self.node.clone(), index: self.index, program, idle: self.idle.clone() };
        Ok(Loaded { kernel: Box::new(kernel), limits, report })
    }

    fn emulated(&self) -> Option<&Emulated> {
        Some(self)
    }
}
