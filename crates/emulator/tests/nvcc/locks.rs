//! Locks, flags, atomics.

use super::support::{Arg::*, Buffers, launch, system};
use super::{SEEDS, clean, ints, kernel, read_doubles, read_ints, read_u16s, read_u64s};
use warpsmith_types::convert::f16_to_f32;

#[test]
fn spin_lock() {
    let program = kernel("locks", "spin_lock");
    for seed in SEEDS {
        let mut s = system();
        let (lock, count) = (ints(&mut s, "lock", &[0]), ints(&mut s, "count", &[100]));
        clean(&mut s, &program, &launch([2, 1, 1], [48, 1, 1], &[P(lock), P(count), I(2)]), seed);
        assert_eq!((read_ints(&s, lock, 1), read_ints(&s, count, 1)), (vec![0], vec![100 + 2 * 96]));
    }
}

#[test]
fn ticket_lock() {
    let program = kernel("locks", "ticket_lock");
    for seed in SEEDS {
        let mut s = system();
        let [next, serving, count] = ["next", "serving", "count"].map(|name| s.u32s(name, &[0]));
        let order = s.u32s("order", &[0; 7]);
        clean(&mut s, &program, &launch([7, 1, 1], [32, 1, 1], &[P(next), P(serving), P(count), P(order)]), seed);
        let mut blocks = s.read_u32s(order, 7);
        blocks.sort();
        assert_eq!(blocks, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!([next, serving, count].map(|p| s.read_u32s(p, 1)[0]), [7; 3]);
    }
}

#[test]
fn produce_consume() {
    let program = kernel("locks", "produce_consume");
    for seed in SEEDS {
        let mut s = system();
        let (slot, full) = (s.allocate(4, "slot").unwrap(), ints(&mut s, "full", &[0]));
        let out = s.allocate(4 * 12, "out").unwrap();
        clean(&mut s, &program, &launch([2, 1, 1], [32, 1, 1], &[I(12), P(slot), P(full), P(out)]), seed);
        assert_eq!(read_ints(&s, out, 12), (0..12).map(|r| r * r + 1).collect::<Vec<i32>>());
    }
}

#[test]
fn atomics() {
    let program = kernel("locks", "atomics");
    for (seed, threads) in SEEDS.into_iter().zip([33u32, 80]) {
        let n = 2 * threads;
        let mut s = system();
        let a = ints(&mut s, "a", &[10, 20, 30, 40]);
        let u = s.u32s("u", &[u32::MAX, 0, 0, 0, 3]);
        let l = s.upload("l", &[5i64, -5], |x| x.to_le_bytes());
        let x = s.upload("x", &[1u64 << 60, 0], |x| x.to_le_bytes());
        let f = s.f32s("f", &[0.5]);
        let d = s.upload("d", &[0.25f64], |x| x.to_le_bytes());
        clean(&mut s, &program, &launch([2, 1, 1], [threads, 1, 1], &[P(a), P(u), P(l), P(x), P(f), P(d)]), seed);
        let sum = (n * (n - 1) / 2) as i32;
        assert_eq!(read_ints(&s, a, 4), [10 + sum, 20 - sum, -(n as i32 - 1), 40.max(n as i32 - 1)]);
        let xor = (0..n).fold(0u32, |x, i| x ^ i.wrapping_mul(2654435761));
        let mut down = 3;
        for _ in 0..n {
            down = if down == 0 || down > 10 { 10 } else { down - 1 };
        }
        assert_eq!(s.read_u32s(u, 5), [0, u32::MAX, xor, n % 17, down]);
        let most = i64::from(n - 1) << 33;
        assert_eq!(read_u64s(&s, l, 2), [(-most) as u64, most as u64]);
        let wide = (0..u64::from(n)).fold(0, |x, i| x ^ (i << 30 | i));
        assert_eq!(read_u64s(&s, x, 2), [(1 << 60) + ((sum as u64) << 20), wide]);
        assert_eq!(s.read_f32s(f, 1), [0.5 + sum as f32]);
        assert_eq!(read_doubles(&s, d, 1), [0.25 + f64::from(sum) / 2.0]);
    }
}

#[test]
fn half_atomics() {
    let program = kernel("locks", "half_atomics");
    for seed in SEEDS {
        let mut s = system();
        let [h, h2] = ["h", "h2"].map(|name| s.u32s(name, &[0]));
        clean(&mut s, &program, &launch([2, 1, 1], [48, 1, 1], &[P(h), P(h2)]), seed);
        let f16s = |p| read_u16s(&s, p, 2).into_iter().map(f16_to_f32).collect::<Vec<_>>();
        assert_eq!((f16s(h), f16s(h2)), (vec![96.0, 0.0], vec![96.0, 192.0]));
    }
}

#[test]
fn swap_loop() {
    let program = kernel("locks", "swap_loop");
    for seed in SEEDS {
        let x: Vec<f32> = (0..64).map(|i| [0.5, 2.0, -1.0, 4.0, -0.25][i % 5]).collect();
        let mut s = system();
        let (px, product, most) = (s.f32s("in", &x), s.f32s("product", &[3.0]), s.f32s("most", &[-9.0]));
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(px), P(product), P(most)]), seed);
        assert_eq!((s.read_f32s(product, 1), s.read_f32s(most, 1)), (vec![3.0 * x.iter().product::<f32>()], vec![4.0]));
    }
}
