//! Numbers.

use crate::instruction::Immediate;

/// The value of a number as written; `None` when it is not one, or does not fit.
pub(super) fn parse(text: &str) -> Option<Immediate> {
    let after = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| text.strip_prefix(p));
    if let Some(bits) = after(["0f", "0F"]) {
        return hex(bits, 8).and_then(|b| u32::try_from(b).ok()).map(Immediate::F32);
    }
    if let Some(bits) = after(["0d", "0D"]) {
        return hex(bits, 16).map(Immediate::F64);
    }
    let float = !text.starts_with("0x") && !text.starts_with("0X") && text.contains(['.', 'e', 'E']);
    if float {
        return text.parse::<f64>().ok().map(|x| Immediate::F64(x.to_bits()));
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    // `from_str_radix` would take a sign.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok().map(integer)
}

fn hex(digits: &str, length: usize) -> Option<u64> {
    let fits = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if fits { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// The literal of an unsigned value.
pub(super) fn integer(value: u64) -> Immediate {
    i64::try_from(value).map_or(Immediate::Unsigned(value), Immediate::Integer)
}

/// The same with the other sign; `None` when that does not fit.
pub(super) fn negate(value: Immediate) -> Option<Immediate> {
    match value {
        Immediate::Integer(n) => n.checked_neg().map(Immediate::Integer),
        Immediate::Unsigned(n) => (n == 1 << 63).then_some(Immediate::Integer(i64::MIN)),
        Immediate::F32(bits) => Some(Immediate::F32(bits ^ 1 << 31)),
        Immediate::F64(bits) => Some(Immediate::F64(bits ^ 1 << 63)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_one() {
        let cases = [
            ("0", Some(Immediate::Integer(0))),
            ("42U", Some(Immediate::Integer(42))),
            ("0x7fU", Some(Immediate::Integer(127))),
            ("0xfd", Some(Immediate::Integer(253))),
            ("017", Some(Immediate::Integer(15))),
            ("0b101", Some(Immediate::Integer(5))),
            ("18446744073709551615", Some(Immediate::Unsigned(u64::MAX))),
            ("0f3F800000", Some(Immediate::F32(0x3f80_0000))),
            ("0d3FF0000000000000", Some(Immediate::F64(1f64.to_bits()))),
            ("1.5", Some(Immediate::F64(1.5f64.to_bits()))),
            ("1e3", Some(Immediate::F64(1000f64.to_bits()))),
            ("18446744073709551616", None),
            ("0f3F80", None),
            ("0f+F800000", None),
            ("0x", None),
            ("09", None),
            ("12abc", None),
        ];
        for (text, value) in cases {
            assert_eq!(parse(text), value, "{text}");
        }
    }
}
