//! 16-bit float arithmetic: in f64, where sums and products are exact or rounded to odd, then rounded once.

use super::float::Float;
use super::rounding::{self, Format, Rounding};
use crate::lanes::{BF16, F16};
use std::cmp::Ordering;

/// A 16-bit float.
pub(crate) trait Half: Float {
    fn round(x: f64) -> Self;
    fn from_bits(bits: u16) -> Self;
    fn bits(self) -> u16;
    /// The same value as an f32.
    fn widen(self) -> f32;

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::round(rounding::sum(self.to_f64(), b.to_f64()))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::round(rounding::sum(self.to_f64(), -b.to_f64()))
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self::round(self.to_f64() * b.to_f64())
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self::round(rounding::sum(self.to_f64() * b.to_f64(), c.to_f64()))
    }
    #[inline(always)]
    fn neg(self) -> Self {
        Self::from_bits(self.bits() ^ 0x8000)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::from_bits(self.bits() & 0x7fff)
    }
    /// `.relu`: negative results become zero, a NaN stays one.
    #[inline(always)]
    fn relu(self) -> Self {
        if self.is_nan() {
            Self::nan()
        } else if self.is_negative() {
            Self::from_bits(0)
        } else {
            self
        }
    }
}

macro_rules! halves {
    ($($ty:ident, $format:ident, $exponent:literal;)*) => {$(
        impl PartialEq for $ty {
            #[inline(always)]
            fn eq(&self, b: &$ty) -> bool { self.f32() == b.f32() }
        }
        impl PartialOrd for $ty {
            #[inline(always)]
            fn partial_cmp(&self, b: &$ty) -> Option<Ordering> { self.f32().partial_cmp(&b.f32()) }
        }
        impl Float for $ty {
            #[inline(always)]
            fn is_nan(self) -> bool { self.0 & 0x7fff > $exponent }
            #[inline(always)]
            fn nan() -> $ty { $ty(0x7fff) }
            #[inline(always)]
            fn flush(self) -> $ty { if self.0 & $exponent == 0 { $ty(self.0 & 0x8000) } else { self } }
            #[inline(always)]
            fn saturate(self) -> $ty { $ty::round(self.f32().saturate().into()) }
            #[inline(always)]
            fn to_f64(self) -> f64 { self.f32().into() }
            #[inline(always)]
            fn is_negative(self) -> bool { self.0 >> 15 == 1 }
        }
        impl Half for $ty {
            #[inline(always)]
            fn round(x: f64) -> $ty { $ty(Format::$format.round(x, Rounding::Nearest) as u16) }
            #[inline(always)]
            fn from_bits(bits: u16) -> $ty { $ty(bits) }
            #[inline(always)]
            fn bits(self) -> u16 { self.0 }
            #[inline(always)]
            fn widen(self) -> f32 { self.f32() }
        }
    )*};
}
halves! {
    F16, F16, 0x7c00;
    BF16, BF16, 0x7f80;
}

/// An operation on both halves of a packed register.
#[inline(always)]
pub(crate) fn packed2<H: Half>(a: u32, b: u32, op: impl Fn(H, H) -> H) -> u32 {
    let half = |shift: u32| op(H::from_bits((a >> shift) as u16), H::from_bits((b >> shift) as u16)).bits();
    u32::from(half(0)) | u32::from(half(16)) << 16
}

/// An operation on both halves of a packed register.
#[inline(always)]
pub(crate) fn packed3<H: Half>(a: u32, b: u32, c: u32, op: impl Fn(H, H, H) -> H) -> u32 {
    let at = |x: u32, shift: u32| H::from_bits((x >> shift) as u16);
    let half = |shift: u32| op(at(a, shift), at(b, shift), at(c, shift)).bits();
    u32::from(half(0)) | u32::from(half(16)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_types::convert;

    fn random(state: &mut u64) -> u16 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 40) as u16
    }

    #[test]
    fn sums_and_products_of_f16_agree_with_f32() {
        // Rounding through f32 is harmless for one operation on f16: 24 ≥ 2 · 11 + 2.
        let mut state = 5;
        for _ in 0..500_000 {
            let (a, b) = (F16(random(&mut state)), F16(random(&mut state)));
            assert_eq!(Half::add(a, b).0, convert::f32_to_f16(a.f32() + b.f32()), "{:#x} + {:#x}", a.0, b.0);
            assert_eq!(Half::mul(a, b).0, convert::f32_to_f16(a.f32() * b.f32()), "{:#x} · {:#x}", a.0, b.0);
        }
    }

    #[test]
    fn fma_of_f16_does_not_round_twice() {
        // 1 · 1 + 2⁻¹¹ is a tie that goes to even; the least bit more and it must go up.
        let (one, tie) = (F16(0x3c00), F16(0x1000));
        assert_eq!(one.fma(one, tie).0, 0x3c00);
        let (a, b) = (F16(0x3c01), F16(0x1000)); // (1 + 2⁻¹⁰) · 2⁻¹¹
        assert_eq!(a.fma(b, one).0, 0x3c01);
        // 2048 + 1 is a tie; 2⁻²⁴ more is lost in an f32 sum and in an f64 one it is not.
        let big = F16(0x6800);
        let x = F16::from_bits(0x0c01).fma(F16::from_bits(0x6c00), big); // (2⁻¹² + 2⁻²²) · 2¹² = 1 + 2⁻¹⁰
        assert_eq!(x.0, 0x6801, "{}", x.f32());
    }

    #[test]
    fn sums_of_bf16_round_once() {
        let mut state = 6;
        for _ in 0..500_000 {
            let (a, b) = (BF16(random(&mut state)), BF16(random(&mut state)));
            let exact = a.to_f64() + b.to_f64(); // exact unless the exponents are far apart, and then a is the result
            if (a.to_f64() / b.to_f64()).abs() < 1e12 && (b.to_f64() / a.to_f64()).abs() < 1e12 {
                let direct = Format::BF16.round(exact, Rounding::Nearest) as u16;
                assert_eq!(Half::add(a, b).0, direct);
            }
        }
    }
}
