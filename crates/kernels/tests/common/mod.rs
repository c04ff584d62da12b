//! What the operators' tests share: the device, fresh data, and the comparison.

// Each test file uses a part of this; the seed is printed so that a failing run can be repeated.
#![allow(dead_code, unreachable_pub, clippy::print_stdout)]

pub mod assemble;

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use warpsmith_kernels::compare::{Tolerance, decode, encode, worst};
use warpsmith_kernels::random::Random;
use warpsmith_runtime::{Device, LaunchOutcome, Tensor};
use warpsmith_types::{Chip, DType};

/// Row lengths: powers of two, primes, lengths that no vector divides, the odd ones of real models.
pub const LENGTHS: [usize; 15] = [1, 7, 8, 31, 32, 100, 111, 128, 1000, 2880, 4096, 4100, 5000, 32768, 49152];
pub const ROWS: [usize; 4] = [0, 1, 3, 33];
pub const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// The device of this run: emulated, unless `WARPSMITH_DEVICE=cuda` asks for a card; then there must be one.
pub fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let chosen = || match std::env::var("WARPSMITH_DEVICE") {
        Ok(_) => Device::from_env().expect("the device that WARPSMITH_DEVICE names"),
        Err(_) => Device::emulated(Chip::H200),
    };
    DEVICE.get_or_init(chosen).clone()
}

/// Whether much is to be run: on a card, unless `WARPSMITH_SHAPES=small` asks for what a checking tool gets through.
pub fn is_large() -> bool {
    !device().is_emulated() && std::env::var("WARPSMITH_SHAPES").map_or(true, |shapes| shapes != "small")
}

/// Random numbers that differ from run to run; `WARPSMITH_SEED` repeats a run.
pub fn fresh() -> Random {
    static SEED: OnceLock<u64> = OnceLock::new();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
    let chosen = || std::env::var("WARPSMITH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(now);
    Random::new(*SEED.get_or_init(|| {
        let seed = chosen();
        println!("WARPSMITH_SEED={seed}");
        seed
    }))
}

/// How a matrix lies in memory: rows `stride` apart, the first `offset` elements in.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    pub stride: usize,
    pub offset: usize,
}

impl Placement {
    pub fn dense(dim: usize) -> Placement {
        Placement { stride: dim, offset: 0 }
    }

    /// Where element (row, column) is.
    pub fn index(self, row: usize, column: usize) -> usize {
        self.offset + row * self.stride + column
    }
}

/// A matrix on the device with these values, rounded to the dtype; between the rows lies NaN.
pub fn matrix(name: &str, dtype: DType, rows: usize, dim: usize, at: Placement, values: &[f64]) -> Tensor {
    let t = Tensor::strided(&device(), name, dtype, [rows, dim], at.stride, at.offset).unwrap();
    let mut all = vec![f64::NAN; t.buffer().len() / dtype.bytes()];
    for r in 0..rows {
        all[at.index(r, 0)..at.index(r, 0) + dim].copy_from_slice(&values[r * dim..(r + 1) * dim]);
    }
    t.buffer().upload(&encode(dtype, &all)).unwrap();
    t
}

/// An output with poison in it.
pub fn output(dtype: DType, rows: usize, dim: usize, at: Placement) -> Tensor {
    let t = Tensor::strided(&device(), "y", dtype, [rows, dim], at.stride, at.offset).unwrap();
    t.buffer().poison().unwrap();
    t
}

/// What a dtype makes of values.
pub fn rounded(dtype: DType, values: &[f64]) -> Vec<f64> {
    decode(dtype, &encode(dtype, values))
}

/// Asserts that the sanitizer is content, that `y` holds `expected`, and that nothing around it was written.
pub fn assert_right(what: &str, outcome: &LaunchOutcome, y: &Tensor, at: Placement, expected: &[f64], before: &[u8]) {
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{what}: {}", findings.join("\n"));
    let [rows, dim] = [y.shape()[0], y.shape()[1]];
    let (dtype, bytes) = (y.dtype(), y.to_bytes().unwrap());
    let all = decode(dtype, &bytes);
    let mut mine = vec![false; all.len()];
    let mut got = vec![];
    for r in 0..rows {
        got.extend_from_slice(&all[at.index(r, 0)..at.index(r, 0) + dim]);
        mine[at.index(r, 0)..at.index(r, 0) + dim].fill(true);
    }
    assert_eq!(got.len(), expected.len(), "{what}");
    if let Some(w) = worst(&got, expected, Tolerance::of(dtype)) {
        let place = [w.index / dim, w.index % dim];
        assert!(
            w.share <= 1.0,
            "{what}: {} instead of {} at {place:?}, {:.2} of the tolerance",
            w.got,
            w.expected,
            w.share
        );
    }
    let width = dtype.bytes();
    for (i, _) in mine.iter().enumerate().filter(|(_, m)| !**m) {
        let at = i * width..(i + 1) * width;
        assert_eq!(bytes[at.clone()], before[at], "{what}: element {i} lies outside and was written");
    }
}
