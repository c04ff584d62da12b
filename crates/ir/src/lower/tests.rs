//! Errors, names and versions. What each operation becomes is in `tests/files/lower`.

use super::*;
use crate::text::parse;
use warpsmith_types::PtxVersion;

fn lowered(text: &str, target: Target) -> Module {
    lower(&parse(text).unwrap(), &LowerOptions::new(target)).unwrap()
}

#[test]
fn an_invalid_kernel_is_an_error() {
    let kernel = parse("kernel k() {\n  unused %0: bool\n  exit_if %0\n}").unwrap();
    let error = lower(&kernel, &LowerOptions::new(Target::SM_90A)).unwrap_err();
    assert!(matches!(&error, LowerError::Invalid(report) if report.diagnostics.len() == 1), "{error}");
}

#[test]
fn names_become_identifiers_and_stay_apart() {
    let text = "kernel k(\"x.stride\": u32, x_stride: u32, k: u32, \"1\": u32) {\n  shared k: 4 align 4\n}";
    let module = lowered(text, Target::SM_80);
    let function = &module.functions[0];
    let names: Vec<&str> = function.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["x_stride", "x_stride_2", "k_2", "v1"]);
    assert_eq!(function.variables[0].name, "k_3");
}

#[test]
fn the_version_is_the_oldest_that_will_do() {
    let version = |body: &str, target| lowered(&format!("kernel k() {{\n{body}\n}}"), target).version;
    assert_eq!(version("", Target::SM_80), PtxVersion::new(7, 0));
    assert_eq!(version("", Target::SM_90A), PtxVersion::new(8, 0));
    assert_eq!(version("wait_for_upstream", Target::SM_90), PtxVersion::new(7, 8));
    assert_eq!(version("barrier @ a.rs:1:1", Target::SM_80), PtxVersion::new(7, 0));
    assert_eq!(version("barrier @ a.rs:1:1 in f @ b.rs:1:1", Target::SM_80), PtxVersion::new(7, 2));
}

#[test]
fn lines_can_be_left_out() {
    let kernel = parse("kernel k() {\n  barrier @ a.rs:1:1\n}").unwrap();
    let options = LowerOptions { line_info: false, ..LowerOptions::new(Target::SM_90A) };
    let module = lower(&kernel, &options).unwrap();
    assert!(module.files.is_empty());
    assert!(!module.functions[0].body.iter().any(|s| matches!(s, warpsmith_ptx::Statement::Source(_))));
}

#[test]
fn equal_kernels_give_equal_text() {
    let text = "kernel k(n: u32) {\n  %0: u32 = param n\n  %1: bool = lt %0, %0\n  exit_if %1\n}";
    assert_eq!(lowered(text, Target::SM_90A).to_string(), lowered(text, Target::SM_90A).to_string());
}
