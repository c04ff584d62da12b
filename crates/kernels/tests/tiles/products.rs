//! Products of a warp by `mma.sync`.

use crate::common::{assemble, fresh};
use crate::harness::{Block, TestArgs, TestParams, assert_each, numbers, product, run, signs, small, tensor};
use warpsmith::compare::encode;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Target, compile};

#[test]
fn every_matrix_instruction() {
    for name in [
        "SM75_16x8x8_F32F16F16F32_TN",
        "SM80_16x8x8_F16F16F16F16_TN",
        "SM80_16x8x16_F16F16F16F16_TN",
        "SM80_16x8x16_F32F16F16F32_TN",
        "SM80_16x8x8_F32BF16BF16F32_TN",
        "SM80_16x8x16_F32BF16BF16F32_TN",
        "SM80_16x8x4_F32TF32TF32F32_TN",
        "SM80_16x8x8_F32TF32TF32F32_TN",
        "SM80_16x8x16_S32S8S8S32_TN",
        "SM80_16x8x32_S32S8S8S32_TN",
        "SM89_16x8x32_F32E4M3E4M3F32_TN",
        "SM89_16x8x32_F32E5M2E5M2F32_TN",
        "SM89_16x8x32_F32E5M2E4M3F32_TN",
        "SM89_16x8x32_F16E4M3E4M3F16_TN",
        "SM80_16x8x16_S32U8U8S32_TN",
        "SM80_16x8x32_S32U8S8S32_TN",
        "SM80_16x8x32_S32S8U8S32_TN",
    ] {
        let (mut random, [m, n, k]) = (fresh(), [64, 32, 64]);
        let dtypes = Trial::of(name);
        let (bytes_a, a) = small(dtypes.a, &mut random, m * k);
        let (bytes_b, b) = small(dtypes.b, &mut random, n * k);
        let (ta, tb) = (tensor("a", dtypes.a, [m, k], &bytes_a), tensor("b", dtypes.b, [n, k], &bytes_b));
        let got = run(128, &ta, &tb, (dtypes.sum, [m, n]), move |x| {
            let (atom, thread) = (mma_atom(name), thread_idx().x);
            let mma = make_tiled_mma(atom, (2, 2, 1), (.., .., ..));
            let (ra, rb) = (mma.make_fragment_a([m, k]), mma.make_fragment_b([n, k]));
            let sums = mma.make_fragment_c([m, n]);
            autovec_copy(&mma.partition_a(&x.a.tile([m, k], (0, 0)), thread), &ra);
            autovec_copy(&mma.partition_b(&x.b.tile([n, k], (0, 0)), thread), &rb);
            gemm(&mma, &sums, &ra, &rb);
            autovec_copy(&sums, &mma.partition_c(&x.y.tile([m, n], (0, 0)), thread));
        });
        assert_each(name, &numbers(dtypes.sum, &got), n, |row, column| product(&a, &b, k, [row, column]));
    }
}

/// The dtypes of an atom, from its name.
struct Trial {
    a: DType,
    b: DType,
    sum: DType,
}

impl Trial {
    fn of(name: &str) -> Trial {
        let types = name.split('_').nth(2).unwrap();
        let words = [
            ("BF16", BF16),
            ("TF32", F32),
            ("F32", F32),
            ("F16", F16),
            ("S32", DType::I32),
            ("S8", DType::I8),
            ("U8", DType::U8),
            ("E4M3", DType::E4M3),
            ("E5M2", DType::E5M2),
        ];
        let mut rest = types;
        let mut next = || {
            let (word, dtype) = words.into_iter().find(|(word, _)| rest.starts_with(word)).unwrap();
            rest = &rest[word.len()..];
            dtype
        };
        let (sum, a, b) = (next(), next(), next());
        Trial { a, b, sum }
    }
}

/// Flash attention's second product: P from the accumulator of the first, without shared memory.
#[test]
fn an_accumulator_becomes_an_operand() {
    let mut random = fresh();
    let (m, n, k) = (64, 32, 16);
    // y = (a · bᵀ) · b, whole numbers that bf16 holds exactly.
    let (a, b) = (signs(&mut random, m * k), signs(&mut random, n * k));
    let (ta, tb) = (tensor("a", BF16, [m, k], &encode(BF16, &a)), tensor("b", BF16, [n, k], &encode(BF16, &b)));
    let got = run(128, &ta, &tb, (F32, [m, k]), move |x| {
        let thread = thread_idx().x;
        let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (4, 1, 1), (64, 16, 16));
        let (ra, rb) = (mma.make_fragment_a([m, k]), mma.make_fragment_b([n, k]));
        let scores = mma.make_fragment_c([m, n]);
        autovec_copy(&mma.partition_a(&x.a.tile([m, k], (0, 0)), thread), &ra);
        autovec_copy(&mma.partition_b(&x.b.tile([n, k], (0, 0)), thread), &rb);
        gemm(&mma, &scores, &ra, &rb);
        let p = mma.accumulator_as_a(scores.get().f32(), &mma, [m, n]);
        // The second B is (k, n): b with its modes exchanged, elements fetched one by one.
        let rv = mma.make_fragment_b([k, n]);
        let s = SmemTensor::new("s", BF16, smem_layout(BF16, Major::Mn, SharedSwizzle::B32, (k, n)));
        let transposed =
            make_tiled_copy(copy_atom("UniversalCopy<uint16_t>", BF16), ((8, 16), (16, 1)), ((1, 1), (0, 0)));
        let st = SmemTensor::new("t", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B32, (n, k)));
        copy(
            &transposed,
            &transposed.partition_s(&x.b.tile([n, k], (0, 0)), thread),
            &transposed.partition_d(&st, thread),
        );
        sync_threads();
        for i in 0..n * k / 128 {
            let at = thread + 128 * i;
            s.put((at % k, at / k), st.get((at / k, at % k)));
        }
        sync_threads();
        autovec_copy(&mma.partition_b(&s, thread), &rv);
        let out = mma.make_fragment_c([m, k]);
        gemm(&mma, &out, &p, &rv);
        autovec_copy(&out, &mma.partition_c(&x.y.tile([m, k], (0, 0)), thread));
    });
    assert_each("P · b", &numbers(F32, &got), k, |row, column| {
        (0..n).map(|j| product(&a, &b, k, [row, j]) * b[j * k + column]).sum()
    });
}

#[test]
fn every_matrix_instruction_is_assembled_where_there_is_one() {
    for (name, floor) in [
        ("SM75_16x8x8_F32F16F16F32_TN", Target::SM_80),
        ("SM80_16x8x16_F16F16F16F16_TN", Target::SM_80),
        ("SM80_16x8x16_F32BF16BF16F32_TN", Target::SM_80),
        ("SM80_16x8x8_F32TF32TF32F32_TN", Target::SM_80),
        ("SM80_16x8x32_S32S8S8S32_TN", Target::SM_80),
        ("SM80_16x8x16_S32U8S8S32_TN", Target::SM_80),
        ("SM89_16x8x32_F32E4M3E4M3F32_TN", Target::SM_90A),
        ("SM89_16x8x32_F16E5M2E5M2F16_TN", Target::SM_90A),
    ] {
        let dtypes = Trial::of(name);
        let kernel = Block {
            threads: 128,
            body: move |x: &TestParams| {
                let (mma, thread) = (make_tiled_mma(mma_atom(name), (2, 2, 1), (.., .., ..)), thread_idx().x);
                let (ra, rb) = (mma.make_fragment_a([64, 64]), mma.make_fragment_b([32, 64]));
                let sums = mma.make_fragment_c([64, 32]);
                autovec_copy(&mma.partition_a(&x.a.tile([64, 64], (0, 0)), thread), &ra);
                autovec_copy(&mma.partition_b(&x.b.tile([32, 64], (0, 0)), thread), &rb);
                if dtypes.a == F32 {
                    ra.round_to_tf32();
                    rb.round_to_tf32();
                }
                gemm(&mma, &sums, &ra, &rb);
                autovec_copy(&sums, &mma.partition_c(&x.y.tile([64, 32], (0, 0)), thread));
            },
        };
        let t = |address, dtype, shape: [usize; 2]| assemble::tensor(address, dtype, &shape);
        let (a, b) = (t(1 << 40, dtypes.a, [64, 64]), t(1 << 41, dtypes.b, [32, 64]));
        let mut y = t(1 << 42, dtypes.sum, [64, 32]);
        let host = TestArgs { a: &a, b: &b, y: &mut y };
        for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
            if target.number < floor.number {
                let arguments = warpsmith_dsl::Arguments::of::<TestParams>(&host);
                let said = compile(&kernel, &arguments, &kernel.launch(&host), target).unwrap_err().to_string();
                assert!(said.contains("sm_89"), "{name}: {said}");
                continue;
            }
            let Some((_, report)) = assemble::assemble(&kernel, &host, target) else { return };
            assemble::check(name, &report, 255);
        }
    }
}
