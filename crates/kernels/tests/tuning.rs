//! Plans that are measured on a card; elsewhere the model decides.

#![allow(clippy::print_stdout, reason = "it says what won")]

mod common;

use common::{assert_right, device, fresh, matrix, output, rounded};
use warpsmith_dsl::TensorArg;
use warpsmith_kernels::rms_norm::{self, reference};
use warpsmith_kernels::softmax;
use warpsmith_runtime::tuning::{Decision, Store};
use warpsmith_types::DType;

#[test]
fn the_fastest_plan_is_taken_and_remembered() {
    let device = device();
    let (rows, dim) = (33, 4096);
    let at = common::Placement::dense(dim);
    let values = rounded(DType::BF16, &fresh().normals(rows * dim, 1.0));
    let x = matrix("x", DType::BF16, rows, dim, at, &values);
    let mut y = output(DType::BF16, rows, dim, at);
    let model = rms_norm::plan(x.arg(), None, y.arg(), 1e-6).unwrap();
    let tuned = rms_norm::tune(x.arg(), None, y.arg_mut(), 1e-6, &device).unwrap();
    if device.is_emulated() {
        assert_eq!((&tuned.kernel, tuned.by, &tuned.record), (&model, Decision::Model, &None));
    } else {
        let record = tuned.record.as_ref().unwrap();
        println!("{:?}, {}", tuned.by, record.candidates[record.winner].plan);
        for c in &record.candidates {
            println!("  {:?} {:?} {}", c.first, c.again, c.plan);
        }
        assert!(record.candidates.len() > 1 && record.candidates[record.winner].again.is_some());
        // Where there is a cache, it is not measured again.
        let again = rms_norm::tune(x.arg(), None, y.arg_mut(), 1e-6, &device).unwrap();
        let by = if Store::process().is_some() { Decision::Stored } else { Decision::Measured };
        assert_eq!(again.by, by);
        assert!(by == Decision::Measured || again.kernel == tuned.kernel);
    }
    // The call takes it, and is right.
    y.buffer().poison().unwrap();
    let before = y.to_bytes().unwrap();
    let outcome = rms_norm::rms_norm(x.arg(), None, y.arg_mut(), 1e-6, &device.default_stream()).unwrap();
    let expected: Vec<f64> = values.chunks(dim).flat_map(|row| reference::rms_norm(row, None, 1e-6)).collect();
    assert_right("tuned", &outcome, &y, at, &expected, &before);
    // So does a call of other rows, some of the same tensor: a row's bits do not tell how many there were.
    let all = y.to_bytes().unwrap();
    y.buffer().poison().unwrap();
    let part = |t: &warpsmith_runtime::Tensor| {
        let address = t.arg().address + 2 * dim as u64;
        TensorArg { address, shape: vec![1, dim], ..t.arg().clone() }
    };
    rms_norm::rms_norm(&part(&x), None, &mut part(&y), 1e-6, &device.default_stream()).unwrap();
    let row = 2 * dim..4 * dim;
    assert!(y.to_bytes().unwrap()[row.clone()] == all[row]);
}

#[test]
fn every_plan_gives_the_same() {
    let device = device();
    let mut random = fresh();
    for dim in [31, 1000, 4096] {
        let at = common::Placement::dense(dim);
        let values = rounded(DType::F32, &random.normals(5 * dim, 1.0));
        let x = matrix("x", DType::F32, 5, dim, at, &values);
        let mut y = output(DType::F32, 5, dim, at);
        let model = softmax::plan(x.arg(), y.arg()).unwrap();
        let expected: Vec<f64> = values.chunks(dim).flat_map(softmax::reference::softmax).collect();
        for plan in warpsmith_runtime::Plans::plans(&model) {
            let before = y.to_bytes().unwrap();
            let bound = softmax::bind_plan(plan.clone(), x.arg(), y.arg_mut(), &device).unwrap();
            let outcome = bound.launch(&device.default_stream()).unwrap();
            assert_right(&format!("{dim}: {}", plan.rows), &outcome, &y, at, &expected, &before);
        }
    }
}
