//! What a kind of device must do. Everything else in this module is written once, over this.

use super::function::{LaunchOutcome, Ptx};
use super::shape::{KernelLimits, LaunchShape};
use super::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use crate::error::Error;
use crate::launched::Description;
use crate::report::CompileReport;
use std::sync::Arc;
use std::time::Duration;
use warpsmith_emulator::Manifest;

pub(super) use crate::driver::{EventHandle, GraphHandle, StreamHandle};

/// A device. Handles are the backend's own; whoever holds one has made it here and destroys it once.
pub(super) trait Backend: Send + Sync {
    /// Memory with an address of its own, even when it has no bytes.
    fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error>;
    /// Gives memory back once nothing queued uses it. Silent.
    fn free(&self, address: u64);
    /// From the host, in the stream's order; done on return.
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

    /// A stream; ordered with the default one, or free of it.
    fn create_stream(&self, ordered: bool) -> Result<StreamHandle, Error>;
    fn destroy_stream(&self, stream: StreamHandle);
    fn synchronize_stream(&self, stream: StreamHandle) -> Result<(), Error>;
    /// Waits for all streams.
    fn synchronize(&self) -> Result<(), Error>;

    fn create_event(&self) -> Result<EventHandle, Error>;
    fn destroy_event(&self, event: EventHandle);
    fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), Error>;
    fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), Error>;
    /// Waits for `end`.
    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error>;

    /// From here on, what is queued on the stream is written down and not run.
    fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error>;
    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error>;
    /// Runs a graph; `kernels` names it when it breaks the device.
    fn replay(&self, graph: GraphHandle, kernels: &Arc<str>, stream: StreamHandle) -> Result<LaunchOutcome, Error>;
    fn destroy_graph(&self, graph: GraphHandle);

    /// A tensor map that has been checked, as a kernel of this device takes it.
    fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error>;

    /// Compiles, or decodes, and loads.
    fn load(&self, ptx: Ptx<'_>, entry: &str) -> Result<Loaded, Error>;
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
