//! What `ptxas` makes of the kernels: no spills, no local memory, registers within a budget, wide accesses, none of its
//! remarks about serialised matrix instructions. Skipped, and said so, where there is no `ptxas` or no `nvdisasm`.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::assemble::{Assembled, or_skip, tensor};
use warpsmith_dsl::cute::{cp_async_fence, cp_async_wait};
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::runs::{copy_async, copy_async_own};
use warpsmith_dsl::{DType, Target};
use warpsmith_kernels::{gemm, rms_norm, softmax};
use warpsmith_runtime::report::{Access, Assembler, Disassembler};
use warpsmith_types::Chip;

/// Softmax and RMSNorm over rows of a dtype, with the registers that a thread of their blocks has.
fn rows(assembler: &Assembler, dtype: DType, dim: usize, target: Target) -> [(Assembled, u32); 2] {
    let (x, mut y) = (tensor(1 << 40, dtype, &[64, dim]), tensor(1 << 41, dtype, &[64, dim]));
    let w = tensor(1 << 42, dtype, &[dim]);
    // What a block's threads share, by eights.
    let budget = |threads: usize| (65_536 / threads / 8 * 8).min(128) as u32;
    let chip = Chip::ALL.into_iter().find(|c| c.target == target).unwrap();
    let kernel = softmax::plan_on(&x, &y, &chip).unwrap();
    let host = softmax::SoftmaxArgs { x: &x, y: &mut y };
    let first = (Assembled::new(assembler, &kernel, &host, target), budget(kernel.rows.threads()));
    let kernel = rms_norm::plan_on(&x, Some(&w), &y, 1e-6, &chip).unwrap();
    let host = rms_norm::RmsNormArgs { x: &x, weight: Some(&w), y: &mut y, eps: 1e-6 };
    let second = (Assembled::new(assembler, &kernel, &host, target), budget(kernel.rows.threads()));
    [first, second]
}

#[test]
fn row_kernels_fit_their_registers_on_every_target() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            for dim in [1, 100, 4096, 4100, 32_768, 49_152] {
                for (kernel, budget) in rows(&assembler, dtype, dim, target) {
                    kernel.check(budget);
                }
            }
        }
    }
}

#[test]
fn aligned_rows_move_in_accesses_of_128_bits_only() {
    let (Some(assembler), Some(disassembler)) = (or_skip(Assembler::find()), or_skip(Disassembler::find())) else {
        return;
    };
    for target in [Target::SM_80, Target::SM_89, Target::SM_90A, Target::SM_100A, Target::SM_103A, Target::SM_120A] {
        for (kernel, _) in rows(&assembler, DType::BF16, 4096, target) {
            let code = kernel.code(&disassembler);
            for access in [Access::Load, Access::Store] {
                assert_eq!(code.global_widths(access), [128], "{}: {access:?}", kernel.name);
            }
        }
    }
    // Rows of 4100 elements begin at multiples of 8 bytes: the test can fail.
    for (kernel, _) in rows(&assembler, DType::BF16, 4100, Target::SM_90A) {
        assert_eq!(kernel.code(&disassembler).global_widths(Access::Store), [64], "{}", kernel.name);
    }
}

#[test]
fn the_hopper_gemm_keeps_its_accumulators_in_flight() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    let t = |address, shape: &[usize]| tensor(address, DType::BF16, shape);
    let (a, b, mut c) = (t(1 << 40, &[4096, 4096]), t(1 << 41, &[4096, 4096]), t(1 << 42, &[4096, 4096]));
    let kernel = gemm::plan(&a, &b, &c, &Chip::H200).unwrap();
    let host = gemm::GemmArgs { a: &a, b: &b, c: &mut c };
    let gemm = Assembled::new(&assembler, &kernel, &host, Target::SM_90A);
    // Its warnings would say so, if the assembler had serialised the matrix instructions.
    gemm.check(168);
    let Some(disassembler) = or_skip(Disassembler::find()) else { return };
    let code = gemm.code(&disassembler);
    // Four steps of 16 in each stage of 64 columns, in a loop that is not unrolled; the two kinds of TMA copy; stmatrix.
    for (opcode, least) in
        [("HGMMA.64x256x16", 4), ("USETMAXREG", 2), ("UTMALDG.2D", 2), ("UTMASTG.2D", 1), ("STSM", 1)]
    {
        let found = code.count(opcode);
        assert!(found >= least, "{found} of {opcode}");
    }
    assert_eq!(code.global(Access::Load).count() + code.global(Access::Store).count(), 0);
}

/// Copies 16 bytes a thread with a cache policy, which other threads read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Copies {
    /// As if the thread itself read them, which it does not.
    own: bool,
}

#[derive(KernelArgs)]
struct CopiesArgs<'a> {
    #[tensor(n)]
    x: &'a TensorArg,
    #[tensor(n)]
    y: &'a mut TensorArg,
}

impl Kernel for Copies {
    type Args = CopiesParams;

    fn name(&self) -> String {
        "copies".into()
    }

    fn launch(&self, _: &CopiesArgs<'_>) -> Launch {
        Launch::grid(1).block(32)
    }

    fn body(&self, a: CopiesParams) {
        let (i, tile) = (thread_idx().x, Shared::<U8>::aligned("tile", 512, 16));
        let first = a.x.at::<U32>((0,)).policy(CachePolicy::fractional(Eviction::First, 1.0)).cast();
        let at = i * 16;
        let (to, from) = (tile.at(at).assume_aligned(16), first.offset(Dim::from(at)).assume_aligned(16));
        if self.own {
            copy_async_own(to, from, 16, None)
        } else {
            copy_async(to, from, 16, None)
        }
        cp_async_fence();
        cp_async_wait(0);
        sync_threads();
        a.y.at::<U32>((i,)).store(tile.at(i * 4).assume_aligned(4).cast::<U32>().load());
    }
}

#[test]
fn copies_with_a_policy_have_their_address_in_one_register() {
    let (Some(assembler), Some(disassembler)) = (or_skip(Assembler::find()), or_skip(Disassembler::find())) else {
        return;
    };
    let (x, mut y) = (tensor(1 << 40, DType::U32, &[128]), tensor(1 << 41, DType::U32, &[128]));
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A] {
        // Where it is not kept from them, assemblers do it for Hopper: the test can fail.
        for own in [false, true] {
            let host = CopiesArgs { x: &x, y: &mut y };
            let kernel = Assembled::new(&assembler, &Copies { own }, &host, target);
            let uniform = kernel.copies_by_uniform_registers(&disassembler);
            assert_eq!(uniform, own && target != Target::SM_80, "{}, own: {own}", kernel.name);
        }
    }
}
