//! Comparisons of 16-bit floats, one or two in a register: `setp` and `set` in their rarer forms.

use super::logic::Compare;
use super::{Decoder, Result};
use crate::arithmetic::float::Float;
use crate::arithmetic::half::Half;
use crate::lanes::{BF16, F16, Fields, LANES, Registers, put, put_predicate};
use crate::program::NONE;
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

const BFLOAT: u16 = 1 << 8;
const FLUSHES: u16 = 1 << 9;
const PACKED: u16 = 1 << 10;
/// What `set` puts where the comparison holds: 1.0, and not all ones.
const ONE: u16 = 1 << 11;
/// A result of 16 bits.
const NARROW: u16 = 1 << 12;

/// Which lanes' low halves, and high halves, satisfy the comparison; combined with the predicate `c`.
fn verdicts(r: &Registers, f: &Fields) -> [u32; 2] {
    let compare = Compare::numbered(f.aux >> 4 & 15);
    let (a, b, c) = (&r.r32[f.a as usize], &r.r32[f.b as usize], r.p[f.c as usize]);
    let value = |bits: u32| {
        let bits = bits as u16;
        match (f.aux & BFLOAT != 0, f.aux & FLUSHES != 0) {
            (true, _) => BF16(bits).widen(),
            (false, true) => F16(bits).flush().widen(),
            (false, false) => F16(bits).widen(),
        }
    };
    [0, 16].map(|shift| {
        let bits = (0..LANES)
            .fold(0, |bits, l| bits | u32::from(compare.holds(value(a[l] >> shift), value(b[l] >> shift))) << l);
        combined(f.aux, bits, c)
    })
}

fn combined(aux: u16, bits: u32, c: u32) -> u32 {
    match aux & 3 {
        1 => bits & c,
        2 => bits | c,
        3 => bits ^ c,
        _ => bits,
    }
}

fn set_predicates(r: &mut Registers, f: &Fields, m: u32) {
    let [low, high] = verdicts(r, f);
    let second = if f.aux & PACKED != 0 {
        high
    } else {
        // The complement is of the comparison, before it is combined.
        let plain = Fields { aux: f.aux & !3, ..*f };
        combined(f.aux, !verdicts(r, &plain)[0], r.p[f.c as usize])
    };
    if f.d != NONE {
        put_predicate(r, f.d, m, low);
    }
    if f.e != NONE {
        put_predicate(r, f.e, m, second);
    }
}

fn set_value(r: &mut Registers, f: &Fields, m: u32) {
    let [low, high] = verdicts(r, f);
    let one = match (f.aux & ONE != 0, f.aux & BFLOAT != 0) {
        (true, true) => 0x3f80,
        (true, false) => 0x3c00,
        (false, _) => 0xffff,
    };
    let t: [u32; LANES] = std::array::from_fn(|l| {
        let (low, high) = (low >> l & 1, high >> l & 1);
        match (f.aux & PACKED != 0, f.aux & NARROW != 0) {
            (true, _) => (low * one) | ((high * one) << 16),
            (false, true) => low * one,
            (false, false) => {
                if low == 1 {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    });
    put(r, f.d, m, &t);
}

impl Decoder<'_> {
    /// Whether a comparison is of a form that this file knows.
    pub(super) fn compares_halves(i: &Instruction) -> bool {
        match (i.opcode, i.types().last()) {
            (Opcode::Set, Some(Type::F16 | Type::BF16)) => true,
            (Opcode::Setp, Some(Type::F16)) => i.has(Word::Ftz),
            (Opcode::Set | Opcode::Setp, Some(Type::F16x2 | Type::BF16x2)) => true,
            _ => false,
        }
    }

    pub(super) fn half_comparison(&mut self, i: &Instruction) -> Result<()> {
        let mut allowed = vec![Word::Ftz, Word::And, Word::Or, Word::Xor];
        allowed.extend(Compare::words());
        self.only(i, &allowed)?;
        let compare = Compare::of(i).ok_or_else(|| self.malformed(i, "no comparison"))?;
        let from = i.types().last().ok_or_else(|| self.malformed(i, "it has no type"))?;
        let combine = [(Word::And, 1), (Word::Or, 2), (Word::Xor, 3)];
        let combine = combine.into_iter().find(|(word, _)| i.has(*word)).map_or(0, |(_, n)| n);
        let packed = matches!(from, Type::F16x2 | Type::BF16x2);
        let flags =
            [(matches!(from, Type::BF16 | Type::BF16x2), BFLOAT), (i.has(Word::Ftz), FLUSHES), (packed, PACKED)];
        let mut aux = flags.into_iter().filter(|(on, _)| *on).fold(combine, |sum, (_, bit)| sum | bit);
        aux |= compare.number() << 4;
        let a = self.read(i, self.operand(i, 1)?, from)?;
        let b = self.read(i, self.operand(i, 2)?, from)?;
        let c = match combine {
            0 => self.fixed_predicate(false)?,
            _ => self.read(i, self.operand(i, 3)?, Type::Pred)?,
        };
        if i.operands.len() != if combine == 0 { 3 } else { 4 } {
            return Err(self.malformed(i, "the wrong number of operands"));
        }
        if i.opcode == Opcode::Setp {
            let (d, e) = match self.operand(i, 0)? {
                Operand::Pair(p, q) => (self.result_or_none(i, p)?, self.result_or_none(i, q)?),
                p => (self.result_or_none(i, p)?, NONE),
            };
            self.compute(set_predicates, Fields { d, e, a, b, c, aux });
            return Ok(());
        }
        let to = self.ty(i)?;
        match to {
            Type::U32 | Type::S32 => {}
            Type::U16 | Type::S16 if !packed => aux |= NARROW,
            Type::F16 | Type::BF16 if to == from => aux |= NARROW | ONE,
            Type::F16x2 | Type::BF16x2 if to == from => aux |= ONE,
            _ => return Err(self.unsupported(i, "")),
        }
        let d = self.write(i, self.operand(i, 0)?, to)?;
        self.compute(set_value, Fields { d, e: NONE, a, b, c, aux });
        Ok(())
    }
}
