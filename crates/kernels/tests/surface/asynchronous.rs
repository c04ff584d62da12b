//! Copies that go on by themselves: bulk copies, boxes of tensors, and memory of several devices.

use crate::harness::{Case, CaseParams, Host, words};
use warpsmith_dsl::cute::{cp_async_fence, cp_async_wait};
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::runs::{copy_async, copy_async_part};

fn hopper(t: Target) -> bool {
    t.number >= 90
}

/// 256 words through shared memory, moved by one thread.
fn bulk(name: &str, f: impl Fn(&CaseParams, &Shared<U32>) + Send + Sync + 'static) -> Case {
    let body = move |a: &CaseParams| f(a, &Shared::<U32>::aligned("tile", 256, 128));
    Case::new(name, DType::U32, (DType::U32, 256), words::<u32>(256), body, |x, y| assert_eq!(x, y)).on(hopper)
}

/// Loads by `f`, waits, and writes `y` from shared memory.
fn loaded(name: &str, f: impl Fn(&CaseParams, &Shared<U32>, Mbarrier) + Send + Sync + 'static) -> Case {
    bulk(name, move |a, tile| {
        let i = thread_idx().x;
        let barriers = Mbarriers::new("barrier", 1);
        let barrier = barriers.at(0);
        when(i.eq(0), || {
            barriers.init(1);
            fence_barrier_init();
        });
        sync_threads();
        when(i.eq(0), || {
            barrier.arrive_expect(1024);
            f(a, tile, barrier);
        });
        barrier.wait(0);
        for k in 0..8 {
            a.y.at::<U32>((i + k * 32,)).store(tile.get(i + k * 32));
        }
    })
}

/// Fills shared memory from `x`, and stores by `f`.
fn stored(name: &str, f: impl Fn(&CaseParams, &Shared<U32>) + Send + Sync + 'static) -> Case {
    bulk(name, move |a, tile| {
        let i = thread_idx().x;
        for k in 0..8 {
            tile.set(i + k * 32, a.x.at::<U32>((i + k * 32,)).load());
        }
        fence_async(Proxied::Shared);
        sync_threads();
        when(i.eq(0), || {
            f(a, tile);
            commit_bulk();
            wait_bulk_read(0);
        });
    })
}

/// `y` becomes `x − n` by a copy, to which `f` adds the `n`s of a tile.
fn reduced(name: &str, n: usize, f: impl Fn(&CaseParams, &Shared<U32>) + Send + Sync + 'static) -> Case {
    bulk(name, move |a, tile| {
        let i = thread_idx().x;
        let first = Shared::<U32>::aligned("first", 256, 128);
        for k in 0..8 {
            first.set(i + k * 32, a.x.at::<U32>((i + k * 32,)).load() - n);
            tile.set(i + k * 32, U32::from(n));
        }
        fence_async(Proxied::Shared);
        sync_threads();
        when(i.eq(0), || {
            Bulk::new().store(a.y.at((0,)), first.at(0), 256);
            commit_bulk();
            wait_bulk(0);
            f(a, tile);
            commit_bulk();
            wait_bulk_read(0);
        });
    })
}

/// 128 words through shared memory, 16 bytes a thread by `f` with a cache policy, read back by other threads.
fn copied(name: &str, f: impl Fn(Pointer<U8>, Pointer<U8>) + Send + Sync + 'static) -> Case {
    let body = move |a: &CaseParams| {
        let (i, tile) = (thread_idx().x, Shared::<U8>::aligned("tile", 512, 16));
        let first = a.x.at::<U32>((0,)).policy(CachePolicy::fractional(Eviction::First, 1.0)).cast::<U8>();
        // One offset for both is what has assemblers add a uniform register to it.
        let at = i * 16;
        f(tile.at(at).assume_aligned(16), first.offset(Dim::from(at)).assume_aligned(16));
        cp_async_fence();
        cp_async_wait(0);
        sync_threads();
        for k in 0..4 {
            let word = tile.at((i + k * 32) * 4).assume_aligned(4).cast::<U32>();
            a.y.at::<U32>((i + k * 32,)).store(word.load());
        }
    };
    Case::new(name, DType::U32, (DType::U32, 128), words::<u32>(128), body, |x, y| assert_eq!(x, y))
        .on(|t| t.number >= 80)
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        copied("copy policy", |to, from| copy_async(to, from, 16, None)),
        copied("copy policy, there", |to, from| copy_async(to, from, 16, Some(thread_idx().x.lt(32)))),
        copied("copy policy, a part", |to, from| copy_async_part(to, from, 16, 16)),
        loaded("bulk load", |a, tile, barrier| Bulk::new().load(tile.at(0), a.x.at((0,)), 256, barrier)),
        loaded("bulk load policy", |a, tile, barrier| {
            let bulk = Bulk::new().policy(CachePolicy::fractional(Eviction::First, 1.0));
            bulk.prefetch(a.x.at::<U32>((0,)), 256);
            bulk.load(tile.at(0), a.x.at((0,)), 256, barrier);
        }),
        loaded("bulk load in parts", |a, tile, barrier| {
            for k in 0..4 {
                Bulk::new().load(tile.at(k * 64), a.x.at((k * 64,)), 64, barrier);
            }
        }),
        stored("bulk store", |a, tile| Bulk::new().store(a.y.at((0,)), tile.at(0), 256)),
        reduced("bulk reduce", 1, |a, tile| Bulk::new().reduce(Atomic::Add, a.y.at((0,)), tile.at(0), 256)),
        loaded("box load", |a, tile, barrier| {
            let map = TmaTensor::new(&a.x, [64], Span::None);
            map.prefetch_map();
            for k in 0..4 {
                Bulk::new().load_box(tile.at(k * 64), &map, (k * 64,), barrier);
            }
        }),
        stored("box store", |a, tile| {
            let map = TmaTensor::new(&a.y, [64], Span::None);
            for k in 0..4 {
                Bulk::new().store_box(&map, (k * 64,), tile.at(k * 64));
            }
        }),
        reduced("box reduce", 3, |a, tile| {
            let map = TmaTensor::new(&a.y, [128], Span::None);
            Bulk::new().prefetch_box(&map, (0,));
            for k in 0..2 {
                Bulk::new().reduce_box(Atomic::Add, &map, (k * 128,), tile.at(k * 128));
            }
        }),
    ];
    all.extend(clusters());
    all.extend(multimem());
    all.push(changed_map());
    all
}

/// A tensor map with another address and extent, made on the device: `y` gets the last 64 elements of `x` twice.
fn changed_map() -> Case {
    let body = |a: &CaseParams| {
        let i = thread_idx().x;
        let (first, second) = (Shared::<U32>::aligned("first", 64, 128), Shared::<U32>::aligned("second", 64, 128));
        let barriers = Mbarriers::new("barrier", 1);
        when(i.eq(0), || {
            barriers.init(1);
            fence_barrier_init();
        });
        let map = TmaTensor::new(&a.x, [64], Span::None);
        let changed = TensorMapCopy::new(&map);
        when(i.eq(0), || {
            changed.set_address(a.x.at::<U32>((192,)).address());
            changed.set_extent(0, 64);
        });
        // The map stands behind the results, at a multiple of 128 bytes.
        let map = changed.publish(a.y.at::<U32>((128,)).cast(), Scope::Block);
        when(i.eq(0), || {
            barriers.at(0).arrive_expect(512);
            Bulk::new().load_box(first.at(0), &map, (0,), barriers.at(0));
            // From element 32 on, of 64: the rest is outside, and zero.
            Bulk::new().load_box(second.at(0), &map, (32,), barriers.at(0));
        });
        barriers.at(0).wait(0);
        for k in 0..2 {
            a.y.at::<U32>((i + k * 32,)).store(first.get(i + k * 32));
            a.y.at::<U32>((i + k * 32 + 64,)).store(second.get(i + k * 32));
        }
    };
    Case::new("tensor map changed", DType::U32, (DType::U32, 160), words::<u32>(256), body, |x, y| {
        let (x, y) = (u32::read(x), u32::read(y));
        assert_eq!(y[..64], x[192..]);
        assert_eq!((&y[64..96], &y[96..128]), (&x[224..], &[0; 32][..]));
    })
    .on(|t| t.specific)
}

fn clusters() -> Vec<Case> {
    // Two blocks; both get all of `x` in their part of `y`, by `f` from `x` or from what `before` puts into `from`.
    type Step = fn(&CaseParams, &Shared<U32>, &Shared<U32>, &Mbarriers);
    let both = |name: &str, before: Option<Step>, f: Step| {
        let body = move |a: &CaseParams| {
            let (b, i) = (block_idx().x, thread_idx().x);
            let (tile, from) = (Shared::<U32>::aligned("tile", 64, 128), Shared::<U32>::aligned("from", 64, 128));
            let barriers = Mbarriers::new("barrier", 1);
            when(i.eq(0), || {
                barriers.init(1);
                barriers.at(0).arrive_expect(256);
                if before.is_none() {
                    fence_barrier_init();
                }
            });
            match before {
                None => arrive_cluster_relaxed(),
                Some(before) => {
                    before(a, &tile, &from, &barriers);
                    // For what is sent, and for the barriers.
                    fence_async(Proxied::Shared);
                    arrive_cluster();
                }
            }
            wait_cluster();
            when(i.eq(0), || f(a, &tile, &from, &barriers));
            barriers.at(0).wait_cluster(0);
            for k in 0..2 {
                a.y.at::<U32>((b * 64 + i + k * 32,)).store(tile.get(i + k * 32));
            }
            // What is sent must be there until it has come.
            if before.is_some() {
                arrive_cluster_relaxed();
                wait_cluster();
            }
        };
        Case::new(name, DType::U32, (DType::U32, 128), words::<u32>(64), body, |x, y| {
            assert_eq!(y, [x, x].concat());
        })
        .launch(Launch::grid(2).block(32).cluster(2))
        .on(hopper)
    };
    fn fill(a: &CaseParams, from: &Shared<U32>, less: usize) {
        let i = thread_idx().x;
        for k in 0..2 {
            from.set(i + k * 32, a.x.at::<U32>((i + k * 32,)).load() - less);
        }
    }
    vec![
        both("bulk multicast", None, |a, tile, _, barriers| {
            when(cluster_rank().eq(0), || {
                Bulk::new().multicast(3).load(tile.at(0), a.x.at((0,)), 64, barriers.at(0));
            });
        }),
        both("box multicast", None, |a, tile, _, barriers| {
            let map = TmaTensor::new(&a.x, [32], Span::None);
            // Each block fetches a half for both.
            let half = Dim::from(cluster_rank()) * 32;
            Bulk::new().multicast(3).load_box(tile.at(half), &map, (half,), barriers.at(0));
        }),
        both("bulk send", Some(|a, _, from, _| fill(a, from, 0)), |_, tile, from, barriers| {
            let other = cluster_rank() ^ 1;
            Bulk::new().send(tile.at(0).in_block(other), from.at(0), 64, barriers.at(0).in_block(other));
        }),
        both(
            "bulk send reduce",
            Some(|a, tile, from, _| {
                fill(a, from, 7);
                for k in 0..2 {
                    tile.set(thread_idx().x + k * 32, 7);
                }
            }),
            |_, tile, from, barriers| {
                let other = cluster_rank() ^ 1;
                let (to, at) = (tile.at(0).in_block(other), barriers.at(0).in_block(other));
                Bulk::new().send_reduce(Atomic::Add, to, from.at(0), 64, at);
            },
        ),
    ]
}

fn multimem() -> Vec<Case> {
    let case = |name: &str, body: fn(&CaseParams)| {
        Case::new(
            name,
            DType::F32,
            (DType::F32, 4),
            |_: &mut warpsmith_kernels::random::Random| f32::write(&[1.0; 4]),
            body,
            |_, _| {},
        )
        .on(hopper)
        .assembled_only("multicast memory of several devices")
    };
    vec![
        case("multimem load", |a| {
            let four = a.x.at::<F32>((0,)).multimem_load::<4>(Atomic::Add);
            a.y.at::<F32>((0,)).store_vector(four);
        }),
        case("multimem store", |a| a.y.at::<F32>((0,)).multimem_store([1.0, 2.0, 3.0, 4.0].map(F32::from))),
        case("multimem reduce", |a| a.y.at::<F32>((0,)).multimem_reduce(Atomic::Add, [1.0, 2.0].map(F32::from))),
        case("multimem ordered", |a| {
            let x = a.x.at::<F32>((0,)).cast::<BF16x2>().acquire(Scope::System).multimem_load::<4>(Atomic::Add);
            a.y.at::<F32>((0,)).cast::<BF16x2>().release(Scope::System).multimem_store(x);
            let one = a.x.at::<F32>((0,)).cast::<U32>().relaxed(Scope::Device);
            one.multimem_reduce(Atomic::Max, one.multimem_load::<1>(Atomic::Min));
        }),
    ]
}
