//! Streams and events.

use super::Device;
use super::backend::{EventHandle, StreamHandle};
use super::function::{Function, LaunchOutcome};
use super::info::{Counted, Kind};
use crate::error::Error;
use crate::launched::Launched;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A queue of work on a device. A clone is the same stream; a created one goes with its last clone, after its work.
#[derive(Clone)]
pub struct Stream {
    device: Device,
    named: Option<Arc<Named>>,
}

/// A stream that is not the default one.
struct Named {
    device: Device,
    handle: StreamHandle,
    /// `None` for another library's.
    counted: Option<Counted>,
    capturing: AtomicBool,
    /// What is being written down of it.
    capture: Mutex<Option<Arc<Capture>>>,
}

/// Work of one or several streams that is being written down.
pub(super) struct Capture {
    /// A graph must keep its kernels loaded, and says what it launched when the device breaks.
    launches: Mutex<Vec<(Function, Launched)>>,
    streams: Mutex<Vec<Weak<Named>>>,
    over: AtomicBool,
}

impl Device {
    /// The stream that everything is ordered with unless it says otherwise; the one that PyTorch uses by default.
    pub fn default_stream(&self) -> Stream {
        Stream { device: self.clone(), named: None }
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
        Ok(Stream::new(self, handle, Some(Counted::new(self, Kind::Stream, 0))))
    }

    /// A new event, which has not happened.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn create_event(&self) -> Result<Event, Error> {
        Ok(Event::new(self.backend().create_event()?, Counted::new(self, Kind::Event, 0)))
    }
}

impl Stream {
    fn new(device: &Device, handle: StreamHandle, counted: Option<Counted>) -> Stream {
        let named = Named {
            device: device.clone(),
            handle,
            counted,
            capturing: AtomicBool::new(false),
            capture: Mutex::new(None),
        };
        Stream { device: device.clone(), named: Some(Arc::new(named)) }
    }

    /// A stream that somebody else destroys.
    pub(super) fn borrowed(device: &Device, handle: StreamHandle) -> Stream {
        Stream::new(device, handle, None)
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its handle for other libraries: a `CUstream` or `cudaStream_t` as a number, 0 for the default stream. It is theirs to
    /// use, not to destroy, as long as a clone of this stream lives. An emulated device's handles mean something to
    /// [`Stream::from_raw`] alone.
    pub fn as_raw(&self) -> u64 {
        self.handle().0
    }

    /// Waits for all that is queued on it. On an emulated device, where everything that is queued runs then, the outcome is
    /// that of all that ran since somebody was last told; a card's is empty.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn synchronize(&self) -> Result<LaunchOutcome, Error> {
        self.device.backend().synchronize_stream(self.handle())
    }

    /// What is queued after this runs when the event has happened. The event may be another device's.
    ///
    /// # Errors
    /// When nothing goes between the two devices.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        if !self.device.meets(event.device()) {
            return Err(self.device.other("the event", event.device()));
        }
        self.device.backend().wait(self.handle(), event.handle)?;
        // What waits for work that is written down is written down with it.
        if let (Some(capture), Some(named)) = (event.capture().upgrade(), &self.named)
            && !capture.over.load(Ordering::Relaxed)
            && !self.is_capturing()
        {
            named.join(&capture);
        }
        Ok(())
    }

    pub(super) fn handle(&self) -> StreamHandle {
        self.named.as_ref().map_or(StreamHandle::DEFAULT, |n| n.handle)
    }

    /// Whether launches are written down and not run.
    pub(super) fn is_capturing(&self) -> bool {
        self.named.as_ref().is_some_and(|n| n.capturing.load(Ordering::Relaxed))
    }

    /// Notes that a launch of the function has been written down.
    pub(super) fn captured(&self, function: &Function, launch: Launched) {
        if let Some(capture) = self.capture() {
            lock(&capture.launches).push((function.clone(), launch));
        }
    }

    fn capture(&self) -> Option<Arc<Capture>> {
        self.named.as_ref().and_then(|n| lock(&n.capture).clone())
    }

    /// From here on, what is launched is noted.
    pub(super) fn start_noting(&self) -> Arc<Capture> {
        let capture = Capture { launches: Mutex::default(), streams: Mutex::default(), over: AtomicBool::new(false) };
        let capture = Arc::new(capture);
        if let Some(named) = &self.named {
            named.join(&capture);
        }
        capture
    }
}

impl Named {
    fn join(self: &Arc<Self>, capture: &Arc<Capture>) {
        *lock(&self.capture) = Some(capture.clone());
        self.capturing.store(true, Ordering::Relaxed);
        lock(&capture.streams).push(Arc::downgrade(self));
    }
}

impl Capture {
    /// Ends it for all its streams; gives what was noted.
    pub(super) fn end(&self) -> (Vec<Function>, Vec<Launched>) {
        self.over.store(true, Ordering::Relaxed);
        for named in lock(&self.streams).drain(..).filter_map(|n| n.upgrade()) {
            named.capturing.store(false, Ordering::Relaxed);
            *lock(&named.capture) = None;
        }
        lock(&self.launches).drain(..).unzip()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if self.counted.is_some() {
            self.device.backend().destroy_stream(self.handle);
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} on {})", self.handle().0, self.device.info().id)
    }
}

/// A moment in a stream's work.
pub struct Event {
    handle: EventHandle,
    counted: Counted,
    /// What was being written down of the stream that it was last recorded on.
    capture: Mutex<Weak<Capture>>,
}

impl Event {
    pub(super) fn new(handle: EventHandle, counted: Counted) -> Event {
        Event { handle, counted, capture: Mutex::default() }
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        self.counted.device()
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle
    }

    fn capture(&self) -> Weak<Capture> {
        lock(&self.capture).clone()
    }

    /// It happens when the stream has done what is queued on it now.
    ///
    /// # Errors
    /// When the stream is another device's.
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        let device = self.device();
        if stream.device() != device {
            return Err(device.other("the stream", stream.device()));
        }
        device.backend().record(self.handle, stream.handle())?;
        *lock(&self.capture) = stream.capture().map_or(Weak::new(), |c| Arc::downgrade(&c));
        Ok(())
    }

    /// Waits for it. One that was never recorded has happened.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device().backend().synchronize_event(self.handle)
    }

    /// Whether it has happened. An emulated device does what is queued to find out.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn has_happened(&self) -> Result<bool, Error> {
        self.device().backend().has_happened(self.handle)
    }

    /// The time from `start` to this event, both recorded; waits for this one. An emulated device has no clock: its time is
    /// that between the two calls of [`Event::record`].
    ///
    /// # Errors
    /// When one of them was never recorded, they are of two devices, or one was made for other processes.
    pub fn since(&self, start: &Event) -> Result<Duration, Error> {
        let device = self.device();
        if start.device() != device {
            return Err(device.other("the event", start.device()));
        }
        device.backend().elapsed(start.handle, self.handle)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.device().backend().destroy_event(self.handle);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x} on {})", self.handle.0, self.device().info().id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
