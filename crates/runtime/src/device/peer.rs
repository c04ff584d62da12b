//! Devices that reach each other's memory.

use super::Device;
use crate::error::Error;

impl Device {
    /// Whether kernels here can be let reach memory of `other`. A device reaches its own.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn can_access(&self, other: &Device) -> Result<bool, Error> {
        Ok(self == other || (self.meets(other) && self.backend().can_access(other.backend())?))
    }

    /// Lets kernels here reach all memory of `other`, present and to come, but what was made to be exported before. Once is
    /// enough; the other direction is a call of its own. Copies need none of this, and are faster with it.
    ///
    /// # Errors
    /// When nothing links the two.
    pub fn enable_peer_access(&self, other: &Device) -> Result<(), Error> {
        if self == other {
            return Ok(());
        }
        if !self.can_access(other)? {
            return Err(Error::NoPeerAccess { here: self.named_fully(), there: other.named_fully() });
        }
        self.backend().enable_peer_access(other.backend())
    }

    /// Whether copies and events go between the two: both are cards, or emulated chips of one node.
    pub(super) fn meets(&self, other: &Device) -> bool {
        self == other || self.backend().meets(other.backend())
    }
}
