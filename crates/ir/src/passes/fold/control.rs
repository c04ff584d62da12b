//! Branches, loops and guards whose condition is known.

use crate::kernel::{Block, Inst};
use crate::op::{Op, Unary};
use crate::passes::rewrite::{Outcome, Rewriter};

pub(super) fn apply(rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
    let constant = |i: usize| inst.args.get(i).and_then(|&v| rw.constant(v));
    match &mut inst.op {
        Op::If { then, otherwise, .. } => {
            if then.is_empty() && otherwise.is_empty() {
                return Outcome::Done;
            }
            if let Some(bits) = constant(0) {
                return Outcome::Splice(std::mem::take(if bits == 1 { then } else { otherwise }));
            }
            if let Some(unless) = rw.unary_operand(inst.args[0], Unary::Not) {
                std::mem::swap(then, otherwise);
                inst.args[0] = unless;
            }
        }
        Op::For { index, body, .. } => {
            let (Some(from), Some(to)) = (constant(0), constant(1)) else { return Outcome::Keep(inst) };
            if from >= to {
                return Outcome::Done;
            }
            let once = constant(2).is_some_and(|step| from.saturating_add(step) >= to);
            if once && !breaks(body) {
                rw.replace(*index, inst.args[0]);
                return Outcome::Splice(std::mem::take(body));
            }
        }
        Op::BreakIf | Op::ContinueIf | Op::ExitIf if constant(0) == Some(0) => return Outcome::Done,
        Op::Load { .. } | Op::Store { .. } => return access(rw, inst),
        _ => {}
    }
    Outcome::Keep(inst)
}

/// An access whose condition is known.
fn access(rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
    let Some(known) = inst.condition().and_then(|c| rw.constant(c)) else { return Outcome::Keep(inst) };
    match &mut inst.op {
        Op::Load { fill, .. } if known == 1 => *fill = None,
        Op::Store { guarded, .. } if known == 1 => *guarded = false,
        Op::Load { fill, .. } => {
            let bits = fill.unwrap_or_default();
            for &v in &inst.results {
                let constant = rw.new_constant(rw.type_of(v), bits);
                rw.replace(v, constant);
            }
            return Outcome::Done;
        }
        _ => return Outcome::Done,
    }
    inst.args.pop();
    Outcome::Keep(inst)
}

/// Whether a body may leave the loop it belongs to, or begin it again.
fn breaks(body: &Block) -> bool {
    body.iter().any(|inst| match &inst.op {
        Op::BreakIf | Op::ContinueIf => true,
        Op::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}
