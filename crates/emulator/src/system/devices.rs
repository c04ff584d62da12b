//! Devices, links between them, and who reaches whose memory.

use super::System;
use crate::Error;
use crate::memory::{DevicePointer, Owner};
use std::fmt;
use warpsmith_types::Chip;

/// A device of a [`System`], by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub u8);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}", self.0)
    }
}

impl From<Device> for Owner {
    fn from(device: Device) -> Owner {
        Owner(device.0)
    }
}

impl System {
    /// A machine with these devices, without links. Of more than 63, only so many are there.
    pub fn with_devices(chips: impl IntoIterator<Item = Chip>) -> Result<System, Error> {
        let chips: Vec<Chip> = chips.into_iter().collect();
        let Some(first) = chips.first().filter(|_| chips.len() <= Owner::MOST) else {
            return Err(Error::Devices { count: chips.len(), most: Owner::MOST });
        };
        let own: Vec<u64> = (0..chips.len()).map(|n| 1 << n).collect();
        Ok(System { links: own.clone(), peers: own, ..System::new(*first) }.with_chips(chips))
    }

    fn with_chips(mut self, chips: Vec<Chip>) -> System {
        self.chips = chips;
        self
    }

    /// A machine with these devices, each linked to each.
    pub fn linked(chips: impl IntoIterator<Item = Chip>) -> Result<System, Error> {
        let mut system = System::with_devices(chips)?;
        let all = (1 << system.chips.len()) - 1;
        system.links.fill(all);
        Ok(system)
    }

    /// The devices.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = Device> + use<> {
        (0..self.chips.len() as u8).map(Device)
    }

    /// The chip of a device.
    pub fn chip_of(&self, device: Device) -> Result<&Chip, Error> {
        self.chips.get(usize::from(device.0)).ok_or(self.no_device(device))
    }

    fn no_device(&self, device: Device) -> Error {
        Error::NoDevice { device, devices: self.chips.len() }
    }

    pub(super) fn check_device(&self, device: Device) -> Result<Owner, Error> {
        self.chip_of(device).map(|_| Owner::from(device))
    }

    /// Links two devices: each can now be let reach memory of the other.
    pub fn link(&mut self, a: Device, b: Device) -> Result<(), Error> {
        let (x, y) = (self.check_device(a)?, self.check_device(b)?);
        self.links[usize::from(a.0)] |= y.bit();
        self.links[usize::from(b.0)] |= x.bit();
        Ok(())
    }

    /// Memory of a device for `bytes`, 256-byte aligned and uninitialised, under a name for reports. Other devices and
    /// the host reach it where it is mapped.
    pub fn allocate_on(&mut self, device: Device, bytes: usize, name: &str) -> Result<DevicePointer, Error> {
        let owner = self.check_device(device)?;
        self.memory.allocate_for(owner, self.peers[usize::from(device.0)], bytes, name)
    }

    /// Memory of the host that all devices reach, as `cudaHostAlloc` gives it.
    pub fn allocate_host(&mut self, bytes: usize, name: &str) -> Result<DevicePointer, Error> {
        self.memory.allocate_for(Owner::HOST, u64::MAX, bytes, name)
    }

    /// Lets a device reach the allocation that holds an address, as `cuMemSetAccess` does.
    pub fn map(&mut self, pointer: DevicePointer, device: Device) -> Result<(), Error> {
        let to = self.check_device(device)?;
        let owner = self.memory.find(pointer.0).map(|a| a.owner);
        if let Some(owner) = owner.filter(|owner| *owner != Owner::HOST) {
            self.check_link(Device(owner.0), device)?;
        }
        self.memory.map(pointer, to.bit())
    }

    /// Lets the host reach the allocation that holds an address.
    pub fn map_to_host(&mut self, pointer: DevicePointer) -> Result<(), Error> {
        self.memory.map(pointer, Owner::HOST.bit())
    }

    /// Lets a device reach all memory of another, present and to come, as `cudaDeviceEnablePeerAccess` does.
    pub fn map_peer(&mut self, device: Device, of: Device) -> Result<(), Error> {
        let (to, owner) = (self.check_device(device)?, self.check_device(of)?);
        self.check_link(of, device)?;
        self.peers[usize::from(of.0)] |= to.bit();
        self.memory.map_all_of(owner, to.bit());
        Ok(())
    }

    /// The same, for all devices that are linked.
    pub fn map_peers(&mut self) {
        for (n, links) in self.links.iter().enumerate() {
            self.peers[n] |= links;
            self.memory.map_all_of(Owner(n as u8), *links);
        }
    }

    fn check_link(&self, a: Device, b: Device) -> Result<(), Error> {
        match self.links.get(usize::from(a.0)).is_some_and(|links| links & Owner::from(b).bit() != 0) {
            true => Ok(()),
            false => Err(Error::NotLinked { a, b }),
        }
    }

    /// A multicast range, for `multimem` instructions: `bytes` of addresses that stand for the same offset from each of
    /// these pointers, one into memory of each device.
    pub fn multicast(&mut self, bytes: usize, name: &str, members: &[DevicePointer]) -> Result<DevicePointer, Error> {
        let mut owned = vec![];
        for pointer in members {
            let nearest = self.memory.place(pointer.0).in_words("; ");
            let owner = self.memory.find(pointer.0).map(|a| a.owner);
            owned.push((owner.ok_or(Error::OutOfBounds { pointer: *pointer, bytes, nearest })?, *pointer));
        }
        owned.sort();
        let twice = owned.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
        let of_host = owned.iter().find(|(owner, _)| *owner == Owner::HOST).map(|(_, pointer)| *pointer);
        if let Some(pointer) = twice.or(of_host) {
            return Err(Error::Multicast { name: name.into(), pointer });
        }
        self.memory.bind(bytes, name, owned)
    }
}
