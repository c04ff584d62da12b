//! Memory and events that other processes see.

use super::Device;
use super::backend::{EventHandle, IPC_BYTES};
use super::buffer::{Buffer, Origin};
use super::info::{Counted, Kind};
use super::stream::Event;
use crate::error::Error;

/// What a backend exports.
#[derive(Debug)]
pub(super) enum Exported {
    /// A handle of the driver, and where the memory begins in what it opens.
    Handle { handle: [u8; IPC_BYTES], offset: u64 },
    /// A file descriptor, and the size of what it stands for.
    #[cfg(unix)]
    Descriptor { descriptor: Option<std::os::fd::OwnedFd>, bytes: u64 },
}

/// What another process needs to see memory of this one: bytes that go through any pipe, and for memory of
/// [`Device::allocate_shareable`] a file descriptor, which goes over a Unix socket or as an inherited one.
///
/// The memory lives as long as the exporting process and its buffer; the two processes agree on who writes when, by
/// [`Event::export`] or by messages.
#[derive(Debug)]
pub struct MemoryHandle {
    exported: Exported,
    len: u64,
}

/// Bytes in front of each handle: what it is, and which form it has.
const MAGIC: [u8; 6] = *b"wsmem1";
const HANDLE: u8 = 0;
const DESCRIPTOR: u8 = 1;

impl MemoryHandle {
    /// Bytes that [`MemoryHandle::from_bytes`] takes in the other process, at most 128.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        match &self.exported {
            Exported::Handle { handle, offset } => {
                bytes.extend([HANDLE, 0]);
                bytes.extend(self.len.to_le_bytes());
                bytes.extend(offset.to_le_bytes());
                bytes.extend(handle);
            }
            #[cfg(unix)]
            Exported::Descriptor { bytes: whole, .. } => {
                bytes.extend([DESCRIPTOR, 0]);
                bytes.extend(self.len.to_le_bytes());
                bytes.extend(whole.to_le_bytes());
            }
        }
        bytes
    }

    /// The handle of [`MemoryHandle::to_bytes`]; its file descriptor, when it has one, is given by
    /// [`MemoryHandle::with_descriptor`].
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<MemoryHandle, Error> {
        let wrong = |reason: &str| Error::Handle { what: "memory", reason: reason.into() };
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| wrong("the bytes are no handle of this version"))?;
        let (&[kind, _], rest) = rest.split_first_chunk::<2>().ok_or_else(|| wrong("it is too short"))?;
        let (len, rest) = rest.split_first_chunk::<8>().ok_or_else(|| wrong("it is too short"))?;
        let (second, rest) = rest.split_first_chunk::<8>().ok_or_else(|| wrong("it is too short"))?;
        let (len, second) = (u64::from_le_bytes(*len), u64::from_le_bytes(*second));
        let exported = match kind {
            HANDLE => {
                let handle = rest.try_into().map_err(|_| wrong("it has another length"))?;
                Exported::Handle { handle, offset: second }
            }
            #[cfg(unix)]
            DESCRIPTOR if rest.is_empty() && len <= second => Exported::Descriptor { descriptor: None, bytes: second },
            _ => return Err(wrong("it is of a kind that is not known here")),
        };
        Ok(MemoryHandle { exported, len })
    }

    /// The file descriptor that must go along with the bytes; `None` when the bytes are enough.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        match &self.exported {
            Exported::Descriptor { descriptor, .. } => descriptor.as_ref().map(AsFd::as_fd),
            Exported::Handle { .. } => None,
        }
    }

    /// With the file descriptor that came along with the bytes.
    #[cfg(unix)]
    pub fn with_descriptor(self, descriptor: std::os::fd::OwnedFd) -> MemoryHandle {
        match self.exported {
            Exported::Descriptor { bytes, .. } => {
                MemoryHandle { exported: Exported::Descriptor { descriptor: Some(descriptor), bytes }, ..self }
            }
            Exported::Handle { .. } => self,
        }
    }

    /// The size of the memory in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Device {
    /// Memory that is exported as a file descriptor, on its own pages: its size is rounded up to the card's granularity,
    /// 2 MiB as a rule. Devices that were let reach this one's memory before reach it too.
    ///
    /// # Errors
    /// When the memory is used up, or the device has none of this kind, as emulated ones.
    pub fn allocate_shareable(&self, bytes: usize, name: &str) -> Result<Buffer, Error> {
        let mapping = self.backend().create_shareable(bytes, name)?;
        Ok(Buffer::new(self, mapping.address, bytes, name, Origin::Shareable(mapping)))
    }

    /// Memory that another process exported, as a buffer. Dropping it closes it here and frees nothing there.
    ///
    /// # Errors
    /// When the handle is wrong, comes from this process, lacks its file descriptor, or the device has no such memory, as
    /// emulated ones.
    pub fn import(&self, handle: &MemoryHandle, name: &str) -> Result<Buffer, Error> {
        let Ok(len) = usize::try_from(handle.len) else {
            return Err(Error::Handle { what: "memory", reason: format!("it has {} bytes", handle.len) });
        };
        let (address, mapping) = self.backend().import(&handle.exported)?;
        let origin = match mapping {
            Some(mapping) => Origin::ImportedMapping(mapping),
            None => Origin::Imported(address),
        };
        let offset = match &handle.exported {
            Exported::Handle { offset, .. } => *offset,
            #[cfg(unix)]
            Exported::Descriptor { .. } => 0,
        };
        // A wrong offset is a wrong address of the device, and no more.
        Ok(Buffer::new(self, address.wrapping_add(offset), len, name, origin))
    }

    /// A new event that other processes can wait for and record; it keeps no time.
    ///
    /// # Errors
    /// When the device is lost, or has none of this kind, as emulated ones.
    pub fn create_shared_event(&self) -> Result<Event, Error> {
        Ok(self.event(self.backend().create_shared_event()?))
    }

    /// An event that another process exported.
    ///
    /// # Errors
    /// When the bytes are no handle of one, or one of this process.
    pub fn import_event(&self, bytes: &[u8]) -> Result<Event, Error> {
        let handle = bytes.try_into().map_err(|_| Error::Handle {
            what: "event",
            reason: format!("it has {} bytes; expected {IPC_BYTES}", bytes.len()),
        })?;
        Ok(self.event(self.backend().open_event(handle)?))
    }

    fn event(&self, handle: EventHandle) -> Event {
        Event::new(handle, Counted::new(self, Kind::Event, 0))
    }
}

impl Buffer {
    /// What another process maps this memory with, by [`Device::import`]. The buffer must outlive its use there.
    ///
    /// # Errors
    /// For memory of [`Stream::allocate`](crate::Stream::allocate), of another process, and of emulated devices.
    pub fn export(&self) -> Result<MemoryHandle, Error> {
        let device = self.device();
        let mapping = match self.origin() {
            Origin::Allocated | Origin::Foreign => None,
            Origin::Shareable(mapping) => Some(mapping),
            Origin::Ordered(_) => return Err(device.lacks("export of stream-ordered memory")),
            Origin::Imported(_) | Origin::ImportedMapping(_) => {
                return Err(device.lacks("export of another process' memory"));
            }
        };
        let exported = device.backend().export(self.address(), mapping)?;
        Ok(MemoryHandle { exported, len: self.len() as u64 })
    }
}

impl Event {
    /// The bytes with which another process opens this event, by [`Device::import_event`].
    ///
    /// # Errors
    /// When it was not made by [`Device::create_shared_event`].
    pub fn export(&self) -> Result<Vec<u8>, Error> {
        Ok(self.device().backend().export_event(self.handle())?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_go_through_bytes() {
        let exported = Exported::Handle { handle: std::array::from_fn(|i| i as u8), offset: 512 };
        let bytes = MemoryHandle { exported, len: 1 << 40 }.to_bytes();
        let back = MemoryHandle::from_bytes(&bytes).unwrap();
        assert_eq!((back.len(), back.to_bytes()), (1 << 40, bytes.clone()));
        assert!(matches!(back.exported, Exported::Handle { offset: 512, handle } if handle[63] == 63));
        for wrong in [&bytes[..bytes.len() - 1], &bytes[1..], &bytes[..7], &[], &[&MAGIC[..], &[9; 90]].concat()] {
            assert!(MemoryHandle::from_bytes(wrong).is_err(), "{wrong:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_descriptor_goes_beside_the_bytes() {
        let bytes =
            MemoryHandle { exported: Exported::Descriptor { descriptor: None, bytes: 4096 }, len: 100 }.to_bytes();
        let back = MemoryHandle::from_bytes(&bytes).unwrap();
        assert!(back.descriptor().is_none());
        let back = back.with_descriptor(std::fs::File::open("/dev/null").unwrap().into());
        assert!(back.descriptor().is_some());
        let mut larger = bytes;
        larger[8..16].copy_from_slice(&4097u64.to_le_bytes());
        assert!(MemoryHandle::from_bytes(&larger).is_err());
    }
}
