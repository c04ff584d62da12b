//! Element types.

use std::fmt;
use std::str::FromStr;

/// The type of an element in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities (OCP).
    E4M3,
    /// 8-bit float, 5 exponent and 2 mantissa bits (OCP).
    E5M2,
    /// Two 4-bit floats in a byte, 2 exponent and 1 mantissa bits each, the first in the low half (OCP MX, NVFP4). An
    /// element is the byte.
    E2M1x2,
    /// A power of two in 8 bits: the scale of a block (OCP MX).
    E8M0,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 64-bit integer.
    U64,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 8-bit integer.
    U8,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 16] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::E4M3,
        DType::E5M2,
        DType::E2M1x2,
        DType::E8M0,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U16,
        DType::U8,
    ];

    /// Width in bits.
    pub const fn bits(self) -> usize {
        match self {
            DType::F64 | DType::I64 | DType::U64 => 64,
            DType::F32 | DType::I32 | DType::U32 => 32,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 16,
            DType::E4M3 | DType::E5M2 | DType::E2M1x2 | DType::E8M0 | DType::I8 | DType::U8 => 8,
        }
    }

    /// Width in bytes.
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            DType::F64
                | DType::F32
                | DType::F16
                | DType::BF16
                | DType::E4M3
                | DType::E5M2
                | DType::E2M1x2
                | DType::E8M0
        )
    }

    /// The short name: `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::E4M3 => "e4m3",
            DType::E5M2 => "e5m2",
            DType::E2M1x2 => "e2m1x2",
            DType::E8M0 => "e8m0",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::U64 => "u64",
            DType::U32 => "u32",
            DType::U16 => "u16",
            DType::U8 => "u8",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no dtype.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a dtype; expected one of f64, f32, f16, bf16, e4m3, e5m2, e2m1x2, e8m0, i64, i32, i16, i8, u64, u32, u16, u8"
)]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;
    fn from_str(s: &str) -> Result<Self, UnknownDType> {
        DType::ALL.into_iter().find(|d| d.name().eq_ignore_ascii_case(s)).ok_or_else(|| UnknownDType(s.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for d in DType::ALL {
            assert_eq!(d.name().parse(), Ok(d));
            assert_eq!(d.to_string(), d.name());
        }
        assert!("float".parse::<DType>().unwrap_err().to_string().contains("`float`"));
    }
}
