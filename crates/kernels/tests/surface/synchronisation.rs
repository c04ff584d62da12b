//! Barriers, mbarriers, warps, clusters, grids.

use crate::harness::{Case, CaseParams, Host, words};
use warpsmith_dsl::prelude::*;

fn hopper(t: Target) -> bool {
    t.number >= 90
}

/// `y` is `x` in reverse, exchanged through shared memory that `f` synchronises.
fn exchange(name: &str, threads: usize, f: impl Fn(&Shared<U32>, U32, U32) -> U32 + Send + Sync + 'static) -> Case {
    let body = move |a: &CaseParams| {
        let i = thread_idx().x;
        let tile = Shared::<U32>::new("tile", threads);
        let x = a.x.at::<U32>((i,)).load();
        a.y.at::<U32>((i,)).store(f(&tile, i, x));
    };
    Case::new(name, DType::U32, (DType::U32, threads), words::<u32>(threads), body, |x, y| {
        let mut right = u32::read(x);
        right.reverse();
        assert_eq!(u32::read(y), right);
    })
    .launch(Launch::grid(1).block(threads))
}

/// What each of 32 lanes makes of its `x`.
fn warp(
    name: &str,
    f: impl Fn(U32) -> U32 + Send + Sync + 'static,
    right: impl Fn(&[u32]) -> Vec<u32> + Send + Sync + 'static,
) -> Case {
    let body = move |a: &CaseParams| {
        let i = thread_idx().x;
        a.y.at::<U32>((i,)).store(f(a.x.at::<U32>((i,)).load()));
    };
    Case::new(name, DType::U32, (DType::U32, 32), words::<u32>(32), body, move |x, y| {
        assert_eq!(u32::read(y), right(&u32::read(x)));
    })
}

pub fn cases() -> Vec<Case> {
    let mut all = barriers();
    all.extend(mbarriers());
    all.extend(warps());
    all.extend(clusters());
    all
}

fn barriers() -> Vec<Case> {
    vec![
        exchange("sync_threads", 64, |tile, i, x| {
            tile.set(i, x);
            sync_threads();
            tile.get(63 - i)
        }),
        exchange("named barriers", 64, |tile, i, x| {
            // The first warp writes and goes on; the second waits for it. Then the other way round.
            tile.set(i, x);
            when(i.lt(32), || arrive_named(1, 64)).otherwise(|| sync_named(1, 64));
            when(i.lt(32), || sync_named(2, 64)).otherwise(|| arrive_named(2, 64));
            tile.get(63 - i)
        }),
        exchange("sync_threads_count", 64, |tile, i, x| {
            tile.set(i, x);
            let count = sync_threads_count(i.lt(10));
            tile.get(63 - i) + select(count.eq(10), U32::from(0), 1)
        }),
        exchange("sync_threads_all", 64, |tile, i, x| {
            tile.set(i, x);
            let all = sync_threads_all(i.lt(64));
            tile.get(63 - i) + select(all, U32::from(0), 1)
        }),
        exchange("sync_threads_any", 64, |tile, i, x| {
            tile.set(i, x);
            let any = sync_threads_any(i.eq(70));
            tile.get(63 - i) + select(any, U32::from(1), 0)
        }),
        Case::new(
            "grid barrier",
            DType::U32,
            (DType::U32, 4 * 64),
            // The counter begins anywhere: only its highest bit counts, and each round flips that.
            words::<u32>(1),
            |a: &CaseParams| {
                let (b, i) = (block_idx().x, thread_idx().x);
                let barrier = GridBarrier::new(a.counter.at::<U32>((0,)));
                let mine = a.y.at::<U32>((b * 64 + i,));
                mine.store(b * 100 + i);
                for round in 0..3 {
                    barrier.sync();
                    let other = a.y.at::<U32>(((b + 1) % 4 * 64 + i,)).load();
                    barrier.sync();
                    mine.store(other + round);
                }
            },
            |_, y| {
                let right: Vec<u32> = (0..256).map(|i| (i / 64 + 3) % 4 * 100 + i % 64 + 3).collect();
                assert_eq!(u32::read(y), right);
            },
        )
        .launch(Launch::grid(4).block(64).cooperative()),
        Case::new(
            "programmatic launch",
            DType::U32,
            (DType::U32, 32),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = thread_idx().x;
                wait_for_upstream();
                a.y.at::<U32>((i,)).store(a.x.at::<U32>((i,)).load());
                launch_dependents();
            },
            |x, y| assert_eq!(x, y),
        )
        .launch(Launch::grid(1).block(32).pdl()),
        Case::new(
            "sleep and spin",
            DType::U32,
            (DType::U32, 64),
            words::<u32>(4),
            |a: &CaseParams| {
                let i = thread_idx().x;
                let (flag, handed) = (Shared::<U32>::new("flag", 1), Shared::<U32>::new("handed", 1));
                when(i.eq(0), || flag.set(0, 0));
                sync_threads();
                when(i.ge(32), || {
                    spin("the first warp")
                        .at_most(100_000)
                        .sleeping(20)
                        .until(|| flag.at(0).acquire(Scope::Block).load().eq(1));
                    a.y.at::<U32>((i,)).store(handed.get(0));
                })
                .otherwise(|| {
                    when(i.eq(5), || {
                        sleep_nanoseconds(100);
                        handed.set(0, 7);
                        flag.at(0).release(Scope::Block).store(1);
                    });
                    a.y.at::<U32>((i,)).store(i);
                });
            },
            |_, y| assert_eq!(u32::read(y), (0..64).map(|i| if i < 32 { i } else { 7 }).collect::<Vec<u32>>()),
        )
        .launch(Launch::grid(1).block(64)),
    ]
}

fn mbarriers() -> Vec<Case> {
    vec![
        exchange("mbarrier phases", 64, |tile, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            let barrier = barriers.at(0);
            when(i.eq(0), || barriers.init(64));
            sync_threads();
            tile.set(i, x);
            let phase = barrier.arrive_phase();
            barrier.wait_phase(phase);
            tile.get(63 - i)
        }),
        exchange("mbarrier parity", 64, |tile, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            let barrier = barriers.at(0);
            when(i.eq(0), || barriers.init(64));
            sync_threads();
            tile.set(i, x);
            barrier.arrive();
            spin("the phase").until(|| barrier.test_wait(0));
            let y = tile.get(63 - i);
            sync_threads();
            when(i.eq(0), || barrier.invalidate());
            y
        }),
        exchange("mbarrier try_wait", 64, |tile, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            let barrier = barriers.at(0);
            when(i.eq(0), || barriers.init(64));
            sync_threads();
            tile.set(i, x);
            barrier.arrive();
            barrier.wait(0);
            tile.get(63 - i)
        })
        .on(hopper),
        exchange("mbarrier counts", 64, |tile, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            let barrier = barriers.at(0);
            when(i.eq(0), || barriers.init(66));
            sync_threads();
            let left = var(U32::from(0));
            when(i.eq(0), || {
                barrier.expect(16);
                left.set(barrier.arrive_without_end(1).pending());
            });
            tile.set(i, x);
            when(i.eq(0), || {
                barrier.complete(16);
                barrier.arrive_many(2);
            })
            .otherwise(|| _ = barrier.arrive_drop());
            barrier.wait(0);
            tile.get(63 - i) + select(left.get().gt(66), U32::from(1), 0)
        })
        .on(hopper),
    ]
}

fn warps() -> Vec<Case> {
    vec![
        warp("shuffle_xor", |x| shuffle_xor(&x, 5), |x| (0..32).map(|i| x[i ^ 5]).collect()),
        warp("shuffle_from", |x| shuffle_from(&x, (lane_idx() * 3) % 32), |x| (0..32).map(|i| x[i * 3 % 32]).collect()),
        warp("shuffle_down", |x| shuffle_down(&x, 4), |x| (0..32).map(|i| x[if i < 28 { i + 4 } else { i }]).collect()),
        warp("shuffle_up", |x| shuffle_up(&x, 4), |x| (0..32).map(|i| x[if i >= 4 { i - 4 } else { i }]).collect()),
        warp("lanes xor", |x| lanes(8).shuffle_xor(&x, 3), |x| (0..32).map(|i| x[i ^ 3]).collect()),
        warp("lanes from", |x| lanes(8).shuffle_from(&x, 2), |x| (0..32).map(|i| x[i / 8 * 8 + 2]).collect()),
        warp(
            "lanes down",
            |x| lanes(16).shuffle_down(&x, 3),
            |x| (0..32).map(|i| x[if i % 16 < 13 { i + 3 } else { i }]).collect(),
        ),
        warp(
            "lanes up",
            |x| lanes(16).shuffle_up(&x, 3),
            |x| (0..32).map(|i| x[if i % 16 >= 3 { i - 3 } else { i }]).collect(),
        ),
        warp("shuffle of bytes", |x| shuffle_xor(&x.u8(), 1).u32(), |x| (0..32).map(|i| x[i ^ 1] & 255).collect()),
        warp("shuffle of doubles", |x| shuffle_xor(&x.f64(), 1).u32(), |x| (0..32).map(|i| x[i ^ 1]).collect()),
        warp(
            "shuffle of truth",
            |x| select(shuffle_xor(&x.gt(9), 1), U32::from(1), 0),
            |x| (0..32).map(|i| u32::from(x[i ^ 1] > 9)).collect(),
        ),
        warp(
            "votes",
            |x| {
                let bit = |c: Bool, n: usize| select(c, U32::from(n), 0);
                let (some, odd) = (x.gt(9), (x % 2).eq(1));
                bit(all_lanes(some), 1) | bit(any_lane(odd), 2) | bit(is_uniform(lane_idx().lt(40)), 4)
            },
            |x| {
                let all = u32::from(x.iter().all(|x| *x > 9)) | u32::from(x.iter().any(|x| x % 2 == 1)) << 1 | 4;
                vec![all; 32]
            },
        ),
        warp(
            "ballot",
            |x| ballot(x.gt(1 << 31)) & lanes_below(),
            |x| {
                let all = (0..32).filter(|i| x[*i] > 1 << 31).fold(0u32, |m, i| m | 1 << i);
                (0..32).map(|i| all & ((1 << i) - 1)).collect()
            },
        ),
        // Who is with whom is the machine's to choose, but nobody is without itself.
        warp("active_lanes", |x| select((active_lanes() >> lane_idx() & 1).eq(1), x, 0), |x| x.to_vec()),
        warp(
            "match_lanes",
            |x| match_lanes(x % 3),
            |x| (0..32).map(|i| (0..32).filter(|j| x[*j] % 3 == x[i] % 3).fold(0u32, |m, j| m | 1 << j)).collect(),
        ),
        warp(
            "match_all_lanes",
            |x| select(match_all_lanes(x >> 31usize >> 1usize) & !match_all_lanes(lane_idx()), x, 0),
            |x| x.to_vec(),
        ),
        warp(
            "redux",
            |x| {
                let small = x & 0xff;
                small.warp_sum()
                    + small.warp_min() * 3
                    + small.warp_max() * 5
                    + (small.warp_and() ^ small.warp_or()) * 7
                    + small.warp_xor() * 11
            },
            |x| {
                let s: Vec<u32> = x.iter().map(|x| x & 0xff).collect();
                let (and, or) = (s.iter().fold(255, |a, b| a & b), s.iter().fold(0, |a, b| a | b));
                let xor = s.iter().fold(0, |a, b| a ^ b);
                let (min, max) = (s.iter().min().unwrap(), s.iter().max().unwrap());
                vec![s.iter().sum::<u32>() + min * 3 + max * 5 + (and ^ or) * 7 + xor * 11; 32]
            },
        ),
        warp(
            "redux signed",
            |x| {
                let s = x.i32() >> 20usize;
                (s.warp_sum() + s.warp_min() * 3 + s.warp_max() * 5).as_u32()
            },
            |x| {
                let s: Vec<i32> = x.iter().map(|x| *x as i32 >> 20).collect();
                vec![(s.iter().sum::<i32>() + s.iter().min().unwrap() * 3 + s.iter().max().unwrap() * 5) as u32; 32]
            },
        ),
        warp(
            "warp_max of floats",
            |x| {
                let f = (x & 0xffff).f32();
                f.warp_max().u32() + f.warp_min().u32()
            },
            |x| {
                let s: Vec<u32> = x.iter().map(|x| x & 0xffff).collect();
                vec![s.iter().max().unwrap() + s.iter().min().unwrap(); 32]
            },
        ),
        warp(
            "warp_reduce",
            |x| warp_reduce(x & 0xff, 8, |a, b| a + b),
            |x| (0..32).map(|i| x[i / 8 * 8..i / 8 * 8 + 8].iter().map(|x| x & 0xff).sum()).collect(),
        ),
        warp(
            "elect",
            |x| {
                let mine = var(U32::from(0));
                when(elect(), || mine.set(1));
                (x >> 31usize >> 1usize) | mine.get().warp_sum()
            },
            |_| vec![1; 32],
        )
        .on(hopper),
        exchange("sync_warp", 32, |tile, i, x| {
            tile.set(i, x);
            sync_warp();
            tile.get(31 - i)
        }),
    ]
}

/// The cluster's blocks have started, and see each other's mbarriers.
fn start_cluster() {
    arrive_cluster_relaxed();
    wait_cluster();
}

fn clusters() -> Vec<Case> {
    // Each of two blocks reads what the other wrote.
    let swap = |name: &str, f: fn(&Shared<U32>, U32, U32, U32) -> U32| {
        let body = move |a: &CaseParams| {
            let (b, i) = (cluster_rank(), thread_idx().x);
            let tile = Shared::<U32>::aligned("tile", 32, 16);
            let at = block_idx().x * 32 + i;
            let x = a.x.at::<U32>((at,)).load();
            a.y.at::<U32>((at,)).store(f(&tile, b, i, x));
        };
        Case::new(name, DType::U32, (DType::U32, 128), words::<u32>(128), body, |x, y| {
            let x = u32::read(x);
            let right: Vec<u32> = (0..128).map(|i| x[i ^ 32]).collect();
            assert_eq!(u32::read(y), right);
        })
        .launch(Launch::grid(4).block(32).cluster(2))
        .on(hopper)
    };
    vec![
        swap("cluster sync", |tile, rank, i, x| {
            tile.set(i, x);
            sync_cluster();
            let other = tile.at(i).in_block(rank ^ 1).load();
            sync_cluster();
            other
        }),
        swap("cluster arrive wait", |tile, rank, i, x| {
            arrive_cluster_relaxed();
            wait_cluster();
            tile.at(i).in_block(rank ^ 1).store(x);
            arrive_cluster();
            wait_cluster();
            tile.get(i)
        }),
        swap("cluster atomics", |tile, rank, i, x| {
            tile.set(i, 0);
            sync_cluster();
            tile.at(i).in_block(rank ^ 1).relaxed(Scope::Cluster).fetch_add(x);
            tile.at(i).relaxed(Scope::Cluster).fetch_add(0);
            sync_cluster();
            tile.get(i)
        }),
        swap("cluster positions", |tile, rank, i, x| {
            tile.set(i, x);
            sync_cluster();
            let (cluster, here, size) = (cluster_idx().x, block_in_cluster().x, cluster_size().x);
            let right = block_idx().x.eq(cluster * size + here)
                & here.eq(rank)
                & cluster_blocks().eq(2)
                & cluster_count().x.eq(2);
            let other = tile.at(i).in_block(rank ^ 1).load();
            sync_cluster();
            select(right, other, 0)
        }),
        swap("remote arrivals", |tile, rank, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            when(i.eq(0), || {
                barriers.init(32);
                fence_barrier_init();
            });
            start_cluster();
            tile.at(i).in_block(rank ^ 1).store(x);
            barriers.at(0).in_block(rank ^ 1).arrive();
            // Nobody exits before the other's writes have come.
            barriers.at(0).wait_cluster(0);
            tile.get(i)
        }),
        swap("store_async", |tile, rank, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            when(i.eq(0), || {
                barriers.init(1);
                fence_barrier_init();
                barriers.at(0).arrive_expect(128);
            });
            start_cluster();
            tile.at(i).in_block(rank ^ 1).store_async(x, barriers.at(0).in_block(rank ^ 1));
            // Nobody exits before the other's writes have come.
            barriers.at(0).wait_cluster(0);
            tile.get(i)
        }),
        swap("store_async vector", |tile, rank, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            when(i.eq(0), || {
                barriers.init(1);
                fence_barrier_init();
                barriers.at(0).arrive_expect(128);
            });
            start_cluster();
            let four = [0, 1, 2, 3].map(|k| shuffle_from(&x, (i * 4 + k) % 32));
            when(i.lt(8), || {
                let to = tile.at(Dim::from(i) * 4).in_block(rank ^ 1);
                to.store_async_vector(four, barriers.at(0).in_block(rank ^ 1));
            });
            // Nobody exits before the other's writes have come.
            barriers.at(0).wait_cluster(0);
            tile.get(i)
        }),
        swap("reduce_async", |tile, rank, i, x| {
            let barriers = Mbarriers::new("barrier", 1);
            tile.set(i, 0);
            when(i.eq(0), || {
                barriers.init(1);
                fence_barrier_init();
                barriers.at(0).arrive_expect(128);
            });
            sync_cluster();
            tile.at(i).in_block(rank ^ 1).reduce_async(Atomic::Add, x, barriers.at(0).in_block(rank ^ 1));
            // Nobody exits before the other's writes have come.
            barriers.at(0).wait_cluster(0);
            tile.get(i)
        }),
    ]
}
