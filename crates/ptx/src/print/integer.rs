//! Integers in decimal. Long kernels print tens of thousands, and `format_args!` takes longer than all the rest.

use std::fmt;

/// Digits of the largest integer.
const MAX_DIGITS: usize = 20;

/// A signed integer.
pub(super) fn write_integer(f: &mut impl fmt::Write, n: i64) -> fmt::Result {
    if n < 0 {
        f.write_str("-")?;
    }
    write_unsigned(f, n.unsigned_abs())
}

/// An unsigned integer.
pub(super) fn write_unsigned(f: &mut impl fmt::Write, mut n: u64) -> fmt::Result {
    let mut digits = [0u8; MAX_DIGITS];
    let mut start = MAX_DIGITS;
    loop {
        start -= 1;
        digits[start] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    // Digits are always UTF-8.
    f.write_str(std::str::from_utf8(&digits[start..]).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_as_the_standard_library_has_it() {
        let mut powers: Vec<i64> = (0..63).map(|n| 1 << n).collect();
        powers.extend([0, 9, 10, 99, 100, -1, -10, i64::MIN, i64::MAX]);
        for n in powers {
            let (mut signed, mut unsigned) = (String::new(), String::new());
            write_integer(&mut signed, n).unwrap();
            write_unsigned(&mut unsigned, n as u64).unwrap();
            assert_eq!((signed, unsigned), (n.to_string(), (n as u64).to_string()));
        }
    }
}
