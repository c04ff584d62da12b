//! An argument as it is typed: `x:f32[64,128]=random:7`, `u32=7`, `in.npy`.

use super::values::{self, Fill, Number};
use crate::failure::Failure;
use crate::tensor_file;
use std::path::Path;
use std::str::FromStr;
use warpsmith_types::DType;

/// What a kernel is given for one of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    /// As it was typed, for messages.
    pub(super) text: String,
    /// Its name in reports, when one was typed.
    pub(super) name: Option<String>,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// By value: its bytes.
    Scalar { dtype: DType, bytes: Vec<u8> },
    /// By address: what lies there.
    Tensor { dtype: DType, shape: Vec<usize>, contents: Contents },
}

/// What a tensor holds before the launch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contents {
    Filled(Fill),
    /// Random numbers from a seed that follows from the argument's place.
    Random,
    /// A file's bytes.
    Bytes(Vec<u8>),
}

/// Tensors are looked at element by element when the launch has ended.
const MOST_ELEMENTS: usize = 1 << 27;

const EXPECTED: &str = "[NAME:]DTYPE[EXTENTS]=CONTENTS, [NAME:]DTYPE=NUMBER or [NAME:]FILE.npy, \
                        like x:f32[64,128]=random, n:u32=7 or x:in.npy";

impl Argument {
    /// Reads it, and the file that it may name.
    pub(super) fn read(text: &str) -> Result<Argument, Failure> {
        let wrong = |what: String| Failure::Option(format!("--arg {text}: {what}"));
        let (name, rest) = match text.split_once(':') {
            // `f32=random:7` has a colon too, behind its dtype.
            Some((name, rest)) if is_name(name) => (Some(name.to_string()), rest),
            _ => (None, text),
        };
        let (head, contents) = rest.split_once('=').map_or((rest, None), |(head, rest)| (head, Some(rest)));
        let value = match (typed(head), contents) {
            (None, None) if is_file(rest) => from_file(rest)?,
            (None, _) => return Err(wrong(format!("expected {EXPECTED}"))),
            (Some((dtype, extents)), contents) => {
                let dtype = DType::from_str(dtype).map_err(|e| wrong(e.to_string()))?;
                match (extents, contents) {
                    (None, None) => return Err(wrong(format!("a scalar needs a number, like {dtype}=1"))),
                    (None, Some(number)) => scalar(dtype, number).map_err(wrong)?,
                    (Some(extents), contents) => {
                        let shape = extents_of(extents).map_err(wrong)?;
                        tensor(dtype, shape, contents.unwrap_or("poison"), text)?
                    }
                }
            }
        };
        Ok(Argument { text: text.into(), name, value })
    }
}

/// Whether this may stand before the colon: an identifier.
fn is_name(text: &str) -> bool {
    let starts_well = text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    starts_well && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_file(text: &str) -> bool {
    text.ends_with(".npy") || text.ends_with(".safetensors")
}

/// A dtype, and what stands in brackets behind it; `None` when it is something else.
fn typed(head: &str) -> Option<(&str, Option<&str>)> {
    let (dtype, extents) = match head.split_once('[') {
        Some((dtype, rest)) => (dtype, Some(rest.strip_suffix(']')?)),
        None => (head, None),
    };
    is_name(dtype).then_some((dtype, extents))
}

fn extents_of(text: &str) -> Result<Vec<usize>, String> {
    let parsed: Result<Vec<usize>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    let shape = parsed.map_err(|_| format!("`[{text}]` are no extents; expected numbers, like [64,128]"))?;
    let elements = shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent));
    match elements.filter(|n| *n <= MOST_ELEMENTS) {
        Some(_) => Ok(shape),
        None => Err(format!("`[{text}]` are more than {MOST_ELEMENTS} elements")),
    }
}

fn scalar(dtype: DType, text: &str) -> Result<Value, String> {
    let number: Number =
        text.parse().map_err(|()| format!("`{text}` is no number; a tensor has extents, like {dtype}[1024]={text}"))?;
    let mut bytes = vec![];
    values::push(dtype, number, &mut bytes).map_err(|e| e.to_string())?;
    Ok(Value::Scalar { dtype, bytes })
}

fn tensor(dtype: DType, shape: Vec<usize>, contents: &str, text: &str) -> Result<Value, Failure> {
    let wrong = |what: String| Failure::Option(format!("--arg {text}: {what}"));
    let contents = match contents {
        "poison" => Contents::Filled(Fill::Poison),
        "zeros" => Contents::Filled(Fill::Zeros),
        "iota" => Contents::Filled(Fill::Iota),
        "random" => Contents::Random,
        other => match (other.strip_prefix("random:").map(str::parse), other.parse()) {
            (Some(Ok(seed)), _) => Contents::Filled(Fill::Random(seed)),
            (None, Ok(number)) => {
                // Refused here, where its argument can be named.
                values::fill(dtype, 1, Fill::Number(number)).map_err(|e| wrong(e.to_string()))?;
                Contents::Filled(Fill::Number(number))
            }
            (None, Err(())) if is_file(other) => match from_file(other)? {
                Value::Tensor { dtype: found, shape: extents, contents } if (found, &extents) == (dtype, &shape) => {
                    contents
                }
                Value::Tensor { dtype: found, shape: extents, .. } => {
                    return Err(wrong(format!("the file has {found}{extents:?}, not {dtype}{shape:?}")));
                }
                Value::Scalar { .. } => return Err(wrong("the file has no tensor".into())),
            },
            _ => {
                return Err(wrong(format!(
                    "`{other}` is no contents; expected random, random:SEED, zeros, poison, iota, a number or a file \
                     (.npy, .safetensors)"
                )));
            }
        },
    };
    Ok(Value::Tensor { dtype, shape, contents })
}

fn from_file(path: &str) -> Result<Value, Failure> {
    let tensor = tensor_file::read(Path::new(path), None)?;
    Ok(Value::Tensor { dtype: tensor.dtype, shape: tensor.shape, contents: Contents::Bytes(tensor.bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<String>, Value) {
        let a = Argument::read(text).unwrap();
        (a.name, a.value)
    }

    fn filled(dtype: DType, shape: &[usize], fill: Fill) -> Value {
        Value::Tensor { dtype, shape: shape.into(), contents: Contents::Filled(fill) }
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(read("f32[4]=random:7"), (None, filled(DType::F32, &[4], Fill::Random(7))));
        assert_eq!(
            read("out:bf16[64,128]=poison"),
            (Some("out".into()), filled(DType::BF16, &[64, 128], Fill::Poison))
        );
        assert_eq!(read("x:i8[3]"), (Some("x".into()), filled(DType::I8, &[3], Fill::Poison)));
        assert_eq!(read("f16[2]=0.5").1, filled(DType::F16, &[2], Fill::Number(Number::Float(0.5))));
        let random = Value::Tensor { dtype: DType::E4M3, shape: vec![2], contents: Contents::Random };
        assert_eq!(read("e4m3[2]=random").1, random);
        assert_eq!(read("u32=7").1, Value::Scalar { dtype: DType::U32, bytes: vec![7, 0, 0, 0] });
        assert_eq!(read("n:i16=-1"), (Some("n".into()), Value::Scalar { dtype: DType::I16, bytes: vec![255, 255] }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |text: &str| Argument::read(text).unwrap_err().to_string();
        assert!(refused("7").starts_with("--arg 7: expected [NAME:]DTYPE[EXTENTS]=CONTENTS"), "{}", refused("7"));
        assert!(refused("float[4]").starts_with("--arg float[4]: `float` is not a dtype; expected one of f64"));
        assert_eq!(refused("f32"), "--arg f32: a scalar needs a number, like f32=1");
        assert_eq!(
            refused("f32=random"),
            "--arg f32=random: `random` is no number; a tensor has extents, like f32[1024]=random"
        );
        assert_eq!(refused("f32[a]=1"), "--arg f32[a]=1: `[a]` are no extents; expected numbers, like [64,128]");
        assert_eq!(refused("u8[4]=300"), "--arg u8[4]=300: 300 is no u8; expected an integer from 0 to 255");
        assert!(refused("f32[4]=ones").contains("`ones` is no contents; expected random, random:SEED, zeros"));
        assert!(refused("f32[99999999,99999999]").contains("are more than 134217728 elements"));
        assert_eq!(refused("no.npy"), "no.npy: can not be read: No such file or directory (os error 2)");
    }
}
