//! f64 products, quotients, roots and fused multiply-adds in a direction other than to nearest: exact in integers,
//! rounded once.

use super::rounding::Rounding;

/// `(-1)^negative · significand · 2^exponent`; the lowest bit is also set when something below it is.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    significand: u128,
    exponent: i32,
}

/// A finite number that is not zero.
fn exact(x: f64) -> Exact {
    let bits = x.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
    let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
    Exact { negative: bits >> 63 == 1, significand, exponent: field.max(1) - 1075 }
}

fn special(values: &[f64]) -> bool {
    values.iter().any(|x| !x.is_finite() || *x == 0.0)
}

impl Exact {
    /// Moves the highest bit to a place, losing nothing but into the lowest bit.
    fn with_top_at(mut self, place: u32) -> Exact {
        let top = 127 - self.significand.leading_zeros();
        if top < place {
            self.significand <<= place - top;
            self.exponent -= (place - top) as i32;
        } else {
            self = self.shifted_right(top - place);
        }
        self
    }

    fn shifted_right(mut self, by: u32) -> Exact {
        if by == 0 {
            return self;
        }
        let lost = by >= 128 || self.significand & ((1 << by) - 1) != 0;
        let kept = if by >= 128 { 0 } else { self.significand >> by };
        self.significand = kept | u128::from(lost);
        self.exponent += by as i32;
        self
    }

    fn round(self, rounding: Rounding) -> f64 {
        let Exact { negative, significand, exponent } = self.with_top_at(120);
        // The number is 1.… · 2^scale.
        let scale = exponent + 120;
        let drop = (120 - 52) + (-1022 - scale).max(0);
        let (kept, rest, half) = match drop {
            ..=127 => (significand >> drop, significand & ((1 << drop) - 1), 1u128 << (drop - 1)),
            _ => (0, 1, 2),
        };
        let up = match rounding {
            Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        };
        let field = (scale.max(-1022) + 1022) as u128;
        let result = (field << 52) + kept + u128::from(up);
        let infinity = 0x7ff0_0000_0000_0000u128;
        let magnitude = if result < infinity {
            result
        } else {
            let inward = match rounding {
                Rounding::Nearest | Rounding::NearestAway => false,
                Rounding::Zero => true,
                Rounding::Down => !negative,
                Rounding::Up => negative,
            };
            if inward { infinity - 1 } else { infinity }
        };
        f64::from_bits(magnitude as u64 | u64::from(negative) << 63)
    }
}

/// `a · b`.
pub(crate) fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    if special(&[a, b]) {
        return a * b;
    }
    product(a, b).round(rounding)
}

fn product(a: f64, b: f64) -> Exact {
    let (a, b) = (exact(a), exact(b));
    Exact {
        negative: a.negative != b.negative,
        significand: a.significand * b.significand,
        exponent: a.exponent + b.exponent,
    }
}

/// `a / b`.
pub(crate) fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    if special(&[a, b]) {
        return a / b;
    }
    let (a, b) = (exact(a).with_top_at(120), exact(b).with_top_at(52));
    let (quotient, rest) = (a.significand / b.significand, a.significand % b.significand);
    let quotient = Exact {
        negative: a.negative != b.negative,
        significand: quotient << 1 | u128::from(rest != 0),
        exponent: a.exponent - b.exponent - 1,
    };
    quotient.round(rounding)
}

/// The square root of `a`.
pub(crate) fn sqrt(a: f64, rounding: Rounding) -> f64 {
    if special(&[a]) || a < 0.0 {
        return a.sqrt();
    }
    let mut a = exact(a).with_top_at(122);
    if a.exponent % 2 != 0 {
        a.significand <<= 1;
        a.exponent -= 1;
    }
    let root = a.significand.isqrt();
    let inexact = root * root != a.significand;
    let root = Exact { negative: false, significand: root << 1 | u128::from(inexact), exponent: a.exponent / 2 - 1 };
    root.round(rounding)
}

/// `a · b + c`.
pub(crate) fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if !c.is_finite() && a.is_finite() && b.is_finite() {
        return c;
    }
    if special(&[a, b]) || !c.is_finite() {
        let sum = a * b + c;
        let cancelled = sum == 0.0 && (a * b).is_sign_negative() != c.is_sign_negative();
        return if cancelled && rounding == Rounding::Down { -0.0 } else { sum };
    }
    let p = product(a, b);
    if c == 0.0 {
        return p.round(rounding);
    }
    let (x, y) = (p.with_top_at(122), exact(c).with_top_at(122));
    let (large, small) = if x.exponent >= y.exponent { (x, y) } else { (y, x) };
    let small = small.shifted_right((large.exponent - small.exponent).min(200) as u32);
    let (x, y) = (large.significand, small.significand);
    let (significand, negative) = match (large.negative == small.negative, x >= y) {
        (true, _) => (x + y, large.negative),
        (false, true) => (x - y, large.negative),
        (false, false) => (y - x, small.negative),
    };
    if significand == 0 {
        return if rounding == Rounding::Down { -0.0 } else { 0.0 };
    }
    Exact { negative, significand, exponent: large.exponent }.round(rounding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = state.rotate_left(32);
        match bits % 5 {
            0 => f64::from_bits(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            1 => f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (bits & 3) << 52),
            2 => f64::from_bits(bits & 0x8000_0000_0000_0003 | 0x3ff0_0000_0000_0000),
            3 => f64::from_bits(bits & 0x803f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000),
            _ => [0.0, -0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, 5e-324][bits as usize / 8 % 7],
        }
    }

    #[test]
    fn to_nearest_it_is_the_machine_s() {
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        let mut state = 11;
        for _ in 0..300_000 {
            let (a, b, c) = (random(&mut state), random(&mut state), random(&mut state));
            assert!(same(mul(a, b, Rounding::Nearest), a * b), "{a:e} · {b:e}");
            assert!(same(div(a, b, Rounding::Nearest), a / b), "{a:e} / {b:e}");
            assert!(same(sqrt(a, Rounding::Nearest), a.sqrt()), "√{a:e}");
            assert!(same(fma(a, b, c, Rounding::Nearest), a.mul_add(b, c)), "{a:e} · {b:e} + {c:e}");
        }
    }

    #[test]
    fn directions_enclose_the_value() {
        let mut state = 12;
        for _ in 0..100_000 {
            let (a, b, c) = (random(&mut state), random(&mut state), random(&mut state));
            for f in [|a, b, _, r| mul(a, b, r), |a, b, _, r| div(a, b, r), |a: f64, _, _, r| sqrt(a.abs(), r), fma] {
                let [down, up, near, zero] =
                    [Rounding::Down, Rounding::Up, Rounding::Nearest, Rounding::Zero].map(|r| f(a, b, c, r));
                if near.is_nan() {
                    continue;
                }
                assert!(down <= near && near <= up && (near == down || near == up), "{a:e} {b:e} {c:e}");
                assert!(zero == down || zero == up);
                assert!(zero.abs() <= near.abs());
                assert!(down == up || down.next_up() == up, "{down:e} {up:e}");
            }
        }
    }
}
