//! `warpsmith inspect` as people type it.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

use std::path::PathBuf;
use std::process::Command;
use warpsmith_runtime::report::{Tool, ToolError};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command.args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}

fn said(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What `inspect` prints.
fn shown(args: &[&str]) -> String {
    let (code, out, err) = said(command(&[&["inspect"], args].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Whether the tools are here; a skip is printed.
fn tools(all: &[Tool]) -> bool {
    all.iter().all(|tool| match tool.find() {
        Ok(_) => true,
        Err(e @ ToolError::Missing { .. }) => {
            println!("skipped: {e}");
            false
        }
        Err(e) => panic!("{e}"),
    })
}

#[test]
fn ptx_for_every_target() {
    for target in ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"] {
        let early_starts = !matches!(target, "sm_80" | "sm_89");
        for (operator, constant) in [("softmax", !early_starts), ("rms_norm", true)] {
            let out = shown(&[operator, "--ptx", "--target", target]);
            let load = if constant { "ld.global.nc.L2::cache_hint.v4.b32" } else { "ld.global.L2::cache_hint.v4.b32" };
            assert!(out.contains(&format!(".target {target}\n")) && out.contains(load), "{out}");
        }
    }
    assert!(shown(&["gemm", "--dtype", "f16"]).contains("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"));
    let ir = shown(&["rms_norm", "--ir", "--dim", "111", "--dtype", "f32"]);
    assert!(ir.contains("rsqrt") && !ir.contains(".version"), "{ir}");
}

#[test]
fn source_stands_above_what_became_of_it() {
    let ptx = shown(&["softmax", "--dim", "512", "--source"]);
    let lines: Vec<&str> = ptx.lines().map(str::trim).collect();
    let after = |words: &str| {
        let index = lines.iter().position(|l| l.starts_with("//") && l.contains(words));
        lines[index.unwrap_or_else(|| panic!("no {words} in {ptx}")) + 1]
    };
    assert!(after("wait_for_upstream();").starts_with("griddepcontrol.wait"), "{ptx}");
    assert!(after("launch_dependents();").starts_with("griddepcontrol.launch_dependents"), "{ptx}");
    assert!(!ptx.contains(".loc"), "{ptx}");
    // Helpers stand below the line of the kernel that calls them, each call below its own.
    for call in ["warp_reduce(max, ", "warp_reduce(sum * "] {
        let from = lines.iter().position(|l| l.starts_with("//") && l.contains(call)).unwrap();
        let at = (from + 1..lines.len()).find(|i| lines[*i].starts_with("//")).unwrap();
        assert!(lines[at].contains("warp_reduce, crates/dsl/src/reduce.rs:"), "{}", lines[at]);
        assert!(lines[at + 1].starts_with("shfl.sync.bfly"), "{}", lines[at + 1]);
    }
    let ir = shown(&["softmax", "--dim", "512", "--ir", "--source"]);
    assert!(ir.contains(": wait_for_upstream();\n  wait_for_upstream\n"), "{ir}");
    assert!(!ir.contains(" @ "), "{ir}");
    // Comments change nothing: it runs, and is right.
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("with_source.ptx");
    std::fs::write(&file, ptx).unwrap();
    let run = ["run", "softmax", "--random", "3x512", "--device", "emulated", "--ptx", file.to_str().unwrap()];
    let (code, out, err) = said(command(&run));
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn machine_code_and_what_it_costs() {
    if !tools(&[Tool::Ptxas, Tool::Nvdisasm]) {
        return;
    }
    let sass = shown(&["softmax", "--dim", "512", "--sass", "--source"]);
    assert!(sass.starts_with("softmax_bf16_512: machine code for sm_90a\n"), "{sass}");
    let load = sass.split("LDG.E.128 ").next().unwrap();
    let above = load.lines().rfind(|l| l.trim().starts_with("//")).unwrap();
    assert!(above.contains("load_or(outside)"), "{above}");
    assert!(sass.contains("warp_reduce(sum * ") && sass.contains("EXIT;"), "{sass}");
    let plain = shown(&["softmax", "--dim", "512", "--sass"]);
    assert_eq!(plain.lines().count(), sass.lines().filter(|l| !l.trim().starts_with("//")).count());

    let costs = shown(&["rms_norm", "--resources", "--target", "sm_120a"]);
    for part in [
        "for sm_120a\n",
        " x 1 x 1 threads\n",
        "spills     0 bytes stored, 0 loaded",
        "resident   ",
        " of 48 warps; limited by ",
        "(RTX 5090)",
        " of 128 bits in global memory",
        "warnings   none",
    ] {
        assert!(costs.contains(part), "{part}: {costs}");
    }
    let costs = shown(&["gemm", "--resources", "--shape", "1024x512x256"]);
    for part in [
        "registers  168\n",
        "214016 more at launch",
        "resident   1 block a multiprocessor, 12 of 64 warps",
        "loads      none by threads",
        "4 HGMMA",
        "2 UTMALDG",
    ] {
        assert!(costs.contains(part), "{part}: {costs}");
    }
}

#[test]
fn a_missing_tool_is_named_with_its_cost() {
    let without = |args: &[&str], found: &[(&str, &str)]| {
        let mut command = command(args);
        for variable in ["WARPSMITH_PTXAS", "WARPSMITH_NVDISASM", "CUDA_HOME", "CUDA_PATH", "PATH"] {
            command.env_remove(variable);
        }
        said({
            command.envs(found.iter().copied());
            command
        })
    };
    for view in ["--sass", "--resources"] {
        let (code, out, err) = without(&["inspect", "softmax", view], &[]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.starts_with("error: ptxas not found: WARPSMITH_PTXAS is not set"), "{err}");
        assert!(err.contains("scripts/fetch_ptxas.sh") && err.contains("without it, kernels are compiled by"), "{err}");
    }
    let (code, _, err) = without(&["inspect", "softmax", "--sass"], &[("WARPSMITH_PTXAS", "/no/ptxas")]);
    assert_eq!((code, err.trim_end()), (2, "error: WARPSMITH_PTXAS is /no/ptxas, where there is no file"));
    let (code, out, _) = without(&["doctor"], &[]);
    assert_eq!(code, 0);
    for part in [
        "scripts/fetch_ptxas.sh",
        "so kernels are compiled by a card's driver alone",
        "so machine code can not be shown",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn bad_input_is_named_in_one_line() {
    let refused = |args: &[&str], expected: &str| {
        let (code, out, err) = said(command(&[&["inspect"], args].concat()));
        assert_eq!((code, out.as_str(), err.trim_end()), (2, "", format!("error: {expected}").as_str()), "{args:?}");
    };
    refused(&["gemm", "--target", "sm_80"], "`device`: expected a device of sm_90a, got sm_80");
    refused(&["gemm", "--dtype", "f32"], "`a`: expected bf16 or f16, the same for all, got f32");
    refused(&["softmax", "--shape", "1x2x3"], "--shape is for gemm; operators over rows take --dim");
    refused(&["gem"], "there is no operator `gem`; did you mean `gemm`?");
    let (code, _, err) = said(command(&["inspect", "gemm", "--shape", "1x2"]));
    assert!(code == 2 && err.contains("`1x2` is not MxNxK; expected three numbers"), "{err}");
}
