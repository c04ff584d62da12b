//! What streams keep in order, and what runs side by side.

use crate::common::{FLAGS, SINGLE, VADD, add, addresses, device, floats, values, words};
use warpsmith_runtime::{Device, Error};
use warpsmith_types::Chip;

#[test]
fn streams_run_side_by_side() {
    let device = device();
    let (waiter, signal) = (device.load(FLAGS, "wait_for").unwrap(), device.load(FLAGS, "signal").unwrap());
    let flag = device.upload(&[0; 4], "flag").unwrap();
    let out = device.upload(&[0; 4], "out").unwrap();
    let (first, second) = (device.create_stream().unwrap(), device.create_stream().unwrap());
    // The one that is launched first ends only when the other has run.
    waiter.launch(&SINGLE, &addresses(&[&flag, &out]), &first, None).unwrap();
    signal.launch(&SINGLE, &addresses(&[&flag]), &second, None).unwrap();
    let outcome = device.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(words(&out), [7]);
}

#[test]
fn the_default_stream_may_be_what_an_independent_one_waits_for() {
    let device = device();
    let (waiter, signal) = (device.load(FLAGS, "wait_for").unwrap(), device.load(FLAGS, "signal").unwrap());
    let flag = device.upload(&[0; 4], "flag").unwrap();
    let out = device.upload(&[0; 4], "out").unwrap();
    let stream = device.create_independent_stream().unwrap();
    waiter.launch(&SINGLE, &addresses(&[&flag, &out]), &stream, None).unwrap();
    signal.launch(&SINGLE, &addresses(&[&flag]), &device.default_stream(), None).unwrap();
    let outcome = stream.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(words(&out), [7]);
}

#[test]
fn events_order_streams() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let (y, z) = (floats(&device, &[0.0; 32], "y"), floats(&device, &[0.0; 32], "z"));
    let (first, second) = (device.create_stream().unwrap(), device.create_independent_stream().unwrap());
    let event = device.create_event().unwrap();
    // Waiting for what was never recorded is no wait.
    second.wait(&event).unwrap();
    for _ in 0..2 {
        add(&function, &first, [&x, &x, &y]).unwrap();
        event.record(&first).unwrap();
        second.wait(&event).unwrap();
        add(&function, &second, [&y, &y, &z]).unwrap();
        event.record(&second).unwrap();
        first.wait(&event).unwrap();
    }
    event.synchronize().unwrap();
    assert!(event.has_happened().unwrap());
    let outcome = device.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(values(&z), [4.0; 32]);
}

#[test]
fn what_nothing_orders_is_found() {
    let device = Device::emulated(Chip::H200);
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let (y, z) = (floats(&device, &[0.0; 32], "y"), floats(&device, &[0.0; 32], "z"));
    let race = |independent: bool| {
        let stream = if independent { device.create_independent_stream() } else { device.create_stream() }.unwrap();
        add(&function, &stream, [&x, &x, &y]).unwrap();
        // The default stream waits for the usual ones, and knows nothing of the independent ones.
        let own = add(&function, &device.default_stream(), [&y, &y, &z]).unwrap();
        let all = device.synchronize().unwrap();
        assert!(!own.has_errors(), "{:?}", own.findings);
        all.has_errors()
    };
    assert!(!race(false));
    assert_eq!(values(&z), [4.0; 32]);
    assert!(race(true));
    let (first, second) = (device.create_stream().unwrap(), device.create_stream().unwrap());
    add(&function, &first, [&x, &x, &y]).unwrap();
    add(&function, &second, [&y, &y, &z]).unwrap();
    let said = format!("{:?}", second.synchronize().unwrap().findings);
    assert!(said.contains("race") && said.contains("stream"), "{said}");
}

#[test]
fn the_default_stream_keeps_its_place() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| floats(&device, &[1.0; 32], name));
    let stream = device.create_stream().unwrap();
    let other = device.create_stream().unwrap();
    add(&function, &stream, [&a, &a, &b]).unwrap();
    add(&function, &device.default_stream(), [&b, &b, &c]).unwrap();
    add(&function, &other, [&c, &c, &d]).unwrap();
    d.copy_from(&c, &device.default_stream()).unwrap();
    add(&function, &stream, [&d, &d, &a]).unwrap();
    assert_eq!(values(&a), [8.0; 32]);
    let outcome = device.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
}

#[test]
fn findings_are_kept_until_somebody_asks() {
    let device = Device::emulated(Chip::H200);
    let function = device.load(VADD, "vadd").unwrap();
    let (x, short) = (floats(&device, &[1.0; 32], "x"), floats(&device, &[0.0; 31], "short"));
    let stream = device.create_stream().unwrap();
    let parameters = crate::common::vadd_parameters(x.address(), x.address(), short.address(), 32);
    let outcome = function.launch(&crate::common::SMALL, &parameters, &stream, None).unwrap();
    assert_eq!((outcome.instructions, outcome.findings.len()), (None, 0));
    // A copy to the host runs it, and another launch has an outcome of its own.
    assert_eq!(values(&short), [2.0; 31]);
    let own = add(&function, &device.default_stream(), [&x, &x, &x]).unwrap();
    assert!(own.findings.is_empty());
    drop(stream);
    let told = device.synchronize().unwrap();
    assert!(told.has_errors() && told.instructions.is_some_and(|n| n > 0));
    let again = device.synchronize().unwrap();
    assert_eq!((again.instructions, again.findings.len()), (Some(0), 0));
}

#[test]
fn a_busy_stream_may_go() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let before = device.live_objects();
    {
        let stream = device.create_stream().unwrap();
        assert_eq!(device.live_objects().streams, before.streams + 1);
        let clone = stream.clone();
        drop(stream);
        for _ in 0..4 {
            add(&function, &clone, [&x, &x, &x]).unwrap();
        }
    }
    assert_eq!(device.live_objects(), before);
    assert_eq!(values(&x), [16.0; 32]);
}

#[test]
fn memory_goes_after_what_uses_it() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let stream = device.create_stream().unwrap();
    let y = floats(&device, &[0.0; 32], "y");
    {
        let x = floats(&device, &[1.0; 32], "x");
        add(&function, &stream, [&x, &x, &y]).unwrap();
    }
    let outcome = device.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(values(&y), [2.0; 32]);
}

#[test]
fn a_launch_that_can_not_be_is_refused_when_it_is_queued() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let stream = device.create_stream().unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    add(&function, &stream, [&x, &x, &x]).unwrap();
    // More blocks than can run at once, in a launch where all must.
    let many = warpsmith_runtime::LaunchShape::new([1 << 20, 1, 1], [1024, 1, 1]).cooperative();
    let parameters = crate::common::vadd_parameters(x.address(), x.address(), x.address(), 32);
    let refused = function.launch(&many, &parameters, &stream, None).unwrap_err();
    assert!(!matches!(refused, Error::DeviceLost { .. }), "{refused}");
    stream.synchronize().unwrap();
    assert_eq!(values(&x), [2.0; 32]);
}
