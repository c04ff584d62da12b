//! What can be typed.

use crate::emulate::{self, EmulateArgs};
use crate::failure::Failure;
use crate::layout::{self, LayoutArgs};
use crate::{doctor, inspect, run};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use warpsmith_types::{DType, Target};

/// GPU kernels in Rust: run them on a card or without one, check them, look at their code.
#[derive(Parser)]
#[command(name = "warpsmith", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an operator on a tensor, and compare the result with a float64 reference
    #[command(after_help = "Examples:
  warpsmith run softmax --input examples/data/logits.safetensors
  warpsmith run rms_norm --input examples/data/hidden.safetensors --tensor hidden --weight-tensor weight
  warpsmith run softmax --random 32768x4096 --dtype bf16 --device cuda")]
    Run(RunArgs),
    /// Show the code of an operator: its IR, its PTX, its machine code, and what it costs
    #[command(after_help = "Examples:
  warpsmith inspect softmax --dtype bf16 --dim 4096 --ptx
  warpsmith inspect rms_norm --dim 8192 --sass --source --target sm_100a
  warpsmith inspect gemm --resources")]
    Inspect(InspectArgs),
    /// Run a kernel of a PTX file on the emulator, whoever made it, and check it
    #[command(
        after_help = "An argument is a tensor, a scalar or a file, one for each parameter of the kernel, in order:
  --arg x:f32[1024]=random       random, random:SEED, zeros, iota, a number, or poison: nothing (the default)
  --arg n:u32=1024               f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8
  --arg y:y.npy                  also .safetensors; as f32[64,128]=y.npy its dtype and extents are checked
The name before the colon is for reports and --out; without it, the parameter's is taken.

Example:
  warpsmith emulate crates/emulator/tests/nvcc/saxpy.ptx --grid 8 --block 128 \\
    --arg n:i32=1000 --arg a:f32=1.5 --arg x:f32[1000]=random --arg y:f32[1000]=iota --out y=y.npy

Exit code: 3 when the sanitizer found an error, 2 for bad input, else 0."
    )]
    Emulate(Box<EmulateArgs>),
    /// Show a layout, or the result of an operation on layouts: its facts and its picture
    #[command(
        arg_required_else_help = true,
        after_help = "Examples:
  warpsmith layout '(4,8):(8,1)'
  warpsmith layout --tv '(4,8):(8,1)' '(2,2):(2,1)' --svg threads.svg
  warpsmith layout --compose '(4,6,8,10):(2,3,5,7)' 6:12
  warpsmith layout --divide '(8,16):(16,1)' '<4,8>'
  warpsmith layout --swizzle 3,3,3 '(8,64):(64,1)' --svg banks.svg"
    )]
    Layout(Box<LayoutArgs>),
    /// Say what is found on this machine, and what is missing
    Doctor,
}

/// Where to run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceChoice {
    /// A CUDA card
    Cuda,
    /// The emulator, with its sanitizer
    Emulated,
    /// The float64 reference itself
    Cpu,
}

/// `warpsmith run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The operator: softmax, rms_norm
    pub(crate) operator: String,
    /// A .safetensors or .npy file with a (rows, dim) tensor
    #[arg(long, value_name = "FILE", required_unless_present = "random", conflicts_with = "random")]
    pub(crate) input: Option<PathBuf>,
    /// The tensor in the file, when it holds several
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Normal random numbers instead of a file
    #[arg(long, value_name = "ROWSxDIM", value_parser = parse_shape)]
    pub(crate) random: Option<[usize; 2]>,
    /// The dtype of random numbers
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = parse_dtype)]
    pub(crate) dtype: DType,
    /// The seed of random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// rms_norm: the file of the weight, when it is not the input's
    #[arg(long, value_name = "FILE")]
    pub(crate) weight: Option<PathBuf>,
    /// rms_norm: the weight's tensor in its file
    #[arg(long, value_name = "NAME")]
    pub(crate) weight_tensor: Option<String>,
    /// rms_norm: added to the mean square
    #[arg(long, value_name = "X", default_value_t = 1e-6)]
    pub(crate) eps: f32,
    /// Where to run; without it, a card when there is one, else the emulator
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceChoice>,
    /// Another plan: so many threads to a row, a power of two up to 1024
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
    /// The operator: softmax, rms_norm, gemm
    pub(crate) operator: String,
    /// The dtype of all tensors
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = parse_dtype)]
    pub(crate) dtype: DType,
    /// softmax, rms_norm: the length of a row
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) dim: usize,
    /// gemm: its extents; without it, 4096 each
    #[arg(long, value_name = "MxNxK", value_parser = parse_extents)]
    pub(crate) shape: Option<[usize; 3]>,
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

fn parse_dtype(text: &str) -> Result<DType, String> {
    text.parse().map_err(|e: warpsmith_types::dtype::UnknownDType| e.to_string())
}

fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|e: warpsmith_types::target::UnknownTarget| e.to_string())
}

fn parse_extents(text: &str) -> Result<[usize; 3], String> {
    let parts: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    let parts = parts.ok().and_then(|parts| <[usize; 3]>::try_from(parts).ok());
    parts.ok_or_else(|| format!("`{text}` is not MxNxK; expected three numbers, like 4096x4096x4096"))
}

fn parse_shape(text: &str) -> Result<[usize; 2], String> {
    let parts = text.split_once('x').and_then(|(r, d)| Some([r.parse().ok()?, d.parse().ok()?]));
    parts.ok_or_else(|| format!("`{text}` is not ROWSxDIM; expected two numbers, like 1024x4096"))
}

/// Does what was typed.
pub(crate) fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Layout(args) => layout::layout(&args),
        Command::Doctor => {
            println!("{}", doctor::examine());
            Ok(ExitCode::SUCCESS)
        }
    }
}
