//! Memory in a stream's order.

use super::Device;
use super::backend::PoolUse;
use super::buffer::{Buffer, Origin};
use super::stream::Stream;
use crate::error::Error;

/// What a device's pool keeps at a synchronisation unless [`Device::set_pool_threshold`] says otherwise, in bytes: enough
/// that a step of an engine does not ask the card again, little beside what other libraries need.
pub const POOL_THRESHOLD: u64 = 256 << 20;

impl Stream {
    /// Memory from the device's pool, there for what is queued on this stream after it. When the buffer is dropped, the
    /// memory goes back in the stream's order: what was queued before may still use it. Other streams must be ordered with
    /// both by events. Nothing waits.
    ///
    /// # Errors
    /// When the memory is used up, the card has no pools, or the stream's work is being written down for a graph.
    pub fn allocate(&self, bytes: usize, name: &str) -> Result<Buffer, Error> {
        let device = self.device();
        let address = device.backend().allocate_ordered(bytes, name, self.handle())?;
        Ok(Buffer::new(device, address, bytes, name, Origin::Ordered(self.clone())))
    }
}

impl Device {
    /// How much of the pool of [`Stream::allocate`] is in use.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn pool_use(&self) -> Result<PoolUse, Error> {
        self.backend().pool_use()
    }

    /// Gives the pool's unused memory back to the device until it holds no more than `keep` bytes, or all that it holds is
    /// used.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn trim_pool(&self, keep: usize) -> Result<(), Error> {
        self.backend().trim_pool(keep)
    }

    /// How many bytes the pool may keep at a synchronisation; [`POOL_THRESHOLD`] at first.
    ///
    /// # Errors
    /// When the device is lost, or has no pools.
    pub fn set_pool_threshold(&self, bytes: u64) -> Result<(), Error> {
        self.backend().set_pool_threshold(bytes)
    }
}
