//! A warp's registers, and functions applied to all their lanes at once.
//!
//! A register is a plane: an array of 32 values, one a lane. Values up to 32 bits lie in `u32` planes, 64-bit ones in
//! `u64` planes, predicates are one bit a lane. The loops below are written so that LLVM vectorises them.

#![allow(clippy::needless_range_loop)]

use crate::simd::Simd;
use warpsmith_types::convert;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// One bit a lane, as a table: comparing is then a vector operation, too.
const BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// The register files of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    /// Values of up to 32 bits.
    pub r32: Vec<[u32; LANES]>,
    /// 64-bit values.
    pub r64: Vec<[u64; LANES]>,
    /// Predicates.
    pub p: Vec<u32>,
    /// How to run loops over them.
    pub simd: Simd,
}

/// Which planes an instruction reads and writes; what each field means is the instruction's own business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Destination.
    pub d: u16,
    /// Second destination.
    pub e: u16,
    /// First source.
    pub a: u16,
    /// Second source.
    pub b: u16,
    /// Third source.
    pub c: u16,
    /// Whatever else the instruction must know.
    pub aux: u16,
}

/// An instruction that only touches registers of its own warp.
pub(crate) type Compute = fn(&mut Registers, &Fields, u32);

/// A plane's element: how it is stored.
pub(crate) trait Raw: Copy + Default {
    fn plane(registers: &Registers, index: u16) -> &[Self; LANES];
    fn plane_mut(registers: &mut Registers, index: u16) -> &mut [Self; LANES];
    /// `yes` where `mask` is all ones, `no` where it is zero.
    fn blend(mask: u32, yes: Self, no: Self) -> Self;
}

impl Raw for u32 {
    #[inline(always)]
    fn plane(registers: &Registers, index: u16) -> &[u32; LANES] {
        &registers.r32[index as usize]
    }
    #[inline(always)]
    fn plane_mut(registers: &mut Registers, index: u16) -> &mut [u32; LANES] {
        &mut registers.r32[index as usize]
    }
    #[inline(always)]
    fn blend(mask: u32, yes: u32, no: u32) -> u32 {
        (yes & mask) | (no & !mask)
    }
}

impl Raw for u64 {
    #[inline(always)]
    fn plane(registers: &Registers, index: u16) -> &[u64; LANES] {
        &registers.r64[index as usize]
    }
    #[inline(always)]
    fn plane_mut(registers: &mut Registers, index: u16) -> &mut [u64; LANES] {
        &mut registers.r64[index as usize]
    }
    #[inline(always)]
    fn blend(mask: u32, yes: u64, no: u64) -> u64 {
        let mask = mask as i32 as i64 as u64;
        (yes & mask) | (no & !mask)
    }
}

/// A typed view of a stored element. Reading takes the low bits that the type has; writing extends as the type says.
pub(crate) trait Value: Copy {
    type Raw: Raw;
    fn from_raw(raw: Self::Raw) -> Self;
    fn to_raw(self) -> Self::Raw;
}

macro_rules! values {
    ($($ty:ty: $raw:ty, |$x:ident| $from:expr, |$y:ident| $to:expr;)*) => {$(
        impl Value for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn from_raw($x: $raw) -> $ty { $from }
            #[inline(always)]
            fn to_raw(self) -> $raw { let $y = self; $to }
        }
    )*};
}

/// A binary16 by its bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F16(pub u16);
/// A bfloat16 by its bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BF16(pub u16);

impl F16 {
    #[inline(always)]
    pub(crate) fn f32(self) -> f32 {
        convert::f16_to_f32(self.0)
    }
}
impl BF16 {
    #[inline(always)]
    pub(crate) fn f32(self) -> f32 {
        convert::bf16_to_f32(self.0)
    }
}

values! {
    u8: u32, |x| x as u8, |y| y as u32;
    i8: u32, |x| x as i8, |y| y as i32 as u32;
    u16: u32, |x| x as u16, |y| y as u32;
    i16: u32, |x| x as i16, |y| y as i32 as u32;
    u32: u32, |x| x, |y| y;
    i32: u32, |x| x as i32, |y| y as u32;
    f32: u32, |x| f32::from_bits(x), |y| y.to_bits();
    F16: u32, |x| F16(x as u16), |y| y.0 as u32;
    BF16: u32, |x| BF16(x as u16), |y| y.0 as u32;
    u64: u64, |x| x, |y| y;
    i64: u64, |x| x as i64, |y| y as u64;
    f64: u64, |x| f64::from_bits(x), |y| y.to_bits();
}

/// All ones where the lane is active.
#[inline(always)]
pub(crate) fn spread(mask: u32) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    for l in 0..LANES {
        lanes[l] = if mask & BITS[l] != 0 { u32::MAX } else { 0 };
    }
    lanes
}

/// Writes a whole plane's results to the active lanes.
#[inline(always)]
pub(crate) fn put<R: Raw>(registers: &mut Registers, index: u16, mask: u32, results: &[R; LANES]) {
    let d = R::plane_mut(registers, index);
    if mask == FULL {
        *d = *results;
    } else {
        let lanes = spread(mask);
        for l in 0..LANES {
            d[l] = R::blend(lanes[l], results[l], d[l]);
        }
    }
}

/// Writes a predicate to the active lanes.
#[inline(always)]
pub(crate) fn put_predicate(registers: &mut Registers, index: u16, mask: u32, bits: u32) {
    let p = &mut registers.p[index as usize];
    *p = (*p & !mask) | (bits & mask);
}

/// `d = op(a)`.
#[inline(always)]
pub(crate) fn map1<D: Value, A: Value>(r: &mut Registers, f: &Fields, mask: u32, op: impl Fn(A) -> D) {
    r.simd.run(
        #[inline(always)]
        || {
            let mut t = [D::Raw::default(); LANES];
            let a = A::Raw::plane(r, f.a);
            for l in 0..LANES {
                t[l] = op(A::from_raw(a[l])).to_raw();
            }
            put(r, f.d, mask, &t);
        },
    );
}

/// `d = op(a, b)`.
#[inline(always)]
pub(crate) fn map2<D: Value, A: Value, B: Value>(r: &mut Registers, f: &Fields, mask: u32, op: impl Fn(A, B) -> D) {
    r.simd.run(
        #[inline(always)]
        || {
            let mut t = [D::Raw::default(); LANES];
            let (a, b) = (A::Raw::plane(r, f.a), B::Raw::plane(r, f.b));
            for l in 0..LANES {
                t[l] = op(A::from_raw(a[l]), B::from_raw(b[l])).to_raw();
            }
            put(r, f.d, mask, &t);
        },
    );
}

/// `d = op(a, b, c)`.
#[inline(always)]
pub(crate) fn map3<D: Value, A: Value, B: Value, C: Value>(
    r: &mut Registers,
    f: &Fields,
    mask: u32,
    op: impl Fn(A, B, C) -> D,
) {
    r.simd.run(
        #[inline(always)]
        || {
            let mut t = [D::Raw::default(); LANES];
            let (a, b, c) = (A::Raw::plane(r, f.a), B::Raw::plane(r, f.b), C::Raw::plane(r, f.c));
            for l in 0..LANES {
                t[l] = op(A::from_raw(a[l]), B::from_raw(b[l]), C::from_raw(c[l])).to_raw();
            }
            put(r, f.d, mask, &t);
        },
    );
}

/// The lanes for which a test holds.
#[inline(always)]
pub(crate) fn ballot(test: impl Fn(usize) -> bool) -> u32 {
    // Seen through, the table turns a vector operation into a chain of 32 steps.
    let table = std::hint::black_box(&BITS);
    let mut bits = 0;
    for l in 0..LANES {
        bits |= if test(l) { table[l] } else { 0 };
    }
    bits
}

/// Which lanes satisfy `op(a, b)`, active or not.
#[inline(always)]
pub(crate) fn test2<A: Value>(r: &Registers, f: &Fields, op: impl Fn(A, A) -> bool) -> u32 {
    r.simd.run(
        #[inline(always)]
        || {
            let (a, b) = (A::Raw::plane(r, f.a), A::Raw::plane(r, f.b));
            ballot(|l| op(A::from_raw(a[l]), A::from_raw(b[l])))
        },
    )
}

/// Which lanes satisfy `op(a)`, active or not.
#[inline(always)]
pub(crate) fn test1<A: Value>(r: &Registers, f: &Fields, op: impl Fn(A) -> bool) -> u32 {
    let a = A::Raw::plane(r, f.a);
    ballot(|l| op(A::from_raw(a[l])))
}

/// The active lanes, lowest first.
pub(crate) fn each(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
