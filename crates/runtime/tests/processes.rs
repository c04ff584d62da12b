//! Memory and events that two processes share. It takes a card: `WARPSMITH_DEVICE=cuda`.

#![allow(clippy::print_stdout, reason = "what is skipped is said")]

#[path = "device/common.rs"]
mod common;

use common::{VADD, add, device, floats, values};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use warpsmith_runtime::{Device, Error, MemoryHandle};

/// What the other process is told.
const ROLE: &str = "WARPSMITH_TEST_IMPORTS";

/// A card, when `WARPSMITH_DEVICE` asks for one.
fn card() -> Option<Device> {
    let device = device();
    if device.is_emulated() {
        println!("skipped: it takes a card (WARPSMITH_DEVICE=cuda)");
        return None;
    }
    Some(device)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// This program again, for one test, with a handle and whatever comes in as its input.
fn other(handle: &MemoryHandle, event: &[u8], input: Stdio) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["the_other_process", "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{} {}", hex(&handle.to_bytes()), hex(event)))
        .stdin(input)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test by itself: it is what `other` runs, which doubles what is shared.
#[test]
fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (memory, event) = role.split_once(' ').unwrap();
    let device = device();
    let mut handle = MemoryHandle::from_bytes(&bytes(memory)).unwrap();
    #[cfg(unix)]
    if event.is_empty() {
        use std::os::fd::AsFd;
        // Its standard input is the memory.
        let refused = device.import(&handle, "without its descriptor").unwrap_err();
        assert!(refused.to_string().contains("file descriptor is missing"), "{refused}");
        handle = handle.with_descriptor(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    }
    let stream = device.create_stream().unwrap();
    {
        let x = device.import(&handle, "shared").unwrap();
        assert_eq!((x.len(), device.memory_use().imported, device.memory_use().buffers), (128, 1, 0));
        if !event.is_empty() {
            let event = device.import_event(&bytes(event)).unwrap();
            stream.wait(&event).unwrap();
        }
        let function = device.load(VADD, "vadd").unwrap();
        add(&function, &stream, [&x, &x, &x]).unwrap();
        stream.synchronize().unwrap();
        println!("doubled to {}", values(&x)[31]);
        assert!(x.export().is_err());
    }
    assert_eq!(device.memory_use().imported, 0);
}

fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    // The line may begin with the test's name.
    let said = text.lines().find_map(|l| l.find("doubled to").map(|at| l[at..].to_owned()));
    said.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn memory_is_shared_by_a_handle() {
    let Some(device) = card() else { return };
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let event = device.create_shared_event().unwrap();
    let stream = device.create_stream().unwrap();
    add(&function, &stream, [&x, &x, &x]).unwrap();
    event.record(&stream).unwrap();
    let handle = x.export().unwrap();
    assert!((handle.len(), handle.is_empty()) == (128, false));
    // It names memory of another process, and this one is not that.
    let refused = device.import(&handle, "own").unwrap_err();
    assert!(matches!(refused, Error::Handle { .. }), "{refused}");
    assert!(device.import_event(&event.export().unwrap()).is_err());
    assert_eq!(said(other(&handle, &event.export().unwrap(), Stdio::null())), "doubled to 4");
    assert_eq!(values(&x), [4.0; 32]);
    // What has no handle says so.
    let ordered = stream.allocate(128, "ordered").unwrap();
    assert!(matches!(ordered.export(), Err(Error::Unsupported { .. })));
    assert!(device.create_event().unwrap().export().is_err());
}

#[cfg(unix)]
#[test]
fn memory_is_shared_by_a_descriptor() {
    let Some(device) = card() else { return };
    let before = device.memory_use();
    {
        let x = device.allocate_shareable(128, "x").unwrap();
        x.upload(bytemuck::cast_slice(&[1.5f32; 32])).unwrap();
        let handle = x.export().unwrap();
        let descriptor = handle.descriptor().unwrap().try_clone_to_owned().unwrap();
        assert_eq!(said(other(&handle, &[], descriptor.into())), "doubled to 3");
        assert_eq!(values(&x), [3.0; 32]);
        // Within a process it is the same memory twice.
        let twice = device.import(&handle, "twice").unwrap();
        assert_ne!(twice.address(), x.address());
        assert_eq!(values(&twice), [3.0; 32]);
        assert_eq!(device.memory_use().imported, before.imported + 1);
    }
    assert_eq!(device.memory_use(), before);
}

#[test]
fn wrong_handles_are_refused() {
    let device = device();
    let before = device.memory_use();
    for nonsense in [&[0u8; 88][..], &[], b"wsmem1"] {
        assert!(matches!(MemoryHandle::from_bytes(nonsense), Err(Error::Handle { .. })));
    }
    let mut forged = b"wsmem1\0\0".to_vec();
    forged.extend(128u64.to_le_bytes());
    forged.extend([0; 72]);
    let handle = MemoryHandle::from_bytes(&forged).unwrap();
    let refused = device.import(&handle, "forged").unwrap_err();
    if device.is_emulated() {
        assert_eq!(refused.to_string(), "emulated H200 has no memory and events that other processes see");
        let x = device.allocate(16, "x").unwrap();
        assert!(matches!(x.export(), Err(Error::Unsupported { .. })));
        assert!(matches!(device.allocate_shareable(16, "y"), Err(Error::Unsupported { .. })));
        assert!(matches!(device.create_shared_event(), Err(Error::Unsupported { .. })));
    } else {
        assert!(matches!(refused, Error::Handle { .. }), "{refused}");
    }
    assert!(device.import_event(&[0; 63]).is_err());
    assert_eq!(device.memory_use(), before);
}

/// A process that writes lines can be asked for them while it runs.
#[test]
fn what_dies_leaves_the_exporter_alone() {
    let Some(device) = card() else { return };
    let x = floats(&device, &[1.0; 32], "x");
    let event = device.create_shared_event().unwrap();
    event.record(&device.default_stream()).unwrap();
    let mut child = other(&x.export().unwrap(), &event.export().unwrap(), Stdio::piped());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|l| l.unwrap().contains("doubled to 2")));
    drop(child.stdin.take().map(|mut s| s.flush()));
    // Killed in the middle or just after it, it takes nothing along.
    let _ = child.kill();
    child.wait().unwrap();
    assert_eq!(values(&x), [2.0; 32]);
    x.fill(0, &device.default_stream()).unwrap();
    device.synchronize().unwrap();
}
