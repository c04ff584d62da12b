//! Litmus tests: what orders two accesses, and what does not.

mod all_reduce;
mod between_blocks;
mod copies;
mod dependents;
mod devices;
mod host;
mod multimem;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod within_a_block;

use std::sync::Arc;
use support::{Arg::*, Buffers, assert_clean, kernel, launch, program, run_with, system};
use warpsmith_emulator::{Device, Finding, FindingKind, Launch, Options, Outcome, Program, Schedule, Storage, System};
use warpsmith_types::Chip;

/// Runs a body on a zeroed buffer `x` of 4096 words; `%r1` is the thread, `%r2` the block, `%rd1` the buffer.
fn go(declarations: &str, body: &str, grid: u32, threads: u32, seed: u64) -> Outcome {
    clustered(declarations, body, (grid, 1), threads, seed)
}

fn clustered(declarations: &str, body: &str, (grid, cluster): (u32, u32), threads: u32, seed: u64) -> Outcome {
    let start = "ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n";
    let text = kernel(".param .u64 x", declarations, &format!("{start}{body}"));
    let mut s = system();
    let x = s.u32s("x", &[0; 4096]);
    let mut launch = launch([grid, 1, 1], [threads, 1, 1], &[P(x)]);
    launch.cluster = [cluster, 1, 1];
    let options = Options { seed, budget: Some(2_000_000), ..Options::default() };
    run_with(&mut s, &program(&text.replace(".version 8.0", ".version 8.6"), "k"), &launch, None, &options)
}

fn races(outcome: &Outcome) -> Vec<&Finding> {
    outcome.findings.iter().filter(|f| f.kind == FindingKind::Race).collect()
}

/// Nothing is found under a few schedules.
fn ordered(declarations: &str, body: &str, grid: u32, threads: u32) {
    for seed in 0..6 {
        assert_clean(&go(declarations, body, grid, threads, seed));
    }
}

/// A race is found, whatever the schedule, and its report says so.
fn racy(declarations: &str, body: &str, grid: u32, threads: u32, says: &str) {
    for seed in 0..6 {
        let outcome = go(declarations, body, grid, threads, seed);
        let found = races(&outcome);
        let texts: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
        assert!(!found.is_empty(), "seed {seed}: {texts:?}");
        assert!(found.iter().any(|f| f.detail.contains(says)), "seed {seed}: {}", texts.join("\n"));
    }
}

/// Shared memory of the kernels.
const TILE: &str = ".shared .align 16 .b8 tile[1024];";
/// The same, and a barrier.
const BAR: &str = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar;";

/// All kinds of schedules, each with a few seeds.
fn schedules() -> impl Iterator<Item = Options> {
    use Schedule::*;
    let kinds = [Seeded, RoundRobin, SlowWarp, SlowBlock, SlowDevice, FastDevice, Adversarial];
    kinds.into_iter().flat_map(|schedule| {
        (0..3).map(move |seed| Options { schedule, seed, budget: Some(2_000_000), ..Options::default() })
    })
}

/// Whatever the schedule, nothing is found.
fn always_clean(mut run: impl FnMut(&Options) -> Outcome) {
    for options in schedules() {
        let outcome = run(&options);
        let texts: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
        assert!(outcome.is_clean() && !outcome.stopped, "{options:?}: {}", texts.join("\n"));
    }
}

/// Whatever the schedule, such a finding is there and its report says so.
fn always(kind: FindingKind, says: &str, mut run: impl FnMut(&Options) -> Outcome) {
    for options in schedules() {
        let outcome = run(&options);
        let mut found = outcome.findings.iter().filter(|f| f.kind == kind);
        let texts: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
        assert!(found.any(|f| f.diagnostic().render().contains(says)), "{options:?}: {}", texts.join("\n"));
    }
}

/// Two devices that reach each other's memory.
fn two_devices() -> System {
    let mut system = System::linked([Chip::H200, Chip::H200]).unwrap();
    system.map_peers();
    system
}

/// Zeroed words of a device.
fn words(system: &mut System, device: u8, count: usize, name: &str) -> warpsmith_emulator::DevicePointer {
    let pointer = system.allocate_on(Device(device), 4 * count, name).unwrap();
    system.write(pointer, &vec![0; 4 * count]).unwrap();
    pointer
}

/// A kernel of one pointer in `%rd1` and one in `%rd2`; `%r1` is the thread, `%r2` the block.
fn of_two(body: &str) -> Arc<Program> {
    let start = "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n";
    let text = kernel(".param .u64 x, .param .u64 y", "", &format!("{start}{body}"));
    Arc::new(program(&text.replace(".version 8.0", ".version 8.6"), "k"))
}
