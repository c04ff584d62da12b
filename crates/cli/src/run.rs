//! `warpsmith run`.

use crate::commands::{RunArgs, open_device};
use crate::failure::Failure;
use crate::output;
use crate::problem::{Problem, SUM};
use crate::report::{Check, KernelReport, Report, RunReport};
use crate::tensor_file::{self, Tensor as HostTensor};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use warpsmith::kernels::compare::{Tolerance, Worst, decode, encode, worst};
use warpsmith::runtime::bench::{Settings, copy_time, measure};
use warpsmith::runtime::{Bound, Device, LaunchError, LaunchOutcome};
use warpsmith_types::DType;

/// Runs an operator, checks the result, prints the report. The exit code is 1 when the result is wrong or the sanitizer
/// found an error.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let problem = Problem::new(args)?;
    let device = match args.device.as_deref() {
        Some("cpu") => None,
        name => Some(open_device(name)?),
    };
    let mut done = match &device {
        Some(device) => on_device(&problem, device, args)?,
        None => on_host(&problem, args)?,
    };
    let check = check(&problem, &done.result);
    let clean = !matches!(&done.run, RunReport::Emulator { findings, .. } if !findings.is_empty());
    let output = match &args.output {
        Some(path) => {
            let (dtype, shape) = (problem.output_dtype(), problem.output_shape());
            let bytes = std::mem::take(&mut done.result);
            let written = tensor_file::write(path, "y", &HostTensor { dtype, shape, bytes })?;
            let note = if written == dtype { String::new() } else { format!(" as {written}") };
            Some(format!("{}{note}", path.display()))
        }
        None => None,
    };
    let right = check.right && clean;
    let report = Report {
        operator: problem.operator.name(),
        source: problem.source.clone(),
        dtype: problem.x.dtype.name(),
        shape: problem.shape(),
        device: device.as_ref().map_or("cpu, float64 reference".into(), |d| d.info().name.clone()),
        kernel: done.kernel,
        run: done.run,
        check,
        output,
    };
    output::print_report(&report, args.json)?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

struct Done {
    kernel: Option<KernelReport>,
    run: RunReport,
    result: Vec<u8>,
}

fn on_device(problem: &Problem, device: &Device, args: &RunArgs) -> Result<Done, Failure> {
    let mut placed = problem.place(device)?;
    let (mut bound, plan) = problem.bind(&mut placed, device, args.threads_per_row)?;
    if let Some(path) = &args.ptx {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::Read { path: path.clone(), error })?;
        bound = bound.with_ptx(&text)?;
    }
    let stream = device.default_stream();
    let start = Instant::now();
    let outcome = bound.launch(&stream)?;
    stream.synchronize()?;
    let took = start.elapsed();
    let result = placed.y.to_bytes()?;
    let run = if device.is_emulated() { emulated(took, &outcome) } else { timed(problem, device, &bound)? };
    Ok(Done { kernel: describe(&bound, plan), run, result })
}

fn on_host(problem: &Problem, args: &RunArgs) -> Result<Done, Failure> {
    if args.ptx.is_some() {
        return Err(Failure::Option("--ptx needs a device that runs PTX: cuda or emulated".into()));
    }
    if problem.x.shape.len() != 2 {
        return Err(Failure::Option(format!(
            "`x`: expected 2 dimensions (rows, dim), got shape {:?}",
            problem.x.shape
        )));
    }
    let start = Instant::now();
    let reference = problem.reference();
    let took = start.elapsed();
    let run = RunReport::Reference { milliseconds: took.as_secs_f64() * 1e3 };
    Ok(Done { kernel: None, run, result: encode(problem.output_dtype(), &reference) })
}

fn emulated(took: Duration, outcome: &LaunchOutcome) -> RunReport {
    RunReport::Emulator {
        milliseconds: took.as_secs_f64() * 1e3,
        instructions: outcome.instructions.unwrap_or(0),
        findings: outcome.findings.iter().map(ToString::to_string).collect(),
    }
}

/// Measures on a card, beside a copy of the same bytes.
fn timed(problem: &Problem, device: &Device, bound: &Bound) -> Result<RunReport, Failure> {
    let settings = Settings::default();
    let timing = measure(device, &settings, |stream| match bound.launch(stream) {
        Ok(_) => Ok(()),
        Err(LaunchError::Device(e)) => Err(e),
        // The same launch went through before the clock started.
        Err(LaunchError::Compile(e)) => {
            Err(warpsmith::runtime::Error::Ptx { entry: String::new(), message: e.to_string() })
        }
    })?;
    let microseconds = timing.median().as_secs_f64() * 1e6;
    if let Some(operations) = problem.operations() {
        return Ok(RunReport::Product { microseconds, operations, teraflops: operations as f64 / microseconds * 1e-6 });
    }
    let bytes = problem.bytes();
    let copy = copy_time(device, bytes, &settings)?;
    Ok(RunReport::Card {
        microseconds,
        bytes,
        gigabytes_per_second: timing.bandwidth(bytes) / 1e9,
        share_of_copy: copy.median().as_secs_f64() / timing.median().as_secs_f64(),
        copy_microseconds: copy.median().as_secs_f64() * 1e6,
    })
}

fn describe(bound: &Bound, plan: String) -> Option<KernelReport> {
    let loaded = bound.loaded()?;
    let report = loaded.function.report();
    Some(KernelReport {
        name: loaded.compiled.entry.clone(),
        plan,
        grid: bound.shape().grid,
        block: bound.shape().block,
        trace_ms: loaded.compiled.trace_time.as_secs_f64() * 1e3,
        ptx_ms: loaded.compiled.lower_time.as_secs_f64() * 1e3,
        compile_ms: report.time.as_secs_f64() * 1e3,
        registers: report.registers,
        spill_bytes: report.spills.map(|s| s.stores + s.loads),
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
    })
}

fn check(problem: &Problem, result: &[u8]) -> Check {
    let dtype: DType = problem.output_dtype();
    let (tolerance, expected) = (Tolerance::of(dtype), problem.expected());
    let [rows, columns] = problem.result_rows();
    let mut got = decode(dtype, result);
    if expected.rows.len() < rows {
        got = of_rows(&got, &expected.rows, columns);
    }
    let found = match &expected.slack[..] {
        [] => worst(&got, &expected.values, tolerance),
        slack => worst_of_sums(&got, &expected.values, slack, tolerance),
    };
    let place = |index: usize| {
        let row = expected.rows.get(index / columns.max(1)).copied().unwrap_or(0);
        vec![row, index % columns.max(1)]
    };
    Check {
        right: got.len() == expected.values.len() && found.is_none_or(|w| w.share <= 1.0),
        elements: expected.values.len(),
        rows_compared: (expected.rows.len() < rows).then_some(expected.rows.len()),
        relative_tolerance: tolerance.relative,
        absolute_tolerance: tolerance.absolute,
        sum_tolerance: (!expected.slack.is_empty()).then_some(SUM),
        largest_error: Some(found.map_or(0.0, |w| w.share)).filter(|s| s.is_finite()),
        at: found.map_or(vec![], |w| place(w.index)),
        got: found.map(|w| w.got).filter(|v| v.is_finite()),
        expected: found.map(|w| w.expected).filter(|v| v.is_finite()),
    }
}

/// Those rows of a result, one after the other.
fn of_rows(all: &[f64], rows: &[usize], columns: usize) -> Vec<f64> {
    rows.iter().flat_map(|r| all.get(r * columns..(r + 1) * columns).unwrap_or_default()).copied().collect()
}

/// The element that is furthest off, where sums may be off by some more each.
fn worst_of_sums(got: &[f64], expected: &[f64], slack: &[f64], tolerance: Tolerance) -> Option<Worst> {
    let all = got.iter().zip(expected).zip(slack).enumerate();
    let each = all.map(|(index, ((&got, &expected), &slack))| {
        let tolerance = Tolerance { absolute: tolerance.absolute + slack, ..tolerance };
        Worst { share: tolerance.share(got, expected), index, got, expected }
    });
    each.reduce(|a, b| if b.share > a.share { b } else { a })
}
