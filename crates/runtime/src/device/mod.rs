//! Devices: a CUDA card or an emulated chip, and what lives on them.
//!
//! | file | what |
//! |---|---|
//! | `backend` | the trait that both kinds of device implement |
//! | `cuda`, `emulated` | the two |
//! | `assembler` | who turns PTX into a card's code: the driver, or `ptxas` |
//! | `info` | what a device is |
//! | `buffer` | memory |
//! | `pool` | memory in a stream's order |
//! | `pinned` | page-locked memory of the host, and copies that go on by themselves |
//! | `peer` | devices that reach each other's memory |
//! | `share` | memory and events that other processes see |
//! | `foreign` | memory, streams and contexts that another library made |
//! | `stream` | streams and events |
//! | `graph` | launches written down once and replayed |
//! | `function` | kernels loaded from PTX, and their launches |
//! | `shape` | what a launch looks like, and the limits it is held to |
//! | `tensor_map` | how TMA sees a tensor |

mod assembler;
mod backend;
mod buffer;
mod cuda;
mod emulated;
mod foreign;
mod function;
mod graph;
mod info;
mod peer;
mod pinned;
mod pool;
mod shape;
mod share;
mod stream;
mod tensor_map;

pub use buffer::Buffer;
pub use function::{Function, LaunchOutcome, Ptx};
pub use graph::{Graph, GraphUpdate};
pub use info::{DeviceId, DeviceInfo, LiveObjects, MemoryUse};
pub use pinned::{Pinned, Transfer};
pub use pool::POOL_THRESHOLD;
pub use shape::LaunchShape;
pub use share::MemoryHandle;
pub use stream::{Event, Stream};
pub use tensor_map::{TENSOR_MAP_BYTES, TensorMap};

use crate::driver::{DriverVersion, driver};
use crate::error::Error;
use backend::Backend;
use info::Usage;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use warpsmith_emulator::Options;
use warpsmith_types::Chip;

/// A CUDA card or an emulated chip. A clone is the same device.
#[derive(Clone)]
pub struct Device {
    shared: Arc<Shared>,
}

struct Shared {
    info: DeviceInfo,
    usage: Usage,
    backend: Box<dyn Backend>,
}

/// Cards that have been opened: asking again gives the same device.
static CARDS: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());

impl Device {
    /// The CUDA card of that number, from 0.
    ///
    /// # Errors
    /// When there is no driver, no such card, or one that is too old.
    pub fn cuda(ordinal: u32) -> Result<Device, Error> {
        let mut cards = CARDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = cards.get(&ordinal) {
            return Ok(device.clone());
        }
        let (backend, info) = cuda::open(ordinal)?;
        let device = Device::new(info, Box::new(backend));
        cards.insert(ordinal, device.clone());
        Ok(device)
    }

    /// How many CUDA cards there are. A driver that finds none is not an error here; no driver is.
    ///
    /// # Errors
    /// When there is no driver, or one that is too old.
    pub fn cuda_count() -> Result<u32, Error> {
        match driver().and_then(|d| d.count()) {
            Err(Error::NoCard) => Ok(0),
            other => other,
        }
    }

    /// What CUDA cards there are, without starting to use any.
    ///
    /// # Errors
    /// When there is no driver, or one that is too old.
    pub fn cuda_cards() -> Result<Vec<DeviceInfo>, Error> {
        (0..Device::cuda_count()?).map(cuda::info).collect()
    }

    /// The version of the CUDA driver here.
    ///
    /// # Errors
    /// When there is no driver, or one that is too old.
    pub fn cuda_driver() -> Result<DriverVersion, Error> {
        Ok(driver()?.version)
    }

    /// A new emulated chip with memory of its own, every check on.
    pub fn emulated(chip: Chip) -> Device {
        Device::emulated_with(chip, Options::default())
    }

    /// A new emulated chip, with the emulator's options for every launch on it.
    pub fn emulated_with(chip: Chip, options: Options) -> Device {
        Device::on_host("emulated", chip, emulated::Emulated::alone(chip, options))
    }

    /// A new emulated chip that takes launches and does not run them. What a launch costs here is the host's part of it:
    /// for measurements, and for tests of that part.
    pub fn idle(chip: Chip) -> Device {
        Device::on_host("idle", chip, emulated::Emulated::idle(chip))
    }

    /// New emulated chips in one address space, each linked to each, as the cards of a server are. Their kernels run side
    /// by side, those of default streams too, at the next synchronisation of anything.
    ///
    /// # Errors
    /// When there are none, or more than 63.
    pub fn emulated_node(chips: &[Chip]) -> Result<Vec<Device>, Error> {
        Device::emulated_node_with(chips, Options::default())
    }

    /// The same, with the emulator's options for every run.
    ///
    /// # Errors
    /// As [`Device::emulated_node`].
    pub fn emulated_node_with(chips: &[Chip], options: Options) -> Result<Vec<Device>, Error> {
        let backends = emulated::Emulated::node(chips, options)?.into_iter();
        Ok(backends.zip(chips).map(|(backend, chip)| Device::on_host("emulated", *chip, backend)).collect())
    }

    fn on_host(kind: &str, chip: Chip, backend: emulated::Emulated) -> Device {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let info = DeviceInfo {
            id: DeviceId::Emulated(NEXT.fetch_add(1, Ordering::Relaxed)),
            name: format!("{kind} {}", chip.name),
            chip,
            memory: None,
            driver: None,
        };
        Device::new(info, Box::new(backend))
    }

    /// The first CUDA card when there is one to use, else an emulated H200.
    pub fn best() -> Device {
        Device::cuda(0).unwrap_or_else(|_| Device::emulated(Chip::H200))
    }

    /// What `WARPSMITH_DEVICE` names, as [`Device::named`]; an emulated H200 when it is not set. This is the device of
    /// tests: asking for a card where there is none fails, and never falls back.
    ///
    /// # Errors
    /// When the variable names nothing, or a card that can not be used.
    pub fn from_env() -> Result<Device, Error> {
        const VARIABLE: &str = "WARPSMITH_DEVICE";
        match std::env::var(VARIABLE) {
            Err(_) => Ok(Device::emulated(Chip::H200)),
            Ok(name) => Device::named(&name)?.ok_or(Error::Environment {
                variable: VARIABLE,
                got: name,
                expected: "cuda, cuda:N, emulated or emulated:CHIP (A100, H100, H200, B200)",
            }),
        }
    }

    /// The device of a name: `cuda`, `cuda:1`, `emulated`, `emulated:A100`. `None` when the name means nothing.
    ///
    /// # Errors
    /// When it names a card that can not be used.
    pub fn named(name: &str) -> Result<Option<Device>, Error> {
        let (kind, which) = match name.split_once(':') {
            Some((kind, which)) => (kind, Some(which)),
            None => (name, None),
        };
        match kind {
            "cuda" => which.map_or(Ok(0), str::parse).ok().map(Device::cuda).transpose(),
            "emulated" => Ok(which.map_or(Some(Chip::H200), Chip::by_name).map(Device::emulated)),
            _ => Ok(None),
        }
    }

    fn new(info: DeviceInfo, backend: Box<dyn Backend>) -> Device {
        Device { shared: Arc::new(Shared { info, usage: Usage::default(), backend }) }
    }

    /// What it is.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// Its sizes and limits, and the target to compile for.
    pub fn chip(&self) -> &Chip {
        &self.shared.info.chip
    }

    /// Whether it is emulated.
    pub fn is_emulated(&self) -> bool {
        matches!(self.shared.info.id, DeviceId::Emulated(_))
    }

    /// The memory that lives on it.
    pub fn memory_use(&self) -> MemoryUse {
        self.shared.usage.memory()
    }

    /// The streams, events and graphs that live on it.
    pub fn live_objects(&self) -> LiveObjects {
        self.shared.usage.objects()
    }

    /// Waits for all that is queued on any stream. On an emulated device the outcome is that of all that ran since somebody
    /// was last told; a card's is empty.
    ///
    /// # Errors
    /// When something that was queued broke the device.
    pub fn synchronize(&self) -> Result<LaunchOutcome, Error> {
        self.backend().synchronize()
    }

    fn backend(&self) -> &dyn Backend {
        &*self.shared.backend
    }

    /// The error for a thing that lives on `there` in a call on this device.
    fn other(&self, what: &str, there: &Device) -> Error {
        Error::OtherDevice { what: what.into(), here: self.named_fully(), there: there.named_fully() }
    }

    /// Number and name: "cuda:0 (NVIDIA H200)".
    fn named_fully(&self) -> String {
        format!("{} ({})", self.info().id, self.info().name)
    }

    /// The error for something that this device does not do.
    pub(crate) fn lacks(&self, what: &'static str) -> Error {
        Error::Unsupported { device: self.info().name.clone(), what }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Device {}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}, {})", self.info().id, self.info().name)
    }
}
