//! The kernels of this crate, of the language's surface and of its tiles, on small shapes where all that synchronises
//! runs.

use crate::harness::Case;
use crate::roles::{Doubled, Draw, DrawArgs, RowsArgs};
use crate::subject::{Ran, Subject};
use crate::{asynchronous, synchronisation};
use warpsmith::compare::encode;
use warpsmith::gemm::{Gemm, GemmArgs, GemmPlan};
use warpsmith::random::Random;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Device, Jit, Tensor};

pub fn normals(device: &Device, name: &str, dtype: DType, shape: [usize; 2]) -> Tensor {
    let values = Random::new(shape[1] as u64).normals(shape[0] * shape[1], 1.0);
    Tensor::from_bytes(device, name, dtype, &shape, &encode(dtype, &values)).unwrap()
}

pub fn zeros(device: &Device, name: &str, dtype: DType, shape: &[usize]) -> Tensor {
    let bytes = vec![0; shape.iter().product::<usize>() * dtype.bytes()];
    Tensor::from_bytes(device, name, dtype, shape, &bytes).unwrap()
}

/// Rows that a part of a warp, a warp, a few warps and the largest block hold.
const ROWS: [(usize, usize); 4] = [(5, 20), (3, 128), (3, 500), (2, 33_000)];

/// Softmax over rows, of what softmax has just written.
pub fn softmax() -> Vec<Subject> {
    let of = |(rows, dim): (usize, usize)| {
        Subject::new(format!("softmax {rows} × {dim}"), move |device, ptx| {
            let x = normals(device, "x", DType::BF16, [rows, dim]);
            let [mut middle, mut y] =
                ["middle", "y"].map(|n| Tensor::new(device, n, DType::BF16, &[rows, dim]).unwrap());
            let first = warpsmith::softmax::bind(x.arg(), middle.arg_mut(), device).unwrap();
            let bound = warpsmith::softmax::bind(middle.arg(), y.arg_mut(), device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y])
        })
    };
    ROWS.into_iter().map(of).collect()
}

/// RMS normalisation over rows, of what it has just written.
pub fn rms_norm() -> Vec<Subject> {
    let of = |(rows, dim): (usize, usize)| {
        Subject::new(format!("rms_norm {rows} × {dim}"), move |device, ptx| {
            let x = normals(device, "x", DType::BF16, [rows, dim]);
            let values = Random::new(7).normals(dim, 1.0);
            let w = Tensor::from_bytes(device, "weight", DType::F32, &[dim], &encode(DType::F32, &values)).unwrap();
            // Promised, so that the launches overlap.
            let w = w.constant();
            let [mut middle, mut y] =
                ["middle", "y"].map(|n| Tensor::new(device, n, DType::BF16, &[rows, dim]).unwrap());
            let first = warpsmith::rms_norm::bind(x.arg(), Some(w.arg()), middle.arg_mut(), 1e-6, device).unwrap();
            let bound = warpsmith::rms_norm::bind(middle.arg(), Some(w.arg()), y.arg_mut(), 1e-6, device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y])
        })
    };
    ROWS.into_iter().map(of).collect()
}

/// The Hopper GEMM: one block works on three tiles, and its ring of two stages goes round more than twice in each.
pub fn gemm() -> Vec<Subject> {
    let of = |[m, n, k]: [usize; 3]| {
        Subject::new(format!("gemm {m} × {n} × {k}"), move |device, ptx| {
            let plan = GemmPlan { tile: [128, 64, 64], stages: 2, band: 8, blocks: 1 };
            let (a, b) = (normals(device, "a", DType::BF16, [m, k]), normals(device, "b", DType::BF16, [n, k]));
            let mut c = Tensor::new(device, "c", DType::BF16, &[m, n]).unwrap();
            let args = GemmArgs { a: a.arg(), b: b.arg(), c: c.arg_mut() };
            let bound = Jit::new(Gemm { dtype: DType::BF16, plan }).bind(&args, device).unwrap();
            Ran::of(&bound, device, ptx, &[&c])
        })
    };
    vec![of([128, 192, 320])]
}

/// Pipelines between warps, and tiles drawn from a counter.
pub fn roles() -> Vec<Subject> {
    let doubled = |kernel: Doubled| {
        Subject::new(format!("doubled {kernel:?}"), move |device, ptx| {
            let x = normals(device, "x", DType::F32, [56, 64]);
            let mut y = Tensor::new(device, "y", DType::F32, &[56, 64]).unwrap();
            let bound = Jit::new(kernel).bind(&RowsArgs { x: x.arg(), y: y.arg_mut() }, device).unwrap();
            Ran::of(&bound, device, ptx, &[&y])
        })
    };
    let mut all: Vec<Subject> =
        [Doubled::Plain, Doubled::Asynchronous, Doubled::Bulk].into_iter().map(doubled).collect();
    all.push(Subject::new("draw", |device, ptx| {
        let (mut seen, mut counter) =
            (zeros(device, "seen", DType::F32, &[7, 5]), zeros(device, "counter", DType::U32, &[1]));
        let args = DrawArgs { seen: seen.arg_mut(), counter: counter.arg_mut() };
        let bound = Jit::new(Draw).bind(&args, device).unwrap();
        Ran::of(&bound, device, ptx, &[&seen, &counter])
    }));
    all
}

/// Operations of the language that synchronise, each in a kernel of its own.
pub fn operations() -> Vec<Subject> {
    let of = |case: Case| {
        Subject::new(case.name.clone(), move |device, ptx| {
            let input = case.input(&mut Random::new(1));
            let (bound, tensors) = case.bind(device, &input);
            Ran::of(&bound, device, ptx, &[&tensors[1]])
        })
    };
    let cases = synchronisation::cases().into_iter().chain(asynchronous::cases());
    // What a launch may not overtake is another launch's, of which there is none here.
    let alone = |case: &Case| case.name != "programmatic launch";
    cases.filter(|case| case.runs_on(Target::SM_90A) && alone(case)).map(of).collect()
}
