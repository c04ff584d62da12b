//! The address space of a system: allocations with guard gaps, each in sparse pages.

use super::{DevicePointer, GLOBAL_BASE, Multicast, Owner, PAGE, POISON, Page};
use crate::Error;
use std::sync::OnceLock;

/// Unallocated bytes between allocations; an index that runs over lands here and not in a neighbour.
const GUARD: u64 = 1 << 16;
/// Addresses that allocations may use.
const ROOM: u64 = 1 << 46;
/// The largest allocation: its table of pages alone takes 256 MiB.
const LARGEST: u64 = 1 << 40;
/// Freed allocations that are remembered, to tell a use after free from a wild address.
const REMEMBERED: usize = 1024;

/// A stretch of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it is called in reports.
    pub name: String,
    /// Whose memory it is.
    pub owner: Owner,
    /// A bit for each device that can reach it.
    pub mapped: u64,
    pages: Vec<OnceLock<Box<Page>>>,
}

/// An allocation that is no more.
#[derive(Debug)]
pub(crate) struct Freed {
    pub base: u64,
    pub bytes: u64,
    pub name: String,
}

/// How an address lies to the allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Within an allocation, by name and offset.
    Inside { name: String, base: u64, offset: u64 },
    /// After the end of the nearest one, by so many bytes.
    After { name: String, base: u64, size: u64, bytes: u64 },
    /// Before its start.
    Before { name: String, base: u64, bytes: u64 },
    /// In a multicast range, by name and offset.
    Multicast { name: String, offset: u64 },
    /// In memory that was freed.
    Freed { name: String, offset: u64 },
    /// Nowhere near.
    Wild,
}

/// The allocations of a system, by address.
#[derive(Debug, Default)]
pub(crate) struct Global {
    allocations: Vec<Allocation>,
    freed: Vec<Freed>,
    pub(super) multicasts: Vec<Multicast>,
    next: u64,
    launches: u64,
}

impl Allocation {
    /// One past its last address.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes
    }

    /// The page that holds the byte at `offset`, if anything was ever written to it.
    #[inline(always)]
    pub(crate) fn page(&self, offset: u64) -> Option<&Page> {
        self.pages.get(offset as usize / PAGE)?.get().map(|page| &**page)
    }

    /// The page that holds the byte at `offset`.
    #[inline(always)]
    pub(crate) fn page_or_new(&self, offset: u64) -> Option<&Page> {
        Some(self.pages.get(offset as usize / PAGE)?.get_or_init(|| Box::new(Page::new())))
    }

    /// Calls `visit` for each page of a range with the offset in it and the range of the caller's buffer.
    fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset as usize + done;
            let n = (PAGE - at % PAGE).min(bytes - done);
            let range = done..done + n;
            done += n;
            (n > 0).then_some((at / PAGE, at % PAGE, range))
        })
    }
}

impl Global {
    /// Another launch begins; all before it are over.
    pub(crate) fn begin_launch(&mut self) {
        self.launches += 1;
    }

    /// So many launches were one run.
    pub(crate) fn end_run(&mut self, launches: usize) {
        self.launches += (launches as u64).saturating_sub(1);
    }

    /// Launches so far.
    pub(crate) fn launches(&self) -> u64 {
        self.launches
    }

    /// Memory of the first device, for it alone.
    #[cfg(test)]
    pub(crate) fn allocate(&mut self, bytes: usize, name: &str) -> Result<DevicePointer, Error> {
        self.allocate_for(Owner::default(), 1, bytes, name)
    }

    /// Memory of a device, mapped for those whose bits are set.
    pub(crate) fn allocate_for(
        &mut self,
        owner: Owner,
        mapped: u64,
        bytes: usize,
        name: &str,
    ) -> Result<DevicePointer, Error> {
        let base = self.reserve(bytes, name)?;
        let pages = (0..bytes.div_ceil(PAGE)).map(|_| OnceLock::new()).collect();
        self.allocations.push(Allocation { base, bytes: bytes as u64, name: name.into(), owner, mapped, pages });
        Ok(DevicePointer(base))
    }

    /// Addresses for so many bytes, with a guard gap after.
    fn reserve(&mut self, bytes: usize, name: &str) -> Result<u64, Error> {
        let base = self.next.max(GLOBAL_BASE);
        let end = base.checked_add(bytes as u64);
        let end = end.filter(|end| *end < GLOBAL_BASE + ROOM && bytes as u64 <= LARGEST);
        let end = end.ok_or_else(|| Error::OutOfMemory { bytes, name: name.into() })?;
        self.next = (end + GUARD).next_multiple_of(256);
        Ok(base)
    }

    /// A range of addresses that stand for one of each member.
    pub(crate) fn bind(
        &mut self,
        bytes: usize,
        name: &str,
        members: Vec<(Owner, DevicePointer)>,
    ) -> Result<DevicePointer, Error> {
        members.iter().try_for_each(|(_, pointer)| self.find_range(*pointer, bytes).map(|_| ()))?;
        let base = self.reserve(bytes, name)?;
        self.multicasts.push(Multicast { base, bytes: bytes as u64, name: name.into(), members });
        Ok(DevicePointer(base))
    }

    /// Lets the devices whose bits are set reach an allocation; `pointer` is within it.
    pub(crate) fn map(&mut self, pointer: DevicePointer, devices: u64) -> Result<(), Error> {
        let index = self.find_range(pointer, 0)?;
        self.allocations[index].mapped |= devices;
        Ok(())
    }

    /// Lets devices reach all that another owns.
    pub(crate) fn map_all_of(&mut self, owner: Owner, devices: u64) {
        self.allocations.iter_mut().filter(|a| a.owner == owner).for_each(|a| a.mapped |= devices);
    }

    pub(crate) fn free(&mut self, pointer: DevicePointer) -> Result<(), Error> {
        let found = self.allocations.binary_search_by_key(&pointer.0, |a| a.base);
        let index = found.map_err(|_| Error::NotAllocated { pointer })?;
        let a = self.allocations.remove(index);
        if self.freed.len() == REMEMBERED {
            self.freed.remove(0);
        }
        self.freed.push(Freed { base: a.base, bytes: a.bytes, name: a.name });
        Ok(())
    }

    /// The allocation at an index that [`Global::index`] gave.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&Allocation> {
        self.allocations.get(index)
    }

    /// The index of the allocation that holds an address.
    pub(crate) fn index(&self, address: u64) -> Option<usize> {
        let index = self.allocations.partition_point(|a| a.base <= address).checked_sub(1)?;
        (address < self.allocations[index].end()).then_some(index)
    }

    /// The allocation that holds an address.
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        self.allocations.get(self.index(address)?)
    }

    fn find_range(&self, pointer: DevicePointer, bytes: usize) -> Result<usize, Error> {
        let after = self.allocations.partition_point(|a| a.base <= pointer.0);
        let index = after.wrapping_sub(1);
        match self.allocations.get(index) {
            Some(a) if pointer.0 - a.base <= a.bytes && bytes as u64 <= a.bytes - (pointer.0 - a.base) => Ok(index),
            _ => Err(Error::OutOfBounds { pointer, bytes, nearest: self.place(pointer.0).in_words("; ") }),
        }
    }

    /// Whether a range is within one allocation.
    pub(crate) fn check_range(&self, pointer: DevicePointer, bytes: usize) -> Result<(), Error> {
        self.find_range(pointer, bytes).map(|_| ())
    }

    pub(crate) fn write(&mut self, pointer: DevicePointer, bytes: &[u8]) -> Result<(), Error> {
        let index = self.find_range(pointer, bytes.len())?;
        let a = &mut self.allocations[index];
        for (page, at, range) in Allocation::pieces(pointer.0 - a.base, bytes.len()) {
            a.pages[page].get_or_init(|| Box::new(Page::new()));
            if let Some(page) = a.pages[page].get_mut() {
                page.write(at, &bytes[range]);
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self, pointer: DevicePointer, out: &mut [u8]) -> Result<(), Error> {
        let a = &self.allocations[self.find_range(pointer, out.len())?];
        for (page, at, range) in Allocation::pieces(pointer.0 - a.base, out.len()) {
            match a.pages[page].get() {
                Some(page) if at % 4 == 0 && range.len() % 4 == 0 => page.read_words(at, &mut out[range]),
                Some(page) => page.read(at, &mut out[range]),
                None => out[range].fill(POISON),
            }
        }
        Ok(())
    }

    pub(crate) fn is_initialized(&self, pointer: DevicePointer, bytes: usize) -> Result<bool, Error> {
        let a = &self.allocations[self.find_range(pointer, bytes)?];
        Ok(Allocation::pieces(pointer.0 - a.base, bytes).all(|(page, at, range)| {
            a.pages[page].get().is_some_and(|page| (at..at + range.len()).all(|i| page.written(i, 1)))
        }))
    }

    pub(crate) fn poison(&mut self, pointer: DevicePointer, bytes: usize) -> Result<(), Error> {
        let index = self.find_range(pointer, bytes)?;
        let a = &mut self.allocations[index];
        for (page, at, range) in Allocation::pieces(pointer.0 - a.base, bytes) {
            if range.len() == PAGE {
                a.pages[page] = OnceLock::new();
            } else if let Some(page) = a.pages[page].get_mut() {
                page.poison(at, range.len());
            }
        }
        Ok(())
    }

    /// How an address lies to the allocations.
    pub(crate) fn place(&self, address: u64) -> Place {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let below = after.checked_sub(1).and_then(|i| self.allocations.get(i));
        if let Some(a) = below.filter(|a| address < a.end()) {
            return Place::Inside { name: a.name.clone(), base: a.base, offset: address - a.base };
        }
        if let Some(m) = self.multicast(address) {
            return Place::Multicast { name: m.name.clone(), offset: address - m.base };
        }
        if let Some(f) = self.freed.iter().rev().find(|f| (f.base..f.base + f.bytes).contains(&address)) {
            return Place::Freed { name: f.name.clone(), offset: address - f.base };
        }
        let over = below.map(|a| (address - a.end(), a));
        let under = self.allocations.get(after).map(|a| (a.base - address, a));
        // A guard gap belongs half to each neighbour; what is further away is nobody's.
        let near = |distance: u64| distance < 1 << 32;
        match (over, under) {
            (Some((past, a)), u) if near(past) && u.is_none_or(|(before, _)| past <= before) => {
                Place::After { name: a.name.clone(), base: a.base, size: a.bytes, bytes: past }
            }
            (_, Some((before, a))) if near(before) => {
                Place::Before { name: a.name.clone(), base: a.base, bytes: before }
            }
            _ => Place::Wild,
        }
    }
}

impl Place {
    /// "`x` + 12", "4 bytes past the end of `x`"; empty when the address is wild. `lead` goes in front.
    pub(crate) fn in_words(&self, lead: &str) -> String {
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        match self {
            Place::Inside { name, offset, .. } => format!("{lead}`{name}` + {offset}"),
            Place::After { name, size, bytes: 0, .. } => format!("{lead}at the very end of `{name}` ({size} bytes)"),
            Place::After { name, size, bytes, .. } => {
                format!("{lead}{bytes} byte{} past the end of `{name}` ({size} bytes)", plural(*bytes))
            }
            Place::Before { name, bytes, .. } => {
                format!("{lead}{bytes} byte{} before the start of `{name}`", plural(*bytes))
            }
            Place::Multicast { name, offset } => format!("{lead}the multicast range `{name}` + {offset}"),
            Place::Freed { name, offset } => format!("{lead}`{name}` + {offset}, which was freed"),
            Place::Wild => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_know_whether_they_were_written() {
        let mut g = Global::default();
        let a = g.allocate(3 * PAGE + 100, "a").unwrap();
        let b = g.allocate(0, "b").unwrap();
        assert!(a.0 % 256 == 0 && b.0 % 256 == 0 && b.0 >= a.0 + 3 * PAGE as u64 + 100 + GUARD);
        let data: Vec<u8> = (0..PAGE + 77).map(|i| i as u8).collect();
        let at = a.offset(PAGE as u64 - 33);
        g.write(at, &data).unwrap();
        let mut back = vec![0; data.len() + 2];
        g.read(at.offset(u64::MAX), &mut back).unwrap();
        assert_eq!((back[0], &back[1..=data.len()], back[data.len() + 1]), (POISON, &data[..], POISON));
        assert!(g.is_initialized(at, data.len()).unwrap());
        assert!(!g.is_initialized(at, data.len() + 1).unwrap());
        g.poison(at.offset(5), 1).unwrap();
        assert!(!g.is_initialized(at, data.len()).unwrap());
        assert!(g.is_initialized(at.offset(6), data.len() - 6).unwrap());
    }

    #[test]
    fn ranges_are_checked_and_named() {
        let mut g = Global::default();
        let a = g.allocate(100, "a").unwrap();
        let error = g.write(a.offset(98), &[0; 4]).unwrap_err();
        assert_eq!(error.to_string(), "4 bytes at 0x700000000062 are not within one allocation; `a` + 98");
        assert_eq!(g.place(a.0 + 103).in_words(""), "3 bytes past the end of `a` (100 bytes)");
        assert_eq!(g.place(a.0 - 1).in_words(""), "1 byte before the start of `a`");
        assert_eq!(g.place(12), Place::Wild);
        g.free(a).unwrap();
        assert_eq!(g.free(a), Err(Error::NotAllocated { pointer: a }));
        assert_eq!(g.place(a.0 + 4).in_words(""), "`a` + 4, which was freed");
        assert!(matches!(g.allocate(usize::MAX, "x"), Err(Error::OutOfMemory { .. })));
        // Only what is touched costs memory.
        assert!(g.allocate(200 << 30, "huge").is_ok());
    }
}
