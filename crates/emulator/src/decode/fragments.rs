//! `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::{Decoder, Result};
use crate::program::{Accumulator, Action, Address, Element, Fragments, Matrix, MatrixAccess, NONE, Product};
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn fragments(&mut self, i: &Instruction) -> Result<()> {
        let fragments = match i.opcode {
            Opcode::Movmatrix => {
                let a = self.read(i, self.operand(i, 1)?, Type::B32)?;
                Fragments::Transpose { d: self.write(i, self.operand(i, 0)?, Type::B32)?, a }
            }
            Opcode::Mma if i.types().next() == Some(Type::F64) => Fragments::Doubles(self.mma_f64(i)?),
            Opcode::Mma => Fragments::Product(self.mma(i)?),
            _ => self.matrices(i)?,
        };
        self.emit_fragments(fragments)
    }

    pub(super) fn emit_fragments(&mut self, fragments: Fragments) -> Result<()> {
        let index = self.fragments.len() as u32;
        self.fragments.push(fragments);
        let members = self.constant32(u32::MAX)?;
        self.emit(Action::Fragments { index, members });
        Ok(())
    }

    fn matrices(&mut self, i: &Instruction) -> Result<Fragments> {
        use Word::*;
        self.only(i, &[Sync, Aligned, M8n8, X1, X2, X4, Trans, Shared, SharedCta])?;
        let load = i.opcode == Opcode::Ldmatrix;
        let count = [(X1, 1), (X2, 2), (X4, 4)].into_iter().find(|(word, _)| i.has(*word)).map(|(_, n)| n);
        let count: u8 = count.ok_or_else(|| self.malformed(i, "no number of matrices"))?;
        let (data, address) = if load { (0, 1) } else { (1, 0) };
        let place = self.address(i, self.operand(i, address)?)?;
        let planes = self.planes(i, data, load, Type::B32)?;
        if planes.len() != usize::from(count) {
            return Err(self.malformed(i, "the vector's length does not fit"));
        }
        let list = self.lists.len() as u32;
        self.lists.extend(planes);
        let access = MatrixAccess {
            count,
            transposes: i.has(Trans),
            space: self.space(i),
            address: Address { plane: place.plane, wide: place.wide, offset: place.offset },
            list,
        };
        Ok(if load { Fragments::Load(access) } else { Fragments::Store(access) })
    }

    /// The planes of a vector, or of a single register.
    pub(super) fn planes(&mut self, i: &Instruction, index: usize, writes: bool, ty: Type) -> Result<Vec<u32>> {
        let elements = match self.operand(i, index)? {
            Operand::Vector(elements) => &elements[..],
            single => std::slice::from_ref(single),
        };
        let mut planes = vec![];
        for element in elements {
            planes.push(if writes { self.write(i, element, ty)? } else { self.read(i, element, ty)? }.into());
        }
        Ok(planes)
    }

    fn mma_f64(&mut self, i: &Instruction) -> Result<crate::program::MmaF64> {
        use Word::*;
        self.only(i, &[Sync, Aligned, M8n8k4, M16n8k4, M16n8k8, M16n8k16, Row, Col])?;
        let shapes = [(M8n8k4, 1, 1), (M16n8k4, 2, 1), (M16n8k8, 2, 2), (M16n8k16, 2, 4)];
        let shape = shapes.into_iter().find(|(word, ..)| i.has(*word));
        let (_, halves, steps) = shape.ok_or_else(|| self.malformed(i, "it has no shape"))?;
        let mut planes = |index: usize, writes: bool| -> Result<Vec<u16>> {
            Ok(self.planes(i, index, writes, Type::F64)?.into_iter().map(|plane| plane as u16).collect())
        };
        let (a, b, c) = (planes(1, false)?, planes(2, false)?, planes(3, false)?);
        let d = planes(0, true)?;
        if (a.len(), b.len(), c.len(), d.len()) != (halves * steps, steps, 2 * halves, 2 * halves) {
            return Err(self.malformed(i, "its fragments have the wrong lengths"));
        }
        Ok(crate::program::MmaF64 { halves: halves as u8, d, a, b, c })
    }

    fn mma(&mut self, i: &Instruction) -> Result<crate::program::Mma> {
        use Word::*;
        self.only(i, &[Sync, Aligned, M16n8k4, M16n8k8, M16n8k16, M16n8k32, M8n8k16, Row, Col, Satfinite])?;
        let shapes = [(M16n8k4, 2, 4), (M16n8k8, 2, 8), (M16n8k16, 2, 16), (M16n8k32, 2, 32), (M8n8k16, 1, 16)];
        let shape = shapes.into_iter().find(|(word, ..)| i.has(*word));
        let (_, halves, k) = shape.ok_or_else(|| self.malformed(i, "it has no shape"))?;
        let types: Vec<Type> = i.types().collect();
        let [d, a, b, c] = types[..] else { return Err(self.malformed(i, "it needs four types")) };
        let result = match d {
            Type::F32 => Accumulator::F32,
            Type::F16 => Accumulator::F16,
            Type::S32 => Accumulator::S32 { saturates: i.has(Satfinite) },
            _ => return Err(self.unsupported(i, "its accumulator")),
        };
        if c != d {
            return Err(self.unsupported(i, "accumulators of different types"));
        }
        let element = |this: &Self, ty| Element::of(ty).ok_or_else(|| this.unsupported(i, "its elements"));
        let (a_element, b_element) = (element(self, a)?, element(self, b)?);
        let register = if d == Type::F16 { Type::B32 } else { d };
        let (a, b, c) = (
            self.planes(i, 1, false, Type::B32)?,
            self.planes(i, 2, false, Type::B32)?,
            self.planes(i, 3, false, register)?,
        );
        let d = self.planes(i, 0, true, register)?;
        let each = 4 / a_element.bytes();
        // A register holds `each` elements for each of 8 × 4 lanes.
        let steps = usize::from(k) / (4 * each);
        let results = halves * if result == Accumulator::F16 { 1 } else { 2 };
        let fits = a_element.bytes() == b_element.bytes()
            && (a.len(), b.len()) == (halves * steps, steps)
            && (c.len(), d.len()) == (results, results);
        if !fits {
            return Err(self.malformed(i, "its fragments have the wrong lengths"));
        }
        let accumulator = self.lists.len() as u32;
        self.lists.extend(d);
        let product = Product {
            n: 8,
            k,
            result,
            a_element,
            b_element,
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
        Ok(crate::program::Mma { product, halves: halves as u8, a, b, c })
    }
}
