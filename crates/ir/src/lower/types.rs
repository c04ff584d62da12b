//! The PTX types of a value: for its register, for arithmetic, as bits, in memory.

use crate::types::Type;
pub(super) use crate::types::{bits, memory, register};
use warpsmith_ptx::Type as T;

/// The type that says how an instruction computes.
pub(super) const fn arithmetic(ty: Type) -> T {
    match ty {
        Type::Bool => T::Pred,
        Type::U8 => T::U8,
        Type::I8 => T::S8,
        Type::U16 => T::U16,
        Type::I16 => T::S16,
        Type::I32 => T::S32,
        Type::U32 => T::U32,
        Type::I64 => T::S64,
        Type::U64 => T::U64,
        Type::F16 => T::F16,
        Type::BF16 => T::BF16,
        Type::F32 => T::F32,
        Type::F64 => T::F64,
    }
}

/// The signed type of the same width, for `neg` and `abs`; floats stay.
pub(super) const fn signed(ty: Type) -> T {
    match ty {
        Type::U16 => T::S16,
        Type::U32 => T::S32,
        Type::U64 => T::S64,
        _ => arithmetic(ty),
    }
}

/// The type of a parameter: PTX knows no parameter of a 16-bit float type.
pub(super) const fn parameter(ty: Type) -> T {
    match ty {
        Type::F16 | Type::BF16 => T::B16,
        _ => arithmetic(ty),
    }
}
