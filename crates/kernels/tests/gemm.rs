//! Matrix products against their float64 reference, on the device of the run.

mod common;

use common::{Placement, device, fresh, is_large, matrix, output, rounded};
use warpsmith_kernels::compare::{Tolerance, decode};
use warpsmith_kernels::gemm;
use warpsmith_kernels::gemm::reference;
use warpsmith_kernels::random::Random;
use warpsmith_runtime::Tensor;
use warpsmith_types::DType;

/// Rounding of sums in f32, relative to the sum of the products' magnitudes: the tensor cores keep at least 22 bits.
const SUM: f64 = 1e-5;

fn check(dtype: DType, [m, n, k]: [usize; 3]) {
    let mut random = fresh();
    let a = rounded(dtype, &random.normals(m * k, 1.0));
    let b = rounded(dtype, &random.normals(n * k, 1.0));
    // Rows are aligned to 16 bytes: 8 elements.
    let at = |columns: usize| Placement { stride: columns.next_multiple_of(8), offset: 0 };
    let (ta, tb) = (matrix("a", dtype, m, k, at(k), &a), matrix("b", dtype, n, k, at(k), &b));
    let mut tc = output(dtype, m, n, at(n));
    let before = tc.to_bytes().unwrap();
    let outcome = gemm(ta.arg(), tb.arg(), tc.arg_mut(), &device().default_stream()).unwrap();
    let what = format!("{dtype} {m} × {n} × {k}");
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));

    let bytes = tc.to_bytes().unwrap();
    let got = decode(dtype, &bytes);
    // Large products are checked in a sample of rows and columns.
    let sample = |extent: usize, random: &mut Random| -> Vec<usize> {
        let all = if extent <= 300 {
            (0..extent).collect()
        } else {
            (0..60).map(|_| random.below(extent)).collect::<Vec<_>>()
        };
        all.into_iter().chain([0, extent - 1]).collect()
    };
    let (rows, columns) = (sample(m, &mut random), sample(n, &mut random));
    let tolerance = Tolerance::of(dtype);
    for &i in &rows {
        let row = &a[i * k..(i + 1) * k];
        for &j in &columns {
            let (expected, magnitude) = reference::gemm(row, &b[j * k..(j + 1) * k], [1, 1, k])[0];
            let y = got[at(n).index(i, j)];
            let allowed = tolerance.absolute + tolerance.relative * expected.abs() + SUM * magnitude;
            assert!((y - expected).abs() <= allowed, "{what}: {y} instead of {expected} at [{i}, {j}]");
        }
    }
    // Between the rows nothing is written.
    let width = dtype.bytes();
    for i in 0..m - 1 {
        for j in n..at(n).stride {
            let gap = at(n).index(i, j) * width..(at(n).index(i, j) + 1) * width;
            assert_eq!(bytes[gap.clone()], before[gap], "{what}: [{i}, {j}] lies outside and was written");
        }
    }
}

/// Fewer on the emulator, where the matrix units are a processor's, and under a checking tool.
fn shapes() -> Vec<[usize; 3]> {
    let small = vec![[128, 256, 64], [1, 8, 1], [64, 128, 40], [130, 264, 200], [300, 520, 72]];
    let large = [
        [1024, 1024, 1024],
        [4096, 4096, 512],
        [129, 4104, 2048],
        [8192, 136, 4096],
        [16, 8192, 8192],
        [2048, 2048, 8],
        [3000, 5000, 1000],
        [8192, 8192, 256],
    ];
    if is_large() { small.into_iter().chain(large).collect() } else { small }
}

#[test]
fn products_of_every_shape() {
    for dtype in [DType::BF16, DType::F16] {
        shapes().into_iter().for_each(|shape| check(dtype, shape));
    }
}

#[test]
fn bad_arguments_are_named() {
    let device = device();
    let t = |dtype, shape: &[usize]| Tensor::new(&device, "t", dtype, shape).unwrap();
    let refused = |a: &Tensor, b: &Tensor, mut c: Tensor| {
        gemm(a.arg(), b.arg(), c.arg_mut(), &device.default_stream()).unwrap_err().to_string()
    };
    let bf16 = DType::BF16;
    let (a, b) = (t(bf16, &[128, 64]), t(bf16, &[256, 64]));
    assert_eq!(refused(&a, &t(bf16, &[256, 72]), t(bf16, &[128, 256])), "`b`: `k` is 72, but `a` has 64");
    assert_eq!(refused(&a, &b, t(bf16, &[120, 256])), "`c`: `m` is 120, but `a` has 128");
    assert_eq!(refused(&a, &b, t(DType::F32, &[128, 256])), "`c`: expected bf16 or f16, the same for all, got f32");
    let short = refused(&a, &t(bf16, &[257, 64]), Tensor::strided(&device, "c", bf16, [128, 257], 264, 0).unwrap());
    assert_eq!(short, "`c`: expected rows of a multiple of 8 elements, got 257");
    let odd = refused(&t(bf16, &[128, 63]), &t(bf16, &[256, 63]), t(bf16, &[128, 256]));
    assert!(odd.starts_with("`a`: expected rows aligned to 16 bytes, got address"), "{odd}");
}
