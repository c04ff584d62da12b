//! How fast matrix products of a warpgroup run: a whole GEMM, in GFLOP/s of one core, unchecked and checked.
//!
//! `cargo run --release -p warpsmith-emulator --example gemm`

#![allow(clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use support::gemm::{self, Gemm};
use warpsmith_emulator::{Checks, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = support::program(&gemm::ptx(), "gemm");
    let (m, n, k) = (512, 512, 2048);
    let mut g = Gemm::new(m, n, k);
    for (name, checks) in [("unchecked", Checks::NONE), ("checked", Checks::ALL)] {
        let options = Options { checks, threads: 1, ..Options::default() };
        let mut best = f64::MAX;
        for _ in 0..5 {
            let start = seconds();
            g.system.launch(&program, &g.launch, None, &options)?;
            best = best.min(seconds() - start);
        }
        println!("{m} x {n} x {k}, {name}: {:.1} GFLOP/s", 2e-9 * (m * n * k) as f64 / best);
    }
    Ok(())
}

/// Seconds that this thread has run, so that other work on the machine does not count.
fn seconds() -> f64 {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(0.0, |d| d.as_secs_f64()), |n| n as f64 * 1e-9)
}
