//! Protocols between devices, streams and the host that went wrong somewhere, a file each in `faulty/`, with twins that
//! differ in one line and are right.
//!
//! The first line of a file names the mechanism and where it was seen, the second the finding: its class and who takes
//! part, under the first schedule that shows it; "some schedules" is for faults that a lucky order hides. Lines
//! `// says: …` are part of the report. The rest of the head is the [`script`]. In the code, `// here` marks the
//! instruction that is reported, `// other` that of the other access of a race, `// waits` one at which somebody waits in
//! a deadlock, and `// fix: …` says what stands in its line in the twin. `// idle` is for [`mutants`].

mod mutants;
mod script;
#[path = "../support/mod.rs"]
mod support;

use script::Script;
use std::path::Path;
use warpsmith_emulator::{Finding, Options, Outcome, Schedule};

/// A file.
struct Case {
    name: String,
    text: String,
    /// The finding's class.
    kind: String,
    /// Who takes part, in words.
    who: String,
    /// Whether some schedules hide the fault.
    hides: bool,
    /// Parts of the report.
    says: Vec<String>,
}

impl Case {
    fn read(path: &Path) -> Case {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let second = text.lines().nth(1).unwrap_or_default().trim_start_matches("// ");
        let (kind, who) = second.split_once("; ").unwrap_or_else(|| panic!("{name}: {second}"));
        let says = text.lines().filter_map(|line| line.strip_prefix("// says: ")).map(str::to_string).collect();
        let hides = kind.ends_with(", some schedules");
        let kind = kind.trim_end_matches(", some schedules").to_string();
        Case { kind, who: who.into(), hides, says, name, text }
    }

    /// Lines of code whose comment has a word.
    fn marked(&self, word: &str) -> Vec<u32> {
        let has = |line: &str| {
            line.split_once("// ").is_some_and(|(code, comment)| {
                !code.is_empty() && comment.split("fix:").next().unwrap_or_default().contains(word)
            })
        };
        self.text.lines().zip(1..).filter(|(line, _)| has(line)).map(|(_, n)| n).collect()
    }

    fn fixed(&self) -> String {
        let fix = |line: &str| line.split_once("fix: ").map_or(line.to_string(), |(_, new)| new.to_string());
        self.text.lines().map(|line| fix(&format!("{line} "))).collect::<Vec<_>>().join("\n")
    }

    /// Whether two findings are on the same devices, or, where both do the same, on these the other way round.
    fn is_like(&self, a: &str, b: &str) -> bool {
        let swapped = a.replace("device 0", "device -").replace("device 1", "device 0").replace("device -", "device 1");
        places(a) == places(b) || self.text.contains("// each device: ") && places(&swapped) == places(b)
    }

    /// Who takes part in the expected finding, if it is there, at the marked lines, with what it says.
    fn finds(&self, outcome: &Outcome) -> Option<String> {
        let (here, other) = (self.marked("here"), self.marked("other"));
        let fits = |at: u32, lines: &[u32]| at == 0 || lines.contains(&at);
        outcome.findings.iter().filter(|f| format!("{:?}", f.kind) == self.kind).find_map(|f| {
            let text = f.diagnostic().render();
            let waits = self.marked("waits").iter().all(|n| text.contains(&format!("(line {n} of the PTX)")));
            if !waits || !self.says.iter().all(|part| text.contains(part)) {
                return None;
            }
            // Who comes later depends on the schedule.
            let lines = match &f.other {
                None => fits(f.ptx_line, &here),
                Some(o) => {
                    let (a, b) = (f.ptx_line, o.ptx_line);
                    a + b > 0 && (fits(a, &here) && fits(b, &other) || fits(b, &here) && fits(a, &other))
                }
            };
            lines.then(|| in_words(f))
        })
    }
}

/// Who takes part in a finding: "thread 3 of block 0 of launch 1 of stream 0 of device 0 and …".
fn in_words(f: &Finding) -> String {
    let agent = f.agent.clone().unwrap_or_default();
    let of = |line: u32, thread: [u32; 3], block: [u32; 3], agent: &str| match line {
        0 => agent.to_string(),
        _ => format!("thread {} of block {} of {agent}", thread[0], block[0]),
    };
    let mut text = of(f.ptx_line, f.thread, f.block, &agent);
    if let Some(o) = &f.other {
        let other = o.agent.as_deref().map_or(agent.as_str(), |a| a.split_once("`, ").map_or(a, |(_, a)| a));
        text += &match o.thread {
            None if o.ptx_line > 0 => format!(" and a copy to block {} of {other}", o.block[0]),
            thread => format!(" and {}", of(o.ptx_line, thread.unwrap_or_default(), o.block, other)),
        };
    }
    text
}

/// The devices and threads of the host that take part, in order.
fn places(who: &str) -> Vec<String> {
    let place = |part: &str| match part.split_once("device ") {
        Some((_, number)) => format!("device {}", number.chars().take_while(char::is_ascii_digit).collect::<String>()),
        None => part.split(" (").next().unwrap_or_default().to_string(),
    };
    let mut places: Vec<String> = who.split(" and ").map(place).collect();
    places.sort();
    places
}

fn render(outcome: &Outcome) -> String {
    let found = outcome.findings.iter().map(|f| format!("[{}]\n{}", in_words(f), f.diagnostic().render()));
    found.collect::<Vec<_>>().join("\n")
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocols/faulty");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

/// All kinds of schedules with three seeds each, and lanes apart.
fn schedules() -> Vec<Options> {
    use Schedule::*;
    let kinds = [Seeded, RoundRobin, SlowWarp, SlowBlock, SlowDevice, FastDevice, Adversarial];
    let common = Options { budget: Some(10_000_000), threads: 1, ..Options::default() };
    let mut all: Vec<Options> =
        kinds.into_iter().flat_map(|schedule| (0..3).map(move |seed| Options { schedule, seed, ..common })).collect();
    all.extend([0, 1].map(|seed| Options { lanes_apart: true, seed, ..common }));
    all
}

fn in_short(options: &Options) -> String {
    format!("{:?}, seed {}{}", options.schedule, options.seed, if options.lanes_apart { ", lanes apart" } else { "" })
}

#[test]
fn every_fault_is_found() {
    let mut wrong = vec![];
    let cases = cases();
    for case in &cases {
        let script = Script::read(&case.name, &case.text);
        let runs: Vec<(Options, Outcome)> = schedules().into_iter().map(|o| (o, script.run(&o))).collect();
        let found: Vec<Option<String>> = runs.iter().map(|(_, outcome)| case.finds(outcome)).collect();
        let Some(first) = found.iter().flatten().next() else {
            let shown: Vec<String> = runs.iter().map(|(_, outcome)| render(outcome)).collect();
            wrong.push(format!("{} lacks {}:\n{}", case.name, case.kind, shown.iter().max().unwrap()));
            continue;
        };
        if *first != case.who {
            wrong.push(format!("{}: {first}, not {}", case.name, case.who));
        }
        for ((options, outcome), who) in runs.iter().zip(&found) {
            match who {
                Some(who) if !case.is_like(who, first) => {
                    wrong.push(format!("{} with {}: {who}", case.name, in_short(options)));
                }
                Some(_) => {}
                None if case.hides => {}
                None => {
                    let text = render(outcome);
                    wrong.push(format!("{} with {} lacks {}:\n{text}", case.name, in_short(options), case.kind));
                }
            }
        }
        if case.hides && found.iter().all(Option::is_some) {
            wrong.push(format!("{}: no schedule hides it", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= 80, "{}", cases.len());
}

#[test]
fn every_twin_is_clean() {
    let mut wrong = vec![];
    for case in &cases() {
        let fixed = case.fixed();
        let differ = fixed.lines().zip(case.text.lines()).filter(|(a, b)| a.trim() != b.trim());
        assert_eq!(differ.count(), 1, "{}", case.name);
        let script = Script::read(&case.name, &fixed);
        for options in schedules() {
            let outcome = script.run(&options);
            if !outcome.is_clean() || outcome.stopped {
                wrong.push(format!("the twin of {} with {}:\n{}", case.name, in_short(&options), render(&outcome)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
