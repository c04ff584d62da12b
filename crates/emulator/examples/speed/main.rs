//! How fast the emulator is: million warp instructions a second, unchecked and with all checks, on one core and on two;
//! of matrix products also GFLOP/s. Of every number the best repetition stands first, the median in brackets.
//!
//! `cargo run --release -p warpsmith-emulator --example speed [-- part of a name [unchecked | checked]]`
//!
//! Time is what the threads have run, so that other work on the machine does not count; on two cores, half of what all
//! of them have: it shows what sharing costs.

#![allow(clippy::print_stdout)]

#[path = "../../tests/support/mod.rs"]
mod support;

mod kernels;
mod products;

use std::time::{Duration, Instant};
use warpsmith_emulator::{Checks, DevicePointer, Launch, Options, Program, System};

/// A kernel with its data.
struct Workload {
    program: Program,
    system: System,
    launch: Launch,
    /// Floating-point operations of a launch; 0 where they are not what it is about.
    flops: f64,
    /// What the results must be, and where.
    expected: Option<(DevicePointer, Vec<u8>)>,
}

type Make = fn() -> Workload;

/// Repetitions that a number gets, and how long each is at least: the system counts a thread's time in steps.
const REPETITIONS: usize = 7;
const TIME: Duration = Duration::from_millis(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (wanted, only) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    println!("{:34} {:^33} {:^33}", "million warp instructions/s", "one core", "two cores");
    println!("{:34} {:>16} {:>16} {:>16} {:>16}", "", "unchecked", "checked", "unchecked", "checked");
    let makers: [(&str, Make); 7] = [
        ("ALU: 16 fma a turn", kernels::fma),
        ("ALU: 16 integer a turn", kernels::integer),
        ("RMSNorm 512 x 4096 bf16", kernels::rms_norm),
        ("softmax, lane-wise exponentials", kernels::softmax),
        ("GEMM 256^3 f32, shared memory", products::shared_memory),
        ("GEMM 256^3 bf16, mma.sync", products::fragments),
        ("GEMM 512 x 512 x 1024 bf16, wgmma", products::warpgroup),
    ];
    for (name, make) in makers.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let mut workload = make();
        let mut measured = vec![];
        for threads in [1, 2] {
            for (what, checks) in [("unchecked", Checks::NONE), ("checked", Checks::ALL)] {
                let skip = !only.is_empty() && only != what;
                let options = Options { checks, threads, ..Options::default() };
                measured.push(if skip { None } else { Some(measure(name, &mut workload, options)?) });
            }
        }
        let row = |name: &str, amount: &dyn Fn(&Measured) -> f64| {
            let cells = measured.iter().map(|m| {
                let cell = m.as_ref().map(|m| format!("{:.1} ({:.1})", amount(m) / m.best, amount(m) / m.median));
                format!(" {:>16}", cell.unwrap_or_default())
            });
            println!("{name:34}{}", cells.collect::<String>());
        };
        row(name, &|m| m.instructions * 1e-6);
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

fn measure(name: &str, w: &mut Workload, options: Options) -> Result<Measured, Box<dyn std::error::Error>> {
    let (mut times, mut instructions) = (vec![], 0.0);
    for _ in 0..REPETITIONS {
        let (wall, own, mut launches) = (Instant::now(), seconds(), 0.0);
        while launches == 0.0 || wall.elapsed() < TIME {
            let outcome = w.system.launch(&w.program, &w.launch, None, &options)?;
            launches += 1.0;
            instructions = outcome.instructions as f64;
            if let Some(finding) = outcome.findings.first() {
                return Err(finding.diagnostic().render().into());
            }
        }
        let own = seconds().zip(own).map(|(end, start)| (end - start) / options.threads as f64);
        times.push(own.unwrap_or(wall.elapsed().as_secs_f64()) / launches);
    }
    if let Some((at, expected)) = &w.expected {
        let mut bytes = vec![0; expected.len()];
        w.system.read(*at, &mut bytes)?;
        if bytes != *expected {
            return Err(format!("{name}: a wrong result").into());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(Measured { instructions, best: times[0], median: times[times.len() / 2] })
}

/// Seconds that the threads of this process have run, where the system tells.
fn seconds() -> Option<f64> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 * 1e-9)
}
