//! Formats of `print`, as C's `printf` has them, against the values that they print.

use crate::types::Type;

/// Values that one `print` may have: what the driver's `vprintf` takes.
const MAX_VALUES: usize = 32;

/// What a conversion prints.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// An integer of 32 bits, to which narrower ones and truth values are widened.
    Int,
    /// An integer of 64 bits.
    Long,
    /// An f64, to which narrower floats are widened.
    Float,
    /// An address.
    Pointer,
}

impl Kind {
    fn prints(self, ty: Type) -> bool {
        match self {
            Kind::Int => ty == Type::Bool || ty.is_integer() && ty.bits() <= 32,
            Kind::Long => ty.is_integer() && ty.bits() == 64,
            Kind::Float => ty.is_float(),
            Kind::Pointer => ty == Type::U64,
        }
    }

    const fn wants(self) -> &'static str {
        match self {
            Kind::Int => "an integer of at most 32 bits",
            Kind::Long => "an integer of 64 bits",
            Kind::Float => "a float",
            Kind::Pointer => "a u64",
        }
    }
}

/// What is wrong with a format and its values, in words.
pub(super) fn check(format: &str, values: &[Type]) -> Result<(), String> {
    if format.contains('\0') {
        return Err("the format of this `print` has a NUL in it, which would end it".into());
    }
    if values.len() > MAX_VALUES {
        return Err(format!("this `print` has {} values, and the driver prints at most {MAX_VALUES}", values.len()));
    }
    let mut left = values.iter().enumerate();
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        let after = &rest[start + 1..];
        let (text, kind, length) = conversion(after)?;
        rest = &after[length..];
        let Some(kind) = kind else { continue };
        match left.next() {
            None => {
                return Err(format!(
                    "the format of this `print` has `%{text}` and no value for it; it has {}",
                    values.len()
                ));
            }
            Some((i, ty)) if !kind.prints(*ty) => {
                let help = suggestion(*ty);
                return Err(format!(
                    "`%{text}` prints {}, and value {} of this `print` is {ty}: write `{help}`",
                    kind.wants(),
                    i + 1
                ));
            }
            Some(_) => {}
        }
    }
    match left.len() {
        0 => Ok(()),
        n => Err(format!("the format of this `print` prints {} of its {} values", values.len() - n, values.len())),
    }
}

/// What would print a value.
const fn suggestion(ty: Type) -> &'static str {
    match (ty.is_float(), ty.bits() == 64, ty.is_signed()) {
        (true, ..) => "%f",
        (false, true, true) => "%lld",
        (false, true, false) => "%llu",
        (false, false, true) => "%d",
        _ => "%u",
    }
}

/// The conversion that follows a percent sign: its text, what it prints, its length. `%%` prints nothing.
fn conversion(text: &str) -> Result<(&str, Option<Kind>, usize), String> {
    let skip = |from: usize, set: fn(char) -> bool| from + text[from..].find(|c| !set(c)).unwrap_or(text.len() - from);
    let flags = skip(0, |c| matches!(c, '-' | '+' | ' ' | '#' | '0'));
    let mut at = skip(flags, |c| c.is_ascii_digit());
    if text[at..].starts_with('.') {
        at = skip(at + 1, |c| c.is_ascii_digit());
    }
    let end = skip(at, |c| matches!(c, 'h' | 'l'));
    let length = &text[at..end];
    let Some(letter) = text[end..].chars().next() else {
        return Err(format!("`%{text}` at the end of the format of this `print` is no conversion"));
    };
    let whole = &text[..end + letter.len_utf8()];
    let kind = match (letter, length) {
        ('%', "") if end == 0 => None,
        ('d' | 'i' | 'u' | 'o' | 'x' | 'X' | 'c', "" | "h" | "hh") => Some(Kind::Int),
        ('d' | 'i' | 'u' | 'o' | 'x' | 'X', "l" | "ll") => Some(Kind::Long),
        ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', "" | "l") => Some(Kind::Float),
        ('p', "") => Some(Kind::Pointer),
        ('s', _) => return Err(format!("`%{whole}` prints a string, and no value is one: write it into the format")),
        ('*', _) => return Err(format!("`%{whole}`: a `print` knows its widths when it is written, `*` is not one")),
        _ => return Err(format!("`%{whole}` of this `print` is no conversion of `printf`; a percent sign is `%%`")),
    };
    Ok((whole, kind, whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::{Bool, F16, F32, F64, I8, I32, I64, U32, U64};

    #[test]
    fn conversions_print_what_c_promotes_to() {
        assert_eq!(check("", &[]), Ok(()));
        assert_eq!(check("100%%\n", &[]), Ok(()));
        assert_eq!(check("%d %u %i %c %hhd", &[I8, Bool, I32, U32, I8]), Ok(()));
        assert_eq!(check("%-08.3f|%+e|%a|%lg", &[F32, F16, F64, F32]), Ok(()));
        assert_eq!(check("%lld %#llx %lu %p é", &[I64, U64, U64, U64]), Ok(()));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let message = |format: &str, values: &[Type]| check(format, values).unwrap_err();
        assert_eq!(
            message("x = %d", &[F32]),
            "`%d` prints an integer of at most 32 bits, and value 1 of this `print` is f32: write `%f`"
        );
        assert_eq!(
            message("%u %5u", &[U32, U64]),
            "`%5u` prints an integer of at most 32 bits, and value 2 of this `print` is u64: write `%llu`"
        );
        assert_eq!(message("%d %d", &[I32]), "the format of this `print` has `%d` and no value for it; it has 1");
        assert_eq!(message("%%d", &[I32]), "the format of this `print` prints 0 of its 1 values");
        assert!(message("%s", &[U64]).contains("no value is one"));
        assert!(message("%*d", &[I32, I32]).contains("`*` is not one"));
        assert!(message("%", &[]).contains("at the end"));
        assert!(message("%n", &[U64]).contains("no conversion"));
        assert!(message("%é", &[U64]).contains("no conversion"));
        assert!(message("a\0b", &[]).contains("NUL"));
        assert!(message(&"%d".repeat(33), &[I32; 33]).contains("at most 32"));
    }
}
