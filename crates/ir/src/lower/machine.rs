//! Instructions by their names in PTX.

use super::builder::{Builder, IntoOperand};
use super::{LowerError, Lowering};
use crate::kernel::{Inst, RegisterId};
use crate::machine::{Machine, Places, Slot, operand};
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpsmith_ptx as ptx;
use warpsmith_ptx::table::{Form, Lanes, OperandForm, Role, Shape, resolve};
use warpsmith_ptx::{Instruction, Modifier, Opcode as O, Operand, Type as T};

impl Lowering<'_> {
    pub(super) fn machine(&mut self, inst: &Inst, machine: &Machine) -> Result<(), LowerError> {
        // The verifier has seen that there is a form.
        let Some(plan) = self.plan(inst, machine)? else { return Ok(()) };
        let mut instruction = Instruction::new(machine.opcode, machine.modifiers.iter().copied(), []);
        let mut after = vec![];
        for (slot, planned) in machine.operands.iter().zip(plan) {
            let literal = planned.literal.filter(|_| !matches!(slot, Slot::Vector(_) | Slot::Registers(..)));
            let place = operand(slot, &mut Real { out: &mut self.out, inst, literal });
            let place = if planned.byte { self.byte(place, planned.role, &mut after) } else { place };
            instruction.operands.push(place);
        }
        if let Some(guard) = machine.guard {
            let p = self.out.in_register(inst.args[usize::from(guard.arg)]);
            instruction = instruction.guarded(p, guard.negated);
        }
        self.out.push(instruction);
        after.into_iter().for_each(|i| self.out.push(i));
        Ok(())
    }

    /// What its operands may be. Which form it is depends on their kinds, and which constants may stay such, on the form.
    fn plan(&mut self, inst: &Inst, machine: &Machine) -> Result<Option<Plan>, LowerError> {
        let key = kinds(machine).map(|kinds| (machine.opcode, machine.modifiers.clone(), kinds));
        if let Some(plan) = key.as_ref().and_then(|key| self.plans.get(key)) {
            return Ok(Some(plan.clone()));
        }
        let probe = machine.probe();
        let Ok((form, bound)) = machine.bind(&probe) else { return Ok(None) };
        self.require_form(inst, form, &probe, || format!("`{machine}`"))?;
        let planned = |form: &OperandForm| Planned {
            literal: literal_type(form, &probe),
            byte: is_byte(form, &probe),
            role: form.role,
        };
        let plan: Plan = bound.iter().map(|(form, _)| planned(form)).collect();
        if let Some(key) = key {
            self.plans.insert(key, plan.clone());
        }
        Ok(Some(plan))
    }

    /// A register of 8 bits, which only these conversions take, for one of 16, in which our bytes are.
    fn byte(&mut self, place: Operand, role: Role, after: &mut Vec<Instruction>) -> Operand {
        let byte = Operand::Register(self.out.inline_register(T::B8));
        if role == Role::Result {
            after.push(Instruction::new(O::Cvt, [T::U16.into(), T::U8.into()], [place, byte.clone()]));
        } else {
            self.out.push(Instruction::new(O::Cvt, [T::U8.into(), T::U16.into()], [byte.clone(), place]));
        }
        byte
    }

    /// Appends an instruction of the table, if the target has it.
    pub(super) fn push_checked(
        &mut self,
        inst: &Inst,
        instruction: Instruction,
        what: impl FnOnce() -> String,
    ) -> Result<(), LowerError> {
        if let Ok(form) = resolve(&instruction) {
            self.require_form(inst, form, &instruction, what)?;
        }
        self.out.push(instruction);
        Ok(())
    }

    /// An error that names the first target that has it, if this one does not.
    fn require_form(
        &self,
        inst: &Inst,
        form: &Form,
        instruction: &Instruction,
        what: impl FnOnce() -> String,
    ) -> Result<(), LowerError> {
        if form.is_on(self.target, instruction) {
            return Ok(());
        }
        let at = self.kernel.location(inst.location).cloned();
        Err(LowerError::Unsupported { what: what(), needs: form.floor(instruction).1, target: self.target, at })
    }
}

/// What instructions of the same words and kinds of operands came to: unrolled loops repeat them.
pub(super) type Plans = FxHashMap<(O, SmallVec<[Modifier; 6]>, SmallVec<[Kind; 6]>), Plan>;

pub(super) type Plan = SmallVec<[Planned; 6]>;

/// What an operand may be.
#[derive(Clone, Copy)]
pub(super) struct Planned {
    /// The type of a literal in its place.
    literal: Option<T>,
    /// Whether it is a register of exactly 8 bits.
    byte: bool,
    role: Role,
}

/// An operand without what it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Register,
    Immediate,
    Address,
    /// That many registers.
    Vector(usize),
}

/// The kinds of its operands; `None` where a form may look at more than these.
fn kinds(machine: &Machine) -> Option<SmallVec<[Kind; 6]>> {
    let register = |slot: &Slot| matches!(slot, Slot::Result(_) | Slot::Arg(_) | Slot::Register(_));
    let kind = |slot: &Slot| match slot {
        slot if register(slot) => Some(Kind::Register),
        Slot::Immediate(_) => Some(Kind::Immediate),
        Slot::Address { coordinates, .. } if coordinates.is_empty() => Some(Kind::Address),
        Slot::Registers(_, count) => Some(Kind::Vector(*count as usize)),
        Slot::Vector(parts) if parts.iter().all(register) => Some(Kind::Vector(parts.len())),
        _ => None,
    };
    machine.operands.iter().map(kind).collect()
}

/// Whether an operand is a register of exactly 8 bits.
fn is_byte(form: &OperandForm, instruction: &Instruction) -> bool {
    match &form.shape {
        Shape::Value(value) => !value.wider && value.type_in(instruction).is_some_and(|ty| ty.bits() == 8),
        _ => false,
    }
}

/// The type of an operand that may be a literal. PTX has none of less than 32 bits that means the same everywhere, none
/// of packed types, none of predicates; matrices and video instructions take registers.
fn literal_type(form: &OperandForm, instruction: &Instruction) -> Option<T> {
    let Shape::Value(value) = form.shape else { return None };
    let registers_only = match instruction.opcode {
        O::Mma | O::Wmma | O::Movmatrix => true,
        opcode => opcode.name().starts_with('v') && opcode != O::Vote,
    };
    let ty = value.type_in(instruction)?;
    let number = matches!(ty, T::B32 | T::B64 | T::U32 | T::U64 | T::S32 | T::S64 | T::F32 | T::F64);
    (number && value.lanes == Lanes::Scalar && !registers_only).then_some(ty)
}

/// Whether a constant of a type can be written as a literal of an operand's.
fn is_literal(ty: Type, of: T) -> bool {
    match ty {
        Type::F32 => of == T::F32,
        Type::F64 => of == T::F64,
        Type::I32 | Type::U32 => matches!(of, T::B32 | T::U32 | T::S32),
        Type::I64 | Type::U64 => matches!(of, T::B64 | T::U64 | T::S64),
        _ => false,
    }
}

/// The operands themselves.
struct Real<'a> {
    out: &'a mut Builder,
    inst: &'a Inst,
    /// The type of the literal that a constant may be.
    literal: Option<T>,
}

impl Places for Real<'_> {
    fn result(&mut self, i: u8) -> ptx::RegisterId {
        self.out.define(self.inst.results[usize::from(i)])
    }

    fn arg(&mut self, i: u8) -> Operand {
        let v = self.inst.args[usize::from(i)];
        match self.literal {
            Some(ty) if is_literal(self.out.type_of(v), ty) => self.out.operand(v),
            _ => self.out.in_register(v).into_operand(),
        }
    }

    fn base(&mut self, i: u8) -> ptx::RegisterId {
        self.out.in_register(self.inst.args[usize::from(i)])
    }

    fn register(&mut self, id: RegisterId) -> ptx::RegisterId {
        self.out.mutable(id)
    }

    fn registers(&mut self, first: RegisterId, count: u32) -> Operand {
        Operand::Vector(self.out.mutables(first, count))
    }
}
