//! Memory in a stream's order.

use crate::common::{VADD, add, device, floats, values};
use warpsmith_runtime::{Device, Error, Graph};
use warpsmith_types::Chip;

#[test]
fn memory_comes_and_goes_in_order() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let (x, z) = (floats(&device, &[1.0; 32], "x"), floats(&device, &[0.0; 32], "z"));
    let stream = device.create_stream().unwrap();
    let before = device.memory_use();
    for _ in 0..8 {
        let y = stream.allocate(128, "y").unwrap();
        assert_eq!((y.len(), y.address() % 256), (128, 0));
        assert_eq!(device.memory_use().buffers, before.buffers + 1);
        add(&function, &stream, [&x, &x, &y]).unwrap();
        add(&function, &stream, [&y, &y, &z]).unwrap();
    }
    assert_eq!(device.memory_use(), before);
    let outcome = stream.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(values(&z), [4.0; 32]);
    // No bytes are no error.
    assert!(stream.allocate(0, "nothing").unwrap().is_empty());
}

#[test]
fn the_pool_counts_and_is_trimmed() {
    // A device of its own: others would be counted too.
    let device = match device() {
        emulated if emulated.is_emulated() => Device::emulated(Chip::H200),
        card => card,
    };
    let stream = device.create_independent_stream().unwrap();
    let size = 8 << 20;
    device.set_pool_threshold(u64::MAX).unwrap();
    let [a, b] = ["a", "b"].map(|name| stream.allocate(size, name).unwrap());
    let full = device.pool_use().unwrap();
    assert!(full.used >= 2 * size as u64 && full.reserved >= full.used && full.used_high >= full.used, "{full:?}");
    drop(a);
    stream.synchronize().unwrap();
    let half = device.pool_use().unwrap();
    assert!(half.used <= full.used - size as u64 && half.reserved == full.reserved, "{half:?} after {full:?}");
    device.trim_pool(0).unwrap();
    let trimmed = device.pool_use().unwrap();
    assert!(trimmed.reserved >= trimmed.used && trimmed.used == half.used, "{trimmed:?}");
    drop(b);
    stream.synchronize().unwrap();
    device.trim_pool(0).unwrap();
    let empty = device.pool_use().unwrap();
    assert!(empty.used < size as u64 && empty.reserved < full.reserved, "{empty:?}");
    // What nobody may keep goes at a synchronisation.
    device.set_pool_threshold(0).unwrap();
    drop(stream.allocate(size, "c").unwrap());
    stream.synchronize().unwrap();
    let after = device.pool_use().unwrap();
    assert!(after.reserved < full.reserved && after.reserved_high >= full.reserved, "{after:?}");
    device.set_pool_threshold(warpsmith_runtime::POOL_THRESHOLD).unwrap();
}

#[test]
fn use_after_free_is_found() {
    let device = Device::emulated(Chip::H200);
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let stream = device.create_stream().unwrap();
    let other = device.create_stream().unwrap();
    for there in [&stream, &other, &device.default_stream()] {
        let y = stream.allocate(128, "y").unwrap();
        add(&function, &stream, [&x, &x, &y]).unwrap();
        let parameters = crate::common::vadd_parameters(y.address(), y.address(), x.address(), 32);
        drop(y);
        let own = function.launch(&crate::common::SMALL, &parameters, there, None).unwrap();
        let all = device.synchronize().unwrap();
        let said = format!("{:?} {:?}", own.findings, all.findings);
        assert!(said.contains("`y`") && said.contains("freed"), "{said}");
        x.upload(bytemuck::cast_slice(&[1.0f32; 32])).unwrap();
    }
}

#[test]
fn what_can_not_be_had_is_said() {
    let device = device();
    let stream = device.create_stream().unwrap();
    let before = device.memory_use();
    let said = stream.allocate(1 << 62, "too much").unwrap_err().to_string();
    assert!(said.contains("too much"), "{said}");
    let refused = Graph::capture(&device, |stream| stream.allocate(64, "y").map(drop)).unwrap_err();
    assert!(matches!(refused, Error::Capturing { .. }), "{refused}");
    assert_eq!(device.memory_use(), before);
}

#[test]
fn buffers_come_and_go_while_work_is_written_down() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let (x, y) = (floats(&device, &[1.0; 32], "x"), floats(&device, &[0.0; 32], "y"));
    let stream = device.create_stream().unwrap();
    let before = device.memory_use();
    let mut old = Some((stream.allocate(64, "ordered").unwrap(), device.allocate(64, "plain").unwrap()));
    let graph = Graph::capture(&device, |capturing| {
        drop(old.take());
        drop(device.allocate(128, "another")?);
        drop(stream.allocate(128, "yet another")?);
        add(&function, capturing, [&x, &x, &y]).map(drop)
    })
    .unwrap();
    assert_eq!(device.memory_use(), before);
    graph.replay(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(values(&y), [2.0; 32]);
}
