//! RMS normalisation against its float64 reference, on the device of the run.

mod common;

use common::{DTYPES, LENGTHS, Placement, ROWS, assert_right, device, fresh, matrix, output, rounded};
use warpsmith_kernels::rms_norm;
use warpsmith_kernels::rms_norm::reference;
use warpsmith_runtime::Tensor;
use warpsmith_types::DType;

const EPS: f32 = 1e-6;

fn expected(values: &[f64], weight: Option<&[f64]>, dim: usize) -> Vec<f64> {
    values.chunks(dim).flat_map(|row| reference::rms_norm(row, weight, EPS.into())).collect()
}

/// `x`, `weight` and `y` of these dtypes.
fn check(
    what: &str,
    dtypes: [DType; 3],
    rows: usize,
    dim: usize,
    at: Placement,
    values: &[f64],
    weight: Option<&[f64]>,
) {
    let (values, weight) = (rounded(dtypes[0], values), weight.map(|w| rounded(dtypes[1], w)));
    let x = matrix("x", dtypes[0], rows, dim, at, &values);
    let bytes = weight.as_ref().map(|w| warpsmith_kernels::compare::encode(dtypes[1], w));
    let w = bytes.map(|b| Tensor::from_bytes(&device(), "weight", dtypes[1], &[dim], &b).unwrap());
    let mut y = output(dtypes[2], rows, dim, at);
    let before = y.to_bytes().unwrap();
    let w = w.as_ref().map(Tensor::arg);
    let outcome = rms_norm(x.arg(), w, y.arg_mut(), EPS, &device().default_stream()).unwrap();
    assert_right(what, &outcome, &y, at, &expected(&values, weight.as_deref(), dim), &before);
}

#[test]
fn every_dtype_length_and_row_count() {
    let mut random = fresh();
    for dtype in DTYPES {
        for dim in LENGTHS {
            for rows in ROWS {
                let (values, weight) = (random.normals(rows * dim, 3.0), random.normals(dim, 1.0));
                let what = format!("{dtype} {rows} × {dim}");
                check(&what, [dtype; 3], rows, dim, Placement::dense(dim), &values, Some(&weight));
            }
        }
    }
}

/// Lengths past what a block holds: of a cluster of 4, 8 and 16, one whose last block has little, and longer ones.
#[test]
fn long_rows() {
    let mut random = fresh();
    let mut lengths = vec![(DType::BF16, 50_257), (DType::F32, 65_544), (DType::F16, 262_144), (DType::BF16, 400_008)];
    lengths.extend([(DType::BF16, 524_288), (DType::F32, 131_101), (DType::F32, 262_144), (DType::F32, 1 << 20)]);
    for (dtype, dim) in lengths {
        let (values, weight) = (random.normals(2 * dim, 3.0), random.normals(dim, 1.0));
        check(&format!("{dtype} 2 × {dim}"), [dtype; 3], 2, dim, Placement::dense(dim), &values, Some(&weight));
    }
}

#[test]
fn without_a_weight_and_with_weights_of_other_dtypes() {
    let mut random = fresh();
    for dtype in DTYPES {
        for dim in [1, 100, 111, 4096, 4100] {
            let (values, weight) = (random.normals(3 * dim, 1.0), random.normals(dim, 1.0));
            check(&format!("{dtype}, no weight"), [dtype; 3], 3, dim, Placement::dense(dim), &values, None);
            for other in DTYPES {
                let what = format!("{dtype}, weight and output {other}, 3 × {dim}");
                check(&what, [dtype, other, other], 3, dim, Placement::dense(dim), &values, Some(&weight));
            }
        }
    }
}

#[test]
fn large_and_tiny_values() {
    let mut random = fresh();
    for dtype in DTYPES {
        // A norm above 1.8e19 overflows (and the row is 0, as documented); below 1e-3 `eps` counts.
        let largest = if dtype == DType::F16 { 6e4 } else { 1e17 };
        for dim in [1, 31, 100, 4096, 5000] {
            for scale in [1e-18, 1e-4, 1.0, 1e4, largest] {
                let values: Vec<f64> =
                    random.normals(3 * dim, scale).iter().map(|v| v.clamp(-largest, largest)).collect();
                let what = format!("{dtype} 3 × {dim} of size {scale:e}");
                check(&what, [dtype; 3], 3, dim, Placement::dense(dim), &values, None);
            }
        }
    }
}

#[test]
fn a_norm_that_f32_does_not_hold_gives_zeros() {
    let dim = 100;
    let x = matrix("x", DType::F32, 1, dim, Placement::dense(dim), &vec![1e19; dim]);
    let mut y = output(DType::F32, 1, dim, Placement::dense(dim));
    rms_norm(x.arg(), None, y.arg_mut(), EPS, &device().default_stream()).unwrap();
    assert!(y.to_bytes().unwrap().iter().all(|b| *b == 0), "as documented, and as in PyTorch");
}

#[test]
fn nan_passes_through_its_row_and_zeros_stay_zeros() {
    let mut random = fresh();
    for dtype in DTYPES {
        for dim in [1, 7, 1000, 4096, 4100] {
            let mut values = random.normals(3 * dim, 1.0);
            values[random.below(dim)] = f64::NAN;
            values[dim..2 * dim].fill(0.0);
            check(&format!("{dtype} 3 × {dim}"), [dtype; 3], 3, dim, Placement::dense(dim), &values, None);
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
            let (values, weight) = (random.normals(5 * dim, 2.0), random.normals(dim, 1.0));
            check(&format!("{dtype} 5 × {dim} {at:?}"), [dtype; 3], 5, dim, at, &values, Some(&weight));
        }
    }
}

#[test]
fn bad_arguments_are_named() {
    let device = device();
    let x = Tensor::new(&device, "x", DType::F32, &[2, 4]).unwrap();
    let mut y = Tensor::new(&device, "y", DType::F32, &[2, 4]).unwrap();
    let short = Tensor::new(&device, "weight", DType::F32, &[3]).unwrap();
    let flat = Tensor::new(&device, "weight", DType::F32, &[1, 4]).unwrap();
    let stream = device.default_stream();
    let mut refused = |w: Option<&Tensor>, eps| {
        rms_norm(x.arg(), w.map(Tensor::arg), y.arg_mut(), eps, &stream).unwrap_err().to_string()
    };
    assert_eq!(refused(Some(&short), EPS), "`weight`: `dim` is 3, but `x` has 4");
    assert_eq!(refused(Some(&flat), EPS), "`weight`: expected 1 dimensions (dim), got shape [1, 4]");
    assert_eq!(refused(None, -1.0), "`eps`: expected a number of at least 0, got -1");
    assert_eq!(refused(None, f32::NAN), "`eps`: expected a number of at least 0, got NaN");
}
