//! `wmma`: fragments whose layout PTX does not tell. Ours is that of `mma`, so that a product is a few of those.

use super::{Decoder, Result};
use crate::program::{Accumulator, Address, Element, Fragments, Matrix, Mma, NONE, Product, Tile, TileAccess};
use warpsmith_ptx::{Instruction, Operand, Type, Word};

/// m, n, k and their word.
const SHAPES: [(Word, [usize; 3]); 4] = [
    (Word::M16n16k16, [16, 16, 16]),
    (Word::M32n8k16, [32, 8, 16]),
    (Word::M8n32k16, [8, 32, 16]),
    (Word::M16n16k8, [16, 16, 8]),
];

/// How a fragment's elements share its registers.
fn tile(ty: Type, [m, n, k]: [usize; 3], role: Word) -> Tile {
    let bytes = (ty.bits() as usize / 8).clamp(1, 4);
    let each = 4 / bytes;
    let (halves, steps) = (m.min(16) / 8, k / (4 * each));
    let (rows, columns, registers) = match role {
        Word::A => (m, k, m / 8 * steps),
        Word::B => (k, n, n / 8 * steps),
        _ => (m, n, m / 8 * (n / 8) * if each == 2 { 1 } else { 2 }),
    };
    Tile { role, bytes, each, halves, steps, rows, columns, registers }
}

impl Decoder<'_> {
    pub(super) fn wmma(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let words = [Load, Store, Mma, A, B, C, D, Sync, Aligned, Row, Col, Global, Shared, SharedCta, Satfinite];
        let allowed: Vec<Word> = words.into_iter().chain(SHAPES.map(|(word, _)| word)).collect();
        self.only(i, &allowed)?;
        let shape = SHAPES.into_iter().find(|(word, _)| i.has(*word)).map(|(_, shape)| shape);
        let shape = shape.ok_or_else(|| self.malformed(i, "it has no shape"))?;
        if i.has(Mma) {
            return self.wmma_products(i, shape);
        }
        let role = [A, B, C].into_iter().find(|word| i.has(*word)).unwrap_or(D);
        let tile = tile(self.ty(i)?, shape, role);
        let loads = i.has(Load);
        let (data, address) = if loads { (0, 1) } else { (1, 0) };
        let place = self.address(i, self.operand(i, address)?)?;
        let by_columns = i.has(Col);
        let stride = match i.operands.get(2) {
            Some(stride) => self.read(i, stride, Type::U32)?,
            None => self.constant32(if by_columns { tile.rows } else { tile.columns } as u32)?,
        };
        let planes = self.planes(i, data, loads, Type::B32)?;
        if planes.len() < tile.registers {
            return Err(self.malformed(i, "the vector's length does not fit"));
        }
        let access = TileAccess {
            tile,
            by_columns,
            space: self.space(i),
            address: Address { plane: place.plane, wide: place.wide, offset: place.offset },
            stride,
            planes,
        };
        self.emit_fragments(if loads { Fragments::LoadTile(access) } else { Fragments::StoreTile(access) })
    }

    /// One `mma` for each 16 × 8 of the result, or 8 × 8 of a flat one.
    fn wmma_products(&mut self, i: &Instruction, shape: [usize; 3]) -> Result<()> {
        let types: Vec<Type> = i.types().collect();
        let (d_type, a_type, c_type) = match types[..] {
            [d, c] => (d, Type::F16, c),
            [d, a, b, c] if a == b => (d, a, c),
            _ => return Err(self.malformed(i, "its types do not fit")),
        };
        if d_type != c_type {
            return Err(self.unsupported(i, "accumulators of different types"));
        }
        let result = match d_type {
            Type::F32 => Accumulator::F32,
            Type::F16 => Accumulator::F16,
            Type::S32 => Accumulator::S32 { saturates: i.has(Word::Satfinite) },
            _ => return Err(self.unsupported(i, "its accumulator")),
        };
        let element = Element::of(a_type).ok_or_else(|| self.unsupported(i, "its elements"))?;
        let [a, b, c] =
            [(a_type, Word::A), (a_type, Word::B), (c_type, Word::C)].map(|(ty, role)| tile(ty, shape, role));
        let lengths = [1, 2, 3, 0].map(|n| match i.operands.get(n) {
            Some(Operand::Vector(registers)) => registers.len(),
            _ => 0,
        });
        if lengths[0] < a.registers || lengths[1] < b.registers || lengths[2..] != [c.registers; 2] {
            return Err(self.malformed(i, "its fragments have the wrong lengths"));
        }
        let [m, n, k] = shape;
        let (wide, high) = (n / 8, m.div_ceil(16));
        let (of_a, of_b, of_c) = (a.registers / high, b.registers / wide, c.registers / (wide * high));
        let mut written: Vec<u32> = vec![];
        for part in 0..wide * high {
            let [x, y, z] = [(1, part / wide * of_a, of_a), (2, part % wide * of_b, of_b), (3, part * of_c, of_c)];
            let mut taken = |(index, start, count): (usize, usize, usize)| -> Result<Vec<u32>> {
                let mut planes = self.planes(i, index, false, Type::B32)?;
                planes.truncate(start + count);
                Ok(planes.split_off(start))
            };
            let (a, b, c) = (taken(x)?, taken(y)?, taken(z)?);
            if [&a, &b, &c].into_iter().flatten().any(|plane| written.contains(plane)) {
                return Err(self.unsupported(i, "a result in an operand's place"));
            }
            self.writes.clear();
            let mut d = self.planes(i, 0, true, Type::B32)?;
            d.truncate(part * of_c + of_c);
            let d = d.split_off(part * of_c);
            // The other registers are the other products'.
            self.writes = self.writes.iter().copied().skip(part * of_c).take(of_c).collect();
            let accumulator = self.lists.len() as u32;
            self.lists.extend(&d);
            written.extend(d);
            let product = Product {
                n: 8,
                k: k as u16,
                result,
                a_element: element,
                b_element: element,
                accumulator,
                a: Matrix::Registers(accumulator),
                b: NONE,
                scale: NONE,
                negate_a: false,
                negate_b: false,
                transpose_a: false,
                transpose_b: false,
                unfenced: None,
            };
            self.emit_fragments(Fragments::Product(Mma { product, halves: (m.min(16) / 8) as u8, a, b, c }))?;
        }
        Ok(())
    }
}
