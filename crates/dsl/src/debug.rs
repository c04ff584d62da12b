//! Messages and assertions of a kernel. They are compiled in when a kernel is traced with
//! [`Messages::On`](crate::Messages), and vanish otherwise.

use crate::bundle::{Bundle, handles};
use crate::trace::{Handle, effect, mistake, type_of, with};
use crate::value::Bool;
use warpsmith_ir::{Op, Type};

/// Whether `device_print!` and `device_assert!` are compiled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Messages {
    /// They vanish.
    #[default]
    Off,
    /// They print, and a failed assertion ends the kernel.
    On,
}

/// Prints from a kernel: `device_print!("row {} has {}", row, x)`. Each `{}` is a scalar, printed as its type is; `{:x}`
/// in hexadecimal. Through the driver's `vprintf`, or the emulator's.
#[macro_export]
macro_rules! device_print {
    ($format:literal $(, $value:expr)* $(,)?) => {
        $crate::debug::print($format, &[$($crate::debug::Printed::from(&$value)),*])
    };
}

/// Ends the kernel with a message where the condition does not hold: `device_assert!(i.lt(n), "row {}", i)`.
#[macro_export]
macro_rules! device_assert {
    ($condition:expr $(,)?) => {
        $crate::debug::assert($condition, stringify!($condition), "", &[])
    };
    ($condition:expr, $format:literal $(, $value:expr)* $(,)?) => {
        $crate::debug::assert($condition, stringify!($condition), $format, &[$($crate::debug::Printed::from(&$value)),*])
    };
}

/// A value to be printed.
pub struct Printed(Handle);

impl<T: Bundle> From<&T> for Printed {
    fn from(x: &T) -> Printed {
        Printed(handles(x).first().copied().unwrap_or_else(crate::trace::poison))
    }
}

/// What [`device_print!`](crate::device_print) records.
#[doc(hidden)]
#[track_caller]
pub fn print(format: &str, values: &[Printed]) {
    if with(|t| t.messages) == Messages::Off {
        return;
    }
    if let Some((format, args)) = formatted(format, values) {
        vprintf(format + "\n", &args);
    }
}

/// What [`device_assert!`](crate::device_assert) records.
#[doc(hidden)]
#[track_caller]
pub fn assert(condition: Bool, text: &str, format: &str, values: &[Printed]) {
    if with(|t| t.messages) == Messages::Off {
        return;
    }
    let at = std::panic::Location::caller();
    let Some((message, args)) = formatted(format, values) else { return };
    let text = text.replace('%', "%%");
    let separator = if message.is_empty() { "" } else { ": " };
    let format = format!("{}:{}: assertion failed: {text}{separator}{message}\n", at.file(), at.line());
    crate::flow::when(!condition, || {
        vprintf(format.clone(), &args);
        effect(Op::Trap, &[]);
    });
}

/// Ends the kernel: a bounded wait is over.
#[track_caller]
pub(crate) fn give_up(what: &str) {
    if with(|t| t.messages) == Messages::On {
        vprintf(format!("gave up waiting for {}\n", what.replace('%', "%%")), &[]);
    }
    effect(Op::Trap, &[]);
}

#[track_caller]
fn vprintf(format: String, args: &[Handle]) {
    effect(Op::Print { format }, args);
}

/// C's format for Rust's.
#[track_caller]
fn formatted(format: &str, values: &[Printed]) -> Option<(String, Vec<Handle>)> {
    let (mut out, mut args, mut rest) = (String::new(), vec![], format);
    let mut values = values.iter();
    while let Some(at) = rest.find(['{', '}', '%']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, length, hex) = match rest {
            r if r.starts_with("{{") => ("{", 2, None),
            r if r.starts_with("}}") => ("}", 2, None),
            r if r.starts_with('%') => ("%%", 1, None),
            r if r.starts_with("{}") => ("", 2, Some(false)),
            r if r.starts_with("{:x}") => ("", 4, Some(true)),
            _ => {
                mistake(
                    format!("`{format}` has a place that is not `{{}}` or `{{:x}}`"),
                    &[],
                    "write `{{` for a brace",
                );
                return None;
            }
        };
        rest = &rest[length..];
        match hex {
            None => out.push_str(text),
            Some(hex) => match values.next() {
                Some(Printed(h)) => {
                    out.push_str(specifier(*h, hex)?);
                    args.push(crate::debug::widened(*h));
                }
                None => {
                    mistake(format!("`{format}` has more places than values"), &[], "give each `{}` a value");
                    return None;
                }
            },
        }
    }
    out.push_str(rest);
    if values.next().is_some() {
        mistake(format!("`{format}` has fewer places than values"), &[], "write a `{}` for each value");
        return None;
    }
    Some((out, args))
}

/// C's word for a type.
#[track_caller]
fn specifier(h: Handle, hex: bool) -> Option<&'static str> {
    Some(match (type_of(h)?, hex) {
        (Type::F16 | Type::BF16 | Type::F32 | Type::F64, false) => "%g",
        (Type::U64, false) => "%llu",
        (Type::I64, false) => "%lld",
        (Type::U64 | Type::I64, true) => "%llx",
        (Type::I8 | Type::I16 | Type::I32, false) => "%d",
        (Type::F16 | Type::BF16 | Type::F32 | Type::F64, true) => {
            mistake("a float has no hexadecimal form", &[], "print its bits: `x.to_bits()`");
            return None;
        }
        (_, false) => "%u",
        (_, true) => "%x",
    })
}

/// As C passes it to a function of many arguments.
#[track_caller]
fn widened(h: Handle) -> Handle {
    let record = |op: Op, args: &[Handle], ty: Type| crate::trace::emit(op, args, ty);
    match type_of(h) {
        Some(Type::F16 | Type::BF16) => record(Op::Convert, &[h], Type::F32),
        Some(Type::U8 | Type::U16) => record(Op::Convert, &[h], Type::U32),
        Some(Type::I8 | Type::I16) => record(Op::Convert, &[h], Type::I32),
        Some(Type::Bool) => {
            let [one, zero] = [1, 0].map(|n| record(Op::Const(n), &[], Type::U32));
            record(Op::Select, &[h, one, zero], Type::U32)
        }
        _ => h,
    }
}
