//! A row gives the same bits whatever else is in the batch, and however often it is asked for: alone, among others, first or
//! last, in any number of them.

mod common;

use common::device;
use warpsmith_dsl::TensorArg;
use warpsmith_kernels::compare::encode;
use warpsmith_kernels::cross_entropy::{self, Options};
use warpsmith_kernels::norm;
use warpsmith_kernels::random::Random;
use warpsmith_kernels::{layer_norm, rms_norm, softmax};
use warpsmith_runtime::{Stream, Tensor};
use warpsmith_types::DType;

/// Lengths that share a warp, a block, that a block holds or stages, at any address or not, and that are read twice.
const DIMS: [usize; 6] = [20, 111, 1000, 20_001, 66_000, 197_001];

/// A batch: inputs of (rows, dim), what rows have one of, outputs.
struct Batch {
    dim: usize,
    inputs: [Tensor; 2],
    ones: [Tensor; 2],
    targets: Tensor,
    weight: Tensor,
    outputs: [Tensor; 2],
    statistics: [Tensor; 2],
}

/// Rows of a batch: from one on, so many.
#[derive(Clone, Copy, Debug)]
struct Slice {
    first: usize,
    rows: usize,
}

impl Batch {
    fn new(dtype: DType, rows: usize, dim: usize) -> Batch {
        let device = device();
        let normals = |name: &str, dtype: DType, shape: &[usize], seed| {
            let values = Random::new(seed).normals(shape.iter().product(), 1.0);
            Tensor::from_bytes(&device, name, dtype, shape, &encode(dtype, &values)).unwrap()
        };
        let empty = |name: &str, dtype, shape: &[usize]| Tensor::new(&device, name, dtype, shape).unwrap();
        let targets: Vec<u8> = (0..rows).flat_map(|r| ((r * 7 % dim) as i64).to_le_bytes()).collect();
        Batch {
            dim,
            inputs: [("x", 1), ("dy", 2)].map(|(name, seed)| normals(name, dtype, &[rows, dim], seed)),
            ones: [("rstd", 3), ("mean", 4)].map(|(name, seed)| normals(name, DType::F32, &[rows], seed)),
            targets: Tensor::from_bytes(&device, "target", DType::I64, &[rows], &targets).unwrap(),
            weight: normals("weight", DType::F32, &[dim], 5),
            outputs: ["y", "z"].map(|name| empty(name, dtype, &[rows, dim])),
            statistics: ["first", "second"].map(|name| empty(name, DType::F32, &[rows])),
        }
    }

    /// The bits that a call gives for some rows: their outputs, and what each has one of.
    fn bits(&mut self, call: &Call, at: Slice) -> Vec<Vec<u8>> {
        for t in self.outputs.iter().chain(&self.statistics) {
            t.buffer().upload(&vec![0; t.buffer().len()]).unwrap();
        }
        let part = |t: &Tensor| {
            let stride = t.arg().strides[0];
            let address = t.arg().address + (at.first * stride * t.dtype().bytes()) as u64;
            let mut shape = t.shape().to_vec();
            shape[0] = at.rows;
            TensorArg { address, shape, ..t.arg().clone() }
        };
        let [x, dy] = self.inputs.each_ref().map(part);
        let [rstd, mean] = self.ones.each_ref().map(part);
        let [mut y, mut z] = self.outputs.each_ref().map(part);
        let [mut first, mut second] = self.statistics.each_ref().map(part);
        let (targets, weight) = (part(&self.targets), self.weight.arg());
        let stream = device().default_stream();
        call(&stream, &[&x, &dy, &rstd, &mean, &targets, weight], [&mut y, &mut z, &mut first, &mut second]);
        let rows = |t: &Tensor| {
            let bytes = t.to_bytes().unwrap();
            let row = bytes.len() / t.shape()[0];
            bytes[at.first * row..][..at.rows * row].chunks(row).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let all = self.outputs.iter().chain(&self.statistics).map(rows);
        all.reduce(|all, more| all.into_iter().zip(more).map(|(a, b)| [a, b].concat()).collect()).unwrap()
    }
}

/// An operator: `[x, dy, rstd, mean, target, weight]`, `[y, z, first, second]`.
type Call = dyn Fn(&Stream, &[&TensorArg; 6], [&mut TensorArg; 4]);

fn calls() -> Vec<(&'static str, Box<Call>)> {
    let options = Options { smoothing: 0.25, z_loss: 0.5, ..Options::default() };
    vec![
        ("softmax", Box::new(|s, [x, ..], [y, ..]| _ = softmax::softmax(x, y, s).unwrap())),
        ("softmax backward", Box::new(|s, [x, dy, ..], [dx, ..]| _ = softmax::backward(dy, x, dx, s).unwrap())),
        ("rms_norm", Box::new(|s, [x, .., w], [y, ..]| _ = rms_norm(x, Some(w), y, 1e-6, s).unwrap())),
        (
            "layer_norm",
            Box::new(|s, [x, dy, .., w], [y, sum, rstd, mean]| {
                let call = layer_norm::Forward {
                    residual: Some(dy),
                    weight: Some(w),
                    residual_out: Some(sum),
                    rstd: Some(rstd),
                    mean: Some(mean),
                    ..layer_norm::Forward::new(x, y, 1e-5)
                };
                layer_norm(call, s).unwrap();
            }),
        ),
        (
            "layer_norm backward",
            Box::new(|s, [x, dy, rstd, mean, _, w], [dx, ..]| {
                let call = norm::Backward {
                    x,
                    dy,
                    weight: Some(w),
                    rstd,
                    mean: Some(mean),
                    dresidual_out: None,
                    dx,
                    dresidual: None,
                    dweight: None,
                    dbias: None,
                    workspace: None,
                    weight_offset: 0.0,
                };
                layer_norm::backward(call, s).unwrap();
            }),
        ),
        (
            "cross_entropy",
            Box::new(move |s, [x, _, _, _, target, w], [dx, _, loss, lse]| {
                let call = cross_entropy::Forward {
                    x,
                    target,
                    target_logit: None,
                    weight: Some(w),
                    loss,
                    lse: Some(lse),
                    dx: Some(dx),
                    options,
                };
                cross_entropy::cross_entropy(call, s).unwrap();
            }),
        ),
        (
            "cross_entropy backward",
            Box::new(move |s, [x, _, dloss, lse, target, w], [dx, ..]| {
                let call = cross_entropy::Backward { x, target, dloss, lse, weight: Some(w), dx, options };
                cross_entropy::backward(call, s).unwrap();
            }),
        ),
    ]
}

#[test]
fn a_row_gives_the_same_bits_in_any_batch() {
    for dim in DIMS {
        let rows = if dim > 1000 { 4 } else { 19 };
        let dtype = if dim % 2 == 0 { DType::BF16 } else { DType::F32 };
        let mut batch = Batch::new(dtype, rows, dim);
        for (name, call) in calls() {
            let all = batch.bits(&call, Slice { first: 0, rows });
            assert_eq!(all, batch.bits(&call, Slice { first: 0, rows }), "{name} of {dim}, again");
            assert!(all[1..].iter().any(|row| row != &all[0]), "{name} of {dim} tells no row from another");
            for (first, rows) in [(0, 1), (1, 1), (rows - 1, 1), (1, rows - 1), (2, 2)] {
                let slice = Slice { first, rows };
                let some = batch.bits(&call, slice);
                assert!(some == all[first..first + rows], "{name} of {} in {slice:?}", batch.dim);
            }
        }
    }
}
