//! How long a kernel takes from its Rust function to PTX text, without a device: `cargo bench -p warpsmith-kernels`.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

// What the language's macros write begins with this name.
extern crate warpsmith_kernels as warpsmith;

use std::time::{Duration, Instant};
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Arguments, DeviceId, Params, Target, compile};
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
    let mut c = TensorArg::new(1 << 40, DeviceId(0), DType::F32, &[64, 256]);
    row(&Unrolled { tiles: 464 }, &UnrolledArgs { c: &mut c });
}

/// A Hopper GEMM's main loop over a ring of four stages, unrolled by Rust: each tile of K is waited for, multiplied by
/// four instructions, and freed. Who fills the ring is of no matter to how long this takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unrolled {
    /// Tiles along K, of 64.
    tiles: usize,
}

#[derive(KernelArgs)]
struct UnrolledArgs<'a> {
    #[tensor(m, n)]
    c: &'a mut TensorArg,
}

const STAGES: usize = 4;

impl Kernel for Unrolled {
    type Args = UnrolledParams;

    fn name(&self) -> String {
        format!("unrolled_{}", self.tiles)
    }

    fn launch(&self, _: &UnrolledArgs<'_>) -> Launch {
        Launch::grid(1).block(128)
    }

    fn body(&self, x: UnrolledParams) {
        let mma = WarpgroupMma::new(256, DType::BF16, DType::BF16);
        let tile = |name, rows| {
            let layout = smem_layout(DType::BF16, Major::K, SharedSwizzle::B128, (rows, 64));
            std::array::from_fn::<_, STAGES, _>(|_| SmemTensor::new(name, DType::BF16, layout.clone()))
        };
        let (a, b) = (tile("a", 64), tile("b", 256));
        let [full, empty] = ["full", "empty"].map(|name| Mbarriers::new(name, STAGES));
        let sums = mma.accumulator();
        for k in 0..self.tiles {
            let (stage, phase) = (k % STAGES, k / STAGES % 2);
            full.at(stage).wait(phase);
            sums.mma(&a[stage], &b[stage]).wait();
            empty.at(stage).arrive();
        }
        let tiled = mma.tiled(1).unwrap();
        let out = tiled.make_fragment_c([64, 256]);
        out.set(sums.finish());
        autovec_copy(&out, &tiled.partition_c(&x.c.tile([64, 256], (0, 0)), thread_idx().x));
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
