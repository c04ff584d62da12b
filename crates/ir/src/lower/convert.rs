//! Conversions: the same number in another type, the same bits in another type, two halves in one register.

use super::builder::IntoOperand;
use super::types::{arithmetic, bits, register};
use super::{LowerError, Lowering};
use crate::kernel::{Inst, Value};
use crate::types::Type;
use warpsmith_ptx::{Modifier, Opcode as O, Operand, RegisterId, Type as T, Word as W};
use warpsmith_types::Target;

impl Lowering<'_> {
    pub(super) fn convert(&mut self, inst: &Inst) -> Result<(), LowerError> {
        let (x, d) = (inst.args[0], inst.results[0]);
        let (from, to) = (self.out.type_of(x), self.out.type_of(d));
        match (from, to) {
            _ if from == to || (from.is_integer() && to.is_integer() && from.bits() == to.bits()) => self.copy(x, d),
            (Type::BF16, Type::F32) => {
                let x = self.out.in_register(x);
                let d = self.out.define(d);
                self.widen_bf16_to(d, x);
            }
            // Through f32, which holds every value of both: rounded once.
            (Type::BF16, _) | (Type::F16, Type::BF16) => {
                let wide = match from {
                    Type::BF16 => self.widen_bf16(x),
                    _ => self.widen_f16(x),
                };
                let d = self.out.define(d);
                self.cvt(d, to, wide, Type::F32);
            }
            (Type::U8 | Type::I8 | Type::U16 | Type::I16, Type::BF16) if from.bits() == 8 || !self.is_hopper() => {
                let x = self.out.in_register(x);
                let wide = self.out.register(Type::F32);
                self.cvt(wide, Type::F32, x, from);
                let d = self.out.define(d);
                self.cvt(d, to, wide, Type::F32);
            }
            (_, Type::BF16) => {
                if from != Type::F32 {
                    self.require(Target::SM_90, inst, || format!("a conversion from {from} to bf16"))?;
                }
                self.plain(x, d);
            }
            _ => self.plain(x, d),
        }
        Ok(())
    }

    fn plain(&mut self, x: Value, d: Value) {
        let (from, to) = (self.out.type_of(x), self.out.type_of(d));
        let source = self.out.in_register(x);
        let d = self.out.define(d);
        self.cvt(d, to, source, from);
    }

    /// `cvt` with the rounding that the pair needs: none where every value fits.
    pub(super) fn cvt(&mut self, d: RegisterId, to: Type, x: RegisterId, from: Type) {
        let rounding = match (from.is_float(), to.is_float()) {
            (true, false) => Some(W::Rzi),
            (false, true) => Some(W::Rn),
            (true, true) if to.bits() < from.bits() => Some(W::Rn),
            _ => None,
        };
        let modifiers =
            rounding.map(Modifier::from).into_iter().chain([arithmetic(to).into(), arithmetic(from).into()]);
        self.out.emit(O::Cvt, modifiers, [d.into_operand(), x.into_operand()]);
    }

    /// A bf16 as f32: its bits are the upper half. Hopper has an instruction for it.
    pub(super) fn widen_bf16(&mut self, x: Value) -> RegisterId {
        let x = self.out.in_register(x);
        let wide = self.out.register(Type::F32);
        self.widen_bf16_to(wide, x);
        wide
    }

    fn widen_bf16_to(&mut self, d: RegisterId, x: RegisterId) {
        if self.is_hopper() {
            return self.cvt(d, Type::F32, x, Type::BF16);
        }
        let zero = self.out.register(Type::U16);
        self.out.set_constant(zero, Type::U16, 0);
        let halves = Operand::Vector([zero.into_operand(), x.into_operand()].into());
        self.out.emit(O::Mov, [T::B32], [d.into_operand(), halves]);
    }

    fn widen_f16(&mut self, x: Value) -> RegisterId {
        let x = self.out.in_register(x);
        let wide = self.out.register(Type::F32);
        self.cvt(wide, Type::F32, x, Type::F16);
        wide
    }

    pub(super) fn bitcast(&mut self, inst: &Inst) {
        self.copy(inst.args[0], inst.results[0]);
    }

    /// The bits of one value as another of the same width; of a constant, another constant.
    fn copy(&mut self, x: Value, d: Value) {
        if let Some(bits) = self.out.constant(x) {
            return self.out.hold_constant(d, bits);
        }
        let (from, to) = (self.out.type_of(x), self.out.type_of(d));
        let ty = if register(from) == register(to) { register(to) } else { bits(to) };
        let x = self.out.in_register(x).into_operand();
        let d = self.out.define(d).into_operand();
        self.out.emit(O::Mov, [ty], [d, x]);
    }

    pub(super) fn pack(&mut self, inst: &Inst, bf16: bool) {
        let low = self.out.in_register(inst.args[0]).into_operand();
        let high = self.out.in_register(inst.args[1]).into_operand();
        let d = self.out.define(inst.results[0]).into_operand();
        let ty = if bf16 { T::BF16x2 } else { T::F16x2 };
        // PTX names the upper half first.
        self.out.emit(O::Cvt, [Modifier::from(W::Rn), ty.into(), T::F32.into()], [d, high, low]);
    }

    pub(super) fn unpack(&mut self, inst: &Inst) {
        let x = self.out.in_register(inst.args[0]).into_operand();
        let halves = inst.results.iter().map(|&v| self.out.define(v).into_operand()).collect();
        self.out.emit(O::Mov, [T::B32], [Operand::Vector(halves), x]);
    }
}
