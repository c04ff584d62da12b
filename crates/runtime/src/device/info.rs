//! What a device is, and what lives on it.

use super::Device;
use crate::driver::DriverVersion;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use warpsmith_types::Chip;

/// Which device of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceId {
    /// The CUDA card of that number, by its primary context.
    Cuda(u32),
    /// Another library's own context on a card; each has a number of its own.
    Context(u32),
    /// An emulated chip; each made has a number of its own.
    Emulated(u32),
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceId::Cuda(n) => write!(f, "cuda:{n}"),
            DeviceId::Context(n) => write!(f, "context:{n}"),
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

/// What lives on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Buffers with memory of their own.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pieces of page-locked memory of the host.
    pub pinned: u64,
    /// Their bytes.
    pub pinned_bytes: u64,
    /// Buffers in memory of another process.
    pub imported: u64,
}

/// Other things that live on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveObjects {
    /// Streams that were created here.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Graphs.
    pub graphs: u64,
}

/// Kinds of things that are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Buffer,
    Pinned,
    Imported,
    Stream,
    Event,
    Graph,
}

const KINDS: usize = 6;

/// Counts things as they come and go.
#[derive(Default)]
pub(super) struct Usage {
    counts: [AtomicU64; KINDS],
    bytes: [AtomicU64; KINDS],
}

impl Usage {
    fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize].load(Ordering::Relaxed)
    }

    fn bytes(&self, kind: Kind) -> u64 {
        self.bytes[kind as usize].load(Ordering::Relaxed)
    }

    pub(super) fn memory(&self) -> MemoryUse {
        MemoryUse {
            buffers: self.count(Kind::Buffer),
            bytes: self.bytes(Kind::Buffer),
            pinned: self.count(Kind::Pinned),
            pinned_bytes: self.bytes(Kind::Pinned),
            imported: self.count(Kind::Imported),
        }
    }

    pub(super) fn objects(&self) -> LiveObjects {
        LiveObjects {
            streams: self.count(Kind::Stream),
            events: self.count(Kind::Event),
            graphs: self.count(Kind::Graph),
        }
    }
}

/// One thing that is counted as long as this lives.
pub(super) struct Counted {
    device: Device,
    kind: Kind,
    bytes: u64,
}

impl Counted {
    pub(super) fn new(device: &Device, kind: Kind, bytes: usize) -> Counted {
        let usage = &device.shared.usage;
        usage.counts[kind as usize].fetch_add(1, Ordering::Relaxed);
        usage.bytes[kind as usize].fetch_add(bytes as u64, Ordering::Relaxed);
        Counted { device: device.clone(), kind, bytes: bytes as u64 }
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let usage = &self.device.shared.usage;
        usage.counts[self.kind as usize].fetch_sub(1, Ordering::Relaxed);
        usage.bytes[self.kind as usize].fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
