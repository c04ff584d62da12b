//! The address space as one device sees it: what others own is there only where it is mapped.

use super::global::{Allocation, Global, Place};
use super::multicast::Multicast;

/// The memory that one device can reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'m> {
    global: &'m Global,
    device: Owner,
    /// Whether it shows what is not mapped, too.
    whole: bool,
}

/// Who an allocation belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Owner(pub u8);

impl Owner {
    /// The most devices of a system.
    pub(crate) const MOST: usize = 63;
    /// The host, whose memory every device can reach.
    pub(crate) const HOST: Owner = Owner(63);

    /// The bit that stands for it where an allocation is mapped.
    pub(crate) fn bit(self) -> u64 {
        1 << (self.0 & 63)
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Owner::HOST => f.write_str("the host"),
            Owner(n) => write!(f, "device {n}"),
        }
    }
}

impl<'m> View<'m> {
    pub(crate) fn new(global: &'m Global, device: Owner) -> View<'m> {
        View { global, device, whole: false }
    }

    /// The device that looks.
    pub(crate) fn device(self) -> Owner {
        self.device
    }

    /// The same, of all memory: what an access through a multicast range sees.
    pub(crate) fn whole(self) -> View<'m> {
        View { whole: true, ..self }
    }

    /// All memory, reachable or not.
    pub(crate) fn all(self) -> &'m Global {
        self.global
    }

    /// The allocation at an index that [`View::index`] gave.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> Option<&'m Allocation> {
        self.global.get(index)
    }

    /// The index of the allocation that holds an address, when the device can reach it.
    pub(crate) fn index(self, address: u64) -> Option<usize> {
        self.global.index(address).filter(|index| self.reaches(*index))
    }

    fn reaches(self, index: usize) -> bool {
        self.whole || self.global.get(index).is_some_and(|a| a.mapped & self.device.bit() != 0)
    }

    /// The allocation that holds an address, when the device can reach it.
    pub(crate) fn find(self, address: u64) -> Option<&'m Allocation> {
        self.global.get(self.index(address)?)
    }

    /// How an address lies to the allocations.
    pub(crate) fn place(self, address: u64) -> Place {
        self.global.place(address)
    }

    /// The multicast range that holds an address.
    pub(crate) fn multicast(self, address: u64) -> Option<&'m Multicast> {
        self.global.multicast(address)
    }

    /// Reads a range of one allocation and says whether all of it was written; `None` when the device can not reach it.
    pub(crate) fn copy_out(self, address: u64, out: &mut [u8]) -> Option<bool> {
        self.find(address)?.copy_out(address, out)
    }

    /// Writes a range of one allocation; false when the device can not reach it. `alone`: no other thread is running.
    pub(crate) fn copy_in(self, address: u64, data: &[u8], alone: bool) -> bool {
        self.find(address).is_some_and(|a| a.copy_in(address, data, alone))
    }
}
