//! A matrix product as a page of CuTe: shared-memory tiles, `cp.async`, `ldmatrix`, `mma.sync`. The book's third kernel.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::assemble;
use common::{Placement, device, fresh, matrix, output, rounded};
use warpsmith::compare::{Tolerance, decode};
use warpsmith::gemm::reference;
use warpsmith_dsl::Target;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::Jit;

/// `c = a · bᵀ`: `a` is (m, k), `b` is (n, k), `c` is (m, n), all bf16; rows of `a` and `b` are aligned to 16 bytes.
struct TutorialGemm;

#[derive(KernelArgs)]
struct TutorialGemmArgs<'a> {
    #[tensor(m, k)]
    a: &'a TensorArg,
    #[tensor(n, k)]
    b: &'a TensorArg,
    #[tensor(m, n)]
    c: &'a mut TensorArg,
}

/// A block's tile, and its stages.
const M: usize = 128;
const N: usize = 128;
const K: usize = 64;
const STAGES: usize = 3;

impl Kernel for TutorialGemm {
    type Args = TutorialGemmParams;

    fn name(&self) -> String {
        "tutorial_gemm".into()
    }

    fn launch(&self, x: &TutorialGemmArgs<'_>) -> Launch {
        let (down, across) = (x.c.dim(0).div_ceil(M), x.c.dim(1).div_ceil(N));
        Launch { grid: [down, across, 1], ..Launch::grid(1) }.block(128)
    }

    fn body(&self, x: TutorialGemmParams) {
        let (thread, block) = (thread_idx().x, block_idx());

        // Shared memory: rows of 128 bytes, swizzled so that neither copies nor ldmatrix meet bank conflicts.
        let smem = |rows: usize| smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, K, STAGES));
        let (sa, sb) = (SmemTensor::new("a", BF16, smem(M)), SmemTensor::new("b", BF16, smem(N)));

        // Global to shared memory: 16 × 8 threads copy 16 bytes each, past L1.
        let g2s = copy_atom("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", BF16);
        let g2s = make_tiled_copy(g2s, ((16, 8), (8, 1)), ((1, 8), (8, 1)));

        // 2 × 2 warps multiply 32 × 32 × 16 at a time, with fragments from ldmatrix.
        let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2, 1), (32, 32, 16));
        let ldmatrix = copy_atom("SM75_U32x4_LDSM_N", BF16);
        let (s2r_a, s2r_b) = (make_tiled_copy_a(ldmatrix.clone(), &mma), make_tiled_copy_b(ldmatrix, &mma));
        let (ra, rb) = (mma.make_fragment_a([M, K]), mma.make_fragment_b([N, K]));
        let (ra_copy, rb_copy) = (s2r_a.retile_d(&ra), s2r_b.retile_d(&rb));
        let sums = mma.make_fragment_c([M, N]);

        CpAsyncRing::new(STAGES).run(
            x.a.dim(1).div_ceil(K),
            |k, stage| {
                let (ga, gb) = (x.a.tile([M, K], (block.x, k)), x.b.tile([N, K], (block.y, k)));
                let (sa, sb) = (sa.slice((.., .., stage)), sb.slice((.., .., stage)));
                copy(&g2s, &g2s.partition_s(&ga, thread), &g2s.partition_d(&sa, thread));
                copy(&g2s, &g2s.partition_s(&gb, thread), &g2s.partition_d(&sb, thread));
            },
            |_, stage| {
                let sa = s2r_a.partition_s(&sa.slice((.., .., stage)), thread);
                let sb = s2r_b.partition_s(&sb.slice((.., .., stage)), thread);
                for k in 0..K / 16 {
                    copy(&s2r_a, &sa.slice((.., .., k)), &ra_copy.slice((.., .., k)));
                    copy(&s2r_b, &sb.slice((.., .., k)), &rb_copy.slice((.., .., k)));
                    gemm(&mma, &sums, &ra.slice((.., .., k)), &rb.slice((.., .., k)));
                }
            },
        );

        let gc = x.c.tile([M, N], (block.x, block.y));
        autovec_copy(&sums.to(BF16), &mma.partition_c(&gc, thread));
    }
}

fn check([m, n, k]: [usize; 3]) {
    let (dtype, mut random) = (BF16, fresh());
    let a = rounded(dtype, &random.normals(m * k, 1.0));
    let b = rounded(dtype, &random.normals(n * k, 1.0));
    let at = |columns: usize| Placement { stride: columns.next_multiple_of(8), offset: 0 };
    let (ta, tb) = (matrix("a", dtype, m, k, at(k), &a), matrix("b", dtype, n, k, at(k), &b));
    let place = Placement::dense(n);
    let mut tc = output(dtype, m, n, place);
    let arguments = TutorialGemmArgs { a: ta.arg(), b: tb.arg(), c: tc.arg_mut() };
    let outcome = Jit::new(TutorialGemm).launch(&arguments, &device().default_stream()).unwrap();
    let what = format!("{m} × {n} × {k}");
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));
    let got = decode(dtype, &tc.to_bytes().unwrap());
    let tolerance = Tolerance::of(dtype);
    for (i, (expected, magnitude)) in reference::gemm(&a, &b, [m, n, k]).into_iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let y = got[place.index(row, column)];
        // Sums of products in f32: relative to the products' magnitudes.
        let allowed = tolerance.absolute + tolerance.relative * expected.abs() + 1e-5 * magnitude;
        assert!((y - expected).abs() <= allowed, "{what}: {y} instead of {expected} at [{row}, {column}]");
    }
}

#[test]
fn products_of_whole_tiles_and_of_edges() {
    for shape in [[128, 128, 64], [128, 256, 256], [1, 1, 1], [130, 100, 72], [77, 131, 200], [256, 8, 13]] {
        check(shape);
    }
}

#[test]
fn it_is_assembled_without_spills() {
    let t = |address, shape: &[usize]| assemble::tensor(address, BF16, shape);
    let (a, b, mut c) = (t(1 << 40, &[4096, 4096]), t(1 << 41, &[4096, 4096]), t(1 << 42, &[4096, 4096]));
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
        let host = TutorialGemmArgs { a: &a, b: &b, c: &mut c };
        let Some((ptx, report)) = assemble::assemble(&TutorialGemm, &host, target) else { return };
        assemble::check("tutorial_gemm", &report, 168);
        let count = |part: &str| ptx.matches(part).count();
        // Two prologues and the loop copy 128 × 64 of A and of B: 8 pieces of 16 bytes a thread each.
        assert_eq!(count("cp.async.cg.shared.global"), 3 * 2 * 8);
        // Four steps of K: 4 tiles of 16 × 16 of A, as many of B, and 4 × 8 products.
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 4 * (4 + 4));
        assert_eq!(count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 4 * 32);
        // Neighbours of the result share a store.
        assert_eq!((count("st.global.b32"), count("st.global.b16"), count(".local")), (64, 0, 0));
    }
}
