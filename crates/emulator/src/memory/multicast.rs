//! Multicast ranges: addresses that stand for the same offset in one allocation of each of several devices.

use super::{DevicePointer, Global, Owner};

/// A range of addresses that `multimem` instructions use.
#[derive(Debug)]
pub(crate) struct Multicast {
    pub base: u64,
    pub bytes: u64,
    /// What it is called in reports.
    pub name: String,
    /// Where it leads on each device, in ascending order of devices.
    pub members: Vec<(Owner, DevicePointer)>,
}

impl Multicast {
    /// Whether an address is in it.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    /// The addresses that one of the range stands for.
    pub(crate) fn targets(&self, address: u64) -> impl Iterator<Item = (Owner, u64)> {
        let offset = address.wrapping_sub(self.base);
        self.members.iter().map(move |(owner, base)| (*owner, base.0.wrapping_add(offset)))
    }
}

impl Global {
    /// The multicast range that holds an address.
    pub(crate) fn multicast(&self, address: u64) -> Option<&Multicast> {
        self.multicasts.iter().find(|m| m.holds(address))
    }
}
