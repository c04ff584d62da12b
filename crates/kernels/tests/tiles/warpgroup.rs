//! Products of a warpgroup: every form, every layout of the operands.

use crate::common::{assemble, fresh};
use crate::harness::{TestArgs, TestParams, assert_each, launch, numbers, product, run, signs, small, tensor};
use warpsmith::compare::encode;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::warpgroup::A;
use warpsmith_dsl::{Arguments, Target, compile, value};

/// Where A and B come from.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    mma: WarpgroupMma,
    k: usize,
    /// The layout of A; from registers where none.
    a: Option<(Major, SharedSwizzle)>,
    b: (Major, SharedSwizzle),
    start: Start,
}

/// How the accumulator begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    /// At zero, by registers.
    Zero,
    /// At ones, which the first product overwrites.
    Anew,
    /// At ones, which a run-time condition keeps.
    Kept,
}

impl Kernel for Case {
    type Args = TestParams;
    fn name(&self) -> String {
        "product".into()
    }
    fn launch(&self, _: &TestArgs<'_>) -> Launch {
        Launch::grid(1).block(128)
    }
    fn body(&self, x: TestParams) {
        let (Case { mma, k, .. }, thread) = (*self, thread_idx().x);
        let tiled = mma.tiled(1).unwrap();
        let fill = |name, from: &Tensor, dtype: DType, rows: usize, (major, swizzle)| {
            let s = SmemTensor::new(name, dtype, smem_layout(dtype, major, swizzle, (rows, k)));
            let word = 4 / dtype.bytes();
            let g2s =
                make_tiled_copy(copy_atom("UniversalCopy<uint32_t>", dtype), ((8, 16), (16, 1)), ((1, word), (0, 1)));
            let tile = from.tile([rows.next_multiple_of(8), k.next_multiple_of(16 * word)], (0, 0));
            assert!(k % (16 * word) == 0, "rows are whole tiles of the copy");
            copy(&g2s, &g2s.partition_s(&tile, thread), &g2s.partition_d(&s, thread));
            s
        };
        let sb = fill("b", &x.b, mma.b, mma.n, self.b);
        let ra = tiled.make_fragment_a([64, k]);
        let sa = self.a.map(|layout| fill("a", &x.a, mma.a, 64, layout));
        let ra = match &sa {
            Some(_) => None,
            None => {
                autovec_copy(&tiled.partition_a(&x.a.tile([64, k], (0, 0)), thread), &ra);
                Some(mma.register_a(k, ra.get()))
            }
        };
        fence_async_shared();
        sync_threads();
        let mut sums = mma.accumulator();
        if self.start != Start::Zero && mma.sums != DType::I32 {
            sums.update(|f| f * 0.0 + 1.0);
        }
        let a = || match (&sa, &ra) {
            (Some(sa), _) => A::from(sa),
            (None, Some(ra)) => ra.into(),
            _ => unreachable!(),
        };
        match self.start {
            Start::Zero => sums.mma(a(), &sb).wait(),
            Start::Anew => sums.mma_anew(a(), &sb).wait(),
            Start::Kept => sums.mma_keeping(U32::from(x.a.dim(0)).gt(0), a(), &sb).wait(),
        }
        let out = tiled.make_fragment_c([64, mma.n]);
        out.set(sums.finish_stored());
        autovec_copy(&out, &tiled.partition_c(&x.y.tile([64, mma.n], (0, 0)), thread));
    }
}

fn check(case: Case) {
    let (mut random, Case { mma, k, .. }) = (fresh(), case);
    let (bytes_a, a) = small(mma.a, &mut random, 64 * k);
    let (bytes_b, b) = small(mma.b, &mut random, mma.n * k);
    let (ta, tb) = (tensor("a", mma.a, [64, k], &bytes_a), tensor("b", mma.b, [mma.n, k], &bytes_b));
    let what = format!("{case:?}");
    let got = launch(&what, case, &ta, &tb, (mma.sums, [64, mma.n]));
    let sign = if mma.negate_a != mma.negate_b { -1.0 } else { 1.0 };
    let before = if case.start == Start::Kept { 1.0 } else { 0.0 };
    assert_each(&what, &numbers(mma.sums, &got), mma.n, |row, column| {
        sign * product(&a, &b, k, [row, column]) + before
    });
}

const K128: (Major, SharedSwizzle) = (Major::K, SharedSwizzle::B128);

#[test]
fn every_pair_of_dtypes_from_shared_memory_and_from_registers() {
    use DType::{BF16, E4M3, E5M2, F16, F32, I8, U8};
    let pairs =
        [(F16, F16), (BF16, BF16), (F32, F32), (E4M3, E4M3), (E5M2, E4M3), (E4M3, E5M2), (I8, I8), (U8, I8), (I8, U8)];
    for (a, b) in pairs {
        let k = 256 / a.bytes();
        for from in [Some(K128), None] {
            let mma = WarpgroupMma::new(64, a, b);
            check(Case { mma, k, a: from, b: K128, start: Start::Zero });
        }
    }
    for (a, b) in [(F16, F16), (E4M3, E5M2)] {
        let mma = WarpgroupMma::new(32, a, b).sums(F16);
        check(Case { mma, k: 256 / a.bytes(), a: Some(K128), b: K128, start: Start::Zero });
    }
}

#[test]
fn every_swizzle_and_both_majors() {
    for swizzle in [SharedSwizzle::Interleave, SharedSwizzle::B32, SharedSwizzle::B64, SharedSwizzle::B128] {
        for (a, b) in [(Major::K, Major::K), (Major::Mn, Major::K), (Major::K, Major::Mn), (Major::Mn, Major::Mn)] {
            let mma = WarpgroupMma::new(128, BF16, BF16);
            check(Case { mma, k: 64, a: Some((a, swizzle)), b: (b, swizzle), start: Start::Zero });
        }
        let mma = WarpgroupMma::new(64, BF16, BF16);
        check(Case { mma, k: 128, a: None, b: (Major::Mn, swizzle), start: Start::Zero });
    }
}

#[test]
fn every_width_sign_and_beginning() {
    for n in [8, 24, 40, 256] {
        check(Case { mma: WarpgroupMma::new(n, F16, F16), k: 64, a: Some(K128), b: K128, start: Start::Zero });
    }
    check(Case {
        mma: WarpgroupMma::new(48, DType::I8, DType::I8),
        k: 128,
        a: Some(K128),
        b: K128,
        start: Start::Zero,
    });
    let mma = WarpgroupMma::new(16, BF16, BF16);
    for mma in [mma.negate_a(), mma.negate_b(), mma.negate_a().negate_b()] {
        for start in [Start::Anew, Start::Kept] {
            check(Case { mma, k: 64, a: Some(K128), b: K128, start });
        }
    }
}

#[test]
fn every_form_is_assembled() {
    use DType::{BF16, E4M3, E5M2, F16, F32, I8, U8};
    let forms = [
        (BF16, BF16, F32),
        (F16, F16, F16),
        (F32, F32, F32),
        (E4M3, E5M2, F32),
        (E5M2, E5M2, F16),
        (I8, U8, DType::I32),
    ];
    for (a, b, sums) in forms {
        for (from, start) in [(Some(K128), Start::Kept), (None, Start::Anew)] {
            let mma = WarpgroupMma::new(64, a, b).sums(sums);
            let k = 256 / a.bytes();
            let case = Case { mma, k, a: from, b: K128, start };
            let t = |address, dtype, shape: [usize; 2]| assemble::tensor(address, dtype, &shape);
            let (ta, tb, mut ty) = (t(1 << 40, a, [64, k]), t(1 << 41, b, [64, k]), t(1 << 42, sums, [64, 64]));
            let host = TestArgs { a: &ta, b: &tb, y: &mut ty };
            let Some((ptx, report)) = assemble::assemble(&case, &host, Target::SM_90A) else { return };
            assemble::check(&format!("{case:?}"), &report, 128);
            assert_eq!(ptx.matches("wgmma.mma_async").count(), k / mma.k(), "{case:?}");
        }
    }
}

#[test]
fn other_targets_say_what_they_lack() {
    let case = Case { mma: WarpgroupMma::new(64, BF16, BF16), k: 64, a: Some(K128), b: K128, start: Start::Zero };
    let t = |address, shape: [usize; 2]| assemble::tensor(address, BF16, &shape);
    let (a, b, mut y) = (t(1 << 40, [64, 64]), t(1 << 41, [64, 64]), assemble::tensor(1 << 42, F32, &[64, 64]));
    let host = TestArgs { a: &a, b: &b, y: &mut y };
    let arguments = Arguments::of::<TestParams>(&host);
    let said = |target| compile(&case, &arguments, &case.launch(&host), target).unwrap_err().to_string();
    assert!(said(Target::SM_80).contains("needs sm_90, and the target is sm_80"), "{}", said(Target::SM_80));
    assert!(said(Target::SM_100A).contains("needs sm_90a, and the target is sm_100a"), "{}", said(Target::SM_100A));
}

/// All threads of a block of `threads` copy a tile to shared memory.
fn fill(s: &SmemTensor, from: &Tensor, shape: [usize; 2], threads: usize) {
    let g2s = copy_atom("UniversalCopy<uint128_t>", BF16);
    let g2s = make_tiled_copy(g2s, ((threads / 8, 8), (8, 1)), ((1, 8), (0, 1)));
    let thread = thread_idx().x;
    copy(&g2s, &g2s.partition_s(&from.tile(shape, (0, 0)), thread), &g2s.partition_d(s, thread));
}

/// Flash attention: P = a · bᵀ becomes the register operand of P · b, which reads b transposed.
#[test]
fn sums_become_the_register_operand_of_the_next_product() {
    let (mut random, [m, n, k]) = (fresh(), [64, 32, 64]);
    let (a, b) = (signs(&mut random, m * k), signs(&mut random, n * k));
    let (ta, tb) = (tensor("a", BF16, [m, k], &encode(BF16, &a)), tensor("b", BF16, [n, k], &encode(BF16, &b)));
    let got = run(128, &ta, &tb, (F32, [m, k]), move |x| {
        let layout = |rows| smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, k));
        let (sa, sb) = (SmemTensor::new("a", BF16, layout(m)), SmemTensor::new("b", BF16, layout(n)));
        fill(&sa, &x.a, [m, k], 128);
        fill(&sb, &x.b, [n, k], 128);
        fence_async_shared();
        sync_threads();
        let (first, second) = (WarpgroupMma::new(n, BF16, BF16), WarpgroupMma::new(k, BF16, BF16));
        let (scores, out) = (first.accumulator(), second.accumulator());
        scores.mma_anew(&sa, &sb).wait();
        let (tiled, next) = (first.tiled(1).unwrap(), second.tiled(1).unwrap());
        let p = second.register_a(n, next.accumulator_as_a(scores.finish(), &tiled, [m, n]).get());
        out.mma_anew(&p, &sb.select([1, 0])).wait();
        let result = next.make_fragment_c([m, k]);
        result.set(out.finish());
        autovec_copy(&result, &next.partition_c(&x.y.tile([m, k], (0, 0)), thread_idx().x));
    });
    assert_each("P · b", &numbers(F32, &got), k, |row, column| {
        (0..n).map(|j| product(&a, &b, k, [row, j]) * b[j * k + column]).sum()
    });
}

/// Two warpgroups share B, each takes its rows of A, in steps of K that are views of a stage known when the kernel runs.
#[test]
fn tiles_of_stages_and_of_warpgroups() {
    let (mut random, [m, n, k]) = (fresh(), [128, 64, 128]);
    let (bytes_a, a) = small(BF16, &mut random, m * k);
    let (bytes_b, b) = small(BF16, &mut random, n * k);
    let (ta, tb) = (tensor("a", BF16, [m, k], &bytes_a), tensor("b", BF16, [n, k], &bytes_b));
    let got = run(256, &ta, &tb, (F32, [m, n]), move |x| {
        let layout = |rows| smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, k, 3));
        let (sa, sb) = (SmemTensor::new("a", BF16, layout(m)), SmemTensor::new("b", BF16, layout(n)));
        let mma = WarpgroupMma::new(n, BF16, BF16);
        let (tiled, sums, group) = (mma.tiled(2).unwrap(), mma.accumulator(), thread_idx().x / 128);
        for stage in range(1, 2) {
            let (sa, sb) = (sa.slice((.., .., stage)), sb.slice((.., .., stage)));
            fill(&sa, &x.a, [m, k], 256);
            fill(&sb, &x.b, [n, k], 256);
            fence_async_shared();
            sync_threads();
            for step in 0..k / 32 {
                let (a, b) = (sa.tile([64, 32], (group, step)), sb.tile([n, 32], (0, step)));
                sums.mma(&a, &b).wait();
            }
        }
        let result = tiled.make_fragment_c([m, n]);
        result.set(sums.finish());
        autovec_copy(&result, &tiled.partition_c(&x.y.tile([m, n], (0, 0)), thread_idx().x));
    });
    assert_each("tiles", &numbers(F32, &got), n, |row, column| product(&a, &b, k, [row, column]));
}

/// Two accumulators in flight, each finished when its own product is done.
#[test]
fn products_overlap() {
    let (mut random, [m, n, k]) = (fresh(), [64, 32, 64]);
    let (bytes_a, a) = small(BF16, &mut random, m * k);
    let (bytes_b, b) = small(BF16, &mut random, n * k);
    let (ta, tb) = (tensor("a", BF16, [m, k], &bytes_a), tensor("b", BF16, [n, k], &bytes_b));
    let got = run(128, &ta, &tb, (F32, [m, 2 * n]), move |x| {
        let layout = |rows| smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, k));
        let (sa, sb) = (SmemTensor::new("a", BF16, layout(m)), SmemTensor::new("b", BF16, layout(n)));
        fill(&sa, &x.a, [m, k], 128);
        fill(&sb, &x.b, [n, k], 128);
        fence_async_shared();
        sync_threads();
        let mma = WarpgroupMma::new(n, BF16, BF16);
        let (plus, minus) = (mma.accumulator(), mma.negate_b().accumulator());
        let first = plus.mma_anew(&sa, &sb).close();
        let second = minus.mma_anew(&sa, &sb).close();
        first.wait_but(1);
        let tiled = mma.tiled(1).unwrap();
        let out = |place: usize, sums: Frag<value::F32>| {
            let result = tiled.make_fragment_c([m, n]);
            result.set(sums);
            autovec_copy(&result, &tiled.partition_c(&x.y.tile([m, n], (0, place)), thread_idx().x));
        };
        out(0, plus.finish());
        second.wait();
        out(1, minus.finish());
    });
    assert_each("both", &numbers(F32, &got), 2 * n, |row, column| {
        let sign = if column < n { 1.0 } else { -1.0 };
        sign * product(&a, &b, k, [row, column % n])
    });
}

/// Stages that TMA fills, of any dtype that the product takes.
#[test]
fn rings_of_bytes_and_of_words() {
    use DType::{E4M3, E5M2, F32, I8, U8};
    for (a_dtype, b_dtype) in [(E4M3, E5M2), (U8, I8), (F32, F32)] {
        let (mut random, [m, n], columns) = (fresh(), [64, 64], 128 / a_dtype.bytes());
        let k = 3 * columns;
        let (bytes_a, a) = small(a_dtype, &mut random, m * k);
        let (bytes_b, b) = small(b_dtype, &mut random, n * k);
        let (ta, tb) = (tensor("a", a_dtype, [m, k], &bytes_a), tensor("b", b_dtype, [n, k], &bytes_b));
        let mma = WarpgroupMma::new(n, a_dtype, b_dtype);
        let got = run(256, &ta, &tb, (mma.sums, [m, n]), move |x| {
            let tile = |dtype| SmemTile { dtype, rows: 64, columns };
            let ring = TmaRing::new(2, 1, [tile(a_dtype), tile(b_dtype)]);
            warp_roles()
                .producer(Registers(40), || {
                    ring.fill(3, |k, [a, b]| {
                        a.load(&x.a, (0, k));
                        b.load(&x.b, (0, k));
                    });
                })
                .consumers(1, Registers(232), |group| {
                    let acc = mma.accumulator();
                    ring.drain(3, |_, [a, b]| acc.mma(a.rows(group), b));
                    let tiled = mma.tiled(1).unwrap();
                    let result = tiled.make_fragment_c([m, n]);
                    result.set(acc.finish_stored());
                    autovec_copy(&result, &tiled.partition_c(&x.y.tile([m, n], (0, 0)), thread_idx().x % 128));
                });
        });
        let what = format!("{a_dtype} by {b_dtype}");
        assert_each(&what, &numbers(mma.sums, &got), n, |row, column| product(&a, &b, k, [row, column]));
    }
}
