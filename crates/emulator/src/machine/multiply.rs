//! Matrix products in the layout of accumulator registers: nothing is moved to rows and back.
//!
//! Register `4 j + 2 h + p` of a warp holds, in lane `l`, row `8 h + l / 4` and column `8 j + 2 (l % 4) + p`. A step in
//! k then is, for each register, one multiplication of lanes: by a plane of A that only depends on the row, and by
//! four values of B that repeat.

#![allow(clippy::needless_range_loop)]

use crate::lanes::LANES;
use crate::simd::Simd;

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

    /// Puts elements of a column of B into their places, from some k on.
    #[inline(always)]
    pub(super) fn put_b(&mut self, column: usize, k: usize, sign: f32, numbers: &[f32]) {
        let (first, place) = (column / 8 * self.k + k, 4 * (column % 2) + column % 8 / 2);
        for (columns, x) in self.b[first..first + numbers.len()].iter_mut().zip(numbers) {
            columns[place] = sign * x;
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

/// `d += a b` for a pair of registers, in the order of k.
#[inline(always)]
pub(super) fn multiply(
    simd: Simd,
    a: &[[f32; LANES]],
    b: &[[f32; 8]],
    even: &mut [f32; LANES],
    odd: &mut [f32; LANES],
) {
    if simd.fuses() {
        step(a, b, even, odd, |x, y, z| x.mul_add(y, z));
    } else {
        step(a, b, even, odd, |x, y, z| x * y + z);
    }
}

#[inline(always)]
fn step(
    a: &[[f32; LANES]],
    b: &[[f32; 8]],
    even: &mut [f32; LANES],
    odd: &mut [f32; LANES],
    fma: impl Fn(f32, f32, f32) -> f32,
) {
    let (mut c, mut d) = (*even, *odd);
    for (a, b) in a.iter().zip(b) {
        let (even, odd) = ([b[0], b[1], b[2], b[3]], [b[4], b[5], b[6], b[7]]);
        for l in 0..LANES {
            c[l] = fma(a[l], even[l % 4], c[l]);
        }
        for l in 0..LANES {
            d[l] = fma(a[l], odd[l % 4], d[l]);
        }
    }
    (*even, *odd) = (c, d);
}
