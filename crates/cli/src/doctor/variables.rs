//! Environment variables that begin with `WARPSMITH_`: what they do, and which mean nothing.

use crate::operator::distance;
use serde::Serialize;
use std::env;
use warpsmith_types::Chip;

/// A variable that is set.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    /// What it does; `None` when nothing reads it.
    pub(super) effect: Option<&'static str>,
    /// What is wrong with the value, or the name that may be meant.
    pub(super) problem: Option<String>,
}

/// What may stand in a variable.
enum Values {
    /// Whatever.
    Any,
    /// A whole number.
    Number,
    /// One of these.
    Words(&'static [&'static str]),
    /// The name of a device.
    Device,
}

/// Those that something reads, and what they do.
const KNOWN: [(&str, Values, &str); 23] = [
    ("WARPSMITH_ASSEMBLER", Values::Words(&["", "driver", "ptxas"]), "who assembles for a card: the driver, or ptxas"),
    ("WARPSMITH_BUNDLE", Values::Any, "a file of machine code, looked in before the cache"),
    ("WARPSMITH_CACHE", Values::Any, "the folder of the compile cache, or off"),
    ("WARPSMITH_CACHE_MIB", Values::Number, "how many MiB the compile cache may take"),
    ("WARPSMITH_DEVICE", Values::Device, "the device of tests and of Device::from_env"),
    ("WARPSMITH_LINE_INFO", Values::Words(&["", "0", "1"]), "1: machine code has the lines of this build's source"),
    ("WARPSMITH_NVDISASM", Values::Any, "where nvdisasm is"),
    ("WARPSMITH_NVTX", Values::Words(&["", "0", "1"]), "1: compiling and launches are ranges for Nsight Systems"),
    ("WARPSMITH_PTXAS", Values::Any, "where ptxas is"),
    ("WARPSMITH_SYNC", Values::Words(&["", "0", "1"]), "1: each launch is waited for, so that errors are its own"),
    (
        "WARPSMITH_TUNE",
        Values::Words(&["", "off", "0", "on", "1"]),
        "on: calls go by what was tuned in other processes",
    ),
    ("WARPSMITH_BENCH_LAUNCH", Values::Any, "a benchmark: set for the process that measures"),
    ("WARPSMITH_BLESS", Values::Any, "tests: files that hold what is said are written anew"),
    ("WARPSMITH_CASES", Values::Number, "tests: how many random kernels are tried"),
    ("WARPSMITH_FOREIGN", Values::Any, "tests: a folder of PTX that others made"),
    ("WARPSMITH_GOLDEN", Values::Any, "tests: a folder of layout vectors"),
    ("WARPSMITH_GOLDEN_SHOW", Values::Number, "tests: how many wrong vectors are shown"),
    ("WARPSMITH_SEED", Values::Number, "tests: random numbers of an earlier run again"),
    ("WARPSMITH_SEEDS", Values::Number, "tests: how many schedules are tried"),
    ("WARPSMITH_SHAPES", Values::Words(&["small"]), "tests: small shapes on a card too"),
    ("WARPSMITH_SUITE_OUT", Values::Any, "tests: where answers of a card are written"),
    ("WARPSMITH_TEST_IMPORTS", Values::Any, "tests: what a process does that shares another's memory"),
    ("WARPSMITH_TEST_TORTURE", Values::Any, "tests: the folder that processes fight over"),
];

/// Those that are set.
pub(super) fn set() -> Vec<Variable> {
    let ours = env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|n| n.starts_with("WARPSMITH_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    let mut all: Vec<Variable> = ours.map(|(name, value)| judge(name, value)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn judge(name: String, value: String) -> Variable {
    let Some((_, values, effect)) = KNOWN.iter().find(|(known, ..)| *known == name) else {
        let nearest = KNOWN.iter().map(|(known, ..)| (distance(&name, known), *known)).min();
        let problem = match nearest.filter(|(d, _)| *d <= 2) {
            Some((_, near)) => format!("nothing reads it; did you mean {near}?"),
            None => "nothing reads it".into(),
        };
        return Variable { name, value, effect: None, problem: Some(problem) };
    };
    let expected = match values {
        Values::Any => None,
        Values::Number => value.parse::<u64>().err().map(|_| "a whole number".to_string()),
        Values::Words(words) => (!words.contains(&&*value)).then(|| {
            let words = words.iter().filter(|w| !w.is_empty()).copied().collect::<Vec<_>>();
            words.join(" or ")
        }),
        Values::Device => (!is_device(&value)).then(|| "cuda, cuda:N, emulated or emulated:CHIP".into()),
    };
    Variable { name, value, effect: Some(effect), problem: expected.map(|e| format!("expected {e}")) }
}

fn is_device(name: &str) -> bool {
    match name.split_once(':') {
        None => name == "cuda" || name == "emulated",
        Some(("cuda", number)) => number.parse::<u32>().is_ok(),
        Some(("emulated", chip)) => Chip::by_name(chip).is_some(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn values_and_names_are_judged() {
        let problem = |name: &str, value: &str| judge(name.into(), value.into()).problem;
        assert_eq!(problem("WARPSMITH_SYNC", "1"), None);
        assert_eq!(problem("WARPSMITH_SYNC", "yes"), Some("expected 0 or 1".into()));
        assert_eq!(problem("WARPSMITH_CACHE_MIB", "1 GiB"), Some("expected a whole number".into()));
        assert_eq!(problem("WARPSMITH_ASSEMBLER", "nvcc"), Some("expected driver or ptxas".into()));
        for device in ["cuda", "cuda:1", "emulated", "emulated:b200"] {
            assert_eq!(problem("WARPSMITH_DEVICE", device), None, "{device}");
        }
        for device in ["gpu", "cuda:x", "emulated:TPU", ""] {
            assert!(problem("WARPSMITH_DEVICE", device).is_some(), "{device}");
        }
        assert_eq!(problem("WARPSMITH_CHACHE", "off"), Some("nothing reads it; did you mean WARPSMITH_CACHE?".into()));
        assert_eq!(problem("WARPSMITH_COLOUR_SCHEME", "x"), Some("nothing reads it".into()));
    }

    /// Every variable that the project's sources name is known here.
    #[test]
    fn the_list_is_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut named = BTreeSet::new();
        for folder in ["crates", "scripts", "examples"] {
            look_through(&root.join(folder), &mut named);
        }
        assert!(named.contains("WARPSMITH_CACHE") && named.contains("WARPSMITH_DEVICE"), "{named:?}");
        let known: BTreeSet<String> = KNOWN.iter().map(|(name, ..)| name.to_string()).collect();
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "`doctor` does not know {unknown:?}");
    }

    fn look_through(folder: &Path, named: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                look_through(&path, named);
            } else if path.ends_with("cli/src/doctor/variables.rs") || path.ends_with("cli/tests/doctor.rs") {
                // Names that mean nothing are written here on purpose.
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                for (at, _) in text.match_indices("WARPSMITH_") {
                    let name: String = text[at..]
                        .chars()
                        .take_while(|c| c.is_ascii_uppercase() || *c == '_' || c.is_ascii_digit())
                        .collect();
                    if name.len() > "WARPSMITH_".len() {
                        named.insert(name);
                    }
                }
            }
        }
    }
}
