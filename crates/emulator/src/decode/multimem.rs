//! `multimem`: memory of several devices behind one address.

use super::{Decoder, Result};
use crate::program::{Action, Address, AtomicOp, AtomicType, Multimem, MultimemKind, Scope};
use warpsmith_ptx::{Instruction, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn multimem(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let operations = [
            (Add, AtomicOp::Add),
            (Min, AtomicOp::Min),
            (Max, AtomicOp::Max),
            (And, AtomicOp::And),
            (Or, AtomicOp::Or),
            (Xor, AtomicOp::Xor),
        ];
        let mut allowed: Vec<Word> = operations.iter().map(|(word, _)| *word).collect();
        allowed.extend([LdReduce, St, Red, Weak, Relaxed, Acquire, Release, Cta, Cluster, Gpu, Sys, Global]);
        allowed.extend([AccF32, V2, V4, V8]);
        self.only(i, &allowed)?;
        let op = operations.into_iter().find(|(word, _)| i.has(*word)).map(|(_, op)| op);
        let what = match op {
            Some(op) if i.has(LdReduce) => MultimemKind::LoadReduce { op, wide: i.has(AccF32) },
            Some(op) if i.has(Red) => MultimemKind::Reduce { op },
            _ if i.has(St) => MultimemKind::Store,
            _ => return Err(self.malformed(i, "no operation")),
        };
        let ty = self.ty(i)?;
        let kind = match ty {
            Type::S32 => AtomicType::S32,
            Type::U32 | Type::B32 => AtomicType::U32,
            Type::S64 => AtomicType::S64,
            Type::U64 | Type::B64 => AtomicType::U64,
            Type::F16 => AtomicType::F16,
            Type::BF16 => AtomicType::BF16,
            Type::F16x2 => AtomicType::F16x2,
            Type::BF16x2 => AtomicType::BF16x2,
            Type::F32 => AtomicType::F32,
            Type::F64 => AtomicType::F64,
            _ => return Err(self.unsupported(i, "its type")),
        };
        let load = matches!(what, MultimemKind::LoadReduce { .. });
        let place = self.address(i, self.operand(i, usize::from(load))?)?;
        let data = self.operand(i, usize::from(!load))?;
        let list = match data {
            Operand::Vector(elements) => elements.to_vec(),
            one => vec![one.clone()],
        };
        let mut elements = vec![];
        for element in &list {
            elements.push(match load {
                true => self.write(i, element, ty)?,
                false => self.read(i, element, ty)?,
            });
        }
        if elements.len() * kind.bytes() > 16 {
            return Err(self.malformed(i, "more than 16 bytes a thread"));
        }
        // A reduction is never weak.
        let strong = matches!(what, MultimemKind::Reduce { .. }) || i.has(Relaxed) || i.has(Acquire) || i.has(Release);
        self.communicates = true;
        let index = self.multimems.len() as u32;
        self.multimems.push(Multimem {
            what,
            ty: kind,
            strong: strong.then(|| self.scope(i).unwrap_or(Scope::Sys)),
            order: self.semantics(i),
            address: Address { plane: place.plane, wide: place.wide, offset: place.offset },
            elements,
        });
        self.emit(Action::Multimem(index));
        Ok(())
    }
}
