//! A card in use: its context, the errors that end it, its memory.

use super::failure::{Failure, OUT_OF_MEMORY};
use super::pool::Pool;
use super::properties::{Properties, device, recent_enough};
use super::queue::StreamHandle;
use super::{Driver, driver};
use crate::error::Error;
use crate::launched::{Recent, Suspect};
use cudarc::driver::sys::{CUcontext, CUdevice};
use std::sync::{Mutex, OnceLock};

/// A context of a card. As a rule the primary one, which PyTorch and CUDA's runtime use too; it is retained and never
/// released: making it takes the better part of a second, and memory may be freed as late as when the process ends.
/// Another library's own context is that library's to destroy.
pub(crate) struct Context {
    pub(super) driver: &'static Driver,
    pub(super) raw: CUcontext,
    /// Whether it is there as long as the process.
    primary: bool,
    /// The driver's handle of the card.
    pub(super) card: CUdevice,
    /// What stream-ordered memory comes from, once some was asked for.
    pub(super) pool: Mutex<Option<Pool>>,
    /// Other cards that were let reach this one's memory.
    pub(super) readers: Mutex<Vec<CUdevice>>,
    /// What the card is.
    pub(crate) properties: Properties,
    lost: OnceLock<Lost>,
    pub(super) recent: Recent,
}

// SAFETY: a context handle may be used from any thread; the driver's functions lock what they share.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

struct Lost {
    reason: String,
    suspects: Vec<Suspect>,
}

impl Context {
    /// Retains the primary context of a card.
    pub(crate) fn open(ordinal: u32) -> Result<Context, Error> {
        let driver = driver()?;
        let properties = driver.properties(ordinal)?;
        recent_enough(&properties)?;
        let device = device(driver, ordinal)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { driver.api.cuDevicePrimaryCtxRetain(&mut raw, device) }.map_err(|e| e.with(&driver.api))?;
        let mut context = Context::new(driver, raw, device, properties);
        context.primary = true;
        Ok(context)
    }

    pub(super) fn new(driver: &'static Driver, raw: CUcontext, card: CUdevice, properties: Properties) -> Context {
        Context {
            driver,
            raw,
            primary: false,
            card,
            pool: Mutex::default(),
            readers: Mutex::default(),
            properties,
            lost: OnceLock::new(),
            recent: Recent::default(),
        }
    }

    /// Whether nothing runs on it any more.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Makes this the thread's context until the guard goes; another library's is put back then. A thread that had none
    /// keeps a primary one, as CUDA's runtime has it: its next call need not set it.
    pub(super) fn enter(&self) -> Result<Entered<'_>, Error> {
        if let Some(lost) = self.lost.get() {
            return Err(Error::DeviceLost { reason: lost.reason.clone(), suspects: lost.suspects.clone() });
        }
        let api = &self.driver.api;
        let mut before = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { api.cuCtxGetCurrent(&mut before) }.map_err(|e| self.explain(e))?;
        if before == self.raw {
            return Ok(Entered { context: self, restore: None });
        }
        // SAFETY: the context is retained.
        unsafe { api.cuCtxSetCurrent(self.raw) }.map_err(|e| self.explain(e))?;
        let stays = self.primary && before.is_null();
        Ok(Entered { context: self, restore: (!stays).then_some(before) })
    }

    /// The error for a failed call. One that ends the context is remembered, with the launches that may be its cause.
    pub(super) fn explain(&self, failure: Failure) -> Error {
        if !failure.loses_the_device() {
            return failure.with(&self.driver.api);
        }
        let lost =
            self.lost.get_or_init(|| Lost { reason: failure.text(&self.driver.api), suspects: self.recent.suspects() });
        Error::DeviceLost { reason: lost.reason.clone(), suspects: lost.suspects.clone() }
    }

    /// Waits for all streams.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        let _entered = self.enter()?;
        let before = self.recent.now();
        // SAFETY: the context is current.
        unsafe { self.driver.api.cuCtxSynchronize() }.map_err(|e| self.explain(e))?;
        self.recent.finished(None, before);
        Ok(())
    }

    /// Allocates device memory, aligned to 256 bytes at least.
    pub(crate) fn allocate(&self, bytes: usize, name: &str) -> Result<u64, Error> {
        let _entered = self.enter()?;
        let _relaxed = self.relaxed();
        let mut address = 0;
        // SAFETY: the pointer is to a live integer.
        unsafe { self.driver.api.cuMemAlloc_v2(&mut address, bytes) }.map_err(|e| self.no_room(e, bytes, name))?;
        Ok(address)
    }

    /// The error for a failed allocation; the context is current.
    pub(super) fn no_room(&self, failure: Failure, bytes: usize, name: &str) -> Error {
        if failure.code != OUT_OF_MEMORY {
            return self.explain(failure);
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to live integers.
        if let Err(e) = unsafe { self.driver.api.cuMemGetInfo_v2(&mut free, &mut total) } {
            return self.explain(e);
        }
        Error::OutOfMemory {
            device: self.properties.name.clone(),
            name: name.into(),
            bytes: bytes as u64,
            free: free as u64,
            total: total as u64,
        }
    }

    /// Frees what `allocate` gave, after all that uses it has run. Silent: a lost device has no memory to give back.
    pub(crate) fn free(&self, address: u64) {
        if let Ok(_entered) = self.enter() {
            let _relaxed = self.relaxed();
            // SAFETY: the address came from `allocate` and its owner is gone. The driver waits for work in flight.
            let _ = unsafe { self.driver.api.cuMemFree_v2(address) };
        }
    }

    /// Copies to the device, in the stream's order, and waits for it.
    pub(crate) fn upload(&self, address: u64, bytes: &[u8], stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: the slice is readable for its length and outlives the copy, which is waited for below.
        unsafe { self.driver.api.cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), stream.raw()) }
            .map_err(|e| self.explain(e))?;
        self.synchronize_stream(stream)
    }

    /// Copies from the device, in the stream's order, and waits for it.
    pub(crate) fn download(&self, address: u64, bytes: &mut [u8], stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the slice is writable for its length, borrowed alone, and outlives the copy, which is waited for below.
        unsafe { self.driver.api.cuMemcpyDtoHAsync_v2(to, address, bytes.len(), stream.raw()) }
            .map_err(|e| self.explain(e))?;
        self.synchronize_stream(stream)
    }

    /// Copies within the device, in the stream's order.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: touches device memory only.
        unsafe { self.driver.api.cuMemcpyDtoDAsync_v2(to, from, bytes, stream.raw()) }.map_err(|e| self.explain(e))
    }

    /// Sets bytes of the device, in the stream's order.
    pub(crate) fn fill(&self, address: u64, byte: u8, bytes: usize, stream: StreamHandle) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: touches device memory only.
        unsafe { self.driver.api.cuMemsetD8Async(address, byte, bytes, stream.raw()) }.map_err(|e| self.explain(e))
    }
}

/// While it lives, the context is the thread's current one.
pub(super) struct Entered<'a> {
    context: &'a Context,
    restore: Option<CUcontext>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.restore {
            // SAFETY: what was current before may be so again; null means none.
            let _ = unsafe { self.context.driver.api.cuCtxSetCurrent(before) };
        }
    }
}
