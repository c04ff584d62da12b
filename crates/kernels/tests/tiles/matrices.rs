//! Matrices of shared memory in fragments: `ldmatrix`, `stmatrix`.

use crate::harness::through;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_layout::atom::SharedAtom;

/// Fragments of A and B loaded by `ldmatrix`, stored from the registers: what comes out is what went in.
#[test]
fn matrices_of_shared_memory() {
    let f16 = "SM80_16x8x16_F32BF16BF16F32_TN";
    let cases = [
        ("SM75_U32x4_LDSM_N", Major::K, f16, BF16),
        ("SM75_U32x2_LDSM_N", Major::K, f16, BF16),
        ("SM75_U32x1_LDSM_N", Major::K, f16, BF16),
        ("SM75_U16x8_LDSM_T", Major::Mn, f16, BF16),
        ("SM75_U16x4_LDSM_T", Major::Mn, f16, BF16),
        ("SM75_U16x2_LDSM_T", Major::Mn, f16, BF16),
        ("SM75_U32x4_LDSM_N", Major::K, "SM80_16x8x32_S32S8S8S32_TN", DType::I8),
        ("SM75_U32x4_LDSM_N", Major::K, "SM80_16x8x8_F32TF32TF32F32_TN", F32),
    ];
    for (name, major, mma, dtype) in cases {
        for (swizzle, is_a) in [SharedSwizzle::B32, SharedSwizzle::B64, SharedSwizzle::B128]
            .into_iter()
            .flat_map(|s| [(s, true), (s, false)])
        {
            let shape = [64, 256 / dtype.bytes()];
            let whole = SharedAtom { major, swizzle }.elements(dtype.bits() as i64).unwrap();
            if shape[0] as i64 % whole.mode(0).unwrap().size().unwrap() != 0 {
                continue;
            }
            through(dtype, shape, move |x| {
                let k = [16, 32, 8][[2, 1, 4].iter().position(|b| *b == dtype.bytes()).unwrap()];
                let mma = make_tiled_mma(mma_atom(mma), (2, 2, 1), (32, 32, k));
                let atom = copy_atom(name, dtype);
                let (s2r_a, s2r_b) = (make_tiled_copy_a(atom.clone(), &mma), make_tiled_copy_b(atom, &mma));
                let thread = thread_idx().x;
                let (ga, gy) = (x.a.tile(shape, (0, 0)), x.y.tile(shape, (0, 0)));
                let s = SmemTensor::new("s", dtype, smem_layout(dtype, major, swizzle, (shape[0], shape[1])));
                let g2s = make_tiled_copy(
                    copy_atom("UniversalCopy<uint32_t>", dtype),
                    ((16, 8), (8, 1)),
                    ((1, 4 / dtype.bytes()), (0, 1)),
                );
                copy(&g2s, &g2s.partition_s(&ga, thread), &g2s.partition_d(&s, thread));
                sync_threads();
                let (ra, rb) = (mma.make_fragment_a(shape), mma.make_fragment_b(shape));
                copy(&s2r_a, &s2r_a.partition_s(&s, thread), &s2r_a.retile_d(&ra));
                copy(&s2r_b, &s2r_b.partition_s(&s, thread), &s2r_b.retile_d(&rb));
                // Warps along N share A, those along M share B.
                if is_a {
                    when((thread / 64).eq(0), || autovec_copy(&ra, &mma.partition_a(&gy, thread)));
                } else {
                    when((thread / 32 % 2).eq(0), || autovec_copy(&rb, &mma.partition_b(&gy, thread)));
                }
            });
        }
    }
}

#[test]
fn accumulators_by_stmatrix() {
    for (name, major) in [
        ("SM90_U32x4_STSM_N", Major::K),
        ("SM90_U32x2_STSM_N", Major::K),
        ("SM90_U32x1_STSM_N", Major::K),
        ("SM90_U16x8_STSM_T", Major::Mn),
        ("SM90_U16x2_STSM_T", Major::Mn),
    ] {
        let shape = [64, 64];
        through(BF16, shape, move |x| {
            let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2, 1), (32, 32, 16));
            let r2s = make_tiled_copy_c(copy_atom(name, BF16), &mma);
            let thread = thread_idx().x;
            let s = SmemTensor::new("s", BF16, smem_layout(BF16, major, SharedSwizzle::B128, (64, 64)));
            let registers = mma.make_fragment_c(shape).to(BF16);
            autovec_copy(&mma.partition_c(&x.a.tile(shape, (0, 0)), thread), &registers);
            copy(&r2s, &r2s.retile_s(&registers), &r2s.partition_d(&s, thread));
            sync_threads();
            let out = make_tiled_copy(copy_atom("UniversalCopy<uint128_t>", BF16), ((16, 8), (8, 1)), ((1, 8), (0, 1)));
            copy(&out, &out.partition_s(&s, thread), &out.partition_d(&x.y.tile(shape, (0, 0)), thread));
        });
    }
}
