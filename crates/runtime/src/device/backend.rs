//! What a kind of device must do. Everything else in this module is written once, over this.

use super::function::{LaunchOutcome, Ptx};
use super::pinned::{Direction, Moving, PinnedBytes};
use super::shape::{KernelLimits, LaunchShape};
use super::share::Exported;
use super::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use crate::driver::Context;
use crate::error::Error;
use crate::launched::{Description, Launched};
use crate::report::CompileReport;
use std::sync::Arc;
use std::time::Duration;
use warpsmith_emulator::Manifest;

pub(super) use crate::driver::{EventHandle, GraphHandle, IPC_BYTES, Mapping, PoolUse, StreamHandle};

/// A device. Handles are the backend's own; whoever holds one has made it here and destroys it once.
pub(super) trait Backend: Send + Sync {
    /// Memory with an address of its own, even when it has no bytes.
    fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error>;
    /// Gives memory back once nothing queued uses it. Silent.
    fn free(&self, address: u64);
    /// Memory that is there when the stream gets to it.
    fn allocate_ordered(&self, bytes: usize, name: &str, stream: StreamHandle) -> Result<u64, Error>;
    /// Gives it back when the stream gets there. Silent.
    fn free_ordered(&self, address: u64, stream: StreamHandle);
    fn pool_use(&self) -> Result<PoolUse, Error>;
    fn trim_pool(&self, keep: usize) -> Result<(), Error>;
    fn set_pool_threshold(&self, bytes: u64) -> Result<(), Error>;
    /// Refuses a range that is not allocated on the device, by whomever.
    fn check_memory(&self, address: u64, bytes: usize, name: &str) -> Result<(), Error>;
    /// Memory of the host that copies go on from and to by themselves, zeroed.
    fn allocate_pinned(&self, bytes: usize) -> Result<PinnedBytes, Error>;
    /// Starts a copy between that and the device, in the stream's order.
    fn transfer(
        &self,
        direction: Direction,
        address: u64,
        memory: PinnedBytes,
        stream: StreamHandle,
    ) -> Result<Box<dyn Moving>, Error>;
    /// From the host, in the stream's order; `bytes` may be changed on return.
    fn upload(&self, address: u64, bytes: &[u8], stream: StreamHandle) -> Result<(), Error>;
    /// To the host, in the stream's order; done on return.
    fn download(&self, address: u64, bytes: &mut [u8], stream: StreamHandle) -> Result<(), Error>;
    /// Within the device, in the stream's order.
    fn copy(&self, to: u64, from: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error>;
    /// Sets bytes, in the stream's order.
    fn fill(&self, address: u64, byte: u8, bytes: usize, stream: StreamHandle) -> Result<(), Error>;
    /// Makes bytes conspicuous, so that what a kernel leaves unwritten shows.
    fn poison(&self, address: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error>;
    /// Whether all of the bytes have been written; `None` when the device can not tell.
    fn is_initialized(&self, address: u64, bytes: usize) -> Result<Option<bool>, Error>;

    /// Whether copies and events go between the two.
    fn meets(&self, other: &dyn Backend) -> bool;
    /// Whether kernels here can be let reach memory there. They meet.
    fn can_access(&self, there: &dyn Backend) -> Result<bool, Error>;
    /// Lets them. They meet.
    fn enable_peer_access(&self, there: &dyn Backend) -> Result<(), Error>;
    /// Between devices that meet, in the order of a stream of this one.
    fn copy_between(
        &self,
        to: (&dyn Backend, u64),
        from: (&dyn Backend, u64),
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), Error>;

    /// Memory that can be exported as a file descriptor.
    fn create_shareable(&self, bytes: usize, name: &str) -> Result<Mapping, Error>;
    /// Gives back what `create_shareable` or `import` mapped. Silent.
    fn unmap(&self, mapping: Mapping);
    /// What another process maps memory with; of a mapping when it is given.
    fn export(&self, address: u64, mapping: Option<&Mapping>) -> Result<Exported, Error>;
    /// Maps what another process exported: where it begins, and the mapping when it is one.
    fn import(&self, exported: &Exported) -> Result<(u64, Option<Mapping>), Error>;
    /// Closes what `import` opened that is no mapping. Silent.
    fn close(&self, address: u64);

    /// A stream; ordered with the default one, or free of it.
    fn create_stream(&self, ordered: bool) -> Result<StreamHandle, Error>;
    fn destroy_stream(&self, stream: StreamHandle);
    /// Whether there is such a stream, where the device can tell.
    fn has_stream(&self, stream: StreamHandle) -> bool;
    /// Waits for what is queued on it. The outcome is of all that ran and that nobody has been told of.
    fn synchronize_stream(&self, stream: StreamHandle) -> Result<LaunchOutcome, Error>;
    /// Waits for all streams.
    fn synchronize(&self) -> Result<LaunchOutcome, Error>;

    fn create_event(&self) -> Result<EventHandle, Error>;
    /// An event that other processes can open.
    fn create_shared_event(&self) -> Result<EventHandle, Error>;
    fn export_event(&self, event: EventHandle) -> Result<[u8; IPC_BYTES], Error>;
    fn open_event(&self, handle: &[u8; IPC_BYTES]) -> Result<EventHandle, Error>;
    fn destroy_event(&self, event: EventHandle);
    fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), Error>;
    /// The event may be of another device that this one meets.
    fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), Error>;
    fn synchronize_event(&self, event: EventHandle) -> Result<(), Error>;
    fn has_happened(&self, event: EventHandle) -> Result<bool, Error>;
    /// Waits for `end`.
    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error>;

    /// From here on, what is queued on the stream is written down and not run.
    fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error>;
    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error>;
    /// Ends a capture into a graph that is there; another one when that can not be changed to it, which is gone then.
    fn end_capture_into(&self, graph: GraphHandle, stream: StreamHandle) -> Result<Option<GraphHandle>, Error>;
    /// Ends a capture that has failed. Silent.
    fn abandon_capture(&self, stream: StreamHandle);
    /// Runs a graph; `kernels` names it when it breaks the device.
    fn replay(
        &self,
        graph: GraphHandle,
        launches: &Arc<[Launched]>,
        stream: StreamHandle,
    ) -> Result<LaunchOutcome, Error>;
    fn destroy_graph(&self, graph: GraphHandle);

    /// A tensor map that has been checked, as a kernel of this device takes it.
    fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error>;

    /// Compiles, or decodes, and loads.
    fn load(&self, ptx: Ptx<'_>, entry: &str) -> Result<Loaded, Error>;

    /// The context, on a card.
    fn card(&self) -> Option<&Arc<Context>> {
        None
    }
    /// The chip, on an emulated one.
    fn emulated(&self) -> Option<&super::emulated::Emulated> {
        None
    }
}

/// A loaded kernel, and what is known of it.
pub(super) struct Loaded {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) limits: KernelLimits,
    pub(super) report: CompileReport,
}

/// A loaded kernel.
pub(super) trait Kernel: Send + Sync {
    /// Queues a launch whose shape has been checked. `about` is what to say of it when the device breaks.
    fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: StreamHandle,
        about: &Arc<Description>,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error>;
}
