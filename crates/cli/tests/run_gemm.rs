//! `warpsmith run gemm` as people type it.

mod common;

use common::{command, refused, said, scratch, shown};
use serde_json::{Value, json};

/// A `.npy` file of f16 ones and twos in turn.
fn matrix(name: &str, rows: usize, columns: usize) -> String {
    let mut header = format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for i in 0..rows * columns {
        bytes.extend(if i % 2 == 0 { 0x3c00u16 } else { 0x4000 }.to_le_bytes());
    }
    std::fs::write(scratch(name), bytes).unwrap();
    scratch(name).to_str().unwrap().into()
}

#[test]
fn a_product_is_checked() {
    for dtype in ["bf16", "f16"] {
        for device in ["emulated", "cpu"] {
            let out = shown(&["run", "gemm", "--random", "130x264x72", "--dtype", dtype, "--device", device]);
            assert!(out.starts_with(&format!("gemm of {dtype} (130, 264, 72) from normal random numbers")), "{out}");
            assert!(out.contains("  result   right: largest error 0."), "{out}");
        }
    }
    let out = shown(&["run", "gemm", "--random", "16x8x8", "--device", "emulated", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["shape"], &report["check"]["elements"]), (&json!([16, 8, 8]), &json!(128)));
    assert_eq!(report["check"]["rows_compared"], Value::Null);
    assert_eq!(report["run"]["findings"], json!([]));
}

#[test]
fn a_linear_layer_from_files() {
    let (x, weight, y) = (matrix("gemm_x.npy", 3, 16), matrix("gemm_w.npy", 24, 16), scratch("gemm_y.npy"));
    let files = ["--input", &x, "--weight", &weight, "--output", y.to_str().unwrap()];
    let out = shown(&[&["run", "gemm", "--device", "emulated"], &files[..]].concat());
    assert!(out.contains("gemm of f16 (3, 24, 16)") && out.contains("result   right"), "{out}");
    // 8 · 1 · 1 + 8 · 2 · 2 = 40 everywhere.
    let bytes = std::fs::read(&y).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(String::from_utf8_lossy(&bytes[..start]).contains("(3, 24"));
    assert_eq!(bytes[start..].chunks(2).filter(|b| **b == 0x5100u16.to_le_bytes()).count(), 72);
}

#[test]
fn a_wrong_product_is_found() {
    let ptx = shown(&["inspect", "gemm", "--dtype", "f16", "--shape", "128x256x64"]);
    // The second half of each step of K is left out.
    let skipped = ptx.lines().filter(|l| l.contains("wgmma.mma_async")).nth(1).unwrap();
    let changed = ptx.replacen(skipped, "", 1);
    assert_ne!(changed, ptx);
    let file = scratch("gemm_skipped.ptx");
    std::fs::write(&file, changed).unwrap();
    let path = file.to_str().unwrap();
    let args = ["run", "gemm", "--dtype", "f16", "--random", "128x256x64", "--device", "emulated", "--ptx", path];
    let (code, out, err) = said(command(&args));
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("result   WRONG: largest error"), "{out}");
}

#[test]
fn bad_input_is_named_in_one_line() {
    let run = |more: &[&str], expected: &str| {
        for device in ["emulated", "cpu"] {
            refused(&[&["run", "gemm", "--device", device], more].concat(), expected);
        }
    };
    run(&["--random", "4x4"], "--random 4x4: expected MxNxK for gemm");
    run(&["--random", "8x8x8", "--dtype", "f32"], "`a`: expected bf16 or f16, the same for all, got f32");
    run(&["--random", "8x0x8"], "`b`: expected extents of at least 1, got [0, 8]");
    let x = matrix("gemm_bad_x.npy", 3, 16);
    run(&["--input", &x], "gemm multiplies by a weight (n, k): --weight FILE or --weight-tensor NAME");
    let weight = matrix("gemm_bad_w.npy", 8, 24);
    run(&["--input", &x, "--weight", &weight], "`b`: `k` is 24, but `a` has 16");
    run(
        &["--random", "8x8x8", "--threads-per-row", "64"],
        "--threads-per-row: gemm has one plan; operators over rows take it",
    );
    refused(&["run", "softmax", "--random", "8x8x8"], "--random 8x8x8: expected ROWSxDIM for softmax");
    let (code, _, err) = said(command(&["run", "gemm", "--random", "8x12x8", "--device", "emulated"]));
    assert!(code == 2 && err.starts_with("error: `c`: expected rows aligned to 16 bytes, got address"), "{err}");
}
