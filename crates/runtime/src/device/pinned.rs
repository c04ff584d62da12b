//! Page-locked memory of the host, and copies that go on by themselves.

use super::Device;
use super::buffer::Buffer;
use super::info::{Counted, Kind};
use super::stream::Stream;
use crate::driver::PinnedMemory;
use crate::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToDevice,
    ToHost,
}

/// The bytes of either kind of device.
pub(super) enum PinnedBytes {
    Card(PinnedMemory),
    Emulated(Box<[u8]>),
}

/// A copy that has been started. It owns the host's side; dropped, it lets the copy end first.
pub(super) trait Moving: Send {
    fn is_done(&self) -> Result<bool, Error>;
    /// Waits, and gives the host's side back.
    fn wait(self: Box<Self>) -> Result<PinnedBytes, Error>;
}

/// Page-locked memory of the host: bytes that a device copies from and to by itself while the host goes on.
///
/// ```
/// use warpsmith_runtime::{Device, Error};
/// use warpsmith_types::Chip;
///
/// let device = Device::emulated(Chip::H200);
/// let stream = device.create_stream()?;
/// let buffer = device.allocate(4, "x")?;
/// let mut pinned = device.pinned(4)?;
/// pinned.copy_from_slice(&[1, 2, 3, 4]);
/// // The memory goes with the copy, and comes back when that has ended.
/// let upload = stream.upload_from(pinned, &buffer, 0)?;
/// let pinned = upload.wait()?;
/// let download = stream.download_to(pinned, &buffer, 0)?;
/// assert_eq!(*download.wait()?, [1, 2, 3, 4]);
/// # Ok::<(), Error>(())
/// ```
pub struct Pinned {
    bytes: PinnedBytes,
    counted: Counted,
}

impl Device {
    /// Page-locked memory of the host, zeroed.
    ///
    /// # Errors
    /// When the host has no more, or the device is lost.
    pub fn pinned(&self, bytes: usize) -> Result<Pinned, Error> {
        let memory = self.backend().allocate_pinned(bytes)?;
        Ok(Pinned { bytes: memory, counted: Counted::new(self, Kind::Pinned, bytes) })
    }
}

impl Pinned {
    /// The device that it was asked of. All cards can use it.
    pub fn device(&self) -> &Device {
        self.counted.device()
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            PinnedBytes::Card(memory) => memory,
            PinnedBytes::Emulated(memory) => memory,
        }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            PinnedBytes::Card(memory) => memory,
            PinnedBytes::Emulated(memory) => memory,
        }
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} bytes for {})", self.len(), self.device().info().id)
    }
}

impl Stream {
    /// Queues a copy of all of `from` to the bytes of `to` from `offset` on. The memory goes with the copy, so that nobody
    /// changes it meanwhile; [`Transfer::wait`] gives it back.
    ///
    /// # Errors
    /// When some would lie past the buffer's end, buffer or memory are another device's, or the stream's work is being
    /// written down for a graph. The memory is given up then.
    pub fn upload_from(&self, from: Pinned, to: &Buffer, offset: usize) -> Result<Transfer, Error> {
        self.transfer(Direction::ToDevice, from, to, offset)
    }

    /// Queues a copy of the bytes of `from` from `offset` on, that fills all of `to`. The memory goes with the copy, so that
    /// nobody reads it meanwhile; [`Transfer::wait`] gives it back.
    ///
    /// # Errors
    /// As [`Stream::upload_from`].
    pub fn download_to(&self, to: Pinned, from: &Buffer, offset: usize) -> Result<Transfer, Error> {
        self.transfer(Direction::ToHost, to, from, offset)
    }

    fn transfer(
        &self,
        direction: Direction,
        pinned: Pinned,
        buffer: &Buffer,
        offset: usize,
    ) -> Result<Transfer, Error> {
        let here = self.device();
        if buffer.device() != here {
            return Err(here.other(&format!("buffer `{}`", buffer.name()), buffer.device()));
        }
        if !pinned.device().backend().meets(here.backend()) {
            return Err(here.other("the page-locked memory", pinned.device()));
        }
        let what = if direction == Direction::ToDevice { "upload" } else { "download" };
        let address = buffer.range(what, offset, pinned.len())?;
        let Pinned { bytes, counted } = pinned;
        Ok(Transfer { moving: here.backend().transfer(direction, address, bytes, self.handle())?, counted })
    }
}

/// A copy on its way, which owns the host's side of it. Dropped, it waits.
#[must_use = "dropping a transfer waits for it"]
pub struct Transfer {
    moving: Box<dyn Moving>,
    counted: Counted,
}

impl Transfer {
    /// Whether it has ended. An emulated device does what is queued to find out.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.moving.is_done()
    }

    /// Waits for its end, and gives the memory back.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn wait(self) -> Result<Pinned, Error> {
        Ok(Pinned { bytes: self.moving.wait()?, counted: self.counted })
    }
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer(on {})", self.counted.device().info().id)
    }
}
