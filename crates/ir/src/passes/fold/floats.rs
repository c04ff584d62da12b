//! Identities of floats that keep every bit.
//!
//! Arithmetic makes a NaN canonical, so `x · 1` is `x` only where `x` is a number or such a NaN already: a result of
//! arithmetic. And `x + 0` is not `x` for −0, but `x + (−0)` is. Arithmetic on f64 may keep the sign and payload of a NaN,
//! of one operand or another: what changes either is left alone there.

use super::Change;
use crate::kernel::Value;
use crate::op::{Binary, Op, Unary};
use crate::passes::rewrite::Rewriter;
use crate::types::Type;

pub(super) fn binary(rw: &mut Rewriter<'_>, op: Binary, a: Value, b: Value) -> Option<Change> {
    let ty = rw.type_of(a);
    match op {
        Binary::Add if is(rw, b, minus_zero(ty)) && is_canonical(rw, a) => return Some(Change::Is(a)),
        Binary::Sub if is(rw, b, 0) && is_canonical(rw, a) => return Some(Change::Is(a)),
        Binary::Mul | Binary::Div if is(rw, b, one(ty)) && is_canonical(rw, a) => return Some(Change::Is(a)),
        Binary::Add | Binary::Sub if has_one_nan(ty) => {
            if let Some(x) = rw.unary_operand(b, Unary::Neg) {
                let opposite = if op == Binary::Add { Binary::Sub } else { Binary::Add };
                return Some(Change::becomes(Op::Binary(opposite), &[a, x]));
            }
        }
        Binary::Div => {
            if let Some(bits) = rw.constant(b).and_then(|bits| exact_reciprocal(ty, bits)) {
                let reciprocal = rw.new_constant(ty, bits);
                return Some(Change::becomes(Op::Binary(Binary::Mul), &[a, reciprocal]));
            }
        }
        _ => {}
    }
    None
}

/// A factor of 1 or a summand of −0 leaves one rounding, as before.
pub(super) fn fma(rw: &Rewriter<'_>, a: Value, b: Value, c: Value) -> Option<Change> {
    let ty = rw.type_of(a);
    if !has_one_nan(ty) {
        None
    } else if is(rw, b, one(ty)) {
        Some(Change::becomes(Op::Binary(Binary::Add), &[a, c]))
    } else if is(rw, a, one(ty)) {
        Some(Change::becomes(Op::Binary(Binary::Add), &[b, c]))
    } else if is(rw, c, minus_zero(ty)) {
        Some(Change::becomes(Op::Binary(Binary::Mul), &[a, b]))
    } else {
        None
    }
}

pub(super) fn neg(rw: &Rewriter<'_>, a: Value) -> Option<Change> {
    let x = rw.unary_operand(a, Unary::Neg)?;
    is_canonical(rw, x).then_some(Change::Is(x))
}

fn is(rw: &Rewriter<'_>, v: Value, bits: u64) -> bool {
    rw.constant(v) == Some(bits)
}

/// Whether a value can only be a number or the canonical NaN.
fn is_canonical(rw: &Rewriter<'_>, v: Value) -> bool {
    let Some(definition) = rw.definition(v) else { return false };
    let arithmetic = |op| matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div);
    match definition.op {
        Op::Fma => true,
        Op::Binary(op) => arithmetic(op),
        _ => false,
    }
}

/// Whether arithmetic gives the same NaN whatever its operands were.
pub(in crate::passes) fn has_one_nan(ty: Type) -> bool {
    ty != Type::F64
}

fn one(ty: Type) -> u64 {
    match ty {
        Type::F16 => 0x3c00,
        Type::BF16 => 0x3f80,
        Type::F32 => 1f32.to_bits().into(),
        _ => 1f64.to_bits(),
    }
}

fn minus_zero(ty: Type) -> u64 {
    1 << (ty.bits() - 1)
}

/// 1/x for a power of two, where it is a normal number: then `y / x` and `y · 1/x` round the same exact quotient.
fn exact_reciprocal(ty: Type, bits: u64) -> Option<u64> {
    let (mantissa, exponent, bias) = match ty {
        Type::F32 => (23, 0xff, 127),
        Type::F64 => (52, 0x7ff, 1023),
        _ => return None,
    };
    let e = (bits >> mantissa) & exponent;
    let reciprocal = (2 * bias) as u64;
    let normal = e >= 1 && e < reciprocal;
    let power = bits & ((1 << mantissa) - 1) == 0;
    (normal && power).then(|| bits & minus_zero(ty) | (reciprocal - e) << mantissa)
}
