//! Branches, loops and guards whose condition is known.

use crate::kernel::{Block, Inst, Value};
use crate::op::{Op, Unary};
use crate::passes::rewrite::{Outcome, Rewriter};

pub(super) fn apply(rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
    let constant = |i: usize| inst.args.get(i).and_then(|&v| rw.constant(v));
    match &mut inst.op {
        Op::If { then, otherwise } => {
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
        Op::For { index, body } => {
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
        Op::BreakIf | Op::ExitIf if constant(0) == Some(0) => return Outcome::Done,
        Op::Load { fill: fill @ Some(_), .. } => match constant(1) {
            Some(1) => {
                *fill = None;
                inst.args.truncate(1);
            }
            Some(_) => {
                let bits = fill.unwrap_or_default();
                let results: Vec<Value> = inst.results.to_vec();
                for v in results {
                    let constant = rw.new_constant(rw.type_of(v), bits);
                    rw.replace(v, constant);
                }
                return Outcome::Done;
            }
            None => {}
        },
        Op::Store { guarded: guarded @ true, .. } => match inst.args.last().and_then(|&v| rw.constant(v)) {
            Some(1) => {
                *guarded = false;
                inst.args.pop();
            }
            Some(_) => return Outcome::Done,
            None => {}
        },
        _ => {}
    }
    Outcome::Keep(inst)
}

/// Whether a body leaves the loop it belongs to.
fn breaks(body: &Block) -> bool {
    body.iter().any(|inst| match &inst.op {
        Op::BreakIf => true,
        Op::If { then, otherwise } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}
