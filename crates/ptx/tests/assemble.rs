//! The table against the assembler: every alternative of every row, for the version and target that the row names.
//!
//! Skipped, aloud, where there is no `ptxas` (`WARPSMITH_PTXAS`, or on the path).

#![allow(clippy::print_stdout, reason = "tests say what they covered")]

mod common;

use common::Breadth;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpsmith_ptx::{Module, parse};
use warpsmith_types::{PtxVersion, Target};

fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("WARPSMITH_PTXAS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| std::env::split_paths(&path).map(|p| p.join("ptxas")).find(|p| p.is_file()))
}

/// What the assembler says against a module, with the lines it speaks of.
fn complaints(ptxas: &PathBuf, module: &Module) -> Vec<String> {
    let text = module.to_string();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("warpsmith-{}-{run}.ptx", std::process::id()));
    std::fs::write(&file, &text).unwrap();
    let output = Command::new(ptxas)
        .args(["--compile-only", "-O0", "-arch", &module.target.to_string(), "-o", "/dev/null"])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut complaints: Vec<String> = vec![];
    for line in said.lines().filter(|l| l.contains("error") || l.contains("fatal")) {
        let number = line.split("line ").nth(1).and_then(|l| l.split(';').next()).and_then(|n| n.parse::<usize>().ok());
        let source = number.and_then(|n| text.lines().nth(n - 1)).unwrap_or("").trim();
        let what = line.split_once("; ").map_or(line, |(_, what)| what);
        complaints.push(format!("{} {}: {source}   {what}", module.target, module.version));
    }
    if complaints.is_empty() && !output.status.success() {
        complaints.push(format!("{} {}: {} {said}", module.target, module.version, output.status));
    }
    complaints
}

#[track_caller]
fn assemble(modules: &[Module]) {
    let Some(ptxas) = ptxas() else {
        println!("skipped 1 test: no ptxas");
        return;
    };
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || std::iter::from_fn(|| modules.get(next.fetch_add(1, Ordering::Relaxed)));
    let all: Vec<String> = std::thread::scope(|scope| {
        let run = || scope.spawn(|| work().flat_map(|m| complaints(&ptxas, m)).collect::<Vec<_>>());
        let runs: Vec<_> = (0..cores).map(|_| run()).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    assert!(all.is_empty(), "{} complaints in {} modules:\n{}", all.len(), modules.len(), all.join("\n"));
}

#[test]
fn every_row_assembles() {
    assemble(&common::modules(Breadth::Alternatives));
}

#[test]
#[ignore = "takes a minute"]
fn every_pair_of_modifiers_assembles() {
    assemble(&common::modules(Breadth::Pairs));
}

#[test]
fn a_bit_of_everything_assembles() {
    assemble(&[parse(include_str!("data/everything.ptx")).unwrap()]);
}

#[test]
fn what_another_compiler_made_assembles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/nvcc");
    let files = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let texts =
        files.filter(|f| f.extension().is_some_and(|e| e == "ptx")).map(|f| std::fs::read_to_string(f).unwrap());
    assemble(&texts.map(|t| parse(&t).unwrap()).collect::<Vec<_>>());
}

/// Instructions that the assembler takes in an older version, or for an older target, than the table says.
#[test]
#[ignore = "a survey for authors of rows"]
fn floors_are_tight() {
    let Some(ptxas) = ptxas() else { return };
    let minors = |major, minors: std::ops::RangeInclusive<u8>| minors.map(move |minor| PtxVersion::new(major, minor));
    let versions: Vec<_> = minors(7, 0..=8).chain(minors(8, 0..=8)).collect();
    let older = [(86, 80), (89, 86), (90, 89), (100, 90)];
    for module in common::modules(Breadth::Alternatives) {
        let floor = module.target.version_floor();
        let mut below = vec![];
        if let Some(version) = versions.iter().rev().find(|v| **v < module.version && **v >= floor) {
            below.push(Module { version: *version, ..module.clone() });
        }
        if let Some((_, number)) = older.iter().find(|(n, _)| *n == module.target.number && !module.target.specific) {
            below.push(Module { target: Target { number: *number, specific: false }, ..module.clone() });
        }
        for older in below {
            let text = older.to_string();
            let complaints = complaints(&ptxas, &older).join("\n");
            let instructions = text.lines().filter(|l| l.ends_with(';') && l.starts_with('\t') && !l.contains("\t."));
            for line in instructions.filter(|l| !complaints.contains(l.trim())) {
                let (had, has) = ((module.target, module.version), (older.target, older.version));
                println!("{} {}, also in {} {}: {}", had.0, had.1, has.0, has.1, line.trim());
            }
        }
    }
}
