//! A run as data, with where it came from: what `--json` writes and `--compare` reads.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use warpsmith::runtime::{Device, DeviceInfo};

/// The version of this format; another one is not read.
const FORMAT: u32 = 1;

/// A run of `warpsmith bench`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) format: u32,
    /// The version that measured.
    pub(super) warpsmith: String,
    /// UTC, as 2026-01-31T23:59:59Z.
    pub(super) date: String,
    /// What was typed.
    pub(super) command: String,
    pub(super) device: DeviceRecord,
    pub(super) settings: SettingsRecord,
    pub(super) rows: Vec<Row>,
}

/// What it ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DeviceRecord {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) chip: String,
    pub(super) target: String,
    /// Datasheet memory bandwidth.
    pub(super) gigabytes_per_second: f64,
    /// Of CUDA, that the driver supports; `None` on the emulator.
    pub(super) cuda: Option<String>,
    /// The driver's build, where the system tells it.
    pub(super) driver: Option<String>,
}

/// Whether there is a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Cuda,
    Emulated,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SettingsRecord {
    pub(super) warm_up: usize,
    pub(super) repetitions: usize,
    /// Whether the level-two cache was cold.
    pub(super) cold: bool,
    /// Kernels shorter than this are measured several to a graph.
    pub(super) graphs_below_microseconds: f64,
}

/// One case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) operator: String,
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    /// The plan that was asked for; `None` for the operator's own.
    pub(super) plan: Option<String>,
    pub(super) kernel: String,
    /// The plan that ran, in words.
    pub(super) planned: String,
    /// Of a thread; `None` on the emulator.
    pub(super) registers: Option<u32>,
    pub(super) floor: Floor,
    pub(super) result: Outcome,
}

/// What no kernel can go below.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Floor {
    /// Each input read once, the output written once.
    pub(super) bytes: u64,
    /// Their time at the datasheet's bandwidth.
    pub(super) bytes_microseconds: f64,
    /// Multiplications and additions of a matrix product.
    pub(super) operations: Option<u64>,
    /// Their time at the datasheet's dense peak, where that is known.
    pub(super) operations_microseconds: Option<f64>,
}

impl Floor {
    /// The later of the two.
    pub(super) fn microseconds(&self) -> f64 {
        self.bytes_microseconds.max(self.operations_microseconds.unwrap_or(0.0))
    }
}

/// What came out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub(super) enum Outcome {
    Card(Timed),
    Emulator(Counted),
}

/// Times on a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Timed {
    pub(super) time: Spread,
    /// What it is measured against.
    pub(super) beside: Beside,
    /// How much of that speed it has.
    pub(super) share: f64,
}

/// A median with its neighbours, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) fastest: f64,
    /// A tenth of the repetitions are at least as fast.
    pub(super) tenth: f64,
    /// A tenth are slower.
    pub(super) ninetieth: f64,
    pub(super) repetitions: usize,
    /// Launches of one repetition, replayed as a graph, each on memory of its own; 1 is a plain launch.
    pub(super) launches: usize,
}

/// What a kernel is measured against, in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum Beside {
    /// A copy within the device of as many bytes.
    Copy { microseconds: f64 },
    /// Matrix instructions on every multiprocessor, without any traffic of memory.
    MatrixInstructions { teraflops: f64 },
}

/// What the emulator counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    /// Of warps.
    pub(super) instructions: u64,
    /// Different bytes of global memory that were read or written, in sectors of 32.
    pub(super) moved: u64,
    /// Bytes that all accesses together asked for, in sectors of 32: what the caches see.
    pub(super) asked: u64,
    /// Passes over the banks of shared memory, and how many would do.
    pub(super) shared: [u64; 2],
}

impl Record {
    /// Of a run that starts now.
    pub(super) fn new(device: &Device, settings: SettingsRecord) -> Record {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Record {
            format: FORMAT,
            warpsmith: env!("CARGO_PKG_VERSION").into(),
            date: date(seconds),
            command: command(std::env::args().skip(1)),
            device: DeviceRecord::of(device),
            settings,
            rows: vec![],
        }
    }

    /// An earlier run.
    pub(super) fn read(path: &Path) -> Result<Record, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::Read { path: path.into(), error })?;
        let wrong = |what: String| Failure::Option(format!("{}: {what}", path.display()));
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| wrong(format!("is no JSON of `warpsmith bench`: {e}")))?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {
                serde_json::from_value(value).map_err(|e| wrong(format!("is no JSON of `warpsmith bench`: {e}")))
            }
            Some(format) => Err(wrong(format!(
                "is of format {format}, and this version reads {FORMAT}; measure again, or compare by the version that wrote it"
            ))),
            None => Err(wrong("is no JSON of `warpsmith bench`: it has no format".into())),
        }
    }
}

impl Row {
    /// Whether both are about the same thing.
    pub(super) fn matches(&self, other: &Row) -> bool {
        (&self.operator, &self.dtype, &self.shape, &self.plan)
            == (&other.operator, &other.dtype, &other.shape, &other.plan)
    }
}

impl DeviceRecord {
    fn of(device: &Device) -> DeviceRecord {
        let DeviceInfo { name, chip, driver, .. } = device.info();
        let build = std::fs::read_to_string("/sys/module/nvidia/version").ok();
        DeviceRecord {
            kind: if device.is_emulated() { Kind::Emulated } else { Kind::Cuda },
            name: name.clone(),
            chip: chip.name.into(),
            target: chip.target.to_string(),
            gigabytes_per_second: chip.bandwidth as f64 / 1e9,
            cuda: driver.as_ref().map(ToString::to_string),
            driver: build.map(|b| b.trim().to_string()).filter(|_| !device.is_emulated()),
        }
    }
}

/// What was typed, so that it can be typed again.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    let quoted =
        |a: String| if !a.is_empty() && a.chars().all(plain) { a } else { format!("'{}'", a.replace('\'', r"'\''")) };
    ["warpsmith".to_string()].into_iter().chain(arguments.map(quoted)).collect::<Vec<_>>().join(" ")
}

/// A time since 1970 as UTC (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March on.
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (era * 400 + year_of_era, month + 3) } else { (era * 400 + year_of_era + 1, month - 9) };
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_utc() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_826_399), "2000-02-29T12:13:19Z");
        assert_eq!(date(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(date(1_735_689_600), "2025-01-01T00:00:00Z");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let said = command(["bench", "rows", "--json", "my file.json", "it's"].map(String::from).into_iter());
        assert_eq!(said, r"warpsmith bench rows --json 'my file.json' 'it'\''s'");
    }
}
