//! What the language says of tiles, copies and products that can not be.

use crate::common::assemble::tensor;
use crate::harness::{Block, TestArgs, TestParams};
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Arguments, Target, compile};
use warpsmith_layout::{Layout, Tiler};

/// What is said of a body on bf16 matrices whose rows are so far apart; empty when it is right.
fn said_of(stride: usize, body: impl Fn(&TestParams) + Send + Sync) -> String {
    let mut a = tensor(1 << 40, BF16, &[64, 64]);
    a.strides[0] = stride;
    let mut y = tensor(1 << 41, BF16, &[64, 64]);
    let (b, kernel) = (a.clone(), Block { threads: 128, body });
    let host = TestArgs { a: &a, b: &b, y: &mut y };
    let arguments = Arguments::of::<TestParams>(&host);
    match compile(&kernel, &arguments, &kernel.launch(&host), Target::SM_90A) {
        Ok(_) => String::new(),
        Err(e) => e.to_string(),
    }
}

fn said(body: impl Fn(&TestParams) + Send + Sync) -> String {
    said_of(64, body)
}

fn contains(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

fn tile(rows: usize, columns: usize) -> SmemTensor {
    SmemTensor::new("s", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, columns)))
}

/// 16 × 8 threads, 8 elements each.
fn by_16_bytes(name: &str) -> TiledCopy {
    make_tiled_copy(copy_atom(name, BF16), ((16, 8), (8, 1)), ((1, 8), (0, 1)))
}

const ASYNC: &str = "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>";
const MMA: &str = "SM80_16x8x16_F32BF16BF16F32_TN";

#[test]
fn a_right_body_is_right() {
    let said = said(|x| {
        let (g2s, thread) = (by_16_bytes(ASYNC), thread_idx().x);
        copy(&g2s, &g2s.partition_s(&x.a.tile([64, 64], (0, 0)), thread), &g2s.partition_d(&tile(64, 64), thread));
    });
    assert_eq!(said, "");
}

#[test]
fn a_vector_that_is_not_aligned() {
    // Rows 68 elements apart are aligned to 8 bytes.
    let said = said_of(68, |x| {
        let (g2s, thread) = (by_16_bytes(ASYNC), thread_idx().x);
        copy(&g2s, &g2s.partition_s(&x.a.tile([64, 64], (0, 0)), thread), &g2s.partition_d(&tile(64, 64), thread));
    });
    contains(&said, &["`a` is copied 16 bytes at a time, and known to be aligned to 8", "tiles/refused.rs"]);
}

#[test]
fn dtypes_that_differ() {
    let copied = said(|x| {
        let (g2s, thread) = (by_16_bytes("UniversalCopy<uint128_t>"), thread_idx().x);
        let s = SmemTensor::new("s", F16, smem_layout(F16, Major::K, SharedSwizzle::B128, (64, 64)));
        copy(&g2s, &g2s.partition_s(&x.a.tile([64, 64], (0, 0)), thread), &g2s.partition_d(&s, thread));
    });
    contains(&copied, &["`a` of bf16 copied to `s` of f16", "convert in registers: `fragment.to(dtype)`"]);
    let multiplied = said(|_| {
        let f16 = make_tiled_mma(mma_atom("SM80_16x8x16_F32F16F16F32_TN"), (2, 2, 1), (.., .., ..));
        let mma = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (.., .., ..));
        let sums = mma.make_fragment_c([32, 32]);
        gemm(&mma, &sums, &f16.make_fragment_a([32, 16]), &mma.make_fragment_b([32, 16]));
    });
    contains(&multiplied, &["a of f16 given to `SM80_16x8x16_F32BF16BF16F32_TN`, which takes bf16"]);
}

#[test]
fn what_an_atom_does_not_cover() {
    let values = said(|_| _ = make_tiled_copy(copy_atom(ASYNC, BF16), ((16, 8), (8, 1)), ((1, 4), (0, 1))));
    contains(&values, &["moves 8 elements of each of 1 threads; 128 threads of 4 elements are no whole number of it"]);
    let tiles = said(|x| {
        let g2s = by_16_bytes(ASYNC);
        _ = g2s.partition_s(&x.a.tile([24, 64], (0, 0)), thread_idx().x);
    });
    contains(&tiles, &["a tile of `a` can not be partitioned so", "extent 24, which 16 does not divide", "<16,64>"]);
    let fragments = said(|_| _ = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (32, 32, 16)).make_fragment_c([48, 64]));
    contains(&fragments, &["a tile of 48 × 64 of C is not whole tiles of 32 × 32"]);
    let rows = said(|_| {
        let mma = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (32, 32, 16));
        let s2r = make_tiled_copy_a(copy_atom("SM75_U32x4_LDSM_N", BF16), &mma);
        let s = SmemTensor::new("s", BF16, smem_layout(BF16, Major::Mn, SharedSwizzle::B128, (64, 64)));
        copy(&s2r, &s2r.partition_s(&s, thread_idx().x), &s2r.retile_d(&mma.make_fragment_a([64, 64])));
    });
    contains(&rows, &["does not keep 8 elements of bf16 together", "ldmatrix takes whole pieces"]);
    contains(&said(|_| _ = copy_atom("SM75_U32x3_LDSM_N", BF16)), &["no copy instruction SM75_U32x3_LDSM_N"]);
    let copies = said(|_| _ = make_tiled_mma(mma_atom(MMA), (2, 2), (.., .., ..)).make_fragment_a([16, 16]));
    contains(&copies, &["no tiled `SM80_16x8x16_F32BF16BF16F32_TN`", "triples (M, N, K)"]);
    let way = said(|x| {
        let (g2s, thread) = (by_16_bytes(ASYNC), thread_idx().x);
        copy(&g2s, &g2s.partition_s(&tile(64, 64), thread), &g2s.partition_d(&x.y.tile([64, 64], (0, 0)), thread));
    });
    contains(&way, &["does not copy from `s` to `y`", "cp.async goes from global to shared memory"]);
}

#[test]
fn sides_that_do_not_fit() {
    let sizes = said(|x| {
        let (g2s, thread) = (by_16_bytes(ASYNC), thread_idx().x);
        copy(&g2s, &g2s.partition_s(&x.a.tile([64, 64], (0, 0)), thread), &g2s.partition_d(&tile(32, 64), thread));
    });
    contains(&sizes, &["32 elements of `a` (((8,1),4,1)) copied to 16 of `s` (((8,1),2,1))"]);
    let predicates = said(|x| {
        let (g2s, thread) = (by_16_bytes(ASYNC), thread_idx().x);
        let all = g2s.partition_s(&identity([32, 64]), thread).predicates(|[row, _]| row.lt(9));
        copy_if(
            &g2s,
            &all,
            &g2s.partition_s(&x.a.tile([64, 64], (0, 0)), thread),
            &g2s.partition_d(&tile(64, 64), thread),
        );
    });
    contains(&predicates, &["2 predicates for 4 vectors of `a`"]);
    let input = said(|x| {
        let (s2g, thread) = (by_16_bytes("UniversalCopy<uint128_t>"), thread_idx().x);
        copy(&s2g, &s2g.partition_s(&tile(64, 64), thread), &s2g.partition_d(&x.a.tile([64, 64], (0, 0)), thread));
    });
    contains(&input, &["`a` is an input: it can not be stored to"]);
    let products = said(|_| {
        let mma = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (.., .., ..));
        let sums = mma.make_fragment_c([64, 32]);
        gemm(&mma, &sums, &mma.make_fragment_a([64, 16]), &mma.make_fragment_b([64, 16]));
    });
    contains(&products, &["sums of 2 × 2 instructions from a of 2 × 1 and b of 4 × 1"]);
}

#[test]
fn memory_that_is_not_there() {
    let arena = said(|_| {
        let memory = SmemArena::new("scratch", 12 * 1024);
        memory.place("first", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (64, 64)));
        memory.place("second", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (64, 64)));
    });
    contains(&arena, &["arena `scratch` has 12288 bytes; `second` takes 8192 from byte 8192 on, 4096 too many"]);
    let block = said(|_| _ = tile(256, 512).get((0, 0)));
    contains(&block, &["262144 bytes of shared memory; no block may have more than 232448", "`s_0` has 262144 bytes"]);
    let index = said(|_| _ = tile(64, 64).get((64, 0)));
    contains(&index, &["`s` can not be cut so", "index 64 of mode 0, which has extent 64"]);
    let registers = said(|_| {
        let mma = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (.., .., ..));
        for k in range(0, 2) {
            _ = mma.make_fragment_a([32, 32]).slice((.., .., k));
        }
    });
    contains(&registers, &["registers are indexed at run time", "unroll with a Rust loop"]);
}

#[test]
fn an_accumulator_that_is_no_operand() {
    let said = said(|_| {
        let mma = make_tiled_mma(mma_atom(MMA), (2, 2, 1), (32, 32, 16));
        let sums = mma.make_fragment_c([64, 64]);
        mma.accumulator_as_a(sums.get().f32(), &mma, [64, 64]);
    });
    contains(&said, &["(64 × 64) are not where `SM80_16x8x16_F32BF16BF16F32_TN` takes A from", "all warps along M"]);
    // Of four warps along M, the second and the third exchanged.
    let exchanged = self::said(|_| {
        let of = |rows: Tiler| make_tiled_mma(mma_atom(MMA), (4, 1, 1), Tiler::Modes(vec![rows, 16.into(), 16.into()]));
        let rows: Layout = "(16,2,2):(1,32,16)".parse().unwrap();
        let (first, second) = (of(64.into()), of(rows.into()));
        let sums = first.make_fragment_c([64, 64]);
        second.accumulator_as_a(sums.get().f32(), &first, [64, 64]);
    });
    contains(&exchanged, &["takes A from", "thread 32 holds other elements"]);
}

#[test]
fn stages_that_are_forgotten() {
    let said = said(|_| {
        let ring = Pipeline::new(2, 1, 1);
        let _ = ring.producer_acquire();
    });
    contains(&said, &["this acquired stage is never given back", "taken here"]);
    let bulk = self::said(|_| {
        let ring = Pipeline::new(2, 1, 1);
        let stage = ring.producer_acquire();
        stage.barrier();
        stage.commit();
    });
    contains(&bulk, &["a pipeline that is not set up for them", "`Pipeline::for_bulk_copies`"]);
}

#[test]
fn warpgroup_products_that_do_not_exist() {
    let of = |mma: WarpgroupMma| said(move |_| _ = mma.accumulator());
    contains(&of(WarpgroupMma::new(12, BF16, BF16)), &["an MMA has 12 columns; expected a multiple of 8, up to 256"]);
    contains(
        &of(WarpgroupMma::new(64, BF16, F16)),
        &["no warpgroup instruction multiplies bf16 by f16 with sums of f32"],
    );
    contains(&of(WarpgroupMma::new(64, BF16, BF16).sums(F16)), &["bf16 by bf16 with sums of f16"]);
    contains(&of(WarpgroupMma::new(40, DType::I8, DType::I8)), &["expected 8, 16, 24 or a multiple of 16"]);
    contains(&of(WarpgroupMma::new(64, DType::I8, DType::U8).negate_a()), &["only floats have signs to flip"]);
    let rows = said(|_| {
        let (a, b) = (tile(64, 64), tile(128, 64));
        WarpgroupMma::new(64, BF16, BF16).accumulator().mma(&a, &b).wait();
    });
    contains(&rows, &["an MMA of 64 × 64 bf16 of tiles of 64 × 64 bf16 and 128 × 64 bf16", "B has 64"]);
    let layout = said(|_| {
        let plain = SmemTensor::new("plain", BF16, Layout::row_major((64, 64)).unwrap());
        WarpgroupMma::new(64, BF16, BF16).accumulator().mma(&plain, &plain).wait();
    });
    contains(&layout, &["`plain`", "is no operand of an MMA: its atoms are not two strides apart", "smem_layout"]);
    let major = said(|_| {
        let bytes = smem_layout(DType::I8, Major::Mn, SharedSwizzle::B64, (64, 64));
        let s = SmemTensor::new("s", DType::I8, bytes);
        WarpgroupMma::new(64, DType::I8, DType::I8).accumulator().mma(&s, &s).wait();
    });
    contains(&major, &["only elements of 16 bits may lie MN-major"]);
    let registers = said(|x| {
        let mma = WarpgroupMma::new(64, BF16, BF16);
        let whole = mma.tiled(1).unwrap().make_fragment_a([64, 64]);
        autovec_copy(&mma.tiled(1).unwrap().partition_a(&x.a.tile([64, 64], (0, 0)), thread_idx().x), &whole);
        _ = mma.register_a(32, whole.get());
    });
    contains(&registers, &["32 elements of bf16 in 16 registers for A, which has 8 registers of bf16"]);
}
