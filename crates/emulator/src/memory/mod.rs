//! Memory: the device's address space in sparse pages, and the small flat memories of blocks and threads.

mod bulk;
mod flat;
mod global;
mod multicast;
mod page;
mod proxy;
mod shadow;
mod view;

pub(crate) use flat::Flat;
pub(crate) use global::{Allocation, Global, Place};
pub(crate) use multicast::Multicast;
pub(crate) use page::{PAGE, Page};
pub(crate) use proxy::Writer;
pub(crate) use shadow::{Group, LaneWords, Order, Shadow, Stretch, Touch};
pub(crate) use view::{Owner, View};

use std::fmt;

/// An address in a [`System`](crate::System).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: u64) -> DevicePointer {
        DevicePointer(self.0.wrapping_add(bytes))
    }
}

impl fmt::Display for DevicePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// What a byte that was never written reads as.
pub(crate) const POISON: u8 = 0xcb;
/// The same, a word of it.
pub(crate) const POISON_WORD: u32 = 0xcbcb_cbcb;

/// Where shared memory is seen by generic addresses. Allocations lie far above these windows.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000_0000;
/// Where a thread's local memory is seen by generic addresses.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000_0000;
/// Where a kernel's parameters are seen by generic addresses.
pub(crate) const PARAM_WINDOW: u64 = 0x0300_0000_0000;
/// Size of each window.
pub(crate) const WINDOW: u64 = 1 << 32;
/// The first address of an allocation.
pub(crate) const GLOBAL_BASE: u64 = 0x7000_0000_0000;
/// Shared memory starts after what the system keeps for itself, as on the hardware; address 0 is then an error.
pub(crate) const SHARED_BASE: u32 = 1024;

/// Bits of the bytes `offset..offset + bytes` in a bitmap word of 32 bytes; the range does not cross such a word.
#[inline(always)]
pub(crate) fn byte_bits(offset: usize, bytes: usize) -> u32 {
    ((1u64 << bytes) - 1).wrapping_shl(offset as u32 & 31) as u32
}
