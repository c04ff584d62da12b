//! Tiled copies, shared tensors and matrix instructions on the device of the run, against plain Rust.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::{assemble, device, fresh};
use warpsmith::compare::{decode, encode};
use warpsmith::random::Random;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Target, compile};
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

/// A kernel of one block, by a closure.
struct Block<F> {
    threads: usize,
    body: F,
}

impl<F: Fn(&TestParams) + Send + Sync> Kernel for Block<F> {
    type Args = TestParams;
    fn name(&self) -> String {
        "test".into()
    }
    fn launch(&self, _: &TestArgs<'_>) -> Launch {
        Launch::grid(1).block(self.threads)
    }
    fn body(&self, x: TestParams) {
        (self.body)(&x);
    }
}

fn tensor(name: &str, dtype: DType, shape: [usize; 2], bytes: &[u8]) -> Tensor {
    let t = Tensor::new(&device(), name, dtype, &shape).unwrap();
    t.buffer().upload(bytes).unwrap();
    t
}

/// Runs a body on two inputs; the bytes of `y` after it.
fn run(
    threads: usize,
    a: &Tensor,
    b: &Tensor,
    y: (DType, [usize; 2]),
    body: impl Fn(&TestParams) + Send + Sync,
) -> Vec<u8> {
    let mut y = Tensor::new(&device(), "y", y.0, &y.1).unwrap();
    y.buffer().poison().unwrap();
    let arguments = TestArgs { a: a.arg(), b: b.arg(), y: y.arg_mut() };
    let outcome = Jit::new(Block { threads, body }).launch(&arguments, &device().default_stream());
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    y.to_bytes().unwrap()
}

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.below(256) as u8).collect()
}

/// Copies a tile through shared memory, and gives what comes out.
fn through(dtype: DType, [m, n]: [usize; 2], body: impl Fn(&TestParams) + Send + Sync) {
    let data = bytes(&mut fresh(), m * n * dtype.bytes());
    let a = tensor("a", dtype, [m, n], &data);
    let got = run(128, &a, &a, (dtype, [m, n]), body);
    let wrong = got.iter().zip(&data).position(|(a, b)| a != b);
    assert_eq!(wrong, None, "{dtype}: the first byte that differs");
}

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
            let plain = memory.place("plain", DType::U16, warpsmith_layout::Layout::new(2048, 1).unwrap());
            for i in 0..8 {
                let to = |i: usize| x.y.tile([2, 64], (i, 0)).partition(&tv, thread_idx().x);
                to(i).store(select_row(&s, i, column, row));
                // As it lies in memory.
                to(8 + i).store(plain.get((thread_idx().x + (1024 + 128 * i),)));
            }
        });
        assert!(got[..data.len()] == data, "{swizzle:?}");
        let layout = SharedAtomLayout { swizzle }.table();
        for i in 0..1024 {
            let at = 2 * (1024 + layout[i] - 1024);
            // Column by column: element i of the layout is row i % 16, column i / 16.
            let logical = 2 * (64 * (i % 16) + i / 16);
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
        let windows = layout.around(warpsmith_layout::Layout::new((4, 13, 64), (64, 64, 1)).unwrap());
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

struct SharedAtomLayout {
    swizzle: SharedSwizzle,
}

impl SharedAtomLayout {
    /// Where the elements of one stage lie, by the algebra on the host.
    fn table(&self) -> Vec<usize> {
        let atom = warpsmith_layout::atom::SharedAtom { major: Major::K, swizzle: self.swizzle };
        let tile = atom.with_swizzle(16, atom.tile(16, (16, 64), None).unwrap()).unwrap();
        tile.table().unwrap().into_iter().map(|x| x as usize).collect()
    }
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

fn compact(layout: &warpsmith_layout::Layout) -> warpsmith_layout::Layout {
    warpsmith_layout::Layout::compact(layout.shape().clone()).unwrap()
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
            let whole = warpsmith_layout::atom::SharedAtom { major, swizzle }.elements(dtype.bits() as i64).unwrap();
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

/// Elements that are small whole numbers in every dtype, and their values.
fn small(dtype: DType, random: &mut Random, count: usize) -> (Vec<u8>, Vec<f64>) {
    let values: Vec<f64> =
        (0..count).map(|_| random.below(9) as f64 - if dtype == DType::U8 { 0.0 } else { 4.0 }).collect();
    let bytes = match dtype {
        DType::I8 | DType::U8 => values.iter().map(|&v| v as i32 as u8).collect(),
        // Sign, exponent of bias 7 or 15, mantissa of 3 or 2 bits: whole numbers up to 4.
        DType::E4M3 => values.iter().map(|&v| eight_bits(v, 3, 7)).collect(),
        DType::E5M2 => values.iter().map(|&v| eight_bits(v, 2, 15)).collect(),
        _ => encode(dtype, &values),
    };
    (bytes, values)
}

fn eight_bits(v: f64, mantissa: i32, bias: i32) -> u8 {
    if v == 0.0 {
        return 0;
    }
    let exponent = v.abs().log2().floor();
    let fraction = (v.abs() / exponent.exp2() - 1.0) * f64::from(1 << mantissa);
    u8::from(v < 0.0) << 7 | ((exponent as i32 + bias) << mantissa) as u8 | fraction as u8
}

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
        let got: Vec<f64> = match dtypes.sum {
            DType::I32 => got.chunks(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]).into()).collect(),
            dtype => decode(dtype, &got),
        };
        for i in 0..m * n {
            let (row, column) = (i / n, i % n);
            let expected: f64 = (0..k).map(|l| a[row * k + l] * b[column * k + l]).sum();
            assert_eq!(got[i], expected, "{name} [{row}, {column}]");
        }
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
    let ones =
        |count: usize, random: &mut Random| -> Vec<f64> { (0..count).map(|_| random.below(3) as f64 - 1.0).collect() };
    let (a, b) = (ones(m * k, &mut random), ones(n * k, &mut random));
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
    let got = decode(F32, &got);
    for i in 0..m * k {
        let (row, column) = (i / k, i % k);
        let p = |j: usize| (0..k).map(|l| a[row * k + l] * b[j * k + l]).sum::<f64>();
        let expected: f64 = (0..n).map(|j| p(j) * b[j * k + column]).sum();
        assert_eq!(got[i], expected, "[{row}, {column}]");
    }
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
                    (ra.round_to_tf32(), rb.round_to_tf32());
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
