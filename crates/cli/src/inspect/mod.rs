//! `warpsmith inspect`: the code of an operator at each stage, with the source above what became of it.

mod listing;
mod resources;
mod source;

use crate::commands::InspectArgs;
use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
use crate::output;
use listing::Lines;
use resources::Resources;
use std::process::ExitCode;
use warpsmith::dsl::{Arguments, Compiled, DeviceId, Kernel, Params, TensorArg, compile};
use warpsmith::kernels::{gemm, rms_norm, softmax};
use warpsmith::runtime::LaunchError;
use warpsmith::runtime::report::{Assembler, Cubin, Disassembler, MachineCode, ToolError};
use warpsmith_types::{Chip, Target};

/// Prints the code of an operator for dense, aligned tensors. Needs no device.
pub(crate) fn inspect(args: &InspectArgs) -> Result<ExitCode, Failure> {
    let compiled = compiled(args)?;
    compiled.warnings.iter().for_each(|w| eprintln!("{w}"));
    let ptx = compiled.module.to_string();
    let lines = if args.source { Some(Lines::of(&compiled)?) } else { None };
    if args.ir {
        output::print(listing::ir(&compiled.program.to_string(), args.source))?;
    }
    if args.ptx || !(args.ir || args.sass || args.resources) {
        output::print(listing::ptx(&ptx, lines.as_ref()))?;
    }
    if args.sass || args.resources {
        let cubin = Assembler::find()?.assemble(&ptx, args.target)?;
        if args.sass {
            let code = machine_code(&cubin, &compiled.entry)?;
            output::print(listing::sass(&code, args.target, lines.as_ref()))?;
        }
        if args.resources {
            let code = match machine_code(&cubin, &compiled.entry) {
                Err(Failure::Tool(missing @ ToolError::Missing { .. })) => Err(missing),
                other => Ok(other?),
            };
            output::print(Resources { compiled: &compiled, cubin: &cubin, code })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The operator for tensors of the config: their addresses are aligned like allocations, and nothing is behind them.
fn compiled(args: &InspectArgs) -> Result<Compiled, Failure> {
    let mut next = 1 << 20;
    let mut tensor = |shape: &[usize]| {
        let t = TensorArg::new(next, DeviceId(0), args.dtype, shape);
        next = (next + t.span()).next_multiple_of(256);
        t
    };
    let operator = Operator::named(&args.operator)?;
    if args.shape.is_some() && operator != Operator::Gemm {
        return Err(Failure::Option("--shape is for gemm; operators over rows take --dim".into()));
    }
    let chip = Chip { target: args.target, ..Chip::of_target(args.target).unwrap_or(Chip::H200) };
    match operator {
        Operator::Rows(RowOperator::Softmax) => {
            let (x, mut y) = (tensor(&[1024, args.dim]), tensor(&[1024, args.dim]));
            let kernel = softmax::plan_on(&x, &y, &chip).map_err(LaunchError::from)?;
            code(&kernel, &softmax::SoftmaxArgs { x: &x, y: &mut y }, args.target)
        }
        Operator::Rows(RowOperator::RmsNorm) => {
            let (x, mut y, weight) = (tensor(&[1024, args.dim]), tensor(&[1024, args.dim]), tensor(&[args.dim]));
            let kernel = rms_norm::plan_on(&x, Some(&weight), &y, 1e-6, &chip).map_err(LaunchError::from)?;
            let host = rms_norm::RmsNormArgs { x: &x, weight: Some(&weight), y: &mut y, eps: 1e-6 };
            code(&kernel, &host, args.target)
        }
        Operator::Gemm => {
            let [m, n, k] = args.shape.unwrap_or([4096; 3]);
            let (a, b, mut c) = (tensor(&[m, k]), tensor(&[n, k]), tensor(&[m, n]));
            let kernel = gemm::plan(&a, &b, &c, &chip).map_err(LaunchError::from)?;
            code(&kernel, &gemm::GemmArgs { a: &a, b: &b, c: &mut c }, args.target)
        }
    }
}

fn code<K: Kernel>(kernel: &K, host: &<K::Args as Params>::Host<'_>, target: Target) -> Result<Compiled, Failure> {
    let arguments = Arguments::of::<K::Args>(host);
    Ok(compile(kernel, &arguments, &kernel.launch(host), target).map_err(LaunchError::from)?)
}

/// The machine code of a kernel of the file.
fn machine_code(cubin: &Cubin, kernel: &str) -> Result<MachineCode, Failure> {
    let all = Disassembler::find()?.disassemble(cubin)?;
    let missing = || Failure::Option(format!("the machine code has no kernel `{kernel}`"));
    all.into_iter().find(|code| code.kernel == kernel).ok_or_else(missing)
}
