//! A kernel that breaks a card is named with its arguments, and the device is lost. In processes of their own: nothing else
//! runs on a lost device.

#![allow(clippy::print_stdout, reason = "it says what it skips, and a part tells the other what it saw")]

use std::process::Command;
use warpsmith_dsl::TensorArg;
use warpsmith_kernels::{rms_norm, softmax};
use warpsmith_runtime::{Device, Error, Graph, LaunchError, Tensor};
use warpsmith_types::DType;

fn on_a_card() -> bool {
    std::env::var("WARPSMITH_DEVICE").is_ok_and(|d| d.starts_with("cuda"))
}

/// The process that loses its device; it prints its errors.
#[test]
#[ignore = "a part of `a_lost_device_names_its_launches`"]
fn loser() {
    if !on_a_card() {
        return;
    }
    let device = Device::from_env().unwrap();
    let tensor = |name, shape: &[usize]| Tensor::new(&device, name, DType::BF16, shape).unwrap();
    let (x, weight, mut y) = (tensor("x", &[33, 4096]), tensor("weight", &[4096]), tensor("y", &[33, 4096]));
    let stream = device.default_stream();
    softmax(x.arg(), y.arg_mut(), &stream).unwrap();
    device.synchronize().unwrap();
    // Where nothing is.
    let mut nowhere = TensorArg { address: 0x10000, ..y.arg().clone() };
    let launched = rms_norm(x.arg(), Some(weight.arg()), &mut nowhere, 1e-6, &stream);
    println!("launch: {}", launched.as_ref().map_or_else(ToString::to_string, |_| "queued".into()));
    let lost = match launched {
        Err(LaunchError::Device(e)) => e,
        Err(e) => panic!("{e}"),
        Ok(_) => stream.synchronize().unwrap_err(),
    };
    let Error::DeviceLost { suspects, .. } = &lost else { panic!("{lost}") };
    assert_eq!(suspects.len(), 1, "softmax has ended well: {lost}");
    println!("{lost}");
    // Everything after that says the same; what is dropped says nothing.
    let again = softmax(x.arg(), y.arg_mut(), &stream).unwrap_err();
    assert_eq!(again.to_string(), lost.to_string());
    assert_eq!(y.to_bytes().unwrap_err().to_string(), lost.to_string());
    println!("x at {:#x}", x.arg().address);
}

/// The same within a graph.
#[test]
#[ignore = "a part of `a_lost_device_names_its_launches`"]
fn loser_by_graph() {
    if !on_a_card() {
        return;
    }
    let device = Device::from_env().unwrap();
    let tensor = |name, shape: &[usize]| Tensor::new(&device, name, DType::BF16, shape).unwrap();
    let (x, mut y) = (tensor("x", &[5, 128]), tensor("y", &[5, 128]));
    let mut nowhere = TensorArg { address: 0x10000, ..y.arg().clone() };
    // Compiled before: loading is nothing that a graph can hold.
    softmax::bind(x.arg(), y.arg_mut(), &device).unwrap();
    rms_norm::bind(x.arg(), None, &mut nowhere, 0.5, &device).unwrap();
    let graph = Graph::capture(&device, |stream| {
        softmax(x.arg(), y.arg_mut(), stream).unwrap();
        rms_norm(x.arg(), None, &mut nowhere, 0.5, stream).unwrap();
        Ok(())
    });
    let graph = graph.unwrap();
    device.synchronize().unwrap();
    let stream = device.create_stream().unwrap();
    graph.replay(&stream).unwrap();
    println!("{}", stream.synchronize().unwrap_err());
}

fn lose(how: &str, synchronous: bool) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", how, "--ignored", "--nocapture"]);
    command.env("WARPSMITH_SYNC", if synchronous { "1" } else { "0" });
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn a_lost_device_names_its_launches() {
    if !on_a_card() {
        return println!("skipped: only a card is lost (WARPSMITH_DEVICE=cuda)");
    }
    let said = lose("loser", false);
    assert!(said.contains("launch: queued"), "{said}");
    let x = said.lines().find_map(|l| l.strip_prefix("x at ")).unwrap();
    let expected = format!(
        "in kernel `rms_norm_bf16_bf16_bf16_4096` of RmsNorm with x: bf16 (33, 4096) at {x}, weight: bf16 (4096) at 0x"
    );
    assert!(said.contains(&expected), "{said}\nexpected {expected}");
    assert!(said.contains(", y: bf16 (33, 4096) at 0x10000, eps: 1e-6\n"), "{said}");
    let command = "warpsmith run rms_norm --random 33x4096 --dtype bf16 --eps 1e-6 --device emulated";
    assert!(said.contains(command), "{said}");
    // Waited for, the launch itself fails.
    let said = lose("loser", true);
    assert!(said.contains("launch: the device is lost: "), "{said}");

    let said = lose("loser_by_graph", false);
    assert!(
        said.contains("in one of these kernels (the latest last):\n  `softmax_bf16_128` of Softmax with x: "),
        "{said}"
    );
    assert!(said.contains("\n  `rms_norm_bf16_none_bf16_128` of RmsNorm with x: bf16 (5, 128) at "), "{said}");
    assert!(said.contains(", y: bf16 (5, 128) at 0x10000, eps: 0.5\n"), "{said}");
}
