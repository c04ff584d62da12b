//! Streams, contexts and memory that another library made.
//!
//! The driver reads its own structures behind the handles of streams and contexts, so that a wrong handle is a wrong
//! pointer of the host: taking one is `unsafe`. An address of the device is only a number to it, which is looked up.

use super::context::Context;
use super::driver;
use super::properties::recent_enough;
use super::queue::StreamHandle;
use crate::device::{Device, Stream};
use crate::error::Error;
use cudarc::driver::sys::{CUcontext, CUpointer_attribute};

/// A context that was current on a thread.
pub(crate) enum Found {
    /// The primary one of a card.
    Primary(u32),
    /// Another library's own.
    Own {
        /// Using it.
        context: Box<Context>,
        /// The driver's number of it, which no other context has or had.
        id: u64,
        /// The card that it is on.
        ordinal: u32,
    },
}

impl Context {
    /// The thread's current context.
    ///
    /// # Safety
    /// Whoever made it must not destroy it as long as what is returned is in use.
    pub(crate) unsafe fn current() -> Result<Found, Error> {
        let driver = driver()?;
        let api = &driver.api;
        let mut raw: CUcontext = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { api.cuCtxGetCurrent(&mut raw) }.map_err(|e| e.with(api))?;
        if raw.is_null() {
            return Err(Error::NoContext);
        }
        let (mut card, mut flags, mut active, mut id) = (0, 0, 0, 0);
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { api.cuCtxGetDevice(&mut card) }.map_err(|e| e.with(api))?;
        // A card's handle is its number.
        let ordinal = u32::try_from(card).unwrap_or(0);
        // SAFETY: the pointers are to live integers.
        unsafe { api.cuDevicePrimaryCtxGetState(card, &mut flags, &mut active) }.map_err(|e| e.with(api))?;
        if active != 0 {
            let mut primary: CUcontext = std::ptr::null_mut();
            // Retained for good, as `open` does.
            // SAFETY: the pointer is to a live handle, which the driver sets.
            unsafe { api.cuDevicePrimaryCtxRetain(&mut primary, card) }.map_err(|e| e.with(api))?;
            if primary == raw {
                return Ok(Found::Primary(ordinal));
            }
        }
        // SAFETY: the context is current, and the pointer is to a live integer.
        unsafe { api.cuCtxGetId(raw, &mut id) }.map_err(|e| e.with(api))?;
        let properties = driver.properties(ordinal)?;
        recent_enough(&properties)?;
        Ok(Found::Own { context: Box::new(Context::new(driver, raw, card, properties)), id, ordinal })
    }

    /// Refuses a stream of another context.
    ///
    /// # Safety
    /// The handle must be a live stream's, or one of the special ones.
    pub(crate) unsafe fn check_stream(&self, stream: StreamHandle) -> Result<(), Error> {
        let special = [StreamHandle::DEFAULT, StreamHandle::LEGACY, StreamHandle::PER_THREAD];
        if special.contains(&stream) {
            // These are of whichever context is current.
            return Ok(());
        }
        let _entered = self.enter()?;
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: the caller vouches for the handle; the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuStreamGetCtx(stream.raw(), &mut context) }.map_err(|e| self.explain(e))?;
        if context == self.raw {
            return Ok(());
        }
        Err(Error::Foreign {
            what: format!("stream {:#x}", stream.0),
            expected: format!("one of this context of {}", self.properties.name),
            got: "of another context".into(),
        })
    }

    /// Refuses a range that is not memory of this card.
    pub(crate) fn check_memory(&self, address: u64, bytes: usize, name: &str) -> Result<(), Error> {
        let _entered = self.enter()?;
        let refused = |got: String| Error::Foreign {
            what: format!("`{name}`, {bytes} bytes at {address:#x},"),
            expected: format!("allocated memory of {} (card {})", self.properties.name, self.card),
            got,
        };
        let Some(end) = address.checked_add(bytes as u64) else { return Err(refused("past all addresses".into())) };
        // What looks like one allocation may be mapped from several, side by side; whole ones are only neighbours.
        let mut at = address;
        loop {
            let found = self.pointer(at)?;
            match found {
                Pointer { kind: 0, .. } if at == address => return Err(refused("no memory that CUDA knows".into())),
                Pointer { kind: 0, .. } => return Err(refused(format!("only {} bytes long", at - address))),
                // Managed memory is the host's too, and so may be borrowed there.
                Pointer { kind, managed, .. } if kind != DEVICE || managed != 0 => {
                    return Err(refused("memory of the host".into()));
                }
                Pointer { ordinal, .. } if ordinal != self.card => return Err(refused(format!("of card {ordinal}"))),
                Pointer { start, size, .. } => {
                    let next = start.saturating_add(size);
                    if next >= end {
                        return Ok(());
                    }
                    if next <= at || found.whole != 0 {
                        let at = next.max(at);
                        return Err(refused(format!("only {} bytes long", at - address)));
                    }
                    at = next;
                }
            }
        }
    }

    /// What the driver knows of an address. The context is current.
    fn pointer(&self, address: u64) -> Result<Pointer, Error> {
        use CUpointer_attribute::*;
        let mut attributes = [
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let mut found = Pointer::default();
        let mut values = [
            (&raw mut found.kind).cast(),
            (&raw mut found.managed).cast(),
            (&raw mut found.ordinal).cast(),
            (&raw mut found.whole).cast(),
            (&raw mut found.start).cast(),
            (&raw mut found.size).cast(),
        ];
        let count = attributes.len() as u32;
        // SAFETY: each pointer is to a live integer at least as wide as its attribute, and there is one for each.
        unsafe { self.driver.api.cuPointerGetAttributes(count, attributes.as_mut_ptr(), values.as_mut_ptr(), address) }
            .map_err(|e| self.explain(e))?;
        Ok(found)
    }
}

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE: u32 = 2;

/// Attributes of an address; what is not set is of no memory.
#[derive(Clone, Copy, Default)]
struct Pointer {
    kind: u32,
    managed: u32,
    ordinal: i32,
    /// Whether it was allocated and mapped in one: such memory alone has the older kind of handle for other processes.
    whole: u32,
    start: u64,
    size: u64,
}

impl Stream {
    /// A stream that another library made, by its handle: `CUstream` and `cudaStream_t` as a number, PyTorch's
    /// `stream.cuda_stream`, CuPy's `stream.ptr`. It is used and never destroyed here. The special handles name no object:
    /// 0 and 1 (`CU_STREAM_LEGACY`) are the default stream, 2 (`CU_STREAM_PER_THREAD`) is that of the thread which calls.
    /// On an emulated device the handle is what [`Stream::as_raw`] of one of its streams gave.
    ///
    /// What the other library captures of it for a graph of its own runs kernels of this one: they must stay loaded as long
    /// as that graph lives.
    ///
    /// # Safety
    /// On a card, the handle must be a live stream's, or special, and the stream must not be destroyed as long as a clone
    /// of what is returned lives: the driver reads the host's memory behind it.
    ///
    /// # Errors
    /// When the stream is of another context than the device, or an emulated device has none of that handle.
    pub unsafe fn from_raw(device: &Device, handle: u64) -> Result<Stream, Error> {
        if let Some(context) = device.card() {
            // SAFETY: as the caller promises.
            unsafe { context.check_stream(StreamHandle(handle)) }?;
        }
        device.adopt_stream(StreamHandle(handle))
    }
}

impl Device {
    /// The device of this thread's current context, which another library made. The primary context of a card, which
    /// PyTorch, CuPy and CUDA's runtime use, is [`Device::cuda`]; another one is a device of its own, whose memory, streams
    /// and kernels are not those of the primary one. The same context gives the same device.
    ///
    /// # Safety
    /// A context that is not a primary one must not be destroyed as long as the process uses the device, or anything
    /// that lives on it: the driver reads the host's memory behind its handle.
    ///
    /// # Errors
    /// When there is no driver or one that is too old, no current context, or a card that is too old.
    pub unsafe fn from_current_context() -> Result<Device, Error> {
        // SAFETY: as the caller promises.
        match unsafe { Context::current() }? {
            Found::Primary(ordinal) => Device::cuda(ordinal),
            Found::Own { context, id, ordinal } => Device::of_context(*context, id, ordinal),
        }
    }
}
