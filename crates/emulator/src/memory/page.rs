//! A page of device memory, shared between the threads that run blocks.
//!
//! Words are relaxed atomics: a kernel's data races then stay races of the emulated program and are none of Rust's.

use super::{POISON_WORD, Shadow, byte_bits};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes of a page.
pub(crate) const PAGE: usize = 1 << 16;

/// Data, and one bit a byte that says whether it was written.
#[derive(Debug)]
pub(crate) struct Page {
    /// Little-endian words.
    pub words: Box<[AtomicU32]>,
    /// A word for 32 bytes.
    pub init: Box<[AtomicU32]>,
    /// Who touched it; empty unless races are looked for.
    pub shadow: Mutex<Shadow>,
}

impl Page {
    pub(crate) fn new() -> Page {
        let fill = |count: usize, value: u32| (0..count).map(|_| AtomicU32::new(value)).collect();
        Page { words: fill(PAGE / 4, POISON_WORD), init: fill(PAGE / 32, 0), shadow: Mutex::default() }
    }

    /// The `bytes` (1, 2, 4 or 8) at an aligned offset.
    #[inline(always)]
    pub(crate) fn get(&self, offset: usize, bytes: usize) -> u64 {
        let word = self.words[offset / 4].load(Relaxed);
        match bytes {
            8 => u64::from(word) | u64::from(self.words[offset / 4 + 1].load(Relaxed)) << 32,
            4 => word.into(),
            2 => (word >> (8 * (offset & 2)) & 0xffff).into(),
            _ => (word >> (8 * (offset & 3)) & 0xff).into(),
        }
    }

    /// Writes the `bytes` (1, 2, 4 or 8) at an aligned offset and marks them written. `alone`: no other thread is running.
    #[inline(always)]
    pub(crate) fn set(&self, offset: usize, bytes: usize, value: u64, alone: bool) {
        let word = &self.words[offset / 4];
        match bytes {
            8 => {
                word.store(value as u32, Relaxed);
                self.words[offset / 4 + 1].store((value >> 32) as u32, Relaxed);
            }
            4 => word.store(value as u32, Relaxed),
            _ => {
                let shift = 8 * (offset as u32 & 3);
                let mask = (if bytes == 2 { 0xffff } else { 0xff }) << shift;
                let put = |old: u32| (old & !mask) | ((value as u32) << shift & mask);
                if alone {
                    word.store(put(word.load(Relaxed)), Relaxed);
                } else {
                    // Never fails: the closure always has a value.
                    let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(put(old)));
                }
            }
        }
        self.mark(offset, bytes);
    }

    /// Whether all bytes of an aligned access of at most 32 bytes were written.
    #[inline(always)]
    pub(crate) fn written(&self, offset: usize, bytes: usize) -> bool {
        let bits = byte_bits(offset, bytes);
        self.init[offset / 32].load(Relaxed) & bits == bits
    }

    /// Marks the bytes of an aligned access of at most 32 bytes as written.
    #[inline(always)]
    pub(crate) fn mark(&self, offset: usize, bytes: usize) {
        let bits = byte_bits(offset, bytes);
        let word = &self.init[offset / 32];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }

    /// Reads any range within the page.
    pub(crate) fn read(&self, offset: usize, out: &mut [u8]) {
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = self.get(offset + i, 1) as u8;
        }
    }

    /// Reads whole words.
    pub(crate) fn read_words(&self, offset: usize, out: &mut [u8]) {
        for (word, bytes) in self.words[offset / 4..].iter().zip(out.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
    }

    /// Writes any range within the page.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if offset.is_multiple_of(32) && bytes.len().is_multiple_of(32) {
            for (word, bytes) in self.words[offset / 4..].iter_mut().zip(bytes.chunks_exact(4)) {
                *word.get_mut() = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            for word in &mut self.init[offset / 32..(offset + bytes.len()) / 32] {
                *word.get_mut() = u32::MAX;
            }
        } else {
            for (i, byte) in bytes.iter().enumerate() {
                self.set(offset + i, 1, (*byte).into(), true);
            }
        }
    }

    /// Makes a range unwritten again.
    pub(crate) fn poison(&mut self, offset: usize, bytes: usize) {
        for i in offset..offset + bytes {
            self.set(i, 1, super::POISON.into(), true);
            *self.init[i / 32].get_mut() &= !byte_bits(i, 1);
        }
    }
}
