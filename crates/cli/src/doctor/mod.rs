//! `warpsmith doctor`: what is found on this machine, what is missing, and what that costs.
//!
//! | file | what |
//! |---|---|
//! | `mod` | driver, cards and tools |
//! | `folder` | the compile cache |
//! | `variables` | environment variables |

mod folder;
mod variables;

use crate::failure::Failure;
use crate::output;
use crate::style::{Ink, paint};
use clap::Args;
use folder::Folder;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use variables::Variable;
use warpsmith_runtime::bundle::Bundle;
use warpsmith_runtime::cache::Trouble;
use warpsmith_runtime::report::{Tool, ToolError};
use warpsmith_runtime::{Device, DeviceInfo, Error};
use warpsmith_types::Chip;

/// `warpsmith doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Serialize)]
struct Examination {
    driver: Finding,
    cards: Vec<Finding>,
    emulator: Finding,
    ptxas: Finding,
    nvdisasm: Finding,
    cache: Folder,
    /// Where one is named.
    bundle: Option<Finding>,
    variables: Vec<Variable>,
}

/// A thing: there, missing, or wrong.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    name: String,
    state: State,
    /// What it is, or why it is not.
    text: String,
    /// What is not to be had without it.
    cost: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    There,
    /// Nobody needs it to be there.
    Missing,
    /// Somebody wanted it, and it does not work.
    Wrong,
}

/// Looks around and says what there is. Starts no card. The exit code is 1 when something is set up and does not work.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let examination = examine();
    output::print_report(&examination, args.json)?;
    Ok(if examination.is_wrong() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

const WITHOUT_CARD: &str = "kernels run on the emulated device: right and checked, but slow; nothing can be timed";

fn examine() -> Examination {
    let chips = Chip::ALL.map(|c| c.name).join(", ");
    Examination {
        driver: driver(Device::cuda_driver().map(|version| version.to_string())),
        cards: cards(Device::cuda_cards()),
        emulator: Finding::there("emulator", format!("always here, as {chips}")),
        ptxas: tool(Tool::Ptxas, find(Tool::Ptxas)),
        nvdisasm: tool(Tool::Nvdisasm, find(Tool::Nvdisasm)),
        cache: Folder::examine(),
        bundle: bundle(Bundle::process(), Bundle::refused()),
        variables: variables::set(),
    }
}

/// Machine code that was compiled ahead.
fn bundle(used: Option<&Bundle>, refused: Option<&Trouble>) -> Option<Finding> {
    let wrong = |trouble: &Trouble| {
        let cost = Some("kernels are assembled as if there were no bundle");
        Finding { name: "bundle".into(), state: State::Wrong, text: trouble.to_string(), cost }
    };
    let there = |bundle: &Bundle| {
        let (path, kernels) = (bundle.path().display(), bundle.contents().len());
        let s = if kernels == 1 { "" } else { "s" };
        Finding::there("bundle", format!("{path}: {kernels} kernel{s}"))
    };
    refused.map(wrong).or(used.map(there))
}

fn driver(found: Result<String, Error>) -> Finding {
    let finding = |state, text| Finding { name: "driver".into(), state, text, cost: None };
    match found {
        Ok(version) => finding(State::There, version),
        Err(e @ Error::NoDriver) => finding(State::Missing, e.to_string()),
        Err(e) => finding(State::Wrong, e.to_string()),
    }
}

fn cards(found: Result<Vec<DeviceInfo>, Error>) -> Vec<Finding> {
    let none = |state, text: String| vec![Finding { name: "cards".into(), state, text, cost: Some(WITHOUT_CARD) }];
    match found {
        Ok(cards) if cards.is_empty() => none(State::Missing, "none".into()),
        Ok(cards) => cards.iter().map(|card| Finding::there(&card.id.to_string(), describe(card))).collect(),
        // The driver's line has said why.
        Err(Error::NoDriver | Error::DriverTooOld { .. }) => none(State::Missing, "none without a driver".into()),
        Err(e) => none(State::Wrong, e.to_string()),
    }
}

/// A program of NVIDIA's: where it is and what it says of itself.
fn find(tool: Tool) -> Result<(PathBuf, String), ToolError> {
    tool.find().and_then(|path| Ok((path.clone(), tool.version(&path)?)))
}

fn tool(tool: Tool, found: Result<(PathBuf, String), ToolError>) -> Finding {
    let absent = |state, text| Finding { name: tool.name().into(), state, text, cost: Some(tool.cost()) };
    match found {
        Ok((path, version)) => Finding::there(tool.name(), format!("{}, {version}", path.display())),
        Err(ToolError::Missing { .. }) => absent(
            State::Missing,
            format!(
                "not found on PATH or in CUDA_HOME, and {} is not set; scripts/fetch_ptxas.sh fetches it",
                tool.variable()
            ),
        ),
        Err(other) => absent(State::Wrong, other.to_string()),
    }
}

fn describe(card: &DeviceInfo) -> String {
    let chip = &card.chip;
    format!(
        "{}: {}, {} of memory, {} multiprocessors, {} of L2, {} of shared memory a block",
        card.name,
        chip.target,
        size(card.memory.unwrap_or(0)),
        chip.multiprocessors,
        size(chip.l2),
        size(chip.shared_per_block.into()),
    )
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b.div_ceil(1 << 10)),
    }
}

impl Finding {
    fn there(name: &str, text: String) -> Finding {
        Finding { name: name.into(), state: State::There, text, cost: None }
    }
}

impl Examination {
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        [&self.driver].into_iter().chain(&self.cards).chain([&self.emulator, &self.ptxas, &self.nvdisasm])
    }

    /// Whether something is set up and does not work. A variable that nothing reads changes nothing, and is only said.
    fn is_wrong(&self) -> bool {
        self.findings().chain(&self.bundle).any(|f| f.state == State::Wrong)
            || matches!(self.cache, Folder::Refused { .. })
            || self.variables.iter().any(|v| v.effect.is_some() && v.problem.is_some())
    }
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self.findings() {
            let Finding { name, state, text, cost } = finding;
            line(f, name, *state, text)?;
            cost.map_or(Ok(()), |cost| so(f, cost))?;
        }
        let state = if matches!(self.cache, Folder::Refused { .. }) { State::Wrong } else { State::There };
        line(f, "cache", state, &self.cache.to_string())?;
        match &self.cache {
            Folder::Off => so(f, "every process assembles its kernels anew")?,
            Folder::Refused { .. } => so(f, "every process assembles its kernels anew, as if it were off")?,
            Folder::Open { troubles, .. } => {
                troubles.iter().try_for_each(|t| line(f, "", State::Missing, t))?;
            }
        }
        if let Some(Finding { name, state, text, cost }) = &self.bundle {
            line(f, name, *state, text)?;
            cost.map_or(Ok(()), |cost| so(f, cost))?;
        }
        for Variable { name, value, effect, problem } in &self.variables {
            let (state, said) = match (effect, problem) {
                (Some(effect), None) => (State::There, effect.to_string()),
                (Some(effect), Some(problem)) => (State::Wrong, format!("{problem} ({effect})")),
                (None, Some(problem)) => (State::Missing, problem.clone()),
                (None, None) => (State::There, String::new()),
            };
            line(f, "set", state, &format!("{name}={value}: {said}"))?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, state: State, text: &str) -> fmt::Result {
    let text = match state {
        State::There => text.to_string(),
        State::Missing => paint(Ink::Warn, text),
        State::Wrong => format!("{}: {text}", paint(Ink::Bad, "wrong")),
    };
    writeln!(f, "{name:<10}{text}")
}

/// What the line before it costs.
fn so(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "{:<10}so {text}", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_runtime::{DeviceId, DriverVersion};

    fn bare() -> Examination {
        Examination {
            driver: driver(Err(Error::NoDriver)),
            cards: cards(Err(Error::NoDriver)),
            emulator: Finding::there("emulator", "always here, as H200".into()),
            ptxas: tool(Tool::Ptxas, Err(ToolError::Missing { tool: Tool::Ptxas })),
            nvdisasm: tool(Tool::Nvdisasm, Err(ToolError::Missing { tool: Tool::Nvdisasm })),
            cache: Folder::Off,
            bundle: None,
            variables: vec![],
        }
    }

    #[test]
    fn a_bare_machine_is_told_what_it_misses() {
        assert_eq!(
            bare().to_string(),
            "driver    no CUDA driver found (libcuda.so.1): install NVIDIA's driver for a card, or use the emulated device\n\
             cards     none without a driver\n          \
             so kernels run on the emulated device: right and checked, but slow; nothing can be timed\n\
             emulator  always here, as H200\n\
             ptxas     not found on PATH or in CUDA_HOME, and WARPSMITH_PTXAS is not set; scripts/fetch_ptxas.sh fetches it\n          \
             so kernels are compiled by a card's driver alone, and for that card; tests of machine code skip\n\
             nvdisasm  not found on PATH or in CUDA_HOME, and WARPSMITH_NVDISASM is not set; scripts/fetch_ptxas.sh fetches it\n          \
             so machine code can not be shown, and tests of it skip\n\
             cache     off\n          \
             so every process assembles its kernels anew\n"
        );
        assert!(!bare().is_wrong());
    }

    #[test]
    fn what_is_set_up_and_does_not_work_is_wrong() {
        let needed = DriverVersion { major: 12, minor: 0 };
        let no_file = ToolError::NoFile { tool: Tool::Nvdisasm, path: "/no/such".into() };
        let variable =
            |effect| Variable { name: "WARPSMITH_SYNC".into(), value: "x".into(), effect, problem: Some("".into()) };
        let refused = Folder::Refused { path: "/c".into(), problem: "others may write to the folder".into() };
        for (wrong, examination) in [
            (
                true,
                Examination {
                    driver: driver(Err(Error::DriverTooOld { found: "CUDA 11.0".into(), needed })),
                    ..bare()
                },
            ),
            (true, Examination { nvdisasm: tool(Tool::Nvdisasm, Err(no_file)), ..bare() }),
            (true, Examination { cache: refused, ..bare() }),
            (true, Examination { variables: vec![variable(Some("it waits"))], ..bare() }),
            (false, Examination { variables: vec![variable(None)], ..bare() }),
            (false, Examination { cards: cards(Ok(vec![])), ..bare() }),
        ] {
            assert_eq!(examination.is_wrong(), wrong, "{examination}");
            assert_eq!(examination.to_string().contains("wrong: "), wrong, "{examination}");
        }
    }

    #[test]
    fn a_card_is_described() {
        let card = DeviceInfo {
            id: DeviceId::Cuda(0),
            name: "NVIDIA H200".into(),
            chip: Chip::H200,
            memory: Some(140 << 30),
            driver: None,
        };
        let there = Examination {
            driver: driver(Ok("CUDA 13.0".into())),
            cards: cards(Ok(vec![card])),
            ptxas: tool(Tool::Ptxas, Ok((PathBuf::from("/bin/ptxas"), "release 13.0, V13.0.48".into()))),
            cache: Folder::Open {
                path: "/c".into(),
                entries: 1,
                bytes: 3000,
                room: 1 << 30,
                mode: Some(0o700),
                troubles: vec!["/c/ab/cd: the entry was cut off".into()],
            },
            ..bare()
        };
        let text = there.to_string();
        for line in [
            "driver    CUDA 13.0\n",
            "cuda:0    NVIDIA H200: sm_90a, 140.0 GiB of memory, 132 multiprocessors, 60 MiB of L2, 227 KiB of shared \
             memory a block\n",
            "ptxas     /bin/ptxas, release 13.0, V13.0.48\n",
            "cache     /c: 1 entry, 3 KiB of 1.0 GiB, mode 0700\n          /c/ab/cd: the entry was cut off\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
