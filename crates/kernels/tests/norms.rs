//! RMS and layer normalisation with all that goes with them, and their gradients, against float64 references, on the
//! device of the run.

mod common;

use common::{DTYPES, Placement, device, fresh, rounded};
use warpsmith_kernels::compare::{decode, encode};
use warpsmith_kernels::layer_norm::{self, Backward, Forward, reference, workspace};
use warpsmith_kernels::rms_norm;
use warpsmith_runtime::{LaunchOutcome, Tensor};
use warpsmith_types::DType;

const EPS: f32 = 1e-5;

/// Lengths that a part of a warp, a warp, a block, a cluster hold, and one that is read twice.
const DIMS: [usize; 9] = [1, 31, 111, 128, 1000, 4100, 30_001, 66_000, 197_001];

fn tensor(name: &str, dtype: DType, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_bytes(&device(), name, dtype, shape, &encode(dtype, values)).unwrap()
}

fn poisoned(name: &str, dtype: DType, shape: &[usize]) -> Tensor {
    let t = Tensor::new(&device(), name, dtype, shape).unwrap();
    t.buffer().poison().unwrap();
    t
}

fn values(t: &Tensor) -> Vec<f64> {
    decode(t.dtype(), &t.to_bytes().unwrap())
}

fn quiet(what: &str, outcome: &LaunchOutcome) {
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));
}

/// Close relative to the largest of the expected values: sums cancel.
fn close(what: &str, t: &Tensor, expected: &[f64]) {
    let got = values(t);
    assert_eq!(got.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let unit = match t.dtype() {
        DType::BF16 => 2f64.powi(-8),
        DType::F16 => 2f64.powi(-11),
        _ => 2f64.powi(-24),
    };
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        let allowed = unit * e.abs() + 3e-5 * largest + 1e-7;
        assert!((g - e).abs() <= allowed, "{what}: {g} instead of {e} at {i}, allowed {allowed:e}");
    }
}

struct Case {
    layer: bool,
    dtypes: [DType; 3],
    rows: usize,
    heads: usize,
    dim: usize,
    /// A weight for each head.
    per_head: bool,
}

fn check(case: &Case) {
    let &Case { layer, dtypes: [input, vector, output], rows, heads, dim, per_head } = case;
    let what = format!("layer {layer}, {input} {vector} {output}, {rows} × {heads} × {dim}, per head {per_head}");
    let mut random = fresh();
    let count = rows * heads * dim;
    let shape = if heads == 1 { vec![rows, dim] } else { vec![rows, heads, dim] };
    let ones = if heads == 1 { vec![rows] } else { vec![rows, heads] };
    let vectors = if per_head { vec![heads, dim] } else { vec![dim] };
    let mut fresh_values = |dtype, n, scale, shift: f64| {
        let all: Vec<f64> = random.normals(n, scale).iter().map(|v| v + shift).collect();
        rounded(dtype, &all)
    };
    let x = fresh_values(input, count, 1.0, 3.0);
    let residual = fresh_values(output, count, 1.0, 0.0);
    let weight = fresh_values(vector, if per_head { heads * dim } else { dim }, 1.0, 0.0);
    let bias = fresh_values(DType::F32, dim, 1.0, 0.0);
    let dy = fresh_values(output, count, 1.0, 0.0);
    let more = fresh_values(input, count, 1.0, 0.0);
    let of_head = |r: usize| if per_head { &weight[r % heads * dim..][..dim] } else { &weight[..] };
    let offset = if layer { 0.0 } else { 1.0 };

    let stream = device().default_stream();
    let (tx, tr) = (tensor("x", input, &shape, &x), tensor("residual", output, &shape, &residual));
    let (tw, tb) = (tensor("weight", vector, &vectors, &weight), tensor("bias", DType::F32, &[dim], &bias));
    let (mut y, mut sum) = (poisoned("y", output, &shape), poisoned("residual_out", DType::F32, &shape));
    let (mut rstd, mut mean) = (poisoned("rstd", DType::F32, &ones), poisoned("mean", DType::F32, &ones));
    let call = Forward {
        residual: Some(tr.arg()),
        weight: Some(tw.arg()),
        bias: Some(tb.arg()),
        residual_out: Some(sum.arg_mut()),
        rstd: Some(rstd.arg_mut()),
        mean: layer.then_some(mean.arg_mut()),
        weight_offset: offset as f32,
        ..Forward::new(tx.arg(), y.arg_mut(), EPS)
    };
    let outcome = if layer { layer_norm::layer_norm(call, &stream) } else { rms_norm::forward(call, &stream) };
    quiet(&what, &outcome.unwrap());

    let h: Vec<f64> = x.iter().zip(&residual).map(|(a, b)| a + b).collect();
    let (mut want, mut scales, mut means, mut gradients) = (vec![], vec![], vec![], vec![]);
    let (mut dweight, mut dbias) = (vec![0.0; weight.len()], vec![0.0; weight.len()]);
    for (r, (row, d)) in h.chunks(dim).zip(dy.chunks(dim)).enumerate() {
        let w: Vec<f64> = of_head(r).iter().map(|w| w + offset).collect();
        let (m, s) = if layer {
            want.extend(reference::layer_norm(row, Some(&w), Some(&bias), EPS.into()));
            reference::statistics(row, EPS.into())
        } else {
            let y = rms_norm::reference::rms_norm(row, Some(&w), EPS.into());
            want.extend(y.iter().zip(&bias).map(|(y, b)| y + b));
            (0.0, 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / dim as f64 + f64::from(EPS)).sqrt())
        };
        means.push(m);
        scales.push(s);
        let g = reference::backward(row, d, Some(&w), s, layer.then_some(m));
        gradients.extend(g.iter().zip(&more[r * dim..]).map(|(g, m)| g + m));
        let first = if per_head { r % heads * dim } else { 0 };
        for c in 0..dim {
            dweight[first + c] += d[c] * (row[c] - m) * s;
            dbias[first + c] += d[c];
        }
    }
    close(&format!("{what}: y"), &y, &want);
    close(&format!("{what}: residual_out"), &sum, &h);
    close(&format!("{what}: rstd"), &rstd, &scales);
    if layer {
        close(&format!("{what}: mean"), &mean, &means);
    }

    let (td, tm) = (tensor("dy", output, &shape, &dy), tensor("dresidual_out", input, &shape, &more));
    let (mut dx, mut dr) = (poisoned("dx", input, &shape), poisoned("dresidual", DType::F32, &shape));
    let mut dw = poisoned("dweight", vector, &vectors);
    let mut db = poisoned("dbias", DType::F32, &vectors);
    let mut room = poisoned("workspace", DType::F32, &workspace(tx.arg()));
    let call = Backward {
        x: sum.arg(),
        dy: td.arg(),
        weight: Some(tw.arg()),
        rstd: rstd.arg(),
        mean: layer.then_some(mean.arg()),
        dresidual_out: Some(tm.arg()),
        dx: dx.arg_mut(),
        dresidual: Some(dr.arg_mut()),
        dweight: Some(dw.arg_mut()),
        dbias: Some(db.arg_mut()),
        workspace: Some(room.arg_mut()),
        weight_offset: offset as f32,
    };
    let outcomes = if layer { layer_norm::backward(call, &stream) } else { rms_norm::backward(call, &stream) };
    outcomes.unwrap().iter().for_each(|o| quiet(&what, o));
    close(&format!("{what}: dx"), &dx, &gradients);
    close(&format!("{what}: dresidual"), &dr, &gradients);
    close(&format!("{what}: dweight"), &dw, &dweight);
    close(&format!("{what}: dbias"), &db, &dbias);
}

#[test]
fn every_length_class() {
    for (i, dim) in DIMS.into_iter().enumerate() {
        for layer in [false, true] {
            let input = DTYPES[i % 3];
            let rows = if dim > 10_000 { 2 } else { 9 };
            check(&Case { layer, dtypes: [input; 3], rows, heads: 1, dim, per_head: false });
        }
    }
}

/// More rows than blocks: each sums over several, in a row's turn, a warp's or a cluster's.
#[test]
fn sums_over_many_rows() {
    for (dtype, rows, dim) in [(DType::BF16, 40_000, 24), (DType::F32, 1300, 264), (DType::BF16, 300, 8200)] {
        check(&Case { layer: dim == 264, dtypes: [dtype; 3], rows, heads: 1, dim, per_head: false });
    }
    // By clusters of two.
    check(&Case { layer: false, dtypes: [DType::BF16; 3], rows: 240, heads: 1, dim: 9000, per_head: false });
}

/// More short rows than warps: each goes over several, of every head, with the vectors that it keeps.
#[test]
fn warps_over_many_rows() {
    for (layer, rows, heads, dim) in [(true, 13_001, 1, 136), (false, 2500, 3, 152), (true, 7001, 1, 260)] {
        let dtypes = [if dim == 260 { DType::F32 } else { DType::BF16 }; 3];
        check(&Case { layer, dtypes, rows, heads, dim, per_head: heads > 1 });
    }
}

#[test]
fn each_operand_has_its_own_dtype() {
    for layer in [false, true] {
        for dtypes in [
            [DType::BF16, DType::F32, DType::F16],
            [DType::F32, DType::BF16, DType::BF16],
            [DType::F16, DType::F16, DType::F32],
        ] {
            for dim in [100, 2048] {
                check(&Case { layer, dtypes, rows: 5, heads: 1, dim, per_head: false });
            }
        }
    }
}

#[test]
fn heads_with_weights_of_their_own_and_with_one_for_all() {
    for layer in [false, true] {
        for per_head in [false, true] {
            for (rows, heads, dim) in [(5, 3, 128), (0, 2, 64), (1, 7, 65), (33, 2, 256)] {
                check(&Case { layer, dtypes: [DType::BF16; 3], rows, heads, dim, per_head });
            }
        }
    }
}

/// Weight and bias of f32 and nothing else: rows of a warp, of a few threads, of a block and of clusters of all sizes, that
/// go past the level-one cache; in whole tiles and not.
#[test]
fn weight_and_bias_alone() {
    let lengths =
        [144, 512, 264, 1024, 1000, 2048, 5120, 6000, 8192, 8184, 16_384, 24_576, 65_544, 131_072, 262_152, 524_288];
    let narrow = lengths.into_iter().enumerate().map(|(i, dim)| ([DType::BF16, DType::F16][i % 2], dim));
    let wide = [200, 4096, 12_296, 16_384, 32_768, 50_004, 131_080, 262_144, 400_000].map(|dim| (DType::F32, dim));
    for (dtype, dim) in narrow.chain(wide) {
        let rows = if dim > 10_000 { 2 } else { 5 };
        let mut random = fresh();
        let x = rounded(dtype, &random.normals(rows * dim, 2.0));
        let [weight, bias] = [1.0, 2.0].map(|scale| rounded(DType::F32, &random.normals(dim, scale)));
        let (tx, mut y) = (tensor("x", dtype, &[rows, dim], &x), poisoned("y", dtype, &[rows, dim]));
        let [tw, tb] = [("weight", &weight), ("bias", &bias)].map(|(name, v)| tensor(name, DType::F32, &[dim], v));
        let call = Forward { weight: Some(tw.arg()), bias: Some(tb.arg()), ..Forward::new(tx.arg(), y.arg_mut(), EPS) };
        let what = format!("{dtype}, {rows} × {dim}");
        quiet(&what, &layer_norm::layer_norm(call, &device().default_stream()).unwrap());
        let of_row = |r| reference::layer_norm(r, Some(&weight), Some(&bias), EPS.into());
        close(&what, &y, &x.chunks(dim).flat_map(of_row).collect::<Vec<_>>());
    }
}

/// Rows whose two stages only the largest clusters hold: blocks go over several and sum.
#[test]
fn the_weights_gradient_of_long_rows() {
    for (dtype, rows, dim) in [(DType::F32, 9, 131_072), (DType::BF16, 8, 262_144), (DType::F32, 2, 200_000)] {
        let mut random = fresh();
        let [x, dy] = [1.0, 2.0].map(|scale| rounded(dtype, &random.normals(rows * dim, scale)));
        let weight = rounded(DType::F32, &random.normals(dim, 1.0));
        let (tx, td) = (tensor("x", dtype, &[rows, dim], &x), tensor("dy", dtype, &[rows, dim], &dy));
        let scale = |r: &[f64]| 1.0 / (r.iter().map(|v| v * v).sum::<f64>() / dim as f64 + f64::from(EPS)).sqrt();
        let scales = rounded(DType::F32, &x.chunks(dim).map(scale).collect::<Vec<_>>());
        let (tw, rstd) = (tensor("weight", DType::F32, &[dim], &weight), tensor("rstd", DType::F32, &[rows], &scales));
        let (mut dx, mut dw) = (poisoned("dx", dtype, &[rows, dim]), poisoned("dweight", DType::F32, &[dim]));
        let mut room = poisoned("workspace", DType::F32, &workspace(tx.arg()));
        let call = Backward {
            x: tx.arg(),
            dy: td.arg(),
            weight: Some(tw.arg()),
            rstd: rstd.arg(),
            mean: None,
            dresidual_out: None,
            dx: dx.arg_mut(),
            dresidual: None,
            dweight: Some(dw.arg_mut()),
            dbias: None,
            workspace: Some(room.arg_mut()),
            weight_offset: 0.0,
        };
        let what = format!("{dtype}, {rows} × {dim}");
        rms_norm::backward(call, &device().default_stream()).unwrap().iter().for_each(|o| quiet(&what, o));
        let (mut gradients, mut sums) = (vec![], vec![0.0; dim]);
        for ((row, d), s) in x.chunks(dim).zip(dy.chunks(dim)).zip(&scales) {
            gradients.extend(reference::backward(row, d, Some(&weight), *s, None));
            sums.iter_mut().zip(row.iter().zip(d)).for_each(|(sum, (v, d))| *sum += d * v * s);
        }
        close(&format!("{what}: dx"), &dx, &gradients);
        close(&format!("{what}: dweight"), &dw, &sums);
    }
}

/// A large mean takes nothing from the variance, and what overhangs a row adds nothing to it.
#[test]
fn a_mean_far_from_zero() {
    for dim in [100, 1000, 4100] {
        let x: Vec<f64> = fresh().normals(3 * dim, 1.0).iter().map(|v| v + 4096.0).collect();
        let x = rounded(DType::F32, &x);
        let tx = tensor("x", DType::F32, &[3, dim], &x);
        let mut y = poisoned("y", DType::F32, &[3, dim]);
        let outcome = layer_norm::layer_norm(Forward::new(tx.arg(), y.arg_mut(), EPS), &device().default_stream());
        quiet("mean", &outcome.unwrap());
        let want: Vec<f64> = x.chunks(dim).flat_map(|r| reference::layer_norm(r, None, None, EPS.into())).collect();
        for (g, w) in values(&y).iter().zip(&want) {
            assert!((g - w).abs() < 2e-3, "{dim}: {g} instead of {w}");
        }
    }
}

/// Calls that differ by nothing but which normalisation it is.
#[test]
fn both_kinds_of_the_same_arguments() {
    let x = rounded(DType::F32, &fresh().normals(3 * 64, 1.0));
    let tx = tensor("x", DType::F32, &[3, 64], &x);
    let mut y = poisoned("y", DType::F32, &[3, 64]);
    let stream = device().default_stream();
    quiet("rms", &rms_norm::forward(Forward::new(tx.arg(), y.arg_mut(), EPS), &stream).unwrap());
    let rms = x.chunks(64).flat_map(|r| rms_norm::reference::rms_norm(r, None, EPS.into()));
    close("rms", &y, &rms.collect::<Vec<_>>());
    quiet("layer", &layer_norm::layer_norm(Forward::new(tx.arg(), y.arg_mut(), EPS), &stream).unwrap());
    let layer = x.chunks(64).flat_map(|r| reference::layer_norm(r, None, None, EPS.into()));
    close("layer", &y, &layer.collect::<Vec<_>>());
}

/// The residual is updated where it lies, as inference engines do.
#[test]
fn the_residual_in_place() {
    for dim in [1000, 70_000] {
        let (x, r) = (
            rounded(DType::BF16, &fresh().normals(2 * dim, 1.0)),
            rounded(DType::BF16, &fresh().normals(2 * dim, 1.0)),
        );
        let tx = tensor("x", DType::BF16, &[2, dim], &x);
        let mut tr = tensor("residual", DType::BF16, &[2, dim], &r);
        let mut y = poisoned("y", DType::BF16, &[2, dim]);
        let view = tr.arg().clone();
        let call = Forward {
            residual: Some(&view),
            residual_out: Some(tr.arg_mut()),
            ..Forward::new(tx.arg(), y.arg_mut(), EPS)
        };
        quiet("in place", &rms_norm::forward(call, &device().default_stream()).unwrap());
        let h: Vec<f64> = x.iter().zip(&r).map(|(a, b)| a + b).collect();
        close("residual", &tr, &h);
        let want: Vec<f64> = h.chunks(dim).flat_map(|r| rms_norm::reference::rms_norm(r, None, EPS.into())).collect();
        close("y", &y, &want);
    }
}

/// The same row gives the same bits whatever else is in the batch, and run to run.
#[test]
fn rows_do_not_depend_on_the_batch() {
    for dim in [111, 4096, 70_000] {
        let row = rounded(DType::BF16, &fresh().normals(dim, 1.0));
        let run = |rows: usize, at: usize| {
            let mut x = rounded(DType::BF16, &fresh().normals(rows * dim, 5.0));
            x[at * dim..(at + 1) * dim].copy_from_slice(&row);
            let tx = tensor("x", DType::BF16, &[rows, dim], &x);
            let mut y = poisoned("y", DType::F32, &[rows, dim]);
            let call = Forward::new(tx.arg(), y.arg_mut(), EPS);
            layer_norm::layer_norm(call, &device().default_stream()).unwrap();
            let all = y.to_bytes().unwrap();
            all[at * dim * 4..(at + 1) * dim * 4].to_vec()
        };
        let alone = run(1, 0);
        let batches: &[(usize, usize)] = if dim > 10_000 { &[(1, 0), (3, 2)] } else { &[(1, 0), (3, 2), (33, 17)] };
        for &(rows, at) in batches {
            assert!(run(rows, at) == alone, "{dim}: row {at} of {rows}");
        }
    }
}

#[test]
fn bad_arguments_are_named() {
    let stream = device().default_stream();
    let x = tensor("x", DType::F32, &[2, 4], &[1.0; 8]);
    let w = tensor("weight", DType::F32, &[3], &[1.0; 3]);
    let (mut y, mut mean) = (poisoned("y", DType::F32, &[2, 4]), poisoned("mean", DType::F32, &[2]));
    let call = Forward { weight: Some(w.arg()), ..Forward::new(x.arg(), y.arg_mut(), EPS) };
    assert_eq!(layer_norm::layer_norm(call, &stream).unwrap_err().to_string(), "`weight`: `dim` is 3, but `x` has 4");
    let call = Forward { mean: Some(mean.arg_mut()), ..Forward::new(x.arg(), y.arg_mut(), EPS) };
    let said = rms_norm::forward(call, &stream).unwrap_err().to_string();
    assert_eq!(said, "`mean`: expected none: RMS normalisation takes no mean off, got a tensor");
    let at = Placement { stride: 4, offset: 0 };
    let rstd = common::matrix("rstd", DType::F32, 1, 2, at, &[1.0; 2]);
    let (mut dx, mut dw) = (poisoned("dx", DType::F32, &[2, 4]), poisoned("dweight", DType::F32, &[4]));
    let rstd = warpsmith_dsl::TensorArg { shape: vec![2], strides: vec![1], ..rstd.arg().clone() };
    let call = Backward {
        x: x.arg(),
        dy: x.arg(),
        weight: None,
        rstd: &rstd,
        mean: None,
        dresidual_out: None,
        dx: dx.arg_mut(),
        dresidual: None,
        dweight: Some(dw.arg_mut()),
        dbias: None,
        workspace: None,
        weight_offset: 0.0,
    };
    let said = rms_norm::backward(call, &stream).unwrap_err().to_string();
    assert_eq!(said, "`workspace`: expected a dense f32 tensor of shape [2, 1056, 1, 4], got none");
}
