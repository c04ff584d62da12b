//! What a card is.

use super::Driver;
use crate::error::Error;
use cudarc::driver::sys::{CUdevice, CUdevice_attribute};
use std::ffi::{CStr, c_char};
use warpsmith_types::{Chip, Target};

/// What the driver says of a card.
#[derive(Clone, Debug)]
pub(crate) struct Properties {
    /// The product's name.
    pub(crate) name: String,
    /// Compute capability.
    pub(crate) capability: (u32, u32),
    /// Memory in bytes.
    pub(crate) memory: u64,
    /// Sizes and limits.
    pub(crate) chip: Chip,
}

impl Properties {
    pub(super) fn read(driver: &Driver, ordinal: u32) -> Result<Properties, Error> {
        use CUdevice_attribute::*;
        let device = device(driver, ordinal)?;
        let get = |attribute| attribute_of(driver, device, attribute);

        let mut name = [0 as c_char; 256];
        // SAFETY: the buffer has the length given with it.
        unsafe { driver.api.cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device) }
            .map_err(|e| e.with(&driver.api))?;
        // SAFETY: the driver ends the name with a NUL within the buffer, which was all NULs before.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut memory = 0;
        // SAFETY: the pointer is to a live integer.
        unsafe { driver.api.cuDeviceTotalMem_v2(&mut memory, device) }.map_err(|e| e.with(&driver.api))?;

        let capability =
            (get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?, get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?);
        let known = Chip::ALL.into_iter().find(|c| name.contains(c.name));
        // Kilohertz, two transfers a cycle; only for chips that are not in the table.
        let bandwidth = 2
            * 1000
            * u64::from(get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?)
            * u64::from(get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?)
            / 8;
        let clusters = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)? != 0;
        let multiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let portable = if clusters { PORTABLE_CLUSTER } else { 1 };
        // A slice of a chip, or one with fewer multiprocessors, may have no group of them that holds a larger one.
        let whole = known.filter(|c| multiprocessors >= c.multiprocessors);
        let chip = Chip {
            name: known.map_or("GPU", |c| c.name),
            target: target(capability),
            multiprocessors,
            threads_per_multiprocessor: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_per_multiprocessor: get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            threads_per_block: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            registers_per_multiprocessor: get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared_per_multiprocessor: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            shared_per_block: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cluster: portable,
            largest_cluster: whole.map_or(portable, |c| c.largest_cluster),
            l2: get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            bandwidth: known.map_or(bandwidth, |c| c.bandwidth),
        };
        Ok(Properties { name, capability, memory: memory as u64, chip })
    }
}

/// Blocks of the largest cluster that every chip with clusters has; larger ones must be opted into.
pub(super) const PORTABLE_CLUSTER: u32 = 8;

/// Refuses a card that lacks what every kernel here needs.
pub(super) fn recent_enough(properties: &Properties) -> Result<(), Error> {
    if properties.capability >= (8, 0) {
        return Ok(());
    }
    Err(Error::CardTooOld { name: properties.name.clone(), capability: properties.capability })
}

/// The driver's handle of the card with that number.
pub(super) fn device(driver: &Driver, ordinal: u32) -> Result<CUdevice, Error> {
    let count = driver.count()?;
    if count == 0 {
        return Err(Error::NoCard);
    }
    if ordinal >= count {
        return Err(Error::NoSuchCard { ordinal, count });
    }
    let mut device = 0;
    // SAFETY: the pointer is to a live handle, which the driver sets.
    unsafe { driver.api.cuDeviceGet(&mut device, ordinal as i32) }.map_err(|e| e.with(&driver.api))?;
    Ok(device)
}

pub(super) fn attribute_of(driver: &Driver, device: CUdevice, attribute: CUdevice_attribute) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: the pointer is to a live integer; the handle came from the driver.
    unsafe { driver.api.cuDeviceGetAttribute(&mut value, attribute, device) }.map_err(|e| e.with(&driver.api))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// From Hopper on, each chip has instructions of its own, and they are what we compile for.
fn target((major, minor): (u32, u32)) -> Target {
    Target { number: (major * 10 + minor) as u16, specific: major >= 9 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_name_targets() {
        assert_eq!(target((9, 0)), Target::SM_90A);
        assert_eq!(target((10, 0)), Target::SM_100A);
        assert_eq!(target((10, 3)), Target::SM_103A);
        assert_eq!(target((12, 0)), Target::SM_120A);
        assert_eq!(target((8, 0)), Target::SM_80);
        assert_eq!(target((8, 9)), Target::SM_89);
    }
}
