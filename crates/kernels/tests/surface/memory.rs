//! Loads and stores of every kind, vectors, atomic operations, caches.

use crate::harness::{Case, CaseParams, Host, words};
use warpsmith_dsl::prelude::*;

/// Every thread copies one element of `x` through what `f` makes of both places.
fn copy(name: impl Into<String>, f: impl Fn(Pointer<U32>, Pointer<U32>) + Send + Sync + 'static) -> Case {
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x);
        f(a.x.at((i,)), a.y.at((i,)));
    };
    Case::new(name, DType::U32, (DType::U32, 32), words::<u32>(32), body, |x, y| assert_eq!(x, y))
}

/// Copies `N` neighbours at once.
fn vector<T: Element, const N: usize>(name: &str) -> Case {
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x) * (N * T::COUNT);
        a.y.at::<T>((i,)).store_vector(a.x.at::<T>((i,)).load_vector::<N>());
    };
    let count = 32 * N * T::COUNT;
    let bytes = count * T::DTYPE.bytes();
    Case::new(name, T::DTYPE, (T::DTYPE, count), words::<u8>(bytes), body, |x, y| assert_eq!(x, y))
}

/// All threads update one element of `y`, which `start` has; `right` says what comes of it.
fn atomic<T: Element, H: Host + PartialEq>(
    name: &str,
    start: H,
    f: impl Fn(Pointer<T>, T) + Send + Sync + 'static,
    value: impl Fn(U32) -> T + Send + Sync + 'static,
    right: H,
) -> Case {
    let body = move |a: &CaseParams| {
        let i = thread_idx().x;
        let place = a.y.at::<T>((0,));
        when(i.eq(0), || place.store(a.x.at::<T>((0,)).load()));
        sync_threads();
        f(place, value(i));
    };
    let fill = move |_: &mut warpsmith_kernels::random::Random| H::write(&[start]);
    Case::new(name, T::DTYPE, (T::DTYPE, T::COUNT), fill, body, move |_, y| assert_eq!(H::read(y), [right]))
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        copy("plain", |x, y| y.store(x.load())),
        copy("read only", |x, y| y.store(x.read_only().load())),
        copy("volatile", |x, y| y.volatile().store(x.volatile().load())),
        copy("load if", |x, y| y.store_if(thread_idx().x.lt(99), x.load_if(thread_idx().x.lt(99), 5))),
        copy("prefetching", |x, y| y.store(x.prefetching(Prefetch::Bytes128).load())),
        copy("no allocate", |x, y| y.l1(L1::NoAllocate).store(x.l1(L1::EvictFirst).load())),
        copy("policy fractional", |x, y| {
            let policy = CachePolicy::fractional(Eviction::First, 1.0);
            y.policy(policy).store(x.policy(policy).load());
        }),
        copy("policy range", |x, y| {
            let policy = CachePolicy::range(x, Eviction::Last, 128, 128);
            y.store(x.policy(policy).load());
        }),
        copy("lines", |x, y| {
            x.prefetch_l1();
            x.prefetch_l2();
            x.prefetch_l2_last();
            y.store(x.load());
        }),
        copy("generic", |x, y| {
            let [from, to] = [x, y].map(|p| Pointer::<U32>::generic(p.address()));
            to.store(from.load());
        }),
        copy("global address", |x, y| {
            Pointer::<U32>::global(y.address()).store(Pointer::<U32>::global(x.address()).load())
        }),
        vector::<F32, 4>("vector f32 4"),
        vector::<U8, 4>("vector u8 4"),
        vector::<U8, 1>("vector u8 1"),
        vector::<U16, 4>("vector u16 4"),
        vector::<BF16, 2>("vector bf16 2"),
        vector::<F64, 2>("vector f64 2"),
        vector::<E4M3, 4>("vector e4m3 4"),
        vector::<F16x2, 4>("vector f16x2 4"),
    ];
    for cache in [Cache::All, Cache::Global, Cache::Streaming, Cache::LastUse, Cache::Bypass] {
        all.push(copy(format!("load {}", cache.name()), move |x, y| y.store(x.cache(cache).load())));
    }
    for cache in [Cache::WriteBack, Cache::Global, Cache::Streaming, Cache::WriteThrough] {
        all.push(copy(format!("store {}", cache.name()), move |x, y| y.cache(cache).store(x.load())));
    }
    for scope in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
        let s = scope.name();
        let has: fn(Target) -> bool = if scope == Scope::Cluster { |t| t.number >= 90 } else { |_| true };
        all.push(copy(format!("relaxed {s}"), move |x, y| y.relaxed(scope).store(x.relaxed(scope).load())).on(has));
        all.push(copy(format!("ordered {s}"), move |x, y| y.release(scope).store(x.acquire(scope).load())).on(has));
        all.push(
            copy(format!("atomic {s}"), move |x, y| {
                y.store(0);
                y.ordered(Order::AcquireRelease, scope).fetch_add(x.load());
            })
            .on(has),
        );
        all.push(
            copy(format!("fence {s}"), move |x, y| {
                y.store(x.load());
                fence(Order::AcquireRelease, scope);
                fence_sequential(scope);
            })
            .on(has),
        );
    }
    all.extend(atomics());
    all.extend(shared());
    all.extend(parts());
    all
}

/// Parts of tiles and their fragments, of every dtype: at odd places, in vectors, past the end of the tensor.
fn parts() -> Vec<Case> {
    let mine = |t: &Tensor, vector: usize| {
        let tv = Tv::rows(1, 32, vector, 2).unwrap();
        t.broadcast(1).tile(tv.tile(), (0, 0)).partition(&tv, thread_idx().x)
    };
    let mut all = vec![];
    for dtype in DType::ALL {
        for (vector, len) in [(1, 37), (2, 102), (4, 204), (8, 400)] {
            let body = move |a: &CaseParams| mine(&a.y, vector).store(mine(&a.x, vector).load());
            let name = format!("part {dtype} {vector}");
            all.push(Case::new(name, dtype, (dtype, len), words::<u8>(len * dtype.bytes()), body, |x, y| {
                assert_eq!(x, y)
            }));
        }
    }
    // One element, at an index that is known at run time.
    for dtype in DType::ALL {
        for vector in [1, 2, 4, 8] {
            let body = move |a: &CaseParams| {
                let one = Tv::rows(1, 32, 1, 1).unwrap();
                let to = a.y.broadcast(1).tile(one.tile(), (0, 0)).partition(&one, thread_idx().x);
                to.store(mine(&a.x, vector).load().pick(thread_idx().x % (2 * vector)));
            };
            let name = format!("pick {dtype} {vector}");
            all.push(Case::new(
                name,
                dtype,
                (dtype, 32),
                words::<u8>(64 * vector * dtype.bytes()),
                body,
                move |x, y| {
                    for (lane, picked) in y.chunks(dtype.bytes()).enumerate() {
                        let index = lane % (2 * vector);
                        let column = index / vector * vector * 32 + lane * vector + index % vector;
                        assert_eq!(&x[column * dtype.bytes()..][..dtype.bytes()], picked);
                    }
                },
            ));
        }
    }
    // Through floats and back.
    let there = [F32, F16, BF16, E4M3, E5M2, DType::I8, DType::U8, DType::I16, DType::U16];
    for dtype in there {
        let has: fn(Target) -> bool = if matches!(dtype, E4M3 | E5M2) { |t| t.number >= 89 } else { |_| true };
        for (vector, len) in [(1, 37), (2, 102), (4, 204)] {
            let body = move |a: &CaseParams| mine(&a.y, vector).store(mine(&a.x, vector).load().f32().to(dtype));
            // Small numbers, which all of them have.
            let fill = move |r: &mut warpsmith_kernels::random::Random| {
                let values: Vec<f64> = (0..len).map(|_| r.below(8) as f64).collect();
                match dtype {
                    DType::I8 | DType::U8 => values.iter().map(|x| *x as u8).collect(),
                    DType::I16 | DType::U16 => values.iter().flat_map(|x| (*x as u16).to_le_bytes()).collect(),
                    E4M3 => values.iter().map(|x| warpsmith_types::convert::f32_to_e4m3(*x as f32)).collect(),
                    E5M2 => values.iter().map(|x| warpsmith_types::convert::f32_to_e5m2(*x as f32)).collect(),
                    _ => warpsmith_kernels::compare::encode(dtype, &values),
                }
            };
            let name = format!("fragment {dtype} through floats {vector}");
            all.push(Case::new(name, dtype, (dtype, len), fill, body, |x, y| assert_eq!(x, y)).on(has));
        }
    }
    let doubled = move |a: &CaseParams| {
        let elements = mine(&a.x, 4).load().elements::<I32>().into_iter().map(|x| x * 2);
        mine(&a.y, 4).store(Frag::of(&elements.collect::<Vec<_>>()));
    };
    all.push(Case::new("elements of a fragment", DType::I32, (DType::I32, 204), words::<i32>(204), doubled, |x, y| {
        assert_eq!(i32::read(y), i32::read(x).into_iter().map(|x| x.wrapping_mul(2)).collect::<Vec<_>>());
    }));
    all
}

fn atomics() -> Vec<Case> {
    let u = |i: U32| i;
    let hopper: fn(Target) -> bool = |t| t.number >= 90;
    vec![
        atomic::<U32, u32>(
            "fetch_add",
            5,
            |p, x| {
                p.fetch_add(x);
            },
            u,
            5 + 496,
        ),
        atomic::<U32, u32>(
            "fetch_min",
            99,
            |p, x| {
                p.fetch_min(x + 3);
            },
            u,
            3,
        ),
        atomic::<U32, u32>(
            "fetch_max",
            7,
            |p, x| {
                p.fetch_max(x);
            },
            u,
            31,
        ),
        atomic::<U32, u32>(
            "fetch_and",
            u32::MAX,
            |p, x| {
                p.fetch_and(x | 64);
            },
            u,
            64,
        ),
        atomic::<U32, u32>(
            "fetch_or",
            0,
            |p, x| {
                p.fetch_or(x);
            },
            u,
            31,
        ),
        atomic::<U32, u32>(
            "fetch_xor",
            1,
            |p, x| {
                p.fetch_xor(x);
            },
            u,
            1,
        ),
        atomic::<U32, u32>(
            "fetch_increment",
            0,
            |p, _| {
                p.fetch_increment(9);
            },
            u,
            2,
        ),
        atomic::<U32, u32>(
            "fetch_decrement",
            3,
            |p, _| {
                p.fetch_decrement(9);
            },
            u,
            1,
        ),
        atomic::<U64, u64>(
            "fetch_add 64",
            1 << 40,
            |p, x| {
                p.fetch_add(x);
            },
            |i| i.u64(),
            (1 << 40) + 496,
        ),
        atomic::<I64, i64>(
            "fetch_add signed 64",
            -9,
            |p, x| {
                p.fetch_add(x);
            },
            |i| i.i64(),
            487,
        ),
        atomic::<I32, i32>(
            "fetch_min signed",
            4,
            |p, x| {
                p.fetch_min(-x);
            },
            |i| i.i32(),
            -31,
        ),
        atomic::<F32, f32>(
            "fetch_add f32",
            0.5,
            |p, x| {
                p.fetch_add(x);
            },
            |i| i.f32(),
            496.5,
        ),
        atomic::<F64, f64>(
            "fetch_add f64",
            0.5,
            |p, x| {
                p.fetch_add(x);
            },
            |i| i.f64(),
            496.5,
        ),
        atomic::<F16, u16>(
            "fetch_add f16",
            0,
            |p, x| {
                p.fetch_add(x);
            },
            |i| i.f16(),
            half::f16::from_f32(496.0).to_bits(),
        ),
        atomic::<BF16, u16>(
            "fetch_add bf16",
            0,
            |p, x| {
                p.fetch_add(x);
            },
            |_| BF16::from(2.0),
            half::bf16::from_f32(64.0).to_bits(),
        )
        .on(hopper),
        atomic::<F16x2, u32>(
            "fetch_add f16x2",
            0,
            |p, x| {
                p.fetch_add(x);
            },
            |_| F16x2::from(1.0),
            0x5000_5000,
        ),
        atomic::<BF16x2, u32>(
            "reduce add bf16x2",
            0,
            |p, x| p.reduce(Atomic::Add, x),
            |_| BF16x2::from(1.0),
            0x4200_4200,
        )
        .on(hopper),
        atomic::<U32, u32>("reduce add", 5, |p, x| p.release(Scope::Device).reduce(Atomic::Add, x), u, 501),
        atomic::<U32, u32>("reduce max", 5, |p, x| p.reduce(Atomic::Max, x), u, 31),
        atomic::<U32, u32>("reduce xor", 5, |p, x| p.reduce(Atomic::Xor, x), u, 5),
        atomic::<U32, u32>(
            "compare_swap",
            0,
            |p, _| {
                spin("the swap").until(|| {
                    let seen = p.relaxed(Scope::Device).load();
                    p.compare_swap(seen, seen + 2).eq(seen)
                });
            },
            u,
            64,
        ),
        atomic::<U64, u64>(
            "compare_swap 64",
            7,
            |p, x| {
                p.compare_swap(7u64, x + 9);
            },
            |i| (i >> 5usize).u64(),
            9,
        ),
        Case::new(
            "swap",
            DType::U32,
            (DType::U32, 33),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = thread_idx().x;
                when(i.eq(0), || a.y.at::<U32>((32,)).store(77));
                sync_threads();
                a.y.at::<U32>((i,)).store(a.y.at::<U32>((32,)).swap(i));
            },
            |_, y| {
                let mut all = u32::read(y);
                all.sort_unstable();
                assert_eq!(all, [(0..32).collect(), vec![77]].concat());
            },
        ),
        Case::new(
            "vector reductions",
            DType::F32,
            (DType::F32, 4),
            |_: &mut warpsmith_kernels::random::Random| f32::write(&[1.0, 2.0, 3.0, 4.0]),
            |a: &CaseParams| {
                let i = thread_idx().x;
                let (from, to) = (a.x.at::<F32>((0,)), a.y.at::<F32>((0,)));
                when(i.eq(0), || to.store_vector::<4>([0.0, 0.0, 0.0, 0.0].map(F32::from)));
                sync_threads();
                to.reduce_vector(Atomic::Add, from.load_vector::<4>());
                to.fetch_vector(Atomic::Add, from.load_vector::<2>());
            },
            |_, y| assert_eq!(f32::read(y), [64.0, 128.0, 96.0, 128.0]),
        )
        .on(hopper),
        Case::new(
            "vector reductions bf16x2",
            DType::BF16,
            (DType::BF16, 8),
            |_: &mut warpsmith_kernels::random::Random| u16::write(&[0x3f80; 8]),
            |a: &CaseParams| {
                let i = thread_idx().x;
                let (from, to) = (a.x.at::<BF16x2>((0,)), a.y.at::<BF16x2>((0,)));
                when(i.eq(0), || to.store_vector::<4>([0.0, 0.0, 0.0, 0.0].map(BF16x2::from)));
                sync_threads();
                to.reduce_vector(Atomic::Add, from.load_vector::<4>());
            },
            |_, y| assert_eq!(u16::read(y), [half::bf16::from_f32(32.0).to_bits(); 8]),
        )
        .on(hopper),
    ]
}

fn shared() -> Vec<Case> {
    let reversed = |name: &str, f: fn(&CaseParams)| {
        Case::new(name, DType::U32, (DType::U32, 64), words::<u32>(64), f, |x, y| {
            let mut right = u32::read(x);
            right.reverse();
            assert_eq!(u32::read(y), right);
        })
        .launch(Launch::grid(1).block(64))
    };
    vec![
        reversed("shared array", |a| {
            let i = thread_idx().x;
            let tile = Shared::<U32>::new("tile", 64);
            tile.set(i, a.x.at::<U32>((i,)).load());
            sync_threads();
            a.y.at::<U32>((i,)).store(tile.get(63 - i));
        }),
        reversed("shared pointers", |a| {
            let i = thread_idx().x;
            let tile = Shared::<U32>::aligned("tile", 64, 128);
            tile.at(i).relaxed(Scope::Block).store(a.x.at::<U32>((i,)).load());
            sync_threads();
            let mine = Pointer::<U32>::shared(tile.at(63 - i).shared_address());
            a.y.at::<U32>((i,)).store(mine.volatile().load());
        }),
        reversed("shared vectors", |a| {
            let i = thread_idx().x;
            let tile = Shared::<U32>::new("tile", 64);
            when(i.lt(16), || {
                let at = Dim::from(i) * 4;
                tile.at(at).store_vector(a.x.at::<U32>((at,)).load_vector::<4>());
            });
            sync_threads();
            a.y.at::<U32>((i,)).store(tile.get(63 - i));
        }),
        reversed("shared atomics", |a| {
            let i = thread_idx().x;
            let tile = Shared::<U32>::new("tile", 64);
            tile.set(i, 0);
            sync_threads();
            tile.at(63 - i).fetch_add(a.x.at::<U32>((i,)).load());
            tile.at(63 - i).reduce(Atomic::Or, 0);
            sync_threads();
            a.y.at::<U32>((i,)).store(tile.get(i));
        }),
        Case::new(
            "discard",
            DType::U32,
            (DType::U32, 32),
            words::<u32>(32),
            |a: &CaseParams| {
                let i = thread_idx().x;
                let line = a.y.at::<U32>((0,));
                when(i.eq(0), || {
                    line.discard_l2();
                    line.reset_priority();
                });
                sync_threads();
                a.y.at::<U32>((i,)).store(i);
            },
            |_, y| assert_eq!(u32::read(y), (0..32).collect::<Vec<u32>>()),
        ),
    ]
}
