//! Streams, events and graphs of a context.

use super::context::Context;
use crate::error::Error;
use cudarc::driver::sys::{CUevent, CUgraphExec, CUstream, CUstreamCaptureMode};
use std::sync::Arc;
use std::time::Duration;

/// A stream, by its address in the driver; 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamHandle(pub(crate) u64);

/// An event, by its address in the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventHandle(pub(crate) u64);

/// An instantiated graph, by its address in the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphHandle(pub(crate) u64);

impl StreamHandle {
    /// The default stream.
    pub(crate) const DEFAULT: StreamHandle = StreamHandle(0);

    pub(super) fn raw(self) -> CUstream {
        self.0 as usize as CUstream
    }
}

impl EventHandle {
    fn raw(self) -> CUevent {
        self.0 as usize as CUevent
    }
}

impl GraphHandle {
    fn raw(self) -> CUgraphExec {
        self.0 as usize as CUgraphExec
    }
}

/// `CU_STREAM_NON_BLOCKING`: not ordered with the default stream.
const NON_BLOCKING: u32 = 1;

impl Context {
    /// A new stream; `ordered` with the default stream, as CUDA's usual ones, or free of it.
    pub(crate) fn create_stream(&self, ordered: bool) -> Result<StreamHandle, Error> {
        let _entered = self.enter()?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuStreamCreate(&mut stream, if ordered { 0 } else { NON_BLOCKING }) }
            .map_err(|e| self.explain(e))?;
        Ok(StreamHandle(stream as usize as u64))
    }

    /// Destroys a created stream; what is queued on it still runs.
    pub(crate) fn destroy_stream(&self, stream: StreamHandle) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: the handle came from `create_stream` and its owner is gone.
            let _ = unsafe { self.driver.api.cuStreamDestroy_v2(stream.raw()) };
        }
    }

    /// Waits for all that is queued on a stream.
    pub(crate) fn synchronize_stream(&self, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: the stream is live.
        unsafe { self.driver.api.cuStreamSynchronize(stream.raw()) }.map_err(|e| self.explain(e))?;
        self.finished(stream);
        Ok(())
    }

    /// A new event that keeps time.
    pub(crate) fn create_event(&self) -> Result<EventHandle, Error> {
        let _entered = self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuEventCreate(&mut event, 0) }.map_err(|e| self.explain(e))?;
        Ok(EventHandle(event as usize as u64))
    }

    /// Destroys an event, pending or not.
    pub(crate) fn destroy_event(&self, event: EventHandle) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: the handle came from `create_event` and its owner is gone.
            let _ = unsafe { self.driver.api.cuEventDestroy_v2(event.raw()) };
        }
    }

    /// The event happens when the stream gets there.
    pub(crate) fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: both are live.
        unsafe { self.driver.api.cuEventRecord(event.raw(), stream.raw()) }.map_err(|e| self.explain(e))
    }

    /// The stream goes on when the event has happened.
    pub(crate) fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: both are live; flags must be 0.
        unsafe { self.driver.api.cuStreamWaitEvent(stream.raw(), event.raw(), 0) }.map_err(|e| self.explain(e))
    }

    /// From one event to the other; waits for the later.
    pub(crate) fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<Duration, Error> {
        let _entered = self.enter()?;
        let api = &self.driver.api;
        // SAFETY: the event is live.
        unsafe { api.cuEventSynchronize(end.raw()) }.map_err(|e| self.explain(e))?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are live, and the pointer is to a live float.
        unsafe { api.cuEventElapsedTime(&mut milliseconds, start.raw(), end.raw()) }.map_err(|e| self.explain(e))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    /// From here to `end_capture`, what this thread queues on the stream is written down and not run.
    pub(crate) fn begin_capture(&self, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // Other threads may allocate and synchronise meanwhile.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is live.
        unsafe { self.driver.api.cuStreamBeginCapture_v2(stream.raw(), mode) }.map_err(|e| self.explain(e))
    }

    /// Ends a capture and makes what was written down ready to run.
    pub(crate) fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, Error> {
        let _entered = self.enter()?;
        let api = &self.driver.api;
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream is live, and the pointer is to a live handle, which the driver sets.
        unsafe { api.cuStreamEndCapture(stream.raw(), &mut graph) }.map_err(|e| self.explain(e))?;
        // SAFETY: the graph is live, and the pointer is to a live handle, which the driver sets.
        let made = unsafe { api.cuGraphInstantiateWithFlags(&mut exec, graph, 0) };
        // SAFETY: the graph came from `cuStreamEndCapture` and is not used again; an instantiated one does not need it.
        let _ = unsafe { api.cuGraphDestroy(graph) };
        made.map_err(|e| self.explain(e))?;
        Ok(GraphHandle(exec as usize as u64))
    }

    /// Runs a graph on a stream; `kernels` are its suspects.
    pub(crate) fn replay(&self, graph: GraphHandle, kernels: &Arc<str>, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: both are live.
        unsafe { self.driver.api.cuGraphLaunch(graph.raw(), stream.raw()) }.map_err(|e| self.explain(e))?;
        self.launched(kernels, stream);
        Ok(())
    }

    /// Destroys a graph; a run in flight ends first.
    pub(crate) fn destroy_graph(&self, graph: GraphHandle) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: the handle came from `end_capture` and its owner is gone.
            let _ = unsafe { self.driver.api.cuGraphExecDestroy(graph.raw()) };
        }
    }
}
