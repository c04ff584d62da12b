//! `cvt`: between integers and floats of all widths, with their roundings; to and from narrow formats.

use super::float::{mode_bits, rounding_of};
use super::packed::packed_format;
use super::{Decoder, Result};
use crate::arithmetic::approximate::tf32;
use crate::arithmetic::float::{Float, canonical};
use crate::arithmetic::integer::Int;
use crate::arithmetic::rounding::{Format, Rounding};
use crate::lanes::{BF16, Compute, F16, Value, map1};
use crate::quick::Quick;
use std::cmp::Ordering;
use warpsmith_ptx::{Instruction, Type, Word};
use warpsmith_types::convert;

const FTZ: u16 = 1;
const SAT: u16 = 2;
pub(super) const RELU: u16 = 4;
const SATFINITE: u16 = 8;
/// Rounding to an integral value: which way, in two bits.
const INTEGRAL: u16 = 16;

/// Integers as `cvt` needs them, beside what arithmetic does.
trait Number: Int {
    /// Saturating; a NaN gives zero.
    fn from_f64(x: f64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            #[inline(always)] fn from_f64(x: f64) -> $ty { x as $ty }
            #[inline(always)] fn to_f32(self) -> f32 { self as f32 }
            #[inline(always)] fn to_f64(self) -> f64 { self as f64 }
        }
    )*};
}
numbers!(i8 i16 i32 i64 u8 u16 u32 u64);

/// An integer as an f64 that is exact or rounded to odd.
#[inline(always)]
fn odd<S: Number>(x: S) -> f64 {
    let wide = x.wide();
    let magnitude = wide.unsigned_abs() as u64;
    let kept =
        if magnitude >> 53 == 0 { magnitude } else { (magnitude & !0x7ff) | u64::from(magnitude & 0x7ff != 0) << 11 };
    if wide < 0 { -(kept as f64) } else { kept as f64 }
}

/// An integer as an f64, rounded in a direction.
fn directed<S: Number>(x: S, rounding: Rounding) -> f64 {
    let wide = x.wide();
    let near = wide as f64;
    // An f64 of an integer of 64 bits is one of 65.
    match (near as i128).cmp(&wide) {
        Ordering::Greater if rounding == Rounding::Down || rounding == Rounding::Zero && wide > 0 => near.next_down(),
        Ordering::Less if rounding == Rounding::Up || rounding == Rounding::Zero && wide < 0 => near.next_up(),
        _ => near,
    }
}

/// Rounds to an integral value as the flags say.
#[inline(always)]
fn integral(aux: u16, x: f64) -> f64 {
    match (aux / INTEGRAL) & 7 {
        1 => x.round_ties_even(),
        2 => x.trunc(),
        3 => x.floor(),
        4 => x.ceil(),
        _ => x,
    }
}

fn int_to_int<D: Int, S: Int>(sat: bool) -> Compute {
    match sat {
        true => |r, f, m| map1::<D, S>(r, f, m, |a| D::saturate(a.wide())),
        false => |r, f, m| map1::<D, S>(r, f, m, |a| D::wrap(a.wide())),
    }
}

fn int_from<S: Int>(to: Type, sat: bool) -> Option<Compute> {
    Some(match to {
        Type::S8 => int_to_int::<i8, S>(sat),
        Type::S16 => int_to_int::<i16, S>(sat),
        Type::S32 => int_to_int::<i32, S>(sat),
        Type::S64 => int_to_int::<i64, S>(sat),
        Type::U8 => int_to_int::<u8, S>(sat),
        Type::U16 => int_to_int::<u16, S>(sat),
        Type::U32 => int_to_int::<u32, S>(sat),
        Type::U64 => int_to_int::<u64, S>(sat),
        _ => return None,
    })
}

/// From an integer to a float.
fn float_from_int<S: Number>(to: Type, aux: u16) -> Option<Compute> {
    Some(match to {
        Type::F32 if aux == 0 => |r, f, m| map1::<f32, S>(r, f, m, S::to_f32),
        Type::F64 if aux == 0 => |r, f, m| map1::<f64, S>(r, f, m, S::to_f64),
        Type::F64 => |r, f, m| {
            let aux = f.aux;
            map1::<f64, S>(r, f, m, |a| {
                let x = directed(a, rounding_of(aux));
                if aux & SAT != 0 { x.saturate() } else { x }
            });
        },
        Type::F32 => |r, f, m| {
            let aux = f.aux;
            map1::<f32, S>(r, f, m, |a| {
                let x = f32::from_bits(Format::F32.round(odd(a), rounding_of(aux)));
                if aux & SAT != 0 { x.saturate() } else { x }
            });
        },
        Type::F16 => |r, f, m| {
            let aux = f.aux;
            map1::<F16, S>(r, f, m, |a| {
                let x = odd(a);
                let x = if aux & SAT != 0 { x.saturate() } else { x };
                F16(Format::F16.round(x, rounding_of(aux)) as u16)
            });
        },
        Type::BF16 => |r, f, m| {
            let aux = f.aux;
            map1::<BF16, S>(r, f, m, |a| BF16(Format::BF16.round(odd(a), rounding_of(aux)) as u16));
        },
        _ => return None,
    })
}

/// From a float to an integer.
fn int_from_float<D: Number, S: Float>() -> Compute {
    |r, f, m| {
        let aux = f.aux;
        // PTX: a NaN gives zero, except where 64 bits are involved; there it gives the top bit.
        let nan =
            if S::nan().to_f64_bits_are_wide() || D::BITS == 64 { D::wrap(1i128 << (D::BITS - 1)) } else { D::wrap(0) };
        map1::<D, S>(r, f, m, |a| {
            let a = if aux & FTZ != 0 { a.flush() } else { a };
            if a.is_nan() { nan } else { D::from_f64(integral(aux, a.to_f64())) }
        });
    }
}

/// Whether a float type is f64, the only one whose planes are 64 bits wide.
trait Wide {
    fn to_f64_bits_are_wide(self) -> bool;
}

impl<T: Float> Wide for T {
    fn to_f64_bits_are_wide(self) -> bool {
        size_of::<T::Raw>() == 8
    }
}

fn int_from_float_by<S: Float>(to: Type) -> Option<Compute> {
    Some(match to {
        Type::S8 => int_from_float::<i8, S>(),
        Type::S16 => int_from_float::<i16, S>(),
        Type::S32 => int_from_float::<i32, S>(),
        Type::S64 => int_from_float::<i64, S>(),
        Type::U8 => int_from_float::<u8, S>(),
        Type::U16 => int_from_float::<u16, S>(),
        Type::U32 => int_from_float::<u32, S>(),
        Type::U64 => int_from_float::<u64, S>(),
        _ => return None,
    })
}

/// What happens to a float on its way to another format; exact but for the integral rounding.
#[inline(always)]
pub(super) fn prepare<S: Float>(aux: u16, a: S) -> f64 {
    let a = if aux & FTZ != 0 { a.flush() } else { a };
    let x = integral(aux, a.to_f64());
    let x = if aux & SAT != 0 { x.saturate() } else { x };
    if aux & RELU != 0 && x < 0.0 { 0.0 } else { x }
}

/// From a float to a float.
fn float_from_float<S: Float + Value>(to: Type, aux: u16) -> Option<Compute> {
    Some(match to {
        Type::F64 => |r, f, m| {
            let aux = f.aux;
            map1::<f64, S>(r, f, m, |a| {
                let x = prepare(aux, a);
                // The canonical NaN of f32, on bits: the compiler may turn a NaN that it widens itself into another.
                f64::from_bits(if aux & FTZ != 0 && x.is_nan() { 0x7fff_ffff_e000_0000 } else { x.to_bits() })
            });
        },
        Type::F32 if aux & !FTZ == 0 => |r, f, m| {
            let aux = f.aux;
            map1::<f32, S>(r, f, m, |a| {
                let x = prepare(aux, a);
                let x = cut::<S>(x).unwrap_or(canonical(x as f32));
                if aux & FTZ != 0 { x.flush() } else { x }
            });
        },
        Type::F32 => |r, f, m| {
            let aux = f.aux;
            map1::<f32, S>(r, f, m, |a| {
                let x = prepare(aux, a);
                let x = cut::<S>(x).unwrap_or(f32::from_bits(Format::F32.round(x, rounding_of(aux))));
                if aux & FTZ != 0 { x.flush() } else { x }
            });
        },
        Type::F16 => |r, f, m| {
            let aux = f.aux;
            map1::<F16, S>(r, f, m, |a| F16(narrow_from::<S>(&Format::F16, aux, prepare(aux, a)) as u16));
        },
        Type::BF16 => |r, f, m| {
            let aux = f.aux;
            map1::<BF16, S>(r, f, m, |a| BF16(narrow_from::<S>(&Format::BF16, aux, prepare(aux, a)) as u16));
        },
        _ => return None,
    })
}

/// Rounds to a narrow format, with `.satfinite` and `.relu`.
#[inline(always)]
pub(super) fn narrow(format: &Format, aux: u16, x: f64) -> u32 {
    // −0 too, as the hardware has it.
    let x = if aux & RELU != 0 && x <= 0.0 { 0.0 } else { x };
    let bits = format.round(x, rounding_of(aux));
    let magnitude = bits & !format.sign;
    if aux & SATFINITE != 0 && magnitude > format.largest && !x.is_nan() {
        return (bits & format.sign) | format.largest;
    }
    bits
}

/// The same from a float of type `S`: of an f64, a NaN keeps its sign and the upper part of its payload.
#[inline(always)]
fn narrow_from<S: Float>(format: &Format, aux: u16, x: f64) -> u32 {
    if S::nan().to_f64_bits_are_wide() && x.is_nan() { cut_nan(format, x) } else { narrow(format, aux, x) }
}

/// A NaN of an f64 as an f32.
#[inline(always)]
fn cut<S: Float>(x: f64) -> Option<f32> {
    (S::nan().to_f64_bits_are_wide() && x.is_nan()).then(|| f32::from_bits(cut_nan(&Format::F32, x)))
}

/// An f64 NaN cut to a narrower format, and quiet.
fn cut_nan(format: &Format, x: f64) -> u32 {
    let kept = format.precision - 1;
    let payload = (x.to_bits() & ((1 << 52) - 1)) >> (52 - kept);
    let sign = if x.is_sign_negative() { format.sign } else { 0 };
    sign | format.infinity | payload as u32 | 1 << (kept - 1)
}

/// The value of an 8-bit float.
pub(super) fn widen8(format: &Format, bits: u32) -> f64 {
    let magnitude = bits & 0x7f;
    let mantissa_bits = format.precision - 1;
    let (exponent, mantissa) = (magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1));
    let value = if magnitude >= format.infinity {
        if magnitude == format.infinity && format.infinity != format.nan { f64::INFINITY } else { f64::NAN }
    } else if exponent == 0 {
        f64::from(mantissa) * 2f64.powi(format.least - mantissa_bits as i32)
    } else {
        let significand = f64::from(mantissa + (1 << mantissa_bits));
        significand * 2f64.powi(exponent as i32 - 1 + format.least - mantissa_bits as i32)
    };
    if bits & 0x80 != 0 { -value } else { value }
}

impl Decoder<'_> {
    pub(super) fn conversion(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        if i.has(Pack) {
            return self.clamping_pack(i);
        }
        self.only(i, &[Rn, Rz, Rm, Rp, Rna, Rni, Rzi, Rmi, Rpi, Ftz, Sat, Satfinite, Relu])?;
        let types: Vec<Type> = i.types().collect();
        let &[to, from] = types.as_slice() else { return Err(self.malformed(i, "two types are expected")) };
        let integral = [(Rni, 1), (Rzi, 2), (Rmi, 3), (Rpi, 4)];
        let integral = integral.into_iter().find(|(word, _)| i.has(*word)).map_or(0, |(_, n)| n * INTEGRAL);
        let flags = [(Ftz, FTZ), (Sat, SAT), (Relu, RELU), (Satfinite, SATFINITE)];
        let flags = flags.into_iter().filter(|(word, _)| i.has(*word)).fold(0, |sum, (_, bit)| sum | bit);
        let aux = mode_bits(i) | integral | flags;
        // The hardware flushes neither halves nor what becomes one.
        let aux = if types.contains(&Type::F16) { aux & !FTZ } else { aux };

        let tiny = |ty| matches!(ty, Type::E2M1x2 | Type::UE8M0x2);
        if tiny(to) || tiny(from) {
            return self.tiny_conversion(i, to, from, aux);
        }
        if packed_format(to).is_some() || packed_format(from).is_some() {
            return self.packed_conversion(i, to, from, aux);
        }
        if to == Type::TF32 && from == Type::F32 {
            let run: Compute = |r, f, m| {
                let mode = rounding_of(f.aux);
                let aux = f.aux;
                map1::<u32, f32>(r, f, m, |a| {
                    let bits = tf32(if aux & RELU != 0 && a <= 0.0 { 0.0 } else { a }, mode);
                    // One less than infinity is the largest number; the hardware takes one off a NaN too.
                    if aux & SATFINITE != 0 && bits << 1 >= 0xff00_0000 { bits - 0x2000 } else { bits }
                });
            };
            self.only(i, &[Rn, Rz, Rna, Relu, Satfinite])?;
            return self.simple(i, run, Type::B32, &[Type::F32], aux);
        }
        let narrows = matches!(to, Type::F16 | Type::BF16) && from == Type::F32;
        if to.is_float() && from.is_float() && aux & SATFINITE != 0 && !narrows {
            return Err(self.unsupported(i, "`.satfinite`"));
        }
        let sat = i.has(Sat);
        let run: Option<Compute> = match (to, from) {
            (Type::BF16, Type::F32) if aux == 0 => {
                Some(|r, f, m| map1::<BF16, f32>(r, f, m, |a| BF16(convert::f32_to_bf16(a))))
            }
            (Type::F16, Type::F32) if aux == 0 => {
                Some(|r, f, m| map1::<F16, f32>(r, f, m, |a| F16(convert::f32_to_f16(a))))
            }
            // Bits move: a NaN keeps its payload, as the shift that the hardware does keeps it.
            (Type::F32, Type::BF16) if aux & !FTZ == 0 => Some(|r, f, m| {
                let ftz = f.aux & FTZ != 0;
                map1::<f32, BF16>(r, f, m, |a| if ftz { canonical(a.f32().flush()) } else { a.f32() });
            }),
            (Type::F32, Type::F32) if aux == 0 => Some(|r, f, m| map1::<u32, u32>(r, f, m, |a| a)),
            (to, Type::S8) if !to.is_float() => int_from::<i8>(to, sat),
            (to, Type::S16) if !to.is_float() => int_from::<i16>(to, sat),
            (to, Type::S32) if !to.is_float() => int_from::<i32>(to, sat),
            (to, Type::S64) if !to.is_float() => int_from::<i64>(to, sat),
            (to, Type::U8) if !to.is_float() => int_from::<u8>(to, sat),
            (to, Type::U16) if !to.is_float() => int_from::<u16>(to, sat),
            (to, Type::U32) if !to.is_float() => int_from::<u32>(to, sat),
            (to, Type::U64) if !to.is_float() => int_from::<u64>(to, sat),
            (to, Type::S8) => float_from_int::<i8>(to, aux),
            (to, Type::S16) => float_from_int::<i16>(to, aux),
            (to, Type::S32) => float_from_int::<i32>(to, aux),
            (to, Type::S64) => float_from_int::<i64>(to, aux),
            (to, Type::U8) => float_from_int::<u8>(to, aux),
            (to, Type::U16) => float_from_int::<u16>(to, aux),
            (to, Type::U32) => float_from_int::<u32>(to, aux),
            (to, Type::U64) => float_from_int::<u64>(to, aux),
            (to, Type::F16) if to.is_float() => float_from_float::<F16>(to, aux),
            (to, Type::BF16) if to.is_float() => float_from_float::<BF16>(to, aux),
            (to, Type::F32) if to.is_float() => float_from_float::<f32>(to, aux),
            (to, Type::F64) if to.is_float() => float_from_float::<f64>(to, aux),
            (to, Type::F16) => int_from_float_by::<F16>(to),
            (to, Type::BF16) => int_from_float_by::<BF16>(to),
            (to, Type::F32) => int_from_float_by::<f32>(to),
            (to, Type::F64) => int_from_float_by::<f64>(to),
            _ => None,
        };
        let run = run.ok_or_else(|| self.unsupported(i, ""))?;
        self.simple(i, run, to, &[from], aux)?;
        self.quick(match (to, from, aux) {
            (Type::BF16, Type::F32, 0) => Some(Quick::F32ToBF16),
            (Type::F32, Type::BF16, 0) => Some(Quick::BF16ToF32),
            (Type::F16, Type::F32, 0) => Some(Quick::F32ToF16),
            (Type::F32, Type::F16, 0) => Some(Quick::F16ToF32),
            (Type::U64 | Type::S64, Type::U32, 0) => Some(Quick::WidenU32),
            (Type::S64, Type::S32, 0) => Some(Quick::WidenS32),
            _ => None,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bit_floats_come_back() {
        for format in [Format::E4M3, Format::E5M2] {
            for bits in 0..256 {
                let x = widen8(&format, bits);
                if x.is_nan() {
                    assert_eq!(format.round(x, Rounding::Nearest), 0x7f);
                } else {
                    assert_eq!(format.round(x, Rounding::Nearest), bits, "{x}");
                }
            }
        }
        assert_eq!((widen8(&Format::E4M3, 0x7e), widen8(&Format::E5M2, 0x7b)), (448.0, 57344.0));
    }

    #[test]
    fn directions_enclose_large_integers() {
        for x in [(1i64 << 53) + 1, (1 << 62) + 1, i64::MAX, i64::MIN + 1, -(1 << 53) - 3, 5, 0] {
            let [down, up, zero] = [Rounding::Down, Rounding::Up, Rounding::Zero].map(|mode| directed(x, mode));
            assert!(down as i128 <= i128::from(x) && i128::from(x) <= up as i128, "{x}: {down} {up}");
            assert_eq!(zero, if x < 0 { up } else { down });
            assert!(down == up || down.next_up() == up);
        }
        assert_eq!(directed(u64::MAX, Rounding::Up), 2f64.powi(64));
    }

    #[test]
    fn odd_keeps_what_rounding_needs() {
        assert_eq!(odd(u64::MAX) as f32, u64::MAX as f32);
        for x in [(1u64 << 54) + 1, (1 << 53) + 1, (1 << 63) + (1 << 39), (1 << 63) + (1 << 39) + 1, u64::MAX - 1] {
            assert_eq!(odd(x) as f32, x as f32, "{x}");
            assert_eq!(odd(x as i64) as f32, x as i64 as f32, "{x}");
        }
    }
}
