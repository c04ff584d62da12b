//! Arithmetic, logic, comparison, selection.

use super::Lowering;
use super::builder::IntoOperand;
use super::types::{arithmetic, bits, register, signed};
use crate::kernel::{Inst, Value};
use crate::op::{Binary, Comparison, Unary};
use crate::types::Type;
use warpsmith_ptx::{Modifier, Opcode as O, Operand, Type as T, Word as W};

/// bfloat16 constants for what older targets compute by `fma`.
const BF16_ONE: u64 = 0x3f80;
const BF16_MINUS_ONE: u64 = 0xbf80;
const BF16_MINUS_ZERO: u64 = 0x8000;

impl Lowering<'_> {
    pub(super) fn unary(&mut self, inst: &Inst, op: Unary) {
        let (x, d) = (inst.args[0], inst.results[0]);
        let ty = self.out.type_of(d);
        let approximate = |opcode| (opcode, vec![Modifier::from(W::Approx), W::Ftz.into(), T::F32.into()]);
        let (opcode, modifiers) = match op {
            Unary::Neg => (O::Neg, vec![signed(ty).into()]),
            Unary::Abs => (O::Abs, vec![signed(ty).into()]),
            Unary::Not => (O::Not, vec![bits(ty).into()]),
            Unary::Rcp if ty == Type::F64 => (O::Rcp, vec![W::Rn.into(), T::F64.into()]),
            Unary::Sqrt if ty == Type::F64 => (O::Sqrt, vec![W::Rn.into(), T::F64.into()]),
            Unary::Rcp => approximate(O::Rcp),
            Unary::Rsqrt => approximate(O::Rsqrt),
            Unary::Sqrt => approximate(O::Sqrt),
            Unary::Exp2 => approximate(O::Ex2),
            Unary::Log2 => approximate(O::Lg2),
        };
        let x = self.out.in_register(x).into_operand();
        let d = self.out.define(d).into_operand();
        self.out.emit(opcode, modifiers, [d, x]);
    }

    pub(super) fn binary(&mut self, inst: &Inst, op: Binary) {
        let (a, b, d) = (inst.args[0], inst.args[1], inst.results[0]);
        let ty = self.out.type_of(a);
        if ty == Type::BF16 && matches!(op, Binary::Add | Binary::Sub | Binary::Mul) {
            return self.bf16_binary(op, a, b, d);
        }
        let rounded = |opcode| (opcode, vec![Modifier::from(W::Rn), arithmetic(ty).into()]);
        let typed = |opcode| (opcode, vec![Modifier::from(arithmetic(ty))]);
        let part = |word: W| (O::Mul, vec![Modifier::from(word), arithmetic(ty).into()]);
        let bitwise = |opcode| (opcode, vec![Modifier::from(bits(ty))]);
        let float = ty.is_float();
        let (opcode, modifiers) = match op {
            Binary::Add if float => rounded(O::Add),
            Binary::Sub if float => rounded(O::Sub),
            Binary::Mul if float => rounded(O::Mul),
            Binary::Div if float => rounded(O::Div),
            Binary::Add => typed(O::Add),
            Binary::Sub => typed(O::Sub),
            Binary::Mul => part(W::Lo),
            Binary::MulHi => part(W::Hi),
            Binary::MulWide => part(W::Wide),
            Binary::Div => typed(O::Div),
            Binary::Rem => typed(O::Rem),
            Binary::Min => typed(O::Min),
            Binary::Max => typed(O::Max),
            Binary::And => bitwise(O::And),
            Binary::Or => bitwise(O::Or),
            Binary::Xor => bitwise(O::Xor),
            Binary::Shl => bitwise(O::Shl),
            Binary::Shr => typed(O::Shr),
        };
        let operands = [self.out.operand(a), self.out.operand(b)];
        let d = self.out.define(d).into_operand();
        self.out.emit(opcode, modifiers, [d].into_iter().chain(operands));
    }

    /// bf16 add, sub and mul come with Hopper; before, `fma` gives the same bits: a·1 + b, b·(−1) + a, a·b − 0.
    fn bf16_binary(&mut self, op: Binary, a: Value, b: Value, d: Value) {
        let (a, b) = (self.out.in_register(a).into_operand(), self.out.in_register(b).into_operand());
        if self.is_hopper() {
            let opcode = match op {
                Binary::Add => O::Add,
                Binary::Sub => O::Sub,
                _ => O::Mul,
            };
            let d = self.out.define(d).into_operand();
            return self.out.emit(opcode, [Modifier::from(W::Rn), T::BF16.into()], [d, a, b]);
        }
        let constant = self.out.register(Type::BF16);
        let (bits, operands) = match op {
            Binary::Add => (BF16_ONE, [a, constant.into_operand(), b]),
            Binary::Sub => (BF16_MINUS_ONE, [b, constant.into_operand(), a]),
            _ => (BF16_MINUS_ZERO, [a, b, constant.into_operand()]),
        };
        self.out.set_constant(constant, Type::BF16, bits);
        let d = self.out.define(d).into_operand();
        self.out.emit(O::Fma, [Modifier::from(W::Rn), T::BF16.into()], [d].into_iter().chain(operands));
    }

    pub(super) fn fma(&mut self, inst: &Inst) {
        let ty = self.out.type_of(inst.results[0]);
        let operands: Vec<Operand> = inst.args.iter().map(|&v| self.out.operand(v)).collect();
        let d = self.out.define(inst.results[0]).into_operand();
        self.out.emit(O::Fma, [Modifier::from(W::Rn), arithmetic(ty).into()], [d].into_iter().chain(operands));
    }

    pub(super) fn compare(&mut self, inst: &Inst, op: Comparison) {
        let (a, b, d) = (inst.args[0], inst.args[1], inst.results[0]);
        let ty = self.out.type_of(a);
        if ty == Type::Bool {
            return self.compare_bools(op, a, b, d);
        }
        let word = match op {
            Comparison::Eq => W::Eq,
            // Unordered counts as unequal.
            Comparison::Ne if ty.is_float() => W::Neu,
            Comparison::Ne => W::Ne,
            Comparison::Lt => W::Lt,
            Comparison::Le => W::Le,
            Comparison::Gt => W::Gt,
            Comparison::Ge => W::Ge,
        };
        let (ty, operands) = if ty == Type::BF16 && !self.is_hopper() {
            (T::F32, [self.widen_bf16(a), self.widen_bf16(b)].map(IntoOperand::into_operand))
        } else {
            (arithmetic(ty), [self.out.operand(a), self.out.operand(b)])
        };
        let d = self.out.define(d).into_operand();
        self.out.emit(O::Setp, [Modifier::from(word), ty.into()], [d].into_iter().chain(operands));
    }

    /// Truth values are equal where their `xor` is false.
    fn compare_bools(&mut self, op: Comparison, a: Value, b: Value, d: Value) {
        let (a, b) = (self.out.operand(a), self.out.operand(b));
        let differ = match op {
            Comparison::Eq => self.out.register(Type::Bool),
            _ => self.out.define(d),
        };
        self.out.emit(O::Xor, [T::Pred], [differ.into_operand(), a, b]);
        if op == Comparison::Eq {
            let d = self.out.define(d).into_operand();
            self.out.emit(O::Not, [T::Pred], [d, differ.into_operand()]);
        }
    }

    pub(super) fn select(&mut self, inst: &Inst) {
        let (condition, yes, no, d) = (inst.args[0], inst.args[1], inst.args[2], inst.results[0]);
        let ty = self.out.type_of(d);
        let condition = self.out.in_register(condition).into_operand();
        let (yes, no) = (self.out.operand(yes), self.out.operand(no));
        if ty == Type::Bool {
            let [a, b, unless] = std::array::from_fn(|_| self.out.register(Type::Bool).into_operand());
            self.out.emit(O::And, [T::Pred], [a.clone(), condition.clone(), yes]);
            self.out.emit(O::Not, [T::Pred], [unless.clone(), condition]);
            self.out.emit(O::And, [T::Pred], [b.clone(), unless, no]);
            let d = self.out.define(d).into_operand();
            return self.out.emit(O::Or, [T::Pred], [d, a, b]);
        }
        let d = self.out.define(d).into_operand();
        self.out.emit(O::Selp, [register(ty)], [d, yes, no, condition]);
    }
}
