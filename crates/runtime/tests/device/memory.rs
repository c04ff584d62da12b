//! Buffers, streams and events, on the device of the environment.

use crate::common::device;
use warpsmith_runtime::{Device, Error};
use warpsmith_types::Chip;

#[test]
fn bytes_come_back_from_where_they_were_put() {
    let device = device();
    let buffer = device.upload(&[1; 64], "x").unwrap();
    assert_eq!((buffer.len(), buffer.name(), buffer.address() % 256), (64, "x", 0));
    buffer.upload_at(7, &[2; 9]).unwrap();
    let mut middle = [0; 11];
    buffer.download_at(6, &mut middle).unwrap();
    assert_eq!(middle, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
    let all = buffer.to_vec().unwrap();
    assert_eq!(all.iter().map(|&b| usize::from(b)).sum::<usize>(), 64 + 9);
}

#[test]
fn nothing_is_copied_past_the_end() {
    let buffer = device().allocate(16, "x").unwrap();
    let said = |e: Error| e.to_string();
    assert_eq!(said(buffer.upload_at(8, &[0; 9]).unwrap_err()), "upload of bytes 8..17 of buffer `x`, which has 16");
    assert_eq!(
        said(buffer.download_at(17, &mut []).unwrap_err()),
        "download of bytes 17..17 of buffer `x`, which has 16"
    );
    assert!(buffer.upload_at(usize::MAX, &[0; 2]).is_err());
    buffer.upload_at(16, &[]).unwrap();
}

#[test]
fn a_buffer_may_be_empty() {
    let device = device();
    let (a, b) = (device.allocate(0, "a").unwrap(), device.allocate(0, "b").unwrap());
    assert!(a.is_empty() && a.address() != b.address() && a.id() != b.id());
    a.upload(&[]).unwrap();
    a.poison().unwrap();
    a.copy_from(&b, &device.default_stream()).unwrap();
    assert!(a.to_vec().unwrap().is_empty());
}

#[test]
fn poison_shows() {
    let device = device();
    let buffer = device.upload(&[0; 8], "y").unwrap();
    buffer.poison().unwrap();
    match buffer.is_initialized().unwrap() {
        Some(initialized) => assert!(device.is_emulated() && !initialized),
        None => assert_eq!(buffer.to_vec().unwrap(), [0xff; 8]),
    }
    buffer.upload(&[0; 8]).unwrap();
    assert_ne!(buffer.is_initialized().unwrap(), Some(false));
}

#[test]
fn streams_keep_order_and_events_time() {
    let device = device();
    let stream = device.create_stream().unwrap();
    let (start, end) = (device.create_event().unwrap(), device.create_event().unwrap());
    let (a, b) = (device.allocate(1 << 20, "a").unwrap(), device.allocate(1 << 20, "b").unwrap());
    start.record(&stream).unwrap();
    a.fill(3, &stream).unwrap();
    b.copy_from(&a, &stream).unwrap();
    end.record(&stream).unwrap();
    // The copy to the host waits for the stream by itself.
    assert!(b.to_vec().unwrap().iter().all(|&x| x == 3));
    assert!(end.since(&start).unwrap().as_secs_f64() < 60.0);

    let independent = device.create_independent_stream().unwrap();
    independent.wait(&end).unwrap();
    a.fill(4, &independent).unwrap();
    independent.synchronize().unwrap();
    device.synchronize().unwrap();
    assert!(a.to_vec().unwrap().iter().all(|&x| x == 4));
}

#[test]
fn what_is_elsewhere_is_refused() {
    let (here, there) = (device(), Device::emulated(Chip::A100));
    let (a, b) = (here.allocate(4, "a").unwrap(), there.allocate(4, "b").unwrap());
    let said = a.copy_from(&b, &here.default_stream()).unwrap_err().to_string();
    assert!(said.starts_with("buffer `b` is on emulated:") && said.contains("(emulated A100), but the call is on"));
    let said = a.fill(0, &there.default_stream()).unwrap_err().to_string();
    assert!(said.starts_with("the stream is on emulated:"), "{said}");
}

#[test]
fn devices_go_by_name() {
    assert!(Device::named("emulated").unwrap().unwrap().info().name == "emulated H200");
    assert!(Device::named("emulated:b200").unwrap().unwrap().chip().name == "B200");
    for nonsense in ["", "gpu", "emulated:X1", "cuda:first"] {
        assert!(Device::named(nonsense).unwrap().is_none(), "{nonsense}");
    }
    let device = device();
    assert!(device == device.clone() && device != Device::emulated(Chip::H200));
}

#[test]
fn a_missing_card_is_said_plainly() {
    match Device::cuda_count() {
        Err(e) => {
            let plain =
                "no CUDA driver found (libcuda.so.1): install NVIDIA's driver for a card, or use the emulated device";
            assert_eq!(e.to_string(), plain);
            assert_eq!(Device::cuda(0).unwrap_err().to_string(), plain);
            assert_eq!(Device::named("cuda").unwrap_err().to_string(), plain);
            assert!(Device::best().is_emulated());
        }
        Ok(0) => assert!(Device::cuda(0).unwrap_err().to_string().starts_with("the CUDA driver finds no card")),
        Ok(count) => {
            let said = Device::cuda(count).unwrap_err().to_string();
            assert_eq!(said, format!("no CUDA card {count}: {count} found, numbered from 0"));
            assert!(Device::cuda(0).unwrap() == Device::cuda(0).unwrap());
            assert!(!Device::best().is_emulated());
        }
    }
}
