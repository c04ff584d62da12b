//! How fast the emulator is: million warp instructions a second, unchecked and with all checks, on one core and on two;
//! of matrix products also GFLOP/s. Of every number the best repetition stands first, the median in brackets.
//!
//! `cargo run --release -p warpsmith-emulator --example speed [-- part of a name]`
//!
//! One core is timed by what its thread has run, so that other work on the machine does not count; two cores by the
//! clock on the wall, so that only a quiet machine shows how they scale.

#![allow(clippy::print_stdout)]

#[path = "../../tests/support/mod.rs"]
mod support;

mod kernels;
mod products;

use std::time::{Duration, Instant};
use warpsmith_emulator::{Checks, DevicePointer, Launch, Options, Program, System};

/// A kernel with its data.
struct Workload {
    name: &'static str,
    program: Program,
    system: System,
    launch: Launch,
    /// Floating-point operations of a launch; 0 where they are not what it is about.
    flops: f64,
    /// What the results must be, and where.
    expected: Option<(DevicePointer, Vec<u8>)>,
}

/// Time and repetitions that a number gets.
const TIME: Duration = Duration::from_millis(400);
const REPETITIONS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("{:34} {:^33} {:^33}", "million warp instructions/s", "one core", "two cores");
    println!("{:34} {:>16} {:>16} {:>16} {:>16}", "", "unchecked", "checked", "unchecked", "checked");
    let makers = [
        kernels::fma,
        kernels::integer,
        kernels::rms_norm,
        kernels::softmax,
        products::shared_memory,
        products::fragments,
        products::warpgroup,
    ];
    for make in makers {
        let mut workload = make();
        if !workload.name.contains(&wanted) {
            continue;
        }
        let mut measured = vec![];
        for threads in [1, 2] {
            for checks in [Checks::NONE, Checks::ALL] {
                measured.push(measure(&mut workload, Options { checks, threads, ..Options::default() })?);
            }
        }
        let row = |name: &str, amount: &dyn Fn(&Measured) -> f64| {
            let cells = measured.iter().map(|m| {
                let cell = format!("{:.1} ({:.1})", amount(m) / m.best, amount(m) / m.median);
                format!(" {cell:>16}")
            });
            println!("{name:34}{}", cells.collect::<String>());
        };
        row(workload.name, &|m| m.instructions * 1e-6);
        if workload.flops > 0.0 {
            row("  GFLOP/s", &|_| workload.flops * 1e-9);
        }
    }
    Ok(())
}

/// Instructions of a launch, and the seconds that it took.
struct Measured {
    instructions: f64,
    best: f64,
    median: f64,
}

fn measure(w: &mut Workload, options: Options) -> Result<Measured, Box<dyn std::error::Error>> {
    let (start, mut times, mut instructions) = (Instant::now(), vec![], 0.0);
    while times.len() < REPETITIONS || start.elapsed() < TIME {
        let (wall, own) = (Instant::now(), seconds());
        let outcome = w.system.launch(&w.program, &w.launch, None, &options)?;
        let own = seconds().zip(own).map(|(end, start)| end - start);
        times.push(own.filter(|_| options.threads == 1).unwrap_or(wall.elapsed().as_secs_f64()));
        instructions = outcome.instructions as f64;
        if let Some(finding) = outcome.findings.first() {
            return Err(finding.diagnostic().render().into());
        }
    }
    if let Some((at, expected)) = &w.expected {
        let mut bytes = vec![0; expected.len()];
        w.system.read(*at, &mut bytes)?;
        if bytes != *expected {
            return Err(format!("{}: a wrong result", w.name).into());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(Measured { instructions, best: times[0], median: times[times.len() / 2] })
}

/// Seconds that this thread has run, where the system tells.
fn seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 * 1e-9)
}
