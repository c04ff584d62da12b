//! Memory of a device.

use super::Device;
use super::backend::{Mapping, StreamHandle};
use super::info::{Counted, Kind};
use super::stream::Stream;
use crate::counters;
use crate::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of a device, given back when dropped; another library's is left alone. Its bytes are uninitialised until written.
///
/// Copies between host and device run in the order of the default stream, which waits for the streams that
/// [`Device::create_stream`] makes, and are done on return.
pub struct Buffer {
    device: Device,
    address: u64,
    len: usize,
    name: Box<str>,
    id: u64,
    origin: Origin,
    _counted: Option<Counted>,
}

/// Where memory comes from, and so how it is given back.
pub(super) enum Origin {
    /// From the device.
    Allocated,
    /// From the pool, in the order of that stream.
    Ordered(Stream),
    /// From the device, on pages of its own.
    Shareable(Mapping),
    /// From another library, which keeps it.
    Foreign,
    /// From another process, opened at that address.
    Imported(u64),
    /// From another process, mapped.
    ImportedMapping(Mapping),
}

impl Device {
    /// Allocates memory; the name is for messages. No bytes are no error: the buffer has an address all the same.
    ///
    /// # Errors
    /// When the memory is used up.
    pub fn allocate(&self, bytes: usize, name: &str) -> Result<Buffer, Error> {
        let address = self.backend().allocate(bytes, name)?;
        Ok(Buffer::new(self, address, bytes, name, Origin::Allocated))
    }

    /// Allocates memory and copies bytes into it.
    ///
    /// # Errors
    /// When the memory is used up.
    pub fn upload(&self, bytes: &[u8], name: &str) -> Result<Buffer, Error> {
        let buffer = self.allocate(bytes.len(), name)?;
        buffer.upload(bytes)?;
        Ok(buffer)
    }
}

impl Buffer {
    pub(super) fn new(device: &Device, address: u64, len: usize, name: &str, origin: Origin) -> Buffer {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let kind = match origin {
            Origin::Allocated | Origin::Ordered(_) | Origin::Shareable(_) => Some(Kind::Buffer),
            Origin::Imported(_) | Origin::ImportedMapping(_) => Some(Kind::Imported),
            Origin::Foreign => None,
        };
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let counted = kind.map(|kind| Counted::new(device, kind, len));
        let buffer = Buffer { device: device.clone(), address, len, name: name.into(), id, origin, _counted: counted };
        if buffer.counts() {
            counters::ALLOCATED.add(len as u64);
        }
        buffer
    }

    /// Whether it has memory of its own.
    fn counts(&self) -> bool {
        matches!(self.origin, Origin::Allocated | Origin::Ordered(_) | Origin::Shareable(_))
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its address on the device, aligned to 256 bytes unless it is another library's. A view is an address within it,
    /// aligned or not.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The name that it was allocated with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A number that no other buffer of this process has or had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Copies `bytes` to its start.
    ///
    /// # Errors
    /// When they are more than it has.
    pub fn upload(&self, bytes: &[u8]) -> Result<(), Error> {
        self.upload_at(0, bytes)
    }

    /// Copies `bytes` to its bytes from `offset` on.
    ///
    /// # Errors
    /// When some would lie past its end.
    pub fn upload_at(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let address = self.range("upload", offset, bytes.len())?;
        if bytes.is_empty() { Ok(()) } else { self.device.backend().upload(address, bytes, StreamHandle::DEFAULT) }
    }

    /// Copies its first bytes to `bytes`.
    ///
    /// # Errors
    /// When they are more than it has.
    pub fn download(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.download_at(0, bytes)
    }

    /// Copies its bytes from `offset` on to `bytes`.
    ///
    /// # Errors
    /// When some would lie past its end.
    pub fn download_at(&self, offset: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let address = self.range("download", offset, bytes.len())?;
        if bytes.is_empty() { Ok(()) } else { self.device.backend().download(address, bytes, StreamHandle::DEFAULT) }
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.len];
        self.download(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes what is not written after this show: an emulated device takes the bytes for uninitialised, a card gets
    /// 0xff bytes, which are NaN in every float format.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn poison(&self) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        self.device.backend().poison(self.address, self.len, StreamHandle::DEFAULT)
    }

    /// Whether all of its bytes have been written; `None` on a card, which can not tell.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn is_initialized(&self) -> Result<Option<bool>, Error> {
        self.device.backend().is_initialized(self.address, self.len)
    }

    /// Sets every byte, in the stream's order.
    ///
    /// # Errors
    /// When the stream is another device's.
    pub fn fill(&self, byte: u8, stream: &Stream) -> Result<(), Error> {
        self.on(stream)?;
        if self.is_empty() {
            return Ok(());
        }
        self.device.backend().fill(self.address, byte, self.len, stream.handle())
    }

    /// Copies all of `from` to its start, in the stream's order. The two may be of two devices; then the stream is one of
    /// either.
    ///
    /// # Errors
    /// When `from` is larger, the stream is a third device's, or nothing goes between the two devices.
    pub fn copy_from(&self, from: &Buffer, stream: &Stream) -> Result<(), Error> {
        if *stream.device() != from.device {
            self.on(stream)?;
        }
        if !self.device.meets(&from.device) {
            return Err(self.device.other(&format!("buffer `{}`", from.name), &from.device));
        }
        let to = self.range("copy", 0, from.len)?;
        if from.is_empty() {
            return Ok(());
        }
        let backend = stream.device().backend();
        if from.device == self.device {
            return backend.copy(to, from.address, from.len, stream.handle());
        }
        let (there, here) = (self.device.backend(), from.device.backend());
        backend.copy_between((there, to), (here, from.address), from.len, stream.handle())
    }

    fn on(&self, stream: &Stream) -> Result<(), Error> {
        if *stream.device() == self.device { Ok(()) } else { Err(self.device.other("the stream", stream.device())) }
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The address of those bytes, when they are within the buffer.
    pub(super) fn range(&self, what: &'static str, offset: usize, bytes: usize) -> Result<u64, Error> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.len => Ok(self.address + offset as u64),
            _ => Err(Error::OutOfRange { what, name: self.name.to_string(), offset, bytes, len: self.len }),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let backend = self.device.backend();
        match &self.origin {
            Origin::Allocated => backend.free(self.address),
            Origin::Ordered(stream) => backend.free_ordered(self.address, stream.handle()),
            Origin::Shareable(mapping) | Origin::ImportedMapping(mapping) => backend.unmap(*mapping),
            Origin::Imported(address) => backend.close(*address),
            Origin::Foreign => {}
        }
        if self.counts() {
            counters::FREED.add(self.len as u64);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, {} bytes at {:#x} on {})", self.name, self.len, self.address, self.device.info().id)
    }
}
