//! Memory and events that other processes see.

use super::context::Context;
use super::failure::{Failure, INVALID_CONTEXT};
use super::pool::{access, location};
use super::properties::attribute_of;
use super::queue::{EventHandle, INTERPROCESS, NO_TIMING};
use crate::error::Error;
use cudarc::driver::sys::{
    CUdevice_attribute, CUipcEventHandle, CUipcMemHandle, CUmemAllocationGranularity_flags, CUmemAllocationHandleType,
    CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1 as Flags, CUmemAllocationType,
};
use std::sync::PoisonError;

/// Bytes of a handle that the driver makes for other processes.
pub(crate) const IPC_BYTES: usize = 64;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: the only way to open memory.
const LAZY_PEER_ACCESS: u32 = 1;
const DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Memory that was created by itself, and where it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Where it begins here.
    pub(crate) address: u64,
    /// Its size, in whole granules.
    pub(crate) bytes: usize,
    memory: u64,
}

impl Context {
    /// Of memory that can be exported as a file descriptor.
    fn shareable(&self) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: DESCRIPTOR,
            location: location(self.card),
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: Flags { compressionType: 0, gpuDirectRDMACapable: 0, usage: 0, reserved: [0; 4] },
        }
    }

    /// Memory that other processes can map.
    pub(crate) fn create_shareable(&self, bytes: usize, name: &str) -> Result<Mapping, Error> {
        let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
        if attribute_of(self.driver, self.card, supported)? == 0 {
            let what = "memory that is exported as a file descriptor";
            return Err(Error::Unsupported { device: self.properties.name.clone(), what });
        }
        let _entered = self.enter()?;
        let _relaxed = self.relaxed();
        let api = &self.driver.api;
        let properties = self.shareable();
        let granularity = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let mut granule = 0;
        // SAFETY: the properties are live during the call, and the pointer is to a live integer.
        unsafe { api.cuMemGetAllocationGranularity(&mut granule, &properties, granularity) }
            .map_err(|e| self.explain(e))?;
        let whole = bytes.max(1).checked_next_multiple_of(granule.max(1)).unwrap_or(usize::MAX);
        let mut memory = 0;
        // SAFETY: as above.
        unsafe { api.cuMemCreate(&mut memory, whole, &properties, 0) }.map_err(|e| self.no_room(e, bytes, name))?;
        self.map(memory, whole)
    }

    /// Maps memory for this card and those that were let reach its memory; lets go of it when that fails. The context is
    /// current.
    fn map(&self, memory: u64, bytes: usize) -> Result<Mapping, Error> {
        let api = &self.driver.api;
        let mut mapping = Mapping { address: 0, bytes, memory };
        let mut cards = vec![self.card];
        cards.extend_from_slice(&self.readers.lock().unwrap_or_else(PoisonError::into_inner));
        let access: Vec<_> = cards.into_iter().map(access).collect();
        // SAFETY: the pointer is to a live integer, and no place is asked for.
        let reserved = unsafe { api.cuMemAddressReserve(&mut mapping.address, bytes, 0, 0, 0) };
        let mapped = reserved
            // SAFETY: the range was reserved for this, and the memory is as large.
            .and_then(|()| unsafe { api.cuMemMap(mapping.address, bytes, 0, memory, 0) })
            // SAFETY: the range is mapped, and the descriptions are live.
            .and_then(|()| unsafe { api.cuMemSetAccess(mapping.address, bytes, access.as_ptr(), access.len()) });
        match mapped {
            Ok(()) => Ok(mapping),
            Err(e) => {
                self.undo(mapping);
                Err(self.explain(e))
            }
        }
    }

    /// Unmaps and lets go. What was not reached is refused by the driver. The context is current.
    fn undo(&self, mapping: Mapping) {
        let api = &self.driver.api;
        // SAFETY: the range and the memory came from `map`, and their owner is gone.
        unsafe {
            if mapping.address != 0 {
                let _ = api.cuMemUnmap(mapping.address, mapping.bytes);
                let _ = api.cuMemAddressFree(mapping.address, mapping.bytes);
            }
            let _ = api.cuMemRelease(mapping.memory);
        }
    }

    /// Gives back what `create_shareable` or `import_descriptor` gave, after all that uses it has run. Silent.
    pub(crate) fn unmap(&self, mapping: Mapping) {
        if let Ok(_entered) = self.enter() {
            let _relaxed = self.relaxed();
            let _ = self.synchronize();
            self.undo(mapping);
        }
    }

    /// A file descriptor that stands for the memory.
    #[cfg(unix)]
    pub(crate) fn export_descriptor(&self, mapping: &Mapping) -> Result<std::os::fd::OwnedFd, Error> {
        use std::os::fd::FromRawFd;
        let _entered = self.enter()?;
        let mut descriptor = -1i32;
        let out = (&raw mut descriptor).cast();
        // SAFETY: the memory is live and was created for this; a descriptor is an integer, to which the pointer is.
        unsafe { self.driver.api.cuMemExportToShareableHandle(out, mapping.memory, DESCRIPTOR, 0) }
            .map_err(|e| self.explain(e))?;
        // SAFETY: the driver made the descriptor for the caller, who has to close it.
        Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(descriptor) })
    }

    /// Maps memory that another process exported, `bytes` of it in whole granules.
    #[cfg(unix)]
    pub(crate) fn import_descriptor(&self, from: std::os::fd::BorrowedFd<'_>, bytes: usize) -> Result<Mapping, Error> {
        use std::os::fd::AsRawFd;
        let _entered = self.enter()?;
        let _relaxed = self.relaxed();
        let mut memory = 0;
        // The driver takes the descriptor itself for the pointer.
        let descriptor = std::ptr::without_provenance_mut(from.as_raw_fd() as usize);
        // SAFETY: the descriptor is open, and the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuMemImportFromShareableHandle(&mut memory, descriptor, DESCRIPTOR) }
            .map_err(|e| self.no_handle("memory", e))?;
        self.map(memory, bytes)
    }

    /// What another process opens the memory with, and where the address lies in what it opens.
    pub(crate) fn export_memory(&self, address: u64) -> Result<([u8; IPC_BYTES], u64), Error> {
        let _entered = self.enter()?;
        let api = &self.driver.api;
        let (mut base, mut size) = (0, 0);
        // SAFETY: the pointers are to live integers.
        unsafe { api.cuMemGetAddressRange_v2(&mut base, &mut size, address) }.map_err(|e| self.explain(e))?;
        let mut handle = CUipcMemHandle { reserved: [0; IPC_BYTES] };
        // SAFETY: the pointer is to a live handle, which the driver sets.
        unsafe { api.cuIpcGetMemHandle(&mut handle, base) }.map_err(|e| self.explain(e))?;
        Ok((handle.reserved.map(|c| c as u8), address - base))
    }

    /// Opens memory of another process.
    pub(crate) fn open_memory(&self, handle: &[u8; IPC_BYTES]) -> Result<u64, Error> {
        let _entered = self.enter()?;
        let _relaxed = self.relaxed();
        let handle = CUipcMemHandle { reserved: handle.map(|b| b as _) };
        let mut address = 0;
        // SAFETY: the pointer is to a live integer; the driver checks the handle.
        unsafe { self.driver.api.cuIpcOpenMemHandle_v2(&mut address, handle, LAZY_PEER_ACCESS) }
            .map_err(|e| self.no_handle("memory", e))?;
        Ok(address)
    }

    /// Closes what `open_memory` opened, after all that uses it has run. Silent.
    pub(crate) fn close_memory(&self, address: u64) {
        if let Ok(_entered) = self.enter() {
            let _relaxed = self.relaxed();
            let _ = self.synchronize();
            // SAFETY: the address came from `open_memory`, and its owner is gone.
            let _ = unsafe { self.driver.api.cuIpcCloseMemHandle(address) };
        }
    }

    /// A new event that other processes can open; it keeps no time.
    pub(crate) fn create_shared_event(&self) -> Result<EventHandle, Error> {
        self.create_event_with(INTERPROCESS | NO_TIMING)
    }

    /// What another process opens the event with.
    pub(crate) fn export_event(&self, event: EventHandle) -> Result<[u8; IPC_BYTES], Error> {
        let _entered = self.enter()?;
        let mut handle = CUipcEventHandle { reserved: [0; IPC_BYTES] };
        // SAFETY: the event is live, and the pointer is to a live handle, which the driver sets.
        unsafe { self.driver.api.cuIpcGetEventHandle(&mut handle, event.raw()) }.map_err(|e| self.explain(e))?;
        Ok(handle.reserved.map(|c| c as u8))
    }

    /// Opens an event of another process.
    pub(crate) fn open_event(&self, handle: &[u8; IPC_BYTES]) -> Result<EventHandle, Error> {
        let _entered = self.enter()?;
        let handle = CUipcEventHandle { reserved: handle.map(|b| b as _) };
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle, which the driver sets; it checks the given one.
        unsafe { self.driver.api.cuIpcOpenEventHandle(&mut event, handle) }.map_err(|e| self.no_handle("event", e))?;
        Ok(EventHandle(event as usize as u64))
    }

    /// The error for a handle that the driver does not open.
    fn no_handle(&self, what: &'static str, failure: Failure) -> Error {
        let reason = match failure.code {
            INVALID_CONTEXT => "it is of this process, which needs none".into(),
            _ if failure.loses_the_device() => return self.explain(failure),
            _ => format!("the driver says {}", failure.text(&self.driver.api)),
        };
        Error::Handle { what, reason }
    }
}
