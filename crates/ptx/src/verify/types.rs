//! Which registers and literals an operand may be (PTX ISA §9.4).

use crate::instruction::Immediate;
use crate::syntax::Type;

/// The classes of types that registers can be declared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bits,
    Integer,
    Float,
    /// Types that only instructions have; their registers are untyped.
    Packed,
    Predicate,
}

fn class(ty: Type) -> Class {
    match ty {
        Type::Pred => Class::Predicate,
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => Class::Bits,
        Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::U8 | Type::U16 | Type::U32 | Type::U64 => Class::Integer,
        Type::F16 | Type::F16x2 | Type::F32 | Type::F64 => Class::Float,
        _ => Class::Packed,
    }
}

/// Whether a register can be declared with the type.
pub(super) fn declarable(ty: Type) -> bool {
    class(ty) != Class::Packed
}

/// Whether a register may stand for an operand; `wider`: also one of more bits.
pub(super) fn register_fits(operand: Type, register: Type, wider: bool) -> bool {
    let more = wider && register.bits() > operand.bits();
    match (class(operand), class(register)) {
        (Class::Predicate, r) => r == Class::Predicate,
        (_, Class::Predicate) => false,
        (Class::Bits, _) => register.bits() == operand.bits() || more,
        (Class::Integer, r) => matches!(r, Class::Integer | Class::Bits) && (register.bits() == operand.bits() || more),
        (Class::Float, Class::Float) => register == operand,
        (Class::Float, r) => r == Class::Bits && (register.bits() == operand.bits() || more),
        (Class::Packed, r) => r == Class::Bits && (register.bits() == operand.bits() || more),
    }
}

/// Whether a literal may stand for an operand.
pub(super) fn literal_fits(operand: Type, literal: Immediate) -> bool {
    let float = matches!(literal, Immediate::F32(_) | Immediate::F64(_));
    match (class(operand), literal) {
        (Class::Predicate | Class::Integer, _) => !float,
        (Class::Bits, Immediate::F32(_)) => operand.bits() == 32,
        (Class::Bits, Immediate::F64(_)) => operand.bits() == 64,
        (Class::Bits, _) => true,
        (Class::Float, _) => float && matches!(operand, Type::F32 | Type::F64),
        (Class::Packed, _) => false,
    }
}

/// Whether a register may hold an address.
pub(super) fn holds_address(register: Type) -> bool {
    matches!(class(register), Class::Bits | Class::Integer) && matches!(register.bits(), 32 | 64)
}
