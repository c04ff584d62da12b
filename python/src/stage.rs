//! Tensors in the host's memory for a device that is asked for: copied there, strides, gaps and shared memory as they are,
//! and what was written copied back.

use crate::error::Failure;
use crate::parameter::Parameter;
use warpsmith::dsl::TensorArg;
use warpsmith::runtime::{Buffer, Device};

/// Memory of the host that tensors have in common, and its copy on the device.
struct Area {
    start: u64,
    end: u64,
    name: &'static str,
    /// Some of it is written.
    written: bool,
    /// Some of it is read, or is a gap between what is written, and so must be there.
    read: bool,
    copy: Option<Buffer>,
}

/// Addresses that a vector access tells apart are the same on the device.
const ALIGNMENT: u64 = 16;

/// The copies of a call's tensors.
pub(crate) struct Staged {
    areas: Vec<Area>,
}

impl Staged {
    /// Copies tensors to a device, and has the arguments say so.
    ///
    /// # Safety
    /// The tensors' elements are in the host's memory, and stay until this is dropped.
    pub(crate) unsafe fn new<'a>(
        device: &Device,
        tensors: impl Iterator<Item = (&'a Parameter, &'a mut TensorArg)>,
    ) -> Result<Staged, Failure> {
        let tensors: Vec<_> = tensors.collect();
        let mut areas: Vec<Area> = vec![];
        for (parameter, arg) in &tensors {
            let (start, end) = (arg.address, arg.address + arg.span());
            let dense = arg.span() == arg.shape.iter().product::<usize>() as u64 * arg.dtype.bytes() as u64;
            let read = !parameter.output || !dense;
            let mut area = Area { start, end, name: parameter.name, written: parameter.output, read, copy: None };
            // One that reaches into several makes them one.
            areas.retain(|other| {
                let apart = other.end <= area.start || area.end <= other.start;
                if !apart {
                    area.start = area.start.min(other.start);
                    area.end = area.end.max(other.end);
                    area.written |= other.written;
                    area.read |= other.read;
                }
                apart
            });
            areas.push(area);
        }
        for area in &mut areas {
            let (before, bytes) = ((area.start % ALIGNMENT) as usize, (area.end - area.start) as usize);
            let buffer = device.allocate(before + bytes, area.name)?;
            if area.read && bytes > 0 {
                // SAFETY: as the caller promises: elements, and what lies between elements of one tensor.
                let there = unsafe { std::slice::from_raw_parts(area.start as *const u8, bytes) };
                buffer.upload_at(before, there)?;
            }
            area.copy = Some(buffer);
        }
        for (_, arg) in tensors {
            arg.device = device.info().id.into();
            let (start, end) = (arg.address, arg.address + arg.span());
            let area = areas.iter().find(|a| a.start <= start && end <= a.end);
            if let Some((area, copy)) = area.and_then(|a| Some((a, a.copy.as_ref()?))) {
                arg.address = copy.address() + area.start % ALIGNMENT + (start - area.start);
            }
        }
        Ok(Staged { areas })
    }

    /// Copies what was written back to the host, after it was.
    ///
    /// # Safety
    /// As [`Staged::new`]; and nobody else reads or writes the outputs meanwhile.
    pub(crate) unsafe fn give_back(self) -> Result<(), Failure> {
        for area in self.areas.iter().filter(|a| a.written && a.start < a.end) {
            let Some(copy) = &area.copy else { continue };
            let bytes = (area.end - area.start) as usize;
            // SAFETY: as the caller promises. What lies between elements gets what was there.
            let there = unsafe { std::slice::from_raw_parts_mut(area.start as *mut u8, bytes) };
            copy.download_at((area.start % ALIGNMENT) as usize, there)?;
        }
        Ok(())
    }
}
