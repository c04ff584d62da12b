//! `warpsmith bench`: how fast operators are on a card, or what they do on the emulator.
//!
//! | file | what |
//! |---|---|
//! | `suite` | what is measured |
//! | `measure`, `peak` | times on a card, and what they are measured against |
//! | `count` | counts on the emulator |
//! | `floor` | what no kernel can go below |
//! | `record` | a run as data, with where it came from |
//! | `show`, `plot` | a run for people |
//! | `compare` | a run beside an earlier one |

mod compare;
mod count;
mod floor;
mod measure;
mod peak;
mod plot;
mod record;
mod show;
mod suite;

pub(crate) use floor::matrix_peak;
pub(crate) use suite::SUITES;

use crate::case::Case;
use crate::commands::{Names, open_device, parse_dtype, parse_extents};
use crate::failure::Failure;
use crate::output::{self, Output};
use clap::Args;
use compare::Earlier;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Floor, Outcome, Record, Row, SettingsRecord};
use std::path::PathBuf;
use std::process::ExitCode;
use suite::PlanChoice;
use warpsmith::runtime::Device;
use warpsmith::runtime::bench::Settings;
use warpsmith_types::DType;

/// `warpsmith bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// An operator, or a suite of them: rows, all
    #[arg(value_name = "OP|SUITE", value_parser = Names(crate::operator::names_and_suites))]
    what: String,
    /// ROWSxDIM, or MxNxK for gemm; several with commas. Without it, the suite's
    #[arg(long = "shape", value_name = "SHAPE", value_delimiter = ',', value_parser = parse_extents)]
    shapes: Vec<Extents>,
    /// The dtype of all tensors; several with commas
    #[arg(long = "dtype", value_name = "DTYPE", value_delimiter = ',', default_value = "bf16", value_parser = parse_dtype)]
    dtypes: Vec<DType>,
    /// Other plans than the operator's own, side by side: threads_per_row=64,threads_per_row=128, or all that may be fast
    #[arg(long = "plan", value_name = "PLAN", value_delimiter = ',')]
    plans: Vec<PlanChoice>,
    /// Promise that weights are constant, so that kernels that have some are launched with PDL too
    #[arg(long)]
    constant: bool,
    /// Where: cuda, cuda:N, emulated, emulated:CHIP; without it, a card when there is one, else the emulator
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// How often each is measured
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    repetitions: u16,
    /// Write the run there, as JSON that --compare reads
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the run there, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show the ratio to an earlier run of --json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// Extents of a tensor or a product; one type for clap, which would take a `Vec` for several values.
pub(crate) type Extents = std::sync::Arc<[usize]>;

/// Measures or counts, and reports. The exit code is 3 when the sanitizer found an error.
pub(crate) fn bench(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let device = open_device(args.device.as_deref())?;
    let shapes: Vec<Vec<usize>> = args.shapes.iter().map(|s| s.to_vec()).collect();
    let mut cases = suite::cases(&args.what, &shapes, &args.dtypes, &args.plans, device.is_emulated())?;
    cases.iter_mut().for_each(|case| case.constant = args.constant);
    let settings = Settings { repetitions: args.repetitions.into(), ..Settings::default() };
    let mut record = Record::new(&device, SettingsRecord::of(&settings));
    // What is wrong with files is said before anything is measured.
    let earlier = args.compare.as_deref().map(Earlier::read).transpose()?;
    earlier.as_ref().map_or(Ok(()), |e| e.check(&record.device))?;
    let json = args.json.as_deref().map(Output::open).transpose()?;
    let svg = args.svg.as_deref().map(Output::open).transpose()?;

    let bar = progress(cases.len());
    let mut errors = vec![];
    let mut card = measure::Bench::new(&device, settings);
    for case in &cases {
        bar.set_message(format!("{} {} {}", case.operator.name(), case.extents(), case.dtype));
        let row = if device.is_emulated() { counted(case, &device, &mut errors)? } else { timed(case, &mut card)? };
        record.rows.push(row);
        bar.inc(1);
    }
    bar.finish_and_clear();

    output::print(show::report(&record, earlier.as_ref()) + "\n")?;
    if let Some(json) = json {
        json.write(&output::to_json(&record)?)?;
    }
    if let Some(svg) = svg {
        svg.write(&plot::svg(&record))?;
    }
    errors.iter().try_for_each(|error| output::print(format_args!("\n{error}\n")))?;
    Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

fn timed(case: &Case, card: &mut measure::Bench) -> Result<Row, Failure> {
    let measure::Ran { kernel, planned, registers, timed } = card.time(case)?;
    Ok(row(case, card.device(), (kernel, planned, registers), Outcome::Card(timed)))
}

fn counted(case: &Case, device: &Device, errors: &mut Vec<String>) -> Result<Row, Failure> {
    let count::Ran { made, counted, errors: found } = count::count(case, device.chip())?;
    let named = |error| format!("{} {}: {error}", case.operator.name(), case.extents());
    errors.extend(found.into_iter().map(named));
    Ok(row(case, device, (made.compiled.entry.clone(), made.plan, None), Outcome::Emulator(counted)))
}

fn row(
    case: &Case,
    device: &Device,
    (kernel, planned, registers): (String, String, Option<u32>),
    result: Outcome,
) -> Row {
    Row {
        operator: case.operator.name().into(),
        dtype: case.dtype.to_string(),
        shape: case.shape.clone(),
        plan: case.threads_per_row.map(|n| format!("threads_per_row={n}")),
        kernel,
        planned,
        registers,
        floor: Floor::of(case, device.chip()),
        result,
    }
}

/// How far it is, on a terminal.
fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests;
