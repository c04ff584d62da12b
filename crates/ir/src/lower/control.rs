//! Structured control flow as labels and branches.

use super::builder::{IntoOperand, LoopLabels};
use super::{LowerError, Lowering};
use crate::kernel::{Block, Inst, Value};
use crate::types::Type;
use warpsmith_ptx::{
    Instruction, LabelId, Modifier, Opcode as O, Operand, RegisterId, Statement, Type as T, Word as W,
};

/// A loop is unrolled by its author or not at all: left alone, `ptxas` makes ladders of copies.
const NOUNROLL: &str = "nounroll";

impl Lowering<'_> {
    pub(super) fn branch(
        &mut self,
        inst: &Inst,
        uniform: bool,
        then: &Block,
        otherwise: &Block,
    ) -> Result<(), LowerError> {
        let condition = inst.args[0];
        let uni = uniform.then_some(W::Uni);
        let end = self.out.label("endif");
        match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => {}
            (true, false) => {
                self.jump_if(condition, false, uni, end);
                self.block(otherwise)?;
            }
            (false, true) => {
                self.jump_if(condition, true, uni, end);
                self.block(then)?;
            }
            (false, false) => {
                let other = self.out.label("else");
                self.jump_if(condition, true, uni, other);
                self.block(then)?;
                self.out.emit(O::Bra, uni, [Operand::Label(end)]);
                self.out.place(other);
                self.block(otherwise)?;
            }
        }
        self.out.place(end);
        Ok(())
    }

    /// A guard, then the body with its test at the end: the shape that `ptxas` would rotate it to.
    pub(super) fn for_loop(&mut self, inst: &Inst, index: Value, body: &Block) -> Result<(), LowerError> {
        let (from, to, step) = (inst.args[0], inst.args[1], inst.args[2]);
        let simple = self.cannot_wrap(to, step);
        let from = self.out.operand(from);
        let limit = self.out.operand(to);
        let step = self.out.operand(step);
        let counter = self.out.define(index);
        let i = || counter.into_operand();
        let (start, end) = (self.out.label("for"), self.out.label("endfor"));

        self.out.emit(O::Mov, [T::U32], [i(), from]);
        let empty = self.test(W::Ge, i(), limit.clone());
        self.jump_on(empty, false, None, end);
        self.head(start);
        self.loop_body(end, body)?;
        let more = if simple {
            self.out.emit(O::Add, [T::U32], [i(), i(), step]);
            self.test(W::Lt, i(), limit)
        } else {
            // The next index may pass 2³²: the distance that is left may not.
            let left = self.out.register(Type::U32).into_operand();
            self.out.emit(O::Sub, [T::U32], [left.clone(), limit, i()]);
            self.out.emit(O::Add, [T::U32], [i(), i(), step.clone()]);
            self.test(W::Gt, left, step)
        };
        self.jump_on(more, false, None, start);
        self.out.place(end);
        Ok(())
    }

    fn loop_body(&mut self, end: LabelId, body: &Block) -> Result<(), LowerError> {
        self.out.loops.push(LoopLabels { end, next: None });
        self.block(body)?;
        if let Some(next) = self.out.loops.pop().and_then(|l| l.next) {
            self.out.place(next);
        }
        Ok(())
    }

    /// Whether `index + step` stays below 2³² for every `index < to`.
    fn cannot_wrap(&self, to: Value, step: Value) -> bool {
        match (self.out.constant(step), self.out.constant(to)) {
            (Some(1), _) => true,
            (Some(step), Some(to)) => to.saturating_sub(1) + step <= u64::from(u32::MAX),
            _ => false,
        }
    }

    pub(super) fn endless(&mut self, body: &Block) -> Result<(), LowerError> {
        let (start, end) = (self.out.label("loop"), self.out.label("endloop"));
        self.head(start);
        self.loop_body(end, body)?;
        // One way back, so that threads meet there again.
        self.out.emit(O::Bra, None::<W>, [Operand::Label(start)]);
        self.out.place(end);
        Ok(())
    }

    pub(super) fn break_if(&mut self, inst: &Inst) {
        if let Some(end) = self.out.loops.last().map(|l| l.end) {
            self.jump_if(inst.args[0], false, None, end);
        }
    }

    pub(super) fn continue_if(&mut self, inst: &Inst) {
        let Some(next) = self.out.loops.last().map(|l| l.next) else { return };
        let next = next.unwrap_or_else(|| self.out.label("next"));
        if let Some(labels) = self.out.loops.last_mut() {
            labels.next = Some(next);
        }
        self.jump_if(inst.args[0], false, None, next);
    }

    pub(super) fn exit_if(&mut self, inst: &Inst) {
        let exit = match self.out.exit {
            Some(label) => label,
            None => self.out.label("exit"),
        };
        self.out.exit = Some(exit);
        self.jump_if(inst.args[0], false, None, exit);
    }

    /// The end of the kernel.
    pub(super) fn finish(&mut self) {
        if let Some(exit) = self.out.exit {
            self.out.place(exit);
        }
        self.out.push(Instruction::new(O::Ret, [], []));
    }

    /// A loop's label; the pragma counts only as the first thing after it.
    fn head(&mut self, label: LabelId) {
        self.out.place(label);
        self.out.function.body.push(Statement::Pragma(NOUNROLL.into()));
    }

    fn test(&mut self, word: W, a: Operand, b: Operand) -> RegisterId {
        let p = self.out.register(Type::Bool);
        self.out.emit(O::Setp, [Modifier::from(word), T::U32.into()], [p.into_operand(), a, b]);
        p
    }

    fn jump_on(&mut self, p: RegisterId, negated: bool, uni: Option<W>, label: LabelId) {
        let uni = uni.map(Modifier::from);
        self.out.push(Instruction::new(O::Bra, uni, [Operand::Label(label)]).guarded(p, negated));
    }

    fn jump_if(&mut self, condition: Value, negated: bool, uni: Option<W>, label: LabelId) {
        let p = self.out.in_register(condition);
        self.jump_on(p, negated, uni, label);
    }
}
