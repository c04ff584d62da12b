//! Softmax against its float64 reference, on the device of the run.

#![allow(clippy::print_stdout, reason = "it says what is skipped")]

mod common;

use common::{DTYPES, LENGTHS, Placement, ROWS, assert_right, device, fresh, matrix, output, rounded};
use warpsmith_kernels::rows::RowPlan;
use warpsmith_kernels::softmax;
use warpsmith_kernels::softmax::reference;
use warpsmith_runtime::Tensor;
use warpsmith_types::DType;

fn expected(values: &[f64], dim: usize) -> Vec<f64> {
    values.chunks(dim).flat_map(reference::softmax).collect()
}

fn check(what: &str, [input, out]: [DType; 2], rows: usize, dim: usize, at: Placement, values: &[f64]) {
    let values = rounded(input, values);
    let x = matrix("x", input, rows, dim, at, &values);
    let mut y = output(out, rows, dim, at);
    let before = y.to_bytes().unwrap();
    let outcome = softmax(x.arg(), y.arg_mut(), &device().default_stream()).unwrap();
    assert_right(what, &outcome, &y, at, &expected(&values, dim), &before);
}

#[test]
fn every_dtype_length_and_row_count() {
    let mut random = fresh();
    for dtype in DTYPES {
        for dim in LENGTHS {
            for rows in ROWS {
                let values = random.normals(rows * dim, 3.0);
                check(&format!("{dtype} {rows} × {dim}"), [dtype; 2], rows, dim, Placement::dense(dim), &values);
            }
        }
    }
}

#[test]
fn large_and_tiny_values() {
    let mut random = fresh();
    for dtype in DTYPES {
        let largest = match dtype {
            DType::F16 => 65504.0,
            _ => 3.0e38,
        };
        for dim in [1, 31, 100, 4096, 5000] {
            for scale in [1e-30, 1e-6, 30.0, 1e4, largest] {
                let values: Vec<f64> =
                    random.normals(3 * dim, scale).iter().map(|v| v.clamp(-largest, largest)).collect();
                let what = format!("{dtype} 3 × {dim} of size {scale:e}");
                check(&what, [dtype; 2], 3, dim, Placement::dense(dim), &values);
            }
        }
    }
}

#[test]
fn infinities_and_nan() {
    let mut random = fresh();
    for dtype in DTYPES {
        for dim in [1, 7, 100, 1000, 4096, 4100] {
            let mut values = random.normals(6 * dim, 1.0);
            // Row 0: some −∞. Row 1: all −∞. Row 2: one number among −∞. Row 3: a NaN. Row 4: +∞. Row 5: numbers.
            (0..dim / 2).for_each(|_| values[random.below(dim)] = f64::NEG_INFINITY);
            values[random.below(dim)] = 1.0;
            values[dim..3 * dim].fill(f64::NEG_INFINITY);
            values[2 * dim + random.below(dim)] = 2.0;
            values[3 * dim + random.below(dim)] = f64::NAN;
            values[4 * dim + random.below(dim)] = f64::INFINITY;
            check(&format!("{dtype} 6 × {dim}"), [dtype; 2], 6, dim, Placement::dense(dim), &values);
        }
    }
}

#[test]
fn strided_rows_and_unaligned_bases() {
    let mut random = fresh();
    for dtype in DTYPES {
        for (dim, stride, offset) in
            [(128, 136, 0), (128, 129, 0), (4096, 4096, 1), (4096, 4100, 2), (31, 64, 3), (1, 5, 1)]
        {
            let at = Placement { stride, offset };
            let values = random.normals(5 * dim, 2.0);
            check(&format!("{dtype} 5 × {dim} {at:?}"), [dtype; 2], 5, dim, at, &values);
        }
    }
}

/// Lengths past what a block holds: of a cluster of 2, 4, 8 and 16, those where a whole warp has nothing, and longer ones.
const LONG: [(DType, usize); 12] = [
    (DType::F32, 1 << 20),
    (DType::F32, 400_000),
    (DType::F16, 524_288),
    (DType::BF16, 1 << 20),
    (DType::BF16, 50_257),
    (DType::BF16, 65_544),
    (DType::F32, 70_000),
    (DType::F16, 131_584),
    (DType::BF16, 151_936),
    (DType::BF16, 262_208),
    (DType::BF16, 400_008),
    (DType::F32, 100_003),
];

#[test]
fn long_rows() {
    let mut random = fresh();
    for (dtype, dim) in LONG {
        let mut values = random.normals(2 * dim, 3.0);
        // All but the first few elements of a row are masked: warps, and blocks, have nothing.
        values[dim + 5..].fill(f64::NEG_INFINITY);
        let at = Placement { stride: dim + dim % 2, offset: 0 };
        check(&format!("{dtype} 2 × {dim}"), [dtype; 2], 2, dim, at, &values);
    }
}

/// The last row begins past 2³¹ elements; nothing between the rows exists.
#[test]
fn rows_far_apart() {
    let (dim, stride) = (1000, (1 << 31) + 8);
    let (first, last) =
        (rounded(DType::F16, &fresh().normals(dim, 2.0)), rounded(DType::F16, &fresh().normals(dim, 2.0)));
    let far = |name| warpsmith_runtime::Tensor::strided(&device(), name, DType::F16, [2, dim], stride, 0);
    let (Ok(x), Ok(mut y)) = (far("x"), far("y")) else { return println!("skipped: no room for 8 GiB") };
    for (row, values) in [&first, &last].into_iter().enumerate() {
        let bytes = warpsmith_kernels::compare::encode(DType::F16, values);
        x.buffer().upload_at(row * stride * 2, &bytes).unwrap();
    }
    let outcome = softmax(x.arg(), y.arg_mut(), &device().default_stream()).unwrap();
    assert!(outcome.findings.is_empty(), "{}", outcome.findings[0]);
    for (row, values) in [&first, &last].into_iter().enumerate() {
        let mut bytes = vec![0; 2 * dim];
        y.buffer().download_at(row * stride * 2, &mut bytes).unwrap();
        let got = warpsmith_kernels::compare::decode(DType::F16, &bytes);
        for (got, want) in got.iter().zip(reference::softmax(values)) {
            assert!((got - want).abs() <= 1e-3 * want + 1e-7, "{got} instead of {want}");
        }
    }
}

#[test]
fn input_and_output_of_different_dtypes() {
    let mut random = fresh();
    for input in DTYPES {
        for out in DTYPES {
            for dim in [100, 111, 4096] {
                let values = random.normals(3 * dim, 2.0);
                check(&format!("{input} to {out}, 3 × {dim}"), [input, out], 3, dim, Placement::dense(dim), &values);
            }
        }
    }
}

#[test]
fn in_place() {
    let (rows, dim, at) = (5, 1000, Placement::dense(1000));
    let values = rounded(DType::BF16, &fresh().normals(rows * dim, 2.0));
    let mut x = matrix("x", DType::BF16, rows, dim, at, &values);
    let (before, view) = (x.to_bytes().unwrap(), x.arg().clone());
    let outcome = softmax(&view, x.arg_mut(), &device().default_stream()).unwrap();
    assert_right("in place", &outcome, &x, at, &expected(&values, dim), &before);
}

#[test]
fn bad_arguments_are_named() {
    let refused = |dtype, shape: &[usize], other: &[usize], change: fn(&mut warpsmith_dsl::TensorArg)| {
        let mut x = Tensor::new(&device(), "x", dtype, shape).unwrap();
        let mut y = Tensor::new(&device(), "y", dtype, other).unwrap();
        change(x.arg_mut());
        softmax(x.arg(), y.arg_mut(), &device().default_stream()).unwrap_err().to_string()
    };
    let f32s = DType::F32;
    assert_eq!(refused(f32s, &[4], &[4], |_| ()), "`x`: expected 2 dimensions (rows, dim), got shape [4]");
    assert_eq!(refused(f32s, &[2, 4], &[2, 5], |_| ()), "`y`: `dim` is 5, but `x` has 4");
    assert_eq!(refused(f32s, &[2, 4], &[3, 4], |_| ()), "`y`: `rows` is 3, but `x` has 2");
    assert_eq!(refused(DType::I32, &[2, 4], &[2, 4], |_| ()), "`x`: expected elements of f32, f16 or bf16, got i32");
    assert_eq!(refused(f32s, &[2, 0], &[2, 0], |_| ()), "`x`: expected rows of at least 1 element, got 0");
    assert_eq!(
        refused(f32s, &[2, 4], &[2, 4], |x| x.strides = vec![1, 2]),
        "`x`: expected a stride of 1 along `dim`, got 2; copy it to a dense tensor first"
    );
    let misaligned = refused(f32s, &[2, 4], &[2, 4], |x| x.address += 2);
    assert!(misaligned.starts_with("`x`: the address 0x"), "{misaligned}");
    assert!(misaligned.ends_with("is not a multiple of the 4 bytes of a f32"), "{misaligned}");
}

#[test]
fn gradients_of_every_length_class() {
    let mut random = fresh();
    let lengths = [(1, 3), (111, 3), (1000, 33), (4100, 3), (24_576, 2), (50_257, 2), (131_584, 1), (270_000, 1)];
    for (i, (dim, rows)) in lengths.into_iter().enumerate() {
        let (dtype, at) = (DTYPES[i % 3], Placement { stride: dim + 3, offset: 1 });
        let dy = rounded(dtype, &random.normals(rows * dim, 1.0));
        let y = rounded(dtype, &expected(&random.normals(rows * dim, 2.0), dim));
        let (tdy, ty) = (matrix("dy", dtype, rows, dim, at, &dy), matrix("y", dtype, rows, dim, at, &y));
        let mut dx = output(DType::F32, rows, dim, at);
        let outcome = softmax::backward(tdy.arg(), ty.arg(), dx.arg_mut(), &device().default_stream()).unwrap();
        assert!(outcome.findings.is_empty(), "{dim}: {}", outcome.findings[0]);
        let got = warpsmith_kernels::compare::decode(DType::F32, &dx.to_bytes().unwrap());
        for r in 0..rows {
            let want = reference::backward(&dy[r * dim..][..dim], &y[r * dim..][..dim]);
            let largest = want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            for (c, want) in want.iter().enumerate() {
                let got = got[at.index(r, c)];
                assert!((got - want).abs() <= 1e-5 * largest, "{dtype} {dim}: {got} instead of {want} at {r}, {c}");
            }
        }
    }
}

#[test]
fn rows_do_not_depend_on_the_batch() {
    for dim in [111, 4096, 70_000] {
        let row = rounded(DType::BF16, &fresh().normals(dim, 1.0));
        let run = |rows: usize, place: usize| {
            let mut x = rounded(DType::BF16, &fresh().normals(rows * dim, 5.0));
            x[place * dim..(place + 1) * dim].copy_from_slice(&row);
            let x = matrix("x", DType::BF16, rows, dim, Placement::dense(dim), &x);
            let mut y = output(DType::F32, rows, dim, Placement::dense(dim));
            softmax(x.arg(), y.arg_mut(), &device().default_stream()).unwrap();
            y.to_bytes().unwrap()[place * dim * 4..(place + 1) * dim * 4].to_vec()
        };
        let alone = run(1, 0);
        let batches: &[(usize, usize)] = if dim > 10_000 { &[(1, 0), (3, 2)] } else { &[(1, 0), (3, 2), (33, 17)] };
        for &(rows, place) in batches {
            assert!(run(rows, place) == alone, "{dim}: row {place} of {rows}");
        }
    }
}

/// Clusters larger than every chip with clusters has.
#[test]
fn a_row_shared_by_sixteen_blocks() {
    if device().chip().largest_cluster < 16 {
        return println!("skipped: {} has no clusters of 16", device().chip().name);
    }
    let (mut random, dtype, dim) = (fresh(), DType::F32, 70_000);
    let at = Placement::dense(dim);
    let values = rounded(dtype, &random.normals(2 * dim, 1.0));
    let x = matrix("x", dtype, 2, dim, at, &values);
    let mut y = output(dtype, 2, dim, at);
    let before = y.to_bytes().unwrap();
    let rows = RowPlan::with_cluster(dim, 4, 1, 16, 512).unwrap();
    assert_eq!(rows.cluster, 16);
    let kernel = softmax::Softmax { input: dtype, output: dtype, dim, rows };
    let bound = softmax::bind_plan(kernel, x.arg(), y.arg_mut(), &device()).unwrap();
    let outcome = bound.launch(&device().default_stream()).unwrap();
    let expected: Vec<f64> = values.chunks(dim).flat_map(softmax::reference::softmax).collect();
    assert_right("2 × 70000 by clusters of 16", &outcome, &y, at, &expected, &before);
}
