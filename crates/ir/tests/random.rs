//! Random kernels: every pass keeps every bit that they store.
//!
//! Contraction is the exception, by design; so the kernel is contracted first, and what comes of it is compared.

mod support;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::time::{Duration, Instant};
use support::assemble::Assembler;
use support::generate::{BYTES, STORED, TYPES, random_kernel};
use support::machine;
use warpsmith_emulator::{Launch, Options, Program, System};
use warpsmith_ir::text::parse;
use warpsmith_ir::{Kernel, LowerError, LowerOptions, Pass, lower, optimize, verify};
use warpsmith_types::{Chip, Target};

/// Kernels that each test tries: more by `WARPSMITH_CASES`.
fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("WARPSMITH_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What a kernel leaves in memory on the emulator, lowered for a target; `None` where the target has not all of it.
fn emulated(kernel: &Kernel, target: Target, numbers: &[u64]) -> Option<Vec<u8>> {
    let module = match lower(kernel, &LowerOptions::new(target)) {
        Ok(module) => module,
        Err(LowerError::Unsupported { needs, .. }) if !target.has(needs) => return None,
        Err(e) => panic!("{e}\n{kernel}"),
    };
    let program = Program::decode(&module, "random").unwrap_or_else(|e| panic!("{e}\n{module}"));
    let mut system = System::new(Chip::H200);
    let pattern: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 16) as u8).collect();
    let [out, input] = ["out", "in"].map(|name| system.allocate(BYTES, name).unwrap());
    let mut launch = Launch::new(1, 1);
    for pointer in [out, input] {
        system.write(pointer, &pattern).unwrap();
        launch.push(&pointer.0.to_le_bytes());
    }
    for (ty, bits) in TYPES.iter().zip(numbers) {
        launch.push(&bits.to_le_bytes()[..ty.bytes() as usize]);
    }
    let outcome = system.launch(&program, &launch, None, &Options::default()).unwrap();
    assert!(outcome.is_clean(), "{outcome:?}\n{module}");
    let mut bytes = vec![0; BYTES];
    system.read(out, &mut bytes).unwrap();
    Some(bytes)
}

/// A number for each parameter that is one.
fn numbers(x: u64) -> Vec<u64> {
    let bits = |(i, ty): (u32, _)| x.rotate_left(7 * i) & warpsmith_ir::Type::mask(ty);
    (0..).zip(TYPES.into_iter().take(STORED)).map(bits).collect()
}

fn choices() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 20..1200)
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn passes_keep_every_bit(choices in choices(), x in any::<u64>()) {
        let mut kernel = random_kernel(choices);
        prop_assert!(verify(&kernel).is_ok(), "{}\n{kernel}", verify(&kernel).unwrap_err());
        Pass::Dead.run(&mut kernel);
        Pass::Contract.run(&mut kernel);
        // So that contracting again finds nothing.
        Pass::Dead.run(&mut kernel);
        let params: Vec<u64> = [0x10_0000, 0x20_0000].into_iter().chain(numbers(x)).collect();
        let expected = machine::run(&kernel, &params);
        let check = |name: &str, after: Kernel| {
            prop_assert!(verify(&after).is_ok(), "{name}: {}\n{kernel}\n{after}", verify(&after).unwrap_err());
            prop_assert!(machine::run(&after, &params) == expected, "{name}\n{kernel}\n{after}");
            Ok(())
        };
        for pass in Pass::ALL {
            let mut after = kernel.clone();
            pass.run(&mut after);
            check(pass.name(), after)?;
        }
        let mut after = kernel.clone();
        optimize(&mut after);
        check("optimize", after)?;
    }

    #[test]
    fn text_round_trips(choices in choices()) {
        let kernel = random_kernel(choices);
        prop_assert_eq!(parse(&kernel.to_string()).unwrap(), kernel);
    }

    #[test]
    fn no_text_panics(text in "(kernel|[%$@;{}\\[\\](),:=+-]|[a-z_.]{1,8}|[0-9]{1,12}|\"|\n| ){0,60}") {
        let _ = parse(&text);
    }
}

/// Optimised and raw, a kernel leaves the same bits on the emulator.
fn the_same_bits(choices: Vec<u32>, x: u64) -> Result<(), TestCaseError> {
    let mut kernel = random_kernel(choices);
    Pass::Dead.run(&mut kernel);
    Pass::Contract.run(&mut kernel);
    Pass::Dead.run(&mut kernel);
    let numbers = numbers(x);
    let mut after = kernel.clone();
    optimize(&mut after);
    let expected = emulated(&kernel, Target::SM_90A, &numbers);
    prop_assert!(expected.is_some());
    prop_assert!(emulated(&after, Target::SM_90A, &numbers) == expected, "{kernel}\n{after}");
    // What Ampere lacks, it computes by other instructions.
    if let Some(ampere) = emulated(&after, Target::SM_80, &numbers) {
        prop_assert!(Some(ampere) == expected, "sm_80\n{kernel}\n{after}");
    }
    Ok(())
}

/// A few hundred kernels; where `CI` is `true`, fresh ones for a minute more.
#[test]
fn the_emulator_sees_no_difference() {
    let begun = Instant::now();
    loop {
        let kernels = (choices(), any::<u64>());
        TestRunner::new(cases(400)).run(&kernels, |(choices, x)| the_same_bits(choices, x)).unwrap();
        if std::env::var_os("CI").is_none_or(|ci| ci != "true") || begun.elapsed() > Duration::from_secs(60) {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ptx_assembles(choices in choices()) {
        let assembler = Assembler::find();
        let before = random_kernel(choices);
        let mut after = before.clone();
        optimize(&mut after);
        for (name, kernel) in [("before", before), ("after", after)] {
            let module = lower(&kernel, &LowerOptions::new(Target::SM_90A));
            assembler.check(&module.unwrap(), name);
        }
    }
}
