//! Exact conversions of floats of 8 bits and fewer, bit for bit what PTX's `cvt….satfinite` does (OCP's FP8 and MX
//! formats).

/// A format with a sign: its fields, and how NaN and what is too large come out.
struct Format {
    mantissa: u32,
    bias: i32,
    /// The bits of the largest finite magnitude.
    largest: u32,
    sign: u32,
    nan: u8,
}

const E4M3: Format = Format { mantissa: 3, bias: 7, largest: 0x7e, sign: 7, nan: 0x7f };
const E5M2: Format = Format { mantissa: 2, bias: 15, largest: 0x7b, sign: 7, nan: 0x7f };
// No NaN: it becomes the largest number.
const E2M1: Format = Format { mantissa: 1, bias: 1, largest: 0x7, sign: 3, nan: 0x7 };

impl Format {
    const fn narrow(&self, x: f32) -> u8 {
        if x.is_nan() {
            return self.nan;
        }
        let bits = x.to_bits();
        let sign = (bits >> 31) << self.sign;
        let magnitude = bits & 0x7fff_ffff;
        let exponent = (magnitude >> 23) as i32 - 127 + self.bias;
        let mantissa = magnitude & 0x7f_ffff | 0x80_0000;
        // Subnormals keep fewer bits; where none is left, not even to round by, it is zero.
        let below = if exponent < 1 { 1 - exponent } else { 0 };
        let drop = 23 - self.mantissa + if below < 32 { below as u32 } else { 32 };
        if drop > 24 {
            return sign as u8;
        }
        let base = if exponent < 1 { 0 } else { (exponent as u32 - 1) << self.mantissa };
        let (kept, rest, half) = (mantissa >> drop, mantissa & ((1 << drop) - 1), 1 << (drop - 1));
        let up = rest > half || rest == half && kept & 1 == 1;
        let code = base + kept + up as u32;
        (sign | if code > self.largest { self.largest } else { code }) as u8
    }

    const fn widen(&self, code: u8) -> f32 {
        let code = code as u32;
        let sign = (code >> self.sign & 1) << 31;
        let magnitude = code & ((1 << self.sign) - 1);
        let (exponent, mantissa) = ((magnitude >> self.mantissa) as i32, magnitude & ((1 << self.mantissa) - 1));
        let least = self.bias - 1 + self.mantissa as i32;
        let number = match exponent {
            // m · 2^(1 − bias − mantissa): exact as a float.
            0 => mantissa as f32 * f32::from_bits(((127 - least) as u32) << 23),
            e => f32::from_bits(((e - self.bias + 127) as u32) << 23 | mantissa << (23 - self.mantissa)),
        };
        f32::from_bits(number.to_bits() | sign)
    }
}

/// Rounds to e4m3, ties to even, clamped to ±448; NaN is `0x7f`.
pub const fn f32_to_e4m3(x: f32) -> u8 {
    E4M3.narrow(x)
}

/// The bits of an e4m3 as a float; exact.
pub const fn e4m3_to_f32(code: u8) -> f32 {
    if code & 0x7f == 0x7f { f32::NAN } else { E4M3.widen(code) }
}

/// Rounds to e5m2, ties to even, clamped to ±57344; NaN is `0x7f`.
pub const fn f32_to_e5m2(x: f32) -> u8 {
    E5M2.narrow(x)
}

/// The bits of an e5m2 as a float; exact.
pub const fn e5m2_to_f32(code: u8) -> f32 {
    match code & 0x7f {
        0x7c => f32::from_bits((code as u32 & 0x80) << 24 | 0x7f80_0000),
        0x7d..=0x7f => f32::NAN,
        _ => E5M2.widen(code),
    }
}

/// Rounds to e2m1, ties to even, clamped to ±6; NaN is 6. The code is in the low four bits.
pub const fn f32_to_e2m1(x: f32) -> u8 {
    E2M1.narrow(x)
}

/// The number of an e2m1 in the low four bits; exact.
pub const fn e2m1_to_f32(code: u8) -> f32 {
    E2M1.widen(code & 0xf)
}

/// The power of two at most |x|, or at least |x| when `up`, as its e8m0 code; clamped to 2⁻¹²⁷ … 2¹²⁷, NaN is 255.
pub const fn f32_to_e8m0(x: f32, up: bool) -> u8 {
    let bits = x.to_bits() & 0x7fff_ffff;
    if bits > 0x7f80_0000 {
        return 255;
    }
    // 2⁻¹²⁷ is the subnormal 0x0040_0000, and code 0 stands for it.
    let above = up && bits & 0x7f_ffff != 0 && bits > 0x0040_0000;
    let code = (bits >> 23) + above as u32;
    if code > 254 { 254 } else { code as u8 }
}

/// The power of two of an e8m0 code; exact.
pub const fn e8m0_to_f32(code: u8) -> f32 {
    match code {
        0 => f32::from_bits(0x0040_0000),
        255 => f32::NAN,
        e => f32::from_bits((e as u32) << 23),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Narrow = fn(f32) -> u8;
    type Widen = fn(u8) -> f32;

    /// Against the definition: the nearest of all finite codes, the even one of two.
    fn nearest(x: f64, codes: u8, widen: Widen) -> Vec<u8> {
        let finite = (0..codes).filter(|c| widen(*c).is_finite());
        let distance = |c: u8| (f64::from(widen(c)) - x.abs()).abs();
        let best = finite.clone().map(distance).fold(f64::INFINITY, f64::min);
        finite.filter(|c| distance(*c) == best).collect()
    }

    #[test]
    fn narrowing_takes_the_nearest_and_ties_to_even() {
        let formats: [(&str, Narrow, Widen, u8, u8); 3] = [
            ("e4m3", f32_to_e4m3, e4m3_to_f32, 0x80, 0x80),
            ("e5m2", f32_to_e5m2, e5m2_to_f32, 0x80, 0x80),
            ("e2m1", f32_to_e2m1, e2m1_to_f32, 8, 8),
        ];
        for (name, narrow, widen, codes, sign) in formats {
            let mut xs: Vec<f32> = (0..codes).map(widen).filter(|x| x.is_finite()).collect();
            // Midpoints of neighbours and what is next to them.
            let middles: Vec<f32> = xs.windows(2).map(|w| (w[0] + w[1]) / 2.0).collect();
            xs.extend(middles);
            xs.extend([0.0, 1e-30, 1e-40, 1e9, 1e12, 3.3e-2, 0.7]);
            for x in xs.clone() {
                xs.extend([f32::from_bits(x.to_bits() + 1), f32::from_bits(x.to_bits().saturating_sub(1))]);
            }
            for x in xs.into_iter().filter(|x| x.is_finite()) {
                let best = nearest(f64::from(x), codes, widen);
                let right = *best.iter().find(|c| best.len() == 1 || **c & 1 == 0).unwrap();
                assert_eq!(narrow(x), right, "{name} of {x:e}");
                assert_eq!(narrow(-x), right | sign, "{name} of {:e}", -x);
            }
        }
    }

    #[test]
    fn widening_is_undone_by_narrowing() {
        for code in 0..=255u8 {
            for (narrow, widen) in
                [(f32_to_e4m3 as Narrow, e4m3_to_f32 as Widen), (f32_to_e5m2 as Narrow, e5m2_to_f32 as Widen)]
            {
                let x = widen(code);
                if x.is_finite() {
                    assert_eq!(narrow(x), code);
                } else if x.is_nan() {
                    assert_eq!(narrow(x), 0x7f);
                }
            }
            if code != 255 {
                assert_eq!((f32_to_e8m0(e8m0_to_f32(code), true), f32_to_e8m0(e8m0_to_f32(code), false)), (code, code));
            }
        }
        assert_eq!((e4m3_to_f32(0x7e), e5m2_to_f32(0x7b), e2m1_to_f32(7), e2m1_to_f32(1)), (448.0, 57344.0, 6.0, 0.5));
    }

    #[test]
    fn what_is_too_large_is_clamped() {
        for x in [f32::INFINITY, 1e30, 448.1, 464.0, 480.0] {
            assert_eq!((f32_to_e4m3(x), f32_to_e4m3(-x)), (0x7e, 0xfe));
        }
        assert_eq!((f32_to_e5m2(f32::INFINITY), f32_to_e5m2(-1e9)), (0x7b, 0xfb));
        assert_eq!((f32_to_e2m1(f32::INFINITY), f32_to_e2m1(-100.0), f32_to_e2m1(f32::NAN)), (7, 15, 7));
        assert_eq!((f32_to_e8m0(f32::INFINITY, true), f32_to_e8m0(f32::NAN, true)), (254, 255));
    }

    #[test]
    fn powers_of_two_round_as_asked() {
        assert_eq!((f32_to_e8m0(1.0, true), f32_to_e8m0(1.5, true), f32_to_e8m0(1.5, false)), (127, 128, 127));
        assert_eq!((f32_to_e8m0(-4.0, true), f32_to_e8m0(0.0, true), f32_to_e8m0(1e-45, true)), (129, 0, 0));
        let just_above = f32::from_bits(0x0040_0001);
        assert_eq!((f32_to_e8m0(just_above, true), f32_to_e8m0(just_above, false)), (1, 0));
    }
}
