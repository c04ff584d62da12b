//! Failing calls leave nothing behind. One test, alone in its process, so that only its own things count.

#[path = "device/common.rs"]
mod common;

use common::{VADD, add, device, floats, two_devices, vadd_parameters, values};
use warpsmith_runtime::{Device, Graph, LaunchShape, LiveObjects, MemoryUse};
use warpsmith_types::Chip;

/// All that lives on a device.
fn everything(device: &Device) -> (MemoryUse, LiveObjects) {
    (device.memory_use(), device.live_objects())
}

/// What the pool uses, which goes in a stream's order.
fn pooled(device: &Device) -> u64 {
    device.synchronize().unwrap();
    device.pool_use().unwrap().used
}

#[test]
fn failing_calls_leak_nothing() {
    let device = device();
    let nothing = (MemoryUse::default(), LiveObjects::default());
    assert_eq!(everything(&device), nothing);
    {
        let function = device.load(VADD, "vadd").unwrap();
        let (a, c) = (floats(&device, &[1.0; 64], "a"), floats(&device, &[0.0; 64], "c"));
        let parameters = vadd_parameters(a.address(), a.address(), c.address(), 64);
        let before = everything(&device);
        assert_eq!(before.0, MemoryUse { buffers: 2, bytes: 512, ..MemoryUse::default() });

        let right = LaunchShape::new([1; 3], [64, 1, 1]);
        let stream = device.default_stream();
        let refused = |shape: LaunchShape, parameters: &[u8]| {
            function.launch(&shape, parameters, &stream, None).unwrap_err().to_string()
        };
        assert!(refused(LaunchShape { grid: [0, 1, 1], ..right }, &parameters).starts_with("launch of `vadd`: grid.x"));
        assert!(refused(LaunchShape { block: [2048, 1, 1], ..right }, &parameters).contains("block.x is 2048"));
        assert!(refused(right.cluster([3, 1, 1]), &parameters).contains("cluster"));
        assert!(refused(right.dynamic_shared(1 << 20), &parameters).contains("dynamic_shared is 1048576"));
        assert!(refused(right, &parameters[..24]).contains("parameters is 24; expected 28 bytes"));
        assert!(device.load(VADD, "vsub").is_err());
        assert!(device.load("no PTX", "vadd").is_err());
        // More than any device has.
        let too_much = device.allocate(1 << 62, "too much").unwrap_err().to_string();
        assert!(too_much.contains("too much"), "{too_much}");
        assert_eq!(everything(&device), before);

        // The same in a stream's order, for the host's side, and for what others see.
        let side = device.create_stream().unwrap();
        let with_stream = everything(&device);
        assert!(side.allocate(1 << 62, "too much").is_err());
        assert!(device.pinned(1 << 62).is_err());
        assert!(side.upload_from(device.pinned(513).unwrap(), &a, 0).is_err());
        assert!(side.download_to(device.pinned(8).unwrap(), &a, 256).is_err());
        assert!(device.allocate_shareable(1 << 62, "too much").is_err());
        assert!(side.allocate(64, "ordered").unwrap().export().is_err());
        assert!(device.import_event(&[0; 64]).is_err());
        assert!(device.foreign(a.address(), 1 << 40, "a").is_err());
        assert_eq!(everything(&device), with_stream);
        assert_eq!(pooled(&device), 0);

        // Streams, events and graphs that end in the middle of something.
        for _ in 0..3 {
            let busy = device.create_stream().unwrap();
            let event = device.create_event().unwrap();
            let scratch = busy.allocate(256, "scratch").unwrap();
            add(&function, &busy, [&a, &a, &scratch]).unwrap();
            event.record(&busy).unwrap();
            side.wait(&event).unwrap();
            drop(busy);
            let failed = Graph::capture(&device, |s| {
                add(&function, s, [&a, &a, &scratch])?;
                s.allocate(64, "captured").map(drop)
            });
            assert!(failed.is_err());
            let mut graph = Graph::capture(&device, |s| add(&function, s, [&a, &a, &scratch]).map(drop)).unwrap();
            graph.replay(&side).unwrap();
            side.synchronize().unwrap();
            assert!(graph.update(|s| s.allocate(64, "captured").map(drop)).is_err());
            assert!(graph.replay(&Device::emulated(Chip::A100).default_stream()).is_err());
        }
        assert_eq!(everything(&device), with_stream);
        assert_eq!(pooled(&device), 0);
        drop(side);

        // After all that, the right one still runs.
        let outcome = function.launch(&right, &parameters, &stream, None).unwrap();
        assert!(!outcome.has_errors());
        assert_eq!(values(&c), [2.0; 64]);
        assert_eq!(everything(&device), before);
    }
    device.synchronize().unwrap();
    assert_eq!(everything(&device), nothing);
    failing_calls_of_two_devices_leak_nothing();
}

fn failing_calls_of_two_devices_leak_nothing() {
    let Some([here, there]) = two_devices() else { return };
    let apart = Device::emulated(Chip::H200);
    let before = (everything(&here), everything(&there));
    {
        let (a, b) = (here.allocate(64, "a").unwrap(), there.allocate(32, "b").unwrap());
        let third = apart.create_stream().unwrap();
        assert!(b.copy_from(&a, &here.default_stream()).is_err());
        assert!(a.copy_from(&b, &third).is_err());
        assert!(here.enable_peer_access(&apart).is_err());
        assert!(third.wait(&here.create_event().unwrap()).is_err());
        assert!(here.create_event().unwrap().record(&there.default_stream()).is_err());
        a.copy_from(&b, &there.default_stream()).unwrap();
    }
    here.synchronize().unwrap();
    there.synchronize().unwrap();
    assert_eq!((everything(&here), everything(&there)), before);
}
