//! Kernels loaded from PTX text, on the device of the environment.

use crate::common::{VADD, device, floats, vadd_parameters, values, words};
use warpsmith_runtime::bench::{self, Settings};
use warpsmith_runtime::{Device, Graph, LaunchShape};
use warpsmith_types::Chip;

const REVERSE: &str = include_str!("kernels/reverse.ptx");

#[test]
fn vectors_add_up() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    assert_eq!(function.report().registers.is_some(), !device.is_emulated());
    assert!(!device.is_emulated() || function.report().spills.is_none());
    let stream = device.create_stream().unwrap();
    for n in [1, 31, 1000, 4096] {
        let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
        let (x, y, z) = (floats(&device, &a, "a"), floats(&device, &b, "b"), floats(&device, &vec![0.0; n], "c"));
        z.poison().unwrap();
        let shape = LaunchShape::new([n.div_ceil(128) as u32, 1, 1], [128, 1, 1]);
        let parameters = vadd_parameters(x.address(), y.address(), z.address(), n as u32);
        function.launch(&shape, &parameters, &stream, None).unwrap();
        let outcome = stream.synchronize().unwrap();
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        assert_eq!(outcome.instructions.is_some_and(|n| n > 0), device.is_emulated());
        assert_ne!(z.is_initialized().unwrap(), Some(false));
        assert_eq!(values(&z), (0..n).map(|i| 1.5 * i as f32).collect::<Vec<_>>());
    }
}

#[test]
fn a_view_is_an_address() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0, 2.0, 4.0, 8.0], "x");
    let at = |i: u64| x.address() + 4 * i;
    let shape = LaunchShape::new([1; 3], [32, 1, 1]);
    function.launch(&shape, &vadd_parameters(at(1), at(2), at(3), 1), &device.default_stream(), None).unwrap();
    assert_eq!(values(&x), [1.0, 2.0, 4.0, 6.0]);
}

#[test]
fn dynamic_shared_memory_is_raised_to_what_is_asked_for() {
    let device = device();
    let function = device.load(REVERSE, "reverse").unwrap();
    // Little, more than 48 KiB, and all that the chip has.
    for bytes in [1024, 100 << 10, device.chip().shared_per_block] {
        let forth: Vec<u32> = (0..256).collect();
        let x = device.upload(bytemuck::cast_slice(&forth), "x").unwrap();
        let shape = LaunchShape::new([1; 3], [256, 1, 1]).dynamic_shared(bytes);
        let parameters = [&x.address().to_le_bytes()[..], &bytes.to_le_bytes()].concat();
        let outcome = function.launch(&shape, &parameters, &device.default_stream(), None).unwrap();
        assert!(!outcome.has_errors(), "{:?}", outcome.findings);
        assert_eq!(words(&x), forth.iter().rev().copied().collect::<Vec<_>>(), "with {bytes} bytes");
    }
}

#[test]
fn clusters_and_dependent_launches_run_or_are_refused() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let n = 1024;
    let (a, c) = (floats(&device, &vec![1.0; n], "a"), floats(&device, &vec![0.0; n], "c"));
    let parameters = vadd_parameters(a.address(), a.address(), c.address(), n as u32);
    let stream = device.create_stream().unwrap();
    let plain = LaunchShape::new([8, 1, 1], [128, 1, 1]);
    let together = [plain.priority(-5), plain.priority(-1).pdl(), plain.cooperative()];
    let clusters = [plain.cluster([4, 1, 1]), plain.cluster([4, 1, 1]).pdl().priority(-2)];
    for shape in [plain.pdl()].into_iter().chain(together).chain(clusters) {
        c.poison().unwrap();
        match function.launch(&shape, &parameters, &stream, None) {
            Ok(_) => {
                assert!(stream.synchronize().unwrap().findings.is_empty());
                assert!(values(&c).iter().all(|&x| x == 2.0));
            }
            // Not every chip has clusters, nor does the emulator run them all.
            Err(e) => {
                assert!(device.is_emulated() || device.chip().cluster == 1, "{e}");
                assert!(shape.cluster != [1; 3] && e.to_string().contains("cluster"), "{e}");
            }
        }
    }
    // More blocks than run at once, whatever the chip.
    let many = LaunchShape::new([1 << 20, 1, 1], [128, 1, 1]).cooperative();
    let refused = function.launch(&many, &parameters, &stream, None).unwrap_err().to_string();
    assert!(
        refused.starts_with("launch of `vadd`: cooperative grid is 1048576 x 1 x 1; expected at most "),
        "{refused}"
    );
}

#[test]
fn an_access_out_of_bounds_is_found() {
    // On a card it would end the context for the other tests too.
    let device = Device::emulated(Chip::H200);
    let function = device.load(VADD, "vadd").unwrap();
    let (a, c) = (floats(&device, &[1.0; 32], "a"), floats(&device, &[0.0; 31], "c"));
    let parameters = vadd_parameters(a.address(), a.address(), c.address(), 32);
    let shape = LaunchShape::new([1; 3], [32, 1, 1]);
    let outcome = function.launch(&shape, &parameters, &device.default_stream(), None).unwrap();
    assert!(outcome.has_errors());
}

#[test]
fn what_can_not_be_loaded_is_said() {
    let device = device();
    let said = |ptx: &str, entry: &str| device.load(ptx, entry).unwrap_err().to_string();
    assert_eq!(said(VADD, "vsub"), "the PTX has no kernel `vsub`");
    let broken = said(&VADD.replace("add.rn.f32", "add.rn.f33"), "vadd");
    assert!(broken.starts_with("kernel `vadd`") && broken.contains("f33"), "{broken}");
    let other = VADD.replace("sm_80", "sm_100a").replace(".version 7.0", ".version 8.6");
    let device = Device::emulated(Chip::H200);
    assert_eq!(
        device.load(&other, "vadd").unwrap_err().to_string(),
        "kernel `vadd` is for sm_100a; expected PTX that sm_90a runs"
    );
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let function = device().load(VADD, "vadd").unwrap();
    let there = Device::emulated(Chip::H200);
    let shape = LaunchShape::new([1; 3], [32, 1, 1]);
    let refused = function.launch(&shape, &[0; 28], &there.default_stream(), None).unwrap_err();
    assert!(refused.to_string().starts_with("the stream is on emulated:"), "{refused}");
}

#[test]
fn a_graph_replays_its_launches() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0, 0.0], "x");
    let parameters = vadd_parameters(x.address(), x.address(), x.address(), 1);
    let shape = LaunchShape::new([1; 3], [32, 1, 1]);
    let graph = Graph::capture(&device, |stream| {
        function.launch(&shape, &parameters, stream, None)?;
        function.launch(&shape, &parameters, stream, None).map(|_| ())
    })
    .unwrap();
    // What fails within comes out, and the device is none the worse.
    let none = LaunchShape::new([0, 1, 1], [32, 1, 1]);
    let failed = Graph::capture(&device, |stream| function.launch(&none, &parameters, stream, None).map(|_| ()));
    assert!(failed.unwrap_err().to_string().contains("grid.x is 0"));
    // The graph keeps the code.
    drop(function);
    assert_eq!(values(&x), [1.0, 0.0]);
    let stream = device.create_stream().unwrap();
    for _ in 0..3 {
        graph.replay(&stream).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(values(&x), [64.0, 0.0]);
}

#[test]
fn a_copy_is_timed_on_a_card() {
    let device = device();
    let settings = Settings { warm_up: 1, repetitions: 5, ..Settings::default() };
    for settings in [settings, Settings { graph: true, ..settings }] {
        match bench::copy_time(&device, 64 << 20, &settings) {
            Err(e) => assert!(device.is_emulated(), "{e}"),
            Ok(timing) => {
                let share = timing.bandwidth(64 << 20) / device.chip().bandwidth as f64;
                assert!(!device.is_emulated() && timing.repetitions() == 5);
                assert!(share > 0.05 && share < 1.5, "a copy runs at {share} of the datasheet's bandwidth");
            }
        }
    }
}
