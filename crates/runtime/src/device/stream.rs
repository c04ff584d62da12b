//! Streams and events.

use super::Device;
use super::backend::{EventHandle, StreamHandle};
use super::function::Function;
use crate::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A queue of work on a device. A clone is the same stream; a created one goes with its last clone, after its work.
#[derive(Clone)]
pub struct Stream {
    device: Device,
    created: Option<Arc<Created>>,
}

struct Created {
    device: Device,
    handle: StreamHandle,
    capturing: AtomicBool,
    /// What has been captured: a graph must keep its kernels loaded.
    captured: Mutex<Vec<Function>>,
}

impl Device {
    /// The stream that everything is ordered with unless it says otherwise; the one that PyTorch uses by default.
    pub fn default_stream(&self) -> Stream {
        Stream { device: self.clone(), created: None }
    }

    /// A new stream. Streams run side by side; the default stream waits for them and they for it.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn create_stream(&self) -> Result<Stream, Error> {
        self.stream(true)
    }

    /// A new stream that the default one knows nothing of: only events and synchronisation order it.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn create_independent_stream(&self) -> Result<Stream, Error> {
        self.stream(false)
    }

    fn stream(&self, ordered: bool) -> Result<Stream, Error> {
        let handle = self.backend().create_stream(ordered)?;
        let created =
            Created { device: self.clone(), handle, capturing: AtomicBool::new(false), captured: Mutex::new(vec![]) };
        Ok(Stream { device: self.clone(), created: Some(Arc::new(created)) })
    }

    /// A new event, which has not happened.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn create_event(&self) -> Result<Event, Error> {
        Ok(Event { device: self.clone(), handle: self.backend().create_event()? })
    }
}

impl Stream {
    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits for all that is queued on it.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.backend().synchronize_stream(self.handle())
    }

    /// What is queued after this runs when the event has happened.
    ///
    /// # Errors
    /// When the event is another device's.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        if event.device != self.device {
            return Err(self.device.other("the event", &event.device));
        }
        self.device.backend().wait(self.handle(), event.handle)
    }

    pub(super) fn handle(&self) -> StreamHandle {
        self.created.as_ref().map_or(StreamHandle::DEFAULT, |c| c.handle)
    }

    /// Whether launches are written down and not run.
    pub(super) fn is_capturing(&self) -> bool {
        self.created.as_ref().is_some_and(|c| c.capturing.load(Ordering::Relaxed))
    }

    /// Notes that a launch of the function has been written down.
    pub(super) fn captured(&self, function: &Function) {
        if let Some(created) = &self.created {
            created.captured.lock().unwrap_or_else(PoisonError::into_inner).push(function.clone());
        }
    }

    /// Starts or ends a capture; gives what was noted since the last call.
    pub(super) fn set_capturing(&self, on: bool) -> Vec<Function> {
        let Some(created) = &self.created else { return vec![] };
        created.capturing.store(on, Ordering::Relaxed);
        std::mem::take(&mut *created.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        self.device.backend().destroy_stream(self.handle);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} on {})", self.handle().0, self.device.info().id)
    }
}

/// A moment in a stream's work.
pub struct Event {
    device: Device,
    handle: EventHandle,
}

impl Event {
    /// It happens when the stream has done what is queued on it now.
    ///
    /// # Errors
    /// When the stream is another device's.
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        if *stream.device() != self.device {
            return Err(self.device.other("the stream", stream.device()));
        }
        self.device.backend().record(self.handle, stream.handle())
    }

    /// The time from `start` to this event, both recorded; waits for this one.
    ///
    /// # Errors
    /// When one of them was never recorded, or they are of two devices.
    pub fn since(&self, start: &Event) -> Result<Duration, Error> {
        if start.device != self.device {
            return Err(self.device.other("the event", &start.device));
        }
        self.device.backend().elapsed(start.handle, self.handle)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.device.backend().destroy_event(self.handle);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x} on {})", self.handle.0, self.device.info().id)
    }
}
