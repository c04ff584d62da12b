//! The addresses of a warp's access, and how its elements move between memory and registers when all lie in one page.

// Loops over lanes by index are what LLVM vectorises across several planes.
#![allow(clippy::needless_range_loop)]

use crate::lanes::{FULL, LANES, Raw, Registers, put, spread};
use crate::memory::{Flat, POISON_WORD, Page};
use crate::program::Access;
use std::sync::atomic::Ordering::Relaxed;

/// The addresses of an access, with what the fast paths must know of them.
pub(super) struct Span {
    /// By lane; those of inactive lanes are the first active one's.
    pub addresses: [u64; LANES],
    pub least: u64,
    pub greatest: u64,
    /// Whether each is aligned to the size of the access.
    pub aligned: bool,
    /// Whether the lanes are all active and lie side by side in order.
    pub unit_stride: bool,
}

impl Span {
    #[inline(always)]
    pub(super) fn new(mut addresses: [u64; LANES], mask: u32, bytes: usize) -> Span {
        if mask != FULL {
            let first = addresses[mask.trailing_zeros() as usize % LANES];
            let lanes = spread(mask);
            for l in 0..LANES {
                addresses[l] = u64::blend(lanes[l], addresses[l], first);
            }
        }
        let base = addresses[0];
        let (mut off, mut low) = (0, 0);
        for l in 0..LANES {
            off |= addresses[l] ^ base.wrapping_add((l * bytes) as u64);
            low |= addresses[l];
        }
        let unit_stride = off == 0 && mask == FULL;
        let (mut least, mut greatest) = (base, base);
        if unit_stride {
            greatest = addresses[LANES - 1];
        } else {
            for address in addresses {
                least = least.min(address);
                greatest = greatest.max(address);
            }
        }
        Span { addresses, least, greatest, aligned: low & (bytes as u64 - 1) == 0, unit_stride }
    }
}

/// The addresses that lanes compute.
#[inline(always)]
pub(super) fn addresses(r: &Registers, plane: u16, wide: bool, offset: i32) -> [u64; LANES] {
    let mut t = [0; LANES];
    if wide {
        let a = &r.r64[plane as usize];
        for l in 0..LANES {
            t[l] = a[l].wrapping_add(offset as i64 as u64);
        }
    } else {
        let a = &r.r32[plane as usize];
        for l in 0..LANES {
            t[l] = a[l].wrapping_add(offset as u32).into();
        }
    }
    t
}

/// Memory as words, wherever it is.
pub(super) trait Words {
    fn word(&self, index: usize) -> u32;
}

impl Words for &Page {
    #[inline(always)]
    fn word(&self, index: usize) -> u32 {
        self.words[index].load(Relaxed)
    }
}

impl Words for &Flat {
    #[inline(always)]
    fn word(&self, index: usize) -> u32 {
        self.words[index]
    }
}

/// Reads `N` words of each lane, all in a row, into `N` registers.
#[inline(always)]
fn read_row<const N: usize>(r: &mut Registers, list: &[u32], words: impl Iterator<Item = u32>) {
    let mut words = words;
    let mut t = [[0; LANES]; N];
    for l in 0..LANES {
        for register in &mut t {
            register[l] = words.next().unwrap_or(POISON_WORD);
        }
    }
    for (register, values) in list.iter().zip(&t) {
        *u32::plane_mut(r, *register as u16) = *values;
    }
}

/// The same for half words.
#[inline(always)]
fn read_halves(r: &mut Registers, register: u32, signed: bool, words: impl Iterator<Item = u32>) {
    let mut t = [0; LANES];
    for (pair, word) in t.chunks_exact_mut(2).zip(words) {
        pair[0] = extend(word, 2, signed);
        pair[1] = extend(word >> 16, 2, signed);
    }
    *u32::plane_mut(r, register as u16) = t;
}

/// Hands over `N` words of each lane, all in a row.
#[inline(always)]
fn write_row<const N: usize>(r: &Registers, list: &[u32], mut put: impl FnMut(u32)) {
    let planes: [&[u32; LANES]; N] = std::array::from_fn(|e| u32::plane(r, list[e] as u16));
    for l in 0..LANES {
        for plane in planes {
            put(plane[l]);
        }
    }
}

/// The shapes of access that have a path of their own when all lanes lie side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Words(u8),
    Halves,
    Other,
}

impl Row {
    #[inline(always)]
    pub(super) fn of(a: &Access, span: &Span) -> Row {
        match (span.unit_stride, a.wide, a.width, a.count) {
            (true, false, 4, n @ (1 | 2 | 4)) => Row::Words(n),
            (true, false, 2, 1) if span.least.is_multiple_of(4) => Row::Halves,
            _ => Row::Other,
        }
    }
}

/// Loads a row. `words` starts at the first lane's.
#[inline(always)]
pub(super) fn load_row(r: &mut Registers, list: &[u32], a: &Access, row: Row, words: impl Iterator<Item = u32>) {
    match row {
        Row::Words(1) => read_row::<1>(r, list, words),
        Row::Words(2) => read_row::<2>(r, list, words),
        Row::Words(_) => read_row::<4>(r, list, words),
        _ => read_halves(r, list[0], a.signed, words),
    }
}

/// Stores a row, word by word in order.
#[inline(always)]
pub(super) fn store_row(r: &Registers, list: &[u32], row: Row, mut put: impl FnMut(u32)) {
    match row {
        Row::Words(1) => write_row::<1>(r, list, put),
        Row::Words(2) => write_row::<2>(r, list, put),
        Row::Words(_) => write_row::<4>(r, list, put),
        _ => {
            let data = u32::plane(r, list[0] as u16);
            data.chunks_exact(2).for_each(|pair| put((pair[0] & 0xffff) | pair[1] << 16));
        }
    }
}

/// Reads the elements of every lane at `offsets` and writes them to the data registers.
#[inline(always)]
pub(super) fn gather<W: Words>(
    r: &mut Registers,
    list: &[u32],
    a: &Access,
    mask: u32,
    words: W,
    span: &Span,
    start: u64,
) {
    let mut at = [0u32; LANES];
    for l in 0..LANES {
        at[l] = span.addresses[l].wrapping_sub(start) as u32;
    }
    for (e, register) in list.iter().enumerate() {
        let register = *register as u16;
        match (a.width, a.wide) {
            (4, false) => {
                let mut t = [0; LANES];
                for l in 0..LANES {
                    t[l] = words.word(at[l] as usize / 4 + e);
                }
                put(r, register, mask, &t);
            }
            (8, _) => {
                let mut t = [0; LANES];
                for l in 0..LANES {
                    let i = at[l] as usize / 4 + 2 * e;
                    t[l] = u64::from(words.word(i)) | u64::from(words.word(i + 1)) << 32;
                }
                put(r, register, mask, &t);
            }
            (width, wide) => {
                let mut t = [0; LANES];
                let width = u32::from(width);
                for l in 0..LANES {
                    let byte = at[l] + e as u32 * width;
                    t[l] = extend(words.word(byte as usize / 4) >> (8 * (byte & 3)), width, a.signed);
                }
                if wide {
                    // A signed value is extended to all of the register.
                    let t = t.map(|x| if a.signed { x as i32 as i64 as u64 } else { x.into() });
                    put(r, register, mask, &t);
                } else {
                    put(r, register, mask, &t);
                }
            }
        }
    }
}

/// The low bytes of a word as a 32-bit value.
#[inline(always)]
pub(super) fn extend(x: u32, width: u32, signed: bool) -> u32 {
    let drop = 32 - 8 * width;
    if signed { (((x << drop) as i32) >> drop) as u32 } else { (x << drop) >> drop }
}

/// Word `k` of what a lane stores, for accesses of at least a word.
#[inline(always)]
pub(super) fn word_of(r: &Registers, list: &[u32], a: &Access, k: usize, lane: usize) -> u32 {
    let element = |e: usize| -> u64 {
        let register = list[e] as usize;
        if a.wide { r.r64[register][lane] } else { r.r32[register][lane].into() }
    };
    match a.width {
        8 => (element(k / 2) >> (32 * (k % 2))) as u32,
        4 => element(k) as u32,
        2 => (element(2 * k) as u32 & 0xffff) | (element(2 * k + 1) as u32) << 16,
        _ => (0..4).fold(0, |w, i| w | (element(4 * k + i) as u32 & 0xff) << (8 * i)),
    }
}
