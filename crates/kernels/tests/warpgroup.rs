//! Every product of a warpgroup on the device of the run, against plain Rust.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::{assemble, device, fresh};
use warpsmith::compare::{decode, encode};
use warpsmith::random::Random;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Target, compile, value};
use warpsmith_runtime::{Jit, Tensor};

#[derive(KernelArgs)]
struct TestArgs<'a> {
    #[tensor(m, k)]
    a: &'a TensorArg,
    #[tensor(n, l)]
    b: &'a TensorArg,
    #[tensor(p, q)]
    y: &'a mut TensorArg,
}

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
        let fill = |name, from: &Tensor2<'_>, dtype: DType, rows: usize, (major, swizzle)| {
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
            (Some(sa), _) => warpsmith_dsl::warpgroup::A::from(sa),
            (None, Some(ra)) => ra.into(),
            _ => unreachable!(),
        };
        match self.start {
            Start::Zero => sums.mma(a(), &sb).wait(),
            Start::Anew => sums.mma_anew(a(), &sb).wait(),
            Start::Kept => sums.mma_keeping(x.a.dim_at(0).gt(0), a(), &sb).wait(),
        }
        let out = tiled.make_fragment_c([64, mma.n]);
        out.set(sums.finish_stored());
        autovec_copy(&out, &tiled.partition_c(&x.y.tile([64, mma.n], (0, 0)), thread));
    }
}

type Tensor2<'a> = warpsmith_dsl::Tensor;

trait DimAt {
    fn dim_at(&self, mode: usize) -> U32;
}
impl DimAt for warpsmith_dsl::Tensor {
    fn dim_at(&self, mode: usize) -> U32 {
        self.dim(mode).into()
    }
}

/// Elements that are small whole numbers in every dtype, and their values.
fn small(dtype: DType, random: &mut Random, count: usize) -> (Vec<u8>, Vec<f64>) {
    let lowest = if dtype == DType::U8 { 0.0 } else { -2.0 };
    let values: Vec<f64> = (0..count).map(|_| random.below(5) as f64 + lowest).collect();
    let bytes = match dtype {
        DType::I8 | DType::U8 => values.iter().map(|&v| v as i32 as u8).collect(),
        // Whole numbers up to 2: sign, exponent, an empty mantissa.
        DType::E4M3 => values.iter().map(|&v| power_of_two(v, 3, 7)).collect(),
        DType::E5M2 => values.iter().map(|&v| power_of_two(v, 2, 15)).collect(),
        _ => encode(dtype, &values),
    };
    (bytes, values)
}

fn power_of_two(v: f64, mantissa: i32, bias: i32) -> u8 {
    let magnitude = if v == 0.0 { 0 } else { ((v.abs().log2() as i32 + bias) << mantissa) as u8 };
    u8::from(v < 0.0) << 7 | magnitude
}

fn tensor(name: &str, dtype: DType, shape: [usize; 2], bytes: &[u8]) -> Tensor {
    let t = Tensor::new(&device(), name, dtype, &shape).unwrap();
    t.buffer().upload(bytes).unwrap();
    t
}

fn check(case: Case) {
    let (mut random, Case { mma, k, .. }) = (fresh(), case);
    let (bytes_a, a) = small(mma.a, &mut random, 64 * k);
    let (bytes_b, b) = small(mma.b, &mut random, mma.n * k);
    let (ta, tb) = (tensor("a", mma.a, [64, k], &bytes_a), tensor("b", mma.b, [mma.n, k], &bytes_b));
    let mut y = Tensor::new(&device(), "y", mma.sums, &[64, mma.n]).unwrap();
    y.buffer().poison().unwrap();
    let arguments = TestArgs { a: ta.arg(), b: tb.arg(), y: y.arg_mut() };
    let outcome = Jit::new(case).launch(&arguments, &device().default_stream());
    let outcome = outcome.unwrap_or_else(|e| panic!("{case:?}: {e}"));
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{case:?}: {}", findings.join("\n"));
    let bytes = y.to_bytes().unwrap();
    let got: Vec<f64> = match mma.sums {
        DType::I32 => bytes.chunks(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]).into()).collect(),
        dtype => decode(dtype, &bytes),
    };
    let sign = if mma.negate_a != mma.negate_b { -1.0 } else { 1.0 };
    for i in 0..64 * mma.n {
        let (row, column) = (i / mma.n, i % mma.n);
        let product: f64 = (0..k).map(|l| a[row * k + l] * b[column * k + l]).sum();
        let expected = sign * product + if case.start == Start::Kept { 1.0 } else { 0.0 };
        assert_eq!(got[i], expected, "{case:?} [{row}, {column}]");
    }
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

/// A kernel by a closure.
struct Body<F> {
    threads: usize,
    body: F,
}

impl<F: Fn(&TestParams) + Send + Sync> Kernel for Body<F> {
    type Args = TestParams;
    fn name(&self) -> String {
        "body".into()
    }
    fn launch(&self, _: &TestArgs<'_>) -> Launch {
        Launch::grid(1).block(self.threads)
    }
    fn body(&self, x: TestParams) {
        (self.body)(&x);
    }
}

/// Runs a body on bf16 matrices; `y` in f32.
fn run(threads: usize, a: &Tensor, b: &Tensor, y: [usize; 2], body: impl Fn(&TestParams) + Send + Sync) -> Vec<f64> {
    let mut y = Tensor::new(&device(), "y", F32, &y).unwrap();
    y.buffer().poison().unwrap();
    let arguments = TestArgs { a: a.arg(), b: b.arg(), y: y.arg_mut() };
    let outcome = Jit::new(Body { threads, body }).launch(&arguments, &device().default_stream());
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    decode(F32, &y.to_bytes().unwrap())
}

/// All threads of a block of `threads` copy a tile to shared memory.
fn fill(s: &SmemTensor, from: &warpsmith_dsl::Tensor, shape: [usize; 2], threads: usize) {
    let g2s = copy_atom("UniversalCopy<uint128_t>", BF16);
    let g2s = make_tiled_copy(g2s, ((threads / 8, 8), (8, 1)), ((1, 8), (0, 1)));
    let thread = thread_idx().x;
    copy(&g2s, &g2s.partition_s(&from.tile(shape, (0, 0)), thread), &g2s.partition_d(s, thread));
}

/// Flash attention: P = a · bᵀ becomes the register operand of P · b, which reads b transposed.
#[test]
fn sums_become_the_register_operand_of_the_next_product() {
    let (mut random, [m, n, k]) = (fresh(), [64, 32, 64]);
    let ones =
        |count: usize, random: &mut Random| -> Vec<f64> { (0..count).map(|_| random.below(3) as f64 - 1.0).collect() };
    let (a, b) = (ones(m * k, &mut random), ones(n * k, &mut random));
    let (ta, tb) = (tensor("a", BF16, [m, k], &encode(BF16, &a)), tensor("b", BF16, [n, k], &encode(BF16, &b)));
    let got = run(128, &ta, &tb, [m, k], move |x| {
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
    for i in 0..m * k {
        let (row, column) = (i / k, i % k);
        let p = |j: usize| (0..k).map(|l| a[row * k + l] * b[j * k + l]).sum::<f64>();
        let expected: f64 = (0..n).map(|j| p(j) * b[j * k + column]).sum();
        assert_eq!(got[i], expected, "[{row}, {column}]");
    }
}

/// Two warpgroups share B, each takes its rows of A, in steps of K that are views of a stage known when the kernel runs.
#[test]
fn tiles_of_stages_and_of_warpgroups() {
    let (mut random, [m, n, k]) = (fresh(), [128, 64, 128]);
    let (bytes_a, a) = small(BF16, &mut random, m * k);
    let (bytes_b, b) = small(BF16, &mut random, n * k);
    let (ta, tb) = (tensor("a", BF16, [m, k], &bytes_a), tensor("b", BF16, [n, k], &bytes_b));
    let got = run(256, &ta, &tb, [m, n], move |x| {
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
    for i in 0..m * n {
        let (row, column) = (i / n, i % n);
        let expected: f64 = (0..k).map(|l| a[row * k + l] * b[column * k + l]).sum();
        assert_eq!(got[i], expected, "[{row}, {column}]");
    }
}

/// Two accumulators in flight, each finished when its own product is done.
#[test]
fn products_overlap() {
    let (mut random, [m, n, k]) = (fresh(), [64, 32, 64]);
    let (bytes_a, a) = small(BF16, &mut random, m * k);
    let (bytes_b, b) = small(BF16, &mut random, n * k);
    let (ta, tb) = (tensor("a", BF16, [m, k], &bytes_a), tensor("b", BF16, [n, k], &bytes_b));
    let got = run(128, &ta, &tb, [m, 2 * n], move |x| {
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
    for i in 0..2 * m * n {
        let (row, column) = (i / (2 * n), i % (2 * n));
        let product: f64 = (0..k).map(|l| a[row * k + l] * b[column % n * k + l]).sum();
        let expected = if column < n { product } else { -product };
        assert_eq!(got[i], expected, "[{row}, {column}]");
    }
}
