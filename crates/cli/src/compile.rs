//! `warpsmith compile`.

use crate::failure::Failure;
use crate::output::print_report;
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use warpsmith::kernels::catalogue::{self, Wanted};
use warpsmith::runtime::bundle::{Bundle, BundleError, Form};
use warpsmith::runtime::report::{Assembler, Tool, ToolError};
use warpsmith_types::{Chip, Target};

/// `warpsmith compile`.
#[derive(Args)]
pub(crate) struct CompileArgs {
    /// What to compile, a quoted line each: 'softmax dtype=bf16 dim=1024..8192*2'
    #[arg(value_name = "LINE", required_unless_present = "list")]
    lines: Vec<String>,
    /// A file of such lines
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// The instruction sets, with commas between: sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', default_value = "sm_90a", value_parser = target)]
    target: Vec<Target>,
    /// The bundle to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

fn target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|e: warpsmith_types::target::UnknownTarget| e.to_string())
}

/// What was done.
#[derive(Serialize)]
struct Report {
    bundle: PathBuf,
    kernels: usize,
    bytes: u64,
    /// Whether it holds PTX, for want of an assembler.
    ptx: bool,
    targets: Vec<String>,
    /// Operators that a target does not have.
    left_out: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, of) = (if self.kernels == 1 { "" } else { "s" }, self.targets.join(", "));
        writeln!(
            f,
            "{}: {} kernel{s} for {of}, {} KiB",
            self.bundle.display(),
            self.kernels,
            self.bytes.div_ceil(1024)
        )?;
        for left_out in &self.left_out {
            writeln!(f, "left out: {left_out}")?;
        }
        if self.ptx {
            let advice = "PTX, no machine code: there is no ptxas here, and the driver assembles where it is loaded";
            writeln!(f, "holds {advice} ({} names one, scripts/fetch_ptxas.sh fetches it)", Tool::Ptxas.variable())?;
        }
        write!(f, "use it with {}={}", warpsmith::runtime::bundle::VARIABLE, self.bundle.display())
    }
}

/// Compiles a list of operators to a bundle; needs no card.
pub(crate) fn compile(args: &CompileArgs) -> Result<ExitCode, Failure> {
    let wanted = wanted(args)?;
    let assembler = match Assembler::find() {
        Ok(assembler) => Some(assembler),
        Err(ToolError::Missing { .. }) => None,
        Err(e) => return Err(e.into()),
    };
    let (mut requests, mut left_out) = (vec![], vec![]);
    for wanted in &wanted {
        let mut refused = vec![];
        for &target in &args.target {
            let chip =
                Chip::of_target(target).ok_or_else(|| Failure::Option(format!("no chip is known for {target}")))?;
            match catalogue::requests(std::slice::from_ref(wanted), &chip) {
                Ok(all) => requests.extend(all.into_iter().map(|r| (r, target))),
                Err(e) => refused.push(format!("{} for {target}: {e}", wanted.operator())),
            }
        }
        // An operator may be one target's; one that is nobody's is a mistake.
        if refused.len() == args.target.len() {
            return Err(Failure::Option(refused.swap_remove(0)));
        }
        left_out.extend(refused);
    }
    let made = Bundle::compile(&args.output, &requests, assembler.as_ref()).map_err(|e| match e {
        BundleError::Write { path, error } => Failure::Write { path, error },
        refused => Failure::Option(refused.to_string()),
    })?;
    let report = Report {
        bundle: args.output.clone(),
        kernels: made.kernels,
        bytes: made.bytes,
        ptx: made.form == Form::Ptx,
        targets: args.target.iter().map(ToString::to_string).collect(),
        left_out,
    };
    print_report(&report, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn wanted(args: &CompileArgs) -> Result<Vec<Wanted>, Failure> {
    let mut all = catalogue::parse(&args.lines.join("\n")).map_err(|e| Failure::Option(e.problem))?;
    if let Some(path) = &args.list {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::Read { path: path.clone(), error })?;
        let listed = catalogue::parse(&text).map_err(|e| Failure::Option(format!("{}: {e}", path.display())))?;
        all.extend(listed);
    }
    if all.is_empty() {
        return Err(Failure::Option("the list is empty; a line is like `softmax dtype=bf16 dim=4096`".into()));
    }
    Ok(all)
}
