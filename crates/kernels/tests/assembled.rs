//! What `ptxas` makes of the kernels: no spills, no local memory, registers within a budget, wide accesses, none of its
//! warnings about serialised matrix instructions. Skipped, and said so, where there is no `ptxas`.

mod common;

use common::assemble::{assemble, check, tensor};
use warpsmith_dsl::{DType, Kernel, Target};
use warpsmith_kernels::{gemm, rms_norm, softmax};
use warpsmith_types::Chip;

#[test]
fn row_kernels_fit_their_registers_on_every_target() {
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            for dim in [1, 100, 4096, 4100, 32_768, 49_152] {
                let (x, mut y) = (tensor(1 << 40, dtype, &[64, dim]), tensor(1 << 41, dtype, &[64, dim]));
                let w = tensor(1 << 42, dtype, &[dim]);
                let kernel = softmax::plan(&x, &y).unwrap();
                // A block of 1024 threads has 64 registers a thread.
                let budget = if kernel.rows.threads() > 512 { 64 } else { 128 };
                let host = softmax::SoftmaxArgs { x: &x, y: &mut y };
                let Some((ptx, report)) = assemble(&kernel, &host, target) else { return };
                check(&kernel.name(), &report, budget);
                if dim % 8 == 0 {
                    assert!(ptx.contains("ld.global.nc.v4") && ptx.contains("st.global.v4"), "{}", kernel.name());
                }
                let kernel = rms_norm::plan(&x, Some(&w), &y, 1e-6).unwrap();
                let host = rms_norm::RmsNormArgs { x: &x, weight: Some(&w), y: &mut y, eps: 1e-6 };
                let Some((_, report)) = assemble(&kernel, &host, target) else { return };
                check(&kernel.name(), &report, budget);
            }
        }
    }
}

#[test]
fn the_hopper_gemm_keeps_its_accumulators_in_flight() {
    let t = |address, shape: &[usize]| tensor(address, DType::BF16, shape);
    let (a, b, mut c) = (t(1 << 40, &[4096, 4096]), t(1 << 41, &[4096, 4096]), t(1 << 42, &[4096, 4096]));
    let kernel = gemm::plan(&a, &b, &c, &Chip::H200).unwrap();
    let host = gemm::GemmArgs { a: &a, b: &b, c: &mut c };
    let Some((ptx, report)) = assemble(&kernel, &host, Target::SM_90A) else { return };
    check(&kernel.name(), &report, 168);
    for part in ["setmaxnreg.dec", "cp.async.bulk.tensor.2d", "wgmma.mma_async", "stmatrix"] {
        assert!(ptx.contains(part), "{part}");
    }
}
