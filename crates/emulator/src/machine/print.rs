//! `vprintf`: a C format string and a buffer of arguments, each aligned to its size, to text.

use super::core::Core;
use crate::memory::{Flat, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, View, WINDOW};

/// The longest string that is read.
const LONGEST: u64 = 4096;

/// Reads a thread's memory by generic addresses.
pub(super) struct Reader<'a, 'c> {
    pub memory: View<'a>,
    pub shared: &'a Flat,
    pub local: &'a Flat,
    pub lane: usize,
    pub core: &'a Core<'c>,
}

impl Reader<'_, '_> {
    fn byte(&self, address: u64) -> Option<u8> {
        let flat = |flat: &Flat, at: u64| {
            usize::try_from(at).ok().filter(|at| *at < flat.len()).map(|at| flat.get(at, 1) as u8)
        };
        let within = |window: u64| address.checked_sub(window).filter(|at| *at < WINDOW);
        if let Some(at) = within(SHARED_WINDOW) {
            return flat(self.shared, at);
        }
        if let Some(at) = within(LOCAL_WINDOW) {
            let stripe = u64::from(self.core.program.local_bytes);
            return if at < stripe { flat(self.local, at + self.lane as u64 * stripe) } else { None };
        }
        if let Some(at) = within(PARAM_WINDOW) {
            return flat(&self.core.parameters, at);
        }
        let mut out = [0];
        self.memory.copy_out(address, &mut out).map(|_| out[0])
    }

    fn number(&self, address: u64, bytes: u64) -> u64 {
        (0..bytes).rev().fold(0, |x, i| x << 8 | u64::from(self.byte(address.wrapping_add(i)).unwrap_or_default()))
    }

    /// A string that ends with a zero byte.
    pub(super) fn text(&self, address: u64) -> String {
        let bytes: Vec<u8> =
            (0..LONGEST).map_while(|i| self.byte(address.wrapping_add(i)).filter(|b| *b != 0)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The text, and how many arguments it took.
pub(super) fn format(reader: &Reader<'_, '_>, template: u64, buffer: u64) -> (String, u32) {
    let template = reader.text(template);
    let mut next = buffer;
    expand(
        &template,
        |bytes| {
            next = next.next_multiple_of(bytes);
            next += bytes;
            reader.number(next - bytes, bytes)
        },
        |address| reader.text(address),
    )
}

/// What stands between a percent sign and the letter of a conversion.
#[derive(Clone, Copy, Default)]
struct Flags {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

fn expand(template: &str, mut argument: impl FnMut(u64) -> u64, text: impl Fn(u64) -> String) -> (String, u32) {
    let (mut out, mut count) = (String::new(), 0);
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        let specification = &rest[at + 1..];
        let Some((length, mut flags, letter)) = parse(specification) else {
            out.push('%');
            rest = specification;
            continue;
        };
        rest = &specification[length..];
        let integer = if flags.long { 8 } else { 4 };
        let mut take = |bytes: u64| {
            count += 1;
            argument(bytes)
        };
        out += &match letter {
            '%' => "%".to_string(),
            'd' | 'i' => {
                let raw = take(integer);
                let value = if flags.long { raw as i64 } else { (raw as i32).into() };
                number(value < 0, value.unsigned_abs().to_string(), "", flags)
            }
            'u' => {
                flags.plus = false;
                flags.space = false;
                number(false, take(integer).to_string(), "", flags)
            }
            'o' => number(false, format!("{:o}", take(integer)), if flags.alternate { "0" } else { "" }, flags),
            'x' | 'X' => {
                let value = take(integer);
                let prefix = if flags.alternate && value != 0 { ["0x", "0X"][usize::from(letter == 'X')] } else { "" };
                let digits = if letter == 'x' { format!("{value:x}") } else { format!("{value:X}") };
                number(false, digits, prefix, flags)
            }
            'c' => pad(char::from(take(4) as u8).to_string(), flags),
            'p' => pad(format!("{:#x}", take(8)), flags),
            's' => {
                let all = text(take(8));
                let kept = all.chars().take(flags.precision.unwrap_or(usize::MAX)).collect();
                pad(kept, flags)
            }
            _ => float(f64::from_bits(take(8)), letter, flags),
        };
    }
    out += rest;
    (out, count)
}

/// The length of a conversion, what it says, and its letter.
fn parse(text: &str) -> Option<(usize, Flags, char)> {
    let mut flags = Flags::default();
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.peek() {
        match c {
            '-' => flags.left = true,
            '+' => flags.plus = true,
            ' ' => flags.space = true,
            '#' => flags.alternate = true,
            '0' => flags.zero = true,
            _ => break,
        }
        chars.next();
    }
    let digits = |chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
        let mut n = 0usize;
        while let Some(d) = chars.peek().and_then(|(_, c)| c.to_digit(10)) {
            n = (10 * n + d as usize).min(1000);
            chars.next();
        }
        n
    };
    flags.width = digits(&mut chars);
    if chars.next_if(|(_, c)| *c == '.').is_some() {
        flags.precision = Some(digits(&mut chars));
    }
    while let Some((_, c)) = chars.next_if(|(_, c)| "hlLqjzt".contains(*c)) {
        flags.long |= "lqjzt".contains(c);
    }
    let (at, letter) = chars.next()?;
    "%diuoxXcspfFeEgG".contains(letter).then_some((at + 1, flags, letter))
}

fn sign(negative: bool, flags: Flags) -> &'static str {
    match (negative, flags.plus, flags.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn number(negative: bool, digits: String, prefix: &str, flags: Flags) -> String {
    let least = flags.precision.unwrap_or(1);
    let digits = if flags.precision == Some(0) && digits == "0" { String::new() } else { digits };
    let digits = format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
    fill(&format!("{}{prefix}", sign(negative, flags)), &digits, flags, flags.precision.is_none())
}

/// Sign and digits, with zeros between where they are asked for.
fn fill(head: &str, digits: &str, flags: Flags, zeros: bool) -> String {
    let missing = flags.width.saturating_sub(head.len() + digits.len());
    if flags.zero && zeros && !flags.left {
        return format!("{head}{}{digits}", "0".repeat(missing));
    }
    pad(format!("{head}{digits}"), flags)
}

fn pad(text: String, flags: Flags) -> String {
    let missing = " ".repeat(flags.width.saturating_sub(text.chars().count()));
    if flags.left { text + &missing } else { missing + &text }
}

fn float(x: f64, letter: char, flags: Flags) -> String {
    let magnitude = x.abs();
    let mut digits = if x.is_nan() {
        "nan".into()
    } else if x.is_infinite() {
        "inf".into()
    } else {
        let precision = flags.precision.unwrap_or(6);
        match letter.to_ascii_lowercase() {
            'f' => format!("{magnitude:.precision$}"),
            'e' => scientific(magnitude, precision),
            _ => general(magnitude, precision.max(1), flags.alternate),
        }
    };
    if letter.is_ascii_uppercase() {
        digits = digits.to_uppercase();
    }
    fill(sign(x.is_sign_negative() && !x.is_nan(), flags), &digits, flags, x.is_finite())
}

/// "1.500000e+02".
fn scientific(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn general(x: f64, precision: usize, keeps_zeros: bool) -> String {
    let text = format!("{x:.*e}", precision - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or_default();
    let plain = (-4..precision as i32).contains(&exponent);
    let text = match plain {
        true => format!("{x:.*}", (precision as i32 - 1 - exponent) as usize),
        false => scientific(x, precision - 1),
    };
    if keeps_zeros {
        return text;
    }
    let (mantissa, tail) = text.split_once('e').map_or((text.as_str(), String::new()), |(m, e)| (m, format!("e{e}")));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(template: &str, arguments: &[u64]) -> String {
        let mut rest = arguments.iter();
        expand(template, |_| rest.next().copied().unwrap_or_default(), |_| "text".into()).0
    }

    #[test]
    fn as_c_does() {
        assert_eq!(
            say("%d %i|%5d|%-5d|%05d|%+d", &[1, u64::from(-2i32 as u32), 42, 42, 42, 7]),
            "1 -2|   42|42   |00042|+7"
        );
        assert_eq!(
            say("%u %x %X %#x %08x %o", &[4_000_000_000, 255, 255, 255, 255, 8]),
            "4000000000 ff FF 0xff 000000ff 10"
        );
        assert_eq!(say("%lld %llu %lx", &[-5i64 as u64, u64::MAX, 1 << 40]), "-5 18446744073709551615 10000000000");
        let bits = f64::to_bits;
        assert_eq!(
            say("%f %5.2f|%e|%.1e", &[1.5, 2.345, 150.0, 0.00012].map(bits)),
            "1.500000  2.35|1.500000e+02|1.2e-04"
        );
        assert_eq!(say("%g %g %g %G", &[0.0001, 123456789.0, 2.5, 1e-10].map(bits)), "0.0001 1.23457e+08 2.5 1E-10");
        assert_eq!(say("%f %08.3f %e", &[f64::INFINITY, -1.5, f64::NAN].map(bits)), "inf -001.500 nan");
        assert_eq!(say("%c%s%.2s %p %%", &[65, 0, 0, 4096]), "Atextte 0x1000 %");
        assert_eq!(say("100%, %q", &[]), "100%, %q");
    }
}
