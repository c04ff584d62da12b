//! What the tests here share.

use warpsmith_runtime::{Buffer, Device};

/// Adds two vectors of f32: `vadd(a, b, c, n)`.
pub(crate) const VADD: &str = include_str!("kernels/vadd.ptx");

/// The device to test on; emulated unless `WARPSMITH_DEVICE` says otherwise.
pub(crate) fn device() -> Device {
    Device::from_env().unwrap()
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
