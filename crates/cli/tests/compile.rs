//! Bundles by the command.

mod common;

use common::{command, refused, said, scratch};
use warpsmith::runtime::bundle::{Bundle, Form};

/// Without an assembler, wherever the tests run.
fn without_ptxas(args: &[&str]) -> std::process::Command {
    let mut command = command(args);
    for name in ["WARPSMITH_PTXAS", "WARPSMITH_NVDISASM", "CUDA_HOME", "CUDA_PATH"] {
        command.env_remove(name);
    }
    command.env("PATH", "/no/such");
    command
}

#[test]
fn a_list_becomes_a_bundle() {
    let (list, out) = (scratch("list.txt"), scratch("list.bundle"));
    std::fs::write(&list, "# rows\nrms_norm dtype=bf16 dim=1024\ngemm dtype=bf16 m=64 n=64 k=64\n").unwrap();
    let _ = std::fs::remove_file(&out);
    let (list, path) = (list.to_str().unwrap(), out.to_str().unwrap());
    let args =
        ["compile", "softmax dtype=f32 dim=128..512*2", "--list", list, "--target", "sm_90a,sm_100a", "-o", path];
    let (code, said, err) = said(without_ptxas(&args));
    assert_eq!((code, err.as_str()), (0, ""), "{said}");
    assert!(said.starts_with(&format!("{path}: 9 kernels for sm_90a, sm_100a, ")), "{said}");
    assert!(said.contains("left out: gemm for sm_100a: `device`: expected a device of sm_90a, got sm_100a"), "{said}");
    assert!(said.contains("holds PTX, no machine code: there is no ptxas here"), "{said}");
    assert!(said.trim_end().ends_with(&format!("use it with WARPSMITH_BUNDLE={path}")), "{said}");
    let bundle = Bundle::open(&out).unwrap();
    assert!(bundle.contents().len() == 9 && bundle.contents().iter().all(|c| c.form == Form::Ptx));
    // What is there is replaced as a whole.
    let (code, _, err) = common::said(without_ptxas(&["compile", "softmax dtype=f16 dim=64", "-o", path]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(Bundle::open(&out).unwrap().contents()[0].kernel, "softmax_f16_64");
}

#[test]
fn mistakes_are_named() {
    let out = scratch("refused.bundle");
    let path = out.to_str().unwrap();
    refused(&["compile", "softmax dtype=bf16", "-o", path], "softmax needs `dim`");
    let list = scratch("bad.txt");
    std::fs::write(&list, "softmax dtype=bf16 dim=8\nattention\n").unwrap();
    let list = list.to_str().unwrap();
    let expected = format!(
        "{list}: line 2: there is no operator `attention`; there are softmax, rms_norm, layer_norm, cross_entropy, \
         softmax_backward, rms_norm_backward, layer_norm_backward, cross_entropy_backward, gemm"
    );
    refused(&["compile", "--list", list, "-o", path], &expected);
    refused(&["compile", "# nothing", "-o", path], "the list is empty; a line is like `softmax dtype=bf16 dim=4096`");
    let line = "gemm dtype=bf16 m=64 n=64 k=64";
    let expected = "gemm for sm_80: `device`: expected a device of sm_90a, got sm_80";
    refused(&["compile", line, "--target", "sm_80", "-o", path], expected);
    let line = "softmax dtype=bf16 dim=0";
    let expected = "softmax for sm_90a: `x`: expected rows of at least 1 element, got 0";
    refused(&["compile", line, "-o", path], expected);
    assert!(!out.exists());
}
