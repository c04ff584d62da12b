//! The command as people type it.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs it from the workspace's folder.
fn warpsmith(args: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    Command::new(env!("CARGO_BIN_EXE_warpsmith")).args(args).current_dir(root).output().unwrap()
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A file of its own for each test.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Asserts a one-line error with exit code 2.
fn refused(args: &[&str], expected: &str) {
    let (code, out, err) = said(&warpsmith(args));
    assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    assert_eq!(err.trim_end(), format!("error: {expected}"), "{args:?}");
}

#[test]
fn the_main_job() {
    let (code, out, err) =
        said(&warpsmith(&["run", "softmax", "--input", "examples/data/logits.safetensors", "--device", "emulated"]));
    assert_eq!(code, 0, "{out}{err}");
    for part in [
        "softmax of bf16 (22, 49152) from examples/data/logits.safetensors",
        "emulated H200",
        " × 8 elements a thread",
        "warp instructions emulated; sanitizer: clean",
        "result   right: largest error",
        "tolerance 3.9e-3 relative",
    ] {
        assert!(out.contains(part), "`{part}` is missing: {out}");
    }
}

#[test]
fn the_report_for_machines_and_the_result_in_a_file() {
    let file = scratch("normed.safetensors");
    let (code, out, err) = said(&warpsmith(&[
        "run",
        "rms_norm",
        "--input",
        "examples/data/hidden.safetensors",
        "--tensor",
        "hidden",
        "--weight-tensor",
        "weight",
        "--eps",
        "1e-5",
        "--device",
        "emulated",
        "--json",
        "--output",
        file.to_str().unwrap(),
    ]));
    assert_eq!(code, 0, "{out}{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["operator"], "rms_norm");
    assert_eq!(report["shape"], serde_json::json!([22, 576]));
    assert_eq!(report["check"]["right"], true);
    assert_eq!(report["run"]["findings"], serde_json::json!([]));
    assert!(report["run"]["instructions"].as_u64().unwrap() > 1000);
    assert!(report["kernel"]["trace_ms"].as_f64().unwrap() > 0.0);
    // What was written is the result: the reference agrees with it when it comes back as an input's shape and dtype.
    let bytes = std::fs::read(&file).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    assert_eq!(header["y"]["dtype"], "BF16");
    assert_eq!(header["y"]["shape"], serde_json::json!([22, 576]));
}

#[test]
fn random_numbers_and_the_reference_itself() {
    for device in ["emulated", "emulated:b200", "cpu"] {
        for dtype in ["f32", "f16", "bf16"] {
            let (code, out, err) =
                said(&warpsmith(&["run", "softmax", "--random", "5x111", "--dtype", dtype, "--device", device]));
            assert_eq!(code, 0, "{out}{err}");
            assert!(out.contains("result   right"), "{out}");
        }
    }
    let (code, out, _) = said(&warpsmith(&["run", "rms_norm", "--random", "0x64", "--device", "emulated"]));
    assert!(code == 0 && out.contains("right: no elements"), "{out}");
}

#[test]
fn a_constant_changed_in_our_ptx_is_a_wrong_result() {
    let (code, ptx, _) = said(&warpsmith(&["inspect", "softmax", "--dtype", "f32", "--dim", "100"]));
    assert_eq!(code, 0);
    let run = |name: &str, text: &str| {
        let file = scratch(name);
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let shape = ["run", "softmax", "--random", "4x100", "--dtype", "f32", "--device", "emulated", "--ptx", path];
        said(&warpsmith(&shape))
    };
    let (code, out, err) = run("ours.ptx", &ptx);
    assert_eq!(code, 0, "{out}{err}");
    // log₂ e, as PTX writes it; 1.5 in its place.
    let changed = ptx.replace("0f3FB8AA3B", "0f3FC00000");
    assert_ne!(changed, ptx, "{ptx}");
    let (code, out, _) = run("changed.ptx", &changed);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("result   WRONG: largest error"), "{out}");
    // An offset that reads past the tensor is the sanitizer's.
    let beyond = ptx.replacen("[%rd", "[4096+%rd", 1);
    let (code, ..) = run("beyond.ptx", &beyond);
    assert_ne!(code, 0);
    let (code, _, err) = run("broken.ptx", "not PTX at all");
    assert_eq!(code, 2);
    assert!(err.starts_with("error: kernel `softmax_f32_100`: ") && err.contains("line 1"), "{err}");
}

#[test]
fn code_can_be_looked_at() {
    for target in ["sm_80", "sm_90a", "sm_100a"] {
        let (code, out, err) = said(&warpsmith(&["inspect", "softmax", "--ptx", "--target", target]));
        assert!(code == 0 && out.contains(&format!(".target {target}")), "{out}{err}");
        // Where it may start before the launch before has written all of its input, that is no constant.
        let load =
            if target == "sm_80" { "ld.global.nc.L2::cache_hint.v4.b32" } else { "ld.global.L2::cache_hint.v4.b32" };
        assert!(out.contains(load), "128-bit loads: {out}");
    }
    let (code, out, _) = said(&warpsmith(&["inspect", "rms_norm", "--ir", "--dim", "111", "--dtype", "f32"]));
    assert!(code == 0 && out.contains("rsqrt") && !out.contains(".version"), "{out}");
}

#[test]
fn doctor_says_what_is_missing_and_what_it_costs() {
    let (code, out, _) = said(&warpsmith(&["doctor"]));
    assert_eq!(code, 0);
    for part in ["driver", "ptxas", "nvdisasm", "cache"] {
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn bad_input_is_named_in_one_line() {
    refused(&["run", "sofmax", "--random", "1x1"], "there is no operator `sofmax`; did you mean `softmax`?");
    refused(
        &["run", "attention", "--random", "1x1"],
        "there is no operator `attention`; there are softmax, rms_norm, layer_norm, cross_entropy, softmax_backward, \
         rms_norm_backward, layer_norm_backward, cross_entropy_backward, gemm",
    );
    refused(
        &["run", "softmax", "--input", "no/such.npy"],
        "no/such.npy: can not be read: No such file or directory (os error 2)",
    );
    refused(&["run", "softmax", "--input", "README.md"], "README.md: a tensor file ends in .safetensors or .npy");
    refused(
        &["run", "softmax", "--input", "examples/data/hidden.safetensors"],
        "examples/data/hidden.safetensors: has several tensors; choose one by name: `hidden`, `weight`",
    );
    refused(
        &[
            "run",
            "softmax",
            "--input",
            "examples/data/hidden.safetensors",
            "--tensor",
            "weight",
            "--device",
            "emulated",
        ],
        "`x`: expected 2 dimensions (rows, dim), got shape [576]",
    );
    refused(
        &["run", "softmax", "--input", "examples/data/hidden.safetensors", "--tensor", "weight", "--device", "cpu"],
        "`x`: expected 2 dimensions (rows, dim), got shape [576]",
    );
    refused(
        &["run", "softmax", "--random", "2x49153", "--device", "emulated", "--threads-per-row", "1024"],
        "`dim`: expected 1 to 49152 elements in a row, got 49153",
    );
    refused(&["run", "softmax", "--random", "2x2", "--dtype", "i32"], "--dtype: expected f32, f16 or bf16, got i32");
    refused(&["run", "softmax", "--random", "2x2", "--weight-tensor", "w"], "softmax takes no weight");
    refused(
        &["run", "softmax", "--random", "2x2", "--device", "gpu"],
        "--device gpu: expected cuda, cuda:N, emulated or emulated:CHIP (A100, H100, H200, B200, B300, RTX 4090, RTX 5090)",
    );
    refused(
        &["run", "softmax", "--random", "2x64", "--device", "emulated", "--threads-per-row", "48"],
        "`threads_per_row`: expected a power of two up to 32, or a multiple of 32 up to 1024, got 48",
    );
}

#[test]
fn files_with_the_wrong_contents_are_named() {
    let npy = |descr: &str, fortran: &str, shape: &str, bytes: usize| {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        header += &" ".repeat(63 - (10 + header.len()) % 64);
        header.push('\n');
        let mut all = b"\x93NUMPY\x01\x00".to_vec();
        all.extend((header.len() as u16).to_le_bytes());
        all.extend(header.as_bytes());
        all.extend(vec![0; bytes]);
        all
    };
    let check = |name: &str, bytes: Vec<u8>, expected: &str| {
        let file = scratch(name);
        std::fs::write(&file, bytes).unwrap();
        let path = file.to_str().unwrap();
        let (code, out, err) = said(&warpsmith(&["run", "softmax", "--input", path, "--device", "emulated"]));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.starts_with(&format!("error: {path}: ")) && err.contains(expected), "{err}");
    };
    check("fortran.npy", npy("<f4", "True", "(2, 3)", 24), "is in Fortran order");
    check("int.npy", npy("<i8", "False", "(2, 3)", 48), "are not supported");
    check("short.npy", npy("<f4", "False", "(2, 3)", 20), "truncated");
    check("none.safetensors", b"garbage".to_vec(), "is no ");
}

#[test]
fn a_card_that_is_asked_for_must_be_there() {
    if Command::new("nvidia-smi").output().is_ok_and(|o| o.status.success()) {
        return; // there is one
    }
    let (code, _, err) = said(&warpsmith(&["run", "softmax", "--random", "2x2", "--device", "cuda"]));
    assert_eq!(code, 2, "{err}");
    assert!(
        err.starts_with("error: no CUDA driver found") || err.starts_with("error: the CUDA driver finds no card"),
        "{err}"
    );
}
