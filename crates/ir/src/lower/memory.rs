//! Parameters, memory, and exchange between threads.

use super::builder::{IntoOperand, immediate};
use super::types::{memory, parameter, register};
use super::{LowerError, Lowering};
use crate::access::Access;
use crate::kernel::{self, Inst, SharedId, Value};
use crate::op::{Op, Shuffle, Space, Special};
use crate::types::Type;
use warpsmith_ptx::{
    Address, Base, Immediate, Instruction, Modifier, Opcode as O, Operand, RegisterId, Symbol, Type as T, Word as W,
};
use warpsmith_types::Target;

impl Lowering<'_> {
    pub(super) fn param(&mut self, inst: &Inst, index: u32) -> Result<(), LowerError> {
        let ty = self.out.type_of(inst.results[0]);
        if self.kernel.params[index as usize].tensor_map {
            // Copies take a generic address.
            let address = self.out.register(ty).into_operand();
            let symbol = Operand::Symbol(Symbol::Parameter(index), 0);
            self.out.emit(O::Mov, [T::B64], [address.clone(), symbol]);
            let d = self.out.define(inst.results[0]).into_operand();
            let generic = Instruction::new(O::Cvta, [W::Param.into(), T::U64.into()], [d, address]);
            return self.push_checked(inst, generic, || "a tensor map as a parameter".into());
        }
        let d = self.out.define(inst.results[0]).into_operand();
        let address = Address { base: Base::Symbol(Symbol::Parameter(index)), offset: 0, coordinates: vec![] };
        let modifiers = [Modifier::from(W::Param), parameter(ty).into()];
        self.out.emit(O::Ld, modifiers, [d, Operand::Address(address)]);
        Ok(())
    }

    pub(super) fn special(&mut self, inst: &Inst, special: Special) -> Result<(), LowerError> {
        // That PTX has a register of every name is a test.
        let Some(register) = special.register() else { return Ok(()) };
        let d = self.out.define(inst.results[0]).into_operand();
        let instruction = Instruction::new(O::Mov, [register.ty().into()], [d, Operand::Special(register)]);
        self.push_checked(inst, instruction, || format!("`%{register}`"))
    }

    pub(super) fn shared_address(&mut self, inst: &Inst, id: SharedId) {
        let d = self.out.define(inst.results[0]).into_operand();
        let (symbol, offset) = self.out.shared[id.0 as usize];
        self.out.emit(O::Mov, [T::U32], [d, Operand::Symbol(symbol, offset)]);
    }

    pub(super) fn load(
        &mut self,
        inst: &Inst,
        space: Space,
        offset: i32,
        fill: Option<u64>,
        access: Access,
    ) -> Result<(), LowerError> {
        let ty = self.out.type_of(inst.results[0]);
        let address = self.address(inst.args[0], offset);
        let policy = inst.policy().map(|p| self.out.in_register(p).into_operand());
        let guard = inst.condition().map(|c| self.out.in_register(c));
        let registers: Vec<_> = inst.results.iter().map(|&v| self.out.define(v)).collect();
        if let Some(fill) = fill {
            for &r in &registers {
                self.out.set_constant(r, ty, fill);
            }
        }
        let modifiers = access.modifiers(space, registers.len(), memory(ty));
        let data = many(registers.into_iter().map(IntoOperand::into_operand).collect());
        let instruction = Instruction::new(O::Ld, modifiers, [data, address].into_iter().chain(policy));
        self.push_access(inst, instruction, guard, access)
    }

    pub(super) fn store(&mut self, inst: &Inst, space: Space, offset: i32, access: Access) -> Result<(), LowerError> {
        let values = inst.stored();
        let ty = self.out.type_of(values[0]);
        let address = self.address(inst.args[0], offset);
        let policy = inst.policy().map(|p| self.out.in_register(p).into_operand());
        let guard = inst.condition().map(|c| self.out.in_register(c));
        let data = match values {
            [one] if ty.bits() >= 32 => self.out.operand(*one),
            // Elements of a vector are registers.
            _ => many(values.iter().map(|&v| self.out.in_register(v).into_operand()).collect()),
        };
        let modifiers = access.modifiers(space, values.len(), memory(ty));
        let instruction = Instruction::new(O::St, modifiers, [address, data].into_iter().chain(policy));
        self.push_access(inst, instruction, guard, access)
    }

    fn push_access(
        &mut self,
        inst: &Inst,
        instruction: Instruction,
        guard: Option<RegisterId>,
        access: Access,
    ) -> Result<(), LowerError> {
        let instruction = match guard {
            Some(p) => instruction.guarded(p, false),
            None => instruction,
        };
        let wide = instruction.has(W::V8) || instruction.has(W::V4) && self.bits_of(inst) == 256;
        if wide {
            self.require(Target { number: 100, specific: false }, inst, || "a 256-bit access".into())?;
        }
        if access == Access::PLAIN && !wide && !instruction.has(W::SharedCluster) {
            // Every target has it.
            self.out.push(instruction);
            return Ok(());
        }
        let what = format!("`{}`", instruction.name());
        self.push_checked(inst, instruction, || what)
    }

    /// Bits that an access moves.
    fn bits_of(&self, inst: &Inst) -> u32 {
        inst.moved().iter().map(|&v| self.out.type_of(v).bits()).sum()
    }

    fn address(&mut self, base: Value, offset: i32) -> Operand {
        let base = Base::Register(self.out.in_register(base));
        Operand::Address(Address { base, offset: i64::from(offset), coordinates: vec![] })
    }

    pub(super) fn shuffle(&mut self, inst: &Inst, shuffle: Shuffle) {
        // The clamp is the last lane that may be read; upwards it is the first.
        let (word, clamp) = match shuffle {
            Shuffle::Xor => (W::Bfly, 31),
            Shuffle::Down => (W::Down, 31),
            Shuffle::Up => (W::Up, 0),
            Shuffle::Index => (W::Idx, 31),
        };
        let x = self.out.in_register(inst.args[0]).into_operand();
        let lane = self.out.operand(inst.args[1]);
        let d = self.out.define(inst.results[0]).into_operand();
        let clamp = Immediate::Integer(clamp).into_operand();
        let everyone = Immediate::Integer(0xffff_ffff).into_operand();
        let modifiers = [Modifier::from(W::Sync), word.into(), T::B32.into()];
        self.out.emit(O::Shfl, modifiers, [d, x, lane, clamp, everyone]);
    }

    pub(super) fn barrier(&mut self) {
        self.out.emit(O::Bar, [W::Sync], [immediate(Type::U32, 0).into_operand()]);
    }

    /// Before Hopper a kernel starts when the one before has ended: there is nothing to wait for or to announce.
    pub(super) fn dependence(&mut self, op: &Op) {
        if self.is_hopper() {
            let word = if matches!(op, Op::WaitForUpstream) { W::Wait } else { W::LaunchDependents };
            self.out.emit(O::Griddepcontrol, [word], []);
        }
    }

    /// A snapshot: the register may change while the value lives.
    pub(super) fn get(&mut self, inst: &Inst, id: kernel::RegisterId) {
        let ty = self.out.type_of(inst.results[0]);
        let source = self.out.mutable(id).into_operand();
        let d = self.out.define(inst.results[0]).into_operand();
        self.out.emit(O::Mov, [register(ty)], [d, source]);
    }

    pub(super) fn set(&mut self, inst: &Inst, id: kernel::RegisterId) {
        let ty = self.out.type_of(inst.args[0]);
        let d = self.out.mutable(id);
        match self.out.constant(inst.args[0]) {
            Some(bits) => self.out.set_constant(d, ty, bits),
            None => {
                let x = self.out.operand(inst.args[0]);
                self.out.emit(O::Mov, [register(ty)], [d.into_operand(), x]);
            }
        }
    }
}

/// One operand, or a vector of several.
fn many(mut operands: Vec<Operand>) -> Operand {
    match operands.len() {
        1 => operands.remove(0),
        _ => Operand::Vector(operands.into()),
    }
}
