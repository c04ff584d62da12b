//! Captures of a context, and the graphs made of them.

use super::context::Context;
use super::failure::GRAPH_EXEC_UPDATE_FAILURE;
use super::queue::StreamHandle;
use crate::error::Error;
use crate::launched::Launched;
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::sync::Arc;

/// An instantiated graph, by its address in the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphHandle(pub(crate) u64);

impl GraphHandle {
    fn raw(self) -> CUgraphExec {
        self.0 as usize as CUgraphExec
    }
}

/// What was written down; goes with its owner.
struct Written<'a> {
    context: &'a Context,
    graph: CUgraph,
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // SAFETY: the graph came from `cuStreamEndCapture`, the context is current as it was then, and graphs that were
        // instantiated from it do not need it.
        let _ = unsafe { self.context.driver.api.cuGraphDestroy(self.graph) };
    }
}

impl Context {
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
        let written = self.written(stream)?;
        self.instantiate(&written)
    }

    /// Ends a capture and lets a graph run from here on what was written down. Where the driver can not change the graph
    /// to that, another one takes its place, and is given.
    pub(crate) fn end_capture_into(
        &self,
        graph: GraphHandle,
        stream: StreamHandle,
    ) -> Result<Option<GraphHandle>, Error> {
        let _entered = self.enter()?;
        let written = self.written(stream)?;
        // `CUgraphExecUpdateResultInfo`: an integer and two pointers. Read by nobody, so that a later driver's reasons do
        // no harm.
        let mut result = [0u64; 4];
        // SAFETY: both graphs are live, and the pointer is to more bytes than the driver sets.
        match unsafe { self.driver.api.cuGraphExecUpdate_v2(graph.raw(), written.graph, result.as_mut_ptr().cast()) } {
            Ok(()) => Ok(None),
            Err(e) if e.code == GRAPH_EXEC_UPDATE_FAILURE => {
                let new = self.instantiate(&written)?;
                self.destroy_graph(graph);
                Ok(Some(new))
            }
            Err(e) => Err(self.explain(e)),
        }
    }

    /// Ends a capture whose work has failed. Silent: why it did is known.
    pub(crate) fn abandon_capture(&self, stream: StreamHandle) {
        if let Ok(_entered) = self.enter() {
            drop(self.written(stream));
        }
    }

    /// The context is current.
    fn written(&self, stream: StreamHandle) -> Result<Written<'_>, Error> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is live, and the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuStreamEndCapture(stream.raw(), &mut graph) }.map_err(|e| self.explain(e))?;
        Ok(Written { context: self, graph })
    }

    /// The context is current.
    fn instantiate(&self, written: &Written<'_>) -> Result<GraphHandle, Error> {
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is live, and the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuGraphInstantiateWithFlags(&mut exec, written.graph, 0) }
            .map_err(|e| self.explain(e))?;
        Ok(GraphHandle(exec as usize as u64))
    }

    /// Runs a graph on a stream; `launches` are its suspects.
    pub(crate) fn replay(
        &self,
        graph: GraphHandle,
        launches: &Arc<[Launched]>,
        stream: StreamHandle,
    ) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: both are live.
        unsafe { self.driver.api.cuGraphLaunch(graph.raw(), stream.raw()) }.map_err(|e| self.explain(e))?;
        self.recent.replayed(launches, stream.0);
        Ok(())
    }

    /// Destroys a graph; a run in flight ends first.
    pub(crate) fn destroy_graph(&self, graph: GraphHandle) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: the handle came from `end_capture` and its owner is gone.
            let _ = unsafe { self.driver.api.cuGraphExecDestroy(graph.raw()) };
        }
    }

    /// Whether work on a stream is being written down, by whomever.
    pub(crate) fn is_capturing(&self, stream: StreamHandle) -> Result<bool, Error> {
        let _entered = self.enter()?;
        let mut status = 0;
        // SAFETY: the stream is live, and the pointer is to a live integer.
        unsafe { self.driver.api.cuStreamIsCapturing(stream.raw(), &mut status) }.map_err(|e| self.explain(e))?;
        Ok(status != 0)
    }

    /// While the guard lives, a capture on this thread does not forbid calls that it does not write down: allocations,
    /// above all. Without it they would fail and spoil the capture.
    pub(super) fn relaxed(&self) -> Relaxed<'_> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as u32;
        // SAFETY: the pointer is to a live integer, of one of the driver's values.
        let exchanged = unsafe { self.driver.api.cuThreadExchangeStreamCaptureMode(&mut mode) };
        Relaxed { context: self, before: exchanged.is_ok().then_some(mode) }
    }
}

/// While it lives, captures on the thread are relaxed.
pub(super) struct Relaxed<'a> {
    context: &'a Context,
    before: Option<u32>,
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        if let Some(mut mode) = self.before {
            // SAFETY: the pointer is to a live integer, with the value that the driver gave.
            let _ = unsafe { self.context.driver.api.cuThreadExchangeStreamCaptureMode(&mut mode) };
        }
    }
}
