//! Cross-entropy and its gradient against a float64 reference, on the device of the run.

mod common;

use common::{DTYPES, Placement, device, fresh, matrix, output, rounded};
use warpsmith_dsl::TensorArg;
use warpsmith_kernels::compare::{decode, encode};
use warpsmith_kernels::cross_entropy::{self, Backward, Forward, Options, reference};
use warpsmith_runtime::{LaunchOutcome, Tensor};
use warpsmith_types::DType;

/// Lengths that a part of a warp, a warp, a block, a cluster hold, those where whole warps have nothing, and one that is
/// read twice.
const DIMS: [usize; 12] = [1, 7, 111, 1000, 4100, 50_257, 70_000, 151_936, 400_003, 262_144, 524_288, 262_144];

fn poisoned(name: &str, dtype: DType, shape: &[usize]) -> Tensor {
    let t = Tensor::new(&device(), name, dtype, shape).unwrap();
    t.buffer().poison().unwrap();
    t
}

fn targets(dtype: DType, all: &[i64]) -> Tensor {
    let bytes: Vec<u8> = match dtype {
        DType::I64 => all.iter().flat_map(|t| t.to_le_bytes()).collect(),
        _ => all.iter().flat_map(|t| (*t as i32).to_le_bytes()).collect(),
    };
    Tensor::from_bytes(&device(), "target", dtype, &[all.len()], &bytes).unwrap()
}

fn quiet(what: &str, outcome: &LaunchOutcome) {
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));
}

fn close(what: &str, got: f64, expected: f64, allowed: f64) {
    let right = got == expected || got.is_nan() && expected.is_nan() || (got - expected).abs() <= allowed;
    assert!(right, "{what}: {got} instead of {expected}, allowed {allowed:e}");
}

/// Checks forward, its gradient, and backward.
fn check(what: &str, dtype: DType, dim: usize, target: &[i64], x: &[f64], weight: Option<&[f64]>, options: Options) {
    let (rows, stream) = (target.len(), device().default_stream());
    let at = Placement { stride: dim + 1, offset: 1 };
    let at = if dim.is_multiple_of(8) { Placement::dense(dim) } else { at };
    let x = rounded(dtype, x);
    let tx = matrix("x", dtype, rows, dim, at, &x);
    let tt = targets(if dim.is_multiple_of(2) { DType::I64 } else { DType::I32 }, target);
    let tw =
        weight.map(|w| Tensor::from_bytes(&device(), "weight", DType::F32, &[dim], &encode(DType::F32, w)).unwrap());
    let tw = tw.as_ref().map(Tensor::arg);
    let [mut loss, mut lse] = ["loss", "lse"].map(|n| poisoned(n, DType::F32, &[rows]));
    let [mut dx, mut again] = [0, 1].map(|_| output(DType::F32, rows, dim, at));
    let call = Forward {
        x: tx.arg(),
        target: tt.arg(),
        target_logit: None,
        weight: tw,
        loss: loss.arg_mut(),
        lse: Some(lse.arg_mut()),
        dx: Some(dx.arg_mut()),
        options,
    };
    quiet(what, &cross_entropy::cross_entropy(call, &stream).unwrap());
    let read = |t: &Tensor| decode(DType::F32, &t.to_bytes().unwrap());
    let (got_loss, got_lse, got_dx) = (read(&loss), read(&lse), read(&dx));

    // One number for all rows, as `loss.sum().backward()` gives it.
    let shared = Tensor::from_bytes(&device(), "dloss", DType::F32, &[1], &encode(DType::F32, &[0.5])).unwrap();
    let dloss = TensorArg { shape: vec![rows], strides: vec![0], ..shared.arg().clone() };
    let call = Backward {
        x: tx.arg(),
        target: tt.arg(),
        dloss: &dloss,
        lse: lse.arg(),
        weight: tw,
        dx: again.arg_mut(),
        options,
    };
    quiet(what, &cross_entropy::backward(call, &stream).unwrap());
    let got_again = read(&again);

    for (r, &t) in target.iter().enumerate() {
        let row = &x[r * dim..][..dim];
        let (loss, gradient) = reference::cross_entropy(row, t, weight, &options);
        let lse = reference::lse(row);
        let w = weight.map_or(1.0, |w| w.iter().fold(1.0, |m: f64, v| m.max(v.abs())));
        let size = if lse.is_finite() { 1.0 + lse.abs() + loss.abs().max(0.0) } else { 1.0 };
        let size = if size.is_finite() { size } else { 1.0 };
        close(&format!("{what}: lse {r}"), got_lse[r], lse, 2e-6 * size);
        close(&format!("{what}: loss {r}"), got_loss[r], loss, 1e-5 * size * w);
        for (c, want) in gradient.iter().enumerate() {
            let (place, allowed) = (at.index(r, c), 2e-5 * size * w * (want.abs() + 1e-2)); // a difference of what may be 1
            close(&format!("{what}: dx {r}, {c}"), got_dx[place], *want, allowed);
            close(&format!("{what}: backward {r}, {c}"), got_again[place], want * 0.5, allowed);
        }
    }
}

#[test]
fn every_length_class() {
    let mut random = fresh();
    for (i, dim) in DIMS.into_iter().enumerate() {
        let rows = if dim > 10_000 { 2 } else { 9 };
        let target: Vec<i64> = (0..rows).map(|_| random.below(dim) as i64).collect();
        let x = random.normals(rows * dim, 3.0);
        check(&format!("{rows} × {dim}"), DTYPES[i % 3], dim, &target, &x, None, Options::default());
    }
}

#[test]
fn weights_smoothing_and_z_loss() {
    let mut random = fresh();
    for dim in [3, 100, 1000, 60_000] {
        let rows = if dim > 10_000 { 1 } else { 5 };
        let weight = rounded(DType::F32, &random.normals(dim, 0.3).iter().map(|v| v.abs() + 0.1).collect::<Vec<_>>());
        for (weighted, smoothing, z_loss) in
            [(true, 0.0, 0.0), (false, 0.1, 0.0), (true, 0.25, 0.0), (false, 0.0, 1e-2), (true, 0.1, 1e-3)]
        {
            let target: Vec<i64> = (0..rows).map(|_| random.below(dim) as i64).collect();
            let options = Options { smoothing, z_loss, ..Options::default() };
            let what = format!("{rows} × {dim}, weighted {weighted}, {options:?}");
            let x = random.normals(rows * dim, 2.0);
            check(&what, DType::F32, dim, &target, &x, weighted.then_some(&weight[..]), options);
        }
    }
}

#[test]
fn rows_that_do_not_count_and_targets_that_are_no_class() {
    let mut random = fresh();
    for dim in [5, 1000, 50_257] {
        let n = dim as i64;
        let target = [0, -100, n - 1, n, -1, i64::from(i32::MAX), 2];
        let mut x = random.normals(target.len() * dim, 2.0);
        x[dim] = f64::NAN; // of the row that is ignored
        check(&format!("{dim}"), DType::BF16, dim, &target, &x, None, Options::default());
        let options = Options { ignore_index: 2, smoothing: 0.1, ..Options::default() };
        x[dim] = 0.0;
        check(&format!("{dim}, 2 ignored"), DType::BF16, dim, &target, &x, None, options);
    }
    // No row at all.
    check("none", DType::F32, 100, &[], &[], None, Options::default());
}

#[test]
fn masked_and_huge_logits() {
    let dim = 66_000;
    let mut x = fresh().normals(2 * dim, 1e4);
    x[20..dim].fill(f64::NEG_INFINITY);
    check("masked", DType::F32, dim, &[3, 70], &x, None, Options::default());
}

#[test]
fn the_gradient_in_place() {
    for dim in [100, 1000, 60_000] {
        let x = rounded(DType::F32, &fresh().normals(3 * dim, 2.0));
        let target = [0, -100, dim as i64 - 1];
        let at = Placement::dense(dim);
        let (mut tx, tt) = (matrix("x", DType::F32, 3, dim, at, &x), targets(DType::I64, &target));
        let (view, mut loss) = (tx.arg().clone(), poisoned("loss", DType::F32, &[3]));
        let call = Forward {
            x: &view,
            target: tt.arg(),
            target_logit: None,
            weight: None,
            loss: loss.arg_mut(),
            lse: None,
            dx: Some(tx.arg_mut()),
            options: Options::default(),
        };
        quiet("in place", &cross_entropy::cross_entropy(call, &device().default_stream()).unwrap());
        let (got, losses) =
            (decode(DType::F32, &tx.to_bytes().unwrap()), decode(DType::F32, &loss.to_bytes().unwrap()));
        for (r, row) in x.chunks(dim).enumerate() {
            let (loss, dx) = reference::cross_entropy(row, target[r], None, &Options::default());
            close("loss", losses[r], loss, 1e-4);
            (0..dim).for_each(|c| close(&format!("{r}, {c}"), got[r * dim + c], dx[c], 1e-5));
        }
    }
}

#[test]
fn targets_logits_from_elsewhere() {
    // Nothing divides the other length: the signature is that of one logit a row.
    let (rows, dim) = (5, 100);
    let x = rounded(DType::BF16, &fresh().normals(rows * dim, 2.0));
    let logits = rounded(DType::F32, &fresh().normals(rows * 301, 2.0));
    let target = [0, 300, 150, 100, 301];
    let (tx, tt) = (matrix("x", DType::BF16, rows, dim, Placement::dense(dim), &x), targets(DType::I32, &target));
    let all = matrix("target_logit", DType::F32, rows, 301, Placement::dense(301), &logits);
    let some = TensorArg { shape: vec![rows], strides: vec![301], ..all.arg().clone() };
    for whole in [true, false] {
        let mut loss = poisoned("loss", DType::F32, &[rows]);
        let call = Forward {
            x: tx.arg(),
            target: tt.arg(),
            target_logit: Some(if whole { all.arg() } else { &some }),
            weight: None,
            loss: loss.arg_mut(),
            lse: None,
            dx: None,
            options: Options::default(),
        };
        quiet("elsewhere", &cross_entropy::cross_entropy(call, &device().default_stream()).unwrap());
        for (r, got) in decode(DType::F32, &loss.to_bytes().unwrap()).into_iter().enumerate() {
            let t = target[r] as usize;
            let want = match (whole, t < 301, t < dim) {
                (true, true, _) => reference::lse(&x[r * dim..][..dim]) - logits[r * 301 + t],
                (false, _, true) => reference::lse(&x[r * dim..][..dim]) - logits[r * 301],
                _ => f64::NAN,
            };
            close(&format!("whole {whole}, {r}"), got, want, 1e-5);
        }
    }
}

#[test]
fn bad_arguments_are_named() {
    let at = Placement::dense(4);
    let (x, mut loss) = (matrix("x", DType::F32, 2, 4, at, &[0.0; 8]), poisoned("loss", DType::F32, &[2]));
    let mut refused = |target: &Tensor, options| {
        let call = Forward {
            x: x.arg(),
            target: target.arg(),
            target_logit: None,
            weight: None,
            loss: loss.arg_mut(),
            lse: None,
            dx: None,
            options,
        };
        cross_entropy::cross_entropy(call, &device().default_stream()).unwrap_err().to_string()
    };
    let (good, plain) = (targets(DType::I64, &[0, 1]), Options::default());
    assert_eq!(refused(&targets(DType::I64, &[0]), plain), "`target`: `rows` is 1, but `x` has 2");
    assert_eq!(
        refused(&poisoned("target", DType::F32, &[2]), plain),
        "`target`: expected elements of i32 or i64, got f32"
    );
    let said = refused(&good, Options { smoothing: 1.5, ..plain });
    assert_eq!(said, "`smoothing`: expected a share, 0 to 1, got 1.5");
}
