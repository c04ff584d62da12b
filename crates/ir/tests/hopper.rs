//! A Hopper kernel in instructions of PTX: a ring of tensor copies and mbarriers, a producer warpgroup with few
//! registers, two consumer warpgroups of wgmma, a cluster. It verifies, is optimised, lowers, and assembles.

mod support;

use smallvec::{SmallVec, smallvec};
use std::fmt::Write;
use support::assemble::Assembler;
use warpsmith_ir::machine::{Machine, Slot};
use warpsmith_ir::text::parse;
use warpsmith_ir::{Inst, Kernel, LocationId, LowerError, LowerOptions, Op, Param, Type, lower, optimize, verify};
use warpsmith_types::Target;

/// Accumulators of a thread for a tile of 64 × 128.
const ACCUMULATORS: usize = 64;

/// The text of the kernel.
fn text() -> String {
    let mut text = String::from(
        "kernel gemm(a: u64 tensor_map, b: u64 tensor_map, c: u64 pointer c align 16, k_tiles: u32) \
         block 384, 1, 1 cluster 2, 1, 1 max_registers 168 {
  shared tiles: 98304 align 1024
  shared full: 32 align 8
  shared empty: 32 align 8\n",
    );
    for i in 0..ACCUMULATORS {
        writeln!(text, "  register ${i}: f32").unwrap();
    }
    let accumulators: Vec<String> = (0..ACCUMULATORS).map(|i| format!("${i}")).collect();
    let (stage, phase) = (ACCUMULATORS, ACCUMULATORS + 1);
    write!(
        text,
        "  register ${stage}: u32
  register ${phase}: u32
  %0: u64 = param a
  %1: u64 = param b
  %2: u64 = param c
  %3: u32 = param k_tiles
  %4: u32 = shared_address tiles
  %5: u32 = shared_address full
  %6: u32 = shared_address empty
  %7: u32 = special tid.x
  %8: u32 = const 7
  %9: u32 = shr %7, %8
  %10: u32 = const 0
  %11: u32 = const 1
  %12: bool = eq %7, %10
  %13: u32 = special cluster_ctarank
  if %12 {{
    %14: u32 = const 4
    %15: u32 = const 3
    for %16: u32 in %10, %14, %11 {{
      %17: u32 = shl %16, %15
      %18: u32 = add %5, %17
      %19: u32 = add %6, %17
      ptx.mbarrier.init.shared::cta.b64 [%18], 1
      ptx.mbarrier.init.shared::cta.b64 [%19], 2
    }}
    ptx.fence.mbarrier_init.release.cluster
    ptx.prefetch.tensormap [%0]
    ptx.prefetch.tensormap [%1]
  }}
  ptx.barrier.cluster.arrive.release.aligned
  ptx.barrier.cluster.wait.acquire.aligned
  %20: bool = eq %9, %10
  set ${stage}, %10
  if %20 {{
    ptx.setmaxnreg.dec.sync.aligned.u32 40
    %21: u32 = const 32
    %22: bool = lt %7, %21
    if %22 {{
      %23: bool = ptx.elect.sync _|%23, -1
      if %23 {{
        set ${phase}, %11
        for %24: u32 in %10, %3, %11 {{
          %25: u32 = get ${stage}
          %26: u32 = get ${phase}
          %27: u32 = const 3
          %28: u32 = shl %25, %27
          %29: u32 = add %6, %28
          %30: u32 = add %5, %28
          loop {{
            %31: bool = ptx.mbarrier.try_wait.parity.shared::cta.b64 %31, [%29], %26
            break_if %31
          }}
          ptx.mbarrier.arrive.expect_tx.shared::cta.b64 _, [%30], 24576
          %32: u32 = const 24576
          %33: u32 = mul %25, %32
          %34: u32 = add %4, %33
          %35: u32 = const 64
          %36: u32 = mul %24, %35
          %37: i32 = bitcast %36
          %38: i32 = bitcast %13
          %39: u16 = const 3
          ptx.cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%34], [%0, {{%37, %38}}], [%30]
          ptx.cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%34 + 8192], [%1, {{%37, %38}}], [%30], %39
          %40: u32 = add %25, %11
          %41: u32 = const 3
          %42: u32 = and %40, %41
          set ${stage}, %42
          %43: bool = eq %42, %10
          %45: u32 = const 1
          %44: u32 = select %43, %45, %10
          %46: u32 = xor %26, %44
          set ${phase}, %46
        }}
      }}
    }}
  }} else {{
    ptx.setmaxnreg.inc.sync.aligned.u32 232
    set ${phase}, %10
    for %47: u32 in %10, %3, %11 {{
      %48: u32 = get ${stage}
      %49: u32 = get ${phase}
      %50: u32 = const 3
      %51: u32 = shl %48, %50
      %52: u32 = add %5, %51
      %53: u32 = add %6, %51
      loop {{
        %54: bool = ptx.mbarrier.try_wait.parity.shared::cta.b64 %54, [%52], %49
        break_if %54
      }}
      %55: u64 = const 4611686293305360384
      %56: u32 = const 4
      %57: u32 = shr %4, %56
      %58: u64 = convert %57
      %59: u64 = or %58, %55
      %60: bool = gt %47, %10
      ptx.wgmma.fence.sync.aligned
      ptx.wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{}}}, %59, %59, %60, 1, 1, 0, 0
      ptx.wgmma.commit_group.sync.aligned
      ptx.wgmma.wait_group.sync.aligned 0
      %61: u32 = const 127
      %62: u32 = and %7, %61
      %63: bool = eq %62, %10
      %64: u32 = ptx.mapa.shared::cluster.u32 %64, %53, %10
      ptx.mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%64] if %63
      %65: u32 = add %48, %11
      %66: u32 = and %65, %50
      set ${stage}, %66
      set ${phase}, %49
    }}
    %67: u32 = const 256
    %68: u64 = mul_wide %7, %67
    %69: u64 = add %2, %68
    ptx.st.global.v4.f32 [%69], {{$0, $1, $2, $3}}
    %70: f32 = get $63
    store.global [%69 + 16], %70
    ptx.bar.sync 1, 256
  }}
  ptx.barrier.cluster.arrive.release.aligned
  ptx.barrier.cluster.wait.acquire.aligned
}}
",
        accumulators.join(", ")
    )
    .unwrap();
    text
}

#[test]
fn a_gemm_in_instructions() {
    let mut kernel = parse(&text()).unwrap();
    assert_eq!(verify(&kernel), Ok(()));
    assert_eq!(kernel.dynamic_shared(), 98304 + 64);
    let assembler = Assembler::find();
    let options = LowerOptions::new(Target::SM_90A);
    assembler.check(&lower(&kernel, &options).unwrap(), "as written");
    optimize(&mut kernel);
    assert_eq!(verify(&kernel), Ok(()));
    let module = lower(&kernel, &options).unwrap();
    assembler.check(&module, "optimised");
    let text = module.to_string();
    // Nothing touches an accumulator between the products.
    let copies = text.lines().filter(|l| l.contains("mov.f32")).count();
    assert!(copies <= 1, "{text}");
    let error = lower(&kernel, &LowerOptions::new(Target::SM_100A)).unwrap_err();
    assert!(
        matches!(&error, LowerError::Unsupported { what, needs: Target::SM_90A, .. } if what.contains("wgmma")),
        "{error}"
    );
}

#[test]
fn built_without_text() {
    let mut kernel = Kernel { name: "k".into(), params: vec![Param::number("n", Type::U32)], ..Kernel::default() };
    let (n, ones) = (kernel.value(Type::U32), kernel.value(Type::U32));
    let inst =
        |op, args: &[_], results: SmallVec<[_; 1]>| Inst { op, args: args.into(), results, location: LocationId::NONE };
    let popc = Machine::new("popc.b32").unwrap().with(Slot::Result(0)).with(Slot::Arg(0));
    let sleep = Machine::new("nanosleep.u32").unwrap().with(Slot::Arg(0));
    kernel.body = vec![
        inst(Op::Param(0), &[], smallvec![n]),
        inst(Op::Machine(Box::new(popc)), &[n], smallvec![ones]),
        inst(Op::Machine(Box::new(sleep)), &[ones], smallvec![]),
    ];
    assert_eq!(verify(&kernel), Ok(()));
    assert!(kernel.to_string().contains("  %1: u32 = ptx.popc.b32 %1, %0\n  ptx.nanosleep.u32 %1\n"), "{kernel}");
    let error = Machine::new("popc.b33").unwrap_err();
    assert_eq!(error.to_string(), "`b33` of `popc.b33` is no word of PTX");
}
