//! Arithmetic with a carry: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`. The carry is a predicate of its own.

use super::operands::File;
use super::{Decoder, Register, Result};
use crate::lanes::{Compute, Fields, LANES, Registers, put, put_predicate};
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

const SUBTRACTS: u16 = 1;
const MULTIPLIES: u16 = 2;
const HIGH: u16 = 4;
const TAKES: u16 = 8;
const GIVES: u16 = 16;
const SIGNED: u16 = 32;

/// The result of `bits` bits and the carry out.
fn step(aux: u16, bits: u32, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let carry = u64::from(carry && aux & TAKES != 0);
    if aux & SUBTRACTS != 0 {
        let (a, b) = (a & mask, b & mask);
        let wide = u128::from(b) + u128::from(carry);
        return ((u128::from(a).wrapping_sub(wide) as u64) & mask, u128::from(a) < wide);
    }
    let (x, y) = if aux & MULTIPLIES != 0 {
        let extend = |x: u64| {
            if aux & SIGNED != 0 { i128::from((x << (64 - bits)) as i64 >> (64 - bits)) } else { (x & mask).into() }
        };
        let product = extend(a).wrapping_mul(extend(b));
        let part = if aux & HIGH != 0 { product >> bits } else { product } as u64;
        (part & mask, c & mask)
    } else {
        (a & mask, b & mask)
    };
    let sum = u128::from(x) + u128::from(y) + u128::from(carry);
    ((sum as u64) & mask, sum > u128::from(mask))
}

fn run32(r: &mut Registers, f: &Fields, m: u32) {
    let (a, b, c, carry) = (&r.r32[f.a as usize], &r.r32[f.b as usize], &r.r32[f.c as usize], r.p[f.e as usize]);
    let mut out = 0;
    let t: [u32; LANES] = std::array::from_fn(|l| {
        let (value, next) = step(f.aux, 32, [a[l].into(), b[l].into(), c[l].into()], carry >> l & 1 == 1);
        out |= u32::from(next) << l;
        value as u32
    });
    finish(r, f, m, &t, out);
}

fn run64(r: &mut Registers, f: &Fields, m: u32) {
    let (a, b, c, carry) = (&r.r64[f.a as usize], &r.r64[f.b as usize], &r.r64[f.c as usize], r.p[f.e as usize]);
    let mut out = 0;
    let t: [u64; LANES] = std::array::from_fn(|l| {
        let (value, next) = step(f.aux, 64, [a[l], b[l], c[l]], carry >> l & 1 == 1);
        out |= u32::from(next) << l;
        value
    });
    finish(r, f, m, &t, out);
}

fn finish<R: crate::lanes::Raw>(r: &mut Registers, f: &Fields, m: u32, t: &[R; LANES], out: u32) {
    put(r, f.d, m, t);
    if f.aux & GIVES != 0 {
        put_predicate(r, f.e, m, out);
    }
}

impl Decoder<'_> {
    /// Whether an instruction has to do with the carry.
    pub(super) fn carries(i: &Instruction) -> bool {
        i.has(Word::Cc) || matches!(i.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc)
    }

    pub(super) fn carry(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::{Addc, Mad, Madc, Sub, Subc};
        self.only(i, &[Word::Cc, Word::Lo, Word::Hi])?;
        let ty = self.ty(i)?;
        let run: Compute = match File::of(ty) {
            Some(File::R32) if matches!(ty, Type::U32 | Type::S32) => run32,
            Some(File::R64) if matches!(ty, Type::U64 | Type::S64) => run64,
            _ => return Err(self.unsupported(i, "")),
        };
        let multiplies = matches!(i.opcode, Mad | Madc);
        let takes = matches!(i.opcode, Addc | Subc | Madc);
        let gives = i.has(Word::Cc);
        let flags = [
            (matches!(i.opcode, Sub | Subc), SUBTRACTS),
            (multiplies, MULTIPLIES),
            (i.has(Word::Hi), HIGH),
            (takes, TAKES),
            (gives, GIVES),
            (ty.is_signed(), SIGNED),
        ];
        let aux = flags.into_iter().filter(|(on, _)| *on).fold(0, |sum, (_, bit)| sum | bit);
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let b = self.read(i, self.operand(i, 2)?, ty)?;
        let c = if multiplies { self.read(i, self.operand(i, 3)?, ty)? } else { a };
        let d = self.write(i, self.operand(i, 0)?, ty)?;
        let e = match self.carry {
            Some(e) => e,
            None => {
                let Register::P(e) = self.fresh(File::P)? else { return Ok(()) };
                self.carry = Some(e);
                e
            }
        };
        if takes {
            self.reads.push(Register::P(e));
        }
        if gives {
            self.writes.push(Register::P(e));
        }
        self.compute(run, Fields { d, e, a, b, c, aux });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_and_borrows() {
        assert_eq!(step(GIVES, 32, [u32::MAX.into(), 1, 0], false), (0, true));
        assert_eq!(step(TAKES, 32, [u32::MAX.into(), 0, 0], true), (0, true));
        assert_eq!(step(SUBTRACTS, 64, [0, 1, 0], false), (u64::MAX, true));
        assert_eq!(step(SUBTRACTS | TAKES, 64, [1, 0, 0], true), (0, false));
        assert_eq!(step(SUBTRACTS | TAKES, 64, [0, u64::MAX, 0], true), (0, true));
        assert_eq!(step(MULTIPLIES | HIGH | SIGNED, 32, [u32::MAX.into(), 5, 1], false), (0, true));
        assert_eq!(step(MULTIPLIES, 64, [u64::MAX, u64::MAX, u64::MAX], false), (0, true));
    }
}
