//! How long a kernel takes from its Rust function to PTX text, without a device: `cargo bench -p warpsmith-kernels`.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::time::{Duration, Instant};
use warpsmith_dsl::{Arguments, DType, DeviceId, Kernel, Params, Target, TensorArg, compile};
use warpsmith_kernels::{rms_norm, softmax};

fn main() {
    println!("{:<32} {:>8} {:>10} {:>10} {:>10} {:>10}", "kernel", "PTX", "trace", "to PTX", "print", "in all");
    for dtype in [DType::BF16, DType::F32] {
        for dim in [128, 1000, 4096, 32_768, 49_152] {
            let tensor = |address, shape: &[usize]| TensorArg::new(address, DeviceId(0), dtype, shape);
            let (x, mut y, w) = (tensor(1 << 40, &[64, dim]), tensor(1 << 41, &[64, dim]), tensor(1 << 42, &[dim]));
            let kernel = softmax::plan(&x, &y).unwrap();
            row(&kernel, &softmax::SoftmaxArgs { x: &x, y: &mut y });
            let kernel = rms_norm::plan(&x, Some(&w), &y, 1e-6).unwrap();
            row(&kernel, &rms_norm::RmsNormArgs { x: &x, weight: Some(&w), y: &mut y, eps: 1e-6 });
        }
    }
}

/// Medians over repeated compilations.
fn row<K: Kernel>(kernel: &K, host: &<K::Args as Params>::Host<'_>) {
    let (mut trace, mut lower, mut print, mut all) = (vec![], vec![], vec![], vec![]);
    let mut lines = 0;
    for _ in 0..31 {
        let start = Instant::now();
        let arguments = Arguments::of::<K::Args>(host);
        let compiled = compile(kernel, &arguments, &kernel.launch(host), Target::SM_90A).unwrap();
        let printing = Instant::now();
        lines = compiled.module.to_string().lines().count();
        print.push(printing.elapsed());
        all.push(start.elapsed());
        trace.push(compiled.trace_time);
        lower.push(compiled.lower_time);
    }
    let [trace, lower, print, all] = [trace, lower, print, all].map(median);
    println!("{:<32} {lines:>8} {trace:>10.1?} {lower:>10.1?} {print:>10.1?} {all:>10.1?}", kernel.name());
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
