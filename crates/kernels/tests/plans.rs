//! Results are right by every plan, not only by those that the model takes.

mod common;

use common::{Placement, assert_right, device, fresh, matrix, output, rounded};
use warpsmith_kernels::rows::{Ringed, RowPlan};
use warpsmith_kernels::{rms_norm, softmax};
use warpsmith_types::{Chip, DType};

/// Plans with rings for rows of `dim` elements of bf16.
fn rings(dim: usize) -> Vec<RowPlan> {
    let mut all = vec![];
    for threads in [4, 16, 32, 64, 128, 256] {
        for cluster in [1, 2, 4, 8] {
            for (holds, keeps, resident) in [(true, true, 2), (true, false, 1), (false, true, 1), (false, false, 3)] {
                if threads < 64 && cluster > 1 {
                    continue;
                }
                for stages in [1, 3, 8] {
                    let ring = Ringed { threads, cluster, bytes: 2, holds, keeps, resident, stages };
                    all.extend(RowPlan::ringed(dim, 8, 1, ring, &Chip::H200));
                }
            }
        }
    }
    all
}

#[test]
fn rows_through_rings() {
    let (mut random, dtype, stream) = (fresh(), DType::BF16, device().default_stream());
    for (dim, rows) in [(8, 1), (64, 300), (264, 70), (1000, 37), (4096, 9), (9000, 5)] {
        let at = Placement::dense(dim);
        let values = rounded(dtype, &random.normals(rows * dim, 1.0));
        let weights = rounded(DType::F32, &random.normals(dim, 1.0));
        let x = matrix("x", dtype, rows, dim, at, &values);
        let w = matrix("weight", DType::F32, 1, dim, at, &weights);
        let mut weight = w.arg().clone();
        (weight.shape, weight.strides) = (vec![dim], vec![1]);
        let mut plans = rings(dim);
        // Staged rows also in slices.
        let slices = plans.iter().flat_map(|p| [2, 3].map(|s| p.clone().sliced(s))).flatten();
        let slices: Vec<RowPlan> = slices.collect();
        assert!(dim < 1000 || !slices.is_empty(), "{dim}");
        plans.extend(slices);
        assert!(!plans.is_empty(), "{dim}");
        for rows_plan in plans {
            // A few blocks, so that they go round.
            let mut plan = rows_plan.clone();
            plan.ring = plan.ring.map(|ring| warpsmith_kernels::rows::RingPlan {
                blocks: 2 * plan.cluster,
                most_blocks: 2 * plan.cluster,
                ..ring
            });
            let what = format!("{rows} × {dim} by {plan}");
            let mut y = output(dtype, rows, dim, at);
            let before = y.to_bytes().unwrap();
            let kernel = softmax::Softmax { input: dtype, output: dtype, dim, rows: plan.clone() };
            let bound = softmax::bind_plan(kernel, x.arg(), y.arg_mut(), &device()).unwrap();
            let outcome = bound.launch(&stream).unwrap();
            let expected: Vec<f64> = values.chunks(dim).flat_map(softmax::reference::softmax).collect();
            assert_right(&what, &outcome, &y, at, &expected, &before);

            let mut y = output(dtype, rows, dim, at);
            let before = y.to_bytes().unwrap();
            let kernel = rms_norm::RmsNorm { input: dtype, output: dtype, weight: Some(DType::F32), dim, rows: plan };
            let bound = rms_norm::bind_plan(kernel, x.arg(), Some(&weight), y.arg_mut(), 1e-6, &device()).unwrap();
            let outcome = bound.launch(&stream).unwrap();
            let expected: Vec<f64> =
                values.chunks(dim).flat_map(|x| rms_norm::reference::rms_norm(x, Some(&weights), 1e-6)).collect();
            assert_right(&what, &outcome, &y, at, &expected, &before);
        }
    }
}
