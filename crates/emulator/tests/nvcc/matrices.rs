//! Products on tensor cores, asynchronous copies to shared memory.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, clean, ints, kernel, read_ints, read_u16s, small};
use warpsmith_types::convert::{f16_to_f32, f32_to_bf16, f32_to_f16};

/// A product of a matrix whose elements are at `a(row, k)`, and another.
fn product([m, n, k]: [usize; 3], a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let one = |i: usize| (0..k).map(|x| a(i / n, x) * b(x, i % n)).sum();
    (0..m * n).map(one).collect()
}

#[test]
fn wmma_f16() {
    let program = kernel("matrices", "wmma_f16");
    for (seed, k) in SEEDS.into_iter().zip([16usize, 48]) {
        let mut random = Random(seed);
        let (a, b) = (small(&mut random, 16 * k), small(&mut random, 16 * k));
        let mut s = system();
        let pa = s.upload("a", &a, |x| f32_to_f16(*x).to_le_bytes());
        let pb = s.upload("b", &b, |x| f32_to_f16(*x).to_le_bytes());
        let out = s.allocate(4 * 256, "c").unwrap();
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[I(k as i32), P(pa), P(pb), P(out)]), seed);
        assert_eq!(s.read_f32s(out, 256), product([16, 16, k], |r, x| a[r * k + x], |x, c| b[c * k + x]));
    }
}

#[test]
fn wmma_of_other_shapes() {
    for (entry, m, n) in [("wmma_tall", 32, 8), ("wmma_wide", 8, 32)] {
        let program = kernel("matrices", entry);
        for seed in SEEDS {
            let mut random = Random(seed);
            let (a, b, c) = (small(&mut random, m * 16), small(&mut random, n * 16), small(&mut random, m * n));
            let mut s = system();
            let mut halves = |name: &str, x: &[f32]| s.upload(name, x, |x| f32_to_f16(*x).to_le_bytes());
            let (pa, pb, pc) = (halves("a", &a), halves("b", &b), halves("c", &c));
            clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pa), P(pb), P(pc)]), seed);
            let sums = product([m, n, 16], |r, k| a[k * m + r], |k, col| b[k * n + col]);
            let want: Vec<f32> = (0..m * n).map(|i| (i % m) * n + i / m).map(|i| sums[i] + c[i]).collect();
            let got: Vec<f32> = read_u16s(&s, pc, m * n).into_iter().map(f16_to_f32).collect();
            assert_eq!(got, want, "{entry}");
        }
    }
}

#[test]
fn wmma_bf16() {
    let program = kernel("matrices", "wmma_bf16");
    for seed in SEEDS {
        let mut random = Random(seed);
        let [a, b, c] = [(); 3].map(|()| small(&mut random, 256));
        let mut s = system();
        let pa = s.upload("a", &a, |x| f32_to_bf16(*x).to_le_bytes());
        let pb = s.upload("b", &b, |x| f32_to_bf16(*x).to_le_bytes());
        let pc = s.f32s("c", &c);
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pa), P(pb), P(pc)]), seed);
        let sums = product([16; 3], |r, k| a[16 * r + k], |k, c| b[16 * k + c]);
        assert_eq!(s.read_f32s(pc, 256), sums.iter().zip(&c).map(|(x, c)| 2.0 * (x + c) + 1.0).collect::<Vec<_>>());
    }
}

#[test]
fn wmma_tf32() {
    let program = kernel("matrices", "wmma_tf32");
    for seed in SEEDS {
        let mut random = Random(seed);
        let (a, b) = (small(&mut random, 128), small(&mut random, 128));
        let mut s = system();
        let (pa, pb, pc) = (s.f32s("a", &a), s.f32s("b", &b), s.f32s("c", &[0.0; 256]));
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pa), P(pb), P(pc)]), seed);
        let sums = product([16, 16, 8], |r, k| a[8 * r + k], |k, c| b[8 * c + k]);
        assert_eq!(s.read_f32s(pc, 256), sums.iter().map(|x| x + 0.5).collect::<Vec<_>>());
    }
}

#[test]
fn wmma_s8() {
    let program = kernel("matrices", "wmma_s8");
    for seed in SEEDS {
        let mut random = Random(seed);
        let [a, b] = [(); 2].map(|()| (0..256).map(|_| random.next() as i8).collect::<Vec<_>>());
        let mut s = system();
        let (pa, pb) = (s.upload("a", &a, |x| [*x as u8]), s.upload("b", &b, |x| [*x as u8]));
        let pc = s.allocate(4 * 256, "c").unwrap();
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pa), P(pb), P(pc)]), seed);
        let of = |x: &[i8], i: usize| f32::from(x[i]);
        let sums = product([16; 3], |r, k| of(&a, 16 * r + k), |k, c| of(&b, 16 * c + k));
        assert_eq!(read_ints(&s, pc, 256), sums.iter().map(|x| *x as i32 - 3).collect::<Vec<_>>());
    }
}

#[test]
fn mma_bf16() {
    let program = kernel("matrices", "mma_bf16");
    for seed in SEEDS {
        let mut random = Random(seed);
        let (a, b) = (small(&mut random, 256), small(&mut random, 128));
        let mut s = system();
        let pa = s.upload("a", &a, |x| f32_to_bf16(*x).to_le_bytes());
        let pb = s.upload("b", &b, |x| f32_to_bf16(*x).to_le_bytes());
        let pc = s.allocate(4 * 128, "c").unwrap();
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pa), P(pb), P(pc)]), seed);
        assert_eq!(s.read_f32s(pc, 128), product([16, 8, 16], |r, k| a[16 * r + k], |k, c| b[8 * k + c]));
    }
}

#[test]
fn staged_sum() {
    let program = kernel("matrices", "staged_sum");
    for (seed, tiles) in SEEDS.into_iter().zip([1usize, 6]) {
        let mut random = Random(seed);
        let x = small(&mut random, 3 * tiles * 256);
        let mut s = system();
        let (px, out) = (s.f32s("in", &x), s.allocate(4 * 3 * 256, "out").unwrap());
        clean(&mut s, &program, &launch([3, 1, 1], [64, 1, 1], &[I(tiles as i32), P(px), P(out)]), seed);
        let row = |i: usize| (0..tiles).map(move |t| (i / 256 * tiles + t) * 256);
        let want: Vec<f32> = (0..768).map(|i| row(i).map(|at| x[at + (i + 4) % 256]).sum()).collect();
        assert_eq!(s.read_f32s(out, 768), want);
    }
}

#[test]
fn pipelined_sum() {
    let program = kernel("matrices", "pipelined_sum");
    for (seed, tiles) in SEEDS.into_iter().zip([5usize, 2]) {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..tiles * 128).map(|_| random.next() as i32 >> 8).collect();
        let mut s = system();
        let (px, out) = (ints(&mut s, "in", &x), s.allocate(4 * 128, "out").unwrap());
        clean(&mut s, &program, &launch([1; 3], [128, 1, 1], &[I(tiles as i32), P(px), P(out)]), seed);
        let want: Vec<i32> = (0..128).map(|t| (0..tiles).map(|i| x[128 * i + 127 - t]).sum()).collect();
        assert_eq!(read_ints(&s, out, 128), want);
    }
}

#[test]
fn split_barrier() {
    let program = kernel("matrices", "split_barrier");
    for seed in SEEDS {
        let mut s = system();
        let out = s.allocate(4 * 64, "out").unwrap();
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[I(4), P(out)]), seed);
        let mut v: Vec<i32> = (0..64).collect();
        for _ in 0..4 {
            v = (0..64).map(|t| 3 * v[t] + v[(t + 1) % 64]).collect();
        }
        assert_eq!(read_ints(&s, out, 64), v);
    }
}
