//! Kernels of Triton and QuACK, as `scripts/foreign_ptx.py` has compiled them, run and give what NumPy computes.
//!
//! They are not part of this repository: make them, and name their folder in `WARPSMITH_FOREIGN`. Without it, nothing
//! runs.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{program, run_with, system};
use warpsmith_emulator::{Launch, Options};
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32};

/// Numbers of a type, as f64.
fn numbers(kind: &str, bytes: &[u8]) -> Vec<f64> {
    let half = |b: &[u8]| u16::from_le_bytes([b[0], b[1]]);
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    match kind {
        "f16" => bytes.chunks(2).map(|b| f16_to_f32(half(b)).into()).collect(),
        "bf16" => bytes.chunks(2).map(|b| bf16_to_f32(half(b)).into()).collect(),
        "f32" => bytes.chunks(4).map(|b| f32::from_bits(word(b)).into()).collect(),
        "i32" => bytes.chunks(4).map(|b| (word(b) as i32).into()).collect(),
        _ => panic!("numbers of type {kind}"),
    }
}

/// Runs one case under one schedule; gives what differs.
fn differences(folder: &Path, name: &str, seed: u64) -> Vec<String> {
    let text = fs::read_to_string(folder.join(format!("{name}.case"))).unwrap();
    let ptx = fs::read_to_string(folder.join(format!("{name}.ptx"))).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let entry = lines.iter().find(|line| line[0] == "entry").unwrap()[1];
    let program = program(&ptx, entry);
    let mut s = system();
    let mut launch = Launch::new(1, 1);
    let mut buffers = BTreeMap::new();
    let mut different = vec![];
    for line in &lines {
        let three = || [1, 2, 3].map(|i| line[i].parse::<u32>().unwrap());
        let mut push = |bytes: &[u8]| {
            launch.push(bytes);
        };
        match line[0] {
            "entry" | "expect" | "finding" => {}
            "grid" => launch.grid = three(),
            "block" => launch.block = three(),
            "cluster" => launch.cluster = three(),
            "shared" => launch.dynamic_shared = line[1].parse().unwrap(),
            "buffer" => {
                let pointer = s.allocate(line[2].parse().unwrap(), line[1]).unwrap();
                if let Some(file) = line.get(3) {
                    s.write(pointer, &fs::read(folder.join(file)).unwrap()).unwrap();
                }
                buffers.insert(line[1], pointer);
            }
            "pointer" => push(&buffers[line[1]].0.to_le_bytes()),
            "i32" => push(&line[1].parse::<i32>().unwrap().to_le_bytes()),
            "i64" => push(&line[1].parse::<i64>().unwrap().to_le_bytes()),
            "f32" => push(&line[1].parse::<f32>().unwrap().to_le_bytes()),
            "align" => {
                let align = line[1].parse().unwrap();
                launch.parameters.resize(launch.parameters.len().next_multiple_of(align), 0);
            }
            other => panic!("{name}: a line `{other}`"),
        }
    }
    let outcome = run_with(&mut s, &program, &launch, None, &Options { seed, ..Options::default() });
    // Some kernels read what nothing wrote, and throw it away.
    let allowed: Vec<String> =
        lines.iter().filter(|line| line[0] == "finding").map(|line| line[1..].join(" ")).collect();
    let texts = outcome.findings.iter().map(|finding| finding.diagnostic().render());
    different.extend(texts.filter(|text| !allowed.iter().any(|allowed| text.contains(allowed))));
    assert!(!outcome.stopped, "{name} was given up");
    for line in lines.iter().filter(|line| line[0] == "expect") {
        let (buffer, kind) = (line[1], line[2]);
        let want = fs::read(folder.join(line[3])).unwrap();
        let [absolute, relative] = [4, 5].map(|i| line[i].parse::<f64>().unwrap());
        let mut got = vec![0; want.len()];
        assert!(s.is_initialized(buffers[buffer], want.len()).unwrap(), "{name}: some of {buffer} is not written");
        s.read(buffers[buffer], &mut got).unwrap();
        let (got, want) = (numbers(kind, &got), numbers(kind, &want));
        let right = |got: f64, want: f64| {
            got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= absolute + relative * want.abs()
        };
        let wrong: Vec<usize> = (0..want.len()).filter(|i| !right(got[*i], want[*i])).collect();
        if let Some(first) = wrong.first() {
            let (got, want, count) = (got[*first], want[*first], wrong.len());
            different.push(format!("{name}, seed {seed}: {buffer}[{first}] is {got}, not {want}; {count} differ"));
        }
    }
    different
}

#[test]
fn compiled_elsewhere() {
    let Ok(folder) = std::env::var("WARPSMITH_FOREIGN") else { return };
    let folder = Path::new(&folder);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let cases = files.filter(|path| path.extension().is_some_and(|extension| extension == "case"));
    let mut names: Vec<String> = cases.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut failed = vec![];
    for name in &names {
        for seed in [0, 7] {
            match std::panic::catch_unwind(|| differences(folder, name, seed)) {
                Ok(different) => failed.extend(different),
                Err(_) => failed.push(format!("{name}, seed {seed}: see above")),
            }
        }
    }
    assert!(failed.is_empty(), "{} of {} cases: {failed:#?}", failed.len(), 2 * names.len());
    assert!(names.len() >= 20, "{} cases", names.len());
}
