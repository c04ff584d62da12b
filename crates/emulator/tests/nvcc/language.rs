//! Calls, tables, local arrays, switches, printing.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, clean, ints, kernel, read_doubles, read_ints, read_u64s};

#[test]
fn recursion() {
    let program = kernel("language", "recursion");
    let (m, n): (Vec<u32>, Vec<u32>) = (0..32).map(|i| (i % 3, i / 5)).unzip();
    for seed in SEEDS {
        let mut s = system();
        let (pm, pn, out) = (s.u32s("m", &m), s.u32s("n", &n), s.u32s("out", &[0; 32]));
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pm), P(pn), P(out)]), seed);
        // The function's closed forms.
        let want = m.iter().zip(&n).map(|(m, n)| [n + 1, n + 2, 2 * n + 3][*m as usize]);
        assert_eq!(s.read_u32s(out, 32), want.collect::<Vec<_>>());
    }
}

#[test]
fn structures() {
    let program = kernel("language", "structures");
    for seed in SEEDS {
        let mut s = system();
        let out = s.allocate(16 * 64, "out").unwrap();
        let mut pair = [0; 16];
        pair[..8].copy_from_slice(&(-3i64).to_le_bytes());
        pair[8..12].copy_from_slice(&0.5f32.to_le_bytes());
        pair[12..14].copy_from_slice(&700i16.to_le_bytes());
        let mut launch = launch([1; 3], [64, 1, 1], &[]);
        launch.push(&pair).push(&out.0.to_le_bytes());
        clean(&mut s, &program, &launch, seed);
        for t in 0..64usize {
            let (mut a, mut b, mut c) = (-3i64, 0.5f32, 700i16);
            for k in 0..=(t % 5) as i64 {
                let k = k + t as i64;
                a = a * k + i64::from(c);
                b += k as f32;
                c -= k as i16;
            }
            let mut got = [0; 14];
            s.read(out.offset(16 * t as u64), &mut got).unwrap();
            let want: Vec<u8> = [&a.to_le_bytes()[..], &b.to_le_bytes(), &c.to_le_bytes()].concat();
            assert_eq!(got[..], want, "thread {t}");
        }
    }
}

#[test]
fn stack_machine() {
    let program = kernel("language", "stack_machine");
    // x² + 7, negated unless x > 10; then three times that, by a swap; some bits changed, and halved.
    let code = [0u8, 5, 3, 1, 7, 2, 0, 1, 10, 4, 2, 6, 1, 4, 1, 3, 7, 3, 8, 9, 10];
    for seed in SEEDS {
        let mut s = system();
        let (pc, out) = (s.upload("code", &code, |x| [*x]), ints(&mut s, "out", &[0; 32]));
        clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[P(pc), P(out)]), seed);
        let want = |x: i32| {
            let y = if x > 10 { x * x + 7 } else { -(x * x + 7) };
            ((3 * y) ^ 0x55) >> 1
        };
        assert_eq!(read_ints(&s, out, 32), (0..32).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn local_sort() {
    let program = kernel("language", "local_sort");
    for (seed, n) in SEEDS.into_iter().zip([24usize, 7]) {
        let mut random = Random(seed);
        let x: Vec<i32> = (0..64 * n).map(|_| random.below(100) as i32 - 50).collect();
        let mut s = system();
        let (px, out) = (ints(&mut s, "in", &x), ints(&mut s, "out", &vec![0; 64 * n]));
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[I(n as i32), P(px), P(out)]), seed);
        let mut want = x.clone();
        want.chunks_mut(n).for_each(<[i32]>::sort);
        assert_eq!(read_ints(&s, out, 64 * n), want);
    }
}

#[test]
fn constants() {
    let program = kernel("language", "constants");
    let which: Vec<i32> = (0..64).map(|i| 7 * i % 23).collect();
    for seed in SEEDS {
        let mut s = system();
        let pw = ints(&mut s, "which", &which);
        let (out, tickets) = (s.allocate(8 * 64, "out").unwrap(), s.allocate(4 * 64, "tickets").unwrap());
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(pw), P(out), P(tickets)]), seed);
        let (primes, weights) = ([2, 3, 5, 7, 11, 13, 17, 19], [[0.5, 0.25], [2.0, -1.0], [8.0, 3.5]]);
        let want = |w: &i32| {
            let w = *w as usize;
            f64::from(primes[w % 8]) * weights[w % 3][w % 2]
        };
        assert_eq!(read_doubles(&s, out, 64), which.iter().map(want).collect::<Vec<_>>());
        let mut tickets = s.read_u32s(tickets, 64);
        tickets.sort();
        assert_eq!(tickets, (40..104).collect::<Vec<_>>());
    }
}

#[test]
fn print() {
    let program = kernel("language", "print");
    for seed in SEEDS {
        let mut s = system();
        let outcome = clean(&mut s, &program, &launch([1; 3], [32, 1, 1], &[I(3), F(1.25)]), seed);
        let line = |t: i32| format!("thread {t} of block: {:.3}, 1099511627776,    ff|\n", 1.25 * f64::from(t));
        assert_eq!(outcome.printed, (0..3).map(line).collect::<String>());
    }
}

#[test]
fn division() {
    let program = kernel("language", "division");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut wide = || (i64::from(random.next()) << 32 | i64::from(random.next())) >> random.below(60);
        let mut a: Vec<i64> = (0..64).map(|_| wide()).collect();
        let mut b: Vec<i64> = (0..64).map(|_| wide()).map(|x| if x == 0 { 3 } else { x }).collect();
        (a[0], b[0]) = (i64::MIN, 1);
        (a[1], b[1]) = (i64::MAX, -1);
        (a[2], b[2]) = (-7, 2);
        let mut s = system();
        let (pa, pb) = (s.upload("a", &a, |x| x.to_le_bytes()), s.upload("b", &b, |x| x.to_le_bytes()));
        let out = s.allocate(64 * 64, "out").unwrap();
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(pa), P(pb), P(out)]), seed);
        for ((got, a), b) in read_u64s(&s, out, 512).chunks(8).zip(a).zip(b) {
            let (x, y) = (a as i32, b as i32 | 1);
            let want = [
                a.wrapping_div(b),
                a.wrapping_rem(b),
                (a as u64 / b as u64) as i64,
                (a as u64 % b as u64) as i64,
                if x == i32::MIN { 0 } else { i64::from(x / y) },
                i64::from(x as u32 % y as u32),
                ((i128::from(a) * i128::from(b)) >> 64) as i64,
                a / 7 + i64::from(x as u32 / 10),
            ];
            assert_eq!(got, want.map(|x| x as u64), "{a} and {b}");
        }
    }
}

#[test]
fn bits() {
    let program = kernel("language", "bits");
    for seed in SEEDS {
        let mut random = Random(seed);
        let mut x: Vec<u32> = (0..64).map(|_| random.next() >> random.below(32)).collect();
        (x[0], x[1]) = (0, u32::MAX);
        let mut s = system();
        let (px, out) = (s.u32s("in", &x), s.u32s("out", &[0; 512]));
        clean(&mut s, &program, &launch([1; 3], [64, 1, 1], &[P(px), P(out)]), seed);
        for (got, x) in s.read_u32s(out, 512).chunks(8).zip(x) {
            let (own, other) = (x.to_le_bytes(), (!x).to_le_bytes());
            let pair = u64::from(x.wrapping_mul(3)) << 32 | u64::from(x);
            let add: Vec<u8> = own.iter().zip(0x80ff01feu32.to_le_bytes()).map(|(a, b)| a.wrapping_add(b)).collect();
            let dot = |(a, b): (&u8, u8)| i32::from(*a as i8) * i32::from(b as i8);
            let want = [
                x.count_ones(),
                x.leading_zeros(),
                x.reverse_bits(),
                if x == 0 { 0 } else { x.trailing_zeros() + 1 },
                u32::from_le_bytes([other[1], own[1], other[3], own[3]]),
                ((pair << (x % 40 % 32)) >> 32) as u32,
                u32::from_le_bytes(add.try_into().unwrap()),
                (5 + own.iter().zip(0x01ff7f80u32.to_le_bytes()).map(dot).sum::<i32>()) as u32,
            ];
            assert_eq!(got, want, "{x:#x}");
        }
    }
}
