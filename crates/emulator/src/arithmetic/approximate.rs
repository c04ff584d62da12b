//! The approximate functions, each far within its documented error: computed in f64, rounded once.

use super::float::{Float, canonical};
use super::rounding::Format;

/// Coefficients of 2ˣ = Σ cᵢ xⁱ, (ln 2)ⁱ / i!; eleven give 7e-15 on [−½, ½].
const EXP2: [f64; 12] = {
    let mut c = [1.0; 12];
    let mut i = 1;
    while i < 12 {
        c[i] = c[i - 1] * std::f64::consts::LN_2 / i as f64;
        i += 1;
    }
    c
};

/// 2ˣ. Not libm's, so that a warp's 32 lanes are a few vector instructions.
#[inline(always)]
pub(crate) fn ex2(x: f32) -> f32 {
    // Beyond these the result is 0 or infinity in any case; the f64 exponent then stays in range.
    let x = f64::from(x);
    let clamped = if x < -200.0 { -200.0 } else { x };
    let clamped = if clamped > 200.0 { 200.0 } else { clamped };
    // Adding 1.5 · 2⁵² leaves the nearest integer in the low bits of the significand.
    const MAGIC: f64 = 6755399441055744.0;
    let shifted = clamped + MAGIC;
    let part = clamped - (shifted - MAGIC);
    let mut sum = EXP2[11];
    for i in (0..11).rev() {
        sum = sum * part + EXP2[i];
    }
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    canonical((sum * power) as f32)
}

/// log₂ x.
pub(crate) fn lg2(x: f32) -> f32 {
    canonical(f64::from(x).log2() as f32)
}

/// 1 / √x.
#[inline(always)]
pub(crate) fn rsqrt(x: f32) -> f32 {
    let wide = f64::from(x);
    // −0 gives −∞, and 1 / √−0 does so by itself.
    canonical((1.0 / wide.sqrt()) as f32)
}

/// sin x.
pub(crate) fn sin(x: f32) -> f32 {
    canonical(f64::from(x).sin() as f32)
}

/// cos x.
pub(crate) fn cos(x: f32) -> f32 {
    canonical(f64::from(x).cos() as f32)
}

/// tanh x.
pub(crate) fn tanh(x: f32) -> f32 {
    canonical(f64::from(x).tanh() as f32)
}

/// `div.approx`: for 2¹²⁶ < |b| < 2¹²⁸ it gives zero, as documented, and NaN when `a` is infinite.
#[inline(always)]
pub(crate) fn div(a: f32, b: f32) -> f32 {
    let magnitude = b.to_bits() & 0x7fff_ffff;
    if magnitude > 0x7e80_0000 && magnitude < 0x7f80_0000 {
        return if a.is_infinite() || Float::is_nan(a) { super::float::NAN } else { 0.0 * a * b.signum() };
    }
    canonical(a / b)
}

/// `rcp.approx.ftz.f64`: the upper half of a double, computed from the upper half.
pub(crate) fn rcp_f64(x: f64) -> f64 {
    upper_number(1.0 / upper(x))
}

/// `rsqrt.approx.ftz.f64`.
pub(crate) fn rsqrt_f64(x: f64) -> f64 {
    upper_number(1.0 / upper(x).sqrt())
}

/// `rsqrt.approx.f64`, which hardware refines to nearly the last bit.
pub(crate) fn rsqrt_f64_fine(x: f64) -> f64 {
    super::float::with_nan_of(1.0 / x.sqrt(), [x])
}

/// The upper half of a result; of every NaN, that of the canonical one.
fn upper_number(x: f64) -> f64 {
    upper(if x.is_nan() { f64::from_bits(0x7fff_ffff_ffff_ffff) } else { x })
}

fn upper(x: f64) -> f64 {
    let flushed = if x.is_subnormal() { 0.0 * x.signum() } else { x };
    f64::from_bits(flushed.to_bits() & 0xffff_ffff_0000_0000)
}

/// `cvt.rna.tf32.f32`: kept in the register as an f32 with 13 zero bits.
pub(crate) fn tf32(x: f32, rounding: super::rounding::Rounding) -> u32 {
    // To the nearest away from zero works on the bits alone, as hardware does: a NaN may become infinite.
    if x.is_nan() && rounding == super::rounding::Rounding::NearestAway {
        return x.to_bits() & 0xffff_e000;
    }
    if x.is_nan() { 0x7fff_e000 } else { Format::TF32.round(x.into(), rounding) << 13 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ex2_is_correctly_rounded_nearly_always() {
        let mut off = 0;
        let mut state = 7u64;
        for _ in 0..300_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = (state >> 40) as f32 / (1 << 24) as f32 * 310.0 - 160.0;
            let (got, want) = (ex2(x), f64::from(x).exp2() as f32);
            off += u32::from(got != want);
            assert!(got.to_bits().abs_diff(want.to_bits()) <= 1, "2^{x}: {got:e} not {want:e}");
        }
        assert!(off < 3, "{off}");
    }

    #[test]
    fn special_values() {
        assert_eq!(
            (ex2(0.0), ex2(f32::INFINITY), ex2(-f32::INFINITY), ex2(128.0)),
            (1.0, f32::INFINITY, 0.0, f32::INFINITY)
        );
        assert_eq!(ex2(f32::NAN).to_bits(), 0x7fff_ffff);
        assert_eq!((ex2(-149.0), ex2(10.0)), (f32::from_bits(1), 1024.0));
        assert_eq!((lg2(8.0), lg2(0.0), lg2(-1.0).to_bits()), (3.0, -f32::INFINITY, 0x7fff_ffff));
        assert_eq!(
            (rsqrt(4.0), rsqrt(0.0), rsqrt(-0.0), rsqrt(f32::INFINITY)),
            (0.5, f32::INFINITY, -f32::INFINITY, 0.0)
        );
        assert_eq!((div(1.0, 4.0), div(1.0, 2f32.powi(127)), div(1.0, f32::INFINITY)), (0.25, 0.0, 0.0));
        assert_eq!(tf32(1.0, super::super::rounding::Rounding::NearestAway), 0x3f80_0000);
    }
}
