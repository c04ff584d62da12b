//! `atom` and `red` of vectors and of 128 bits.

use super::{Decoder, Result};
use crate::program::{Action, Address, AtomicOp, AtomicType, NONE, Scope, Space, VectorAtomic};
use warpsmith_ptx::{Instruction, Opcode, Operand, Type};

impl Decoder<'_> {
    pub(super) fn vector_atomic(&mut self, i: &Instruction, op: AtomicOp, ty: Type, space: Space) -> Result<()> {
        use AtomicOp::{Add, Cas, Exch, Max, Min};
        let kind = match (ty, op) {
            (Type::B128, Cas | Exch) => AtomicType::U64,
            (Type::F32, Add) => AtomicType::F32,
            (Type::F16, Add | Min | Max) => AtomicType::F16,
            (Type::BF16, Add | Min | Max) => AtomicType::BF16,
            (Type::F16x2, Add | Min | Max) => AtomicType::F16x2,
            (Type::BF16x2, Add | Min | Max) => AtomicType::BF16x2,
            _ => return Err(self.unsupported(i, "")),
        };
        let red = i.opcode == Opcode::Red;
        let first = usize::from(!red);
        let place = self.address(i, self.operand(i, first)?)?;
        let b = self.elements(i, first + 1, ty, false)?;
        let c = if op == Cas { self.elements(i, first + 2, ty, false)? } else { vec![] };
        let d = match (red, self.operand(i, 0)?) {
            (true, _) | (_, Operand::Sink) => vec![NONE; b.len()],
            _ => self.elements(i, 0, ty, true)?,
        };
        if d.len() != b.len() || b.len() * kind.bytes() > 32 {
            return Err(self.malformed(i, "the vector's length does not fit"));
        }
        self.communicates |= space != Space::Shared;
        let address = Address { plane: place.plane, wide: place.wide, offset: place.offset };
        let index = self.vectors.len() as u32;
        let (order, scope) = (self.semantics(i), self.scope(i).unwrap_or(Scope::Gpu));
        self.vectors.push(VectorAtomic {
            order,
            scope,
            space,
            op,
            ty: kind,
            whole: ty == Type::B128,
            address,
            d,
            b,
            c,
        });
        self.emit(Action::VectorAtomic(index));
        Ok(())
    }

    fn elements(&mut self, i: &Instruction, index: usize, ty: Type, writes: bool) -> Result<Vec<u16>> {
        let operand = self.operand(i, index)?;
        if ty == Type::B128 {
            return Ok(self.halves(i, operand, writes)?.to_vec());
        }
        let Operand::Vector(elements) = operand else { return Err(self.malformed(i, "a vector is expected")) };
        let mut planes = vec![];
        for element in elements.iter() {
            planes.push(match (writes, element) {
                (true, Operand::Sink) => NONE,
                (true, element) => self.write(i, element, ty)?,
                (false, element) => self.read(i, element, ty)?,
            });
        }
        Ok(planes)
    }
}
