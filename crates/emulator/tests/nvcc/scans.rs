//! Prefix sums.

use super::support::{Arg::*, Buffers, Random, launch};
use super::{SEEDS, clean, ints, kernel, read_ints};
use crate::support::system;
use warpsmith_emulator::Launch;

#[test]
fn exclusive_scan() {
    let program = kernel("scans", "exclusive_scan");
    for (seed, threads) in SEEDS.into_iter().zip([32usize, 256]) {
        let n = 2 * threads;
        let mut random = Random(seed);
        let x: Vec<i32> = (0..n).map(|_| random.next() as i32 >> 16).collect();
        let mut s = system();
        let (px, out, total) = (ints(&mut s, "in", &x), ints(&mut s, "out", &vec![0; n]), ints(&mut s, "total", &[0]));
        let launch = launch([1; 3], [threads as u32, 1, 1], &[P(px), P(out), P(total)]);
        clean(&mut s, &program, &Launch { dynamic_shared: 4 * n as u32, ..launch }, seed);
        let want: Vec<i32> = (0..n).map(|i| x[..i].iter().sum()).collect();
        assert_eq!(read_ints(&s, out, n), want);
        assert_eq!(read_ints(&s, total, 1), [x.iter().sum::<i32>()]);
    }
}

#[test]
fn segmented_scan() {
    let program = kernel("scans", "segmented_scan");
    for seed in SEEDS {
        let mut random = Random(seed);
        let head: Vec<i32> = (0..32).map(|_| i32::from(random.below(5) == 0)).collect();
        let x = super::small(&mut random, 32);
        let mut s = system();
        let (ph, px, out) = (ints(&mut s, "head", &head), s.f32s("in", &x), s.f32s("out", &[0.0; 32]));
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(ph), P(px), P(out)]), seed);
        let mut sum = 0.0;
        let want = (0..32).map(|i| {
            sum = if head[i] != 0 { x[i] } else { sum + x[i] };
            sum
        });
        assert_eq!(s.read_f32s(out, 32), want.collect::<Vec<_>>());
    }
}

#[test]
fn tile_scan() {
    let program = kernel("scans", "tile_scan");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..192).map(|_| random.next() as i32 >> 8).collect();
        let mut s = system();
        let (px, out) = (ints(&mut s, "in", &x), ints(&mut s, "out", &[0; 192]));
        clean(&mut s, &program, &launch([2, 1, 1], [96, 1, 1], &[P(px), P(out)]), seed);
        let want: Vec<i32> = (0..192).map(|i| x[i / 16 * 16..=i].iter().sum()).collect();
        assert_eq!(read_ints(&s, out, 192), want);
    }
}

#[test]
fn compact() {
    let program = kernel("scans", "compact");
    for (seed, n) in SEEDS.into_iter().zip([1000usize, 77]) {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..n).map(|_| random.next() as i32).collect();
        let mut s = system();
        let (px, out, count) = (ints(&mut s, "in", &x), ints(&mut s, "out", &vec![0; n]), ints(&mut s, "count", &[0]));
        let args = [I(n as i32), P(px), P(out), P(count)];
        clean(&mut s, &program, &launch([1; 3], [128, 1, 1], &args), seed);
        let want: Vec<i32> = x.iter().copied().filter(|x| x & 1 == 1).collect();
        assert_eq!(read_ints(&s, count, 1), [want.len() as i32]);
        assert_eq!(read_ints(&s, out, want.len()), want);
    }
}

#[test]
fn look_back_scan() {
    let program = kernel("scans", "look_back_scan");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<u32> = (0..9 * 64).map(|_| random.next()).collect();
        let mut s = system();
        let (px, out) = (s.u32s("in", &x), s.u32s("out", &vec![0; x.len()]));
        let (prefix, flag) = (s.u32s("prefix", &[0; 9]), s.u32s("flag", &[0; 9]));
        clean(&mut s, &program, &launch([9, 1, 1], [64, 1, 1], &[P(px), P(out), P(prefix), P(flag)]), seed);
        let mut sum = 0u32;
        let want: Vec<u32> = x
            .iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect();
        assert_eq!(s.read_u32s(out, x.len()), want);
    }
}
