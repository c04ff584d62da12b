//! Sorting, merging, searching, stencils, sparse and frequency-domain work.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, assert_close, clean, ints, kernel, read_ints, small};
use warpsmith_emulator::Launch;

#[test]
fn bitonic_sort() {
    let program = kernel("algorithms", "bitonic_sort");
    for (seed, threads) in SEEDS.into_iter().zip([32usize, 256]) {
        let mut random = Random(seed);
        let x: Vec<u32> = (0..4 * threads).map(|_| random.next()).collect();
        let mut s = system();
        let keys = s.u32s("keys", &x);
        let launch = launch([2, 1, 1], [threads as u32, 1, 1], &[P(keys)]);
        clean(&mut s, &program, &Launch { dynamic_shared: 8 * threads as u32, ..launch }, seed);
        let mut want = x.clone();
        want.chunks_mut(2 * threads).for_each(<[u32]>::sort);
        assert_eq!(s.read_u32s(keys, x.len()), want);
    }
}

#[test]
fn radix_pass() {
    let program = kernel("algorithms", "radix_pass");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<u32> = (0..256).map(|_| random.next()).collect();
        let mut s = system();
        let (mut from, mut to) = (s.u32s("in", &x), s.u32s("out", &[0; 256]));
        let mut want = x.clone();
        for shift in (0..32).step_by(4) {
            clean(&mut s, &program, &launch([1; 3], [256, 1, 1], &[I(shift), P(from), P(to)]), seed);
            want.sort_by_key(|x| x >> shift & 15);
            assert_eq!(s.read_u32s(to, 256), want);
            (from, to) = (to, from);
        }
        assert!(want.is_sorted());
    }
}

#[test]
fn merge() {
    let program = kernel("algorithms", "merge");
    for (seed, n) in SEEDS.into_iter().zip([128usize, 50]) {
        let mut random = Random(seed);
        let mut run = || {
            let mut x: Vec<i32> = (0..n).map(|_| random.below(60) as i32).collect();
            x.sort();
            x
        };
        let (a, b) = (run(), run());
        let mut s = system();
        let (pa, pb, out) = (ints(&mut s, "a", &a), ints(&mut s, "b", &b), s.allocate(8 * n, "out").unwrap());
        clean(&mut s, &program, &launch([2, 1, 1], [256, 1, 1], &[I(n as i32), P(pa), P(pb), P(out)]), seed);
        let mut want = [a, b].concat();
        want.sort();
        assert_eq!(read_ints(&s, out, 2 * n), want);
    }
}

#[test]
fn search() {
    let program = kernel("algorithms", "search");
    for seed in SEEDS {
        let mut random = Random(seed);
        let text: Vec<u8> = (0..700).map(|_| b"ab"[random.below(2) as usize]).collect();
        for word in [&b"abba"[..], b"a", b"abcb"] {
            let mut s = system();
            let (pt, pw) = (s.upload("text", &text, |x| [*x]), s.upload("word", word, |x| [*x]));
            let (first, count) = (ints(&mut s, "first", &[i32::MAX]), ints(&mut s, "count", &[0]));
            let args = [I(700), P(pt), I(word.len() as i32), P(pw), P(first), P(count)];
            clean(&mut s, &program, &launch([6, 1, 1], [128, 1, 1], &args), seed);
            let found: Vec<usize> = (0..=700 - word.len()).filter(|i| text[*i..].starts_with(word)).collect();
            assert_eq!(read_ints(&s, first, 1)[0], found.first().map_or(i32::MAX, |i| *i as i32));
            assert_eq!(read_ints(&s, count, 1), [found.len() as i32]);
        }
    }
}

#[test]
fn spmv() {
    let program = kernel("algorithms", "spmv");
    for seed in SEEDS {
        let (rows, columns) = (37usize, 50);
        let mut random = Random(seed);
        let dense: Vec<f32> = small(&mut random, rows * columns);
        let dense: Vec<f32> = dense.into_iter().map(|v| if random.below(3) == 0 { v } else { 0.0 }).collect();
        let x = small(&mut random, columns);
        let (mut start, mut column, mut value) = (vec![0], vec![], vec![]);
        for row in dense.chunks(columns) {
            let filled = row.iter().enumerate().filter(|(_, v)| **v != 0.0);
            filled.for_each(|(c, v)| {
                column.push(c as i32);
                value.push(*v);
            });
            start.push(column.len() as i32);
        }
        let mut s = system();
        let (ps, pc) = (ints(&mut s, "start", &start), ints(&mut s, "column", &column));
        let (pv, px, y) = (s.f32s("value", &value), s.f32s("x", &x), s.allocate(4 * rows, "y").unwrap());
        let args = [I(rows as i32), P(ps), P(pc), P(pv), P(px), P(y)];
        clean(&mut s, &program, &launch([10, 1, 1], [128, 1, 1], &args), seed);
        let want: Vec<f32> = dense.chunks(columns).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        assert_eq!(s.read_f32s(y, rows), want);
    }
}

#[test]
fn convolution() {
    let program = kernel("algorithms", "convolution");
    for (seed, (h, w)) in SEEDS.into_iter().zip([(40i32, 35i32), (16, 16)]) {
        let x = small(&mut Random(seed), (h * w) as usize);
        let mut s = system();
        let (px, out) = (s.f32s("in", &x), s.allocate(4 * x.len(), "out").unwrap());
        let grid = [(w as u32).div_ceil(16), (h as u32).div_ceil(16), 1];
        clean(&mut s, &program, &launch(grid, [16, 16, 1], &[I(h), I(w), P(px), P(out)]), seed);
        let taps = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0];
        let at =
            |y: i32, c: i32| if (0..h).contains(&y) && (0..w).contains(&c) { x[(y * w + c) as usize] } else { 0.0 };
        let sum = |i: i32| (0..9).map(|k| taps[k as usize] * at(i / w + k / 3 - 1, i % w + k % 3 - 1)).sum();
        assert_eq!(s.read_f32s(out, x.len()), (0..h * w).map(sum).collect::<Vec<f32>>());
    }
}

#[test]
fn life() {
    let program = kernel("algorithms", "life");
    for seed in SEEDS {
        let (h, words) = (20usize, 3usize);
        let w = 32 * words;
        let mut random = Random(seed);
        let x: Vec<u32> = (0..h * words).map(|_| random.next() & random.next()).collect();
        let mut s = system();
        let (px, out) = (s.u32s("in", &x), s.allocate(4 * x.len(), "out").unwrap());
        clean(&mut s, &program, &launch([2, 1, 1], [64, 1, 1], &[I(h as i32), I(words as i32), P(px), P(out)]), seed);
        let cell = |y: usize, c: usize| x[y % h * words + c % w / 32] >> (c % 32) & 1;
        let next = |y: usize, c: usize| {
            let around: u32 = (0..9).filter(|k| *k != 4).map(|k| cell(y + h + k / 3 - 1, c + w + k % 3 - 1)).sum();
            u32::from(around == 3 || around == 2 && cell(y, c) == 1)
        };
        let word = |i: usize| (0..32).fold(0, |word, b| word | next(i / words, i % words * 32 + b) << b);
        assert_eq!(s.read_u32s(out, x.len()), (0..h * words).map(word).collect::<Vec<_>>());
    }
}

#[test]
fn fft() {
    let program = kernel("algorithms", "fft");
    for (seed, n) in SEEDS.into_iter().zip([64usize, 256]) {
        let mut random = Random(seed);
        let x: Vec<f32> = (0..2 * n).map(|_| random.float()).collect();
        let mut s = system();
        let data = s.f32s("data", &x);
        let launch = launch([1; 3], [n as u32 / 2, 1, 1], &[P(data)]);
        clean(&mut s, &program, &Launch { dynamic_shared: 8 * n as u32, ..launch }, seed);
        for (k, got) in s.read_f32s(data, 2 * n).chunks(2).enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (j, z) in x.chunks(2).enumerate() {
                let (sin, cos) = (-std::f64::consts::TAU * (j * k % n) as f64 / n as f64).sin_cos();
                re += f64::from(z[0]) * cos - f64::from(z[1]) * sin;
                im += f64::from(z[0]) * sin + f64::from(z[1]) * cos;
            }
            let error = (f64::from(got[0]) - re).hypot(f64::from(got[1]) - im);
            assert!(error < 1e-5 * (n as f64).sqrt(), "{k}: {got:?}, not {re}, {im}");
        }
    }
}

#[test]
fn layer_norm() {
    let program = kernel("algorithms", "layer_norm");
    for (seed, n) in SEEDS.into_iter().zip([500usize, 33]) {
        let mut random = Random(seed);
        let mut floats = |n: usize| -> Vec<f32> { (0..n).map(|_| random.float() + 0.3).collect() };
        let (x, scale, shift) = (floats(3 * n), floats(n), floats(n));
        let mut s = system();
        let (px, pc, pb) = (s.f32s("x", &x), s.f32s("scale", &scale), s.f32s("shift", &shift));
        let y = s.allocate(4 * x.len(), "y").unwrap();
        let args = [I(n as i32), P(px), P(pc), P(pb), P(y)];
        clean(&mut s, &program, &launch([3, 1, 1], [96, 1, 1], &args), seed);
        let got = s.read_f32s(y, x.len());
        for (row, got) in x.chunks(n).zip(got.chunks(n)) {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let mean = row.iter().sum::<f64>() / n as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            for i in 0..n {
                let want = (row[i] - mean) / (variance + 1e-5).sqrt() * f64::from(scale[i]) + f64::from(shift[i]);
                assert!((f64::from(got[i]) - want).abs() < 2e-5, "{} not {want}", got[i]);
            }
        }
    }
}

#[test]
fn online_softmax() {
    let program = kernel("algorithms", "online_softmax");
    for (seed, n) in SEEDS.into_iter().zip([300usize, 5]) {
        let mut random = Random(seed);
        let x: Vec<f32> = (0..3 * n).map(|_| 10.0 * random.float()).collect();
        let mut s = system();
        let (px, y) = (s.f32s("x", &x), s.allocate(4 * x.len(), "y").unwrap());
        clean(&mut s, &program, &launch([3, 1, 1], [32, 1, 1], &[I(n as i32), P(px), P(y)]), seed);
        for (row, got) in x.chunks(n).zip(s.read_f32s(y, x.len()).chunks(n)) {
            let exponentials: Vec<f64> = row.iter().map(|x| f64::from(*x).exp()).collect();
            let sum: f64 = exponentials.iter().sum();
            for (e, got) in exponentials.iter().zip(got) {
                assert_close((*got).into(), e / sum, 1e-5, "softmax");
            }
        }
    }
}
