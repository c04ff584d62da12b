//! Halves and bytes side by side in a register: `vadd2` to `vmax4`.

use super::{Decoder, Result};
use crate::lanes::{Compute, Fields, LANES, put};
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

const A_SIGNED: u16 = 1;
const B_SIGNED: u16 = 2;
const D_SIGNED: u16 = 4;
const SATURATES: u16 = 8;
const SUMS_UP: u16 = 16;
const BYTES: u16 = 32;

fn apply(aux: u16, [a, b, c]: [u32; 3]) -> u32 {
    let bits = if aux & BYTES != 0 { 8 } else { 16 };
    let part = |x: u32, at: u32, signed: bool| {
        let raw = i64::from(x >> at & ((1 << bits) - 1));
        if signed { raw << (64 - bits) >> (64 - bits) } else { raw }
    };
    let (low, high) =
        if aux & D_SIGNED != 0 { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let (mut merged, mut sum) = (0, c);
    for at in (0..32).step_by(bits as usize) {
        let (x, y) = (part(a, at, aux & A_SIGNED != 0), part(b, at, aux & B_SIGNED != 0));
        let value = match aux >> 8 {
            0 => x + y,
            1 => x - y,
            2 if x + y >= 0 => (x + y + 1) >> 1,
            2 => (x + y) >> 1,
            3 => (x - y).abs(),
            4 => x.min(y),
            _ => x.max(y),
        };
        let value = if aux & SATURATES != 0 { value.clamp(low, high) } else { value };
        merged |= (value as u32 & ((1 << bits) - 1)) << at;
        sum = sum.wrapping_add(value as u32);
    }
    if aux & SUMS_UP != 0 { sum } else { merged }
}

impl Decoder<'_> {
    pub(super) fn video(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::*;
        self.only(i, &[Word::Sat, Word::Add])?;
        let types: Vec<Type> = i.types().collect();
        let &[d, a, b] = types.as_slice() else { return Err(self.malformed(i, "three types are expected")) };
        let op = match i.opcode {
            Vadd2 | Vadd4 => 0,
            Vsub2 | Vsub4 => 1,
            Vavrg2 | Vavrg4 => 2,
            Vabsdiff2 | Vabsdiff4 => 3,
            Vmin2 | Vmin4 => 4,
            _ => 5,
        };
        let flags = [
            (a.is_signed(), A_SIGNED),
            (b.is_signed(), B_SIGNED),
            (d.is_signed(), D_SIGNED),
            (i.has(Word::Sat), SATURATES),
            (i.has(Word::Add), SUMS_UP),
            (matches!(i.opcode, Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4), BYTES),
        ];
        let aux = flags.into_iter().filter(|(on, _)| *on).fold(op << 8, |sum, (_, bit)| sum | bit);
        let run: Compute = |r, f: &Fields, m| {
            let (a, b, c) = (&r.r32[f.a as usize], &r.r32[f.b as usize], &r.r32[f.c as usize]);
            let t: [u32; LANES] = std::array::from_fn(|l| apply(f.aux, [a[l], b[l], c[l]]));
            put(r, f.d, m, &t);
        };
        self.simple(i, run, Type::B32, &[Type::B32; 3], aux)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_bytes() {
        assert_eq!(apply(0, [0x0001_ffff, 0x0002_0001, 9]), 0x0003_0000);
        assert_eq!(apply(SATURATES, [0x0001_ffff, 0x0002_0001, 9]), 0x0003_ffff);
        assert_eq!(
            apply(SATURATES | A_SIGNED | B_SIGNED | D_SIGNED | BYTES, [0x7f80_0000, 0x01ff_0000, 0]),
            0x7f80_0000
        );
        assert_eq!(apply(3 << 8 | BYTES | SUMS_UP, [0x0a00_0005, 0x0000_0a01, 100]), 124);
        assert_eq!(apply(2 << 8, [0x0003_0000, 0x0004_0001, 0]), 0x0004_0001);
        assert_eq!(apply(4 << 8 | A_SIGNED | B_SIGNED, [0xffff_0005, 0x0001_0003, 0]), 0xffff_0003);
    }
}
