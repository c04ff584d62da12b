//! A small memory that one block or warp has for itself: shared, local, parameters.

use super::proxy::Writer;
use super::{POISON_WORD, byte_bits};

/// Words, and one bit a byte that says whether it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat {
    /// Little-endian words.
    pub words: Vec<u32>,
    /// A word for 32 bytes.
    pub init: Vec<u32>,
    bytes: usize,
    /// Who wrote each 16 bytes, and was not fenced since; empty where nobody wants to know.
    pub unfenced: Vec<Writer>,
}

impl Flat {
    /// Unwritten memory.
    pub(crate) fn new(bytes: usize) -> Flat {
        let rounded = bytes.div_ceil(32);
        Flat { words: vec![POISON_WORD; rounded * 8], init: vec![0; rounded], bytes, unfenced: vec![] }
    }

    /// Memory that holds these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Flat {
        let mut flat = Flat::new(bytes.len());
        for (i, byte) in bytes.iter().enumerate() {
            flat.set(i, 1, (*byte).into());
        }
        flat
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.words.fill(POISON_WORD);
        self.init.fill(0);
        self.unfenced.fill(Writer::NOBODY);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// The `bytes` (1, 2, 4 or 8) at an aligned offset.
    #[inline(always)]
    pub(crate) fn get(&self, offset: usize, bytes: usize) -> u64 {
        let word = self.words[offset / 4];
        match bytes {
            8 => u64::from(word) | u64::from(self.words[offset / 4 + 1]) << 32,
            4 => word.into(),
            2 => (word >> (8 * (offset & 2)) & 0xffff).into(),
            _ => (word >> (8 * (offset & 3)) & 0xff).into(),
        }
    }

    /// Writes the `bytes` (1, 2, 4 or 8) at an aligned offset and marks them written.
    #[inline(always)]
    pub(crate) fn set(&mut self, offset: usize, bytes: usize, value: u64) {
        let word = &mut self.words[offset / 4];
        match bytes {
            8 => {
                *word = value as u32;
                self.words[offset / 4 + 1] = (value >> 32) as u32;
            }
            4 => *word = value as u32,
            _ => {
                let shift = 8 * (offset as u32 & 3);
                let mask = (if bytes == 2 { 0xffff } else { 0xff }) << shift;
                *word = (*word & !mask) | ((value as u32) << shift & mask);
            }
        }
        self.init[offset / 32] |= byte_bits(offset, bytes);
    }

    /// Makes the bytes of an aligned access of at most 32 bytes unwritten.
    pub(crate) fn forget(&mut self, offset: usize, bytes: usize) {
        self.init[offset / 32] &= !byte_bits(offset, bytes);
    }

    /// Whether all bytes of an aligned access of at most 32 bytes were written.
    #[inline(always)]
    pub(crate) fn written(&self, offset: usize, bytes: usize) -> bool {
        let bits = byte_bits(offset, bytes);
        self.init[offset / 32] & bits == bits
    }
}
