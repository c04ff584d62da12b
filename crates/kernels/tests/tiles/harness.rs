//! Kernels of one block by closures, their data, and what they give.

use crate::common::device;
use warpsmith::compare::{decode, encode};
use warpsmith::random::Random;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Jit, LaunchOutcome, Tensor};

/// Two inputs and an output, of unrelated shapes.
#[derive(KernelArgs)]
pub struct TestArgs<'a> {
    #[tensor(m, k)]
    pub a: &'a TensorArg,
    #[tensor(n, l)]
    pub b: &'a TensorArg,
    #[tensor(p, q)]
    pub y: &'a mut TensorArg,
}

/// A kernel of one block, by a closure.
pub struct Block<F> {
    pub threads: usize,
    pub body: F,
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

/// A tensor of these bytes.
pub fn tensor(name: &str, dtype: DType, shape: [usize; 2], bytes: &[u8]) -> Tensor {
    let t = Tensor::new(&device(), name, dtype, &shape).unwrap();
    t.buffer().upload(bytes).unwrap();
    t
}

/// Launches a kernel; the bytes of `y` after it.
pub fn launch<K>(what: &str, kernel: K, a: &Tensor, b: &Tensor, y: (DType, [usize; 2])) -> Vec<u8>
where
    K: Kernel<Args = TestParams>,
{
    let mut y = Tensor::new(&device(), "y", y.0, &y.1).unwrap();
    y.buffer().poison().unwrap();
    let arguments = TestArgs { a: a.arg(), b: b.arg(), y: y.arg_mut() };
    let outcome = Jit::new(kernel).launch(&arguments, &device().default_stream());
    assert_clean(what, &outcome.unwrap_or_else(|e| panic!("{what}: {e}")));
    y.to_bytes().unwrap()
}

/// The sanitizer is content.
pub fn assert_clean(what: &str, outcome: &LaunchOutcome) {
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));
}

/// Runs a body on two inputs; the bytes of `y` after it.
pub fn run(
    threads: usize,
    a: &Tensor,
    b: &Tensor,
    y: (DType, [usize; 2]),
    body: impl Fn(&TestParams) + Send + Sync,
) -> Vec<u8> {
    launch("test", Block { threads, body }, a, b, y)
}

/// Random bytes.
pub fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.below(256) as u8).collect()
}

/// A tile goes in, and must come out.
pub fn through(dtype: DType, [m, n]: [usize; 2], body: impl Fn(&TestParams) + Send + Sync) {
    let data = bytes(&mut crate::common::fresh(), m * n * dtype.bytes());
    let a = tensor("a", dtype, [m, n], &data);
    let got = run(128, &a, &a, (dtype, [m, n]), body);
    let wrong = got.iter().zip(&data).position(|(a, b)| a != b);
    assert_eq!(wrong, None, "{dtype}: the first byte that differs");
}

/// Elements that are small whole numbers in every dtype, and their values.
pub fn small(dtype: DType, random: &mut Random, count: usize) -> (Vec<u8>, Vec<f64>) {
    let lowest = if dtype == DType::U8 { 0.0 } else { -4.0 };
    let values: Vec<f64> = (0..count).map(|_| random.below(9) as f64 + lowest).collect();
    let bytes = match dtype {
        DType::I8 | DType::U8 => values.iter().map(|&v| v as i32 as u8).collect(),
        DType::E4M3 => values.iter().map(|&v| eight_bits(v, 3, 7)).collect(),
        DType::E5M2 => values.iter().map(|&v| eight_bits(v, 2, 15)).collect(),
        _ => encode(dtype, &values),
    };
    (bytes, values)
}

/// Sign, exponent, mantissa of a number that has them exactly.
fn eight_bits(v: f64, mantissa: i32, bias: i32) -> u8 {
    if v == 0.0 {
        return 0;
    }
    let exponent = v.abs().log2().floor();
    let fraction = (v.abs() / exponent.exp2() - 1.0) * f64::from(1 << mantissa);
    u8::from(v < 0.0) << 7 | ((exponent as i32 + bias) << mantissa) as u8 | fraction as u8
}

/// −1, 0 and 1: their products of products are whole numbers that every dtype holds.
pub fn signs(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.below(3) as f64 - 1.0).collect()
}

/// The numbers of a result.
pub fn numbers(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::I32 => bytes.chunks(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]).into()).collect(),
        dtype => decode(dtype, bytes),
    }
}

/// Element (row, column) of a · bᵀ, of `k` columns each.
pub fn product(a: &[f64], b: &[f64], k: usize, [row, column]: [usize; 2]) -> f64 {
    (0..k).map(|l| a[row * k + l] * b[column * k + l]).sum()
}

/// Asserts each element of a (rows, `n`) result.
pub fn assert_each(what: &str, got: &[f64], n: usize, expected: impl Fn(usize, usize) -> f64) {
    for (i, got) in got.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        assert_eq!(*got, expected(row, column), "{what} [{row}, {column}]");
    }
}
