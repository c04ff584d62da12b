//! What `print` prints, and what `trap` does, on the emulator.

use warpsmith_emulator::{Launch, Options, Outcome, Program, System};
use warpsmith_ir::text::parse;
use warpsmith_ir::{LowerOptions, Verified};
use warpsmith_types::{Chip, Target};

/// Runs a kernel of one number, as one thread.
fn run(body: &str, x: u32, optimize: bool) -> Outcome {
    let text = format!("kernel k(x: u32) block 1, 1, 1 {{\n  %0: u32 = param x\n{body}\n}}");
    let mut kernel = Verified::new(parse(&text).unwrap()).unwrap();
    if optimize {
        kernel.optimize();
    }
    let module = kernel.lower(&LowerOptions::new(Target::SM_90A)).unwrap();
    let program = Program::decode(&module, "k").unwrap();
    let mut launch = Launch::new(1, 1);
    launch.push(&x.to_le_bytes());
    System::new(Chip::H200).launch(&program, &launch, None, &Options::default()).unwrap()
}

const VALUES: &str = r#"
  %1: i32 = bitcast %0
  %2: i8 = convert %1
  %3: u16 = convert %0
  %4: i64 = convert %1
  %5: f32 = convert %1
  %6: f16 = convert %5
  %7: bf16 = convert %5
  %8: f64 = convert %1
  %9: u32 = const 4294967293
  %10: bool = eq %0, %9
  %11: u64 = const 10
  print "%d %u %d %x\n" %1, %0, %2, %3
  print "%lld %llu %.1f|%6.2f|%g\n" %4, %11, %5, %6, %7
  print "%e %d 100%%\n" %8, %10
  print "done\n"
"#;

#[test]
fn values_of_every_type() {
    for optimize in [false, true] {
        let outcome = run(VALUES, 4_294_967_293, optimize);
        let expected = "-3 4294967293 -3 fffd\n-3 10 -3.0| -3.00|-3\n-3.000000e+00 1 100%\ndone\n";
        assert_eq!(outcome.printed, expected);
    }
}

#[test]
fn a_trap_ends_the_launch() {
    let body = "  %1: u32 = const 7\n  %2: bool = eq %0, %1\n  if %2 {\n    print \"bad %u\\n\" %0\n    trap\n  }\n  print \"good\\n\"";
    for optimize in [false, true] {
        let good = run(body, 1, optimize);
        assert!(good.is_clean(), "{good:?}");
        assert_eq!(good.printed, "good\n");
        let bad = run(body, 7, optimize);
        assert!(!bad.is_clean());
        assert_eq!(bad.printed, "bad 7\n");
    }
}
