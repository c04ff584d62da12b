//! `warpsmith explain`: which implementation a call takes, and why it does not take the others. Needs no device.

use crate::bench::{Extents, matrix_peak};
use crate::case::{Case, Made, Way};
use crate::commands::{Names, parse_chip, parse_dtype, parse_extents, parse_target};
use crate::failure::Failure;
use crate::operator::{self, Operator};
use crate::output;
use crate::style::{Ink, paint};
use clap::Args;
use serde::Serialize;
use std::convert::Infallible;
use std::fmt;
use std::process::ExitCode;
use warpsmith::dsl::{DeviceId, TensorArg};
use warpsmith::runtime::Device;
use warpsmith::runtime::report::{Assembler, CompileReport, ToolError};
use warpsmith_types::{Chip, DType, Target};

/// `warpsmith explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The operator
    #[arg(value_name = "OP", value_parser = Names(operator::names))]
    operator: String,
    /// ROWSxDIM, or MxNxK for gemm
    #[arg(long, value_name = "SHAPE", value_parser = parse_extents)]
    shape: Extents,
    /// The dtype of all tensors
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = parse_dtype)]
    dtype: DType,
    /// The chip: a100, h100, h200, b200, b300, rtx4090, rtx5090; without it, the card here, else an h200
    #[arg(long, value_name = "CHIP", value_parser = parse_chip, conflicts_with = "target")]
    chip: Option<Chip>,
    /// A chip of that instruction set: sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<Target>,
    /// What the tensors' addresses are multiples of, in bytes, and of no more: a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = parse_alignment)]
    align: u64,
    /// Promise that weights are constant
    #[arg(long)]
    constant: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

fn parse_alignment(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<u64>().ok().filter(|n| n.is_power_of_two() && *n <= 4096);
    bytes.ok_or_else(|| format!("`{text}` is no alignment; expected a power of two up to 4096"))
}

/// What is known of a call.
#[derive(Serialize)]
struct Explanation {
    operator: &'static str,
    dtype: &'static str,
    shape: Vec<usize>,
    chip: &'static str,
    target: String,
    /// The implementation that a call takes; `None` when none takes it.
    taken: Option<&'static str>,
    floor: FloorReport,
    /// The most specialised first.
    implementations: Vec<WayReport>,
}

/// What no kernel can go below.
#[derive(Serialize)]
struct FloorReport {
    bytes: u64,
    bytes_microseconds: f64,
    operations: Option<u64>,
    operations_microseconds: Option<f64>,
    #[serde(skip)]
    speeds: (f64, Option<f64>),
}

#[derive(Serialize)]
struct WayReport {
    name: &'static str,
    what: &'static str,
    /// Why it does not take the call.
    refusal: Option<String>,
    /// How it would run.
    kernel: Option<KernelReport>,
}

#[derive(Serialize)]
struct KernelReport {
    name: String,
    plan: String,
    grid: [usize; 3],
    block: [usize; 3],
    cluster: Option<[usize; 3]>,
    /// Whether it may start before the launch before it is over.
    pdl: bool,
    /// Dynamic shared memory of a block, in bytes.
    dynamic_shared: u32,
    /// By ptxas, where it is found.
    registers: Option<u32>,
    static_shared: Option<u32>,
    spill_bytes: Option<u32>,
    resident: Option<String>,
    /// Why ptxas said nothing.
    unknown: Option<String>,
}

/// Prints it. The exit code is 2 when no implementation takes the call.
pub(crate) fn explain(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let chip = chip(args)?;
    let mut case = Case::new(Operator::named(&args.operator)?, args.dtype, &args.shape, None)?;
    case.constant = args.constant;
    let mut next = 1 << 20;
    let Ok(mut tensors) = case.place(|part| -> Result<_, Infallible> {
        // An odd multiple, so that nothing else divides it.
        let t = TensorArg::new(next | args.align, DeviceId(0), part.dtype, &part.shape);
        next = (t.address + t.span()).next_multiple_of(8192);
        Ok(t)
    });
    let ways = case.ways(&mut tensors, &chip)?;
    let taken = ways.iter().find(|way| way.verdict.is_ok()).map(|way| way.name);
    let explanation = Explanation {
        operator: case.operator.name(),
        dtype: case.dtype.name(),
        shape: case.shape.clone(),
        chip: chip.name,
        target: chip.target.to_string(),
        taken,
        floor: FloorReport::of(&case, &chip),
        implementations: ways.into_iter().map(|way| WayReport::of(way, &chip)).collect(),
    };
    output::print_report(&explanation, args.json)?;
    match taken {
        Some(_) => Ok(ExitCode::SUCCESS),
        None => Err(Failure::Option(format!("no implementation of {} takes this call", case.operator.name()))),
    }
}

fn chip(args: &ExplainArgs) -> Result<Chip, Failure> {
    match (args.chip, args.target) {
        (Some(chip), _) => Ok(chip),
        (None, Some(target)) => Chip::of_target(target).ok_or_else(|| {
            Failure::Option(format!("--target {target}: no chip is known that runs it; --chip names one"))
        }),
        // No driver is no mistake here.
        (None, None) => Ok(Device::cuda_cards().ok().and_then(|all| all.first().map(|c| c.chip)).unwrap_or(Chip::H200)),
    }
}

impl FloorReport {
    fn of(case: &Case, chip: &Chip) -> FloorReport {
        let (bytes, operations) = (case.bytes(), case.operations());
        let (bandwidth, peak) = (chip.bandwidth as f64, matrix_peak(chip, case.dtype));
        FloorReport {
            bytes,
            bytes_microseconds: bytes as f64 / bandwidth * 1e6,
            operations,
            operations_microseconds: operations.zip(peak).map(|(n, peak)| n as f64 / peak * 1e6),
            speeds: (bandwidth, peak),
        }
    }
}

impl WayReport {
    fn of(way: Way, chip: &Chip) -> WayReport {
        let Way { name, what, verdict } = way;
        let (refusal, kernel) = match verdict {
            Ok(made) => (None, Some(KernelReport::of(&made, chip))),
            Err(refusal) => (Some(refusal.to_string()), None),
        };
        WayReport { name, what, refusal, kernel }
    }
}

impl KernelReport {
    fn of(made: &Made, chip: &Chip) -> KernelReport {
        let Made { plan, launch, compiled, .. } = made;
        let dynamic_shared = compiled.program.dynamic_shared();
        let report = assemble(made, chip.target);
        let threads = u32::try_from(launch.block.iter().product::<usize>()).unwrap_or(u32::MAX);
        let known = report.as_ref().ok();
        let resident = known.and_then(|r| r.residency(chip, threads, dynamic_shared));
        KernelReport {
            name: compiled.entry.clone(),
            plan: plan.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            pdl: launch.pdl,
            dynamic_shared,
            registers: known.and_then(|r| r.registers),
            static_shared: known.map(|r| r.shared),
            spill_bytes: known.and_then(|r| r.spills).map(|s| s.stores + s.loads),
            resident: resident.map(|r| r.to_string()),
            unknown: report.err().map(|e| match e {
                ToolError::Missing { tool } => {
                    format!("{tool} is not found; `warpsmith doctor` says where it is looked for")
                }
                other => other.to_string(),
            }),
        }
    }
}

fn assemble(made: &Made, target: Target) -> Result<CompileReport, ToolError> {
    let cubin = Assembler::find()?.assemble(&made.compiled.module.to_string(), target)?;
    Ok(cubin.report(&made.compiled.entry))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let Explanation { operator, dtype, chip, target, .. } = self;
        writeln!(f, "{operator} of {dtype} ({shape}) on {chip} ({target})")?;
        write!(f, "{}", self.floor)?;
        let mut taken = false;
        for WayReport { name, what, refusal, kernel } in &self.implementations {
            let (word, ink) = match (refusal, taken) {
                (None, false) => ("taken", Ink::Good),
                (None, true) => ("not reached", Ink::Dim),
                (Some(_), _) => ("refused", Ink::Warn),
            };
            taken |= refusal.is_none();
            write!(f, "\n\n{name}: {}\n  {what}", paint(ink, word))?;
            if let Some(refusal) = refusal {
                write!(f, "\n  {refusal}")?;
            }
            if let Some(kernel) = kernel {
                write!(f, "{kernel}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for FloorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bandwidth, peak) = self.speeds;
        write!(f, "  floor      {:.1} µs: ", self.bytes_microseconds.max(self.operations_microseconds.unwrap_or(0.0)))?;
        write!(
            f,
            "{:.1} MB at {:.0} GB/s take {:.1} µs",
            self.bytes as f64 / 1e6,
            bandwidth / 1e9,
            self.bytes_microseconds
        )?;
        if let (Some(n), Some(peak), Some(time)) = (self.operations, peak, self.operations_microseconds) {
            let (n, peak) = (n as f64 / 1e9, peak / 1e12);
            write!(f, ", {n:.1} Gflop at {peak:.0} TFLOP/s {time:.1} µs")?;
        }
        f.write_str(" (datasheet)")
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |n: [usize; 3]| match n {
            [x, 1, 1] => x.to_string(),
            n => n.map(|n| n.to_string()).join(" x "),
        };
        write!(f, "\n  kernel     {}", self.name)?;
        write!(f, "\n  plan       {}", self.plan)?;
        write!(f, "\n  launch     {} blocks of {} threads", times(self.grid), times(self.block))?;
        if let Some(cluster) = self.cluster {
            write!(f, " in clusters of {}", times(cluster))?;
        }
        if self.pdl {
            f.write_str(", with PDL")?;
        }
        let dynamic = self.dynamic_shared;
        match (self.registers, &self.unknown) {
            (_, Some(why)) => {
                write!(f, "\n  shared     {dynamic} bytes at launch")?;
                write!(f, "\n  registers  not known: {why}")
            }
            (registers, None) => {
                let number = |n: Option<u32>| n.map_or("not said".into(), |n| n.to_string());
                write!(f, "\n  shared     {} bytes, {dynamic} more at launch", number(self.static_shared))?;
                write!(f, "\n  registers  {}, {} bytes spilled", number(registers), number(self.spill_bytes))?;
                write!(f, "\n  resident   {}", self.resident.as_deref().unwrap_or("not one block fits"))
            }
        }
    }
}
