//! What a device is, and how much of its memory is in use.

use crate::driver::DriverVersion;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use warpsmith_types::Chip;

/// Which device of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceId {
    /// The CUDA card of that number.
    Cuda(u32),
    /// An emulated chip; each made has a number of its own.
    Emulated(u32),
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceId::Cuda(n) => write!(f, "cuda:{n}"),
            DeviceId::Emulated(n) => write!(f, "emulated:{n}"),
        }
    }
}

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Which it is.
    pub id: DeviceId,
    /// What people call it: "NVIDIA H200", "emulated H200".
    pub name: String,
    /// Sizes, limits and the target to compile for.
    pub chip: Chip,
    /// Memory in bytes; `None` when it ends with the host's.
    pub memory: Option<u64>,
    /// The CUDA version of the driver; `None` for an emulated device.
    pub driver: Option<DriverVersion>,
}

/// The buffers that live on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// How many.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Counts buffers as they come and go.
#[derive(Default)]
pub(super) struct Usage {
    buffers: AtomicU64,
    bytes: AtomicU64,
}

impl Usage {
    pub(super) fn now(&self) -> MemoryUse {
        MemoryUse { buffers: self.buffers.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    pub(super) fn add(&self, bytes: usize) {
        self.buffers.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.buffers.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}
