//! Conversions against a rounding of our own, which knows formats by their definition only.

use crate::common::fresh;
use crate::map::{bytes, halves, map, map2, values, words};
use warpsmith_dsl::prelude::*;
use warpsmith_types::convert;

/// A format of floats: mantissa bits without the hidden one, least normal exponent, largest finite number.
#[derive(Clone, Copy)]
struct Format {
    mantissa: i32,
    least: i32,
    largest: f64,
}

const BINARY16: Format = Format { mantissa: 10, least: -14, largest: 65504.0 };
const BFLOAT16: Format = Format { mantissa: 7, least: -126, largest: 3.389_531_389_251_535_5e38 };
const E4M3: Format = Format { mantissa: 3, least: -6, largest: 448.0 };
const E5M2: Format = Format { mantissa: 2, least: -14, largest: 57344.0 };
const E2M1: Format = Format { mantissa: 1, least: 0, largest: 6.0 };
const TF32: Format = Format { mantissa: 10, least: -126, largest: 3.401_162_134_214_653_5e38 };

impl Format {
    /// The neighbour that the rounding says; infinite when too large, unless clamped.
    fn round(self, x: f64, rounding: Rounding, clamped: bool) -> f64 {
        if x == 0.0 || !x.is_finite() {
            return if clamped && x.is_infinite() { self.largest.copysign(x) } else { x };
        }
        let exponent = (x.abs().log2().floor() as i32).max(self.least);
        // `log2` may be off by one beside a power of two.
        let exponent = if x.abs() < 2f64.powi(exponent) && exponent > self.least { exponent - 1 } else { exponent };
        let exponent = if x.abs() >= 2f64.powi(exponent + 1) { exponent + 1 } else { exponent };
        let unit = 2f64.powi(exponent - self.mantissa);
        let steps = x / unit;
        let steps = match rounding {
            Rounding::NearestEven => steps.round_ties_even(),
            Rounding::NearestAway => steps.round(),
            Rounding::Zero => steps.trunc(),
            Rounding::Down => steps.floor(),
            Rounding::Up => steps.ceil(),
        };
        let near = (steps * unit).abs();
        let beyond = match rounding {
            Rounding::Zero => self.largest,
            Rounding::Down if x > 0.0 => self.largest,
            Rounding::Up if x < 0.0 => self.largest,
            _ => f64::INFINITY,
        };
        let magnitude = if near <= self.largest {
            near
        } else if clamped {
            self.largest
        } else {
            beyond
        };
        magnitude.copysign(x)
    }
}

/// Compares numbers, zeros by sign, NaN with NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn check(name: &str, x: &[f64], y: &[f64], right: impl Fn(f64) -> f64) {
    assert_eq!(x.len(), y.len(), "{name}");
    let wrong: Vec<String> = x
        .iter()
        .zip(y)
        .filter(|(x, y)| !same(**y, right(**x)))
        .map(|(x, y)| format!("{x:e}: {y:e} and not {:e}", right(*x)))
        .collect();
    assert!(wrong.is_empty(), "{name}: {} of {} are wrong: {:?}", wrong.len(), x.len(), &wrong[..wrong.len().min(5)]);
    println!("{name}: {} values right", x.len());
}

fn f32s(words: &[u32]) -> Vec<f64> {
    words.iter().map(|w| f32::from_bits(*w).into()).collect()
}

fn f16s(all: &[u16]) -> Vec<f64> {
    all.iter().map(|h| half::f16::from_bits(*h).to_f64()).collect()
}

fn bf16s(all: &[u16]) -> Vec<f64> {
    all.iter().map(|h| half::bf16::from_bits(*h).to_f64()).collect()
}

#[test]
fn floats_to_16_bits_in_every_rounding() {
    use Rounding::{Down, NearestEven, Up, Zero};
    let x = values(&mut fresh());
    let (input, numbers) = (bytes(&x), f32s(&x));
    for r in [NearestEven, Zero, Down, Up] {
        let y = map::<F32, F16>("f16", |x| x.rounding(r).f16(), &input);
        check(&format!("f32 to f16, {r:?}"), &numbers, &f16s(&halves(&y)), |x| BINARY16.round(x, r, false));
        let y = map::<F32, BF16>("bf16", |x| x.rounding(r).bf16(), &input);
        check(&format!("f32 to bf16, {r:?}"), &numbers, &bf16s(&halves(&y)), |x| BFLOAT16.round(x, r, false));
    }
    let relu = |x: f64| if x <= 0.0 { 0.0 } else { x };
    for r in [NearestEven, Zero] {
        let y = map::<F32, F16>("f16_clamped", |x| x.rounding(r).clamped().f16(), &input);
        check(&format!("f32 to f16, {r:?}, clamped"), &numbers, &f16s(&halves(&y)), |x| BINARY16.round(x, r, true));
        let y = map::<F32, BF16>("bf16_clamped", |x| x.rounding(r).clamped().bf16(), &input);
        check(&format!("f32 to bf16, {r:?}, clamped"), &numbers, &bf16s(&halves(&y)), |x| BFLOAT16.round(x, r, true));
        let y = map::<F32, F16>("f16_relu", |x| x.rounding(r).relu().f16(), &input);
        check(&format!("f32 to f16, {r:?}, relu"), &numbers, &f16s(&halves(&y)), |x| BINARY16.round(relu(x), r, false));
        let y = map::<F32, BF16>("bf16_relu", |x| x.rounding(r).relu().clamped().bf16(), &input);
        check(&format!("f32 to bf16, {r:?}, relu, clamped"), &numbers, &bf16s(&halves(&y)), |x| {
            BFLOAT16.round(relu(x), r, true)
        });
        let y = map2::<F32, BF16x2>("bf16x2", |a, b| pair(a, b).rounding(r).bf16x2(), &input);
        let low: Vec<u16> = halves(&y).into_iter().step_by(2).collect();
        check(&format!("pairs of f32 to bf16x2, {r:?}"), &numbers, &bf16s(&low), |x| BFLOAT16.round(x, r, false));
        let y = map2::<F32, F16x2>("f16x2", |a, b| pair(b, a).rounding(r).f16x2(), &input);
        let high: Vec<u16> = halves(&y).into_iter().skip(1).step_by(2).collect();
        check(&format!("pairs of f32 to f16x2, {r:?}"), &numbers, &f16s(&high), |x| BINARY16.round(x, r, false));
    }
}

#[test]
fn floats_to_tf32() {
    let x = values(&mut fresh());
    // What is a number rounds; NaN stays some NaN. Overflow of tf32's ties-away gives infinity.
    for (name, y, r) in [
        ("NearestAway", map::<F32, F32>("tf32", |x| x.tf32(), &bytes(&x)), Rounding::NearestAway),
        ("Zero", map::<F32, F32>("tf32_rz", |x| x.rounding(Rounding::Zero).tf32(), &bytes(&x)), Rounding::Zero),
        (
            "NearestEven",
            map::<F32, F32>("tf32_rn", |x| x.rounding(Rounding::NearestEven).tf32(), &bytes(&x)),
            Rounding::NearestEven,
        ),
    ] {
        // Ties away is done on the bits alone: a NaN may lose all that made it one.
        let mut got = f32s(&words(&y));
        for (got, x) in
            got.iter_mut().zip(&x).filter(|(_, x)| r == Rounding::NearestAway && f32::from_bits(**x).is_nan())
        {
            assert!(!got.is_finite(), "{x:#x}: {got}");
            *got = f64::NAN;
        }
        check(&format!("f32 to tf32, {name}"), &f32s(&x), &got, |x| TF32.round(x, r, false));
        if name == "NearestAway" {
            for (x, y) in x.iter().zip(words(&y)).filter(|(x, _)| f32::from_bits(**x).is_nan()).take(12) {
                println!("tf32 of NaN {x:#010x}: {y:#010x}");
            }
        }
    }
}

#[test]
fn floats_to_8_and_4_bits() {
    let x = values(&mut fresh());
    let (input, numbers) = (bytes(&x), f32s(&x));
    let even = Rounding::NearestEven;
    let y = map::<F32, warpsmith_dsl::E4M3>("e4m3", |x| x.e4m3(), &input);
    let got: Vec<f64> = y.iter().map(|c| convert::e4m3_to_f32(*c).into()).collect();
    check("f32 to e4m3", &numbers, &got, |x| E4M3.round(x, even, true));
    let y = map::<F32, warpsmith_dsl::E5M2>("e5m2", |x| x.e5m2(), &input);
    let got: Vec<f64> = y.iter().map(|c| convert::e5m2_to_f32(*c).into()).collect();
    check("f32 to e5m2", &numbers, &got, |x| E5M2.round(x, even, true));
    let y = map2::<F32, E2M1x2>("e2m1", |a, b| pair(a, b).e2m1x2(), &input);
    let got: Vec<f64> = y.iter().map(|c| convert::e2m1_to_f32(*c).into()).collect();
    check("f32 to e2m1", &numbers, &got, |x| if x.is_nan() { 6.0 } else { E2M1.round(x, even, true) });
    for (name, r) in [("Up", Rounding::Up), ("Zero", Rounding::Zero)] {
        let y = map2::<F32, E8M0x2>("e8m0", |a, b| pair(a, b).rounding(r).clamped().e8m0x2(), &input);
        let got: Vec<f64> = y.iter().step_by(2).map(|c| convert::e8m0_to_f32(*c).into()).collect();
        check(&format!("f32 to e8m0, {name}"), &numbers, &got, |x| {
            let power = match (x.abs(), r) {
                (x, _) if x.is_nan() => f64::NAN,
                (0.0, _) => 0.0,
                (f64::INFINITY, _) => f64::INFINITY,
                (x, Rounding::Up) => 2f64.powi(exponent(x) + i32::from(x > 2f64.powi(exponent(x)))),
                (x, _) => 2f64.powi(exponent(x)),
            };
            if power.is_nan() { power } else { power.clamp(2f64.powi(-127), 2f64.powi(127)) }
        });
    }
}

/// Of a positive number.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1023
}

#[test]
fn every_16_bit_value_converts() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let input: Vec<u8> = all.iter().flat_map(|h| h.to_le_bytes()).collect();
    let (f16, bf16) = (f16s(&all), bf16s(&all));
    let f32_of = |y: Vec<u8>| f32s(&words(&y));
    check("f16 to f32", &f16, &f32_of(map::<F16, F32>("w", |x| x.f32(), &input)), |x| x);
    check("bf16 to f32", &bf16, &f32_of(map::<BF16, F32>("w", |x| x.f32(), &input)), |x| x);
    let f64_of =
        |y: Vec<u8>| -> Vec<f64> { y.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect() };
    check("f16 to f64", &f16, &f64_of(map::<F16, F64>("w", |x| x.f64(), &input)), |x| x);
    check("bf16 to f64", &bf16, &f64_of(map::<BF16, F64>("w", |x| x.f64(), &input)), |x| x);
    let y = map::<F16, BF16>("w", |x| x.bf16(), &input);
    check("f16 to bf16", &f16, &bf16s(&halves(&y)), |x| BFLOAT16.round(x, Rounding::NearestEven, false));
    let y = map::<BF16, F16>("w", |x| x.f16(), &input);
    check("bf16 to f16", &bf16, &f16s(&halves(&y)), |x| BINARY16.round(x, Rounding::NearestEven, false));
    macro_rules! to_integers {
        ($($t:ident $host:ty, $f:ident, $nan:expr);*) => {$(
            let read = |y: Vec<u8>| -> Vec<f64> {
                y.chunks_exact(size_of::<$host>()).map(|c| <$host>::from_le_bytes(c.try_into().unwrap()) as f64).collect()
            };
            let right = |x: f64| if x.is_nan() { $nan as f64 } else { x as $host as f64 };
            check(concat!("f16 to ", stringify!($t)), &f16, &read(map::<F16, $t>("i", |x| x.$f(), &input)), right);
            check(concat!("bf16 to ", stringify!($t)), &bf16, &read(map::<BF16, $t>("i", |x| x.$f(), &input)), right);
        )*};
    }
    to_integers! { U8 u8, u8, 0; I8 i8, i8, 0; U16 u16, u16, 0; I16 i16, i16, 0; U32 u32, u32, 0; I32 i32, i32, 0;
    U64 u64, u64, 1u64 << 63; I64 i64, i64, i64::MIN }
    macro_rules! from_integers {
        ($($t:ident $host:ty);*) => {$(
            let x: Vec<f64> = all.iter().map(|h| f64::from(*h as $host)).collect();
            let input: Vec<u8> = all.iter().flat_map(|h| (*h as $host).to_le_bytes()).collect();
            let name = stringify!($t);
            let y = map::<$t, F16>("n", |x| x.f16(), &input);
            check(&format!("{name} to f16"), &x, &f16s(&halves(&y)), |x| BINARY16.round(x, Rounding::NearestEven, false));
            let y = map::<$t, BF16>("n", |x| x.bf16(), &input);
            check(&format!("{name} to bf16"), &x, &bf16s(&halves(&y)), |x| BFLOAT16.round(x, Rounding::NearestEven, false));
            check(&format!("{name} to f32"), &x, &f32_of(map::<$t, F32>("n", |x| x.f32(), &input)), |x| x);
        )*};
    }
    from_integers! { U16 u16; I16 i16; U8 u8; I8 i8 }
    for r in [Rounding::Zero, Rounding::Down, Rounding::Up] {
        let y = map::<U16, F16>("n", |x| x.rounding(r).f16(), &input);
        let x: Vec<f64> = all.iter().map(|h| f64::from(*h)).collect();
        check(&format!("U16 to f16, {r:?}"), &x, &f16s(&halves(&y)), |x| BINARY16.round(x, r, false));
    }
}

#[test]
fn every_pair_of_bytes_converts() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let input: Vec<u8> = all.iter().flat_map(|h| h.to_le_bytes()).collect();
    let low = |f: fn(u8) -> f32| -> Vec<f64> { all.iter().map(|h| f(*h as u8).into()).collect() };
    let high = |f: fn(u8) -> f32| -> Vec<f64> { all.iter().map(|h| f((*h >> 8) as u8).into()).collect() };
    let halves_of = |y: Vec<u8>, i: usize| f16s(&halves(&y).into_iter().skip(i).step_by(2).collect::<Vec<_>>());
    let y = map::<E4M3x2, F16x2>("e4m3x2", |x| x.f16x2(), &input);
    check("e4m3x2 to f16x2, low", &low(convert::e4m3_to_f32), &halves_of(y.clone(), 0), |x| x);
    check("e4m3x2 to f16x2, high", &high(convert::e4m3_to_f32), &halves_of(y, 1), |x| x);
    let y = map::<E5M2x2, F16x2>("e5m2x2", |x| x.f16x2(), &input);
    check("e5m2x2 to f16x2, low", &low(convert::e5m2_to_f32), &halves_of(y.clone(), 0), |x| x);
    check("e5m2x2 to f16x2, high", &high(convert::e5m2_to_f32), &halves_of(y, 1), |x| x);
    let y = map::<E8M0x2, BF16x2>("e8m0x2", |x| x.bf16x2(), &input);
    let got = bf16s(&halves(&y).into_iter().step_by(2).collect::<Vec<_>>());
    check("e8m0x2 to bf16x2", &low(convert::e8m0_to_f32), &got, |x| x);
    let bytes: Vec<u8> = (0..=255).collect();
    let y = map::<E2M1x2, F16x2>("e2m1x2", |x| x.f16x2(), &bytes);
    let x: Vec<f64> = bytes.iter().map(|c| convert::e2m1_to_f32(*c).into()).collect();
    check("e2m1x2 to f16x2", &x, &halves_of(y, 0), |x| x);
    // Every f16 to 8 bits, in both places.
    let pairs: Vec<u8> = all.iter().flat_map(|h| [*h, h.swap_bytes()]).flat_map(u16::to_le_bytes).collect();
    let x = f16s(&all);
    let y = map::<F16x2, E4M3x2>("f16x2", |x| x.e4m3x2(), &pairs);
    let got: Vec<f64> = y.iter().step_by(2).map(|c| convert::e4m3_to_f32(*c).into()).collect();
    check("f16x2 to e4m3x2", &x, &got, |x| E4M3.round(x, Rounding::NearestEven, true));
    let y = map::<F16x2, E5M2x2>("f16x2", |x| x.e5m2x2(), &pairs);
    let got: Vec<f64> = y.iter().step_by(2).map(|c| convert::e5m2_to_f32(*c).into()).collect();
    check("f16x2 to e5m2x2", &x, &got, |x| E5M2.round(x, Rounding::NearestEven, true));
}

#[test]
fn floats_and_32_bit_integers() {
    use Rounding::{Down, NearestEven, Up, Zero};
    let x = values(&mut fresh());
    let (input, numbers) = (bytes(&x), f32s(&x));
    for r in [NearestEven, Zero, Down, Up] {
        let whole = |x: f64| match r {
            NearestEven => x.round_ties_even(),
            Down => x.floor(),
            Up => x.ceil(),
            _ => x.trunc(),
        };
        let y = map::<F32, I32>("i32", |x| x.rounding(r).i32(), &input);
        let got: Vec<f64> = words(&y).into_iter().map(|w| f64::from(w as i32)).collect();
        check(&format!("f32 to i32, {r:?}"), &numbers, &got, |x| f64::from(whole(x) as i32));
        let y = map::<F32, U32>("u32", |x| x.rounding(r).u32(), &input);
        let got: Vec<f64> = words(&y).into_iter().map(f64::from).collect();
        check(&format!("f32 to u32, {r:?}"), &numbers, &got, |x| f64::from(whole(x) as u32));
        let single = Format { mantissa: 23, least: -126, largest: f32::MAX.into() };
        let signed: Vec<f64> = x.iter().map(|w| f64::from(*w as i32)).collect();
        let y = map::<I32, F32>("f32", |x| x.rounding(r).f32(), &input);
        check(&format!("i32 to f32, {r:?}"), &signed, &f32s(&words(&y)), |x| single.round(x, r, false));
        let unsigned: Vec<f64> = x.iter().map(|w| f64::from(*w)).collect();
        let y = map::<U32, F32>("f32", |x| x.rounding(r).f32(), &input);
        check(&format!("u32 to f32, {r:?}"), &unsigned, &f32s(&words(&y)), |x| single.round(x, r, false));
    }
    for (name, y, low, high) in [
        ("i8", map::<I32, I8>("c", |x| x.clamped().i8(), &input), -128, 127),
        ("u8", map::<I32, U8>("c", |x| x.clamped().u8(), &input), 0, 255),
    ] {
        for (x, y) in x.iter().zip(y) {
            let got = if low < 0 { i32::from(y as i8) } else { i32::from(y) };
            assert_eq!(got, (*x as i32).clamp(low, high), "i32 to {name}, clamped, of {}", *x as i32);
        }
    }
}
