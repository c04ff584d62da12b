//! f32 arithmetic with 16-bit operands, `add.f32.f16`: what is narrow is widened first, and the result rounded once.

use super::float::{mode_bits, rounding_of};
use super::{Decoder, Result};
use crate::arithmetic::float::{self as fl, Float, canonical};
use crate::lanes::{BF16, Compute, F16, Fields, LANES, Registers, Value, put};
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

const SATURATES: u16 = 1;
const SUBTRACTS: u16 = 2;

fn run<H: Value<Raw = u32>>(r: &mut Registers, f: &Fields, m: u32, three: bool, widen: impl Fn(H) -> f32) {
    let mode = rounding_of(f.aux);
    let (a, b, c) = (&r.r32[f.a as usize], &r.r32[f.b as usize], &r.r32[f.c as usize]);
    let wide = |x: u32| widen(H::from_raw(x));
    let t: [u32; LANES] = std::array::from_fn(|l| {
        let x = match (three, f.aux & SUBTRACTS != 0) {
            (true, _) => fl::fma(wide(a[l]), wide(b[l]), f32::from_bits(c[l]), mode),
            (false, true) => fl::add(wide(a[l]), -f32::from_bits(b[l]), mode),
            (false, false) => fl::add(wide(a[l]), f32::from_bits(b[l]), mode),
        };
        (if f.aux & SATURATES != 0 { x.saturate() } else { canonical(x) }).to_bits()
    });
    put(r, f.d, m, &t);
}

impl Decoder<'_> {
    pub(super) fn mixed(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Rn, Rz, Rm, Rp, Sat])?;
        let half = i.types().last().ok_or_else(|| self.malformed(i, "it has no type"))?;
        let three = i.opcode == Opcode::Fma;
        let run: Compute = match (half, i.opcode) {
            (Type::F16, Opcode::Add | Opcode::Sub) => |r, f, m| run(r, f, m, false, F16::f32),
            (Type::BF16, Opcode::Add | Opcode::Sub) => |r, f, m| run(r, f, m, false, BF16::f32),
            (Type::F16, Opcode::Fma) => |r, f, m| run(r, f, m, true, F16::f32),
            (Type::BF16, Opcode::Fma) => |r, f, m| run(r, f, m, true, BF16::f32),
            _ => return Err(self.unsupported(i, "")),
        };
        let flags = if i.has(Sat) { SATURATES } else { 0 } | if i.opcode == Opcode::Sub { SUBTRACTS } else { 0 };
        let types = [half, if three { half } else { Type::F32 }, Type::F32];
        self.simple(i, run, Type::F32, &types[..if three { 3 } else { 2 }], mode_bits(i) | flags)
    }
}
