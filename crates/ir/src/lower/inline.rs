//! Inline PTX: its registers and labels become the kernel's.

use super::{LowerError, Lowering};
use crate::inline::Inline;
use crate::kernel::Inst;
use smallvec::SmallVec;
use std::sync::Arc;
use warpsmith_ptx::{Base, Instruction, LabelId, Operand, RegisterId, Statement};

/// What registers and labels of the text are in the kernel.
struct Names {
    registers: Vec<RegisterId>,
    labels: Vec<LabelId>,
}

impl Lowering<'_> {
    pub(super) fn inline(&mut self, inst: &Inst, inline: &Inline) -> Result<(), LowerError> {
        let types = |values: &[crate::Value]| {
            values.iter().map(|&v| self.kernel.type_of(v)).collect::<SmallVec<[crate::Type; 4]>>()
        };
        // The verifier has seen that it parses.
        let Ok(function) = inline.parse(&types(&inst.results), &types(&inst.args)) else { return Ok(()) };
        let mut registers: Vec<RegisterId> = inst.args.iter().map(|&v| self.out.in_register(v)).collect();
        registers.splice(0..0, inst.results.iter().map(|&v| self.out.define(v)).collect::<Vec<_>>());
        let own = function.registers.iter().skip(registers.len());
        registers.extend(own.map(|r| self.out.inline_register(r.ty)).collect::<Vec<_>>());
        let labels = function.labels.iter().map(|_| self.out.label("inline")).collect();
        let names = Names { registers, labels };
        for statement in function.body {
            match statement {
                Statement::Instruction(i) => {
                    let name = i.name();
                    self.push_checked(inst, names.instruction(i), || format!("`{name}`"))?;
                }
                Statement::Label(id) => self.out.place(names.label(id)),
                other => self.out.function.body.push(other),
            }
        }
        Ok(())
    }
}

impl Names {
    fn register(&self, id: RegisterId) -> RegisterId {
        self.registers.get(id.0 as usize).copied().unwrap_or(id)
    }

    fn label(&self, id: LabelId) -> LabelId {
        self.labels.get(id.0 as usize).copied().unwrap_or(id)
    }

    fn instruction(&self, mut instruction: Instruction) -> Instruction {
        instruction.line = 0;
        if let Some(guard) = &mut instruction.guard {
            guard.register = self.register(guard.register);
        }
        instruction.operands.iter_mut().for_each(|o| self.operand(o));
        instruction
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Register(r) | Operand::Not(r) => *r = self.register(*r),
            Operand::Label(l) => *l = self.label(*l),
            Operand::Vector(parts) => Arc::make_mut(parts).iter_mut().for_each(|p| self.operand(p)),
            Operand::Pair(a, b) => {
                self.operand(a);
                self.operand(b);
            }
            Operand::Address(address) => {
                if let Base::Register(r) = &mut address.base {
                    *r = self.register(*r);
                }
                address.coordinates.iter_mut().for_each(|c| self.operand(c));
            }
            Operand::Immediate(_) | Operand::Special(_) | Operand::Symbol(..) | Operand::Sink => {}
        }
    }
}
