//! Identities of integers, and of truth values as integers of one bit.

use super::Change;
use crate::kernel::Value;
use crate::op::{Binary, Op, Unary};
use crate::passes::evaluate::integer;
use crate::passes::rewrite::Rewriter;
use crate::types::Type;

pub(super) fn binary(rw: &mut Rewriter<'_>, op: Binary, a: Value, b: Value) -> Option<Change> {
    let ty = rw.type_of(a);
    if a == b
        && let Some(change) = same(op, a)
    {
        return Some(change);
    }
    let bits = rw.constant(b)?;
    with_constant(rw, op, ty, a, bits).or_else(|| nested(rw, op, ty, a, bits))
}

/// `x op x`.
fn same(op: Binary, a: Value) -> Option<Change> {
    match op {
        Binary::Sub | Binary::Xor => Some(Change::Constant(0)),
        Binary::And | Binary::Or | Binary::Min | Binary::Max => Some(Change::Is(a)),
        _ => None,
    }
}

/// `x op constant`.
fn with_constant(rw: &mut Rewriter<'_>, op: Binary, ty: Type, a: Value, bits: u64) -> Option<Change> {
    let ones = ty.mask();
    let (least, most) = match ty.is_signed() {
        true => (1 << (ty.bits() - 1), ones >> 1),
        false => (0, ones),
    };
    let width = u64::from(ty.bits());
    match (op, bits) {
        (Binary::Add | Binary::Sub | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr, 0) => Some(Change::Is(a)),
        (Binary::Mul | Binary::MulHi | Binary::MulWide | Binary::And, 0) => Some(Change::Constant(0)),
        (Binary::Mul | Binary::Div, 1) => Some(Change::Is(a)),
        (Binary::MulWide, 1) => Some(Change::becomes(Op::Convert, &[a])),
        (Binary::Rem, 1) => Some(Change::Constant(0)),
        (Binary::And, _) if bits == ones => Some(Change::Is(a)),
        (Binary::Or, _) if bits == ones => Some(Change::Constant(ones)),
        (Binary::Xor, _) if bits == ones => Some(Change::becomes(Op::Unary(Unary::Not), &[a])),
        (Binary::Min, _) if bits == least => Some(Change::Constant(least)),
        (Binary::Min, _) if bits == most => Some(Change::Is(a)),
        (Binary::Max, _) if bits == most => Some(Change::Constant(most)),
        (Binary::Max, _) if bits == least => Some(Change::Is(a)),
        (Binary::Shl, by) if by >= width => Some(Change::Constant(0)),
        (Binary::Shr, by) if by >= width && !ty.is_signed() => Some(Change::Constant(0)),
        // One form for both, so that chains of them meet.
        (Binary::Sub, _) => {
            let negative = rw.new_constant(ty, bits.wrapping_neg());
            Some(Change::becomes(Op::Binary(Binary::Add), &[a, negative]))
        }
        _ => None,
    }
}

/// `(x op constant) op constant`: all of these are exact modulo the width.
fn nested(rw: &mut Rewriter<'_>, op: Binary, ty: Type, a: Value, bits: u64) -> Option<Change> {
    let (x, inner) = rw.binary_operands(a, op)?;
    let inner = rw.constant(inner)?;
    let width = u64::from(ty.bits());
    let (amount, constant) = match op {
        Binary::Add => (ty, inner.wrapping_add(bits)),
        Binary::Mul => (ty, inner.wrapping_mul(bits)),
        Binary::And => (ty, inner & bits),
        Binary::Or => (ty, inner | bits),
        Binary::Xor => (ty, inner ^ bits),
        // Past the width all bits are gone, or copies of the sign.
        Binary::Shl | Binary::Shr => (Type::U32, inner.saturating_add(bits).min(width)),
        _ => return None,
    };
    let constant = rw.new_constant(amount, constant);
    Some(Change::becomes(Op::Binary(op), &[x, constant]))
}

pub(super) fn unary(rw: &Rewriter<'_>, op: Unary, a: Value) -> Option<Change> {
    match op {
        Unary::Neg if rw.type_of(a).is_float() => super::floats::neg(rw, a),
        Unary::Neg | Unary::Not => rw.unary_operand(a, op).map(Change::Is),
        _ => None,
    }
}

/// To the same type; there and back; two widenings in a row.
pub(super) fn convert(rw: &Rewriter<'_>, a: Value, to: Type) -> Option<Change> {
    let middle = rw.type_of(a);
    if middle == to {
        return Some(Change::Is(a));
    }
    let definition = rw.definition(a)?;
    if definition.op != Op::Convert {
        return None;
    }
    let x = definition.args[0];
    let from = rw.type_of(x);
    if !(from.is_integer() && middle.is_integer() && to.is_integer()) || middle.bits() <= from.bits() {
        return None;
    }
    // The middle is wider, so all of `x` is in its low bits, and above them what `from` extends with.
    if from == to {
        Some(Change::Is(x))
    } else if to.bits() <= middle.bits() || !from.is_signed() || middle.is_signed() {
        Some(Change::becomes(Op::Convert, &[x]))
    } else {
        None
    }
}

pub(super) fn bitcast(rw: &Rewriter<'_>, a: Value, to: Type) -> Option<Change> {
    if rw.type_of(a) == to {
        return Some(Change::Is(a));
    }
    let definition = rw.definition(a)?;
    (definition.op == Op::Bitcast).then(|| Change::becomes(Op::Bitcast, &definition.args))
}

/// Whether an integer constant is the least of its type, as an order sees it.
pub(super) fn is_least(ty: Type, bits: u64) -> bool {
    integer(ty, bits) == if ty.is_signed() { integer(ty, 1 << (ty.bits() - 1)) } else { 0 }
}
