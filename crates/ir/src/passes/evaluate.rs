//! Operations on constants, exactly as PTX computes them; `None` where PTX leaves the result open, where a NaN is
//! involved, and for the approximate functions.

use crate::op::{Binary, Comparison, Op, Unary};
use crate::types::Type;
use std::cmp::Ordering;
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The bits of a result. `args` are types and bits.
pub(super) fn evaluate(op: &Op, args: &[(Type, u64)], result: Type) -> Option<u64> {
    let bits = match (op, args) {
        (Op::Unary(op), [(ty, a)]) => unary(*op, *ty, *a)?,
        (Op::Binary(op), [(ty, a), (_, b)]) => binary(*op, *ty, *a, *b)?,
        (Op::Compare(op), [(ty, a), (_, b)]) => compare(*op, *ty, *a, *b)?.into(),
        (Op::Select, [(_, c), (_, a), (_, b)]) => *if *c == 1 { a } else { b },
        (Op::Convert, [(from, a)]) => convert(*from, *a, result)?,
        (Op::Bitcast, [(_, a)]) => *a,
        (Op::Fma, [(Type::F32, a), (_, b), (_, c)]) => of_f32(to_f32(*a)?.mul_add(to_f32(*b)?, to_f32(*c)?))?,
        (Op::Fma, [(Type::F64, a), (_, b), (_, c)]) => of_f64(to_f64(*a)?.mul_add(to_f64(*b)?, to_f64(*c)?))?,
        (Op::Pack { bf16 }, [(_, low), (_, high)]) => {
            let narrow = |x: f32| if *bf16 { f32_to_bf16(x) } else { f32_to_f16(x) };
            u64::from(narrow(to_f32(*low)?)) | u64::from(narrow(to_f32(*high)?)) << 16
        }
        _ => return None,
    };
    Some(bits & result.mask())
}

/// A constant as an integer of its type.
pub(super) fn integer(ty: Type, bits: u64) -> i128 {
    match ty {
        Type::I8 => (bits as u8 as i8).into(),
        Type::I16 => (bits as u16 as i16).into(),
        Type::I32 => (bits as u32 as i32).into(),
        Type::I64 => (bits as i64).into(),
        _ => bits.into(),
    }
}

/// Whether there is a constant that may change places with another operand: which of two NaNs of f64 goes on depends on
/// their order.
pub(super) fn swaps(ty: Type, constant: Option<u64>) -> bool {
    constant.is_some_and(|bits| ty != Type::F64 || to_f64(bits).is_some())
}

fn to_f32(bits: u64) -> Option<f32> {
    Some(f32::from_bits(bits as u32)).filter(|x| !x.is_nan())
}

fn to_f64(bits: u64) -> Option<f64> {
    Some(f64::from_bits(bits)).filter(|x| !x.is_nan())
}

fn of_f32(x: f32) -> Option<u64> {
    (!x.is_nan()).then(|| x.to_bits().into())
}

fn of_f64(x: f64) -> Option<u64> {
    (!x.is_nan()).then(|| x.to_bits())
}

/// Any float as an f64, exactly.
fn wide(ty: Type, bits: u64) -> Option<f64> {
    let x = match ty {
        Type::F16 => f16_to_f32(bits as u16).into(),
        Type::BF16 => bf16_to_f32(bits as u16).into(),
        Type::F32 => f32::from_bits(bits as u32).into(),
        Type::F64 => f64::from_bits(bits),
        _ => return None,
    };
    Some(x).filter(|x: &f64| !x.is_nan())
}

fn unary(op: Unary, ty: Type, a: u64) -> Option<u64> {
    let sign = 1 << (ty.bits() - 1);
    match op {
        Unary::Not => Some(!a),
        Unary::Neg if ty.is_float() => wide(ty, a).map(|_| a ^ sign),
        Unary::Abs if ty.is_float() => wide(ty, a).map(|_| a & !sign),
        Unary::Neg => Some(a.wrapping_neg()),
        // By the sign bit, as the signed type of that width.
        Unary::Abs if a & sign != 0 => Some(a.wrapping_neg()),
        Unary::Abs => Some(a),
        // Correctly rounded for f64 alone.
        Unary::Sqrt if ty == Type::F64 => of_f64(to_f64(a)?.sqrt()),
        Unary::Rcp if ty == Type::F64 => of_f64(1.0 / to_f64(a)?),
        _ => None,
    }
}

fn binary(op: Binary, ty: Type, a: u64, b: u64) -> Option<u64> {
    match ty {
        Type::F32 => {
            let (x, y) = (to_f32(a)?, to_f32(b)?);
            match op {
                Binary::Add => of_f32(x + y),
                Binary::Sub => of_f32(x - y),
                Binary::Mul => of_f32(x * y),
                Binary::Div => of_f32(x / y),
                // By the total order: −0 is less than +0.
                Binary::Min => Some(if x.total_cmp(&y) == Ordering::Greater { b } else { a }),
                Binary::Max => Some(if x.total_cmp(&y) == Ordering::Less { b } else { a }),
                _ => None,
            }
        }
        Type::F64 => {
            let (x, y) = (to_f64(a)?, to_f64(b)?);
            match op {
                Binary::Add => of_f64(x + y),
                Binary::Sub => of_f64(x - y),
                Binary::Mul => of_f64(x * y),
                Binary::Div => of_f64(x / y),
                Binary::Min => Some(if x.total_cmp(&y) == Ordering::Greater { b } else { a }),
                Binary::Max => Some(if x.total_cmp(&y) == Ordering::Less { b } else { a }),
                _ => None,
            }
        }
        // 16-bit arithmetic on constants is too rare to be worth its roundings.
        Type::F16 | Type::BF16 => None,
        _ => integers(op, ty, a, b),
    }
}

fn integers(op: Binary, ty: Type, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (integer(ty, a), integer(ty, b));
    let least_by_minus_one = y == -1 && x == integer(ty, 1 << (ty.bits() - 1));
    let n = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul | Binary::MulWide => return Some((x as u64).wrapping_mul(y as u64)),
        // The product of two u64 needs all 128 bits.
        Binary::MulHi if ty == Type::U64 => return Some(((u128::from(a) * u128::from(b)) >> 64) as u64),
        Binary::MulHi => (x * y) >> ty.bits(),
        Binary::Div | Binary::Rem if y == 0 || least_by_minus_one => return None,
        Binary::Div => x / y,
        Binary::Rem => x % y,
        Binary::Min => x.min(y),
        Binary::Max => x.max(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        // The amount is a u32, and clamped to the width.
        Binary::Shl if b >= u64::from(ty.bits()) => 0,
        Binary::Shl => x << b,
        Binary::Shr => x >> b.min(u64::from(ty.bits())),
    };
    Some(n as u64)
}

fn compare(op: Comparison, ty: Type, a: u64, b: u64) -> Option<bool> {
    let ordering = if ty.is_float() {
        match (wide(ty, a), wide(ty, b)) {
            (Some(x), Some(y)) => x.partial_cmp(&y)?,
            // Unordered: only `ne` holds, whatever the payload.
            _ => return Some(op == Comparison::Ne),
        }
    } else {
        integer(ty, a).cmp(&integer(ty, b))
    };
    Some(match op {
        Comparison::Eq => ordering.is_eq(),
        Comparison::Ne => ordering.is_ne(),
        Comparison::Lt => ordering.is_lt(),
        Comparison::Le => ordering.is_le(),
        Comparison::Gt => ordering.is_gt(),
        Comparison::Ge => ordering.is_ge(),
    })
}

fn convert(from: Type, a: u64, to: Type) -> Option<u64> {
    if from.is_integer() {
        let n = integer(from, a);
        return match to {
            Type::F32 => Some((n as f32).to_bits().into()),
            Type::F64 => Some((n as f64).to_bits()),
            // Twice rounded, where f32 does not hold it.
            Type::F16 | Type::BF16 if n.unsigned_abs() > 1 << 24 => None,
            Type::F16 => Some(f32_to_f16(n as f32).into()),
            Type::BF16 => Some(f32_to_bf16(n as f32).into()),
            _ => Some(n as u64),
        };
    }
    let x = wide(from, a)?;
    Some(match to {
        // Truncated, and clamped to the range.
        Type::U8 => (x as u8).into(),
        Type::I8 => x as i8 as u64,
        Type::U16 => (x as u16).into(),
        Type::I16 => x as i16 as u64,
        Type::U32 => (x as u32).into(),
        Type::I32 => x as i32 as u64,
        Type::U64 => x as u64,
        Type::I64 => x as i64 as u64,
        Type::F64 => x.to_bits(),
        Type::F32 => (x as f32).to_bits().into(),
        Type::F16 | Type::BF16 if from == Type::F64 => return None,
        Type::F16 => f32_to_f16(x as f32).into(),
        Type::BF16 => f32_to_bf16(x as f32).into(),
        Type::Bool => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::{F16, F32, F64, I32, I64, U16, U32, U64};

    fn binary_of(op: Binary, ty: Type, a: u64, b: u64) -> Option<u64> {
        let wide = if op == Binary::MulWide { Type::U64 } else { ty };
        evaluate(&Op::Binary(op), &[(ty, a), (ty, b)], wide)
    }

    fn converted(from: Type, a: u64, to: Type) -> Option<u64> {
        evaluate(&Op::Convert, &[(from, a)], to)
    }

    fn f32_bits(x: f32) -> u64 {
        x.to_bits().into()
    }

    #[test]
    fn integers_wrap_and_clamp() {
        assert_eq!(binary_of(Binary::Add, U16, 0xffff, 2), Some(1));
        assert_eq!(binary_of(Binary::Mul, I64, u64::MAX, 3), Some((-3i64) as u64));
        assert_eq!(binary_of(Binary::MulHi, U64, u64::MAX, u64::MAX), Some(u64::MAX - 1));
        assert_eq!(binary_of(Binary::MulHi, I32, 0xffff_ffff, 1), Some(0xffff_ffff));
        assert_eq!(binary_of(Binary::MulWide, U32, 0xffff_ffff, 0xffff_ffff), Some(0xffff_fffe_0000_0001));
        assert_eq!(binary_of(Binary::Shl, U64, 1, 64), Some(0));
        assert_eq!(binary_of(Binary::Shr, I64, 1 << 63, 200), Some(u64::MAX));
        assert_eq!(binary_of(Binary::Shr, U32, 0x8000_0000, 31), Some(1));
        assert_eq!(binary_of(Binary::Max, I32, 0xffff_ffff, 1), Some(1));
        assert_eq!(binary_of(Binary::Max, U32, 0xffff_ffff, 1), Some(0xffff_ffff));
    }

    #[test]
    fn what_ptx_leaves_open_is_not_computed() {
        assert_eq!(binary_of(Binary::Div, U32, 1, 0), None);
        assert_eq!(binary_of(Binary::Rem, I32, 1 << 31, 0xffff_ffff), None);
        let nan = f32_bits(f32::NAN);
        assert_eq!(binary_of(Binary::Add, F32, nan, 0), None);
        assert_eq!(binary_of(Binary::Max, F32, nan, 0), None);
        assert_eq!(binary_of(Binary::Mul, F32, f32_bits(f32::INFINITY), 0), None);
        assert_eq!(converted(F32, nan, I32), None);
        assert_eq!(evaluate(&Op::Unary(Unary::Exp2), &[(F32, 0)], F32), None);
    }

    #[test]
    fn floats_round_once_and_keep_subnormals() {
        assert_eq!(binary_of(Binary::Mul, F32, f32_bits(1e-30), f32_bits(1e-10)), Some(f32_bits(1e-40)));
        let [a, b, c] = [1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0].map(f32_bits);
        let fma = evaluate(&Op::Fma, &[(F32, a), (F32, b), (F32, c)], F32);
        assert_eq!(fma, Some(f32_bits(-f32::EPSILON * f32::EPSILON)));
        assert_eq!(binary_of(Binary::Max, F32, f32_bits(-0.0), f32_bits(0.0)), Some(f32_bits(0.0)));
        assert_eq!(binary_of(Binary::Min, F32, f32_bits(0.0), f32_bits(-0.0)), Some(f32_bits(-0.0)));
    }

    #[test]
    fn comparisons_with_a_nan_fail_but_for_unequal() {
        for &op in Comparison::ALL {
            let holds = evaluate(&Op::Compare(op), &[(F32, f32_bits(f32::NAN)), (F32, 0)], Type::Bool);
            assert_eq!(holds, Some(u64::from(op == Comparison::Ne)), "{op:?}");
        }
    }

    #[test]
    fn conversions_truncate_clamp_and_round() {
        assert_eq!(converted(F32, f32_bits(-1.9), I32), Some(0xffff_ffff));
        assert_eq!(converted(F32, f32_bits(-1.9), U32), Some(0));
        assert_eq!(converted(F32, f32_bits(1e20), U16), Some(0xffff));
        assert_eq!(converted(F64, f64::INFINITY.to_bits(), I64), Some(i64::MAX as u64));
        assert_eq!(converted(I32, 0xffff_ffff, U64), Some(u64::MAX));
        assert_eq!(converted(U32, 0xffff_ffff, I64), Some(0xffff_ffff));
        assert_eq!(converted(U32, (1 << 24) + 1, F32), Some(f32_bits(16_777_216.0)));
        // Through f32 this would round twice.
        assert_eq!(converted(U32, (1 << 24) + 1, F16), None);
        assert_eq!(converted(F16, 0x3c01, F32), Some(f32_bits(1.0 + 1.0 / 1024.0)));
    }
}
