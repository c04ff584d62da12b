//! Every golden case: results of NVIDIA's C++ CuTe, refusals included.
//!
//! `WARPSMITH_GOLDEN=FOLDER` runs it over other files of the same schema, compressed or not.
#![allow(clippy::print_stdout)] // the counts are what people run this for

mod atoms;
mod case;
mod dynamic;
mod operations;
mod post;
mod quirks;
mod swizzles;

use case::{Case, Outcome, Trouble};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    refused: usize,
    corrected: usize,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = match std::env::var_os("WARPSMITH_GOLDEN") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    };
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(|file| file.file_name());
    for file in files {
        let Some((name, text)) = read(&file.path())? else { continue };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case = Case::parse(&name, line)?;
            let count = counts.entry(format!("{name}: {}", case.operation())).or_default();
            match run(&case) {
                Outcome::Passed => count.passed += 1,
                Outcome::Refused => {
                    count.passed += 1;
                    count.refused += 1;
                }
                Outcome::Corrected => {
                    count.passed += 1;
                    count.corrected += 1;
                }
                Outcome::Failed(why) => {
                    count.failed += 1;
                    failures.push(format!("{}: {why}\n    {}", case.id(), short(line)));
                }
            }
        }
    }
    let shown = std::env::var("WARPSMITH_GOLDEN_SHOW").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    failures.iter().take(shown).for_each(|failure| println!("{failure}"));
    println!("{:42} {:>7} {:>8} {:>9} {:>7}", "operation", "passed", "refusals", "C++ wrong", "failed");
    let (mut passed, mut failed) = (0, 0);
    for (operation, count) in &counts {
        let Count { passed: p, refused, corrected, failed: f } = count;
        println!("{operation:42} {p:>7} {refused:>8} {corrected:>9} {f:>7}");
        passed += count.passed;
        failed += count.failed;
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(case: &Case) -> Outcome {
    let said = match case.file() {
        "quirks" => return quirks::run(case),
        "dynamic" => return dynamic::run(case),
        "atoms" => atoms::run(case),
        "swizzle" => swizzles::run(case),
        _ => operations::run(case),
    };
    // Where C++ is wrong, a refusal is right, and so is another answer that keeps the post-condition.
    match said {
        Err(Trouble::Refused(_)) if !case.expects_refusal() && quirks::reference_is_wrong(case) => Outcome::Corrected,
        Ok(said) if quirks::corrects(case, &said) => Outcome::Corrected,
        said => case.compare(said),
    }
}

/// The name and text of a file of cases; none for other files.
fn read(path: &Path) -> Result<Option<(String, String)>, Box<dyn Error>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = String::new();
    let stem = if let Some(stem) = name.strip_suffix(".jsonl.gz") {
        GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
        stem
    } else if let Some(stem) = name.strip_suffix(".jsonl") {
        File::open(path)?.read_to_string(&mut text)?;
        stem
    } else {
        return Ok(None);
    };
    Ok(Some((stem.to_string(), text)))
}

fn short(line: &str) -> String {
    line.chars().take(400).collect()
}
