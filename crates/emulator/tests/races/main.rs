//! Litmus tests: what orders two accesses, and what does not.

mod between_blocks;
mod copies;
#[path = "../support/mod.rs"]
mod support;
mod within_a_block;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, program, run_with, system};
use warpsmith_emulator::{Finding, FindingKind, Launch, Options, Outcome, Storage};

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
