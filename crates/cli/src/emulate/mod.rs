//! `warpsmith emulate`: a kernel of a PTX file on the emulator, whoever made it.

mod argument;
mod placed;
mod report;
mod values;
mod watched;

use crate::commands::parse_chip;
use crate::failure::Failure;
use crate::output;
use crate::tensor_file;
use argument::Argument;
use clap::Args;
use placed::{Placed, PlacedTensor};
use report::{FindingReport, Report, TensorReport};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use warpsmith::runtime::Error;
use warpsmith_emulator::{Checks, Finding, FindingKind, Launch, Options, Program, Schedule, System, Watch};
use warpsmith_ptx::{Function, FunctionKind, Module};
use warpsmith_types::{Chip, Severity};
use watched::{AdviceReport, ProfileReport, Sources, TraceReport};

/// `warpsmith emulate`.
#[derive(Args)]
pub(crate) struct EmulateArgs {
    /// The PTX
    file: PathBuf,
    /// The kernel; not needed when the file has only one
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_extents)]
    grid: [u32; 3],
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_extents)]
    block: [u32; 3],
    /// Blocks of a cluster; without it, what the kernel requires, or 1
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_extents)]
    cluster: Option<[u32; 3]>,
    /// Shared memory of a block beyond what the kernel declares, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// All blocks run at the same time: a grid that the chip has no room for is refused
    #[arg(long)]
    cooperative: bool,
    /// An argument of the kernel, one for each parameter, in order
    #[arg(long = "arg", value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// Write a tensor to a file after the launch, .npy or .safetensors
    #[arg(long = "out", value_name = "NAME=FILE", value_parser = parse_output)]
    outputs: Vec<(String, PathBuf)>,
    /// What to look for
    #[arg(long, value_name = "CHECK", value_enum, value_delimiter = ',', default_value = "all")]
    check: Vec<Check>,
    /// Choose who runs when; 0 runs warps and blocks in order. The seed of a report shows what was found again
    #[arg(long, visible_alias = "replay", value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Choose the kind of schedule
    #[arg(long, value_enum, default_value = "seeded")]
    schedule: Order,
    /// Run the lanes of a warp one after the other until an instruction makes them meet
    #[arg(long)]
    lanes_apart: bool,
    /// Show what each line did: instructions, lanes, bytes, transactions
    #[arg(long)]
    profile: bool,
    /// Follow a warp, instruction by instruction with its registers: its block, and its number in it
    #[arg(long, value_name = "X[,Y[,Z]]:WARP", value_parser = parse_warp)]
    trace: Option<([u32; 3], u32)>,
    /// How many instructions of it to show
    #[arg(long, value_name = "N", default_value_t = 200)]
    steps: u64,
    /// Give up after so many warp instructions
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// The chip: a100, h100, h200, b200, b300, rtx4090, rtx5090; without it, an h200 if that runs the PTX's target
    #[arg(long, value_name = "CHIP", value_parser = parse_chip)]
    chip: Option<Chip>,
    /// Show so many elements of each tensor that changed
    #[arg(long, value_name = "N", default_value_t = 8)]
    head: usize,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What the sanitizer looks for. A kernel that hangs, traps or runs what there is not is reported in any case.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Check {
    /// Bounds and alignment of accesses
    Memory,
    /// Reads of what nothing wrote
    Init,
    /// Accesses without order between them
    Races,
    /// Misused barriers and masks
    Sync,
    /// Costs: bank conflicts, split accesses, local memory, divergent branches, rereading. Advice, and never an error
    Perf,
    /// Everything but costs
    All,
    /// Nothing
    None,
}

/// Who runs when.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// In order with seed 0, else at random
    Seeded,
    /// An instruction of each in turn
    RoundRobin,
    /// One warp of each block seldom runs
    SlowWarp,
    /// One cluster seldom runs
    SlowBlock,
}

impl Order {
    fn schedule(self) -> Schedule {
        match self {
            Order::Seeded => Schedule::Seeded,
            Order::RoundRobin => Schedule::RoundRobin,
            Order::SlowWarp => Schedule::SlowWarp,
            Order::SlowBlock => Schedule::SlowBlock,
        }
    }
}

fn parse_warp(text: &str) -> Result<([u32; 3], u32), String> {
    let indices = |text: &str| -> Option<[u32; 3]> {
        let parts: Vec<u32> = text.split(',').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        (parts.len() <= 3).then(|| std::array::from_fn(|i| parts.get(i).copied().unwrap_or(0)))
    };
    let parts = text.split_once(':').and_then(|(block, warp)| Some((indices(block)?, warp.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not X[,Y[,Z]]:WARP, like 0:0 for the first warp of the first block"))
}

fn parse_extents(text: &str) -> Result<[u32; 3], String> {
    let parts: Result<Vec<u32>, _> = text.split([',', 'x']).map(str::parse).collect();
    match parts.as_deref() {
        Ok([x]) => Ok([*x, 1, 1]),
        Ok([x, y]) => Ok([*x, *y, 1]),
        Ok([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err(format!("`{text}` is not X[,Y[,Z]]; expected one to three numbers, like 64,2")),
    }
}

fn parse_output(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text.split_once('=').map(|(name, file)| (name.to_string(), PathBuf::from(file)));
    parts.ok_or_else(|| format!("`{text}` is not NAME=FILE, like y=y.npy"))
}

/// Runs the kernel and reports. The exit code is 3 when the sanitizer found an error.
pub(crate) fn emulate(args: &EmulateArgs) -> Result<ExitCode, Failure> {
    let read = |error| Failure::Read { path: args.file.clone(), error };
    let text = std::fs::read_to_string(&args.file).map_err(read)?;
    let parsed = warpsmith_ptx::parse(&text);
    let module = parsed.map_err(|e| Failure::Option(format!("{}: {e}", args.file.display())))?;
    let (kernel, chip) = (entry(&module, args)?, chip(&module, args)?);
    let program = Program::decode(&module, &kernel.name).map_err(Error::from)?;
    let arguments: Vec<Argument> = args.arguments.iter().map(|text| Argument::read(text)).collect::<Result<_, _>>()?;

    let mut system = System::new(chip);
    let placed = Placed::new(&arguments, kernel, &program, &mut system)?;
    check_outputs(&placed, args)?;
    let launch = Launch {
        grid: args.grid,
        block: args.block,
        cluster: args.cluster.or(kernel.directives.reqnctapercluster).unwrap_or([1; 3]),
        dynamic_shared: args.shared,
        parameters: placed.parameters.clone(),
        cooperative: args.cooperative,
        dependent: false,
    };
    if let Some((block, warp)) = args.trace {
        let warps = launch.block.iter().product::<u32>().div_ceil(32);
        if block.iter().zip(launch.grid).any(|(n, grid)| *n >= grid) || warp >= warps {
            let [x, y, z] = block;
            return Err(Failure::Option(format!(
                "--trace {x},{y},{z}:{warp}: there is no such warp in a grid of {:?} blocks of {warps} warps",
                launch.grid
            )));
        }
    }
    let perf = args.check.contains(&Check::Perf);
    let options = Options {
        checks: checks(&args.check),
        seed: args.seed,
        schedule: args.schedule.schedule(),
        lanes_apart: args.lanes_apart,
        budget: args.budget,
        watch: Watch { profile: args.profile || perf, warp: args.trace, most_steps: args.steps },
        ..Options::default()
    };
    let start = Instant::now();
    let outcome = system.launch(&program, &launch, Some(&placed.manifest()), &options).map_err(Error::from)?;
    let took = start.elapsed();

    let findings: Vec<Finding> = outcome.findings.into_iter().filter(|f| wanted(f, &args.check)).collect();
    let failed = findings.iter().any(|f| f.diagnostic().severity == Severity::Error);
    let mut sources = Sources::new(&args.file, &text);
    let advice = outcome.profile.as_ref().filter(|_| perf).map(|p| p.advice()).unwrap_or_default();
    let report = Report {
        advice: perf.then(|| advice.into_iter().map(|a| AdviceReport::new(a, &mut sources)).collect()),
        profile: outcome.profile.filter(|_| args.profile).map(|p| ProfileReport::new(p, &mut sources)),
        trace: args.trace.map(|_| TraceReport::new(outcome.steps, kernel, &mut sources)),
        kernel: kernel.name.clone(),
        file: args.file.display().to_string(),
        chip: chip.name,
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        shared: launch.dynamic_shared,
        seed: args.seed,
        milliseconds: took.as_secs_f64() * 1e3,
        instructions: outcome.instructions,
        stopped: outcome.stopped,
        printed: outcome.printed,
        tensors: placed.tensors.iter().map(|t| read_back(t, &system, args)).collect::<Result<_, _>>()?,
        findings: findings.iter().map(|f| FindingReport::new(f, &args.file)).collect(),
    };
    output::print_report(&report, args.json)?;
    Ok(if failed { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// Refuses an output that no tensor is, before anything runs.
fn check_outputs(placed: &Placed, args: &EmulateArgs) -> Result<(), Failure> {
    let unknown = args.outputs.iter().find(|(name, _)| placed.tensors.iter().all(|t| t.name != *name));
    let Some((name, _)) = unknown else { return Ok(()) };
    let names: Vec<_> = placed.tensors.iter().map(|t| format!("`{}`", t.name)).collect();
    Err(Failure::Option(format!("--out {name}: there is no tensor `{name}`; there are {}", names.join(", "))))
}

/// A tensor after the launch, written to its file if it has one.
fn read_back(tensor: &PlacedTensor, system: &System, args: &EmulateArgs) -> Result<TensorReport, Failure> {
    let after = tensor.after(system)?;
    let mut report = TensorReport {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name(),
        shape: tensor.shape.clone(),
        changed: after.changed,
        unwritten: after.unwritten,
        head: tensor.head(&after, args.head, system)?,
        file: None,
    };
    if let Some((_, path)) = args.outputs.iter().find(|(name, _)| *name == tensor.name) {
        let written = tensor_file::write(path, &tensor.name, &tensor.host(after))?;
        let note = if written == tensor.dtype { String::new() } else { format!(" as {written}") };
        report.file = Some(format!("{}{note}", path.display()));
    }
    Ok(report)
}

/// The kernel that is named, or the only one.
fn entry<'a>(module: &'a Module, args: &EmulateArgs) -> Result<&'a Function, Failure> {
    let kernels: Vec<&Function> = module.functions.iter().filter(|f| f.kind == FunctionKind::Entry).collect();
    let names: Vec<_> = kernels.iter().map(|f| format!("`{}`", f.name)).collect();
    let (file, names) = (args.file.display(), names.join(", "));
    match (&args.entry, kernels.as_slice()) {
        (_, []) => Err(Failure::Option(format!("{file}: there is no kernel (.entry) in it"))),
        (Some(name), all) => all.iter().find(|f| f.name == *name).copied().ok_or_else(|| {
            Failure::Option(format!("--entry {name}: there is no kernel `{name}` in {file}; there are {names}"))
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::Option(format!("{file} has several kernels; choose one by --entry: {names}"))),
    }
}

/// The chip that is named, if it runs the PTX; else one that does.
fn chip(module: &Module, args: &EmulateArgs) -> Result<Chip, Failure> {
    let target = module.target;
    let runs = |chip: &Chip| chip.target.has(target);
    match args.chip {
        Some(chip) if runs(&chip) => Ok(chip),
        Some(chip) => Err(Failure::Option(format!(
            "--chip {}: the PTX is for {target}, and this chip runs {}",
            chip.name, chip.target
        ))),
        None => {
            let found = [Chip::H200].into_iter().chain(Chip::ALL).find(runs);
            found.ok_or_else(|| Failure::Option(format!("the PTX is for {target}, which no known chip runs")))
        }
    }
}

fn checks(wanted: &[Check]) -> Checks {
    let has = |check| wanted.contains(&check) || wanted.contains(&Check::All);
    let mut checks = Checks::NONE;
    (checks.memory, checks.init, checks.races) = (has(Check::Memory), has(Check::Init), has(Check::Races));
    checks
}

/// Whether a finding is to be shown: the emulator looks for misused barriers in any case.
fn wanted(finding: &Finding, checks: &[Check]) -> bool {
    let of_sync = matches!(
        finding.kind,
        FindingKind::BarrierDivergence | FindingKind::BarrierCount | FindingKind::SyncMask | FindingKind::Mbarrier(_)
    );
    !of_sync || checks.iter().any(|c| matches!(c, Check::Sync | Check::All))
}
