//! What operators say of arguments and chips before anything is compiled.

use warpsmith_dsl::{DType, DeviceId, TensorArg};
use warpsmith_kernels::cross_entropy::{self, Options};
use warpsmith_kernels::gate::Candidate;
use warpsmith_kernels::gate::Refusal;
use warpsmith_kernels::norm::{self, Kind};
use warpsmith_kernels::rows::LONGEST_ROW;
use warpsmith_kernels::{gemm, rms_norm, softmax};
use warpsmith_types::{Chip, Target};

fn tensor(address: u64, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new(address, DeviceId(0), dtype, shape)
}

#[test]
fn the_first_that_takes_the_arguments_is_the_one_that_runs() {
    for chip in Chip::ALL {
        for dim in [1, 111, 4096, LONGEST_ROW, LONGEST_ROW + 1, 1 << 20] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let [x, y, w] = [&[3, dim][..], &[3, dim], &[dim]].map(|shape| tensor(256, dtype, shape));
                let chosen = softmax::candidates(&x, &y, &chip).unwrap().into_iter().find_map(|c| c.verdict.ok());
                assert_eq!(chosen, Some(softmax::plan_on(&x, &y, &chip).unwrap()));
                let all = rms_norm::candidates(&x, Some(&w), &y, 0.5, &chip).unwrap();
                let chosen = all.into_iter().find_map(|c| c.verdict.ok());
                assert_eq!(chosen, Some(rms_norm::plan_on(&x, Some(&w), &y, 0.5, &chip).unwrap()));
            }
        }
        let [a, b, c] = [[100, 72], [64, 72], [100, 64]].map(|shape| tensor(256, DType::BF16, &shape));
        let chosen = gemm::candidates(&a, &b, &c, &chip).unwrap().into_iter().find_map(|c| c.verdict.ok());
        assert_eq!(chosen, gemm::plan(&a, &b, &c, &chip).ok());
        assert_eq!(chosen.is_some(), chip.target == Target::SM_90A);
    }
}

/// What every operator over rows says of rows of a length, by its name: the implementation that it takes.
fn taken(dtype: DType, dim: usize, chip: &Chip) -> Vec<(&'static str, &'static str)> {
    fn first<P>(all: Vec<Candidate<P>>) -> &'static str {
        let some = ["warps", "ring", "online"];
        let names: Vec<&str> = all.iter().map(|c| c.name).filter(|name| !some.contains(name)).collect();
        assert_eq!(names, ["registers", "staged", "cluster", "twice"]);
        all.iter().find(|c| c.verdict.is_ok()).unwrap().name
    }
    let rows = |n: u64| tensor(n << 40, dtype, &[3, dim]);
    let (x, dy, mut out, one) = (rows(1), rows(2), rows(3), tensor(4 << 40, DType::F32, &[3]));
    let (target, mut loss) = (tensor(5 << 40, DType::I64, &[3]), tensor(6 << 40, DType::F32, &[3]));
    let options = Options::default();
    let mut all = vec![
        ("softmax", first(softmax::candidates(&x, &out, chip).unwrap())),
        ("rms_norm", first(rms_norm::candidates(&x, None, &out, 0.5, chip).unwrap())),
        ("softmax backward", first(softmax::backward::candidates(&dy, &x, &out, chip).unwrap())),
    ];
    for (kind, name) in [(Kind::Layer, "layer_norm backward"), (Kind::Rms, "rms_norm backward")] {
        let call = norm::Forward::new(&x, &mut out, 0.5);
        all.push(("norm forward", first(norm::candidates(kind, &call, chip).unwrap())));
        all.push((name, first(norm::backward_candidates(kind, [&x, &dy, &out], chip).unwrap())));
    }
    let (weight, target_logit, lse) = (None, None, None);
    let call = cross_entropy::Forward {
        x: &x,
        target: &target,
        target_logit,
        weight,
        loss: &mut loss,
        lse,
        dx: None,
        options,
    };
    all.push(("cross_entropy", first(cross_entropy::candidates(&call, chip).unwrap())));
    let call =
        cross_entropy::Backward { x: &x, target: &target, dloss: &one, lse: &one, weight, dx: &mut out, options };
    all.push(("cross_entropy backward", first(cross_entropy::backward::candidates(&call, chip).unwrap())));
    all
}

#[test]
fn every_operator_holds_short_rows_shares_longer_ones_and_reads_the_longest_twice() {
    for (dtype, dim, on_h200, on_a100) in [
        (DType::BF16, 1000, "registers", "registers"),
        (DType::BF16, 131_072, "staged", "twice"),
        (DType::BF16, 65_537, "staged", "twice"),
        (DType::F32, 65_537, "cluster", "twice"),
        (DType::BF16, 1 << 20, "staged", "twice"),
        (DType::F32, 1 << 19, "cluster", "twice"),
        (DType::F32, 1 << 20, "twice", "twice"),
    ] {
        for (chip, expected) in [(Chip::H200, on_h200), (Chip::A100, on_a100)] {
            for (operator, way) in taken(dtype, dim, &chip) {
                // The loss alone is read online, but for even rows that are short enough; two inputs are twice as long.
                let online = operator == "cross_entropy" && (dim > 131_072 || dim == 65_537 && dtype == DType::BF16);
                let two = operator.contains("backward") && operator != "cross_entropy backward" && dim >= 1 << 19;
                let expected = match expected {
                    _ if online => "online",
                    _ if two => "twice",
                    expected => expected,
                };
                assert_eq!(way, expected, "{operator} of {dim} on {}", chip.name);
            }
        }
    }
}

#[test]
fn warps_keep_what_goes_with_short_rows() {
    let way = |dtype, dim, vectors: usize| {
        let [x, mut y, w] = [&[3, dim][..], &[3, dim], &[dim]].map(|shape| tensor(256, dtype, shape));
        let f32s = tensor(256, DType::F32, &[dim]);
        let [weight, bias] = match vectors {
            0 => [None, None],
            1 => [Some(&w), None],
            _ => [Some(&f32s), Some(&f32s)],
        };
        let call = norm::Forward { weight, bias, ..norm::Forward::new(&x, &mut y, 0.5) };
        let all = norm::candidates(Kind::Layer, &call, &Chip::H200).unwrap();
        all.into_iter().find(|c| c.verdict.is_ok()).unwrap().name
    };
    for (dtype, dim, vectors, expected) in [
        (DType::BF16, 128, 2, "registers"),
        (DType::BF16, 256, 0, "registers"),
        (DType::BF16, 256, 1, "warps"),
        (DType::BF16, 264, 1, "registers"),
        (DType::BF16, 512, 2, "warps"),
        (DType::F32, 256, 1, "registers"),
        (DType::F32, 256, 2, "warps"),
        (DType::F32, 264, 2, "registers"),
    ] {
        assert_eq!(way(dtype, dim, vectors), expected, "{dtype}, {dim}, {vectors} vectors");
    }
}

#[test]
fn what_is_right_but_not_taken_is_refused_with_its_reason() {
    let long = tensor(256, DType::F32, &[1, LONGEST_ROW + 1]);
    let said = |chip| softmax::candidates(&long, &long, &chip).unwrap();
    let refused = said(Chip::B200).remove(0).verdict.unwrap_err();
    assert_eq!(refused, Refusal::RowLength { argument: "x", most: LONGEST_ROW, got: LONGEST_ROW + 1 });
    let refused = said(Chip::B200).remove(1).verdict.unwrap_err().to_string();
    assert_eq!(refused, "it needs accesses of 16-bit floats, and those of `x` are 4 bytes");
    assert_eq!(said(Chip::B200).remove(2).verdict.unwrap().rows.cluster, 2);
    let refused = said(Chip::A100).remove(2).verdict.unwrap_err().to_string();
    assert_eq!(refused, "it needs sm_90a, and the chip is sm_80");
    assert!(!softmax::plan_on(&long, &long, &Chip::A100).unwrap().rows.holds);

    let refusal = |address_of_b: u64, n: usize, k: usize, chip: Chip| {
        let (a, b) = (tensor(256, DType::F16, &[8, k]), tensor(address_of_b, DType::F16, &[n, k]));
        let c = TensorArg { strides: vec![n.next_multiple_of(8), 1], ..tensor(1 << 20, DType::F16, &[8, n]) };
        let error = gemm::plan(&a, &b, &c, &chip).unwrap_err().to_string();
        (gemm::candidates(&a, &b, &c, &chip).unwrap().remove(0).verdict.unwrap_err().to_string(), error)
    };
    let (said, error) = refusal(4096, 64, 64, Chip::B200);
    assert_eq!(said, "it needs sm_90a, and the chip is sm_100a");
    assert_eq!(error, "`device`: expected a device of sm_90a, got sm_100a");
    let (said, error) = refusal(4104, 64, 64, Chip::H200);
    assert_eq!(said, "it needs rows aligned to 16 bytes, and `b` has address 0x1008 and row stride 64");
    assert_eq!(error, "`b`: expected rows aligned to 16 bytes, got address 0x1008, row stride 64");
    let (said, _) = refusal(4096, 64, 63, Chip::H200);
    assert_eq!(said, "it needs rows aligned to 16 bytes, and `a` has address 0x100 and row stride 63");
    let (said, error) = refusal(4096, 60, 64, Chip::H200);
    assert_eq!(said, "it needs rows of a multiple of 8 elements, and `c` has 60");
    assert_eq!(error, "`c`: expected rows of a multiple of 8 elements, got 60");
}

#[test]
fn what_is_wrong_is_an_error_and_no_refusal() {
    let (x, y) = (tensor(256, DType::F32, &[2, 8]), tensor(256, DType::F32, &[2, 9]));
    assert_eq!(softmax::candidates(&x, &y, &Chip::H200).unwrap_err().to_string(), "`y`: `dim` is 9, but `x` has 8");
    assert_eq!(
        rms_norm::candidates(&x, None, &x, -1.0, &Chip::H200).unwrap_err().to_string(),
        "`eps`: expected a number of at least 0, got -1"
    );
    // A chip that could not run it makes it no less wrong.
    assert_eq!(
        gemm::candidates(&x, &x, &x, &Chip::A100).unwrap_err().to_string(),
        "`a`: expected bf16 or f16, the same for all, got f32"
    );
}
