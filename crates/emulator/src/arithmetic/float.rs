//! f32 and f64 arithmetic: NaN rules, flushing, saturation, comparison.

use super::rounding::{self, Format, Rounding};
use crate::lanes::Value;

/// A scalar float type.
pub(crate) trait Float: Value + PartialOrd + 'static {
    fn is_nan(self) -> bool;
    /// The NaN that an operation without a number for a result gives.
    fn nan() -> Self;
    /// Subnormals become zeros of their sign.
    fn flush(self) -> Self;
    /// Clamped to [0, 1]; NaN becomes +0.
    fn saturate(self) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    fn is_negative(self) -> bool;
}

/// The canonical NaN of f32.
pub(crate) const NAN: f32 = f32::from_bits(0x7fff_ffff);

impl Float for f32 {
    #[inline(always)]
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
    #[inline(always)]
    fn nan() -> f32 {
        NAN
    }
    #[inline(always)]
    fn flush(self) -> f32 {
        let bits = self.to_bits();
        if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { self }
    }
    #[inline(always)]
    fn saturate(self) -> f32 {
        let low = if self > 0.0 { self } else { 0.0 };
        if low > 1.0 { 1.0 } else { low }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

impl Float for f64 {
    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
    #[inline(always)]
    fn nan() -> f64 {
        f64::from_bits(0x7fff_ffff_ffff_ffff)
    }
    #[inline(always)]
    fn flush(self) -> f64 {
        self
    }
    #[inline(always)]
    fn saturate(self) -> f64 {
        let low = if self > 0.0 { self } else { 0.0 };
        if low > 1.0 { 1.0 } else { low }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

/// Any NaN becomes the canonical one. On bits: to LLVM one NaN is as good as another, and it drops a choice between two.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

/// A NaN of f64 with its quiet bit set; its sign and the rest stay.
#[inline(always)]
pub(crate) fn quiet(x: f64) -> f64 {
    f64::from_bits(x.to_bits() | 1 << 51)
}

/// A result of f64 arithmetic: a NaN is the first of the operands' that there is, in that order.
#[inline(always)]
pub(crate) fn with_nan_of<const N: usize>(x: f64, operands: [f64; N]) -> f64 {
    if !x.is_nan() {
        return x;
    }
    operands.into_iter().find(|a| a.is_nan()).map_or(x, quiet)
}

/// `min` and `max`: the operand that is a number wins over a NaN, and −0 is below +0.
#[inline(always)]
pub(crate) fn extreme<T: Float>(a: T, b: T, max: bool) -> T {
    let a_is_less = a < b || (a == b && a.is_negative());
    let picked = if a_is_less != max { a } else { b };
    if a.is_nan() {
        if b.is_nan() { T::nan() } else { b }
    } else if b.is_nan() {
        a
    } else {
        picked
    }
}

/// `min.NaN` and `max.NaN`: a NaN wins.
#[inline(always)]
pub(crate) fn extreme_nan<T: Float>(a: T, b: T, max: bool) -> T {
    if a.is_nan() || b.is_nan() { T::nan() } else { extreme(a, b, max) }
}

/// Flags of an instruction: subnormals are zeros.
pub(crate) const FTZ: u16 = 1;
/// The result is clamped to [0, 1].
pub(crate) const SAT: u16 = 2;

/// An operand as the flags want it.
#[inline(always)]
pub(crate) fn flush_in(flags: u16, x: f32) -> f32 {
    if flags & FTZ != 0 { x.flush() } else { x }
}

/// A result as the flags want it.
#[inline(always)]
pub(crate) fn finish(flags: u16, x: f32) -> f32 {
    let x = if flags & FTZ != 0 { x.flush() } else { x };
    if flags & SAT != 0 { x.saturate() } else { canonical(x) }
}

/// f32 arithmetic in a direction other than to nearest.
pub(crate) fn directed(exact_or_odd: f64, rounding: Rounding) -> f32 {
    f32::from_bits(Format::F32.round(exact_or_odd, rounding))
}

/// The exact zero sum of opposite values is −0 when rounding down, +0 otherwise.
#[inline(always)]
pub(crate) fn zero_sum(sum: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    let cancelled = sum == 0.0 && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative());
    if cancelled && rounding == Rounding::Down { -0.0 } else { sum }
}

/// f32 `a + b` in a direction.
pub(crate) fn add(a: f32, b: f32, rounding: Rounding) -> f32 {
    fma(a, 1.0, b, rounding)
}

/// f32 `a · b` in a direction.
pub(crate) fn mul(a: f32, b: f32, rounding: Rounding) -> f32 {
    directed(f64::from(a) * f64::from(b), rounding)
}

/// f32 `a · b + c` in a direction.
pub(crate) fn fma(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    directed(zero_sum(rounding::sum(product, c), product, c, rounding), rounding)
}

/// f64 with what it misses of the exact result, in a direction.
pub(crate) fn directed_f64(x: f64, missing: f64, rounding: Rounding) -> f64 {
    if !(missing != 0.0 && x.is_finite()) {
        return x;
    }
    let below = missing < 0.0; // the exact value is below x
    match rounding {
        Rounding::Down if below => x.next_down(),
        Rounding::Up if !below => x.next_up(),
        Rounding::Zero if below && x > 0.0 => x.next_down(),
        Rounding::Zero if !below && x < 0.0 => x.next_up(),
        _ => x,
    }
}

/// A class that `testp` tests for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// `testp`, on a class that Rust tells.
pub(crate) fn is(class: Class, kind: std::num::FpCategory) -> bool {
    use std::num::FpCategory::*;
    match class {
        Class::Finite => !matches!(kind, Nan | Infinite),
        Class::Infinite => kind == Infinite,
        Class::Number => kind != Nan,
        Class::NotANumber => kind == Nan,
        // Zeros count as normal, as the manual says.
        Class::Normal => matches!(kind, Normal | Zero),
        Class::Subnormal => kind == Subnormal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_win_over_nan() {
        assert_eq!(extreme(f32::NAN, 1.0, true), 1.0);
        assert_eq!(extreme(1.0, f32::NAN, false), 1.0);
        assert_eq!(extreme(f32::NAN, -f32::NAN, false).to_bits(), 0x7fff_ffff);
        assert_eq!(extreme_nan(1.0f32, f32::NAN, false).to_bits(), 0x7fff_ffff);
        assert_eq!(extreme_nan(1.0f32, 2.0, false), 1.0);
    }

    #[test]
    fn minus_zero_is_below_zero() {
        for (a, b) in [(0.0f32, -0.0f32), (-0.0, 0.0)] {
            assert_eq!(extreme(a, b, true).to_bits(), 0);
            assert_eq!(extreme(a, b, false).to_bits(), 1 << 31);
        }
    }

    #[test]
    fn saturation_and_flushing() {
        assert_eq!(f32::NAN.saturate().to_bits(), 0);
        assert_eq!(((-1.0f32).saturate(), 0.5f32.saturate(), 2.0f32.saturate()), (0.0, 0.5, 1.0));
        assert_eq!(f32::from_bits(0x8000_0001).flush().to_bits(), 1 << 31);
        assert_eq!(f32::MIN_POSITIVE.flush(), f32::MIN_POSITIVE);
    }

    #[test]
    fn directed_sums() {
        assert_eq!(add(1.0, 1e-30, Rounding::Up), 1.0f32.next_up());
        assert_eq!(add(1.0, -1e-30, Rounding::Zero), 1.0f32.next_down());
        assert_eq!(add(1.0, -1.0, Rounding::Down).to_bits(), 1 << 31);
        assert_eq!(add(1.0, -1.0, Rounding::Up).to_bits(), 0);
        assert_eq!(mul(f32::MAX, 2.0, Rounding::Zero), f32::MAX);
        assert_eq!(mul(f32::MAX, -2.0, Rounding::Up), -f32::MAX);
        assert_eq!(directed_f64(1.0 + 2f64.powi(-60), 2f64.powi(-60), Rounding::Up), 1.0f64.next_up());
    }
}
