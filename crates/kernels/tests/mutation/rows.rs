//! More kernels over rows, each behind a launch that writes what it reads: those of clusters, and gradients.

use crate::kernels::{normals, zeros};
use crate::subject::{Ran, Subject};
use warpsmith::compare::encode;
use warpsmith::cross_entropy::{self, Options};
use warpsmith::norm::{self, Kind, Norm};
use warpsmith::random::Random;
use warpsmith::rows::{Narrow, RingPlan, Ringed, RowPlan, Staging, Summing};
use warpsmith::{layer_norm, softmax};
use warpsmith_dsl::{DType, TensorArg, Tv};
use warpsmith_runtime::{Bound, Device, Jit, Tensor};
use warpsmith_types::Chip;

fn vector(device: &Device, name: &str, dim: usize) -> Tensor {
    let values = Random::new(dim as u64 + 1).normals(dim, 1.0);
    Tensor::from_bytes(device, name, DType::F32, &[dim], &encode(DType::F32, &values)).unwrap().constant()
}

/// A tensor that a softmax writes, that softmax, and what it reads.
fn written(device: &Device, name: &str, dtype: DType, shape: [usize; 2]) -> (Tensor, Bound, Tensor) {
    let from = normals(device, "from", DType::BF16, shape);
    let mut to = zeros(device, name, dtype, &shape);
    let bound = softmax::bind(from.arg(), to.arg_mut(), device).unwrap();
    (to, bound, from)
}

/// Plans by which clusters of two and four blocks share a row, held and read twice.
fn shared_rows() -> [RowPlan; 3] {
    let held = |dim, cluster| RowPlan::with_cluster(dim, 8, 1, cluster, 128).unwrap();
    let twice = RowPlan::streamed(2051, 1, &Chip::H200).unwrap();
    assert!(twice.cluster == 2 && !twice.holds);
    [held(2000, 2), held(3200, 4), twice]
}

/// Softmax, one exchange between the blocks, and layer normalisation, two.
pub fn clusters() -> Vec<Subject> {
    let rows = 2;
    let softmax = |plan: RowPlan| {
        Subject::new(format!("softmax {} over {} blocks", plan.dim, plan.cluster), move |device, ptx| {
            let (x, first, _from) = written(device, "x", DType::BF16, [rows, plan.dim]);
            let mut y = zeros(device, "y", DType::BF16, &[rows, plan.dim]);
            let kernel = softmax::Softmax { rows: plan.clone(), ..softmax::plan(x.arg(), y.arg()).unwrap() };
            let bound = softmax::bind_plan(kernel, x.arg(), y.arg_mut(), device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y])
        })
    };
    let layer_norm = |plan: RowPlan| {
        Subject::new(format!("layer_norm {} over {} blocks", plan.dim, plan.cluster), move |device, ptx| {
            let (x, first, _from) = written(device, "x", DType::BF16, [rows, plan.dim]);
            let mut y = zeros(device, "y", DType::BF16, &[rows, plan.dim]);
            let (weight, bias) = (vector(device, "weight", plan.dim), vector(device, "bias", plan.dim));
            let call = layer_norm::Forward {
                weight: Some(weight.arg()),
                bias: Some(bias.arg()),
                ..layer_norm::Forward::new(x.arg(), y.arg_mut(), 1e-5)
            };
            let bound = norm::bind_plan(Norm { kind: Kind::Layer, rows: plan.clone() }, call, device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y])
        })
    };
    shared_rows().into_iter().map(softmax).chain(shared_rows().into_iter().map(layer_norm)).collect()
}

/// Softmax by blocks that go over several rows in a loop, with others under way: groups of a warp and of a block, and blocks
/// that share rows; and by blocks that stage their rows without a loop.
pub fn rings() -> Vec<Subject> {
    let of = |(rows, dim, threads, cluster, holds, stages): (usize, usize, usize, usize, bool, usize)| {
        let how = if stages == 1 { "staged" } else { "through rings" };
        let name = format!("softmax {rows} × {dim} {how}, {threads} threads, {cluster} blocks");
        Subject::new(name, move |device, ptx| {
            let (x, first, _from) = written(device, "x", DType::BF16, [rows, dim]);
            let mut y = zeros(device, "y", DType::BF16, &[rows, dim]);
            let ring = Ringed { threads, cluster, bytes: 2, holds, keeps: true, resident: 1, stages };
            let mut plan = RowPlan::ringed(dim, 8, 1, ring, &Chip::H200).unwrap();
            plan.ring = plan.ring.map(|ring| RingPlan { blocks: cluster, most_blocks: cluster, ..ring });
            let kernel = softmax::Softmax { rows: plan, ..softmax::plan(x.arg(), y.arg()).unwrap() };
            let bound = softmax::bind_plan(kernel, x.arg(), y.arg_mut(), device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y])
        })
    };
    let rings = [(40, 64, 32, 1, true, 2), (9, 1000, 128, 1, false, 2), (9, 2000, 128, 2, true, 2)];
    let staged = [(5, 64, 32, 1, false, 1), (3, 1000, 128, 1, false, 1), (3, 2000, 128, 2, false, 1)];
    rings.into_iter().chain(staged).map(of).chain([1001, 2001].map(anywhere)).collect()
}

/// Softmax of rows that begin anywhere, staged as they lie and read in slices, by a block or two.
fn anywhere(dim: usize) -> Subject {
    let rows = 2;
    Subject::new(format!("softmax {rows} × {dim} staged as it lies"), move |device, ptx| {
        let (x, first, _from) = written(device, "x", DType::BF16, [rows, dim]);
        let mut y = zeros(device, "y", DType::BF16, &[rows, dim]);
        let blocks = dim.div_ceil(2000);
        let by = Staging { threads: 128, blocks, part: 32 << 10, most: 256, long_slices: 1, narrow: Narrow::USUAL };
        let plan = RowPlan::staged(dim, 1, [2, 1], by, &Chip::H200).unwrap();
        let kernel = softmax::Softmax { rows: plan, ..softmax::plan(x.arg(), y.arg()).unwrap() };
        let bound = softmax::bind_plan(kernel, x.arg(), y.arg_mut(), device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&y])
    })
}

/// Layer normalisation of rows that a part of a warp, a warp, and a few hold.
pub fn layer_norms() -> Vec<Subject> {
    let of = |(rows, dim): (usize, usize)| {
        Subject::new(format!("layer_norm {rows} × {dim}"), move |device, ptx| {
            let (x, first, _from) = written(device, "x", DType::F32, [rows, dim]);
            let [mut y, mut sum] = ["y", "residual_out"].map(|name| zeros(device, name, DType::F32, &[rows, dim]));
            let [mut rstd, mut mean] = ["rstd", "mean"].map(|name| zeros(device, name, DType::F32, &[rows]));
            let weight = vector(device, "weight", dim);
            let call = layer_norm::Forward {
                residual: Some(x.arg()),
                weight: Some(weight.arg()),
                residual_out: Some(sum.arg_mut()),
                rstd: Some(rstd.arg_mut()),
                mean: Some(mean.arg_mut()),
                ..layer_norm::Forward::new(x.arg(), y.arg_mut(), 1e-5)
            };
            let bound = norm::bind(Kind::Layer, call, device).unwrap();
            Ran::after(&[&first], &bound, device, ptx, &[&y, &sum, &rstd, &mean])
        })
    };
    [(5, 20), (3, 384), (3, 500)].into_iter().map(of).collect()
}

/// The kernels of a normalisation's gradients: those that sum the weight's on the way, and those that do it apart.
pub fn norm_gradients() -> Vec<Subject> {
    let of = |(dim, launch): (usize, usize)| {
        let rows = 3;
        Subject::new(format!("layer_norm's gradients {rows} × {dim}, launch {launch}"), move |device, ptx| {
            let (dy, first, _from) = written(device, "dy", DType::F32, [rows, dim]);
            let x = normals(device, "x", DType::F32, [rows, dim]);
            let [rstd, mean] = ["rstd", "mean"].map(|name| vector(device, name, rows));
            let weight = vector(device, "weight", dim);
            let mut dx = zeros(device, "dx", DType::F32, &[rows, dim]);
            let [mut dweight, mut dbias] = ["dweight", "dbias"].map(|name| zeros(device, name, DType::F32, &[dim]));
            let mut room = zeros(device, "workspace", DType::F32, &norm::workspace(x.arg()));
            let call = norm::Backward {
                x: x.arg(),
                dy: dy.arg(),
                weight: Some(weight.arg()),
                rstd: rstd.arg(),
                mean: Some(mean.arg()),
                dresidual_out: None,
                dx: dx.arg_mut(),
                dresidual: None,
                dweight: Some(dweight.arg_mut()),
                dbias: Some(dbias.arg_mut()),
                workspace: Some(room.arg_mut()),
                weight_offset: 0.0,
            };
            let all = norm::bind_backward(Kind::Layer, call, device).unwrap();
            let before: Vec<&Bound> = std::iter::once(&first).chain(&all[..launch]).collect();
            let outputs = [&dx, &dweight, &dbias];
            // What comes later is not written yet.
            let written = &outputs[..outputs.len().min(launch + 1)];
            Ran::after(&before, &all[launch], device, ptx, written)
        })
    };
    let apart = [(20, 0), (500, 2)].into_iter().map(of);
    apart.chain([one_block(3, 100), one_block(13, 500), one_block(4, 8200), parts()]).collect()
}

/// The weight's gradient alone, of several tiles of rows.
fn parts() -> Subject {
    let (rows, dim) = (20, 300);
    Subject::new("the weight's gradient in parts", move |device, ptx| {
        let (dy, first, _from) = written(device, "dy", DType::F32, [rows, dim]);
        let x = normals(device, "x", DType::F32, [rows, dim]);
        let rstd = vector(device, "rstd", rows);
        let dweight = zeros(device, "dweight", DType::F32, &[3, dim]);
        let mut sums = view(&dweight, [3, dim]);
        let args = norm::WeightGradientArgs {
            x: &view(&x, [rows, dim]),
            dy: &view(&dy, [rows, dim]),
            rstd: &view(&rstd, [rows, 1]),
            mean: None,
            dweight: Some(&mut sums),
            dbias: None,
        };
        let kernel = norm::WeightGradient { tv: Tv::rows(8, 32, 4, 2).unwrap(), dim };
        let bound = Jit::new(kernel).bind(&args, device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&dweight])
    })
}

/// The same with a mode for heads, of which there is one.
fn view(t: &Tensor, [rows, dim]: [usize; 2]) -> TensorArg {
    TensorArg { shape: vec![rows, 1, dim], strides: vec![dim, dim, 1], ..t.arg().clone() }
}

/// Gradients of several rows by one block, or one cluster, one after the other.
fn one_block(rows: usize, dim: usize) -> Subject {
    Subject::new(format!("layer_norm's gradients of {rows} × {dim} in one part"), move |device, ptx| {
        let (dy, first, _from) = written(device, "dy", DType::F32, [rows, dim]);
        let x = normals(device, "x", DType::F32, [rows, dim]);
        let dx = zeros(device, "dx", DType::F32, &[rows, dim]);
        let [rstd, mean] = ["rstd", "mean"].map(|name| vector(device, name, rows));
        let [dweight, dbias] = ["dweight", "dbias"].map(|name| zeros(device, name, DType::F32, &[1, dim]));
        let by = Summing { bytes: 8, copies: true, keeps: false };
        let (rows_plan, _) = RowPlan::summing(dim, 4, by, &Chip::H200).unwrap();
        let kernel = norm::NormBackward { kind: Kind::Layer, rows: rows_plan };
        let [mut gradient, mut of_weight, mut of_bias] =
            [view(&dx, [rows, dim]), view(&dweight, [1, dim]), view(&dbias, [1, dim])];
        let args = norm::NormBackwardArgs {
            x: &view(&x, [rows, dim]),
            dy: &view(&dy, [rows, dim]),
            weight: None,
            rstd: &view(&rstd, [rows, 1]),
            mean: Some(&view(&mean, [rows, 1])),
            dresidual_out: None,
            dx: &mut gradient,
            dresidual: None,
            dweight: Some(&mut of_weight),
            dbias: Some(&mut of_bias),
            weight_offset: None,
        };
        let bound = Jit::new(kernel).bind(&args, device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&dx, &dweight, &dbias])
    })
}

/// Cross-entropy with all that it gives, its gradient, and that of softmax.
pub fn losses() -> Vec<Subject> {
    let (rows, dim) = (3, 500);
    let options = Options { smoothing: 0.25, z_loss: 0.5, ..Options::default() };
    let targets = move |device: &Device| {
        let bytes: Vec<u8> = [3i64, 499, -100].iter().flat_map(|t| t.to_le_bytes()).collect();
        Tensor::from_bytes(device, "target", DType::I64, &[rows], &bytes).unwrap()
    };
    let forward = Subject::new("cross_entropy", move |device, ptx| {
        let (mut x, first, _from) = written(device, "x", DType::F32, [rows, dim]);
        let (target, weight) = (targets(device), vector(device, "weight", dim));
        let [mut loss, mut lse] = ["loss", "lse"].map(|name| zeros(device, name, DType::F32, &[rows]));
        // The gradient takes the place of the logits.
        let logits = x.arg().clone();
        let call = cross_entropy::Forward {
            x: &logits,
            target: target.arg(),
            target_logit: None,
            weight: Some(weight.arg()),
            loss: loss.arg_mut(),
            lse: Some(lse.arg_mut()),
            dx: Some(x.arg_mut()),
            options,
        };
        let bound = cross_entropy::bind(call, device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&x, &loss, &lse])
    });
    let backward = Subject::new("cross_entropy's gradient", move |device, ptx| {
        let (x, first, _from) = written(device, "x", DType::F32, [rows, dim]);
        let (target, weight) = (targets(device), vector(device, "weight", dim));
        let [dloss, lse] = ["dloss", "lse"].map(|name| vector(device, name, rows));
        let mut dx = zeros(device, "dx", DType::F32, &[rows, dim]);
        let call = cross_entropy::backward::Backward {
            x: x.arg(),
            target: target.arg(),
            dloss: dloss.arg(),
            lse: lse.arg(),
            weight: Some(weight.arg()),
            dx: dx.arg_mut(),
            options,
        };
        let bound = cross_entropy::backward::bind(call, device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&dx])
    });
    let of_softmax = Subject::new("softmax's gradient", move |device, ptx| {
        let (y, first, _from) = written(device, "y", DType::F32, [rows, dim]);
        let dy = normals(device, "dy", DType::F32, [rows, dim]);
        let mut dx = zeros(device, "dx", DType::F32, &[rows, dim]);
        let bound = softmax::backward::bind(dy.arg(), y.arg(), dx.arg_mut(), device).unwrap();
        Ran::after(&[&first], &bound, device, ptx, &[&dx])
    });
    vec![forward, backward, of_softmax]
}
