//! How fast matrix products are on a card: `cargo bench -p warpsmith-kernels --bench gemm`. Random data, since zeros run
//! faster; cold cache; medians.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use warpsmith_kernels::compare::encode;
use warpsmith_kernels::gemm;
use warpsmith_kernels::random::Random;
use warpsmith_runtime::bench::{Settings, measure};
use warpsmith_runtime::{Device, Tensor};
use warpsmith_types::DType;

fn main() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(e) => return println!("nothing to measure: {e}"),
    };
    println!("{:>6} {:>6} {:>6} {:>10} {:>9} {:>10}", "m", "n", "k", "µs", "TFLOP/s", "registers");
    for [m, n, k] in
        [[8192, 8192, 8192], [4096, 4096, 4096], [8192, 8192, 1024], [2048, 2048, 8192], [16384, 4096, 4096]]
    {
        let tensor = |name, rows: usize, columns: usize, seed: u64| {
            let bytes = encode(DType::BF16, &Random::new(seed).normals(rows * columns, 1.0));
            Tensor::from_bytes(&device, name, DType::BF16, &[rows, columns], &bytes).expect("memory for the tensors")
        };
        let (a, b) = (tensor("a", m, k, 1), tensor("b", n, k, 2));
        let mut c = Tensor::new(&device, "c", DType::BF16, &[m, n]).expect("memory for the tensors");
        let bound = gemm::bind(a.arg(), b.arg(), c.arg_mut(), &device).expect("arguments that the kernel takes");
        let settings = Settings::default();
        let timing = measure(&device, &settings, |s| {
            bound.launch(s).expect("a launch that the device takes");
            Ok(())
        });
        let time = timing.expect("a card that measures").median().as_secs_f64();
        let registers = bound.loaded().and_then(|l| l.function.report().registers).unwrap_or(0);
        let flops = 2.0 * m as f64 * n as f64 * k as f64;
        println!("{m:>6} {n:>6} {k:>6} {:>10.1} {:>9.1} {registers:>10}", time * 1e6, flops / time / 1e12);
    }
}
