//! A CUDA card.

use super::assembler::Assembler;
use super::backend::{Backend, EventHandle, GraphHandle, IPC_BYTES, Kernel, Loaded, Mapping, PoolUse, StreamHandle};
use super::function::{LaunchOutcome, Ptx};
use super::info::{DeviceId, DeviceInfo};
use super::pinned::{Direction, Moving, PinnedBytes};
use super::shape::{KernelLimits, LaunchShape, ptx_runs_on};
use super::share::Exported;
use super::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use crate::bundle::Bundle;
use crate::cache::{Cache, Code, Key, Source};
use crate::driver::{self, Context, PinnedMemory, PinnedTransfer, Properties, driver};
use crate::error::Error;
use crate::launched::{Description, Launched};
use crate::report::{CompileReport, Spills};
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpsmith_emulator::Manifest;

/// A card in use.
pub(super) struct Cuda {
    context: Arc<Context>,
}

/// Starts using a card.
pub(super) fn open(ordinal: u32) -> Result<(Cuda, DeviceInfo), Error> {
    let context = Context::open(ordinal)?;
    let info = describe(ordinal, &context.properties)?;
    Ok((Cuda::new(context), info))
}

/// What a card is, without using it.
pub(super) fn info(ordinal: u32) -> Result<DeviceInfo, Error> {
    describe(ordinal, &driver()?.properties(ordinal)?)
}

fn describe(ordinal: u32, properties: &Properties) -> Result<DeviceInfo, Error> {
    Ok(DeviceInfo {
        id: DeviceId::Cuda(ordinal),
        name: properties.name.clone(),
        chip: properties.chip,
        memory: Some(properties.memory),
        driver: Some(driver()?.version),
    })
}

impl Backend for Cuda {
    fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error> {
        // The driver refuses to allocate nothing.
        self.context.allocate(bytes.max(1), name)
    }

    fn free(&self, address: u64) {
        self.context.free(address);
    }

    fn allocate_ordered(&self, bytes: usize, name: &str, stream: StreamHandle) -> Result<u64, Error> {
        self.context.allocate_ordered(bytes.max(1), name, stream)
    }

    fn free_ordered(&self, address: u64, stream: StreamHandle) {
        self.context.free_ordered(address, stream);
    }

    fn pool_use(&self) -> Result<PoolUse, Error> {
        self.context.pool_use()
    }

    fn trim_pool(&self, keep: usize) -> Result<(), Error> {
        self.context.trim_pool(keep)
    }

    fn set_pool_threshold(&self, bytes: u64) -> Result<(), Error> {
        self.context.set_pool_threshold(bytes)
    }

    fn check_memory(&self, address: u64, bytes: usize, name: &str) -> Result<(), Error> {
        self.context.check_memory(address, bytes, name)
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<PinnedBytes, Error> {
        PinnedMemory::new(&self.context, bytes).map(PinnedBytes::Card)
    }

    fn transfer(
        &self,
        direction: Direction,
        address: u64,
        memory: PinnedBytes,
        stream: StreamHandle,
    ) -> Result<Box<dyn Moving>, Error> {
        let PinnedBytes::Card(memory) = memory else {
            return Err(self.lacks("copies from an emulated device's memory"));
        };
        let start = match direction {
            Direction::ToDevice => PinnedTransfer::upload,
            Direction::ToHost => PinnedTransfer::download,
        };
        Ok(Box::new(start(&self.context, address, memory, stream)?))
    }

    fn upload(&self, address: u64, bytes: &[u8], stream: StreamHandle) -> Result<(), Error> {
        self.context.upload(address, bytes, stream)
    }

    fn download(&self, address: u64, bytes: &mut [u8], stream: StreamHandle) -> Result<(), Error> {
        self.context.download(address, bytes, stream)
    }

    fn copy(&self, to: u64, from: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.context.copy(to, from, bytes, stream)
    }

    fn fill(&self, address: u64, byte: u8, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        self.context.fill(address, byte, bytes, stream)
    }

    fn poison(&self, address: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        // A NaN in every float format.
        self.context.fill(address, 0xff, bytes, stream)
    }

    fn is_initialized(&self, _address: u64, _bytes: usize) -> Result<Option<bool>, Error> {
        Ok(None)
    }

    fn meets(&self, other: &dyn Backend) -> bool {
        other.card().is_some()
    }

    fn can_access(&self, there: &dyn Backend) -> Result<bool, Error> {
        there.card().map_or(Ok(false), |there| self.context.can_access(there))
    }

    fn enable_peer_access(&self, there: &dyn Backend) -> Result<(), Error> {
        self.context.enable_peer_access(self.other(there)?)
    }

    fn copy_between(
        &self,
        to: (&dyn Backend, u64),
        from: (&dyn Backend, u64),
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), Error> {
        let (there, here) = (self.other(to.0)?, self.other(from.0)?);
        self.context.copy_between((there, to.1), (here, from.1), bytes, stream)
    }

    fn create_shareable(&self, bytes: usize, name: &str) -> Result<Mapping, Error> {
        self.context.create_shareable(bytes, name)
    }

    fn unmap(&self, mapping: Mapping) {
        self.context.unmap(mapping);
    }

    fn export(&self, address: u64, mapping: Option<&Mapping>) -> Result<Exported, Error> {
        match mapping {
            None => {
                let (handle, offset) = self.context.export_memory(address)?;
                Ok(Exported::Handle { handle, offset })
            }
            #[cfg(unix)]
            Some(mapping) => {
                let descriptor = Some(self.context.export_descriptor(mapping)?);
                Ok(Exported::Descriptor { descriptor, bytes: mapping.bytes as u64 })
            }
            #[cfg(not(unix))]
            Some(_) => Err(self.lacks("file descriptors")),
        }
    }

    fn import(&self, exported: &Exported) -> Result<(u64, Option<Mapping>), Error> {
        match exported {
            Exported::Handle { handle, .. } => Ok((self.context.open_memory(handle)?, None)),
            #[cfg(unix)]
            Exported::Descriptor { descriptor, bytes } => {
                use std::os::fd::AsFd;
                let wrong = |reason: &str| Error::Handle { what: "memory", reason: reason.into() };
                let descriptor = descriptor.as_ref().ok_or_else(|| wrong("its file descriptor is missing"))?;
                let bytes = usize::try_from(*bytes).map_err(|_| wrong("it is larger than all memory"))?;
                let mapping = self.context.import_descriptor(descriptor.as_fd(), bytes)?;
                Ok((mapping.address, Some(mapping)))
            }
        }
    }

    fn close(&self, address: u64) {
        self.context.close_memory(address);
    }

    fn create_stream(&self, ordered: bool) -> Result<StreamHandle, Error> {
        self.context.create_stream(ordered)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.context.destroy_stream(stream);
    }

    fn has_stream(&self, _stream: StreamHandle) -> bool {
        // The driver can not tell; whoever gave the handle has vouched for it.
        true
    }

    fn synchronize_stream(&self, stream: StreamHandle) -> Result<LaunchOutcome, Error> {
        self.context.synchronize_stream(stream)?;
        Ok(LaunchOutcome::default())
    }

    fn synchronize(&self) -> Result<LaunchOutcome, Error> {
        self.context.synchronize()?;
        Ok(LaunchOutcome::default())
    }

    fn create_event(&self) -> Result<EventHandle, Error> {
        self.context.create_event()
    }

    fn create_shared_event(&self) -> Result<EventHandle, Error> {
        self.context.create_shared_event()
    }

    fn export_event(&self, event: EventHandle) -> Result<[u8; IPC_BYTES], Error> {
        self.context.export_event(event)
    }

    fn open_event(&self, handle: &[u8; IPC_BYTES]) -> Result<EventHandle, Error> {
        self.context.open_event(handle)
    }

    fn destroy_event(&self, event: EventHandle) {
        self.context.destroy_event(event);
    }

    fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), Error> {
        self.context.record(event, stream)
    }

    fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), Error> {
        self.context.wait(stream, event)
    }

    fn synchronize_event(&self, event: EventHandle) -> Result<(), Error> {
        self.context.synchronize_event(event)
    }

    fn has_happened(&self, event: EventHandle) -> Result<bool, Error> {
        self.context.has_happened(event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error> {
        self.context.elapsed(start, end)
    }

    fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error> {
        self.context.begin_capture(stream)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error> {
        self.context.end_capture(stream)
    }

    fn end_capture_into(&self, graph: GraphHandle, stream: StreamHandle) -> Result<Option<GraphHandle>, Error> {
        self.context.end_capture_into(graph, stream)
    }

    fn abandon_capture(&self, stream: StreamHandle) {
        self.context.abandon_capture(stream);
    }

    fn replay(
        &self,
        graph: GraphHandle,
        launches: &Arc<[Launched]>,
        stream: StreamHandle,
    ) -> Result<LaunchOutcome, Error> {
        self.context.replay(graph, launches, stream)?;
        Ok(LaunchOutcome::default())
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.context.destroy_graph(graph);
    }

    fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
        self.context.encode_tensor_map(map)
    }

    fn load(&self, ptx: Ptx<'_>, entry: &str) -> Result<Loaded, Error> {
        // The card runs what our parser may not know; then the driver alone knows the kernel's limits.
        let module = ptx.module(entry).ok();
        if let Some(module) = &module {
            ptx_runs_on(&self.context.properties.chip, module.target, entry)?;
            if module.entry(entry).is_none() {
                return Err(Error::NoEntry { entry: entry.into() });
            }
        }
        let start = Instant::now();
        let (code, source, mut kernel) = self.code(&ptx.text(), entry)?;
        let mut report = CompileReport::from_log(&code.log, entry);
        report.registers = Some(kernel.registers);
        report.local = Some(kernel.local);
        if kernel.local == 0 {
            // Spills go to local memory.
            report.spills = Some(Spills::default());
        }
        report.shared = kernel.shared;
        report.time = start.elapsed();
        report.cached = source != Source::Assembled;
        report.cubin = Some(code.cubin.len());
        let mut limits = module.and_then(|m| m.entry(entry).map(|f| KernelLimits::of(&m, f))).unwrap_or_default();
        limits.shared = kernel.shared;
        limits.threads = Some(kernel.threads);
        limits.registers = Some(kernel.registers);
        kernel.offsets = limits.offsets.clone().into();
        Ok(Loaded { kernel: Box::new(kernel), limits, report })
    }

    fn card(&self) -> Option<&Arc<Context>> {
        Some(&self.context)
    }
}

impl Moving for PinnedTransfer {
    fn is_done(&self) -> Result<bool, Error> {
        PinnedTransfer::is_done(self)
    }

    fn wait(self: Box<Self>) -> Result<PinnedBytes, Error> {
        PinnedTransfer::wait(*self).map(PinnedBytes::Card)
    }
}

impl Cuda {
    pub(super) fn new(context: Context) -> Cuda {
        Cuda { context: Arc::new(context) }
    }

    fn lacks(&self, what: &'static str) -> Error {
        Error::Unsupported { device: self.context.properties.name.clone(), what }
    }

    /// The context of another card.
    fn other<'a>(&self, backend: &'a dyn Backend) -> Result<&'a Context, Error> {
        backend.card().map(Arc::as_ref).ok_or_else(|| self.lacks("way to an emulated device"))
    }

    /// Machine code, from the cache where it has it, loaded. What the driver refuses is assembled anew, by the driver.
    fn code(&self, ptx: &str, entry: &str) -> Result<(Code, Source, driver::Kernel), Error> {
        let target = self.context.properties.chip.target;
        if let Some(code) = Bundle::process().and_then(|b| b.find(ptx, entry, target)) {
            match driver::Kernel::load(&self.context, &code.cubin, entry) {
                Ok(kernel) => return Ok((code, Source::Bundle, kernel)),
                Err(e @ Error::DeviceLost { .. }) => return Err(e),
                Err(e) => tracing::warn!(kernel = entry, error = %e, "the driver refuses the bundle's code"),
            }
        }
        let assembler = Assembler::of_process()?;
        let key = Key::new(ptx, entry, target, &assembler.identity(), "-v -lineinfo", assembler.keeps_lines());
        let assemble = || assembler.assemble(&self.context, ptx, entry);
        let (code, source) = match Cache::process() {
            Some(cache) => cache.get_or(&key, assemble)?,
            None => (assemble()?, Source::Assembled),
        };
        let refused = match driver::Kernel::load(&self.context, &code.cubin, entry) {
            Ok(kernel) => return Ok((code, source, kernel)),
            Err(e @ (Error::NoEntry { .. } | Error::DeviceLost { .. })) => return Err(e),
            Err(e) if source == Source::Assembled && assembler.is_driver() => return Err(e),
            Err(e) => e,
        };
        if let Some(cache) = Cache::process() {
            cache.remove(&key, &format!("the driver refuses the code ({refused}); it is assembled anew"));
        }
        let linked = driver::link(&self.context, ptx, entry)?;
        let kernel = driver::Kernel::load(&self.context, &linked.cubin, entry)?;
        Ok((Code { cubin: linked.cubin, log: linked.log }, Source::Assembled, kernel))
    }
}

impl Kernel for driver::Kernel {
    fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: StreamHandle,
        about: &Arc<Description>,
        _manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        driver::Kernel::launch(self, shape, parameters, stream, about)?;
        Ok(LaunchOutcome::default())
    }
}
