//! Elements of tensors: made from a description, and shown.

use std::fmt;
use std::str::FromStr;
use warpsmith::kernels::random::Random;
use warpsmith_types::DType;
use warpsmith_types::convert::{
    bf16_to_f32, e4m3_to_f32, e5m2_to_f32, f16_to_f32, f32_to_bf16, f32_to_e4m3, f32_to_e5m2, f32_to_f16,
};

/// A number as it was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Without a point; decimal or `0x` with hexadecimal digits.
    Integer(i128),
    /// Anything else that Rust reads as a float.
    Float(f64),
}

impl FromStr for Number {
    type Err = ();

    fn from_str(text: &str) -> Result<Number, ()> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let hexadecimal = digits.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
        match (hexadecimal, text.parse()) {
            (Some(bits), _) => Ok(Number::Integer(sign * i128::from(bits))),
            (None, Ok(n)) => Ok(Number::Integer(n)),
            (None, Err(_)) => text.parse().map(Number::Float).map_err(|_| ()),
        }
    }
}

/// What a tensor holds before the launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fill {
    /// Nothing: reading it is a finding.
    Poison,
    /// Zero everywhere.
    Zeros,
    /// 0, 1, 2 …
    Iota,
    /// One number everywhere.
    Number(Number),
    /// Normal numbers with mean 0 and variance 1; of integer dtypes, −100 to 100 or 0 to 100.
    Random(u64),
}

/// A number that a dtype does not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{number} is no {dtype}{}", range(*dtype))]
pub(super) struct OutOfRange {
    number: String,
    dtype: DType,
}

fn range(dtype: DType) -> String {
    match limits(dtype) {
        Some((low, high)) => format!("; expected an integer from {low} to {high}"),
        None => String::new(),
    }
}

/// The least and the greatest of an integer dtype. Formats without arithmetic of their own count as the byte they are.
fn limits(dtype: DType) -> Option<(i128, i128)> {
    let signed = matches!(dtype, DType::I64 | DType::I32 | DType::I16 | DType::I8);
    let bits = dtype.bits() as u32;
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::BF16 | DType::E4M3 | DType::E5M2 => None,
        _ if signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        _ => Some((0, (1 << bits) - 1)),
    }
}

/// The bytes of so many elements; `None` when nothing is to be written.
pub(super) fn fill(dtype: DType, count: usize, fill: Fill) -> Result<Option<Vec<u8>>, OutOfRange> {
    let mut bytes = Vec::with_capacity(count * dtype.bytes());
    match fill {
        Fill::Poison => return Ok(None),
        Fill::Zeros => bytes.resize(count * dtype.bytes(), 0),
        Fill::Iota => {
            for i in 0..count as i128 {
                // Integers wrap, as a kernel's would.
                let i = limits(dtype).map_or(i, |(low, high)| (i - low).rem_euclid(high - low + 1) + low);
                push(dtype, Number::Integer(i), &mut bytes)?;
            }
        }
        Fill::Number(number) => {
            push(dtype, number, &mut bytes)?;
            bytes = bytes.repeat(count);
        }
        Fill::Random(seed) => {
            let mut random = Random::new(seed);
            for _ in 0..count {
                let number = match limits(dtype) {
                    None => Number::Float(random.normal()),
                    Some((low, _)) => {
                        let least = low.max(-100);
                        Number::Integer(random.below((101 - least) as usize) as i128 + least)
                    }
                };
                push(dtype, number, &mut bytes)?;
            }
        }
    }
    Ok(Some(bytes))
}

/// Appends a number, rounded to the nearest that the dtype has.
pub(super) fn push(dtype: DType, number: Number, bytes: &mut Vec<u8>) -> Result<(), OutOfRange> {
    let out_of_range = || OutOfRange { number: number.to_string(), dtype };
    if let Some((low, high)) = limits(dtype) {
        return match number {
            Number::Integer(n) if (low..=high).contains(&n) => {
                bytes.extend_from_slice(&n.to_le_bytes()[..dtype.bytes()]);
                Ok(())
            }
            _ => Err(out_of_range()),
        };
    }
    let value = match number {
        Number::Integer(n) => n as f64,
        Number::Float(x) => x,
    };
    let narrow = value as f32;
    match dtype {
        DType::F64 => bytes.extend_from_slice(&value.to_le_bytes()),
        DType::F16 => bytes.extend_from_slice(&f32_to_f16(narrow).to_le_bytes()),
        DType::BF16 => bytes.extend_from_slice(&f32_to_bf16(narrow).to_le_bytes()),
        DType::E4M3 => bytes.push(f32_to_e4m3(narrow)),
        DType::E5M2 => bytes.push(f32_to_e5m2(narrow)),
        _ => bytes.extend_from_slice(&narrow.to_le_bytes()),
    }
    Ok(())
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(n) => write!(f, "{n}"),
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}

/// One element in words: the shortest decimal that reads back as it; bits, where a format has no arithmetic.
pub(super) fn show(dtype: DType, bytes: &[u8]) -> String {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    let bits = u64::from_le_bytes(word);
    // Sign-extended from the element's width.
    let shift = 64 - 8 * n as u32;
    let signed = if n == 0 { 0 } else { (bits << shift) as i64 >> shift };
    match dtype {
        DType::F64 => number(f64::from_bits(bits)),
        DType::F32 => number(f32::from_bits(bits as u32).into()),
        DType::F16 => number(f16_to_f32(bits as u16).into()),
        DType::BF16 => number(bf16_to_f32(bits as u16).into()),
        DType::E4M3 => number(e4m3_to_f32(bits as u8).into()),
        DType::E5M2 => number(e5m2_to_f32(bits as u8).into()),
        DType::E2M1x2 | DType::E8M0 => format!("{bits:#04x}"),
        DType::I64 | DType::I32 | DType::I16 | DType::I8 => signed.to_string(),
        DType::U64 | DType::U32 | DType::U16 | DType::U8 => bits.to_string(),
    }
}

/// Six digits, as people compare them.
fn number(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 || (1e-4..1e7).contains(&magnitude) {
        let decimals = (5 - magnitude.max(1e-4).log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{x:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').into(),
            false => text,
        }
    } else if x.is_finite() {
        format!("{x:.5e}")
    } else {
        format!("{x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(dtype: DType, count: usize, what: Fill) -> Vec<String> {
        let bytes = fill(dtype, count, what).unwrap().unwrap();
        bytes.chunks(dtype.bytes()).map(|b| show(dtype, b)).collect()
    }

    #[test]
    fn every_dtype_holds_what_it_can() {
        for dtype in DType::ALL.into_iter().filter(|d| !matches!(d, DType::E2M1x2 | DType::E8M0)) {
            assert_eq!(shown(dtype, 4, Fill::Iota), ["0", "1", "2", "3"], "{dtype}");
            assert_eq!(shown(dtype, 2, Fill::Zeros), ["0", "0"], "{dtype}");
            let random = shown(dtype, 50, Fill::Random(3));
            assert_eq!(random, shown(dtype, 50, Fill::Random(3)), "{dtype}");
            assert_ne!(random, shown(dtype, 50, Fill::Random(4)), "{dtype}");
            assert_eq!(fill(dtype, 9, Fill::Poison).unwrap(), None);
        }
        assert_eq!(shown(DType::I8, 2, Fill::Number("-128".parse().unwrap())), ["-128", "-128"]);
        assert_eq!(shown(DType::U8, 258, Fill::Iota)[254..], ["254", "255", "0", "1"]);
        assert_eq!(shown(DType::BF16, 1, Fill::Number("1.5".parse().unwrap())), ["1.5"]);
        assert_eq!(shown(DType::F32, 1, Fill::Number("inf".parse().unwrap())), ["inf"]);
        assert_eq!(shown(DType::E8M0, 1, Fill::Number("0x7f".parse().unwrap())), ["0x7f"]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let refused = |dtype, text: &str| fill(dtype, 1, Fill::Number(text.parse().unwrap())).unwrap_err().to_string();
        assert_eq!(refused(DType::U8, "256"), "256 is no u8; expected an integer from 0 to 255");
        assert_eq!(refused(DType::I32, "1.5"), "1.5 is no i32; expected an integer from -2147483648 to 2147483647");
        assert_eq!("seven".parse::<Number>(), Err(()));
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.1, -2.5, 1234.5678, 1e-9, 3e8, f64::NAN, 0.0, 1_000_000.0, 0.000123456789].map(number).to_vec();
        assert_eq!(shown, ["0.1", "-2.5", "1234.57", "1.00000e-9", "3.00000e8", "NaN", "0", "1000000", "0.000123457"]);
    }
}
