//! 16-bit float arithmetic, one value or two packed ones.

use super::{Decoder, Result};
use crate::arithmetic::approximate as approx;
use crate::arithmetic::float::{extreme, extreme_nan};
use crate::arithmetic::half::{Half, packed2, packed3};
use crate::lanes::{BF16, Compute, F16, Value, map1, map2, map3};
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

const FTZ: u16 = 1;
const SAT: u16 = 2;
const RELU: u16 = 4;
const NAN: u16 = 8;
const XORSIGN: u16 = 16;

#[inline(always)]
fn flush<H: Half>(aux: u16, x: H) -> H {
    if aux & FTZ != 0 { x.flush() } else { x }
}

#[inline(always)]
fn finish<H: Half>(aux: u16, x: H) -> H {
    let x = flush(aux, x);
    let x = if aux & SAT != 0 { x.saturate() } else { x };
    let x = if aux & RELU != 0 { x.relu() } else { x };
    if x.is_nan() { H::nan() } else { x }
}

#[inline(always)]
fn one2<H: Half>(aux: u16, a: H, b: H, op: impl Fn(H, H) -> H) -> H {
    finish(aux, op(flush(aux, a), flush(aux, b)))
}

#[inline(always)]
fn extremes<H: Half>(aux: u16, a: H, b: H, max: bool) -> H {
    let sign = H::from_bits((a.bits() ^ b.bits()) & 0x8000).is_negative();
    let (a, b) = if aux & XORSIGN != 0 { (a.abs(), b.abs()) } else { (a, b) };
    let x = one2(aux, a, b, |a, b| if aux & NAN != 0 { extreme_nan(a, b, max) } else { extreme(a, b, max) });
    if aux & XORSIGN != 0 && sign && !x.is_nan() { x.neg() } else { x }
}

/// Every NaN becomes the canonical one.
#[inline(always)]
fn number<H: Half>(x: H) -> H {
    if x.is_nan() { H::nan() } else { x }
}

/// Functions of one value, through f32.
#[inline(always)]
fn through<H: Half>(x: H, op: impl Fn(f32) -> f32) -> H {
    H::round(op(x.widen()).into())
}

fn scalar<H: Half + Value<Raw = u32>>(op: Opcode) -> Option<Compute> {
    Some(match op {
        Opcode::Add => |r, f, m| {
            let aux = f.aux;
            map2::<H, H, H>(r, f, m, |a, b| one2(aux, a, b, H::add));
        },
        Opcode::Sub => |r, f, m| {
            let aux = f.aux;
            map2::<H, H, H>(r, f, m, |a, b| one2(aux, a, b, H::sub));
        },
        Opcode::Mul => |r, f, m| {
            let aux = f.aux;
            map2::<H, H, H>(r, f, m, |a, b| one2(aux, a, b, H::mul));
        },
        Opcode::Fma => |r, f, m| {
            let aux = f.aux;
            map3::<H, H, H, H>(r, f, m, |a, b, c| finish(aux, flush(aux, a).fma(flush(aux, b), flush(aux, c))));
        },
        Opcode::Min => |r, f, m| {
            let aux = f.aux;
            map2::<H, H, H>(r, f, m, |a, b| extremes(aux, a, b, false));
        },
        Opcode::Max => |r, f, m| {
            let aux = f.aux;
            map2::<H, H, H>(r, f, m, |a, b| extremes(aux, a, b, true));
        },
        Opcode::Neg => |r, f, m| {
            let aux = f.aux;
            map1::<H, H>(r, f, m, |a| number(flush(aux, a).neg()));
        },
        Opcode::Abs => |r, f, m| {
            let aux = f.aux;
            map1::<H, H>(r, f, m, |a| number(flush(aux, a).abs()));
        },
        Opcode::Ex2 => |r, f, m| {
            let aux = f.aux;
            map1::<H, H>(r, f, m, |a| finish(aux, through(flush(aux, a), approx::ex2)));
        },
        Opcode::Tanh => |r, f, m| {
            let aux = f.aux;
            map1::<H, H>(r, f, m, |a| finish(aux, through(a, approx::tanh)));
        },
        _ => return None,
    })
}

fn packed<H: Half>(op: Opcode) -> Option<Compute> {
    Some(match op {
        Opcode::Add => |r, f, m| {
            let aux = f.aux;
            map2::<u32, u32, u32>(r, f, m, |a, b| packed2(a, b, |a, b| one2::<H>(aux, a, b, H::add)));
        },
        Opcode::Sub => |r, f, m| {
            let aux = f.aux;
            map2::<u32, u32, u32>(r, f, m, |a, b| packed2(a, b, |a, b| one2::<H>(aux, a, b, H::sub)));
        },
        Opcode::Mul => |r, f, m| {
            let aux = f.aux;
            map2::<u32, u32, u32>(r, f, m, |a, b| packed2(a, b, |a, b| one2::<H>(aux, a, b, H::mul)));
        },
        Opcode::Fma => |r, f, m| {
            let aux = f.aux;
            map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| {
                packed3::<H>(a, b, c, |a, b, c| finish(aux, flush(aux, a).fma(flush(aux, b), flush(aux, c))))
            });
        },
        Opcode::Min => |r, f, m| {
            let aux = f.aux;
            map2::<u32, u32, u32>(r, f, m, |a, b| packed2::<H>(a, b, |a, b| extremes(aux, a, b, false)));
        },
        Opcode::Max => |r, f, m| {
            let aux = f.aux;
            map2::<u32, u32, u32>(r, f, m, |a, b| packed2::<H>(a, b, |a, b| extremes(aux, a, b, true)));
        },
        Opcode::Neg => |r, f, m| {
            let aux = f.aux;
            map1::<u32, u32>(r, f, m, |a| packed2::<H>(a, a, |a, _| number(flush(aux, a).neg())));
        },
        Opcode::Abs => |r, f, m| {
            let aux = f.aux;
            map1::<u32, u32>(r, f, m, |a| packed2::<H>(a, a, |a, _| number(flush(aux, a).abs())));
        },
        Opcode::Ex2 => |r, f, m| {
            let aux = f.aux;
            map1::<u32, u32>(r, f, m, |a| packed2::<H>(a, a, |a, _| finish(aux, through(flush(aux, a), approx::ex2))));
        },
        Opcode::Tanh => |r, f, m| {
            let aux = f.aux;
            map1::<u32, u32>(r, f, m, |a| packed2::<H>(a, a, |a, _| finish(aux, through(a, approx::tanh))));
        },
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn half(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let ty = self.ty(i)?;
        if i.types().count() > 1 {
            return Err(self.unsupported(i, "more than one type"));
        }
        let allowed: &[Word] = match i.opcode {
            Opcode::Fma => &[Rn, Ftz, Sat, Relu],
            Opcode::Min | Opcode::Max => &[Ftz, Nan, XorSign, Abs],
            Opcode::Neg | Opcode::Abs => &[Ftz],
            Opcode::Ex2 | Opcode::Tanh => &[Approx, Ftz],
            _ => &[Rn, Ftz, Sat],
        };
        self.only(i, allowed)?;
        let flags = [(Ftz, FTZ), (Sat, SAT), (Relu, RELU), (Nan, NAN), (XorSign, XORSIGN)];
        let aux = flags.into_iter().filter(|(word, _)| i.has(*word)).fold(0, |sum, (_, bit)| sum | bit);
        let run = match ty {
            Type::F16 => scalar::<F16>(i.opcode),
            Type::BF16 => scalar::<BF16>(i.opcode),
            Type::F16x2 => packed::<F16>(i.opcode),
            Type::BF16x2 => packed::<BF16>(i.opcode),
            _ => None,
        };
        let run = run.ok_or_else(|| self.unsupported(i, ""))?;
        let sources = match i.opcode {
            Opcode::Fma => 3,
            Opcode::Neg | Opcode::Abs | Opcode::Ex2 | Opcode::Tanh => 1,
            _ => 2,
        };
        self.simple(i, run, ty, &[ty; 3][..sources], aux)
    }
}
