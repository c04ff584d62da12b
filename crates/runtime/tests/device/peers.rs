//! Several devices.

use crate::common::{FLAGS, SINGLE, VADD, add, addresses, device, floats, two_devices, values, words};
use warpsmith_runtime::{Device, Error};
use warpsmith_types::Chip;

#[test]
fn bytes_go_between_devices() {
    let Some([here, there]) = two_devices() else { return };
    let function = here.load(VADD, "vadd").unwrap();
    let (x, y) = (floats(&here, &[1.0; 32], "x"), floats(&here, &[0.0; 32], "y"));
    let (far, back) = (floats(&there, &[0.0; 32], "far"), floats(&here, &[0.0; 32], "back"));
    let (stream, other) = (here.create_stream().unwrap(), there.create_stream().unwrap());
    add(&function, &stream, [&x, &x, &y]).unwrap();
    // By a stream of either device; the event orders them across.
    far.copy_from(&y, &stream).unwrap();
    let event = here.create_event().unwrap();
    event.record(&stream).unwrap();
    other.wait(&event).unwrap();
    back.copy_from(&far, &other).unwrap();
    other.synchronize().unwrap();
    let outcome = here.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!((values(&far), values(&back)), (vec![2.0; 32], vec![2.0; 32]));
}

#[test]
fn kernels_reach_what_they_are_let_reach() {
    let Some([here, there]) = two_devices() else { return };
    assert!(here.can_access(&here).unwrap());
    if !here.can_access(&there).unwrap() {
        let refused = here.enable_peer_access(&there).unwrap_err();
        assert!(matches!(refused, Error::NoPeerAccess { .. }), "{refused}");
        return;
    }
    here.enable_peer_access(&there).unwrap();
    here.enable_peer_access(&there).unwrap();
    let function = here.load(VADD, "vadd").unwrap();
    let stream = there.create_stream().unwrap();
    let far = floats(&there, &[3.0; 32], "far");
    // What its pool gives too.
    let pooled = stream.allocate(128, "pooled").unwrap();
    pooled.copy_from(&far, &stream).unwrap();
    stream.synchronize().unwrap();
    let y = floats(&here, &[0.0; 32], "y");
    add(&function, &here.default_stream(), [&far, &pooled, &y]).unwrap();
    let outcome = here.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(values(&y), [6.0; 32]);
}

#[test]
fn default_streams_of_two_devices_run_side_by_side() {
    let Some([here, there]) = two_devices() else { return };
    if !there.can_access(&here).unwrap() {
        return;
    }
    there.enable_peer_access(&here).unwrap();
    let (waiter, signal) = (here.load(FLAGS, "wait_for").unwrap(), there.load(FLAGS, "signal").unwrap());
    let (flag, out) = (here.upload(&[0; 4], "flag").unwrap(), here.upload(&[0; 4], "out").unwrap());
    waiter.launch(&SINGLE, &addresses(&[&flag, &out]), &here.default_stream(), None).unwrap();
    signal.launch(&SINGLE, &addresses(&[&flag]), &there.default_stream(), None).unwrap();
    there.synchronize().unwrap();
    let outcome = here.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!(words(&out), [7]);
}

#[test]
fn kernels_reach_nothing_else() {
    let [here, there] = Device::emulated_node(&[Chip::H200; 2]).unwrap().try_into().unwrap();
    let function = here.load(VADD, "vadd").unwrap();
    let (far, y) = (floats(&there, &[3.0; 32], "far"), floats(&here, &[0.0; 32], "y"));
    add(&function, &here.default_stream(), [&far, &far, &y]).unwrap();
    let outcome = here.synchronize().unwrap();
    assert!(outcome.has_errors() && format!("{:?}", outcome.findings).contains("far"), "{:?}", outcome.findings);
}

#[test]
fn what_nothing_links_is_refused() {
    let (here, apart) = (device(), Device::emulated(Chip::H200));
    assert!(!here.can_access(&apart).unwrap() && !apart.can_access(&here).unwrap());
    let said = apart.enable_peer_access(&here).unwrap_err().to_string();
    assert!(said.contains("can not reach the memory of"), "{said}");
    let event = apart.create_event().unwrap();
    let said = here.default_stream().wait(&event).unwrap_err().to_string();
    assert!(said.starts_with("the event is on emulated:"), "{said}");
    let (a, b) = (here.allocate(4, "a").unwrap(), apart.allocate(4, "b").unwrap());
    assert!(a.copy_from(&b, &apart.default_stream()).is_err());
    assert!(Device::emulated_node(&[]).is_err() && Device::emulated_node(&[Chip::H200; 64]).is_err());
}
