//! Matrix descriptors of `wgmma`: where an element of an operand is in shared memory (PTX ISA §9.7.15.5).

use super::multiply::{Lines, WORDS};
use crate::memory::{Flat, SHARED_BASE, Stretch};
use crate::program::Element;
use crate::tensor_map::Swizzle;

/// A descriptor's fields, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub start: u32,
    /// From one unit to the next along the contiguous mode.
    pub leading: u32,
    /// From one unit to the next along the other mode.
    pub stride: u32,
    pub swizzle: Swizzle,
}

/// What an operand could not be read for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The descriptor says nothing sensible.
    Nonsense(String),
    /// It leads out of shared memory.
    Outside(u32),
    /// Nothing was written there.
    Unwritten(u32),
    /// A warp wrote there, and no `fence.proxy.async` followed.
    Unfenced(u32, u32),
}

/// Bits that have no meaning.
const RESERVED: u64 = 0x3 << 14 | 0x3 << 30 | 0x7 << 46 | 0x3ff << 52;

impl Descriptor {
    pub(crate) fn decode(bits: u64) -> Result<Descriptor, Problem> {
        let nonsense = |text: String| Err(Problem::Nonsense(text));
        if bits & RESERVED != 0 {
            return nonsense(format!("descriptor {bits:#018x} has bits set that have no meaning"));
        }
        if bits >> 49 & 7 != 0 {
            return nonsense(format!("descriptor {bits:#018x} has a base offset: its tile must be aligned instead"));
        }
        let field = |shift: u32| (bits >> shift & 0x3fff) as u32 * 16;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        Ok(Descriptor { start: field(0), leading: field(16), stride: field(32), swizzle })
    }

    /// The address of a 16-byte chunk. `line` counts lines of elements in the contiguous mode, `chunk` counts chunks
    /// along a line.
    fn address(&self, line: u32, chunk: u32, across: bool) -> u32 {
        let (width, eights) = (self.swizzle.bytes(), line / 8);
        let linear = if self.swizzle == Swizzle::None {
            // Core matrices of 8 lines of 16 bytes. Across, the offsets change their parts.
            let (along, other) = if across { (self.stride, self.leading) } else { (self.leading, self.stride) };
            eights * other + line % 8 * 16 + chunk * along
        } else {
            let (unit, rest) = (chunk * 16 / width, chunk * 16 % width);
            // Along k, an instruction never leaves a unit.
            let step = if across { unit * self.leading } else { unit * width };
            eights * self.stride + line % 8 * width + step + rest
        };
        self.swizzle.apply(self.start.wrapping_add(linear) & 0x3_ffff)
    }

    /// The stretches of shared memory that an operand of `rows` by `k` elements lies in.
    pub(crate) fn stretches(&self, element: Element, (rows, k): (usize, usize), across: bool) -> Vec<Stretch> {
        let each = 16 / element.bytes();
        let (lines, length) = if across { (k, rows) } else { (rows, k) };
        let chunks = (0..lines).flat_map(|line| (0..length / each).map(move |chunk| (line as u32, chunk as u32)));
        let mut at: Vec<u32> = chunks.map(|(line, chunk)| self.address(line, chunk, across)).collect();
        at.sort_unstable();
        let mut stretches: Vec<Stretch> = vec![];
        for offset in at {
            match stretches.last_mut() {
                Some(last) if last.offset + last.bytes == offset => last.bytes += 16,
                _ => stretches.push(Stretch { offset, bytes: 16, lane: 0, stride: 0 }),
            }
        }
        stretches
    }

    /// Hands over an operand of `rows` by `k` elements whose rows, not k, are the contiguous mode: a number of a row at
    /// some k.
    #[inline(always)]
    pub(crate) fn read_across(
        &self,
        shared: &Flat,
        element: Element,
        (rows, k): (usize, usize),
        mut put: impl FnMut(usize, usize, f32),
    ) -> Result<(), Problem> {
        let each = 16 / element.bytes();
        let mut found = Found::new(shared);
        for line in 0..k {
            for chunk in 0..rows / each {
                let words = found.read(self.address(line as u32, chunk as u32, true))?;
                let mut numbers = [0.0; 16];
                let per_word = 4 / element.bytes();
                for (word, out) in words.iter().zip(numbers.chunks_exact_mut(per_word)) {
                    element.unpack(*word, out);
                }
                numbers[..each].iter().enumerate().for_each(|(i, x)| put(chunk * each + i, line, *x));
            }
        }
        found.fault.map_or(Ok(()), Err)
    }

    /// Hands over an operand whose lines in k are the contiguous mode, eight lines at a time. All of an instruction's k
    /// is 32 bytes, whatever the type.
    #[inline(always)]
    pub(crate) fn read_lines(
        &self,
        shared: &Flat,
        rows: usize,
        mut put: impl FnMut(usize, &Lines),
    ) -> Result<(), Problem> {
        let mut found = Found::new(shared);
        for eight in 0..rows / 8 {
            let mut lines = [[0; WORDS]; 8];
            for (n, line) in lines.iter_mut().enumerate() {
                for (chunk, words) in line.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    *words = found.read(self.address((8 * eight + n) as u32, chunk as u32, false))?;
                }
            }
            put(eight, &lines);
        }
        found.fault.map_or(Ok(()), Err)
    }
}

/// Shared memory that an operand is read from, and the first thing that is wrong with it.
struct Found<'m> {
    shared: &'m Flat,
    tracked: bool,
    fault: Option<Problem>,
}

impl<'m> Found<'m> {
    #[inline(always)]
    fn new(shared: &'m Flat) -> Found<'m> {
        Found { shared, tracked: !shared.unfenced.is_empty(), fault: None }
    }

    /// The 16 bytes at an address.
    #[inline(always)]
    fn read(&mut self, address: u32) -> Result<[u32; 4], Problem> {
        let (shared, at) = (self.shared, address as usize);
        let words = shared.words.get(at / 4..).and_then(|words| words.first_chunk());
        let Some(words) = words.filter(|_| address >= SHARED_BASE && at + 16 <= shared.len()) else {
            return Err(Problem::Outside(address));
        };
        if !shared.written(at, 16) {
            self.note(Problem::Unwritten(address));
        }
        if self.tracked
            && let Some(warp) = shared.unfenced_by(at)
        {
            self.note(Problem::Unfenced(address, warp));
        }
        Ok(*words)
    }

    #[cold]
    fn note(&mut self, problem: Problem) {
        self.fault.get_or_insert(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_addresses() {
        // LBO 1, SBO 64, 128-byte swizzle, at 0x2400.
        let d = Descriptor::decode(1 << 62 | 64 << 32 | 1 << 16 | 0x240).unwrap();
        assert_eq!((d.start, d.leading, d.stride, d.swizzle), (0x2400, 16, 1024, Swizzle::Bytes128));
        assert_eq!(d.address(0, 0, false), 0x2400);
        assert_eq!(d.address(3, 1, false), 0x2400 + 3 * 128 + (1 ^ 3) * 16);
        assert_eq!(d.address(9, 0, false), 0x2400 + 1024 + 128 + 16);
        let plain = Descriptor::decode(8 << 32 | 16 << 16 | 0x40).unwrap();
        assert_eq!(plain.address(9, 1, false), 0x400 + 128 + 16 + 256);
        assert_eq!(plain.address(9, 1, true), 0x400 + 256 + 16 + 128);
        assert!(matches!(Descriptor::decode(1 << 15), Err(Problem::Nonsense(_))));
    }
}
