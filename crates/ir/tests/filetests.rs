//! Runs the files under `tests/files`.
//!
//! A file begins with `; test PASS`, perhaps `; target sm_100a`, and holds kernels in the text form. After each kernel
//! stands what the pass makes of it, as comments: the kernel in text form after a pass and what `dead` leaves of it,
//! PTX after `lower`, `; error: …` lines after `verify`. `WARPSMITH_BLESS=1` writes the results into the files.
//!
//! Whatever comes out of a pass is verified, printed, parsed and lowered as well. All PTX is verified and parsed, that
//! of `lower` for several targets; where `ptxas` is found (`WARPSMITH_PTXAS`, or on the path), it is assembled too.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use support::assemble::Assembler;
use warpsmith_ir::text::parse;
use warpsmith_ir::{Kernel, LowerOptions, Pass, lower, optimize, verify};
use warpsmith_types::Target;

/// The ends of the range that the lowering is written for.
const TARGETS: [Target; 4] = [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A];

#[test]
fn files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    let assembler = Assembler::find();
    let (mut failures, mut kernels) = (vec![], 0);
    for path in files_under(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        match run(&text, &name, &assembler) {
            Err(problem) => failures.push(format!("{name}: {problem}")),
            Ok((count, actual)) => {
                kernels += count;
                if actual != text && bless {
                    fs::write(&path, actual).unwrap();
                } else if actual != text {
                    failures.push(format!("{name}: {}", first_difference(&text, &actual)));
                }
            }
        }
    }
    assert!(kernels >= 40, "only {kernels} kernels were found");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn files_under(root: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let folders = list(root).into_iter().filter(|p| p.is_dir());
    let mut files: Vec<_> =
        folders.flat_map(|f| list(&f)).filter(|p| p.extension().is_some_and(|e| e == "ir")).collect();
    files.sort();
    files
}

fn first_difference(expected: &str, actual: &str) -> String {
    let mut lines = expected.lines().zip(actual.lines()).enumerate();
    match lines.find(|(_, (e, a))| e != a) {
        Some((i, (e, a))) => format!("line {}:\n  expected {e}\n  got      {a}", i + 1),
        None => format!("{} lines expected, got {}", expected.lines().count(), actual.lines().count()),
    }
}

/// The number of kernels in a file, and the file as it should be.
fn run(text: &str, name: &str, assembler: &Assembler) -> Result<(usize, String), String> {
    let header = |key: &str| text.lines().find_map(|l| l.strip_prefix("; ")?.strip_prefix(key)?.strip_prefix(' '));
    let pass = header("test").ok_or("no `; test PASS` line")?;
    let target: Target = match header("target") {
        Some(t) => t.parse().map_err(|e| format!("{e}"))?,
        None => Target::SM_90A,
    };
    let mut actual = String::new();
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        actual.push_str(line);
        actual.push('\n');
        if !line.starts_with("kernel ") {
            continue;
        }
        let mut kernel = format!("{line}\n");
        for line in lines.by_ref() {
            kernel.push_str(line);
            kernel.push('\n');
            actual.push_str(line);
            actual.push('\n');
            if line == "}" {
                break;
            }
        }
        while lines.next_if(|l| l.starts_with(';')).is_some() {}
        count += 1;
        let kernel = parse(&kernel).map_err(|e| format!("kernel {count}: {e}\n{kernel}"))?;
        round_trip(&kernel)?;
        let result = apply(pass, &kernel, target, name, assembler).map_err(|e| format!("`{}`: {e}", kernel.name))?;
        for line in result.lines() {
            actual.push_str(format!("; {line}").trim_end());
            actual.push('\n');
        }
    }
    Ok((count, actual))
}

fn apply(pass: &str, kernel: &Kernel, target: Target, name: &str, assembler: &Assembler) -> Result<String, String> {
    let checked = || verify(kernel).map_err(|report| format!("it is not valid\n{report}"));
    match pass {
        "verify" => Ok(match verify(kernel) {
            Ok(()) => "ok".into(),
            Err(report) => report.diagnostics.iter().map(one_line).collect(),
        }),
        "lower" => {
            let options = LowerOptions::new(target);
            match lower(kernel, &options) {
                Err(e) => Ok(format!("error: {e}")),
                Ok(module) => {
                    for target in TARGETS {
                        // What a target does not have is an error above, or in a file of its own.
                        if let Ok(module) = lower(kernel, &LowerOptions::new(target)) {
                            assembler.check(&module, &format!("{name} for {target}"));
                        }
                    }
                    Ok(module.to_string())
                }
            }
        }
        _ => {
            checked()?;
            let mut after = kernel.clone();
            match Pass::from_name(pass) {
                Some(pass) => pass.run(&mut after),
                None if pass == "optimize" => optimize(&mut after),
                None => return Err(format!("`{pass}` is no pass")),
            }
            verify(&after).map_err(|report| format!("after `{pass}`:\n{report}\n{after}"))?;
            round_trip(&after)?;
            Pass::Dead.run(&mut after);
            verify(&after).map_err(|report| format!("after `dead`:\n{report}\n{after}"))?;
            round_trip(&after)?;
            for (form, kernel) in [("before", kernel), ("after", &after)] {
                let module = lower(kernel, &LowerOptions::new(target)).map_err(|e| e.to_string())?;
                assembler.check(&module, &format!("{name} {form}"));
            }
            let text = after.to_string();
            // Which numbers are free says nothing about the pass.
            Ok(text.lines().filter(|l| !l.starts_with("  unused ")).map(|l| format!("{l}\n")).collect())
        }
    }
}

/// An error, its place and its notes, each on a line.
fn one_line(d: &warpsmith_types::Diagnostic) -> String {
    let place = |at: &Option<warpsmith_types::Location>| at.as_ref().map(|l| format!(" @ {l}")).unwrap_or_default();
    let mut text = format!("error: {}{}\n", d.message, place(&d.at));
    for note in &d.notes {
        text.push_str(&format!("  note: {}{}\n", note.message, place(&note.at)));
    }
    if let Some(help) = &d.help {
        text.push_str(&format!("  help: {help}\n"));
    }
    text
}

fn round_trip(kernel: &Kernel) -> Result<(), String> {
    let text = kernel.to_string();
    let back = parse(&text).map_err(|e| format!("printed, it does not parse: {e}\n{text}"))?;
    if back.to_string() != text {
        return Err(format!("printed and parsed, it prints differently:\n{text}\n{back}"));
    }
    let without_places = |k: &Kernel| Kernel { locations: vec![], body: vec![], ..k.clone() };
    if without_places(&back) != without_places(kernel) {
        return Err(format!("printed and parsed, it is another kernel:\n{text}"));
    }
    Ok(())
}
