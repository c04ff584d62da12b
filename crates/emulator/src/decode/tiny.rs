//! `cvt` of 4-bit floats and of 8-bit powers of two, and `cvt.pack`.

use super::{Decoder, Result};
use crate::arithmetic::half::Half;
use crate::arithmetic::rounding::{Format, Rounding};
use crate::lanes::{BF16, Compute, F16, Fields, LANES, map1, map2, put};
use warpsmith_ptx::{Instruction, Type, Word};

const RELU: u16 = 4;
const SATFINITE: u16 = 8;
const UP: u16 = 1 << 4;

/// One sign, two exponent bits, one mantissa bit; no infinities, no NaN.
const E2M1: Format = Format { precision: 2, least: 0, largest: 7, infinity: 7, nan: 7, sign: 8 };

/// The nearest 4-bit float; what is beyond the largest, and a NaN, becomes it.
fn to_e2m1(x: f32, relu: bool) -> u32 {
    let x = if relu && x < 0.0 { 0.0 } else { x };
    E2M1.round(if x.is_nan() { x.into() } else { f64::from(x.clamp(-6.0, 6.0)) }, Rounding::Nearest)
}

fn from_e2m1(bits: u32) -> f32 {
    let value = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][bits as usize & 7];
    if bits & 8 != 0 { -value } else { value }
}

/// The exponent of the next power of two toward zero, or away from it.
fn to_ue8m0(x: f32, up: bool, satfinite: bool) -> u32 {
    let bits = x.to_bits() & 0x7fff_ffff;
    let (exponent, mantissa) = (bits >> 23, bits & 0x7f_ffff);
    match (exponent, mantissa) {
        (255, 0) if satfinite => 254,
        (255, _) => 255,
        // Zero and subnormals: 2^-127 is the least power.
        (0, m) => u32::from(up && m > 0x40_0000),
        (e, m) if up && m > 0 => {
            if satfinite {
                (e + 1).min(254)
            } else {
                e + 1
            }
        }
        (e, _) => e,
    }
}

fn from_ue8m0(bits: u32) -> u32 {
    match bits & 0xff {
        255 => 0x7fff,
        0 => 0x0040,
        e => e << 7,
    }
}

impl Decoder<'_> {
    pub(super) fn tiny_conversion(&mut self, i: &Instruction, to: Type, from: Type, aux: u16) -> Result<()> {
        let aux = aux & (RELU | SATFINITE) | if i.has(Word::Rp) { UP } else { 0 };
        let run: Compute = match (to, from) {
            (Type::E2M1x2, Type::F32) => |r, f, m| {
                let relu = f.aux & RELU != 0;
                map2::<u32, f32, f32>(r, f, m, |a, b| to_e2m1(a, relu) << 4 | to_e2m1(b, relu));
            },
            (Type::F16x2, Type::E2M1x2) => |r, f, m| {
                let relu = f.aux & RELU != 0;
                map1::<u32, u32>(r, f, m, |a| {
                    let half = |bits: u32| {
                        let x = F16::round(from_e2m1(bits).into());
                        u32::from(if relu { x.relu() } else { x }.bits())
                    };
                    half(a) | half(a >> 4) << 16
                });
            },
            (Type::UE8M0x2, Type::F32) => |r, f, m| {
                let (up, satfinite) = (f.aux & UP != 0, f.aux & SATFINITE != 0);
                map2::<u32, f32, f32>(r, f, m, |a, b| to_ue8m0(a, up, satfinite) << 8 | to_ue8m0(b, up, satfinite));
            },
            (Type::UE8M0x2, Type::BF16x2) => |r, f, m| {
                let (up, satfinite) = (f.aux & UP != 0, f.aux & SATFINITE != 0);
                map1::<u32, u32>(r, f, m, |a| {
                    let one = |bits: u32| to_ue8m0(BF16(bits as u16).widen(), up, satfinite);
                    one(a) | one(a >> 16) << 8
                });
            },
            (Type::BF16x2, Type::UE8M0x2) => |r, f, m| {
                map1::<u32, u32>(r, f, m, |a| from_ue8m0(a) | from_ue8m0(a >> 8) << 16);
            },
            _ => return Err(self.unsupported(i, "")),
        };
        let sources = if from == Type::F32 { 2 } else { 1 };
        self.simple(i, run, to, &[from; 2][..sources], aux)
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`.
    pub(super) fn clamping_pack(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Pack, Word::Sat])?;
        let ty = self.ty(i)?;
        let three = i.types().count() == 3;
        let bits = ty.bits() as u16;
        if !matches!((bits, three), (16, false) | (8, true)) {
            return Err(self.unsupported(i, ""));
        }
        let run: Compute = |r, f: &Fields, m| {
            let (bits, signed) = (u32::from(f.aux >> 1), f.aux & 1 == 1);
            let (low, high) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
            let (a, b, c) = (&r.r32[f.a as usize], &r.r32[f.b as usize], &r.r32[f.c as usize]);
            let clamp = |x: u32| (x as i32).clamp(low, high) as u32 & ((1 << bits) - 1);
            let t: [u32; LANES] = std::array::from_fn(|l| {
                let pair = clamp(a[l]) << bits | clamp(b[l]);
                if bits == 8 { c[l] << 16 | pair } else { pair }
            });
            put(r, f.d, m, &t);
        };
        let types = [Type::B32; 3];
        self.simple(i, run, Type::B32, &types[..if three { 3 } else { 2 }], bits << 1 | u16::from(ty.is_signed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bits() {
        for bits in 0..16 {
            assert_eq!(to_e2m1(from_e2m1(bits), false), bits);
        }
        assert_eq!([0.25, 0.75, 2.5, 5.0, 7.0, -100.0].map(|x| to_e2m1(x, false)), [0, 2, 4, 6, 7, 15]);
        assert_eq!((to_e2m1(f32::NAN, false), to_e2m1(-3.0, true)), (7, 0));
    }

    #[test]
    fn powers_of_two() {
        assert_eq!([1.0, 1.5, 2.0, -4.0].map(|x| to_ue8m0(x, false, false)), [127, 127, 128, 129]);
        assert_eq!([1.0, 1.5, 2.0].map(|x| to_ue8m0(x, true, false)), [127, 128, 128]);
        assert_eq!((to_ue8m0(f32::MAX, true, false), to_ue8m0(f32::MAX, true, true)), (255, 254));
        assert_eq!((to_ue8m0(f32::INFINITY, false, true), to_ue8m0(f32::NAN, false, true)), (254, 255));
        assert_eq!(to_ue8m0(f32::from_bits(0x40_0001), true, false), 1);
        assert_eq!((from_ue8m0(127), from_ue8m0(0), from_ue8m0(255)), (0x3f80, 0x0040, 0x7fff));
    }
}
