//! Many bytes at once, for copies that engines make.

use super::global::Allocation;
use super::{Flat, Global, PAGE, POISON_WORD, Page, byte_bits};
use std::sync::atomic::Ordering::Relaxed;

impl Global {
    /// Reads a range of one allocation and says whether all of it was written; `None` when it is not within one.
    pub(crate) fn copy_out(&self, address: u64, out: &mut [u8]) -> Option<bool> {
        self.find(address)?.copy_out(address, out)
    }

    /// Writes a range of one allocation; false when it is not within one. `alone`: no other thread is running.
    pub(crate) fn copy_in(&self, address: u64, data: &[u8], alone: bool) -> bool {
        self.find(address).is_some_and(|a| a.copy_in(address, data, alone))
    }
}

impl Allocation {
    /// Reads a range that starts in it and says whether all of it was written; `None` when it ends outside.
    pub(crate) fn copy_out(&self, address: u64, out: &mut [u8]) -> Option<bool> {
        if out.len() as u64 > self.end() - address {
            return None;
        }
        let mut written = true;
        let (mut at, mut done) = (address - self.base, 0);
        while done < out.len() {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(out.len() - done);
            let piece = &mut out[done..done + n];
            match self.page(at) {
                Some(page) if inside.is_multiple_of(4) && n.is_multiple_of(4) => {
                    page.read_words(inside, piece);
                    written &= page.is_written(inside, n);
                }
                Some(page) => {
                    page.read(inside, piece);
                    written &= page.is_written(inside, n);
                }
                None => {
                    piece.fill(super::POISON);
                    written = false;
                }
            }
            at += n as u64;
            done += n;
        }
        Some(written)
    }

    /// Writes a range that starts in it; false when it ends outside. `alone`: no other thread is running.
    pub(crate) fn copy_in(&self, address: u64, data: &[u8], alone: bool) -> bool {
        if data.len() as u64 > self.end() - address {
            return false;
        }
        let (mut at, mut done) = (address - self.base, 0);
        while done < data.len() {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(data.len() - done);
            if let Some(page) = self.page_or_new(at) {
                page.copy_in(inside, &data[done..done + n], alone);
            }
            at += n as u64;
            done += n;
        }
        true
    }
}

impl Global {
    /// Copies a range to another, both within one page each; what was never written does not become so.
    pub(crate) fn move_bytes(&self, to: u64, from: u64, bytes: usize) {
        let mut data = vec![0; bytes];
        match self.copy_out(from, &mut data) {
            Some(true) => {
                self.copy_in(to, &data, true);
            }
            Some(false) => {
                for (i, byte) in (0u64..).zip(&data) {
                    if self.copy_out(from + i, &mut [0]) == Some(true) {
                        self.copy_in(to + i, &[*byte], true);
                    } else if let Some(a) = self.find(to + i)
                        && let Some(page) = a.page(to + i - a.base)
                    {
                        page.forget((to + i - a.base) as usize % PAGE);
                    }
                }
            }
            None => {}
        }
    }
}

impl Page {
    /// Makes a byte unwritten.
    fn forget(&self, offset: usize) {
        self.set(offset, 1, super::POISON.into(), true);
        self.init[offset / 32].fetch_and(!byte_bits(offset, 1), Relaxed);
    }

    /// Whether every byte of a range was written.
    pub(crate) fn is_written(&self, offset: usize, bytes: usize) -> bool {
        words_of(offset, bytes).all(|(word, bits)| self.init[word].load(Relaxed) & bits == bits)
    }

    fn copy_in(&self, offset: usize, data: &[u8], alone: bool) {
        if offset.is_multiple_of(4) && data.len().is_multiple_of(4) {
            for (word, bytes) in self.words[offset / 4..].iter().zip(data.chunks_exact(4)) {
                word.store(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Relaxed);
            }
            for (word, bits) in words_of(offset, data.len()) {
                self.init[word].fetch_or(bits, Relaxed);
            }
        } else {
            for (i, byte) in data.iter().enumerate() {
                self.set(offset + i, 1, (*byte).into(), alone);
            }
        }
    }
}

impl Flat {
    /// Whether there is such a range; a swizzle may lead a little beyond what was asked for.
    fn holds(&self, offset: usize, bytes: usize) -> bool {
        offset + bytes <= self.len()
    }

    /// Reads a range, whole words, and says whether all of it was written.
    pub(crate) fn copy_out(&self, offset: usize, out: &mut [u8]) -> bool {
        if !self.holds(offset, out.len()) {
            return false;
        }
        for (word, bytes) in self.words[offset / 4..].iter().zip(out.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.is_written(offset, out.len())
    }

    /// Writes a range, whole words, marked written or not.
    pub(crate) fn copy_in(&mut self, offset: usize, data: &[u8], written: bool) {
        if !self.holds(offset, data.len()) {
            return;
        }
        if let (0, Ok(data)) = (offset % 16, <&[u8; 16]>::try_from(data)) {
            let [words, bits] = [offset / 4, offset / 32];
            for (word, bytes) in self.words[words..words + 4].iter_mut().zip(data.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            let half = byte_bits(offset, 16);
            self.init[bits] = if written { self.init[bits] | half } else { self.init[bits] & !half };
            return;
        }
        for (word, bytes) in self.words[offset / 4..].iter_mut().zip(data.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for (word, bits) in words_of(offset, data.len()) {
            self.init[word] = if written { self.init[word] | bits } else { self.init[word] & !bits };
        }
    }

    /// Makes a range of whole words unwritten and its contents poison.
    pub(crate) fn poison(&mut self, offset: usize, bytes: usize) {
        if !self.holds(offset, bytes) {
            return;
        }
        self.words[offset / 4..(offset + bytes) / 4].fill(POISON_WORD);
        for (word, bits) in words_of(offset, bytes) {
            self.init[word] &= !bits;
        }
        self.fenced(offset, bytes);
    }

    /// Whether every byte of a range was written.
    pub(crate) fn is_written(&self, offset: usize, bytes: usize) -> bool {
        words_of(offset, bytes).all(|(word, bits)| self.init[word] & bits == bits)
    }
}

/// The words of a bitmap with a bit a byte that a range touches, and which of their bits.
fn words_of(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, u32)> {
    let end = offset + bytes;
    (offset / 32..end.div_ceil(32)).map(move |word| {
        let (from, to) = (offset.max(word * 32), end.min(word * 32 + 32));
        (word, byte_bits(from, to - from))
    })
}
