//! Streams and events of a context.

use super::context::Context;
use super::failure::NOT_READY;
use crate::error::Error;
use cudarc::driver::sys::{CUevent, CUstream};
use std::time::Duration;

/// A stream, by its address in the driver; 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamHandle(pub(crate) u64);

/// An event, by its address in the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventHandle(pub(crate) u64);

impl StreamHandle {
    /// The default stream.
    pub(crate) const DEFAULT: StreamHandle = StreamHandle(0);
    /// `CU_STREAM_LEGACY`: another name of the default stream.
    pub(crate) const LEGACY: StreamHandle = StreamHandle(1);
    /// `CU_STREAM_PER_THREAD`: each thread's own default stream.
    pub(crate) const PER_THREAD: StreamHandle = StreamHandle(2);

    pub(super) fn raw(self) -> CUstream {
        self.0 as usize as CUstream
    }
}

impl EventHandle {
    pub(super) fn raw(self) -> CUevent {
        self.0 as usize as CUevent
    }
}

/// `CU_STREAM_NON_BLOCKING`: not ordered with the default stream.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(super) const NO_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`.
pub(super) const INTERPROCESS: u32 = 4;

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
        let before = self.recent.now();
        // SAFETY: the stream is live.
        unsafe { self.driver.api.cuStreamSynchronize(stream.raw()) }.map_err(|e| self.explain(e))?;
        self.recent.finished(Some(stream.0), before);
        Ok(())
    }

    /// A new event that keeps time.
    pub(crate) fn create_event(&self) -> Result<EventHandle, Error> {
        self.create_event_with(0)
    }

    pub(super) fn create_event_with(&self, flags: u32) -> Result<EventHandle, Error> {
        let _entered = self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuEventCreate(&mut event, flags) }.map_err(|e| self.explain(e))?;
        Ok(EventHandle(event as usize as u64))
    }

    /// Waits for an event.
    pub(crate) fn synchronize_event(&self, event: EventHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: the event is live.
        unsafe { self.driver.api.cuEventSynchronize(event.raw()) }.map_err(|e| self.explain(e))
    }

    /// Whether an event has happened.
    pub(crate) fn has_happened(&self, event: EventHandle) -> Result<bool, Error> {
        let _entered = self.enter()?;
        // SAFETY: the event is live.
        match unsafe { self.driver.api.cuEventQuery(event.raw()) } {
            Ok(()) => Ok(true),
            Err(e) if e.code == NOT_READY => Ok(false),
            Err(e) => Err(self.explain(e)),
        }
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
}
