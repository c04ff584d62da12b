//! Rounding an exact value to a format, in any of PTX's directions.
//!
//! Sums and products of narrow floats are carried in an f64 that is rounded to odd: exact, or its last bit says that
//! something is missing. From there any narrower format is reached by one more rounding, which is then the only one.

/// Direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// A binary format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Bits of the significand, the implicit one included.
    pub precision: u32,
    /// Exponent of the least normal number.
    pub least: i32,
    /// Bits of the largest finite number.
    pub largest: u32,
    /// Bits of infinity; of the NaN, when there is none.
    pub infinity: u32,
    /// Bits of the canonical NaN.
    pub nan: u32,
    /// The sign bit.
    pub sign: u32,
}

impl Format {
    pub(crate) const F32: Format = Format {
        precision: 24,
        least: -126,
        largest: 0x7f7f_ffff,
        infinity: 0x7f80_0000,
        nan: 0x7fff_ffff,
        sign: 1 << 31,
    };
    pub(crate) const F16: Format =
        Format { precision: 11, least: -14, largest: 0x7bff, infinity: 0x7c00, nan: 0x7fff, sign: 0x8000 };
    pub(crate) const BF16: Format =
        Format { precision: 8, least: -126, largest: 0x7f7f, infinity: 0x7f80, nan: 0x7fff, sign: 0x8000 };
    pub(crate) const TF32: Format =
        Format { precision: 11, least: -126, largest: 0x3fbff, infinity: 0x3fc00, nan: 0x3ffff, sign: 1 << 18 };
    pub(crate) const E4M3: Format =
        Format { precision: 4, least: -6, largest: 0x7e, infinity: 0x7f, nan: 0x7f, sign: 0x80 };
    pub(crate) const E5M2: Format =
        Format { precision: 3, least: -14, largest: 0x7b, infinity: 0x7c, nan: 0x7f, sign: 0x80 };

    /// Rounds a value that is exact or rounded to odd. Overflow gives infinity or the largest number, as the direction says.
    pub(crate) fn round(&self, x: f64, rounding: Rounding) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        let bits = x.to_bits();
        let negative = bits >> 63 == 1;
        let sign = if negative { self.sign } else { 0 };
        let magnitude = bits & !(1 << 63);
        if magnitude == 0 {
            return sign;
        }
        if magnitude >= 0x7ff0_0000_0000_0000 {
            return sign | self.infinity;
        }
        // Doubles below their own normal range lie far below half of any format's least number; treated as the least normal.
        let magnitude = magnitude.max(1 << 52);
        let exponent = (magnitude >> 52) as i32 - 1023;
        let significand = (magnitude & ((1 << 52) - 1)) | (1 << 52);
        let drop = (53 - self.precision) as i32 + (self.least - exponent).max(0);
        let (kept, rest, half) = match drop {
            ..=63 => (significand >> drop, significand & ((1 << drop) - 1), 1 << (drop - 1)),
            _ => (0, 1, 2),
        };
        let up = match rounding {
            Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        };
        let field = (exponent.max(self.least) - self.least) as u64;
        // The implicit bit of a normal number adds one to the exponent field; a carry adds one more.
        let result = (field << (self.precision - 1)) + kept + u64::from(up);
        if result > u64::from(self.largest) {
            let inward = match rounding {
                Rounding::Nearest | Rounding::NearestAway => false,
                Rounding::Zero => true,
                Rounding::Down => !negative,
                Rounding::Up => negative,
            };
            return sign | if inward { self.largest } else { self.infinity };
        }
        sign | result as u32
    }
}

/// What of the exact sum `a + b` the f64 `s` misses (Knuth's two-sum); only its sign and whether it is zero are used.
#[inline(always)]
pub(crate) fn missing(a: f64, b: f64, s: f64) -> f64 {
    let t = s - a;
    (a - (s - t)) + (b - t)
}

/// Moves `s` to the odd neighbour that encloses the exact value `s + e`.
#[inline(always)]
pub(crate) fn to_odd(s: f64, e: f64) -> f64 {
    let bits = s.to_bits();
    let inexact = (e != 0.0) & !e.is_nan() & s.is_finite() & (bits & 1 == 0);
    // Away from zero when what is missing has the sum's sign.
    let step = if (e > 0.0) == (s > 0.0) { 1u64 } else { u64::MAX };
    f64::from_bits(if inexact { bits.wrapping_add(step) } else { bits })
}

/// `a + b` of narrow values, rounded to odd.
#[inline(always)]
pub(crate) fn sum(a: f64, b: f64) -> f64 {
    let s = a + b;
    to_odd(s, missing(a, b, s))
}

/// `a / b` of narrow values, rounded to odd.
pub(crate) fn quotient(a: f64, b: f64) -> f64 {
    let q = a / b;
    if q == 0.0 || !q.is_finite() || b.is_infinite() {
        return q;
    }
    let remainder = q.mul_add(-b, a);
    to_odd(q, if b < 0.0 { -remainder } else { remainder })
}

/// The square root of a narrow value, rounded to odd.
pub(crate) fn root(a: f64) -> f64 {
    let s = a.sqrt();
    if s == 0.0 || !s.is_finite() { s } else { to_odd(s, (-s).mul_add(s, a)) }
}

/// `a · b + c`, rounded once to f32, for machines without FMA, where `f32::mul_add` is a slow call.
#[inline(always)]
pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    // The product of two 24-bit significands is exact in an f64.
    sum(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state.rotate_left(32)
    }

    /// Operands that cancel, underflow and tie far more often than random bits would.
    fn nasty(state: &mut u64) -> f32 {
        let bits = random(state) as u32;
        match random(state) % 6 {
            0 => f32::from_bits(bits),
            1 => f32::from_bits(bits & 0x807f_ffff | (bits >> 8 & 7) << 23),
            2 => f32::from_bits(bits & 0xffff_0000),
            3 => f32::from_bits(bits & 0x8000_0003 | 0x3f80_0000),
            4 => f32::from_bits(bits & 0x83ff_ffff | 0x3c00_0000),
            _ => [0.0, -0.0, 1.0, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, -f32::INFINITY, 1e-45][bits as usize % 8],
        }
    }

    #[test]
    fn fma_is_rounded_once() {
        let mut state = 1;
        for _ in 0..2_000_000 {
            let (a, b, c) = (nasty(&mut state), nasty(&mut state), nasty(&mut state));
            let (x, y) = (sum(f64::from(a) * f64::from(b), f64::from(c)) as f32, a.mul_add(b, c));
            assert!(x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()), "{a:e} · {b:e} + {c:e}: {x:e} not {y:e}");
            assert!(fma(a, b, c).to_bits() == y.to_bits() || y.is_nan());
        }
    }

    #[test]
    fn round_to_f32_is_the_conversion() {
        let mut state = 2;
        for i in 0..1_000_000 {
            let x = match i % 2 {
                0 => f64::from_bits(random(&mut state)),
                _ => {
                    f64::from(nasty(&mut state))
                        * (1.0 + f64::from(nasty(&mut state)).clamp(-1.0, 1.0) * 2f64.powi(-24))
                }
            };
            if !x.is_nan() {
                assert_eq!(Format::F32.round(x, Rounding::Nearest), (x as f32).to_bits(), "{x:e}");
            }
        }
    }

    #[test]
    fn directions_enclose_the_value() {
        let mut state = 3;
        for _ in 0..500_000 {
            let (a, b) = (f64::from(nasty(&mut state)), f64::from(nasty(&mut state)));
            let x = a * b;
            if x.is_nan() {
                continue;
            }
            let f = |m| f64::from(f32::from_bits(Format::F32.round(x, m)));
            let (down, up, zero, near) = (f(Rounding::Down), f(Rounding::Up), f(Rounding::Zero), f(Rounding::Nearest));
            assert!(down <= x && x <= up && zero.abs() <= x.abs(), "{x:e}: {down:e} {up:e} {zero:e}");
            assert!(near == down || near == up);
            assert!(down == up || (down as f32).next_up() == up as f32, "{x:e}: {down:e} {up:e}");
        }
    }

    #[test]
    fn quotients_and_roots_round_once() {
        let mut state = 4;
        for _ in 0..500_000 {
            let (a, b) = (nasty(&mut state), nasty(&mut state));
            let same = |x: u32, y: f32| x == y.to_bits() || y.is_nan();
            assert!(same(Format::F32.round(quotient(a.into(), b.into()), Rounding::Nearest), a / b), "{a:e} / {b:e}");
            assert!(same(Format::F32.round(root(a.into()), Rounding::Nearest), a.sqrt()), "√{a:e}");
        }
        // 1/3 lies between 0x3eaaaaaa and 0x3eaaaaab.
        assert_eq!(Format::F32.round(quotient(1.0, 3.0), Rounding::Down), 0x3eaa_aaaa);
        assert_eq!(Format::F32.round(quotient(1.0, 3.0), Rounding::Up), 0x3eaa_aaab);
    }

    #[test]
    fn eight_bit_formats_saturate_where_they_end() {
        assert_eq!(Format::E4M3.round(448.0, Rounding::Nearest), 0x7e);
        assert_eq!(Format::E4M3.round(480.0, Rounding::Nearest), 0x7f);
        assert_eq!(Format::E5M2.round(57344.0, Rounding::Nearest), 0x7b);
        assert_eq!(Format::E5M2.round(-1e9, Rounding::Nearest), 0xfc);
        assert_eq!(Format::E4M3.round(2f64.powi(-9), Rounding::Nearest), 0x01);
        assert_eq!(Format::E4M3.round(2f64.powi(-10), Rounding::Nearest), 0x00);
    }
}
