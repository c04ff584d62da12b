//! The emulator against a card: every instruction on seeded operands, compared with answers that an H200 gave.
//!
//! The answers lie in `data`, a file for each group; `crates/runtime/tests/instruction_suite.rs` asks a card for them.

#![allow(clippy::print_stdout, reason = "tests say what they covered")]

mod cases;
mod compare;

use cases::{Batch, Case, SETS, answers};
use compare::difference;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use warpsmith_emulator::{Launch, Options, Program, System};
use warpsmith_types::Chip;

/// What the emulator answers.
fn emulate(batch: &Batch<'_>) -> Vec<Vec<u8>> {
    let text = batch.ptx();
    let module = warpsmith_ptx::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::decode(&module, "suite").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut system = System::new(Chip::H200);
    let input = batch.input();
    let pointer = system.allocate(input.len(), "in").unwrap();
    system.write(pointer, &input).unwrap();
    let mut out = vec![0; batch.output_bytes()];
    let results = system.allocate(out.len(), "out").unwrap();
    system.write(results, &out).unwrap();
    let scratch = system.allocate(SETS * cases::SCRATCH, "scratch").unwrap();
    let mut launch = Launch::new((SETS / cases::BLOCK) as u32, cases::BLOCK as u32);
    for pointer in [pointer, results, scratch] {
        launch.push(&pointer.0.to_le_bytes());
    }
    let outcome = system.launch(&program, &launch, None, &Options::default()).unwrap();
    let findings: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
    assert!(outcome.is_clean() && !outcome.stopped, "{}", findings.join("\n"));
    system.read(results, &mut out).unwrap();
    batch.answers(&out)
}

/// Instructions on which emulator and card are known to differ, by the start of their text. The list may only get
/// shorter.
const KNOWN: &[&str] = &[];

fn known(case: &Case) -> Option<&'static &'static str> {
    KNOWN.iter().find(|start| case.name.starts_with(**start))
}

fn stored(group: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/suite/data/{group}.answers"));
    let file = std::fs::read(&path).ok()?;
    Some(answers::read(&file, SETS).unwrap_or_else(|| panic!("{} does not read", path.display())))
}

#[test]
fn the_emulator_answers_like_the_card() {
    let all = cases::all();
    let mut wrong = vec![];
    let mut used: Vec<&str> = vec![];
    for group in all.chunk_by(|a, b| a.group == b.group) {
        let name = group[0].group;
        let Some(answers) = stored(name) else {
            println!("{name}: skipped, no answers stored for {} instructions", group.len());
            continue;
        };
        let (mut same, mut differ) = (0, 0);
        for batch in cases::batches(group) {
            for (case, mine) in batch.cases.iter().zip(emulate(&batch)) {
                let Some(card) = answers.get(&case.name) else {
                    wrong.push(format!("{}: no answer", case.name));
                    continue;
                };
                match (difference(case, &mine, card), known(case)) {
                    (None, _) => same += 1,
                    (Some(_), Some(start)) => {
                        used.push(start);
                        differ += 1;
                    }
                    (Some(text), None) => wrong.push(text),
                }
            }
        }
        let asked: HashSet<&str> = group.iter().map(|case| case.name.as_str()).collect();
        wrong.extend(
            answers.keys().filter(|n| !asked.contains(n.as_str())).map(|n| format!("{n}: an answer to no case")),
        );
        println!("{name}: {same} of {} instructions alike, {differ} known to differ", group.len());
    }
    if used.is_empty() && all.iter().all(|c| stored(c.group).is_none()) {
        return;
    }
    let stale: Vec<_> = KNOWN.iter().filter(|start| !used.contains(start)).collect();
    assert!(stale.is_empty(), "these agree now; take them off the list: {stale:#?}");
    assert!(wrong.is_empty(), "{} instructions differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_case_runs() {
    let all = cases::all();
    for group in all.chunk_by(|a, b| a.group == b.group) {
        for batch in cases::batches(group) {
            let answers = emulate(&batch);
            assert!(batch.cases.iter().zip(&answers).all(|(case, a)| a.len() == case.answer_bytes()));
        }
        let bytes: usize = group.iter().map(Case::answer_bytes).sum();
        println!("{}: {} instructions, {bytes} bytes of answers", group[0].group, group.len());
    }
}

#[test]
fn every_kernel_assembles() {
    let Some(ptxas) = std::env::var_os("WARPSMITH_PTXAS") else {
        println!("skipped: WARPSMITH_PTXAS names no assembler");
        return;
    };
    let all = cases::all();
    let file = std::env::temp_dir().join(format!("warpsmith-suite-{}.ptx", std::process::id()));
    let mut said = vec![];
    for batch in cases::batches(&all) {
        let text = batch.ptx();
        std::fs::write(&file, &text).unwrap();
        let arguments = ["-O0", "-arch", "sm_90a", "-o", "/dev/null"];
        let output = std::process::Command::new(&ptxas).args(arguments).arg(&file).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        for line in errors.lines().filter(|l| l.contains("error") || l.contains("fatal")) {
            let number = line.split("line ").nth(1).and_then(|l| l.split(';').next()?.parse::<usize>().ok());
            let source = number.and_then(|n| text.lines().nth(n - 1)).unwrap_or("");
            said.push(format!("{source}   {line}"));
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(said.is_empty(), "{} complaints:\n{}", said.len(), said.join("\n"));
}

#[test]
fn answers_come_back_as_they_were_written() {
    let all: BTreeMap<String, Vec<u8>> = [
        ("none".into(), vec![]),
        ("short".into(), vec![1, 1, 2]),
        ("runs".into(), [vec![7; 131], vec![1, 2, 3], vec![0; 129], vec![9; 3]].concat()),
        ("literal".into(), (0..=255).cycle().take(300).collect()),
    ]
    .into();
    let file = answers::write(SETS, &all);
    assert_eq!(answers::read(&file, SETS), Some(all));
    assert_eq!(answers::read(&file, SETS + 1), None);
    assert_eq!(answers::read(&file[..file.len() - 1], SETS), None);
}
