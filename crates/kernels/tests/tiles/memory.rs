//! Shared tensors and the copies of a thread.

use crate::common::fresh;
use crate::harness::{bytes, run, tensor, through};
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_layout::Layout;
use warpsmith_layout::atom::SharedAtom;

/// One element a thread, two rows of 64.
fn pairs_of_rows() -> Tv {
    Tv::rows(2, 64, 1, 1).unwrap()
}

#[test]
fn elements_of_swizzled_tensors() {
    for swizzle in [SharedSwizzle::Interleave, SharedSwizzle::B32, SharedSwizzle::B64, SharedSwizzle::B128] {
        let data = bytes(&mut fresh(), 16 * 64 * 2);
        let a = tensor("a", DType::U16, [16, 64], &data);
        let got = run(128, &a, &a, (DType::U16, [32, 64]), move |x| {
            let (row, column) = (thread_idx().x / 64, thread_idx().x % 64);
            let memory = SmemArena::new("memory", 4096);
            let s = memory.place("s", DType::U16, smem_layout(DType::U16, Major::K, swizzle, (16, 64, 2)));
            let stage = s.slice((.., .., row.min(0) + 1)); // the second, known when it runs
            let tv = pairs_of_rows();
            for i in 0..8 {
                let x = x.a.tile([2, 64], (i, 0)).partition(&tv, thread_idx().x).load();
                stage.put((row + 2 * i, column), x);
            }
            sync_threads();
            memory.reuse(0);
            let plain = memory.place("plain", DType::U16, Layout::new(2048, 1).unwrap());
            for i in 0..8 {
                let to = |i: usize| x.y.tile([2, 64], (i, 0)).partition(&tv, thread_idx().x);
                to(i).store(select_row(&s, i, column, row));
                // As it lies in memory.
                to(8 + i).store(plain.get((thread_idx().x + (1024 + 128 * i),)));
            }
        });
        assert!(got[..data.len()] == data, "{swizzle:?}");
        // Column by column: element i of the layout is row i % 16, column i / 16.
        for (i, place) in places(swizzle).into_iter().enumerate() {
            let (at, logical) = (2 * place, 2 * (64 * (i % 16) + i / 16));
            assert_eq!(got[data.len() + at..][..2], data[logical..logical + 2], "{swizzle:?} element {i}");
        }
    }
}

/// A view of overlapping windows, as a convolution has: a run-time index and a static one that carry into each other.
#[test]
fn windows_under_a_swizzle() {
    let data = bytes(&mut fresh(), 16 * 64 * 2);
    let a = tensor("a", DType::U16, [16, 64], &data);
    let got = run(128, &a, &a, (DType::U16, [16, 64]), move |x| {
        let (row, column) = (thread_idx().x / 64, thread_idx().x % 64);
        let memory = SmemArena::new("memory", 2048);
        let layout = smem_layout(DType::U16, Major::K, SharedSwizzle::B128, (16, 64));
        let s = memory.place("s", DType::U16, layout.clone());
        memory.reuse(0);
        // Element (i, j, k) is row i + j, column k.
        let windows = layout.around(Layout::new((4, 13, 64), (64, 64, 1)).unwrap());
        let windows = memory.place("windows", DType::U16, windows);
        let tv = pairs_of_rows();
        for i in 0..8 {
            let x = x.a.tile([2, 64], (i, 0)).partition(&tv, thread_idx().x).load();
            s.put((row + 2 * i, column), x);
        }
        sync_threads();
        for i in 0..8 {
            let (first, second) = if i < 6 { (row, 2 * i) } else { (row + 2, 2 * i - 2) };
            x.y.tile([2, 64], (i, 0)).partition(&tv, thread_idx().x).store(windows.get((first, second, column)));
        }
    });
    assert!(got == data);
}

/// Element (2 i + row, column) of the second stage, by a static row for each of both.
fn select_row(s: &SmemTensor, i: usize, column: U32, row: U32) -> Frag {
    let (even, odd) = (s.get((2 * i, column, 1)), s.get((2 * i + 1, column, 1)));
    branch(row.eq(0), || even, || odd)
}

/// Where the elements of one stage lie, by the algebra on the host.
fn places(swizzle: SharedSwizzle) -> Vec<usize> {
    let atom = SharedAtom { major: Major::K, swizzle };
    let tile = atom.with_swizzle(16, atom.tile(16, (16, 64), None).unwrap()).unwrap();
    tile.table().unwrap().into_iter().map(|x| x as usize).collect()
}

#[test]
fn plain_and_asynchronous_copies() {
    // 16 × 8 threads, each a vector of so many elements.
    let cases = [
        ("UniversalCopy<uint128_t>", BF16, 8),
        ("UniversalCopy<uint64_t>", BF16, 4),
        ("UniversalCopy<uint32_t>", BF16, 2),
        ("UniversalCopy<uint16_t>", BF16, 1),
        ("UniversalCopy<uint128_t>", F32, 4),
        ("UniversalCopy<uint32_t>", DType::I32, 1),
        ("UniversalCopy<uint128_t>", DType::E4M3, 16),
        ("UniversalCopy<uint32_t>", DType::I8, 4),
        ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", BF16, 8),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", DType::U8, 16),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint64_t>", F32, 2),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint32_t>", F32, 1),
    ];
    for (name, dtype, vector) in cases {
        let shape = [64, 512 / dtype.bytes()];
        through(dtype, shape, move |x| {
            let copies = make_tiled_copy(copy_atom(name, dtype), ((16, 8), (8, 1)), ((1, vector), (0, 1)));
            let layout = smem_layout(dtype, Major::K, SharedSwizzle::B64, (shape[0], shape[1]));
            let (s, thread) = (SmemTensor::new("s", dtype, layout), thread_idx().x);
            let ga = copies.partition_s(&x.a.tile(shape, (0, 0)), thread);
            copy(&copies, &ga, &copies.partition_d(&s, thread));
            cp_async_fence();
            cp_async_wait(0);
            sync_threads();
            // Back through registers, by other threads.
            let back =
                make_tiled_copy(copy_atom("UniversalCopy<uint32_t>", dtype), ((32, 4), (4, 1)), ((1, 4), (0, 1)));
            let (from, to) = (back.partition_s(&s, thread), back.partition_d(&x.y.tile(shape, (0, 0)), thread));
            let registers = RmemTensor::new(dtype, compact(from.layout()));
            copy(&back, &from, &registers);
            copy(&back, &registers, &to);
        });
    }
}

fn compact(layout: &Layout) -> Layout {
    Layout::compact(layout.shape().clone()).unwrap()
}

#[test]
fn copies_of_tiles_that_overhang() {
    // A tile of 64 × 128 of a tensor of 61 × 100; of its rows all, or those below 50.
    let data = bytes(&mut fresh(), 61 * 100 * 2);
    let a = tensor("a", BF16, [61, 100], &data);
    for (name, limit) in [
        ("UniversalCopy<uint64_t>", 64),
        ("UniversalCopy<uint64_t>", 50),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint64_t>", 64),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint64_t>", 50),
    ] {
        let got = run(128, &a, &a, (BF16, [61, 100]), move |x| {
            let (thread, tile) = (thread_idx().x, [64, 128]);
            let copies = make_tiled_copy(copy_atom(name, BF16), ((16, 8), (8, 1)), ((1, 4), (0, 1)));
            let s = SmemTensor::new("s", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (64, 128)));
            let (from, to) = (copies.partition_s(&x.a.tile(tile, (0, 0)), thread), copies.partition_d(&s, thread));
            if limit == 64 {
                copy(&copies, &from, &to);
            } else {
                let mine = copies.partition_s(&identity(tile), thread);
                copy_if(&copies, &mine.predicates(|[row, _]| row.lt(limit)), &from, &to);
            }
            cp_async_fence();
            cp_async_wait(0);
            sync_threads();
            autovec_copy(&copies.partition_s(&s, thread), &copies.partition_d(&x.y.tile(tile, (0, 0)), thread));
        });
        for row in 0..61 {
            for at in 2 * 100 * row..2 * 100 * (row + 1) {
                let expected = if row < limit { data[at] } else { 0 };
                assert_eq!(got[at], expected, "{name} below {limit}: byte {at}, of row {row}");
            }
        }
    }
}
