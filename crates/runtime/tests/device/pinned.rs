//! Copies that go on by themselves.

use crate::common::{VADD, add, device, floats};
use warpsmith_runtime::{Device, Error, Graph};
use warpsmith_types::Chip;

#[test]
fn bytes_go_there_and_back() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let stream = device.create_stream().unwrap();
    let (x, y) = (floats(&device, &[0.0; 40], "x"), floats(&device, &[0.0; 32], "y"));
    let mut pinned = device.pinned(128).unwrap();
    assert!(pinned.iter().all(|&b| b == 0));
    pinned.copy_from_slice(bytemuck::cast_slice(&[3.0f32; 32]));
    let up = stream.upload_from(pinned, &x, 0).unwrap();
    add(&function, &stream, [&x, &x, &y]).unwrap();
    let down = stream.download_to(device.pinned(64).unwrap(), &y, 64).unwrap();
    let result = down.wait().unwrap();
    assert_eq!(result.as_chunks::<4>().0, [6.0f32.to_le_bytes(); 16]);
    assert!(up.is_done().unwrap());
    assert_eq!(up.wait().unwrap().len(), 128);
    let outcome = stream.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
}

#[test]
fn memory_is_counted_and_given_back() {
    let device = device();
    let stream = device.create_stream().unwrap();
    let buffer = device.upload(&[5; 64], "x").unwrap();
    let before = (device.memory_use(), device.live_objects());
    let pinned = device.pinned(64).unwrap();
    assert_eq!((device.memory_use().pinned, device.memory_use().pinned_bytes), (before.0.pinned + 1, 64));
    // Dropped on its way, a copy is waited for.
    drop(stream.upload_from(pinned, &buffer, 0).unwrap());
    assert_eq!(buffer.to_vec().unwrap(), [0; 64]);
    drop(stream.download_to(device.pinned(64).unwrap(), &buffer, 0).unwrap());
    // Neither nothing nor a refused copy leaves anything.
    let empty = stream.upload_from(device.pinned(0).unwrap(), &buffer, 64).unwrap();
    assert!(empty.wait().unwrap().is_empty());
    let said = stream.upload_from(device.pinned(16).unwrap(), &buffer, 49).unwrap_err().to_string();
    assert_eq!(said, "upload of bytes 49..65 of buffer `x`, which has 64");
    let there = Device::emulated(Chip::A100);
    let said = there.default_stream().download_to(there.pinned(4).unwrap(), &buffer, 0).unwrap_err().to_string();
    assert!(said.starts_with("buffer `x` is on"), "{said}");
    let said = stream.download_to(there.pinned(4).unwrap(), &buffer, 0).unwrap_err().to_string();
    assert!(said.starts_with("the page-locked memory is on emulated:"), "{said}");
    assert!(device.pinned(1 << 62).is_err());
    assert_eq!((device.memory_use(), device.live_objects()), before);
}

#[test]
fn copies_of_the_host_are_not_written_down() {
    let device = device();
    let buffer = device.upload(&[5; 64], "x").unwrap();
    let before = (device.memory_use(), device.live_objects());
    let refused = Graph::capture(&device, |stream| {
        let pinned = device.pinned(64)?;
        drop(stream.upload_from(pinned, &buffer, 0)?);
        Ok(())
    })
    .unwrap_err();
    assert!(matches!(refused, Error::Capturing { .. }), "{refused}");
    assert_eq!((device.memory_use(), device.live_objects()), before);
    assert_eq!(buffer.to_vec().unwrap(), [5; 64]);
}
