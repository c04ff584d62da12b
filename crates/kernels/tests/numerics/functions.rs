//! Functions against binary64, in units in the last place.

use crate::common::fresh;
use crate::map::{bytes, map, map2, ordinary, special, values, words};
use warpsmith_dsl::prelude::*;

/// A unit in the last place of a result.
fn ulp(right: f64) -> f64 {
    let exponent = if right == 0.0 { -126 } else { ((right.abs().to_bits() >> 52) as i32 - 1023).max(-126) };
    2f64.powi(exponent - 23)
}

/// What is stated of a function.
struct Stated {
    name: &'static str,
    f: fn(F32) -> F32,
    right: fn(f64) -> f64,
    /// The largest error that is allowed, given the argument and the right result.
    bound: fn(f64, f64) -> f64,
    /// Subnormal arguments and results count as zero.
    flushes: bool,
}

impl Stated {
    fn check(&self, x: &[u32]) {
        let y = words(&map::<F32, F32>(self.name, self.f, &bytes(x)));
        let (mut worst, mut worst_at) = (0f64, 0f32);
        let mut wrong = vec![];
        for (x, y) in x.iter().map(|b| f32::from_bits(*b)).zip(y.into_iter().map(f32::from_bits)) {
            let input = if self.flushes && x.is_subnormal() { 0f32.copysign(x) } else { x };
            let right = (self.right)(input.into());
            let rounded = right as f32;
            let small = self.flushes && right.abs() < f64::from(f32::MIN_POSITIVE) && y == 0.0;
            let ok = if right.is_nan() {
                y.is_nan()
            } else if rounded.is_infinite() && y == rounded {
                true
            } else if right.is_infinite() {
                false
            } else if small {
                true
            } else {
                // Beyond the largest float the next one stands for infinity.
                let got = if y.is_infinite() { 2f64.powi(128).copysign(y.into()) } else { y.into() };
                let error = (got - right).abs();
                let units = error / ulp(right);
                if units > worst && right.abs() < f64::from(f32::MAX) {
                    (worst, worst_at) = (units, x);
                }
                error <= (self.bound)(input.into(), right)
            };
            if !ok && wrong.len() < 5 {
                wrong.push(format!("{x:e} ({:#x}): {y:e} and not {right:e}", x.to_bits()));
            }
        }
        println!("{}: {} values, worst {worst:.2} ulp at {worst_at:e}", self.name, x.len());
        assert!(wrong.is_empty(), "{}: {wrong:?}", self.name);
    }
}

fn ulps<const HUNDREDTHS: usize>(_: f64, right: f64) -> f64 {
    HUNDREDTHS as f64 / 100.0 * ulp(right)
}

#[test]
fn precise_functions_of_any_argument() {
    let x = values(&mut fresh());
    for stated in [
        Stated { name: "exp_precise", f: F32::exp_precise, right: f64::exp, bound: ulps::<100>, flushes: false },
        Stated { name: "exp2_precise", f: F32::exp2_precise, right: f64::exp2, bound: ulps::<100>, flushes: false },
        Stated { name: "log_precise", f: F32::log_precise, right: f64::ln, bound: ulps::<100>, flushes: false },
        Stated { name: "log2_precise", f: F32::log2_precise, right: f64::log2, bound: ulps::<200>, flushes: false },
        Stated { name: "tanh_precise", f: F32::tanh_precise, right: f64::tanh, bound: ulps::<200>, flushes: false },
        Stated {
            name: "rsqrt_precise",
            f: F32::rsqrt_precise,
            right: |x| 1.0 / x.sqrt(),
            bound: ulps::<100>,
            flushes: false,
        },
        Stated { name: "rcp_exact", f: F32::rcp_exact, right: |x| 1.0 / x, bound: ulps::<51>, flushes: false },
        Stated { name: "sqrt_exact", f: F32::sqrt_exact, right: f64::sqrt, bound: ulps::<51>, flushes: false },
    ] {
        stated.check(&x);
    }
}

#[test]
fn approximate_functions_of_any_argument() {
    let x = values(&mut fresh());
    for stated in [
        Stated { name: "rcp", f: F32::rcp, right: |x| 1.0 / x, bound: ulps::<100>, flushes: true },
        Stated {
            name: "rsqrt",
            f: F32::rsqrt,
            right: |x| 1.0 / x.sqrt(),
            bound: |_, r| r.abs() * 2f64.powf(-22.9),
            flushes: true,
        },
        Stated { name: "sqrt", f: F32::sqrt, right: f64::sqrt, bound: |_, r| r.abs() * 2f64.powi(-22), flushes: true },
        Stated { name: "exp2", f: F32::exp2, right: f64::exp2, bound: ulps::<200>, flushes: true },
        Stated {
            name: "log2",
            f: F32::log2,
            right: f64::log2,
            bound: |x, r| if x > 0.5 && x < 2.0 { 2f64.powi(-22) } else { r.abs() * 2f64.powi(-22) },
            flushes: true,
        },
        Stated {
            name: "tanh",
            f: F32::tanh,
            right: f64::tanh,
            bound: |_, r| r.abs() * 2f64.powf(-10.9),
            flushes: false,
        },
        Stated {
            name: "exp",
            f: F32::exp,
            right: f64::exp,
            bound: |x, r| ulp(r) * (2.5 + x.abs() * std::f64::consts::LOG2_E),
            flushes: true,
        },
        Stated {
            name: "log",
            f: F32::log,
            right: f64::ln,
            bound: |x, r| if x > 0.5 && x < 2.0 { 2f64.powi(-22) } else { r.abs() * 2f64.powi(-21) },
            flushes: true,
        },
    ] {
        stated.check(&x);
    }
}

#[test]
fn functions_of_ordinary_arguments() {
    let mut random = fresh();
    let small: Vec<u32> = ordinary(&mut random, 12);
    let angles: Vec<u32> = small.iter().map(|b| (f32::from_bits(*b) % std::f32::consts::PI).to_bits()).collect();
    for stated in [
        Stated { name: "sin", f: F32::sin, right: f64::sin, bound: |_, _| 2f64.powf(-20.5), flushes: true },
        Stated { name: "cos", f: F32::cos, right: f64::cos, bound: |_, _| 2f64.powf(-20.5), flushes: true },
    ] {
        stated.check(&angles);
    }
    let near: Vec<u32> = small.iter().map(|b| (f32::from_bits(*b) % 20.0).to_bits()).collect();
    for stated in [
        Stated {
            name: "sigmoid",
            f: F32::sigmoid,
            right: |x| 1.0 / (1.0 + (-x).exp()),
            bound: |x, r| ulp(r) * (4.0 + 1.5 * x.abs()),
            flushes: true,
        },
        Stated {
            name: "silu",
            f: F32::silu,
            right: |x| x / (1.0 + (-x).exp()),
            bound: |x, r| ulp(r) * (5.0 + 1.5 * x.abs()),
            flushes: true,
        },
        Stated {
            name: "gelu",
            f: F32::gelu,
            right: |x| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh()),
            // It cancels where x is below zero; the error is that of a few units of x.
            bound: |x, r| 2f64.powi(-22) * x.abs().max(r.abs()) * 2.0,
            flushes: true,
        },
        Stated {
            name: "erf",
            f: F32::erf,
            right: erf,
            bound: |_, r| if r.abs() < 0.7 { 2f64.powi(-22) * r.abs() } else { 2f64.powi(-22) },
            flushes: false,
        },
        Stated {
            name: "gelu_erf",
            f: F32::gelu_erf,
            right: |x| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
            bound: |x, r| 2f64.powi(-22) * x.abs().max(r.abs()),
            flushes: false,
        },
    ] {
        stated.check(&near);
    }
}

/// The error function by its series and its continued fraction, to binary64's precision nearly.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    let value = if a < 2.5 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -a * a / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..=60).rev().fold(0.0, |f, k| f64::from(k) / 2.0 / (a + f));
        1.0 - (-a * a).exp() / ((a + fraction) * std::f64::consts::PI.sqrt())
    };
    value.copysign(x)
}

#[test]
fn arithmetic_rounds_once() {
    let mut random = fresh();
    let x = [special(), ordinary(&mut random, 60)].concat();
    let input = bytes(&x);
    let next = |i: usize| f32::from_bits(x[(i + 1) % x.len()]);
    type Pair = fn(F32, F32) -> F32;
    let operations: [(&str, Pair, fn(f32, f32) -> f32); 6] = [
        ("add", |a, b| a + b, |a, b| a + b),
        ("sub", |a, b| a - b, |a, b| a - b),
        ("mul", |a, b| a * b, |a, b| a * b),
        ("div", |a, b| a / b, |a, b| a / b),
        ("fma", |a, b| a.mul_add(b, a), |a, b| a.mul_add(b, a)),
        ("max", |a, b| a.max(b), |a, b| if a == b { if a.is_sign_positive() { a } else { b } } else { a.max(b) }),
    ];
    for (name, f, right) in operations {
        let y = words(&map2::<F32, F32>(name, f, &input));
        for (i, y) in y.into_iter().map(f32::from_bits).enumerate() {
            let (a, b) = (f32::from_bits(x[i]), next(i));
            let r = right(a, b);
            assert!(
                r.to_bits() == y.to_bits() || r.is_nan() && y.is_nan(),
                "{name} of {a:e} and {b:e}: {y:e} and not {r:e}"
            );
        }
        println!("{name}: {} pairs right", x.len());
    }
    let y = words(&map2::<F32, F32>("div approximate", |a, b| a.div_approximate(b), &input));
    let mut worst = 0f64;
    for (i, y) in y.into_iter().map(f32::from_bits).enumerate() {
        let (a, b) = (f32::from_bits(x[i]), next(i));
        let right = f64::from(a) / f64::from(b);
        if b.abs() > 2f32.powi(-126) && b.abs() < 2f32.powi(126) && a.is_normal() && (right as f32).is_normal() {
            let units = (f64::from(y) - right).abs() / ulp(right);
            worst = worst.max(units);
            assert!(units <= 2.5, "{a:e} / {b:e}: {y:e} and not {right:e}");
        }
    }
    println!("div_approximate: {} pairs, worst {worst:.2} ulp", x.len());
}

#[test]
fn sixteen_bit_functions_of_every_argument() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    // Each with a neighbour far away in the other half.
    let input: Vec<u8> = all.iter().flat_map(|h| [*h, h.wrapping_mul(40_503)]).flat_map(u16::to_le_bytes).collect();
    let read = |y: Vec<u8>| crate::map::halves(&y).into_iter().step_by(2).collect::<Vec<u16>>();
    let f16 = |h: u16| half::f16::from_bits(h).to_f64();
    let bf16 = |h: u16| half::bf16::from_bits(h).to_f64();
    type Number = fn(u16) -> f64;
    let cases: [(&str, Vec<u16>, Number, fn(f64) -> f64, f64); 4] = [
        ("exp2 f16x2", read(map::<F16x2, F16x2>("e", |x| x.exp2(), &input)), f16, f64::exp2, 2f64.powf(-9.9)),
        ("tanh f16x2", read(map::<F16x2, F16x2>("t", |x| x.tanh(), &input)), f16, f64::tanh, 2f64.powf(-10.0)),
        ("exp2 bf16x2", read(map::<BF16x2, BF16x2>("e", |x| x.exp2(), &input)), bf16, f64::exp2, 2f64.powi(-7)),
        ("tanh bf16x2", read(map::<BF16x2, BF16x2>("t", |x| x.tanh(), &input)), bf16, f64::tanh, 2f64.powi(-7)),
    ];
    for (name, y, number, right, bound) in cases {
        let mut worst = 0f64;
        for (x, y) in all.iter().zip(y) {
            let (x, y) = (number(*x), number(y));
            let r = right(x);
            if r.is_nan() {
                assert!(y.is_nan(), "{name} of {x}: {y}");
            } else if r.abs() > number(0x7bff).min(3.3e38) {
                assert!(y.is_infinite() || y >= number(0x7bff).min(3.3e38), "{name} of {x}: {y}");
            } else if name == "exp2 bf16x2" && r < 2f64.powi(-126) && y == 0.0 {
                // It flushes.
            } else {
                let small = if name.contains("bf16") { 2f64.powi(-126) } else { 2f64.powi(-14) };
                let error = (y - r).abs() / r.abs().max(small);
                worst = worst.max(error);
                assert!(error <= bound, "{name} of {x}: {y} and not {r}");
            }
        }
        println!("{name}: every value, worst relative error 2^{:.2}", worst.log2());
    }
}
