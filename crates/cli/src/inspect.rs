//! `warpsmith inspect`.

use crate::commands::InspectArgs;
use crate::failure::Failure;
use crate::operator::Operator;
use std::process::ExitCode;
use warpsmith::dsl::{Arguments, Compiled, DeviceId, Kernel, Params, TensorArg, compile};
use warpsmith::kernels::{rms_norm, softmax};
use warpsmith::runtime::LaunchError;
use warpsmith_types::Target;

/// Prints the code of an operator for dense, aligned tensors. Needs no device.
pub(crate) fn inspect(args: &InspectArgs) -> Result<ExitCode, Failure> {
    let operator = Operator::named(&args.operator)?;
    // An address that is aligned like an allocation; nothing is behind it.
    let tensor = |shape: &[usize]| TensorArg::new(1 << 20, DeviceId(0), args.dtype, shape);
    let (x, mut y, weight) = (tensor(&[1024, args.dim]), tensor(&[1024, args.dim]), tensor(&[args.dim]));
    y.address += x.span().next_multiple_of(256);
    let compiled = match operator {
        Operator::Softmax => {
            let kernel = softmax::plan(&x, &y).map_err(LaunchError::from)?;
            code(&kernel, &softmax::SoftmaxArgs { x: &x, y: &mut y }, args.target)
        }
        Operator::RmsNorm => {
            let kernel = rms_norm::plan(&x, Some(&weight), &y, 1e-6).map_err(LaunchError::from)?;
            let host = rms_norm::RmsNormArgs { x: &x, weight: Some(&weight), y: &mut y, eps: 1e-6 };
            code(&kernel, &host, args.target)
        }
    }?;
    if args.ir {
        println!("{}", compiled.program);
    }
    if args.ptx || !args.ir {
        println!("{}", compiled.module);
    }
    Ok(ExitCode::SUCCESS)
}

fn code<K: Kernel>(kernel: &K, host: &<K::Args as Params>::Host<'_>, target: Target) -> Result<Compiled, Failure> {
    let arguments = Arguments::of::<K::Args>(host);
    Ok(compile(kernel, &arguments, &kernel.launch(host), target).map_err(LaunchError::from)?)
}
