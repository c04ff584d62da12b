//! Matrix products in the layout of accumulator registers: nothing is moved to rows and back.
//!
//! Register `4 j + 2 h + p` of a warp holds, in lane `l`, row `8 h + l / 4` and column `8 j + 2 (l % 4) + p`. A step in
//! k then is, for each register, one multiplication of lanes: by a plane of A that only depends on the row, and by
//! four values of B that repeat.

#![allow(clippy::needless_range_loop)]

use crate::lanes::LANES;
use crate::program::Element;
use crate::simd::Simd;

/// Words of a line of an operand that is read at once: what one instruction has of k.
pub(crate) const WORDS: usize = 8;

/// Eight rows of A, or columns of B.
pub(crate) type Lines = [[u32; WORDS]; 8];

/// An operand A by eights of its rows, then k: an element for each lane. And an operand B by eights of its columns,
/// then k: the even columns, then the odd ones. Kept from product to product.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    k: usize,
    a: Vec<[f32; LANES]>,
    b: Vec<[f32; 8]>,
}

impl Panels {
    /// Makes room for so many eights of rows and columns.
    pub(super) fn reset(&mut self, rows: usize, columns: usize, k: usize) {
        self.k = k;
        self.a.resize(rows * k, [0.0; LANES]);
        self.b.resize(columns * k, [0.0; 8]);
    }

    /// Puts elements of a row of A into their places, from some k on.
    #[inline(always)]
    pub(super) fn put_a(&mut self, row: usize, k: usize, sign: f32, numbers: &[f32]) {
        let (first, lane) = (row / 8 * self.k + k, 4 * (row % 8));
        for (lanes, x) in self.a[first..first + numbers.len()].iter_mut().zip(numbers) {
            lanes[lane..lane + 4].fill(sign * x);
        }
    }

    /// Puts an element of a column of B into its place.
    #[inline(always)]
    pub(super) fn put_b(&mut self, column: usize, k: usize, sign: f32, number: f32) {
        self.b[column / 8 * self.k + k][4 * (column % 2) + column % 8 / 2] = sign * number;
    }

    /// Puts eight rows of A into their places: of each all of k.
    #[inline(always)]
    pub(super) fn put_a_lines(&mut self, eight: usize, element: Element, sign: f32, lines: &Lines) {
        let bits = 8 * element.bytes() as u32;
        let each = (32 / bits) as usize;
        for w in 0..WORDS {
            for e in 0..each {
                let to = &mut self.a[eight * self.k + w * each + e];
                for (lanes, line) in to.as_chunks_mut::<4>().0.iter_mut().zip(lines) {
                    *lanes = [sign * element.number(line[w] >> (e as u32 * bits) & (u32::MAX >> (32 - bits))); 4];
                }
            }
        }
    }

    /// The same of eight columns of B.
    #[inline(always)]
    pub(super) fn put_b_lines(&mut self, eight: usize, element: Element, sign: f32, lines: &Lines) {
        let bits = 8 * element.bytes() as u32;
        let each = (32 / bits) as usize;
        let mut places = [[0; 8]; WORDS];
        for (column, line) in lines.iter().enumerate() {
            for w in 0..WORDS {
                places[w][4 * (column % 2) + column / 2] = line[w];
            }
        }
        for w in 0..WORDS {
            for e in 0..each {
                let to = &mut self.b[eight * self.k + w * each + e];
                for place in 0..8 {
                    to[place] =
                        sign * element.number(places[w][place] >> (e as u32 * bits) & (u32::MAX >> (32 - bits)));
                }
            }
        }
    }

    /// Puts a register of an A fragment into its places: of lane `4 r + q`, row `r` of an eight of rows, and elements
    /// from `k + q each` on.
    #[inline(always)]
    pub(super) fn put_a_plane(
        &mut self,
        eight: usize,
        k: usize,
        each: usize,
        words: &[u32; LANES],
        number: impl Fn(u32) -> f32,
    ) {
        let bits = 32 / each as u32;
        for e in 0..each {
            let mut numbers = [0.0; LANES];
            for l in 0..LANES {
                numbers[l] = number(words[l] >> (e as u32 * bits) & (u32::MAX >> (32 - bits)));
            }
            for q in 0..4 {
                let to = &mut self.a[eight * self.k + k + q * each + e];
                for l in 0..LANES {
                    to[l] = numbers[l / 4 * 4 + q];
                }
            }
        }
    }

    /// The same of a B fragment, whose columns are what the rows of A are, of the first eight.
    #[inline(always)]
    pub(super) fn put_b_plane(&mut self, k: usize, each: usize, words: &[u32; LANES], number: impl Fn(u32) -> f32) {
        let bits = 32 / each as u32;
        for e in 0..each {
            let mut numbers = [0.0; LANES];
            for l in 0..LANES {
                numbers[l] = number(words[l] >> (e as u32 * bits) & (u32::MAX >> (32 - bits)));
            }
            for q in 0..4 {
                let to = &mut self.b[k + q * each + e];
                for column in 0..8 {
                    to[4 * (column % 2) + column / 2] = numbers[4 * column + q];
                }
            }
        }
    }

    /// Eight rows.
    #[inline(always)]
    pub(super) fn rows(&self, eight: usize) -> &[[f32; LANES]] {
        &self.a[eight * self.k..(eight + 1) * self.k]
    }

    /// Eight columns.
    #[inline(always)]
    pub(super) fn columns(&self, eight: usize) -> &[[f32; 8]] {
        &self.b[eight * self.k..(eight + 1) * self.k]
    }
}

/// `d += a b` for pairs of registers, a pair for eight columns each, in the order of k. Several pairs at once keep the
/// machine's multipliers busy: each product waits for the one before it.
#[inline(always)]
pub(super) fn multiply<const N: usize>(
    simd: Simd,
    a: &[[f32; LANES]],
    b: [&[[f32; 8]]; N],
    sums: &mut [[[f32; LANES]; 2]; N],
) {
    if simd.fuses() {
        step(a, b, sums, |x, y, z| x.mul_add(y, z));
    } else {
        step(a, b, sums, |x, y, z| x * y + z);
    }
}

#[inline(always)]
fn step<const N: usize>(
    a: &[[f32; LANES]],
    b: [&[[f32; 8]]; N],
    sums: &mut [[[f32; LANES]; 2]; N],
    fma: impl Fn(f32, f32, f32) -> f32,
) {
    let mut c = *sums;
    let b = b.map(|b| &b[..a.len()]);
    for k in 0..a.len() {
        let a = &a[k];
        for n in 0..N {
            let columns = &b[n][k];
            for p in 0..2 {
                let four = [columns[4 * p], columns[4 * p + 1], columns[4 * p + 2], columns[4 * p + 3]];
                for l in 0..LANES {
                    c[n][p][l] = fma(a[l], four[l % 4], c[n][p][l]);
                }
            }
        }
    }
    *sums = c;
}
