//! `wgmma`.

use super::{Decoder, Result};
use crate::program::{Accumulator, Action, Element, Matrix, Product};
use warpsmith_ptx::{Instruction, Modifier, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn warpgroup(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        if i.has(Fence) {
            self.emit(Action::ProductFence);
        } else if i.has(CommitGroup) {
            self.emit(Action::CommitProducts);
        } else if i.has(WaitGroup) {
            let left = self.number(i, 0)?;
            self.emit(Action::WaitProducts(left));
        } else {
            self.product(i)?;
        }
        Ok(())
    }

    fn product(&mut self, i: &Instruction) -> Result<()> {
        let shape = i.modifiers.iter().find_map(|m| match m {
            Modifier::Word(word) => shape(word.name()),
            Modifier::Type(_) => None,
        });
        let (n, k) = shape.ok_or_else(|| self.malformed(i, "it has no shape"))?;
        let types: Vec<Type> = i.types().collect();
        let [d, a, b] = types[..] else { return Err(self.malformed(i, "it needs three types")) };
        let result = match d {
            Type::F32 => Accumulator::F32,
            Type::F16 => Accumulator::F16,
            Type::S32 => Accumulator::S32 { saturates: i.has(Word::Satfinite) },
            _ => return Err(self.unsupported(i, "its accumulator")),
        };
        let element = |this: &Self, ty| Element::of(ty).ok_or_else(|| this.unsupported(i, "its elements"));
        let (a_element, b_element) = (element(self, a)?, element(self, b)?);
        let wanted = 32 / a_element.bytes() as u16;
        if k != wanted || a_element.bytes() != b_element.bytes() {
            return Err(self.malformed(i, format!("elements of this type come {wanted} a step of k")));
        }
        let Operand::Vector(accumulator) = self.operand(i, 0)? else {
            return Err(self.malformed(i, "the accumulator is no vector"));
        };
        let register = if result == Accumulator::F16 { Type::B32 } else { d };
        let list = self.lists.len() as u32;
        let mut planes = vec![];
        // Without what it was, the accumulator need not be anything before.
        let anew = matches!(i.operands.get(3), Some(Operand::Immediate(warpsmith_ptx::Immediate::Integer(0))));
        for r in accumulator.iter() {
            if !anew {
                self.read(i, r, register)?;
            }
            planes.push(self.write(i, r, register)?);
        }
        self.lists.extend(planes.into_iter().map(u32::from));
        let matrix = match self.operand(i, 1)? {
            Operand::Vector(registers) if registers.len() == 4 => {
                let mut planes = vec![];
                for r in registers.iter() {
                    planes.push(u32::from(self.read(i, r, Type::B32)?));
                }
                self.lists.extend(planes);
                Matrix::Registers(list + accumulator.len() as u32)
            }
            Operand::Vector(_) => return Err(self.malformed(i, "A must be four registers or a descriptor")),
            descriptor => Matrix::Shared(self.read(i, descriptor, Type::B64)?),
        };
        let b = self.read(i, self.operand(i, 2)?, Type::B64)?;
        let scale = self.read(i, self.operand(i, 3)?, Type::Pred)?;
        let literal = |index: usize| match i.operands.get(index) {
            Some(Operand::Immediate(warpsmith_ptx::Immediate::Integer(n))) => Ok(Some(*n)),
            Some(_) => Err(self.malformed(i, format!("operand {} must be a literal", index + 1))),
            None => Ok(None),
        };
        let negates = |n: Option<i64>| n == Some(-1);
        let (negate_a, negate_b) = (negates(literal(4)?), negates(literal(5)?));
        let transposes = |n: Option<i64>| n.is_some_and(|n| n != 0);
        let (transpose_a, transpose_b) = match matrix {
            Matrix::Shared(_) => (transposes(literal(6)?), transposes(literal(7)?)),
            Matrix::Registers(_) => (false, transposes(literal(6)?)),
        };
        if a_element.bytes() != 2 && (transpose_a || transpose_b) {
            return Err(self.malformed(i, "only 16-bit elements can be transposed"));
        }
        let product = Product {
            n,
            k,
            result,
            a_element,
            b_element,
            accumulator: list,
            a: matrix,
            b,
            scale,
            negate_a,
            negate_b,
            transpose_a,
            transpose_b,
            unfenced: None,
        };
        if accumulator.len() != product.accumulators() {
            return Err(self.malformed(i, "the accumulator has the wrong length"));
        }
        let index = self.products.len() as u32;
        self.products.push(product);
        self.emit(Action::Product(index));
        Ok(())
    }
}

/// n and k of `m64n256k16`.
fn shape(name: &str) -> Option<(u16, u16)> {
    let (n, k) = name.strip_prefix("m64n")?.split_once('k')?;
    Some((n.parse().ok()?, k.parse().ok()?))
}
