//! The addresses of a warp's access, and how its elements move between memory and registers when all lie in one page.
//!
//! What a lane accesses is some words in a row; those of all lanes are turned from words of lanes to lanes of words.

// Loops over lanes by index are what LLVM vectorises across several planes.
#![allow(clippy::needless_range_loop)]

use crate::lanes::{FULL, LANES, Raw, Registers, put, spread};
use crate::memory::{Flat, Page};
use crate::program::Access;
use std::sync::atomic::Ordering::Relaxed;

/// The addresses of an access, with what the fast paths must know of them.
pub(crate) struct Span {
    /// Of the first active lane.
    pub base: u64,
    /// From there to each lane; 0 for inactive lanes.
    pub offsets: [u32; LANES],
    pub least: u64,
    pub greatest: u64,
    /// Whether each is aligned to the size of the access, and all are within two GiB.
    pub regular: bool,
    /// Whether the lanes are all active and lie side by side in order.
    pub unit_stride: bool,
}

/// Lanes of a half of a warp.
const HALF: usize = LANES / 2;

/// The numbers of the lanes.
const NUMBERS: [u32; LANES] = {
    let mut numbers = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        numbers[lane] = lane as u32;
        lane += 1;
    }
    numbers
};

impl Span {
    #[inline(always)]
    pub(super) fn of(r: &Registers, a: &Access, mask: u32) -> Span {
        let bytes = u32::from(a.width) * u32::from(a.count);
        let first = mask.trailing_zeros() as usize % LANES;
        let mut offsets = [0; LANES];
        let (base, mut far) = if a.address_wide {
            let plane = &r.r64[a.address as usize];
            let base = plane[first];
            let mut far = 0;
            for l in 0..LANES {
                let offset = plane[l].wrapping_sub(base);
                offsets[l] = offset as u32;
                far |= offset.wrapping_add(1 << 31);
            }
            (base.wrapping_add(a.offset as i64 as u64), far >> 32 != 0)
        } else {
            let plane = &r.r32[a.address as usize];
            let base = plane[first].wrapping_add(a.offset as u32);
            let mut far = 0;
            for l in 0..LANES {
                let address = plane[l].wrapping_add(a.offset as u32);
                offsets[l] = address.wrapping_sub(base);
                far |= address | base;
            }
            (base.into(), far >> 31 != 0)
        };
        if mask != FULL {
            let lanes = spread(mask);
            // What inactive lanes hold must not count.
            far = false;
            for l in 0..LANES {
                offsets[l] &= lanes[l];
            }
            let plane = addresses(r, a.address, a.address_wide, a.offset);
            for lane in crate::lanes::each(mask) {
                far |= plane[lane].wrapping_sub(base).wrapping_add(1 << 31) >> 32 != 0;
            }
        }
        let (mut off, mut low) = (0, 0);
        let shift = bytes.trailing_zeros() & 31;
        for l in 0..LANES {
            off |= offsets[l] ^ (NUMBERS[l] << shift);
            low |= offsets[l];
        }
        let unit_stride = off == 0 && mask == FULL;
        let (mut least, mut greatest) = (0, (bytes * 31) as i32);
        if !unit_stride {
            greatest = 0;
            for l in 0..LANES {
                least = least.min(offsets[l] as i32);
                greatest = greatest.max(offsets[l] as i32);
            }
        }
        let [least, greatest] = [least, greatest].map(|x| base.wrapping_add(x as i64 as u64));
        let regular = (u64::from(low) | base) & u64::from(bytes - 1) == 0 && !far;
        Span { base, offsets, least, greatest, regular, unit_stride }
    }

    /// The first byte of a lane in memory that starts at `start`.
    #[inline(always)]
    pub(super) fn at(&self, lane: usize, start: u64) -> usize {
        (self.base.wrapping_sub(start) as u32).wrapping_add(self.offsets[lane]) as usize
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

/// Words of each lane.
type Lanes<const N: usize> = [[u32; N]; LANES];

/// Memory as words, wherever it is.
pub(super) trait Words {
    fn read<const N: usize>(&self, index: usize) -> [u32; N];
}

impl Words for &Page {
    #[inline(always)]
    fn read<const N: usize>(&self, index: usize) -> [u32; N] {
        let words = &self.words[index..index + N];
        let mut t = [0; N];
        for n in 0..N {
            t[n] = words[n].load(Relaxed);
        }
        t
    }
}

impl Words for &Flat {
    #[inline(always)]
    fn read<const N: usize>(&self, index: usize) -> [u32; N] {
        let mut t = [0; N];
        t.copy_from_slice(&self.words[index..index + N]);
        t
    }
}

/// Loads what all lanes want from memory that starts at `start`.
#[inline(always)]
pub(super) fn gather<W: Words>(r: &mut Registers, list: &[u32], a: &Access, mask: u32, words: W, s: &Span, start: u64) {
    match a.width as usize * a.count as usize {
        4 => unpack(r, list, a, mask, &gathered::<1>(words, s, start)),
        8 => unpack(r, list, a, mask, &gathered::<2>(words, s, start)),
        16 => unpack(r, list, a, mask, &gathered::<4>(words, s, start)),
        32 => unpack(r, list, a, mask, &gathered::<8>(words, s, start)),
        _ => {
            // Less than a word: its place in it differs by lane.
            let mut t = [[0]; LANES];
            for l in 0..LANES {
                let byte = s.at(l, start);
                t[l] = [words.read::<1>(byte / 4)[0] >> (8 * (byte & 3))];
            }
            unpack(r, list, a, mask, &t);
        }
    }
}

/// Loads four words a lane where each half of the warp wants one place, or both want the same row: the tiles of a matrix
/// product. False when it is neither.
#[inline(always)]
pub(super) fn load_halves(r: &mut Registers, list: &[u32], a: &Access, mask: u32, flat: &Flat, s: &Span) -> bool {
    let (4, 4, false, FULL, Some(list)) = (a.width, a.count, a.wide, mask, list.first_chunk::<4>()) else {
        return false;
    };
    let (mut two, mut row) = (0, 0);
    for l in 0..HALF {
        two |= s.offsets[l] | (s.offsets[l + HALF] ^ s.offsets[HALF]);
        row |= (s.offsets[l] ^ (NUMBERS[l] << 4)) | (s.offsets[l + HALF] ^ (NUMBERS[l] << 4));
    }
    if two == 0 {
        let [low, high] = [0, HALF].map(|l| (&flat).read::<4>(s.at(l, 0) / 4));
        for e in 0..4 {
            let plane = u32::plane_mut(r, list[e] as u16);
            plane[..HALF].fill(low[e]);
            plane[HALF..].fill(high[e]);
        }
        return true;
    }
    // Whole rows move as vectors.
    let words = flat.words.get(s.at(0, 0) / 4..).unwrap_or_default();
    let (0, Some(t)) = (row, words.as_chunks::<4>().0.first_chunk::<HALF>()) else { return false };
    for e in 0..4 {
        let mut half = [0; HALF];
        for l in 0..HALF {
            half[l] = t[l][e];
        }
        let plane = u32::plane_mut(r, list[e] as u16);
        plane[..HALF].copy_from_slice(&half);
        plane[HALF..].copy_from_slice(&half);
    }
    true
}

#[inline(always)]
fn gathered<const N: usize>(words: impl Words, s: &Span, start: u64) -> Lanes<N> {
    if s.least == s.greatest {
        return [words.read((s.least - start) as usize / 4); LANES];
    }
    let mut t = [[0; N]; LANES];
    for l in 0..LANES {
        t[l] = words.read(s.at(l, start) / 4);
    }
    t
}

/// Writes what lanes have loaded to the data registers.
#[inline(always)]
fn unpack<const N: usize>(r: &mut Registers, list: &[u32], a: &Access, mask: u32, t: &Lanes<N>) {
    match (a.width, a.wide) {
        (4, false) if list.len() == N => {
            let mut planes = [[0; LANES]; N];
            for l in 0..LANES {
                for e in 0..N {
                    planes[e][l] = t[l][e];
                }
            }
            for e in 0..N {
                put(r, list[e] as u16, mask, &planes[e]);
            }
        }
        (8, _) => {
            for (e, register) in list.iter().enumerate().take(N / 2) {
                let mut plane = [0; LANES];
                for l in 0..LANES {
                    plane[l] = u64::from(t[l][2 * e]) | u64::from(t[l][2 * e + 1]) << 32;
                }
                put(r, *register as u16, mask, &plane);
            }
        }
        (width, wide) => {
            let width = u32::from(width);
            for (e, register) in (0..).zip(list) {
                let (word, shift) = ((e * width / 4) as usize % N, 8 * (e * width % 4));
                let mut plane = [0; LANES];
                for l in 0..LANES {
                    plane[l] = extend(t[l][word] >> shift, width, a.signed);
                }
                if wide {
                    // A signed value is extended to all of the register.
                    let plane = plane.map(|x| if a.signed { x as i32 as i64 as u64 } else { x.into() });
                    put(r, *register as u16, mask, &plane);
                } else {
                    put(r, *register as u16, mask, &plane);
                }
            }
        }
    }
}

/// Loads lanes that lie side by side from a page, where that has a path of its own; false when not.
#[inline(always)]
pub(super) fn load_row(r: &mut Registers, list: &[u32], a: &Access, page: &Page, first: usize) -> bool {
    match (a.wide, a.width, a.count) {
        (false, 4, 1) => read_row::<1>(r, list, page, first / 4),
        (false, 4, 2) => read_row::<2>(r, list, page, first / 4),
        (false, 4, 4) => read_row::<4>(r, list, page, first / 4),
        (false, 2, 1) if first.is_multiple_of(4) => {
            let halves = page.words[first / 4..first / 4 + LANES / 2].iter().map(|w| w.load(Relaxed));
            unpack_halves(r, list[0], a.signed, halves);
            true
        }
        _ => false,
    }
}

/// The same from shared memory.
#[inline(always)]
pub(super) fn load_flat_row(r: &mut Registers, list: &[u32], a: &Access, flat: &Flat, first: usize) -> bool {
    let words = &flat.words[first / 4..];
    macro_rules! row {
        ($n:literal) => {{
            let Some(t) = words.as_chunks::<$n>().0.first_chunk() else { return false };
            unpack::<$n>(r, list, a, FULL, t);
        }};
    }
    match a.width as usize * a.count as usize {
        4 => row!(1),
        8 => row!(2),
        16 => row!(4),
        2 if !a.wide && first.is_multiple_of(4) => {
            unpack_halves(r, list[0], a.signed, words[..LANES / 2].iter().copied());
        }
        _ => return false,
    }
    true
}

/// Reads `N` words of each lane into `N` registers; false when those are not different ones. Word by word: a page is
/// shared between threads, and an atomic load is one of a word.
#[inline(always)]
fn read_row<const N: usize>(r: &mut Registers, list: &[u32], page: &Page, first: usize) -> bool {
    let Some(list) = list.first_chunk::<N>() else { return false };
    let Ok(mut planes) = r.r32.get_disjoint_mut(list.map(|n| n as usize)) else { return false };
    let (words, _) = page.words[first..first + N * LANES].as_chunks::<N>();
    // Plane by plane: machines store to one line faster than to several in turn.
    for (e, plane) in planes.iter_mut().enumerate() {
        for (to, words) in plane.iter_mut().zip(words) {
            *to = words[e].load(Relaxed);
        }
    }
    true
}

#[inline(always)]
fn unpack_halves(r: &mut Registers, register: u32, signed: bool, words: impl Iterator<Item = u32>) {
    let mut t = [0; LANES];
    for (pair, word) in t.chunks_exact_mut(2).zip(words) {
        pair[0] = extend(word, 2, signed);
        pair[1] = extend(word >> 16, 2, signed);
    }
    *u32::plane_mut(r, register as u16) = t;
}

/// The low bytes of a word as a 32-bit value.
#[inline(always)]
pub(super) fn extend(x: u32, width: u32, signed: bool) -> u32 {
    let drop = 32 - 8 * width;
    if signed { (((x << drop) as i32) >> drop) as u32 } else { (x << drop) >> drop }
}

/// Stores lanes that lie side by side to a page, where that has a path of its own; false when not.
#[inline(always)]
pub(super) fn store_row(r: &Registers, list: &[u32], a: &Access, page: &Page, first: usize) -> bool {
    match (a.wide, a.width, a.count) {
        (false, 4, 1) => write_row::<1>(r, list, page, first / 4),
        (false, 4, 2) => write_row::<2>(r, list, page, first / 4),
        (false, 4, 4) => write_row::<4>(r, list, page, first / 4),
        _ => false,
    }
}

#[inline(always)]
fn write_row<const N: usize>(r: &Registers, list: &[u32], page: &Page, first: usize) -> bool {
    let Some(list) = list.first_chunk::<N>() else { return false };
    let planes = list.map(|n| u32::plane(r, n as u16));
    let (words, _) = page.words[first..first + N * LANES].as_chunks::<N>();
    for (l, words) in words.iter().enumerate().take(LANES) {
        for (plane, word) in planes.iter().zip(words) {
            word.store(plane[l], Relaxed);
        }
    }
    true
}

/// Where lanes store their words, one after the other.
pub(super) trait Sink {
    fn write<const N: usize>(&mut self, index: usize, words: &[u32; N]);
}

impl Sink for &Page {
    #[inline(always)]
    fn write<const N: usize>(&mut self, index: usize, words: &[u32; N]) {
        for (to, word) in self.words[index..index + N].iter().zip(words) {
            to.store(*word, Relaxed);
        }
    }
}

impl Sink for &mut Flat {
    #[inline(always)]
    fn write<const N: usize>(&mut self, index: usize, words: &[u32; N]) {
        self.words[index..index + N].copy_from_slice(words);
    }
}

/// Stores what lanes have, in memory that starts at `start`; false where that is less than a word each.
#[inline(always)]
pub(super) fn scatter(
    r: &Registers,
    list: &[u32],
    a: &Access,
    mask: u32,
    mut to: impl Sink,
    s: &Span,
    start: u64,
) -> bool {
    macro_rules! store {
        ($n:literal) => {{
            let t = packed::<$n>(r, list, a);
            if mask == FULL {
                for l in 0..LANES {
                    to.write(s.at(l, start) / 4, &t[l]);
                }
            } else {
                crate::lanes::each(mask).for_each(|l| to.write(s.at(l, start) / 4, &t[l]));
            }
        }};
    }
    match a.width as usize * a.count as usize {
        4 => store!(1),
        8 => store!(2),
        16 => store!(4),
        32 => store!(8),
        2 if s.unit_stride && (s.least - start).is_multiple_of(4) => {
            let data = u32::plane(r, list[0] as u16);
            for (n, pair) in data.chunks_exact(2).enumerate() {
                to.write((s.least - start) as usize / 4 + n, &[(pair[0] & 0xffff) | pair[1] << 16]);
            }
        }
        _ => return false,
    }
    true
}

/// The words that each lane stores.
#[inline(always)]
fn packed<const N: usize>(r: &Registers, list: &[u32], a: &Access) -> Lanes<N> {
    let mut t = [[0; N]; LANES];
    match (a.width, a.wide) {
        (4, false) if list.len() == N => {
            let planes: [&[u32; LANES]; N] = std::array::from_fn(|e| u32::plane(r, list[e] as u16));
            for l in 0..LANES {
                for e in 0..N {
                    t[l][e] = planes[e][l];
                }
            }
        }
        (8, _) => {
            for (e, register) in list.iter().enumerate().take(N / 2) {
                let plane = u64::plane(r, *register as u16);
                for l in 0..LANES {
                    t[l][2 * e] = plane[l] as u32;
                    t[l][2 * e + 1] = (plane[l] >> 32) as u32;
                }
            }
        }
        (width, wide) => {
            let width = u32::from(width);
            let kept = u32::MAX >> (32 - 8 * width);
            for (e, register) in (0..).zip(list) {
                let (word, shift) = ((e * width / 4) as usize % N, 8 * (e * width % 4));
                for l in 0..LANES {
                    let register = *register as usize;
                    let x = if wide { r.r64[register][l] as u32 } else { r.r32[register][l] };
                    t[l][word] |= (x & kept) << shift;
                }
            }
        }
    }
    t
}
