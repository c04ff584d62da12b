//! What can be typed.

use crate::bench::{self, BenchArgs, Extents};
use crate::compile::{self, CompileArgs};
use crate::completions::{self, CompletionsArgs};
use crate::doctor::{self, DoctorArgs};
use crate::emulate::{self, EmulateArgs};
use crate::explain::{self, ExplainArgs};
use crate::failure::Failure;
use crate::layout::{self, LayoutArgs};
use crate::style::ColorChoice;
use crate::{help, inspect, operator, run};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use warpsmith::runtime::Device;
use warpsmith_types::{Chip, DType, Target};

/// GPU kernels in Rust: run them on a card or without one, check them, time them, look at their code.
#[derive(Parser)]
// Whole lines: examples are there to be copied.
#[command(name = "warpsmith", version, about, arg_required_else_help = true, after_help = help::ALL, term_width = 0)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to print in colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    /// Run an operator on a tensor, and compare the result with a float64 reference
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Time operators on a card beside a copy of the same bytes, or count what they do on the emulator
    #[command(after_help = help::BENCH)]
    Bench(BenchArgs),
    /// Say which implementation a call takes, and why it does not take the others
    #[command(after_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show the code of an operator: its IR, its PTX, its machine code, and what it costs
    #[command(after_help = help::INSPECT)]
    Inspect(InspectArgs),
    /// Compile operators into a bundle, which a deployment loads without assembling anything
    #[command(after_help = help::COMPILE)]
    Compile(CompileArgs),
    /// Run a kernel of a PTX file on the emulator, whoever made it, and check it
    #[command(after_help = help::EMULATE)]
    Emulate(Box<EmulateArgs>),
    /// Show a layout, or the result of an operation on layouts: its facts and its picture
    #[command(arg_required_else_help = true, after_help = help::LAYOUT)]
    Layout(Box<LayoutArgs>),
    /// Say what is found on this machine, what is missing, and what that costs
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Print a script by which a shell completes this command
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
}

/// `warpsmith run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The operator
    #[arg(value_name = "OP", value_parser = Names(operator::runnable))]
    pub(crate) operator: String,
    /// A .safetensors or .npy file with a (rows, dim) tensor, for gemm (m, k)
    #[arg(long, value_name = "FILE", required_unless_present = "random", conflicts_with = "random")]
    pub(crate) input: Option<PathBuf>,
    /// The tensor in the file, when it holds several
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Normal random numbers instead of a file: ROWSxDIM, or MxNxK for gemm
    #[arg(long, value_name = "SHAPE", value_parser = parse_extents)]
    pub(crate) random: Option<Extents>,
    /// The dtype of random numbers
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = parse_dtype)]
    pub(crate) dtype: DType,
    /// The seed of random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// rms_norm, gemm: the file of the weight, (dim) or (n, k), when it is not the input's
    #[arg(long, value_name = "FILE")]
    pub(crate) weight: Option<PathBuf>,
    /// rms_norm, gemm: the weight's tensor in its file
    #[arg(long, value_name = "NAME")]
    pub(crate) weight_tensor: Option<String>,
    /// rms_norm: added to the mean square
    #[arg(long, value_name = "X", default_value_t = 1e-6)]
    pub(crate) eps: f32,
    /// Where: cuda, cuda:N, emulated, emulated:CHIP, or cpu, the float64 reference itself; without it, a card when there is
    /// one, else the emulator
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Another plan: so many threads to a row, a power of two up to 32 or a multiple of 32 up to 1024
    #[arg(long, value_name = "N")]
    pub(crate) threads_per_row: Option<usize>,
    /// Run this PTX in place of ours, with the same launch
    #[arg(long, value_name = "FILE")]
    pub(crate) ptx: Option<PathBuf>,
    /// Write the result there, as .safetensors or .npy
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `warpsmith inspect`.
#[derive(Args)]
pub(crate) struct InspectArgs {
    /// The operator
    #[arg(value_name = "OP", value_parser = Names(operator::names))]
    pub(crate) operator: String,
    /// The dtype of all tensors
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = parse_dtype)]
    pub(crate) dtype: DType,
    /// Operators over rows: the length of a row
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) dim: usize,
    /// gemm: its extents; without it, 4096 each
    #[arg(long, value_name = "MxNxK", value_parser = parse_product)]
    pub(crate) shape: Option<[usize; 3]>,
    /// Promise that weights are constant
    #[arg(long)]
    pub(crate) constant: bool,
    /// The instruction set: sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a
    #[arg(long, value_name = "TARGET", default_value = "sm_90a", value_parser = parse_target)]
    pub(crate) target: Target,
    /// Show the IR after the passes
    #[arg(long)]
    pub(crate) ir: bool,
    /// Show the PTX (the default)
    #[arg(long)]
    pub(crate) ptx: bool,
    /// Show the machine code; needs ptxas and nvdisasm
    #[arg(long)]
    pub(crate) sass: bool,
    /// Show registers, memory and warnings; needs ptxas, and nvdisasm for what the code is made of
    #[arg(long)]
    pub(crate) resources: bool,
    /// Show the lines of Rust above what became of them
    #[arg(long)]
    pub(crate) source: bool,
}

/// A name that is looked up later, where a mistake gets a suggestion; these are for help and completions.
#[derive(Clone)]
pub(crate) struct Names(pub(crate) fn() -> Vec<&'static str>);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, _: &clap::Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

pub(crate) fn parse_dtype(text: &str) -> Result<DType, String> {
    text.parse().map_err(|e: warpsmith_types::dtype::UnknownDType| e.to_string())
}

pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|e: warpsmith_types::target::UnknownTarget| e.to_string())
}

pub(crate) fn parse_chip(text: &str) -> Result<Chip, String> {
    let names: Vec<&str> = Chip::ALL.iter().map(|c| c.name).collect();
    Chip::by_name(text).ok_or_else(|| format!("there is no chip `{text}`; there are {}", names.join(", ")))
}

/// Two numbers or three.
pub(crate) fn parse_extents(text: &str) -> Result<Extents, String> {
    let parts: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    let parts = parts.ok().filter(|parts| parts.len() == 2 || parts.len() == 3);
    let expected = "expected ROWSxDIM or MxNxK, like 1024x4096 or 4096x4096x4096";
    parts.map(Extents::from).ok_or_else(|| format!("`{text}` is no shape; {expected}"))
}

fn parse_product(text: &str) -> Result<[usize; 3], String> {
    let extents = parse_extents(text).ok().and_then(|parts| <[usize; 3]>::try_from(&*parts).ok());
    extents.ok_or_else(|| format!("`{text}` is not MxNxK; expected three numbers, like 4096x4096x4096"))
}

/// The device of `--device`; without it a card when there is one, else an emulated H200.
pub(crate) fn open_device(name: Option<&str>) -> Result<Device, Failure> {
    let Some(name) = name else { return Ok(Device::best()) };
    Device::named(name)?.ok_or_else(|| {
        let chips = Chip::ALL.map(|c| c.name).join(", ");
        Failure::Option(format!("--device {name}: expected cuda, cuda:N, emulated or emulated:CHIP ({chips})"))
    })
}

impl Cli {
    /// When to print in colour.
    pub(crate) fn color(&self) -> ColorChoice {
        self.color
    }
}

/// Does what was typed.
pub(crate) fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Compile(args) => compile::compile(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Layout(args) => layout::layout(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completions(args) => completions::completions(&args),
    }
}
