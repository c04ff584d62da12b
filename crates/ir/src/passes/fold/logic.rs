//! Comparisons, selection, negation.

use super::Change;
use super::integers::is_least;
use crate::kernel::Value;
use crate::op::{Binary, Comparison, Op, Unary};
use crate::passes::rewrite::Rewriter;
use crate::types::Type;

pub(super) fn compare(rw: &Rewriter<'_>, op: Comparison, a: Value, b: Value) -> Option<Change> {
    let ty = rw.type_of(a);
    if rw.constant(a).is_some() && rw.constant(b).is_none() {
        return Some(Change::becomes(Op::Compare(mirrored(op)), &[b, a]));
    }
    if ty.is_float() {
        return None;
    }
    if a == b {
        let holds = matches!(op, Comparison::Eq | Comparison::Le | Comparison::Ge);
        return Some(Change::Constant(holds.into()));
    }
    let bits = rw.constant(b)?;
    match (ty, op) {
        (Type::Bool, Comparison::Eq) if bits == 1 => Some(Change::Is(a)),
        (Type::Bool, Comparison::Ne) if bits == 0 => Some(Change::Is(a)),
        (Type::Bool, _) => Some(Change::becomes(Op::Unary(Unary::Not), &[a])),
        (_, Comparison::Lt) if is_least(ty, bits) => Some(Change::Constant(0)),
        (_, Comparison::Ge) if is_least(ty, bits) => Some(Change::Constant(1)),
        _ => None,
    }
}

pub(super) fn select(rw: &Rewriter<'_>, condition: Value, yes: Value, no: Value) -> Option<Change> {
    if let Some(bits) = rw.constant(condition) {
        return Some(Change::Is(if bits == 1 { yes } else { no }));
    }
    if yes == no {
        return Some(Change::Is(yes));
    }
    if let Some(unless) = rw.unary_operand(condition, Unary::Not) {
        return Some(Change::becomes(Op::Select, &[unless, no, yes]));
    }
    if rw.type_of(yes) != Type::Bool {
        return None;
    }
    match (rw.constant(yes), rw.constant(no)) {
        (Some(1), Some(0)) => Some(Change::Is(condition)),
        (Some(0), Some(1)) => Some(Change::becomes(Op::Unary(Unary::Not), &[condition])),
        (Some(1), None) => Some(Change::becomes(Op::Binary(Binary::Or), &[condition, no])),
        (None, Some(0)) => Some(Change::becomes(Op::Binary(Binary::And), &[condition, yes])),
        _ => None,
    }
}

/// The opposite comparison. Of floats only `eq` and `ne` have one: all others fail where an operand is NaN.
pub(super) fn not(rw: &Rewriter<'_>, op: Unary, a: Value) -> Option<Change> {
    let definition = rw.definition(a)?;
    let (Unary::Not, Op::Compare(comparison)) = (op, &definition.op) else { return None };
    let opposite = match comparison {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        _ if rw.type_of(definition.args[0]).is_float() => return None,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
    };
    Some(Change::becomes(Op::Compare(opposite), &definition.args))
}

fn mirrored(op: Comparison) -> Comparison {
    match op {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        Comparison::Eq | Comparison::Ne => op,
    }
}
