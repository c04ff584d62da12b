//! Where memory is, and the devices there.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use warpsmith::dsl::DeviceId;
use warpsmith::runtime::{self, Device, Error};
use warpsmith::types::Chip;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The host.
    Host,
    /// The CUDA card of that number.
    Card(u32),
    /// An emulated device that was asked for by name, by its number here.
    Emulated(u32),
}

/// No device has this number.
const HOST: DeviceId = DeviceId(u32::MAX);

/// Emulated devices, by their names; a device's number is its place here.
static EMULATED: Mutex<Vec<(String, Device)>> = Mutex::new(Vec::new());

/// Cards that are found without a lock.
static CARDS: [OnceLock<Device>; 16] = [const { OnceLock::new() }; 16];

impl Place {
    /// What arguments of a launch call it.
    pub(crate) fn id(self) -> DeviceId {
        match self {
            Place::Host => HOST,
            Place::Card(card) => runtime::DeviceId::Cuda(card).into(),
            Place::Emulated(number) => {
                emulated().get(number as usize).map_or(HOST, |(_, device)| device.info().id.into())
            }
        }
    }

    /// The device, unless it is the host.
    pub(crate) fn device(self) -> Result<Option<Device>, Error> {
        match self {
            Place::Host => Ok(None),
            Place::Card(number) => card(number).map(Some),
            Place::Emulated(number) => Ok(emulated().get(number as usize).map(|(_, device)| device.clone())),
        }
    }

    /// In words: `cuda:0`, `emulated:H200`, `the host`.
    pub(crate) fn name(self) -> String {
        match self {
            Place::Host => "the host".into(),
            Place::Card(number) => format!("cuda:{number}"),
            Place::Emulated(number) => {
                emulated().get(number as usize).map_or_else(String::new, |(name, _)| name.clone())
            }
        }
    }

    /// The place of a name; `None` when it means nothing. The same name is the same place.
    pub(crate) fn named(name: &str) -> Result<Option<Place>, Error> {
        let (kind, which) = match name.split_once(':') {
            Some((kind, which)) => (kind, Some(which)),
            None => (name, None),
        };
        let chip = which.map_or(Some(Chip::H200), Chip::by_name);
        let make: fn(Chip) -> Device = match kind {
            "cuda" => {
                let Ok(number) = which.map_or(Ok(0), str::parse) else { return Ok(None) };
                return card(number).map(|_| Some(Place::Card(number)));
            }
            "emulated" => Device::emulated,
            "idle" => Device::idle,
            _ => return Ok(None),
        };
        let Some(chip) = chip else { return Ok(None) };
        let name = format!("{kind}:{}", chip.name);
        let mut all = emulated();
        let at = all.iter().position(|(n, _)| *n == name);
        let at = at.unwrap_or_else(|| {
            all.push((name, make(chip)));
            all.len() - 1
        });
        Ok(Some(Place::Emulated(at as u32)))
    }
}

fn emulated() -> MutexGuard<'static, Vec<(String, Device)>> {
    EMULATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The card of a number, by its primary context: that of PyTorch, CuPy and JAX.
fn card(number: u32) -> Result<Device, Error> {
    let Some(slot) = CARDS.get(number as usize) else { return Device::cuda(number) };
    if let Some(device) = slot.get() {
        return Ok(device.clone());
    }
    let device = Device::cuda(number)?;
    Ok(slot.get_or_init(|| device).clone())
}
