//! What `ptxas` makes of the row kernels that the gates take, for rows of every form: no local memory, registers within
//! what their plans count on. Skipped, and said so, where there is no `ptxas`.

#![allow(clippy::print_stdout, reason = "it says what is skipped, and the registers")]

mod common;

use common::assemble::{Assembled, or_skip, tensor};
use std::sync::LazyLock;
use warpsmith_dsl::{DType, TensorArg};
use warpsmith_kernels::cross_entropy::{self, CrossEntropyArgs, CrossEntropyBackwardArgs};
use warpsmith_kernels::gate::Candidate;
use warpsmith_kernels::norm::{self, Kind, NormArgs, NormBackward, NormBackwardArgs};
use warpsmith_kernels::rows::{RowPlan, Summing};
use warpsmith_kernels::softmax::{self, SoftmaxBackwardArgs};
use warpsmith_runtime::report::{Assembler, Disassembler};
use warpsmith_types::Chip;

const ROWS: usize = 64;

static DISASSEMBLER: LazyLock<Option<Disassembler>> = LazyLock::new(|| or_skip(Disassembler::find()));

/// What the gate takes.
fn taken<P>(candidates: Vec<Candidate<P>>) -> P {
    candidates.into_iter().find_map(|c| c.verdict.ok()).unwrap()
}

fn check(kernel: &Assembled, rows: &RowPlan) {
    println!("{}: {:?} registers, {rows}", kernel.name, kernel.report.registers);
    let budget = 65_536 / (rows.threads() * rows.ring.map_or(1, |ring| ring.resident)).max(256);
    kernel.check((budget as u32 / 8 * 8).min(255));
    if let (Some(disassembler), true) = (&*DISASSEMBLER, rows.ring.is_some()) {
        assert!(!kernel.copies_by_uniform_registers(disassembler), "{}", kernel.name);
    }
}

fn all(assembler: &Assembler, dtype: DType, dim: usize, chip: &Chip) {
    let target = chip.target;
    let [x, y, z] = [40, 41, 42].map(|n| tensor(1 << n, dtype, &[ROWS, dim]));
    let mut out = tensor(1 << 43, dtype, &[ROWS, dim]);
    let forward = softmax::plan_on(&x, &y, chip).unwrap();
    let host = softmax::SoftmaxArgs { x: &x, y: &mut out };
    check(&Assembled::new(assembler, &forward, &host, target), &forward.rows);
    let kernel = taken(softmax::backward::candidates(&x, &y, &out, chip).unwrap());
    let host = SoftmaxBackwardArgs { dy: &x, y: &y, dx: &mut out };
    check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);

    let one = |n: u32, dtype| tensor(1 << n, dtype, &[ROWS, 1]);
    let (target_class, mut loss, lse) = (one(44, DType::I64), one(45, DType::F32), one(46, DType::F32));
    for gradient in [false, true] {
        let classes = tensor(1 << 44, DType::I64, &[ROWS]);
        let mut losses = tensor(1 << 45, DType::F32, &[ROWS]);
        let mut dx = out.clone();
        let call = cross_entropy::Forward {
            x: &x,
            target: &classes,
            target_logit: None,
            weight: None,
            loss: &mut losses,
            lse: None,
            dx: gradient.then_some(&mut dx),
            options: cross_entropy::Options::default(),
        };
        let kernel = taken(cross_entropy::candidates(&call, chip).unwrap());
        let host = CrossEntropyArgs {
            x: &x,
            target: &target_class,
            target_logit: None,
            weight: None,
            loss: &mut loss,
            lse: None,
            dx: gradient.then_some(&mut out),
            ignore_index: -100,
            smoothing: None,
            z_loss: None,
        };
        check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);
    }
    let one_each = |n: u32| tensor(1 << n, DType::F32, &[ROWS]);
    let (classes, each) = (tensor(1 << 44, DType::I64, &[ROWS]), one_each(46));
    let mut dx = out.clone();
    let call = cross_entropy::Backward {
        x: &x,
        target: &classes,
        dloss: &each,
        lse: &each,
        weight: None,
        dx: &mut dx,
        options: cross_entropy::Options::default(),
    };
    let kernel = taken(cross_entropy::backward::candidates(&call, chip).unwrap());
    let host = CrossEntropyBackwardArgs {
        x: &x,
        target: &target_class,
        dloss: &one(47, DType::F32),
        lse: &lse,
        weight: None,
        dx: &mut out,
        ignore_index: -100,
        smoothing: None,
        z_loss: None,
    };
    check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);

    let cube = |t: &TensorArg| tensor(t.address, dtype, &[ROWS, 1, dim]);
    let (flat, flat_out) = ([x.clone(), y.clone(), z.clone()], out.clone());
    let [x, y, z] = [&x, &y, &z].map(cube);
    let (mut out, rstd) = (cube(&out), tensor(1 << 44, DType::F32, &[ROWS, 1, 1]));
    let w = tensor(1 << 45, DType::F32, &[1, dim]);
    let mut residual_out = tensor(1 << 46, dtype, &[ROWS, 1, dim]);
    for kind in [Kind::Rms, Kind::Layer] {
        for residual in [false, true] {
            let (mut flat_y, mut flat_sum) = (flat_out.clone(), tensor(1 << 46, dtype, &[ROWS, dim]));
            let flat_weight = tensor(1 << 45, DType::F32, &[dim]);
            let layer = kind == Kind::Layer;
            let call = norm::Forward {
                residual: residual.then_some(&flat[1]),
                weight: Some(&flat_weight),
                bias: layer.then_some(&flat_weight),
                residual_out: residual.then_some(&mut flat_sum),
                ..norm::Forward::new(&flat[0], &mut flat_y, 1e-6)
            };
            let kernel = taken(norm::candidates(kind, &call, chip).unwrap());
            let host = NormArgs {
                x: &x,
                residual: residual.then_some(&y),
                weight: Some(&w),
                bias: layer.then_some(&w),
                y: &mut out,
                residual_out: residual.then_some(&mut residual_out),
                rstd: None,
                mean: None,
                eps: 1e-6,
                weight_offset: None,
            };
            check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);
        }
        let kernel = taken(norm::backward_candidates(kind, [&flat[0], &flat[2], &flat_out], chip).unwrap());
        let mut host = NormBackwardArgs {
            x: &x,
            dy: &z,
            weight: Some(&w),
            rstd: &rstd,
            mean: (kind == Kind::Layer).then_some(&rstd),
            dresidual_out: None,
            dx: &mut out,
            dresidual: None,
            dweight: None,
            dbias: None,
            weight_offset: None,
        };
        check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);
        // Those that sum over rows beside it.
        let layer = kind == Kind::Layer;
        let vector = (0..).map(|i| (16 / dtype.bytes()) >> i).find(|v| dim.is_multiple_of(*v)).unwrap();
        let by = Summing { bytes: 2 * dtype.bytes(), copies: vector * dtype.bytes() >= 4, keeps: !layer };
        let Some((rows, parts)) = RowPlan::summing(dim, vector, by, chip) else { continue };
        let [mut weights, mut biases] = [47, 48].map(|n| tensor(1 << n, DType::F32, &[parts, 1, dim]));
        host.dweight = Some(&mut weights);
        host.dbias = layer.then_some(&mut biases);
        let kernel = NormBackward { kind, rows };
        check(&Assembled::new(assembler, &kernel, &host, target), &kernel.rows);
    }
}

#[test]
fn row_kernels_of_every_form_fit_their_registers() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    for chip in [Chip::H200, Chip::B200] {
        for dtype in [DType::BF16, DType::F32] {
            let mut lengths = vec![1024, 2048, 4096, 5120, 6144, 7168, 8192, 16_384, 24_576, 32_768, 49_152, 65_536];
            lengths.extend([131_072, 196_608, 262_144, 524_288, 1 << 20]);
            // Of 16-bit floats those too that no tile divides, or no access.
            let more: &[usize] = if dtype == DType::BF16 { &[1031, 50_257, 65_544, 262_147] } else { &[262_147] };
            for dim in lengths.iter().chain(more).copied() {
                all(&assembler, dtype, dim, &chip);
            }
        }
    }
}
