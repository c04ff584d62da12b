//! Page-locked memory of the host, and copies that go on by themselves.

use super::context::Context;
use super::failure::OUT_OF_MEMORY;
use super::queue::{EventHandle, StreamHandle};
use crate::error::Error;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// `CU_MEMHOSTALLOC_PORTABLE`: page-locked for every context.
const PORTABLE: u32 = 1;

/// Page-locked memory of the host.
pub(crate) struct PinnedMemory {
    context: Arc<Context>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its bytes, as a `Box` would, and the driver frees them from any thread.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above; shared, it is only read.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Bytes of zero.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<PinnedMemory, Error> {
        let _entered = context.enter()?;
        let _relaxed = context.relaxed();
        let mut start = std::ptr::null_mut();
        // The driver refuses to allocate nothing.
        // SAFETY: the pointer is to a live pointer, which the driver sets.
        unsafe { context.driver.api.cuMemHostAlloc(&mut start, bytes.max(1), PORTABLE) }.map_err(|e| match e.code {
            OUT_OF_MEMORY => Error::OutOfHostMemory { bytes: bytes as u64 },
            _ => context.explain(e),
        })?;
        let start = NonNull::new(start.cast()).ok_or(Error::OutOfHostMemory { bytes: bytes as u64 })?;
        // SAFETY: the driver gave that many bytes, which nobody else has.
        unsafe { start.write_bytes(0, bytes) };
        Ok(PinnedMemory { context: context.clone(), start, len: bytes })
    }
}

impl Deref for PinnedMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes are there and initialised, and they are this one's alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for PinnedMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            let _relaxed = self.context.relaxed();
            // SAFETY: the memory came from `cuMemHostAlloc`, and its owner is gone.
            let _ = unsafe { self.context.driver.api.cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}

/// A copy on its way. It owns the host's side, so that nobody touches that meanwhile.
pub(crate) struct PinnedTransfer {
    /// Where the copy runs.
    context: Arc<Context>,
    done: EventHandle,
    memory: Option<PinnedMemory>,
}

impl PinnedTransfer {
    /// Starts copying all of the memory to the device.
    pub(crate) fn upload(
        context: &Arc<Context>,
        to: u64,
        memory: PinnedMemory,
        stream: StreamHandle,
    ) -> Result<PinnedTransfer, Error> {
        PinnedTransfer::start(context, memory, stream, |memory| {
            // SAFETY: so many bytes are readable there. They are the transfer's, which lets nobody at them until the copy has
            // ended.
            unsafe {
                let from = memory.start.as_ptr().cast_const().cast();
                context.driver.api.cuMemcpyHtoDAsync_v2(to, from, memory.len, stream.raw())
            }
            .map_err(|e| context.explain(e))
        })
    }

    /// Starts filling all of the memory from the device.
    pub(crate) fn download(
        context: &Arc<Context>,
        from: u64,
        memory: PinnedMemory,
        stream: StreamHandle,
    ) -> Result<PinnedTransfer, Error> {
        PinnedTransfer::start(context, memory, stream, |memory| {
            // SAFETY: as for an upload; they are writable.
            unsafe {
                let to = memory.start.as_ptr().cast();
                context.driver.api.cuMemcpyDtoHAsync_v2(to, from, memory.len, stream.raw())
            }
            .map_err(|e| context.explain(e))
        })
    }

    fn start(
        context: &Arc<Context>,
        memory: PinnedMemory,
        stream: StreamHandle,
        copy: impl FnOnce(&PinnedMemory) -> Result<(), Error>,
    ) -> Result<PinnedTransfer, Error> {
        if context.is_capturing(stream)? {
            return Err(Error::Capturing { what: "a copy from or to the host" });
        }
        let _entered = context.enter()?;
        let done = context.create_event_with(super::queue::NO_TIMING)?;
        // From here on, dropping it waits and gives all back.
        let transfer = PinnedTransfer { context: context.clone(), done, memory: Some(memory) };
        if let Some(memory) = &transfer.memory {
            // A copy that could not be queued has no event to wait for, and an event never recorded has happened.
            copy(memory)?;
            if let Err(e) = context.record(done, stream) {
                let _ = context.synchronize_stream(stream);
                return Err(e);
            }
        }
        Ok(transfer)
    }

    /// Whether it has ended.
    pub(crate) fn is_done(&self) -> Result<bool, Error> {
        self.context.has_happened(self.done)
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Result<PinnedMemory, Error> {
        self.context.synchronize_event(self.done)?;
        // Taken here alone, and this is the last that is done with it.
        self.memory.take().ok_or(Error::OutOfHostMemory { bytes: 0 })
    }
}

impl Drop for PinnedTransfer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            match self.context.synchronize_event(self.done) {
                Ok(()) => drop(memory),
                // Nothing runs there any more.
                Err(_) if self.context.is_lost() => drop(memory),
                // The copy may still be on its way: better never freed than freed under it.
                Err(_) => _ = ManuallyDrop::new(memory),
            }
        }
        self.context.destroy_event(self.done);
    }
}
