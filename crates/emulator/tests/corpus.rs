//! Small faulty kernels, a file each in `faulty/`, with twins that differ in one instruction and are right.
//!
//! The second line of a file says which finding is expected, at which launch, and by which threads when warps run in
//! order; "in order" is for faults that other schedules hide. `// here` marks the instruction that is reported, `// other` that of the other access of a race, and
//! `// fix: …` says what stands in its line in the twin.

mod support;

use std::path::Path;
use support::{Arg::*, Buffers, launch, program, run_with, system};
use warpsmith_emulator::{Options, Outcome, Schedule};

/// A file.
struct Case {
    name: String,
    text: String,
    /// The finding's class.
    kind: String,
    /// Blocks of the grid and of a cluster, threads of a block.
    launch: [u32; 3],
    /// The threads of the finding, in words.
    threads: String,
    /// Whether some schedules hide the fault.
    hides: bool,
}

impl Case {
    fn read(path: &Path) -> Case {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let second = text.lines().nth(1).unwrap_or_default();
        let parts: Vec<&str> = second.trim_start_matches("// ").split("; ").collect();
        let [kind, sizes, threads] = parts[..] else { panic!("{name}: {second}") };
        let numbers: Vec<u32> = sizes.split(' ').filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
        let launch = numbers.try_into().unwrap_or_else(|_| panic!("{name}: {sizes}"));
        Case { kind: kind.into(), launch, threads: threads.into(), hides: sizes.ends_with(", in order"), name, text }
    }

    /// Lines whose comment has a word.
    fn marked(&self, word: &str) -> Vec<u32> {
        let has = |line: &str| {
            line.split_once("// ").is_some_and(|(_, c)| c.split_once("fix:").map_or(c, |(c, _)| c).contains(word))
        };
        self.text.lines().zip(1..).skip(2).filter(|(line, _)| has(line)).map(|(_, n)| n).collect()
    }

    fn fixed(&self) -> String {
        let fix = |line: &str| line.split_once("fix: ").map_or(line.to_string(), |(_, new)| new.to_string());
        self.text.lines().map(fix).collect::<Vec<_>>().join("\n")
    }

    fn run(&self, text: &str, seed: u64) -> Outcome {
        self.run_with(text, Options { seed, ..Options::default() })
    }

    fn run_with(&self, text: &str, options: Options) -> Outcome {
        let mut s = system();
        let x = s.u32s("x", &[0; 4096]);
        let u = s.allocate(256, "u").unwrap();
        let [grid, cluster, threads] = self.launch;
        let mut launch = launch([grid, 1, 1], [threads, 1, 1], &[P(x), P(u)]);
        launch.cluster = [cluster, 1, 1];
        // On one thread, so that the same accesses come first each time.
        let options = Options { budget: Some(2_000_000), threads: 1, ..options };
        run_with(&mut s, &program(text, "k"), &launch, None, &options)
    }

    /// The reported threads of the expected finding, if it is there, at the marked lines.
    fn finds(&self, outcome: &Outcome) -> Option<String> {
        let (here, other) = (self.marked("here"), self.marked("other"));
        outcome.findings.iter().filter(|f| self.kind.split(" or ").any(|k| format!("{:?}", f.kind) == k)).find_map(
            |f| {
                let thread = |block: [u32; 3], thread: [u32; 3]| format!("{} of block {}", thread[0], block[0]);
                let mut text = format!("thread {}", thread(f.block, f.thread));
                match &f.other {
                    None if !here.contains(&f.ptx_line) => return None,
                    None => {}
                    Some(o) => {
                        let pair = |a, b| here.contains(a) && other.contains(b);
                        // Who comes later depends on the schedule.
                        if !pair(&f.ptx_line, &o.ptx_line) && !pair(&o.ptx_line, &f.ptx_line) {
                            return None;
                        }
                        text += &match o.thread {
                            Some(t) => format!(" and thread {}", thread(o.block, t)),
                            None => format!(" and a copy to block {}", o.block[0]),
                        };
                    }
                }
                Some(text)
            },
        )
    }
}

fn render(outcome: &Outcome) -> String {
    outcome.findings.iter().map(|f| f.diagnostic().render()).collect::<Vec<_>>().join("\n")
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faulty");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

#[test]
fn every_fault_is_found() {
    let mut wrong = vec![];
    let cases = cases();
    for case in &cases {
        for seed in 0..if case.hides { 1 } else { 4 } {
            let outcome = case.run(&case.text, seed);
            match case.finds(&outcome) {
                None => wrong.push(format!("{} (seed {seed}) lacks {}:\n{}", case.name, case.kind, render(&outcome))),
                Some(threads) if seed == 0 && threads != case.threads => {
                    wrong.push(format!("{}: {threads}, not {}", case.name, case.threads));
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= 80, "{}", cases.len());
}

#[test]
fn every_twin_is_clean() {
    let mut wrong = vec![];
    for case in &cases() {
        assert_ne!(case.fixed(), case.text, "{}", case.name);
        for seed in 0..4 {
            let outcome = case.run(&case.fixed(), seed);
            if !outcome.is_clean() || outcome.stopped {
                wrong.push(format!("{} (seed {seed}):\n{}", case.name, render(&outcome)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whoever is slow, and whether lanes run together or not: what is right stays right, and what is wrong is found.
#[test]
fn schedules_change_nothing() {
    let schedules = [
        Options { schedule: Schedule::RoundRobin, ..Options::default() },
        Options { schedule: Schedule::SlowWarp, ..Options::default() },
        Options { schedule: Schedule::SlowWarp, seed: 1, ..Options::default() },
        Options { schedule: Schedule::SlowBlock, ..Options::default() },
        Options { schedule: Schedule::SlowBlock, seed: 1, ..Options::default() },
        Options { lanes_apart: true, ..Options::default() },
        Options { lanes_apart: true, seed: 2, ..Options::default() },
    ];
    let mut wrong = vec![];
    for case in &cases() {
        for options in schedules {
            let fixed = case.run_with(&case.fixed(), options);
            if !fixed.is_clean() {
                wrong.push(format!("the twin of {} with {options:?}:\n{}", case.name, render(&fixed)));
            }
            let faulty = case.run_with(&case.text, options);
            if faulty.is_clean() && !case.hides {
                wrong.push(format!("{} with {options:?} is clean", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
