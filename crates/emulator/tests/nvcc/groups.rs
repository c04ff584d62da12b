//! Cooperative groups, votes, matches and reductions of a warp.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, clean, ints, kernel, read_doubles, read_ints, read_u64s};

#[test]
fn tile_reduce() {
    let program = kernel("groups", "tile_reduce");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..128).map(|_| random.next() as i32 >> 8).collect();
        let mut s = system();
        let (px, out, most) = (ints(&mut s, "in", &x), ints(&mut s, "out", &[0; 128]), ints(&mut s, "most", &[0; 128]));
        clean(&mut s, &program, &launch([2, 1, 1], [64, 1, 1], &[P(px), P(out), P(most)]), seed);
        let tile = |i: usize| &x[i / 8 * 8..i / 8 * 8 + 8];
        assert_eq!(read_ints(&s, out, 128), (0..128).map(|i| tile(i).iter().sum()).collect::<Vec<i32>>());
        assert_eq!(read_ints(&s, most, 128), (0..128).map(|i| *tile(i).iter().max().unwrap()).collect::<Vec<_>>());
    }
}

#[test]
fn coalesced_count() {
    let program = kernel("groups", "coalesced_count");
    for seed in SEEDS {
        let n = 150;
        let mut random = Random(seed);
        let x: Vec<i32> = (0..n).map(|_| random.below(100) as i32).collect();
        let mut s = system();
        let (px, odd, ranks) = (ints(&mut s, "in", &x), ints(&mut s, "odd", &[5]), ints(&mut s, "ranks", &[-1; 150]));
        clean(&mut s, &program, &launch([3, 1, 1], [64, 1, 1], &[I(n), P(px), P(odd), P(ranks)]), seed);
        let is_odd = |i: &usize| x[*i] % 2 == 1;
        assert_eq!(read_ints(&s, odd, 1), [5 + (0..150).filter(is_odd).count() as i32]);
        let rank = |i: usize| if is_odd(&i) { (i / 32 * 32..i).filter(is_odd).count() as i32 } else { -1 };
        assert_eq!(read_ints(&s, ranks, 150), (0..150).map(rank).collect::<Vec<_>>());
    }
}

#[test]
fn labeled_count() {
    let program = kernel("groups", "labeled_count");
    for seed in SEEDS {
        let mut random = Random(seed);
        let label: Vec<i32> = (0..128).map(|_| (random.below(3) * random.below(3)) as i32).collect();
        let mut s = system();
        let (pl, count, sum) =
            (ints(&mut s, "label", &label), ints(&mut s, "count", &[0; 5]), ints(&mut s, "sum", &[0; 5]));
        clean(&mut s, &program, &launch([2, 1, 1], [64, 1, 1], &[P(pl), P(count), P(sum)]), seed);
        let of = |l: i32| (0..128).filter(|i| label[*i as usize] == l).collect::<Vec<i32>>();
        let all: Vec<Vec<i32>> = (0..5).map(of).collect();
        assert_eq!(read_ints(&s, count, 5), all.iter().map(|v| v.len() as i32).collect::<Vec<_>>());
        assert_eq!(read_ints(&s, sum, 5), all.iter().map(|v| v.iter().sum()).collect::<Vec<i32>>());
    }
}

/// A step of the wave.
fn stepped(x: &[u32]) -> Vec<u32> {
    let n = x.len();
    let sum = |i: usize| x[(i + n - 1) % n].wrapping_add(x[i] * 3).wrapping_add(x[(i + 1) % n]);
    (0..n).map(sum).collect()
}

#[test]
fn grid_steps() {
    let program = kernel("groups", "grid_steps");
    for seed in SEEDS {
        let (n, steps) = (300, 5);
        let mut random = Random(seed);
        let x: Vec<u32> = (0..n).map(|_| random.below(1000)).collect();
        let mut s = system();
        let (a, b) = (s.u32s("a", &x), s.u32s("b", &vec![0; n]));
        let launch = launch([4, 1, 1], [64, 1, 1], &[I(n as i32), I(steps), P(a), P(b)]);
        // Twice, as the barrier's counter outlives a launch; a then holds the last step but one.
        for _ in 0..2 {
            let before = s.read_u32s(a, n);
            clean(&mut s, &program, &launch, seed);
            assert_eq!(s.read_u32s(b, n), (0..steps).fold(before, |x, _| stepped(&x)));
        }
    }
}

#[test]
fn votes() {
    let program = kernel("groups", "votes");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..64).map(|i| random.below(if i < 32 { 7 } else { 90 }) as i32).collect();
        let mut s = system();
        let (px, out) = (ints(&mut s, "in", &x), s.u32s("out", &[0; 512]));
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(px), P(out)]), seed);
        let mask = |warp: &[i32], f: &dyn Fn(i32) -> bool| {
            warp.iter().enumerate().fold(0u32, |m, (lane, v)| m | u32::from(f(*v)) << lane)
        };
        for (i, got) in s.read_u32s(out, 512).chunks(8).enumerate() {
            let warp = &x[i / 32 * 32..i / 32 * 32 + 32];
            let same = warp.iter().all(|v| v / 64 == warp[0] / 64);
            let want = [
                u32::from(warp.contains(&3)),
                u32::from(warp.iter().all(|v| *v < 7)),
                mask(warp, &|v| v % 2 == 1),
                mask(warp, &|v| v == x[i]),
                if same { u32::MAX } else { 0 },
                same.into(),
                warp.iter().sum::<i32>() as u32,
                warp.iter().fold(0, |a, v| a ^ (*v as u32).wrapping_mul(2654435761)),
            ];
            assert_eq!(got, want, "thread {i}");
        }
    }
}

#[test]
fn sum_f64() {
    let program = kernel("groups", "sum_f64");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<f64> = (0..1000).map(|_| f64::from(random.next() >> 4) / 1024.0).collect();
        let mut s = system();
        let px = s.upload("x", &x, |x| x.to_le_bytes());
        let sum = s.upload("sum", &[0.5f64], |x| x.to_le_bytes());
        clean(&mut s, &program, &launch([1; 3], [96, 1, 1], &[I(1000), P(px), P(sum)]), seed);
        assert_eq!(read_doubles(&s, sum, 1), [0.5 + x.iter().sum::<f64>()]);
    }
}

#[test]
fn argmax() {
    let program = kernel("groups", "argmax");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<f32> = (0..500).map(|_| random.below(50) as f32 - 60.0).collect();
        let mut s = system();
        let (px, best) = (s.f32s("x", &x), s.upload("best", &[0u64], |x| x.to_le_bytes()));
        clean(&mut s, &program, &launch([2, 1, 1], [64, 1, 1], &[I(500), P(px), P(best)]), seed);
        let most = x.iter().copied().fold(f32::MIN, f32::max);
        let place = x.iter().position(|x| *x == most).unwrap() as u32;
        let got = read_u64s(&s, best, 1)[0];
        assert_eq!((!(got as u32), !((got >> 32) as u32)), (place, most.to_bits()));
    }
}

#[test]
fn last_block_sum() {
    let program = kernel("groups", "last_block_sum");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..3000).map(|_| random.below(1000) as i32 - 300).collect();
        let mut s = system();
        let (px, partial) = (ints(&mut s, "x", &x), s.allocate(4 * 6, "partial").unwrap());
        let (ticket, sum) = (s.u32s("ticket", &[0]), ints(&mut s, "sum", &[0]));
        let args = [I(3000), P(px), P(partial), P(ticket), P(sum)];
        clean(&mut s, &program, &launch([6, 1, 1], [96, 1, 1], &args), seed);
        assert_eq!(read_ints(&s, sum, 1), [x.iter().sum::<i32>()]);
    }
}
