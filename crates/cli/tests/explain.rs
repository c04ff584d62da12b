//! `warpsmith explain` as people type it.

mod common;

use common::{command, refused, said, shown};
use serde_json::{Value, json};

#[test]
fn the_kernel_of_a_call_is_shown() {
    let out = shown(&["explain", "softmax", "--shape", "32768x4096", "--chip", "h200"]);
    for part in [
        "softmax of bf16 (32768, 4096) on H200 (sm_90a)\n",
        // 2 · 32768 · 4096 · 2 bytes at 4.8 TB/s.
        "floor      111.8 µs: 536.9 MB at 4800 GB/s take 111.8 µs (datasheet)\n",
        "registers: taken\n",
        "kernel     softmax_bf16_4096\n",
        " × 8 elements a thread\n",
        " threads, with PDL\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // What is not aligned moves an element at a time.
    let out = shown(&["explain", "softmax", "--shape", "32768x4096", "--align", "2"]);
    assert!(out.contains(" × 1 elements a thread\n"), "{out}");
    let out = shown(&["explain", "gemm", "--shape", "4096x4096x4096", "--target", "sm_90a"]);
    assert!(out.contains("137.4 Gflop at 989 TFLOP/s 138.9 µs (datasheet)\n\nwarpgroups: taken\n"), "{out}");
}

#[test]
fn every_chip_has_an_answer() {
    for chip in ["a100", "h100", "h200", "b200", "b300", "rtx4090", "RTX-5090"] {
        for operator in ["softmax", "rms_norm"] {
            let out = shown(
                &[&["explain", operator, "--shape", "8x111", "--dtype", "f32", "--chip", chip][..], &["--json"]]
                    .concat(),
            );
            let said: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(said["taken"], "registers", "{out}");
            let mut all = said["implementations"].as_array().unwrap().iter();
            let taken = all.find(|way| way["name"] == "registers").unwrap();
            assert_eq!(taken["refusal"], Value::Null);
            let kernel = &taken["kernel"];
            let plan = kernel["plan"].as_str().unwrap();
            let rows = plan.split(" rows a block").next().unwrap().rsplit(' ').next().unwrap();
            let blocks = 8usize.div_ceil(rows.parse().unwrap());
            assert_eq!(kernel["grid"], json!([blocks, 1, 1]), "{out}");
        }
    }
}

#[test]
fn long_rows_are_taken_by_clusters_where_there_are_some() {
    let explain = |operator: &str, chip: &str| {
        let args = ["explain", operator, "--shape", "8x50048", "--chip", chip, "--json"];
        serde_json::from_str::<Value>(&shown(&args)).unwrap()
    };
    for operator in ["softmax", "rms_norm"] {
        let said = explain(operator, "h200");
        let of = |name: &str| {
            let all = said["implementations"].as_array().unwrap();
            all.iter().find(|way| way["name"] == name).unwrap_or_else(|| panic!("no {name} in {said}"))
        };
        let refusal = of("registers")["refusal"].as_str().unwrap();
        assert!(refusal.starts_with("it takes rows of up to ") && refusal.ends_with(" and `x` has 50048"), "{said}");
        assert_eq!((&of("cluster")["refusal"], &of("twice")["refusal"]), (&Value::Null, &Value::Null));
        let taken = of(said["taken"].as_str().unwrap());
        let blocks = taken["kernel"]["cluster"][0].as_u64().unwrap();
        assert!(blocks > 1, "{said}");
        let said = explain(operator, "a100");
        let taken = said["taken"].as_str().unwrap();
        assert!(["staged", "twice"].contains(&taken), "{said}");
        let refusal = "it needs sm_90a, and the chip is sm_80";
        assert!(said["implementations"].as_array().unwrap().iter().any(|way| way["refusal"] == refusal), "{said}");
    }
}

#[test]
fn refusals_have_reasons_and_their_exit_code() {
    let none = |args: &[&str], reason: &str| {
        let (code, out, err) = said(command(&[&["explain"], args].concat()));
        let expected = format!("error: no implementation of {} takes this call\n", args[0]);
        assert_eq!((code, err), (2, expected), "{out}");
        assert!(out.contains(": refused\n") && out.contains(&format!("\n  {reason}\n")), "{reason}: {out}");
    };
    none(&["gemm", "--shape", "64x64x64", "--chip", "b200"], "it needs sm_90a, and the chip is sm_100a");
    none(
        &["gemm", "--shape", "64x60x64", "--chip", "h200"],
        "it needs rows aligned to 16 bytes, and `c` has address 0x106100 and row stride 60",
    );
    none(
        &["gemm", "--shape", "64x64x64", "--chip", "h200", "--align", "8"],
        "it needs rows aligned to 16 bytes, and `a` has address 0x100008 and row stride 64",
    );
    let (code, out, _) = said(command(&["explain", "gemm", "--shape", "8x8x8", "--target", "sm_80", "--json"]));
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &said["taken"]), (2, &Value::Null));
    assert_eq!(said["implementations"][0]["refusal"], "it needs sm_90a, and the chip is sm_80");
}

#[test]
fn wrong_calls_are_errors_and_no_refusals() {
    refused(&["explain", "sofmax", "--shape", "1x1"], "there is no operator `sofmax`; did you mean `softmax`?");
    refused(&["explain", "softmax", "--shape", "2x3x4"], "--shape 2x3x4: expected ROWSxDIM for softmax");
    refused(
        &["explain", "gemm", "--shape", "8x8x8", "--dtype", "f32", "--chip", "a100"],
        "`a`: expected bf16 or f16, the same for all, got f32",
    );
    refused(&["explain", "softmax", "--shape", "2x0"], "`x`: expected rows of at least 1 element, got 0");
    refused(
        &["explain", "softmax", "--shape", "2x2", "--target", "sm_87"],
        "--target sm_87: no chip is known that runs it; --chip names one",
    );
    for (args, expected) in [
        (["--chip", "tpu"], "there is no chip `tpu`; there are A100, H100, H200, B200, B300, RTX 4090, RTX 5090"),
        (["--align", "3"], "`3` is no alignment; expected a power of two up to 4096"),
        (["--target", "sm_x"], "sm_x"),
    ] {
        let (code, out, err) = said(command(&[&["explain", "softmax", "--shape", "2x2"][..], &args].concat()));
        assert!(code == 2 && out.is_empty() && err.contains(expected), "{args:?}: {err}");
    }
    let (code, _, err) = said(command(&["explain", "softmax"]));
    assert!(code == 2 && err.contains("--shape <SHAPE>"), "{err}");
}

#[test]
fn a_missing_assembler_is_said() {
    let mut command = command(&["explain", "softmax", "--shape", "8x128"]);
    for variable in ["WARPSMITH_PTXAS", "WARPSMITH_NVDISASM", "CUDA_HOME", "CUDA_PATH", "PATH"] {
        command.env_remove(variable);
    }
    let (code, out, err) = said(command);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("registers  not known: ptxas is not found; `warpsmith doctor` says where"), "{out}");
}
