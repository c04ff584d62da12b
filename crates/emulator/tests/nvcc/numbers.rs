//! Arithmetic of many types, functions of the mathematics library.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, assert_close, clean, kernel, read_doubles, read_ints, read_u16s};
use warpsmith_emulator::Launch;
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The value of a code of 8 bits, `mantissa` of them behind the point; none for what is not finite.
fn fp8_value(code: u8, mantissa: i32) -> Option<f64> {
    let bias = if mantissa == 3 { 7 } else { 15 };
    let (exponent, fraction) = (i32::from(code & 0x7f) >> mantissa, i32::from(code) & ((1 << mantissa) - 1));
    let finite = if mantissa == 3 { code & 0x7f != 0x7f } else { exponent != 31 };
    let (one, power) = if exponent == 0 { (0, 1) } else { (1 << mantissa, exponent) };
    let value = f64::from(one + fraction) * 2f64.powi(power - bias - mantissa);
    finite.then_some(if code >> 7 == 1 { -value } else { value })
}

/// The nearest code, of two the even one; what is too large gives the largest.
fn fp8_code(x: f32, mantissa: i32) -> u8 {
    let sign = u8::from(x.is_sign_negative()) << 7;
    let distance = |code: &u8| (fp8_value(*code, mantissa).unwrap() - f64::from(x.abs()).min(1e9)).abs();
    let codes = (0..0x80u8).filter(|code| fp8_value(*code, mantissa).is_some());
    sign | codes.min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))).unwrap()
}

#[test]
fn fp8() {
    let program = kernel("numbers", "fp8");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut x: Vec<f32> = (0..500).map(|_| random.float() * 2f32.powi(random.below(36) as i32 - 18)).collect();
        x.extend([
            0.0,
            -0.0,
            448.0,
            464.0,
            480.0,
            -1e6,
            f32::INFINITY,
            57344.0,
            61440.0,
            2f32.powi(-10),
            2f32.powi(-17),
        ]);
        x.extend(
            (0..127)
                .map(|code| fp8_value(code, 3).unwrap() as f32 + fp8_value(code.min(125) + 1, 3).unwrap() as f32)
                .map(|x| x / 2.0),
        );
        x.push(f32::NAN);
        let n = x.len();
        let mut s = system();
        let (px, codes, values) =
            (s.f32s("in", &x), s.allocate(2 * n, "codes").unwrap(), s.allocate(8 * n, "values").unwrap());
        clean(&mut s, &program, &launch([7, 1, 1], [96, 1, 1], &[I(n as i32), P(px), P(codes), P(values)]), seed);
        let mut bytes = vec![0; 2 * n];
        s.read(codes, &mut bytes).unwrap();
        let values = s.read_f32s(values, 2 * n);
        for (i, x) in x.iter().enumerate() {
            for (k, mantissa) in [3, 2].into_iter().enumerate() {
                let (code, value) = (bytes[2 * i + k], values[2 * i + k]);
                if x.is_nan() {
                    assert!(code & 0x7f == 0x7f && value.is_nan(), "{x}: {code:#x} {value}");
                } else {
                    assert_eq!(code, fp8_code(*x, mantissa), "{x:e} with {mantissa} bits");
                    assert_eq!(f64::from(value), fp8_value(code, mantissa).unwrap(), "{x:e}");
                }
            }
        }
    }
}

#[test]
fn halves() {
    let program = kernel("numbers", "halves");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut numbers =
            |n: i32| -> Vec<f32> { (0..128).map(|_| (random.below(512) as i32 - 256) as f32 / n as f32).collect() };
        let (x, y, u, v) = (numbers(64), numbers(32), numbers(64), numbers(32));
        let mut s = system();
        let f16 = |x: &f32| f32_to_f16(*x).to_le_bytes();
        let bf16 = |x: &f32| f32_to_bf16(*x).to_le_bytes();
        let (px, py) = (s.upload("x", &x, f16), s.upload("y", &y, f16));
        let (pu, pv) = (s.upload("u", &u, bf16), s.upload("v", &v, bf16));
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(px), P(py), P(pu), P(pv)]), seed);
        let (got_y, got_v) = (read_u16s(&s, py, 128), read_u16s(&s, pv, 128));
        for i in 0..128 {
            // Exact in f32, so one rounding.
            let want = f16_to_f32(f32_to_f16([1.5, -0.25][i % 2] * x[i] + y[i]));
            assert_eq!(f16_to_f32(got_y[i]), want);
            let round = |x: f32| bf16_to_f32(f32_to_bf16(x));
            let (u, v) = (round(u[i]), round(v[i]));
            assert_eq!(bf16_to_f32(got_v[i]), round(round(u * v) + u.max(v)), "{u} {v}");
        }
    }
}

#[test]
fn functions() {
    let program = kernel("numbers", "functions");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut x: Vec<f64> = (0..200).map(|_| f64::from(random.float()) * 30.0 + 1e-3).collect();
        x.extend([1.0, -1.0, 700.0, -700.0, 1e-5, 12345.678, 3e9, 1e15, -2.5e12]);
        let n = x.len();
        let mut s = system();
        let (px, out) = (s.upload("x", &x, |x| x.to_le_bytes()), s.allocate(48 * n, "out").unwrap());
        clean(&mut s, &program, &launch([4, 1, 1], [64, 1, 1], &[I(n as i32), P(px), P(out)]), seed);
        for (got, x) in read_doubles(&s, out, 6 * n).chunks(6).zip(x) {
            let a = x.abs();
            let want = [x.exp(), a.ln(), x.sin(), a.sqrt(), 1.0 / x, a.powf(0.3)];
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                let exact = i == 3 || i == 4;
                match want.is_finite() {
                    true => assert_close(*got, want, if exact { 0.0 } else { 1e-15 }, &format!("function {i} of {x}")),
                    false => assert_eq!(*got, want),
                }
            }
        }
    }
}

/// The error function, by its series.
fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn functions_f32() {
    let program = kernel("numbers", "functions_f32");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut x: Vec<f32> = (0..200).map(|_| 3.0 * random.float()).map(|x| if x == 0.0 { 1.0 } else { x }).collect();
        x.extend([1.0, -1.0, 1e-4, 0.55]);
        let n = x.len();
        let mut s = system();
        let (px, out) = (s.f32s("x", &x), s.allocate(28 * n, "out").unwrap());
        clean(&mut s, &program, &launch([4, 1, 1], [64, 1, 1], &[I(n as i32), P(px), P(out)]), seed);
        for (got, x) in s.read_f32s(out, 7 * n).chunks(7).zip(x.into_iter().map(f64::from)) {
            let a = x.abs();
            let want = [x.exp(), a.ln(), x.sin(), x.tanh(), erf(x), 1.0 / a.sqrt(), x.atan2(f64::from(0.7f32))];
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                assert_close((*got).into(), want, 5e-7, &format!("function {i} of {x}"));
            }
        }
    }
}

fn philox_words(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (a, b) = (u64::from(c[0]) * 0xD2511F53, u64::from(c[2]) * 0xCD9E8D57);
        c = [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9E3779B9), key[1].wrapping_add(0xBB67AE85)];
    }
    c
}

#[test]
fn philox() {
    // From the generator's paper (Random123).
    assert_eq!(philox_words([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    let program = kernel("numbers", "philox");
    for (seed, key) in SEEDS.into_iter().zip([[0u32; 2], [0xdeadbeef, 17]]) {
        let mut s = system();
        let out = s.allocate(16 * 128, "out").unwrap();
        clean(&mut s, &program, &launch([2, 1, 1], [64, 1, 1], &[U(key[0]), U(key[1]), P(out)]), seed);
        let want: Vec<u32> = (0..128).flat_map(|i| philox_words([i, 0, 0, 0], key)).collect();
        assert_eq!(s.read_u32s(out, 512), want);
    }
}

#[test]
fn mandelbrot() {
    let program = kernel("numbers", "mandelbrot");
    for (seed, (w, h)) in SEEDS.into_iter().zip([(50i32, 20i32), (33, 17)]) {
        let mut s = system();
        let out = s.allocate((4 * w * h) as usize, "out").unwrap();
        let grid = [(w as u32).div_ceil(16), (h as u32).div_ceil(8), 1];
        clean(&mut s, &program, &launch(grid, [16, 8, 1], &[I(w), I(h), I(100), P(out)]), seed);
        let steps = |i: i32| {
            let (cr, ci) = (3.0 * (i % w) as f32 / w as f32 - 2.0, 2.0 * (i / w) as f32 / h as f32 - 1.0);
            let (mut zr, mut zi, mut n) = (0f32, 0f32, 0);
            while n < 100 && zr * zr + zi * zi <= 4.0 {
                (zr, zi) = (zr * zr - zi * zi + cr, (2.0 * zr).mul_add(zi, ci));
                n += 1;
            }
            n
        };
        assert_eq!(read_ints(&s, out, (w * h) as usize), (0..w * h).map(steps).collect::<Vec<_>>());
    }
}

#[test]
fn n_body() {
    let program = kernel("numbers", "n_body");
    for (seed, n) in SEEDS.into_iter().zip([100usize, 64]) {
        let mut random = Random(seed);
        let bodies: Vec<f32> = (0..4 * n).map(|_| random.float()).collect();
        let mut s = system();
        let (pb, out) = (s.f32s("body", &bodies), s.allocate(16 * n, "out").unwrap());
        let launch = launch([n.div_ceil(32) as u32, 1, 1], [32, 1, 1], &[I(n as i32), P(pb), P(out)]);
        clean(&mut s, &program, &Launch { dynamic_shared: 16 * 32, ..launch }, seed);
        let body = |i: usize| [0, 1, 2, 3].map(|k| f64::from(bodies[4 * i + k]));
        for (i, got) in s.read_f32s(out, 4 * n).chunks(4).enumerate() {
            for k in 0..3 {
                let (mut sum, mut size) = (0.0, 0.0);
                for other in (0..n).map(body) {
                    let d = [0, 1, 2].map(|k| other[k] - body(i)[k]);
                    let pull = d[k] * other[3] / (d.iter().map(|d| d * d).sum::<f64>() + 0.01f64).powf(1.5);
                    (sum, size) = (sum + pull, size + pull.abs());
                }
                assert!((f64::from(got[k]) - sum).abs() < 1e-5 * size, "body {i}: {} not {sum}", got[k]);
            }
        }
    }
}
