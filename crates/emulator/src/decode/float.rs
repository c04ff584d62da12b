//! f32 and f64 arithmetic and the approximate functions.

use super::{Decoder, Result};
use crate::arithmetic::approximate as approx;
use crate::arithmetic::double;
use crate::arithmetic::float::{self as fl, Class, FTZ, SAT, canonical, finish, flush_in};
use crate::arithmetic::rounding::{self, Rounding};
use crate::lanes::{Compute, Fields, Registers, map1, map2, map3, put_predicate, test1};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

/// The rounding of an instruction, kept in `aux` above the flags.
fn mode(aux: u16) -> Rounding {
    match aux >> 8 {
        1 => Rounding::Zero,
        2 => Rounding::Down,
        3 => Rounding::Up,
        4 => Rounding::NearestAway,
        _ => Rounding::Nearest,
    }
}

pub(super) fn mode_bits(i: &Instruction) -> u16 {
    let modes = [(Word::Rz, 1), (Word::Rm, 2), (Word::Rp, 3), (Word::Rna, 4)];
    modes.into_iter().find(|(word, _)| i.has(*word)).map_or(0, |(_, n)| n << 8)
}

pub(super) fn rounding_of(aux: u16) -> Rounding {
    mode(aux)
}

#[inline(always)]
fn apply1(r: &mut Registers, f: &Fields, m: u32, op: impl Fn(f32) -> f32) {
    let aux = f.aux;
    map1::<f32, f32>(r, f, m, |a| finish(aux, op(flush_in(aux, a))));
}

#[inline(always)]
fn apply2(r: &mut Registers, f: &Fields, m: u32, op: impl Fn(f32, f32) -> f32) {
    let aux = f.aux;
    map2::<f32, f32, f32>(r, f, m, |a, b| finish(aux, op(flush_in(aux, a), flush_in(aux, b))));
}

#[inline(always)]
fn apply3(r: &mut Registers, f: &Fields, m: u32, op: impl Fn(f32, f32, f32) -> f32) {
    let aux = f.aux;
    map3::<f32, f32, f32, f32>(r, f, m, |a, b, c| {
        finish(aux, op(flush_in(aux, a), flush_in(aux, b), flush_in(aux, c)))
    });
}

/// The common case baked in, the others through flags.
macro_rules! forms {
    ($aux:expr, plain: $plain:expr, flags: $flags:expr, directed: $directed:expr) => {
        if $aux == 0 {
            $plain
        } else if $aux >> 8 == 0 {
            $flags
        } else {
            $directed
        }
    };
}

fn f32_op(op: Opcode, aux: u16) -> Option<Compute> {
    Some(match op {
        Opcode::Add => forms!(aux,
            plain: |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| canonical(a + b)),
            flags: |r, f, m| apply2(r, f, m, |a, b| a + b),
            directed: |r, f, m| apply2(r, f, m, |a, b| fl::add(a, b, mode(f.aux)))),
        Opcode::Sub => forms!(aux,
            plain: |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| canonical(a - b)),
            flags: |r, f, m| apply2(r, f, m, |a, b| a - b),
            directed: |r, f, m| apply2(r, f, m, |a, b| fl::add(a, -b, mode(f.aux)))),
        Opcode::Mul => forms!(aux,
            plain: |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| canonical(a * b)),
            flags: |r, f, m| apply2(r, f, m, |a, b| a * b),
            directed: |r, f, m| apply2(r, f, m, |a, b| fl::mul(a, b, mode(f.aux)))),
        Opcode::Fma | Opcode::Mad => forms!(aux,
            plain: |r, f, m| match r.simd.fuses() {
                true => map3::<f32, f32, f32, f32>(r, f, m, |a, b, c| canonical(a.mul_add(b, c))),
                false => map3::<f32, f32, f32, f32>(r, f, m, |a, b, c| canonical(rounding::fma(a, b, c))),
            },
            flags: |r, f, m| match r.simd.fuses() {
                true => apply3(r, f, m, f32::mul_add),
                false => apply3(r, f, m, rounding::fma),
            },
            directed: |r, f, m| apply3(r, f, m, |a, b, c| fl::fma(a, b, c, mode(f.aux)))),
        Opcode::Div => forms!(aux,
        plain: |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| canonical(a / b)),
        flags: |r, f, m| apply2(r, f, m, |a, b| a / b),
        directed: |r, f, m| apply2(r, f, m, |a, b| {
            fl::directed(rounding::quotient(a.into(), b.into()), mode(f.aux))
        })),
        Opcode::Rcp => forms!(aux,
            plain: |r, f, m| map1::<f32, f32>(r, f, m, |a| canonical(1.0 / a)),
            flags: |r, f, m| apply1(r, f, m, |a| 1.0 / a),
            directed: |r, f, m| apply1(r, f, m, |a| fl::directed(rounding::quotient(1.0, a.into()), mode(f.aux)))),
        Opcode::Sqrt => forms!(aux,
            plain: |r, f, m| map1::<f32, f32>(r, f, m, |a| canonical(a.sqrt())),
            flags: |r, f, m| apply1(r, f, m, f32::sqrt),
            directed: |r, f, m| apply1(r, f, m, |a| fl::directed(rounding::root(a.into()), mode(f.aux)))),
        Opcode::Rsqrt => |r, f, m| apply1(r, f, m, approx::rsqrt),
        Opcode::Ex2 => |r, f, m| apply1(r, f, m, approx::ex2),
        Opcode::Lg2 => |r, f, m| apply1(r, f, m, approx::lg2),
        Opcode::Sin => |r, f, m| apply1(r, f, m, approx::sin),
        Opcode::Cos => |r, f, m| apply1(r, f, m, approx::cos),
        Opcode::Tanh => |r, f, m| apply1(r, f, m, approx::tanh),
        Opcode::Abs => |r, f, m| {
            let aux = f.aux;
            map1::<f32, f32>(r, f, m, |a| canonical(flush_in(aux, f32::from_bits(a.to_bits() & 0x7fff_ffff))));
        },
        Opcode::Neg => |r, f, m| {
            let aux = f.aux;
            map1::<f32, f32>(r, f, m, |a| canonical(flush_in(aux, f32::from_bits(a.to_bits() ^ 0x8000_0000))));
        },
        _ => return None,
    })
}

fn f64_op(op: Opcode, aux: u16) -> Option<Compute> {
    let directed = aux != 0;
    Some(match op {
        Opcode::Add if directed => |r, f, m| binary(r, f, m, |a, b| add_f64(a, b, mode(f.aux))),
        Opcode::Sub if directed => |r, f, m| binary(r, f, m, |a, b| add_f64(a, -b, mode(f.aux))),
        Opcode::Add => |r, f, m| binary(r, f, m, |a, b| a + b),
        Opcode::Sub => |r, f, m| binary(r, f, m, |a, b| a - b),
        Opcode::Abs => |r, f, m| map1::<f64, f64>(r, f, m, |a| fl::with_nan_of(a.abs(), [a])),
        Opcode::Neg => |r, f, m| map1::<f64, f64>(r, f, m, |a| fl::with_nan_of(-a, [a])),
        Opcode::Mul if directed => |r, f, m| binary(r, f, m, |a, b| double::mul(a, b, mode(f.aux))),
        Opcode::Div if directed => |r, f, m| map2::<f64, f64, f64>(r, f, m, |a, b| double::div(a, b, mode(f.aux))),
        Opcode::Fma | Opcode::Mad if directed => {
            |r, f, m| ternary(r, f, m, |a, b, c| double::fma(a, b, c, mode(f.aux)))
        }
        Opcode::Sqrt if directed => |r, f, m| map1::<f64, f64>(r, f, m, |a| double::sqrt(a, mode(f.aux))),
        Opcode::Rcp if directed => |r, f, m| map1::<f64, f64>(r, f, m, |a| double::div(1.0, a, mode(f.aux))),
        Opcode::Mul => |r, f, m| binary(r, f, m, |a, b| a * b),
        Opcode::Div => |r, f, m| map2::<f64, f64, f64>(r, f, m, |a, b| a / b),
        Opcode::Fma | Opcode::Mad => |r, f, m| ternary(r, f, m, f64::mul_add),
        Opcode::Sqrt => |r, f, m| map1::<f64, f64>(r, f, m, f64::sqrt),
        Opcode::Rcp => |r, f, m| map1::<f64, f64>(r, f, m, |a| 1.0 / a),
        _ => return None,
    })
}

/// A sum, difference, product or extreme: of two NaNs, the second operand's comes out.
#[inline(always)]
fn binary(r: &mut Registers, f: &Fields, m: u32, op: impl Fn(f64, f64) -> f64) {
    map2::<f64, f64, f64>(r, f, m, |a, b| fl::with_nan_of(op(a, b), [b, a]));
}

/// `a · b + c`: of NaNs, b's comes before c's before a's.
#[inline(always)]
fn ternary(r: &mut Registers, f: &Fields, m: u32, op: impl Fn(f64, f64, f64) -> f64) {
    map3::<f64, f64, f64, f64>(r, f, m, |a, b, c| fl::with_nan_of(op(a, b, c), [b, c, a]));
}

fn add_f64(a: f64, b: f64, mode: Rounding) -> f64 {
    let s = a + b;
    if s.is_infinite() && a.is_finite() && b.is_finite() {
        let inward = match mode {
            Rounding::Zero => true,
            Rounding::Down => s > 0.0,
            Rounding::Up => s < 0.0,
            Rounding::Nearest | Rounding::NearestAway => false,
        };
        return if inward { f64::MAX.copysign(s) } else { s };
    }
    fl::zero_sum(fl::directed_f64(s, rounding::missing(a, b, s), mode), a, b, mode)
}

impl Decoder<'_> {
    pub(super) fn float(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::*;
        let ty = i.types().last().ok_or_else(|| self.malformed(i, "it has no type"))?;
        match i.opcode {
            Testp => return self.testp(i, ty),
            Copysign => return self.copysign(i, ty),
            Min | Max => return self.extremes(i, ty),
            Ex2 | Tanh if matches!(ty, Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2) => return self.half(i),
            _ => {}
        }
        if i.types().count() > 1 {
            return Err(self.unsupported(i, "more than one type"));
        }
        let sources = match i.opcode {
            Fma | Mad => 3,
            Add | Sub | Mul | Div => 2,
            _ => 1,
        };
        if ty == Type::F32x2 {
            return self.packed_f32(i, sources);
        }
        let exact: &[Word] = &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz, Word::Sat];
        let approximate: &[Word] = &[Word::Approx, Word::Ftz];
        let has_approximate = i.has(Word::Approx) || i.has(Word::Full);
        let allowed: &[Word] = match (i.opcode, has_approximate) {
            (Div, true) => &[Word::Approx, Word::Full, Word::Ftz],
            (_, true) => approximate,
            (Abs | Neg, _) => &[Word::Ftz],
            _ => exact,
        };
        self.only(i, allowed)?;
        let aux = mode_bits(i) | if i.has(Word::Ftz) { FTZ } else { 0 } | if i.has(Word::Sat) { SAT } else { 0 };
        let types = [ty; 3];
        let run: Option<Compute> = match (ty, i.opcode, has_approximate) {
            (Type::F32, Div, true) if i.has(Word::Approx) => Some(|r, f, m| apply2(r, f, m, approx::div)),
            (Type::F32, _, _) => f32_op(i.opcode, aux),
            (Type::F64, Rcp, true) => Some(|r, f, m| map1::<f64, f64>(r, f, m, approx::rcp_f64)),
            (Type::F64, Rsqrt, true) if i.has(Word::Ftz) => {
                Some(|r, f, m| map1::<f64, f64>(r, f, m, approx::rsqrt_f64))
            }
            (Type::F64, Rsqrt, true) => Some(|r, f, m| map1::<f64, f64>(r, f, m, approx::rsqrt_f64_fine)),
            (Type::F64, _, false) if aux & (FTZ | SAT) == 0 => f64_op(i.opcode, aux),
            _ => None,
        };
        let run = run.ok_or_else(|| self.unsupported(i, ""))?;
        self.simple(i, run, ty, &types[..sources], aux)?;
        self.quick(match (ty, i.opcode, aux) {
            (Type::F32, Add, 0) => Some(Quick::AddF32),
            (Type::F32, Sub, 0) => Some(Quick::SubF32),
            (Type::F32, Mul, 0) => Some(Quick::MulF32),
            (Type::F32, Fma | Mad, 0) => Some(Quick::FmaF32),
            (Type::F32, Ex2, _) => Some(Quick::Ex2F32),
            _ => None,
        });
        Ok(())
    }

    /// Two f32 in a 64-bit register.
    fn packed_f32(&mut self, i: &Instruction, sources: usize) -> Result<()> {
        use Word::{Ftz, Rm, Rn, Rp, Rz};
        self.only(i, &[Rn, Rz, Rm, Rp, Ftz])?;
        let directed = mode_bits(i) != 0;
        fn both(f: &Fields, x: [u64; 3], op: impl Fn(f32, f32, f32) -> f32) -> u64 {
            let half = |shift: u32| {
                let [a, b, c] = x.map(|x| flush_in(f.aux, f32::from_bits((x >> shift) as u32)));
                u64::from(finish(f.aux, op(a, b, c)).to_bits()) << shift
            };
            half(0) | half(32)
        }
        let run: Compute = match i.opcode {
            Opcode::Add if directed => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| fl::add(a, b, mode(f.aux))));
            },
            Opcode::Sub if directed => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| fl::add(a, -b, mode(f.aux))));
            },
            Opcode::Mul if directed => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| fl::mul(a, b, mode(f.aux))));
            },
            Opcode::Fma if directed => |r, f, m| {
                let f = *f;
                map3::<u64, u64, u64, u64>(r, &f, m, |a, b, c| {
                    both(&f, [a, b, c], |a, b, c| fl::fma(a, b, c, mode(f.aux)))
                });
            },
            Opcode::Add => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| a + b));
            },
            Opcode::Sub => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| a - b));
            },
            Opcode::Mul => |r, f, m| {
                let f = *f;
                map2::<u64, u64, u64>(r, &f, m, |a, b| both(&f, [a, b, 0], |a, b, _| a * b));
            },
            Opcode::Fma => |r, f, m| {
                let f = *f;
                map3::<u64, u64, u64, u64>(r, &f, m, |a, b, c| both(&f, [a, b, c], rounding::fma));
            },
            _ => return Err(self.unsupported(i, "")),
        };
        let types = [Type::F32x2; 3];
        let aux = mode_bits(i) | if i.has(Ftz) { FTZ } else { 0 };
        self.simple(i, run, Type::F32x2, &types[..sources], aux)?;
        self.quick(match (i.opcode, aux) {
            (Opcode::Add, 0) => Some(Quick::AddF32x2),
            (Opcode::Mul, 0) => Some(Quick::MulF32x2),
            (Opcode::Fma, 0) => Some(Quick::FmaF32x2),
            _ => None,
        });
        Ok(())
    }

    fn extremes(&mut self, i: &Instruction, ty: Type) -> Result<()> {
        self.only(i, &[Word::Ftz, Word::Nan, Word::XorSign, Word::Abs])?;
        let xorsign = i.has(Word::XorSign);
        if ty == Type::F32 && !xorsign && i.operands.len() == 4 {
            return self.extreme_of_three(i);
        }
        if xorsign != i.has(Word::Abs) || (ty == Type::F64 && i.modifiers.len() > 1) {
            return Err(self.unsupported(i, ""));
        }
        let aux = if i.has(Word::Ftz) { FTZ } else { 0 }
            | if i.has(Word::Nan) { 4 } else { 0 }
            | if i.opcode == Opcode::Max { 8 } else { 0 };
        let run: Compute = match (ty, i.opcode, aux & 7, xorsign) {
            (Type::F32, Opcode::Max, 0, false) => {
                |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| fl::extreme(a, b, true))
            }
            (Type::F32, Opcode::Min, 0, false) => {
                |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| fl::extreme(a, b, false))
            }
            (Type::F32, _, _, false) => |r, f, m| {
                let aux = f.aux;
                map2::<f32, f32, f32>(r, f, m, |a, b| extreme_by(aux, a, b));
            },
            (Type::F32, _, _, true) => |r, f, m| {
                let aux = f.aux;
                map2::<f32, f32, f32>(r, f, m, |a, b| {
                    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
                    let magnitude = extreme_by(aux, a.abs(), b.abs());
                    if magnitude.is_nan() { magnitude } else { f32::from_bits(magnitude.to_bits() | sign) }
                });
            },
            (Type::F64, Opcode::Max, 0, false) => |r, f, m| binary(r, f, m, |a, b| fl::extreme(a, b, true)),
            (Type::F64, Opcode::Min, 0, false) => |r, f, m| binary(r, f, m, |a, b| fl::extreme(a, b, false)),
            _ => return Err(self.unsupported(i, "")),
        };
        self.simple(i, run, ty, &[ty; 2], aux)?;
        self.quick(match (ty, aux & 7, xorsign) {
            (Type::F32, 0, false) if i.opcode == Opcode::Max => Some(Quick::MaxF32),
            (Type::F32, 0, false) => Some(Quick::MinF32),
            _ => None,
        });
        Ok(())
    }

    /// The smallest or largest of three, or of their magnitudes.
    fn extreme_of_three(&mut self, i: &Instruction) -> Result<()> {
        let flags =
            [(i.has(Word::Ftz), FTZ), (i.has(Word::Nan), 4), (i.opcode == Opcode::Max, 8), (i.has(Word::Abs), 16)];
        let aux = flags.into_iter().filter(|(on, _)| *on).fold(0, |sum, (_, bit)| sum | bit);
        let run: Compute = |r, f, m| {
            let aux = f.aux;
            map3::<f32, f32, f32, f32>(r, f, m, |a, b, c| {
                let [a, b, c] = [a, b, c].map(|x| if aux & 16 != 0 { x.abs() } else { x });
                extreme_by(aux, extreme_by(aux, a, b), c)
            });
        };
        self.simple(i, run, Type::F32, &[Type::F32; 3], aux)
    }

    fn testp(&mut self, i: &Instruction, ty: Type) -> Result<()> {
        const CLASSES: [(Word, Class); 6] = [
            (Word::Finite, Class::Finite),
            (Word::Infinite, Class::Infinite),
            (Word::Number, Class::Number),
            (Word::NotANumber, Class::NotANumber),
            (Word::Normal, Class::Normal),
            (Word::Subnormal, Class::Subnormal),
        ];
        self.only(i, &CLASSES.map(|(word, _)| word))?;
        let aux = CLASSES.iter().position(|(word, _)| i.has(*word));
        let aux = aux.ok_or_else(|| self.malformed(i, "no class"))? as u16;
        let run: Compute = match ty {
            Type::F32 => |r, f, m| {
                let class = CLASSES[f.aux as usize % 6].1;
                let bits = test1::<f32>(r, f, |a| fl::is(class, a.classify()));
                put_predicate(r, f.d, m, bits);
            },
            Type::F64 => |r, f, m| {
                let class = CLASSES[f.aux as usize % 6].1;
                let bits = test1::<f64>(r, f, |a| fl::is(class, a.classify()));
                put_predicate(r, f.d, m, bits);
            },
            _ => return Err(self.unsupported(i, "")),
        };
        self.simple(i, run, Type::Pred, &[ty], aux)
    }

    /// `copysign d, a, b`: the sign of `a`, the rest of `b`.
    fn copysign(&mut self, i: &Instruction, ty: Type) -> Result<()> {
        self.only(i, &[])?;
        let run: Compute = match ty {
            Type::F32 => |r, f, m| map2::<f32, f32, f32>(r, f, m, |a, b| b.copysign(a)),
            Type::F64 => |r, f, m| map2::<f64, f64, f64>(r, f, m, |a, b| b.copysign(a)),
            _ => return Err(self.unsupported(i, "")),
        };
        self.simple(i, run, ty, &[ty; 2], 0)
    }
}

#[inline(always)]
fn extreme_by(aux: u16, a: f32, b: f32) -> f32 {
    let (a, b, max) = (flush_in(aux, a), flush_in(aux, b), aux & 8 != 0);
    if aux & 4 != 0 { fl::extreme_nan(a, b, max) } else { fl::extreme(a, b, max) }
}
