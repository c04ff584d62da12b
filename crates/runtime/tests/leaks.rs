//! Failing calls leave nothing behind. One test, alone in its process, so that only its own buffers count.

#[path = "device/common.rs"]
mod common;

use common::{VADD, device, floats, vadd_parameters, values};
use warpsmith_runtime::{LaunchShape, MemoryUse};

#[test]
fn failing_calls_leak_nothing() {
    let device = device();
    assert_eq!(device.memory_use(), MemoryUse::default());
    {
        let function = device.load(VADD, "vadd").unwrap();
        let (a, c) = (floats(&device, &[1.0; 64], "a"), floats(&device, &[0.0; 64], "c"));
        let parameters = vadd_parameters(a.address(), a.address(), c.address(), 64);
        let before = device.memory_use();
        assert_eq!(before, MemoryUse { buffers: 2, bytes: 512, ..MemoryUse::default() });

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
        assert_eq!(device.memory_use(), before);

        // After all that, the right one still runs.
        let outcome = function.launch(&right, &parameters, &stream, None).unwrap();
        assert!(!outcome.has_errors());
        assert_eq!(values(&c), [2.0; 64]);
    }
    device.synchronize().unwrap();
    assert_eq!(device.memory_use(), MemoryUse::default());
}
