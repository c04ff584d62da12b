//! `warpsmith inspect`: the code of an operator at each stage, with the source above what became of it.

mod listing;
mod resources;
mod source;

use crate::case::{Case, taken};
use crate::commands::InspectArgs;
use crate::failure::Failure;
use crate::operator::Operator;
use crate::output;
use listing::Lines;
use resources::Resources;
use std::convert::Infallible;
use std::process::ExitCode;
use warpsmith::dsl::{Compiled, DeviceId, TensorArg};
use warpsmith::runtime::report::{Assembler, Cubin, Disassembler, MachineCode, ToolError};
use warpsmith_types::Chip;

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
    let operator = Operator::named(&args.operator)?;
    if args.shape.is_some() && operator != Operator::Gemm {
        return Err(Failure::Option("--shape is for gemm; operators over rows take --dim".into()));
    }
    let shape = match operator {
        Operator::Rows(_) => vec![1024, args.dim],
        Operator::Gemm => args.shape.unwrap_or([4096; 3]).into(),
    };
    let mut case = Case::new(operator, args.dtype, &shape, None)?;
    case.constant = args.constant;
    let mut next = 1 << 20;
    let Ok(mut tensors) = case.place(|part| -> Result<_, Infallible> {
        let t = TensorArg::new(next, DeviceId(0), part.dtype, &part.shape);
        next = (next + t.span()).next_multiple_of(256);
        Ok(t)
    });
    let chip = Chip { target: args.target, ..Chip::of_target(args.target).unwrap_or(Chip::H200) };
    Ok(taken(case.ways(&mut tensors, &chip)?)?.compiled)
}

/// The machine code of a kernel of the file.
fn machine_code(cubin: &Cubin, kernel: &str) -> Result<MachineCode, Failure> {
    let all = Disassembler::find()?.disassemble(cubin)?;
    let missing = || Failure::Option(format!("the machine code has no kernel `{kernel}`"));
    all.into_iter().find(|code| code.kernel == kernel).ok_or_else(missing)
}
