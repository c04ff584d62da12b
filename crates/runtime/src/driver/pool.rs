//! Memory in a stream's order, from a pool of the context's own.

use super::context::Context;
use super::properties::attribute_of;
use super::queue::StreamHandle;
use crate::error::Error;
use cudarc::driver::sys::{
    CUdevice, CUdevice_attribute, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType,
    CUmemLocation, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
};
use std::ffi::c_void;
use std::sync::PoisonError;

/// A pool of the driver.
#[derive(Clone, Copy)]
pub(crate) struct Pool(CUmemoryPool);

/// How much of a device's pool is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Bytes that the pool holds of the device.
    pub reserved: u64,
    /// Of these, bytes that buffers use.
    pub used: u64,
    /// The most that it ever held.
    pub reserved_high: u64,
    /// The most that buffers ever used.
    pub used_high: u64,
}

/// Memory of that card.
pub(super) fn location(card: CUdevice) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: card }
}

/// Reading and writing from that card.
pub(super) fn access(card: CUdevice) -> CUmemAccessDesc {
    CUmemAccessDesc { location: location(card), flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE }
}

impl Context {
    /// Memory that is there when the stream gets to it.
    pub(crate) fn allocate_ordered(&self, bytes: usize, name: &str, stream: StreamHandle) -> Result<u64, Error> {
        if self.is_capturing(stream)? {
            return Err(Error::Capturing { what: "an allocation" });
        }
        let pool = self.pool()?;
        let _entered = self.enter()?;
        // Work of another stream may be written down meanwhile.
        let _relaxed = self.relaxed();
        let mut address = 0;
        // SAFETY: pool and stream are live, and the pointer is to a live integer.
        unsafe { self.driver.api.cuMemAllocFromPoolAsync(&mut address, bytes, pool.0, stream.raw()) }
            .map_err(|e| self.no_room(e, bytes, name))?;
        Ok(address)
    }

    /// Gives it back when the stream gets there. Silent, as `free`.
    pub(crate) fn free_ordered(&self, address: u64, stream: StreamHandle) {
        match self.is_capturing(stream) {
            // A capture would write it down for each replay; so it is given back at once.
            Ok(true) => self.free(address),
            Ok(false) => {
                if let Ok(_entered) = self.enter() {
                    let _relaxed = self.relaxed();
                    // SAFETY: the address came from `allocate_ordered` and its owner is gone.
                    let _ = unsafe { self.driver.api.cuMemFreeAsync(address, stream.raw()) };
                }
            }
            Err(_) => {}
        }
    }

    /// How much the pool holds; nothing before its first use.
    pub(crate) fn pool_use(&self) -> Result<PoolUse, Error> {
        use CUmemPool_attribute::*;
        let Some(pool) = *self.pool.lock().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(PoolUse::default());
        };
        let _entered = self.enter()?;
        let get = |attribute| {
            let mut value = 0u64;
            // SAFETY: the pool is live, and these attributes are 64-bit integers.
            unsafe { self.driver.api.cuMemPoolGetAttribute(pool.0, attribute, (&raw mut value).cast()) }
                .map_err(|e| self.explain(e))?;
            Ok::<_, Error>(value)
        };
        Ok(PoolUse {
            reserved: get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            used: get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            reserved_high: get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
            used_high: get(CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
        })
    }

    /// Gives unused memory back until the pool holds no more than that, or all that it holds is used.
    pub(crate) fn trim_pool(&self, keep: usize) -> Result<(), Error> {
        let Some(pool) = *self.pool.lock().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
        let _entered = self.enter()?;
        // SAFETY: the pool is live.
        unsafe { self.driver.api.cuMemPoolTrimTo(pool.0, keep) }.map_err(|e| self.explain(e))
    }

    /// What the pool may keep at a synchronisation.
    pub(crate) fn set_pool_threshold(&self, bytes: u64) -> Result<(), Error> {
        let pool = self.pool()?;
        let _entered = self.enter()?;
        self.set_threshold(pool, bytes)
    }

    fn set_threshold(&self, pool: Pool, mut bytes: u64) -> Result<(), Error> {
        let value: *mut c_void = (&raw mut bytes).cast();
        let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is live, and the attribute is a 64-bit integer.
        unsafe { self.driver.api.cuMemPoolSetAttribute(pool.0, threshold, value) }.map_err(|e| self.explain(e))
    }

    /// The pool, made at the first call.
    fn pool(&self) -> Result<Pool, Error> {
        let mut kept = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = *kept {
            return Ok(pool);
        }
        let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        if attribute_of(self.driver, self.card, supported)? == 0 {
            return Err(Error::Unsupported { device: self.properties.name.clone(), what: "memory pools" });
        }
        let _entered = self.enter()?;
        let _relaxed = self.relaxed();
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: location(self.card),
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the properties are live during the call, and the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuMemPoolCreate(&mut raw, &properties) }.map_err(|e| self.explain(e))?;
        let pool = Pool(raw);
        let ready = self.open_pool(pool);
        match ready {
            Ok(()) => *kept = Some(pool),
            // SAFETY: the pool came from `cuMemPoolCreate`, and nobody else has it.
            Err(_) => drop(unsafe { self.driver.api.cuMemPoolDestroy(raw) }),
        }
        ready.map(|()| pool)
    }

    fn open_pool(&self, pool: Pool) -> Result<(), Error> {
        self.set_threshold(pool, crate::device::POOL_THRESHOLD)?;
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        readers.into_iter().try_for_each(|card| self.let_reach(pool, card))
    }

    /// Lets another card reach the pool's memory.
    pub(super) fn let_reach(&self, pool: Pool, card: CUdevice) -> Result<(), Error> {
        let access = access(card);
        // SAFETY: the pool is live, and the pointer is to one live description.
        unsafe { self.driver.api.cuMemPoolSetAccess(pool.0, &access, 1) }.map_err(|e| self.explain(e))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pool) = pool
            && let Ok(_entered) = self.enter()
        {
            // SAFETY: the pool came from `cuMemPoolCreate`; buffers hold the context, so none is left.
            let _ = unsafe { self.driver.api.cuMemPoolDestroy(pool.0) };
        }
    }
}
