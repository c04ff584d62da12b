//! Passes on loops keep what a kernel does: starts, ends and steps of all kinds, wrapping ones included.

mod support;

use support::machine::run;
use warpsmith_ir::text::parse;
use warpsmith_ir::{Kernel, Pass, optimize, verify};

/// Addresses that grow with an index in every way that is known, and some that do not.
const KERNEL: &str = "
kernel loops(p: u64, from: u32, to: u32, step: u32, stride: u32, wide: u64) {
  register $0: u32
  %0: u64 = param p
  %1: u32 = param from
  %2: u32 = param to
  %3: u32 = param step
  %4: u32 = param stride
  %5: u64 = param wide
  %6: u32 = const 12
  %7: u32 = const 2
  %8: u32 = const 0
  set $0, %8
  for %9: u32 in %1, %2, %3 {
    %10: u32 = get $0
    %11: u32 = const 1
    %12: u32 = add %10, %11
    set $0, %12
    %13: u64 = mul_wide %9, %6
    %14: u64 = add %0, %13
    store.global [%14], %12
    %15: u64 = mul_wide %4, %9
    %16: u64 = sub %15, %0
    store.global [%16], %12
    %17: u64 = convert %9
    %18: u64 = mul %17, %5
    %19: u64 = add %18, %0
    store.global [%19], %9
    %20: u64 = shl %17, %7
    %21: u64 = add %17, %20
    %22: u64 = sub %0, %21
    store.global [%22], %9
    %23: u32 = mul %9, %4
    %24: u32 = add %23, %9
    %25: u32 = sub %24, %6
    %26: u32 = shl %25, %7
    store.shared [%26], %12
    %27: u32 = add %9, %4
    %28: u64 = mul_wide %27, %6
    %29: u64 = add %28, %0
    store.global [%29], %12
    %30: bool = gt %12, %6
    break_if %30
    for %31: u32 in %8, %7, %11 {
      %32: u64 = mul_wide %31, %7
      %33: u64 = add %32, %14
      store.global [%33 + 4], %31
    }
  }
}
";

fn check(pass: impl Fn(&mut Kernel)) {
    let before = parse(KERNEL).unwrap();
    assert_eq!(verify(&before), Ok(()));
    let mut after = before.clone();
    pass(&mut after);
    assert_eq!(verify(&after), Ok(()), "{after}");
    assert_ne!(after, before);
    let trips: [(u32, u32, u32); 6] =
        [(0, 5, 1), (3, 100, 7), (5, 5, 1), (9, 2, 3), (u32::MAX - 9, u32::MAX - 2, 3), (1 << 31, u32::MAX, 1 << 28)];
    for (from, to, step) in trips {
        for stride in [0u32, 4, 1 << 20, u32::MAX] {
            let params = [1 << 40, from.into(), to.into(), step.into(), stride.into(), u64::from(stride) << 31];
            assert_eq!(run(&after, &params), run(&before, &params), "{from} {to} {step} {stride}\n{after}");
        }
    }
}

#[test]
fn hoisted() {
    check(|kernel| Pass::Hoist.run(kernel));
}

#[test]
fn reduced() {
    check(|kernel| Pass::Strength.run(kernel));
}

#[test]
fn all_together() {
    check(optimize);
}
