//! `warpsmith doctor` as people type it.

mod common;

use common::{command, said, scratch};
use serde_json::Value;
use std::process::Command;

/// On a machine with nothing of NVIDIA's on its paths.
fn doctor(args: &[&str], set: &[(&str, &str)]) -> (i32, String, String) {
    let mut command: Command = command(&[&["doctor"], args].concat());
    for variable in ["WARPSMITH_PTXAS", "WARPSMITH_NVDISASM", "CUDA_HOME", "CUDA_PATH", "PATH"] {
        command.env_remove(variable);
    }
    command.envs(set.iter().copied());
    said(command)
}

#[test]
fn what_is_missing_is_no_mistake() {
    let (code, out, err) = doctor(&[], &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for part in [
        "emulator  always here, as A100, H100, H200, B200",
        "so kernels are compiled by a card's driver alone",
        "so machine code can not be shown",
        "cache     off\n          so every process assembles its kernels anew\n",
        "set       WARPSMITH_CACHE=off: the folder of the compile cache, or off\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("wrong"), "{out}");
}

#[test]
fn the_cache_is_described() {
    let folder = scratch("doctor_cache");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().unwrap();
    let (code, out, _) = doctor(&[], &[("WARPSMITH_CACHE", path), ("WARPSMITH_CACHE_MIB", "64")]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("cache     {path}: 0 entries, 0 KiB of 64 MiB, mode 0700\n")), "{out}");
    // Entries count; locks and files that are being written do not.
    for (name, bytes) in [("ab/cdef", 5000), ("12/3456", 1000), ("12/tmp-1-1", 100), ("locks/7", 10)] {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.join(name), vec![0; bytes]).unwrap();
    }
    let (_, out, _) = doctor(&["--json"], &[("WARPSMITH_CACHE", path)]);
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["cache"]["state"], "open");
    assert_eq!((said["cache"]["entries"].as_u64(), said["cache"]["bytes"].as_u64()), (Some(2), Some(6000)));
    assert_eq!(said["emulator"]["state"], "there");
    assert_eq!(said["ptxas"]["state"], "missing");
    assert!(said["nvdisasm"]["cost"].as_str().unwrap().contains("machine code can not be shown"));
}

#[test]
fn a_bundle_is_described() {
    let file = scratch("doctor.bundle");
    let path = file.to_str().unwrap();
    let (code, out, err) = said(command(&["compile", "softmax dtype=bf16 dim=256,512", "--output", path]));
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, _) = doctor(&[], &[("WARPSMITH_BUNDLE", path)]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("bundle    {path}: 2 kernels\n")), "{out}");
    let (code, out, _) = doctor(&[], &[("WARPSMITH_BUNDLE", "/no/such.bundle")]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("bundle    wrong: /no/such.bundle: "), "{out}");
    assert!(out.contains("so kernels are assembled as if there were no bundle\n"), "{out}");
}

#[test]
fn what_is_set_up_and_does_not_work_is_wrong() {
    let file = scratch("doctor_no_folder");
    std::fs::write(&file, "").unwrap();
    let path = file.to_str().unwrap();
    for (name, value, expected) in [
        ("WARPSMITH_PTXAS", "/no/ptxas", "ptxas     wrong: WARPSMITH_PTXAS is /no/ptxas, where there is no file\n"),
        ("WARPSMITH_SYNC", "yes", "set       wrong: WARPSMITH_SYNC=yes: expected 0 or 1 (1: each launch is waited for"),
        ("WARPSMITH_DEVICE", "gpu", "WARPSMITH_DEVICE=gpu: expected cuda, cuda:N, emulated or emulated:CHIP"),
        ("WARPSMITH_CACHE_MIB", "1G", "WARPSMITH_CACHE_MIB=1G: expected a whole number"),
        ("WARPSMITH_CACHE", path, &format!("cache     wrong: {path}: ")),
    ] {
        let (code, out, _) = doctor(&[], &[(name, value)]);
        assert_eq!(code, 1, "{name}: {out}");
        assert!(out.contains(expected) && out.contains("wrong: "), "{expected}: {out}");
    }
}

#[test]
fn a_variable_that_nothing_reads_is_said() {
    let (code, out, _) = doctor(&[], &[("WARPSMITH_CHACHE", "off"), ("WARPSMITH_MOOD", "good")]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("WARPSMITH_CHACHE=off: nothing reads it; did you mean WARPSMITH_CACHE?\n"), "{out}");
    assert!(out.contains("WARPSMITH_MOOD=good: nothing reads it\n"), "{out}");
}
