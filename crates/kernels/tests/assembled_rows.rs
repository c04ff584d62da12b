//! What `ptxas` makes of the row kernels beyond one block's forward: rows shared by a cluster or read twice, gradients,
//! cross-entropy. Skipped, and said so, where there is no `ptxas`.

#![allow(clippy::print_stdout, reason = "it says what is skipped, and the registers")]

mod common;

use common::assemble::{Assembled, or_skip, tensor};
use warpsmith_dsl::{DType, Target, TensorArg};
use warpsmith_kernels::cross_entropy::{
    CrossEntropy, CrossEntropyArgs, CrossEntropyBackward, CrossEntropyBackwardArgs, Separate,
};
use warpsmith_kernels::norm::{Kind, Norm, NormArgs, NormBackward, NormBackwardArgs};
use warpsmith_kernels::rows::RowPlan;
use warpsmith_kernels::softmax::{self, SoftmaxBackward, SoftmaxBackwardArgs};
use warpsmith_runtime::report::Assembler;
use warpsmith_types::Chip;

const ROWS: usize = 64;

/// The plan that the gate comes to for aligned rows of a dtype.
fn plan(dim: usize, dtype: DType, tensors: usize, threads: usize) -> RowPlan {
    let vector = 16 / dtype.bytes();
    let fits = |p: &RowPlan| p.threads() <= threads;
    let held = RowPlan::in_block(dim, vector, tensors).filter(fits);
    let shared = || RowPlan::in_cluster(dim, vector, tensors, 256, &Chip::H200).filter(fits);
    held.or_else(shared).or_else(|| RowPlan::streamed(dim, vector, &Chip::H200)).unwrap()
}

fn check(kernel: &Assembled, rows: &RowPlan) {
    println!("{}: {:?} registers, {rows}", kernel.name, kernel.report.registers);
    let budget = 65_536 / rows.threads().max(257);
    kernel.check((budget as u32 / 8 * 8).min(255));
}

fn all(assembler: &Assembler, dtype: DType, dim: usize, target: Target) {
    let [x, y, z] = [40, 41, 42].map(|n| tensor(1 << n, dtype, &[ROWS, dim]));
    let mut out = tensor(1 << 43, dtype, &[ROWS, dim]);
    let forward = softmax::plan_on(&x, &y, &Chip::H200).unwrap();
    let host = softmax::SoftmaxArgs { x: &x, y: &mut out };
    check(&Assembled::new(assembler, &forward, &host, target), &forward.rows);
    let (rows, both) = (plan(dim, dtype, 1, 512), plan(dim, dtype, 2, 1024));
    let host = SoftmaxBackwardArgs { dy: &x, y: &y, dx: &mut out };
    check(&Assembled::new(assembler, &SoftmaxBackward { rows: both.clone() }, &host, target), &both);

    let one = |n: u32, dtype| tensor(1 << n, dtype, &[ROWS, 1]);
    let (target_class, mut loss, lse) = (one(44, DType::I64), one(45, DType::F32), one(46, DType::F32));
    let host = CrossEntropyArgs {
        x: &x,
        target: &target_class,
        target_logit: None,
        weight: None,
        loss: &mut loss,
        lse: None,
        dx: Some(&mut out),
        ignore_index: -100,
        smoothing: None,
        z_loss: None,
    };
    let kernel = CrossEntropy { separate: Separate::No, rows: rows.clone() };
    check(&Assembled::new(assembler, &kernel, &host, target), &rows);
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
    check(&Assembled::new(assembler, &CrossEntropyBackward { rows: rows.clone() }, &host, target), &rows);

    let cube = |t: &TensorArg| tensor(t.address, dtype, &[ROWS, 1, dim]);
    let [x, y, z] = [&x, &y, &z].map(cube);
    let (mut out, rstd) = (cube(&out), tensor(1 << 44, DType::F32, &[ROWS, 1, 1]));
    let w = tensor(1 << 45, dtype, &[1, dim]);
    let mut residual_out = tensor(1 << 46, dtype, &[ROWS, 1, dim]);
    let both = plan(dim, dtype, 2, 512);
    for kind in [Kind::Rms, Kind::Layer] {
        let host = NormArgs {
            x: &x,
            residual: Some(&y),
            weight: Some(&w),
            bias: None,
            y: &mut out,
            residual_out: Some(&mut residual_out),
            rstd: None,
            mean: None,
            eps: 1e-6,
            weight_offset: None,
        };
        check(&Assembled::new(assembler, &Norm { kind, rows: rows.clone() }, &host, target), &rows);
        let mut parts = tensor(1 << 47, DType::F32, &[132, 1, dim]);
        let host = NormBackwardArgs {
            x: &x,
            dy: &z,
            weight: Some(&w),
            rstd: &rstd,
            mean: (kind == Kind::Layer).then_some(&rstd),
            dresidual_out: None,
            dx: &mut out,
            dresidual: None,
            dweight: (dim <= 8192).then_some(&mut parts),
            dbias: None,
            weight_offset: None,
        };
        check(&Assembled::new(assembler, &NormBackward { kind, rows: both.clone() }, &host, target), &both);
    }
}

#[test]
fn row_kernels_of_every_form_fit_their_registers() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    for target in [Target::SM_90A, Target::SM_100A] {
        for dtype in [DType::BF16, DType::F32] {
            for dim in [1024, 8192, 24_576, 32_768, 49_152, 65_536, 131_072, 262_144, 1 << 20] {
                all(&assembler, dtype, dim, target);
            }
        }
    }
}
