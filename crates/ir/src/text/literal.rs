//! Constants in the text form: decimal where that is exact, bits otherwise.

use crate::types::Type;
use std::fmt;
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The bits of a type, to print.
pub(super) struct Literal(pub(super) Option<Type>, pub(super) u64);

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Literal(ty, bits) = *self;
        let Some(ty) = ty.filter(|t| bits & !t.mask() == 0) else { return write!(f, "{bits:#x}") };
        let single = |x: f32| if x.is_nan() { None } else { Some(x) };
        let float = match ty {
            Type::Bool => return f.write_str(if bits == 1 { "true" } else { "false" }),
            Type::I8 => return write!(f, "{}", bits as u8 as i8),
            Type::I16 => return write!(f, "{}", bits as u16 as i16),
            Type::I32 => return write!(f, "{}", bits as u32 as i32),
            Type::I64 => return write!(f, "{}", bits as i64),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => return write!(f, "{bits}"),
            Type::F16 => single(f16_to_f32(bits as u16)),
            Type::BF16 => single(bf16_to_f32(bits as u16)),
            Type::F32 => single(f32::from_bits(bits as u32)),
            Type::F64 => match f64::from_bits(bits) {
                x if x.is_nan() => None,
                x => return write!(f, "{x:?}"),
            },
        };
        match float {
            Some(x) => write!(f, "{x:?}"),
            // A NaN's payload is part of it.
            None => write!(f, "{bits:#x}"),
        }
    }
}

/// Reads a literal of a type; `None` where it is none.
pub(super) fn read(ty: Option<Type>, text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let integer = |least: i128, most: i128| {
        let n: i128 = text.parse().ok()?;
        (least..=most).contains(&n).then_some(n as u64)
    };
    match ty? {
        Type::Bool => match text {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        ty @ (Type::U8 | Type::U16 | Type::U32 | Type::U64) => integer(0, ty.mask().into()),
        Type::I8 => integer(i8::MIN.into(), i8::MAX.into()).map(|n| n & Type::I8.mask()),
        Type::I16 => integer(i16::MIN.into(), i16::MAX.into()).map(|n| n & Type::I16.mask()),
        Type::I32 => integer(i32::MIN.into(), i32::MAX.into()).map(|n| n & Type::I32.mask()),
        Type::I64 => integer(i64::MIN.into(), i64::MAX.into()),
        Type::F16 => float(text).map(|x| f32_to_f16(x).into()),
        Type::BF16 => float(text).map(|x| f32_to_bf16(x).into()),
        Type::F32 => float(text).map(|x| x.to_bits().into()),
        Type::F64 => text.parse().ok().filter(|x: &f64| !x.is_nan()).map(f64::to_bits),
    }
}

fn float(text: &str) -> Option<f32> {
    text.parse().ok().filter(|x: &f32| !x.is_nan())
}
