//! Types of values.

use std::fmt;
use warpsmith_ptx::Type as PtxType;
use warpsmith_types::DType;

/// The type of a value in a register. Memory has no types of its own: an access says what it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// A truth value, in a predicate register.
    Bool,
    /// Unsigned 8 bits; also the raw bits of an 8-bit element. PTX computes with no less than 16: it is moved, chosen
    /// and converted.
    U8,
    /// Signed 8-bit integer, like [`Type::U8`].
    I8,
    /// Unsigned 16 bits; also the raw bits of a 16-bit element.
    U16,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer; also the raw bits of packed elements.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer; also an address.
    U64,
    /// binary16.
    F16,
    /// bfloat16.
    BF16,
    /// binary32.
    F32,
    /// binary64.
    F64,
}

impl Type {
    /// Every type.
    pub const ALL: [Type; 13] = [
        Type::Bool,
        Type::U8,
        Type::I8,
        Type::U16,
        Type::I16,
        Type::I32,
        Type::U32,
        Type::I64,
        Type::U64,
        Type::F16,
        Type::BF16,
        Type::F32,
        Type::F64,
    ];

    /// Width in bits; a `bool` counts as 1.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::U8 | Type::I8 => 8,
            Type::U16 | Type::I16 | Type::F16 | Type::BF16 => 16,
            Type::I32 | Type::U32 | Type::F32 => 32,
            Type::I64 | Type::U64 | Type::F64 => 64,
        }
    }

    /// Width in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is an integer.
    pub const fn is_integer(self) -> bool {
        use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
        matches!(self, U8 | I8 | U16 | I16 | I32 | U32 | I64 | U64)
    }

    /// Whether PTX computes with it: an integer of 16 bits or more, or a float.
    pub const fn is_number(self) -> bool {
        self.bits() >= 16
    }

    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::BF16 | Type::F32 | Type::F64)
    }

    /// The bits that count.
    pub const fn mask(self) -> u64 {
        match self.bits() {
            64 => u64::MAX,
            n => (1 << n) - 1,
        }
    }

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::U8 => "u8",
            Type::I8 => "i8",
            Type::U16 => "u16",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::U32 => "u32",
            Type::I64 => "i64",
            Type::U64 => "u64",
            Type::F16 => "f16",
            Type::BF16 => "bf16",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }

    /// The type so named.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The register type that holds a dtype as a number; `None` for dtypes that have none yet.
    pub const fn of(dtype: DType) -> Option<Type> {
        Some(match dtype {
            DType::F64 => Type::F64,
            DType::F32 => Type::F32,
            DType::F16 => Type::F16,
            DType::BF16 => Type::BF16,
            DType::I64 => Type::I64,
            DType::I32 => Type::I32,
            DType::U64 => Type::U64,
            DType::U32 => Type::U32,
            DType::U16 => Type::U16,
            DType::I16 => Type::I16,
            DType::U8 => Type::U8,
            DType::I8 => Type::I8,
            DType::E4M3 | DType::E5M2 | DType::E2M1x2 | DType::E8M0 => return None,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The PTX type a value's register is declared with. 16-bit floats live in untyped registers, as everywhere in PTX; so
/// do 8 bits, of which nobody reads the upper half of the register.
pub(crate) const fn register(ty: Type) -> PtxType {
    match ty {
        Type::F32 => PtxType::F32,
        Type::F64 => PtxType::F64,
        _ => bits(ty),
    }
}

/// The untyped bits, in a register.
pub(crate) const fn bits(ty: Type) -> PtxType {
    match ty.bits() {
        1 => PtxType::Pred,
        8 | 16 => PtxType::B16,
        32 => PtxType::B32,
        _ => PtxType::B64,
    }
}

/// What an access moves.
pub(crate) const fn memory(ty: Type) -> PtxType {
    match ty.bits() {
        8 => PtxType::B8,
        _ => register(ty),
    }
}
