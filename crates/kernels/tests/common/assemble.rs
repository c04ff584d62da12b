//! What `ptxas` makes of a test's kernels. Skipped, and said so, where there is no `ptxas`.

use warpsmith_dsl::{Arguments, DType, DeviceId, Kernel, Params, Target, TensorArg, compile};
use warpsmith_runtime::report::{Assembler, CompileReport, Spills, ToolError};

/// An argument that is never read: only what it says of itself counts.
pub fn tensor(address: u64, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new(address, DeviceId(0), dtype, shape)
}

/// The PTX, and what the assembler says of it.
pub fn assemble<K: Kernel>(
    kernel: &K,
    host: &<K::Args as Params>::Host<'_>,
    target: Target,
) -> Option<(String, CompileReport)> {
    let assembler = match Assembler::find() {
        Ok(assembler) => assembler,
        Err(e @ ToolError::Missing { .. }) => {
            println!("skipped: {e}");
            return None;
        }
        Err(e) => panic!("{e}"),
    };
    let arguments = Arguments::of::<K::Args>(host);
    let compiled = compile(kernel, &arguments, &kernel.launch(host), target).unwrap();
    let ptx = compiled.module.to_string();
    let cubin = assembler.assemble(&ptx, target).unwrap_or_else(|e| panic!("{}: {e}", compiled.entry));
    Some((ptx, cubin.report(&compiled.entry)))
}

/// No spills, no local memory, no warnings, registers within a budget.
pub fn check(name: &str, report: &CompileReport, budget: u32) {
    assert_eq!((report.spills, report.local), (Some(Spills::default()), Some(0)), "{name}: {report:?}");
    assert_eq!(report.warnings, [], "{name}");
    let registers = report.registers.unwrap();
    assert!(registers <= budget, "{name}: {registers} registers, budget {budget}");
}
