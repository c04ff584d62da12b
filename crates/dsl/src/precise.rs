//! Functions on floats that keep nearly every bit, at the cost of a few more instructions than the approximate ones.
//!
//! Subnormal arguments and results are right, and so are infinities and NaN. The bounds were measured; see
//! `docs/numerics.md`.

use crate::flow::select;
use crate::trace::helper;
use crate::value::{F32, I32};
use std::f32::consts::{LN_2, LOG2_E};

/// ln 2 in two parts, the first with room for a product by a small integer.
const LN_2_HIGH: f32 = f32::from_bits(0x3f31_7200);
const LN_2_LOW: f32 = f32::from_bits(0x35bf_be8e);

/// The polynomial of these coefficients, the constant first, by Horner's rule.
#[track_caller]
fn polynomial(x: F32, coefficients: &[f32]) -> F32 {
    let mut all = coefficients.iter().rev();
    let first = F32::from(all.next().copied().unwrap_or_default());
    all.fold(first, |sum, &c| sum.mul_add(x, c))
}

/// 2ⁿ for an integer n from −252 to 254, in two factors, so that neither over- nor underflows.
#[track_caller]
fn scale(x: F32, n: I32) -> F32 {
    let half = n >> 1usize;
    let power = |n: I32| F32::from_bits((n + 127).as_u32() << 23usize);
    x * power(half) * power(n - half)
}

/// 2 to the f · log₂e, for |f| up to ln 2 / 2.
#[track_caller]
fn exp_reduced(f: F32) -> F32 {
    // Taylor's, to the seventh power: the next term is below 2⁻²⁷.
    polynomial(f, &[1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0])
}

impl F32 {
    /// eˣ within 1 ulp.
    #[track_caller]
    pub fn exp_precise(self) -> F32 {
        helper("exp_precise", || {
            // What is beyond is infinite, or zero, anyway; NaN stays.
            let x = self.min_nan(89.0).max_nan(-104.5);
            let n = (x * LOG2_E).round();
            let f = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
            scale(exp_reduced(f), crate::cast::Cast::i32(n))
        })
    }

    /// 2ˣ within 1 ulp.
    #[track_caller]
    pub fn exp2_precise(self) -> F32 {
        helper("exp2_precise", || {
            let x = self.min_nan(128.5).max_nan(-151.0);
            let n = x.round();
            // Exact: both are near.
            let f = x - n;
            let (high, low) = (f * LN_2, f.mul_add(LN_2, -(f * LN_2)));
            let e = exp_reduced(high);
            scale(e.mul_add(low, e), crate::cast::Cast::i32(n))
        })
    }

    /// The exponent of x as a float, and a mantissa between √½ and √2; NaN and infinity come out as they are later.
    #[track_caller]
    fn exponent_and_mantissa(self) -> (F32, F32) {
        let tiny = self.lt(f32::MIN_POSITIVE);
        let x = select(tiny, self * 8_388_608.0, self);
        let offset = (x.to_bits() - 0x3f35_04f3).as_i32() >> 23usize;
        let mantissa = F32::from_bits(x.to_bits() - (offset.as_u32() << 23usize));
        let exponent = crate::cast::Cast::f32(offset) + select(tiny, F32::from(-23.0), 0.0);
        (exponent, mantissa)
    }

    /// ln(1 + f) − f + f²/2, over f³, for 1 + f between √½ and √2.
    #[track_caller]
    fn log_tail(f: F32) -> F32 {
        polynomial(f, &LOG_TAIL)
    }

    /// What a logarithm gives where there is none: −∞ for 0, NaN below, ∞ and NaN as they are.
    #[track_caller]
    fn log_special(self, ordinary: F32) -> F32 {
        let finite = self.gt(0.0) & self.lt(f32::INFINITY);
        let special =
            select(self.eq(0.0), F32::from(f32::NEG_INFINITY), select(self.lt(0.0), F32::from(f32::NAN), self));
        select(finite, ordinary, special)
    }

    /// The natural logarithm within 1 ulp.
    #[track_caller]
    pub fn log_precise(self) -> F32 {
        helper("log_precise", || {
            let (n, m) = self.exponent_and_mantissa();
            let f = m - 1.0;
            let square = f * f;
            let tail = F32::log_tail(f) * f * square + n * LN_2_LOW;
            let value = n.mul_add(LN_2_HIGH, square.mul_add(-0.5, tail) + f);
            self.log_special(value)
        })
    }

    /// The logarithm to base 2 within 2 ulp.
    #[track_caller]
    pub fn log2_precise(self) -> F32 {
        helper("log2_precise", || {
            let (n, m) = self.exponent_and_mantissa();
            let f = m - 1.0;
            let square = f * f;
            let small = (F32::log_tail(f) * f).mul_add(square, square * -0.5);
            // log₂e in two parts; the larger product is kept exactly.
            const LOW: f32 = (std::f64::consts::LOG2_E - LOG2_E as f64) as f32;
            let high = f * LOG2_E;
            let rest = f.mul_add(LOG2_E, -high) + small.mul_add(LOG2_E, (f + small) * LOW);
            self.log_special(n + (high + rest))
        })
    }

    /// tanh x within 2 ulp.
    #[track_caller]
    pub fn tanh_precise(self) -> F32 {
        helper("tanh_precise", || {
            let x = self.abs();
            let square = x * x;
            let small = (polynomial(square, &TANH_TAIL) * square).mul_add(x, x);
            // 1 − 2/(e²ˣ + 1); from 10 on that is 1.
            let large = 1.0 - F32::from(2.0) / ((x.min_nan(10.0) * 2.0).exp_precise() + 1.0);
            select(x.lt(0.625), small, large).copysign(self)
        })
    }

    /// 1/√x within 1 ulp.
    #[track_caller]
    pub fn rsqrt_precise(self) -> F32 {
        helper("rsqrt_precise", || {
            let first = self.sqrt_exact().rcp_exact();
            // One step of Newton's; where there is nothing to mend (0, infinity, NaN) it would make NaN.
            let error = (self * first).mul_add(-first, 1.0);
            select(error.abs().lt(0.5), (first * 0.5).mul_add(error, first), first)
        })
    }

    /// The error function within 2⁻²² of 1, by tanh-free polynomials (fitted to binary64).
    #[track_caller]
    pub fn erf(self) -> F32 {
        helper("erf", || {
            let x = self.abs();
            let square = x * x;
            let small = polynomial(square, &ERF_SMALL) * x;
            // 1 − e^p(x): past 4 it is 1.
            let exponent = polynomial(x.min_nan(4.0), &ERF_LARGE);
            let large = 1.0 - exponent.exp_precise();
            select(x.lt(0.9), small, large).copysign(self)
        })
    }

    /// GELU by the error function, `x/2 · (1 + erf(x/√2))`.
    #[track_caller]
    pub fn gelu_erf(self) -> F32 {
        self * 0.5 * ((self * std::f32::consts::FRAC_1_SQRT_2).erf() + 1.0)
    }
}

// Minimax fits, made in binary64.

const LOG_TAIL: [f32; 9] = [
    0.333_333_13,
    -0.250_000_1,
    0.200_021_19,
    -0.166_679_96,
    0.142_195_52,
    -0.124_055_89,
    0.118_881_63,
    -0.116_756_51,
    0.067_466_386,
];

const TANH_TAIL: [f32; 6] = [-0.333_333_3, 0.133_331_98, -0.053_945_65, 0.021_693_84, -0.008_158_907, 0.002_124_857_3];

const ERF_SMALL: [f32; 7] =
    [1.128_379_2, -0.376_126_35, 0.112_837_16, -0.026_860_502, 0.005_203_773_3, -0.000_817_395_8, 0.000_085_032_08];

/// Of ln(1 − erf x), for x from 0.88 to 4.
const ERF_LARGE: [f32; 10] = [
    0.000_079_216_84,
    -1.128_939_9,
    -0.634_856_6,
    -0.106_015_12,
    0.022_981_068,
    -0.002_854_646_4,
    -0.000_093_584_18,
    0.000_111_894_02,
    -0.000_019_069_443,
    0.000_001_185_404_9,
];
