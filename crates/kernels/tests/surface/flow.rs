//! Control flow, as the kernel runs it.

use crate::harness::{Case, CaseParams, Host, unary, words};
use warpsmith_dsl::prelude::*;

pub fn cases() -> Vec<Case> {
    let small = |r: &mut warpsmith_kernels::random::Random| {
        u32::write(&(0..32).map(|_| r.below(20) as u32).collect::<Vec<_>>())
    };
    vec![
        unary::<U32, U32, u32, u32>(
            "when otherwise",
            small,
            |x| {
                let out = var(U32::from(0));
                when(x.lt(5), || out.set(x * 3)).otherwise(|| out.set(x + 100));
                out.get()
            },
            |x| if x < 5 { x * 3 } else { x + 100 },
        ),
        unary::<U32, U32, u32, u32>(
            "branch select",
            small,
            |x| branch((x % 2).eq(0), || x / 2, || x * 3 + 1) + select(x.gt(9), U32::from(1000), 0),
            |x| (if x % 2 == 0 { x / 2 } else { x * 3 + 1 }) + if x > 9 { 1000 } else { 0 },
        ),
        unary::<U32, U32, u32, u32>(
            "range step",
            small,
            |x| {
                let sum = var(U32::from(0));
                for i in range(1, x).step(3) {
                    sum.add(i * i);
                }
                sum.get()
            },
            |x| (1..x.max(1)).step_by(3).map(|i| i * i).sum(),
        ),
        unary::<U32, U32, u32, u32>(
            "range unroll",
            small,
            |x| {
                let sum = var(U32::from(0));
                for i in range(0, x).unroll(4) {
                    sum.add(i * 7);
                }
                sum.get()
            },
            |x| (0..x).map(|i| i * 7).sum(),
        ),
        unary::<U32, U32, u32, u32>(
            "repeat break",
            small,
            |x| {
                let (n, steps) = (var(x + 1), var(U32::from(0)));
                repeat(|| {
                    break_if(n.get().eq(1));
                    n.update(|n| branch((n % 2).eq(0), || n / 2, || n * 3 + 1));
                    steps.add(1);
                });
                steps.get()
            },
            |x| {
                let (mut n, mut steps) = (x + 1, 0);
                while n != 1 {
                    n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
                    steps += 1;
                }
                steps
            },
        ),
        unary::<U32, U32, u32, u32>(
            "continue",
            small,
            |x| {
                let sum = var(U32::from(0));
                for i in range(0, x) {
                    continue_if((i % 3).eq(1));
                    sum.add(i);
                    for j in range(0, i) {
                        continue_if(j.gt(4));
                        sum.add(j);
                    }
                }
                sum.get()
            },
            |x| (0..x).filter(|i| i % 3 != 1).map(|i| i + (0..i).filter(|j| *j <= 4).sum::<u32>()).sum(),
        ),
        unary::<U32, U32, u32, u32>(
            "bundles in registers",
            small,
            |x| {
                let both = var((x, F32::from(0.5)));
                for _ in range(0, 3) {
                    both.update(|(n, f)| (n + 1, f * 2.0));
                }
                let (n, f) = both.get();
                n + f.u32()
            },
            |x| x + 3 + 4,
        ),
        Case::new(
            "when uniform",
            DType::U32,
            (DType::U32, 32),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = Dim::from(thread_idx().x);
                let all = a.y.at::<U32>((i,));
                // A barrier may stand here, since the author promises that the whole block goes one way.
                when_uniform(grid_size().x.eq(1), || {
                    all.store(1);
                    sync_threads();
                    all.store(7);
                })
                .otherwise(|| all.store(9));
            },
            |_, y| assert_eq!(u32::read(y), [7; 32]),
        ),
        Case::new(
            "exit",
            DType::U32,
            (DType::U32, 32),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = thread_idx().x;
                a.y.at::<U32>((i,)).store(1);
                exit_if(i.ge(10));
                a.y.at::<U32>((i,)).store(2);
            },
            |_, y| assert_eq!(u32::read(y), [vec![2; 10], vec![1; 22]].concat()),
        ),
        Case::new(
            "inline ptx",
            DType::U32,
            (DType::U32, 32),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = thread_idx().x;
                let x = a.x.at::<U32>((i,)).load();
                let twice: U32 =
                    inline_ptx(".reg .b32 t; add.u32 t, {1}, {1}; xor.b32 {0}, t, {2};").arg(x).arg(i).value();
                a.y.at::<U32>((i,)).store(twice);
            },
            |x, y| {
                let right: Vec<u32> = u32::read(x).iter().zip(0..).map(|(x, i)| x.wrapping_mul(2) ^ i).collect();
                assert_eq!(u32::read(y), right);
            },
        ),
        Case::new(
            "positions",
            DType::U32,
            (DType::U32, 64),
            words::<u32>(4),
            |a: &CaseParams| {
                let (t, b, n, g) = (thread_idx(), block_idx(), block_size(), grid_size());
                let thread = (t.z * n.y + t.y) * n.x + t.x;
                let block = (b.z * g.y + b.y) * g.x + b.x;
                let threads = n.x * n.y * n.z;
                a.y.at::<U32>((block * threads + thread,)).store(thread * 100 + block);
            },
            |_, y| {
                let right: Vec<u32> = (0..64).map(|i| i % 8 * 100 + i / 8).collect();
                assert_eq!(u32::read(y), right);
            },
        )
        .launch(Launch::grid_3d([2, 2, 2]).block_3d([2, 2, 2])),
    ]
}
