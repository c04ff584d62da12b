//! Exact conversions between floating-point formats, bit for bit what PTX's `cvt` does.
//!
//! Rounding is to nearest, ties to even. A NaN becomes the canonical NaN of the narrower format (`0x7fff` for the
//! 16-bit ones), as PTX says; widening keeps the payload.

pub use crate::small::{
    e2m1_to_f32, e4m3_to_f32, e5m2_to_f32, e8m0_to_f32, f32_to_e2m1, f32_to_e4m3, f32_to_e5m2, f32_to_e8m0,
};

/// The bits of a bfloat16 as a float; exact.
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// Rounds to bfloat16.
pub const fn f32_to_bf16(x: f32) -> u16 {
    if x.is_nan() {
        return 0x7fff;
    }
    let bits = x.to_bits();
    // Half of the last kept place, less one when it is even: ties then go to even. The carry may reach infinity, rightly.
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// The bits of a binary16 as a float; exact.
pub const fn f16_to_f32(bits: u16) -> f32 {
    let sign = ((bits & 0x8000) as u32) << 16;
    let exponent = ((bits >> 10) & 0x1f) as u32;
    let mantissa = (bits & 0x3ff) as u32;
    match (exponent, mantissa) {
        (0, 0) => f32::from_bits(sign),
        (0, m) => {
            // A subnormal: m · 2⁻²⁴, normal as an f32.
            let shift = m.leading_zeros() - 21;
            f32::from_bits(sign | ((113 - shift) << 23) | ((m << (shift + 13)) & 0x7f_ffff))
        }
        (31, m) => f32::from_bits(sign | 0x7f80_0000 | (m << 13)),
        (e, m) => f32::from_bits(sign | ((e + 112) << 23) | (m << 13)),
    }
}

/// Rounds to binary16.
pub const fn f32_to_f16(x: f32) -> u16 {
    if x.is_nan() {
        return 0x7fff;
    }
    let bits = x.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00; // 65536 and above
    }
    if magnitude < 0x3300_0000 {
        return sign; // below 2⁻²⁵: nearer to zero than to the least subnormal
    }
    let exponent = (magnitude >> 23) as i32 - 127;
    let mantissa = (magnitude & 0x7f_ffff) | 0x80_0000;
    let (drop, base) = if exponent < -14 { ((-1 - exponent) as u32, 0) } else { (13, ((exponent + 14) as u32) << 10) };
    let kept = mantissa >> drop;
    let rest = mantissa & ((1 << drop) - 1);
    let half = 1 << (drop - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    // For normals `kept` still has its implicit bit, which adds one to the exponent field; a carry does so once more.
    sign | (base + kept + up as u32) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_16_bit_value_widens_as_half_says() {
        for bits in 0..=u16::MAX {
            let (a, b) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "f16 {bits:#x}: {a} against {b}");
            let (a, b) = (bf16_to_f32(bits), bf16::from_bits(bits).to_f32());
            assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "bf16 {bits:#x}: {a} against {b}");
        }
    }

    #[test]
    fn narrowing_rounds_as_half_says() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let check = |bits: u32| {
            let x = f32::from_bits(bits);
            if x.is_nan() {
                assert_eq!((f32_to_f16(x), f32_to_bf16(x)), (0x7fff, 0x7fff));
            } else {
                assert_eq!(f32_to_f16(x), f16::from_f32(x).to_bits(), "f16 of {x} ({bits:#x})");
                assert_eq!(f32_to_bf16(x), bf16::from_f32(x).to_bits(), "bf16 of {x} ({bits:#x})");
            }
        };
        for _ in 0..2_000_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            check((state >> 32) as u32);
        }
        // Each f16 value, its neighbours as f32, and the midpoints to the next one, where ties are decided.
        for bits in 0..=u16::MAX {
            let x = f16_to_f32(bits).to_bits();
            for d in [-0x1001i32, -0x1000, -0xfff, -1, 0, 1, 0xfff, 0x1000, 0x1001] {
                check(x.wrapping_add_signed(d));
            }
        }
    }
}
