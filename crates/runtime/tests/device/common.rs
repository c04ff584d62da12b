//! What the tests here share.

#![allow(dead_code, reason = "each test program uses its part")]

use warpsmith_runtime::{Buffer, Device, Error, Function, LaunchOutcome, LaunchShape, Stream};
use warpsmith_types::Chip;

/// Adds two vectors of f32: `vadd(a, b, c, n)`.
pub(crate) const VADD: &str = include_str!("kernels/vadd.ptx");
/// `wait_for(flag, out)` and `signal(flag)`.
pub(crate) const FLAGS: &str = include_str!("kernels/flags.ptx");

/// One block of one warp.
pub(crate) const SMALL: LaunchShape = LaunchShape::new([1; 3], [32, 1, 1]);
/// One thread.
pub(crate) const SINGLE: LaunchShape = LaunchShape::new([1; 3], [1; 3]);

/// The device to test on; emulated unless `WARPSMITH_DEVICE` says otherwise.
pub(crate) fn device() -> Device {
    Device::from_env().unwrap()
}

/// Two devices that are linked: emulated ones, or the cards where `WARPSMITH_DEVICE` asks for one. `None` where there is
/// one card.
#[allow(clippy::print_stdout, reason = "what is skipped is said")]
pub(crate) fn two_devices() -> Option<[Device; 2]> {
    let first = device();
    if first.is_emulated() {
        return Device::emulated_node(&[Chip::H200; 2]).unwrap().try_into().ok();
    }
    match Device::cuda_count().unwrap() {
        0 | 1 => {
            println!("skipped: it takes two cards, and there is one");
            None
        }
        _ => Some([Device::cuda(0).unwrap(), Device::cuda(1).unwrap()]),
    }
}

/// A buffer of floats.
pub(crate) fn floats(device: &Device, values: &[f32], name: &str) -> Buffer {
    device.upload(bytemuck::cast_slice(values), name).unwrap()
}

/// All words of a buffer.
pub(crate) fn words(buffer: &Buffer) -> Vec<u32> {
    buffer.to_vec().unwrap().as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

/// All floats of a buffer.
pub(crate) fn values(buffer: &Buffer) -> Vec<f32> {
    words(buffer).into_iter().map(f32::from_bits).collect()
}

/// The parameters of `vadd`, packed.
pub(crate) fn vadd_parameters(a: u64, b: u64, c: u64, n: u32) -> Vec<u8> {
    [&a.to_le_bytes()[..], &b.to_le_bytes(), &c.to_le_bytes(), &n.to_le_bytes()].concat()
}

/// Addresses as parameters.
pub(crate) fn addresses(buffers: &[&Buffer]) -> Vec<u8> {
    buffers.iter().flat_map(|b| b.address().to_le_bytes()).collect()
}

/// Queues `c = a + b` for as many floats as 32 threads add.
pub(crate) fn add(function: &Function, stream: &Stream, [a, b, c]: [&Buffer; 3]) -> Result<LaunchOutcome, Error> {
    let n = (c.len() / 4).min(32) as u32;
    function.launch(&SMALL, &vadd_parameters(a.address(), b.address(), c.address(), n), stream, None)
}
