//! What `ptxas` makes of kernels. Skipped, and said so, where there is no `ptxas`.

use std::path::PathBuf;
use std::process::Command;
use warpsmith_dsl::{Arguments, DType, DeviceId, Kernel, Params, Target, TensorArg, compile};
use warpsmith_runtime::CompileReport;

/// Where `ptxas` is: `WARPSMITH_PTXAS`, or on the path.
fn ptxas() -> Option<PathBuf> {
    if let Some(set) = std::env::var_os("WARPSMITH_PTXAS") {
        return Some(set.into());
    }
    let found = std::env::split_paths(&std::env::var_os("PATH")?).map(|p| p.join("ptxas")).find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: no ptxas on the path, and WARPSMITH_PTXAS is not set");
    }
    found
}

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
    let arguments = Arguments::of::<K::Args>(host);
    let compiled = compile(kernel, &arguments, &kernel.launch(host), target).unwrap();
    let ptx = compiled.module.to_string();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_{target}.ptx", compiled.entry));
    std::fs::write(&file, &ptx).unwrap();
    let arch = format!("-arch={target}");
    let output = Command::new(ptxas()?).args(["-v", &arch, "-o", "/dev/null"]).arg(&file).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}: {log}", compiled.entry);
    Some((ptx, CompileReport::from_log(&log, &compiled.entry)))
}

/// No spills, no warnings, registers within a budget.
pub fn check(name: &str, report: &CompileReport, budget: u32) {
    assert_eq!(report.spills, Some((0, 0)), "{name}: {report:?}");
    assert_eq!(report.warnings, Vec::<String>::new(), "{name}");
    let registers = report.registers.unwrap();
    assert!(registers <= budget, "{name}: {registers} registers, budget {budget}");
}
