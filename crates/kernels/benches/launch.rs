//! What a launch costs the host: `cargo bench -p warpsmith-kernels --bench launch`.
//!
//! On a card: the driver's own launch, the public call with its four arguments beside it, and their difference; then how
//! long it takes from nothing compiled to launched, with the driver's own cache off, and from machine code on disk. Without
//! a card: the host's part of a launch, on a device that takes launches and does not run them.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(unsafe_code, reason = "the driver's own launch")]

use cudarc::driver::sys;
use std::ffi::{CString, c_void};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use warpsmith_dsl::{Arguments, Kernel, compile};
use warpsmith_kernels::{rms_norm, softmax};
use warpsmith_runtime::{Device, Jit, Stream, Tensor};
use warpsmith_types::{Chip, DType};

const EPS: f32 = 1e-6;
/// Launches between two synchronisations: fewer than the driver queues.
const BATCH: usize = 200;
const BATCHES: usize = 201;

/// Is set for the process that measures: both caches are chosen before the driver loads.
const READY: &str = "WARPSMITH_BENCH_LAUNCH";

fn main() -> ExitCode {
    if std::env::var_os(READY).is_none() {
        return again();
    }
    let device = Device::cuda(0);
    match &device {
        Ok(device) => {
            println!("{}, {}", device.info().name, device.info().driver.map_or(String::new(), |d| d.to_string()))
        }
        Err(e) => println!("no card ({e}); the host's part alone"),
    }
    if let Ok(device) = &device {
        cold(device);
    }
    println!();
    overhead(device.as_ref().ok());
    println!();
    trace();
    ExitCode::SUCCESS
}

/// The same program with an empty cache of ours, and without the driver's.
fn again() -> ExitCode {
    let folder = std::env::temp_dir().join(format!("warpsmith-bench-{}", std::process::id()));
    let run = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).env(READY, "1").env("CUDA_CACHE_DISABLE", "1");
        command.env("WARPSMITH_CACHE", &folder).status()
    });
    // It may never have been made.
    let _ = std::fs::remove_dir_all(&folder);
    match run {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            println!("the benchmark does not start: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The tensors of RMSNorm, few rows: the card is done before the next launch comes.
struct Case {
    x: Tensor,
    weight: Tensor,
    y: Tensor,
}

impl Case {
    fn new(device: &Device, rows: usize, dim: usize) -> Case {
        let tensor = |name, shape: &[usize]| Tensor::new(device, name, DType::BF16, shape).expect("memory");
        Case { x: tensor("x", &[rows, dim]), weight: tensor("weight", &[dim]), y: tensor("y", &[rows, dim]) }
    }

    fn call(&mut self, stream: &Stream) {
        let (x, weight, y) = (self.x.arg(), self.weight.arg(), self.y.arg_mut());
        rms_norm(x, Some(weight), y, EPS, stream).expect("a launch that the device takes");
    }
}

/// Launch overhead.
fn overhead(card: Option<&Device>) {
    println!("rms_norm, bf16, 8 × 4096, cached; medians of {BATCHES} batches of {BATCH} launches");
    let idle = Device::idle(Chip::H200);
    let (mut case, stream) = (Case::new(&idle, 8, 4096), idle.create_stream().expect("a stream"));
    let [host] = times([&mut || case.call(&stream)], || ());
    println!("  {:<44} {host:>8.3} µs", "public call without a driver");
    let Some(device) = card else { return };
    let (mut case, stream) = (Case::new(device, 8, 4096), device.default_stream());
    let mut raw = Raw::new(&mut case, device);
    let bound = {
        let (x, weight, y) = (case.x.arg(), case.weight.arg(), case.y.arg_mut());
        rms_norm::bind(x, Some(weight), y, EPS, device).expect("arguments that the kernel takes")
    };
    let [driver, bound, public] = times(
        [&mut || raw.launch(), &mut || drop(bound.launch(&stream).expect("a launch")), &mut || case.call(&stream)],
        || drop(stream.synchronize().expect("launches that go well")),
    );
    println!("  {:<44} {driver:>8.3} µs", "the driver's launch (cuLaunchKernelEx)");
    println!("  {:<44} {bound:>8.3} µs, {:+.3} µs", "bound launch", bound - driver);
    println!("  {:<44} {public:>8.3} µs, {:+.3} µs", "public call, four arguments", public - driver);
}

/// Microseconds a call, of each in alternation.
fn times<const N: usize>(mut calls: [&mut dyn FnMut(); N], mut wait: impl FnMut()) -> [f64; N] {
    let mut all = [const { vec![] }; N];
    for batch in 0..BATCHES + 5 {
        for (call, times) in calls.iter_mut().zip(&mut all) {
            let start = Instant::now();
            (0..BATCH).for_each(|_| call());
            let took = start.elapsed();
            wait();
            // The first compile and warm up.
            if batch >= 5 {
                times.push(took);
            }
        }
    }
    all.map(|times| median(times).as_secs_f64() * 1e6 / BATCH as f64)
}

/// The same kernel loaded and launched by the driver alone.
struct Raw {
    function: sys::CUfunction,
    parameters: Vec<u8>,
    offsets: Vec<usize>,
    grid: u32,
    block: u32,
}

impl Raw {
    /// The context is the one that the device has made current on this thread here.
    fn new(case: &mut Case, device: &Device) -> Raw {
        let (x, weight, y) = (case.x.arg(), case.weight.arg(), case.y.arg_mut());
        let kernel = rms_norm::plan(x, Some(weight), y, EPS).expect("arguments that the kernel takes");
        let args = rms_norm::RmsNormArgs { x, weight: Some(weight), y, eps: EPS };
        let (arguments, launch) = (Arguments::of::<rms_norm::RmsNormParams>(&args), kernel.launch(&args));
        let compiled = compile(&kernel, &arguments, &launch, device.chip().target).expect("a kernel that compiles");
        let (text, name) = (CString::new(compiled.module.to_string()), CString::new(compiled.entry.clone()));
        let (text, name) = (text.expect("text"), name.expect("a name"));
        let (mut context, mut module, mut function) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the device holds the primary context of card 0; pointers are to live handles, strings are NUL-terminated.
        unsafe {
            check(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
            check(sys::cuCtxSetCurrent(context));
            check(sys::cuModuleLoadData(&mut module, text.as_ptr().cast()));
            check(sys::cuModuleGetFunction(&mut function, module, name.as_ptr()));
        }
        let mut at = 0;
        let offsets = compiled.module.functions[0].parameters.iter().map(|p| {
            let start = usize::next_multiple_of(at, p.align as usize);
            at = start + p.count as usize * p.ty.bytes() as usize;
            start
        });
        let (offsets, parameters) = (offsets.collect(), arguments.bytes().to_vec());
        Raw { function, parameters, offsets, grid: launch.grid[0] as u32, block: launch.block[0] as u32 }
    }

    fn launch(&mut self) {
        let mut pointers = [std::ptr::null_mut::<c_void>(); 16];
        for (pointer, &offset) in pointers.iter_mut().zip(&self.offsets) {
            *pointer = self.parameters[offset..].as_mut_ptr().cast();
        }
        let config = sys::CUlaunchConfig {
            gridDimX: self.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: std::ptr::null_mut(),
            attrs: std::ptr::null_mut(),
            numAttrs: 0,
        };
        // SAFETY: the function is loaded; configuration and parameters live during the call.
        unsafe {
            check(sys::cuLaunchKernelEx(&config, self.function, pointers.as_mut_ptr(), std::ptr::null_mut()));
        }
    }
}

fn check(result: sys::CUresult) {
    assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
}

/// From nothing compiled to launched, and from machine code on disk.
fn cold(device: &Device) {
    let stream = device.default_stream();
    println!("\n{:<32} {:>14} {:>14} {:>14}", "kernel", "cold", "assembled", "from disk");
    let (mut slowest, mut slowest_load) = (Duration::ZERO, Duration::ZERO);
    for dim in [256, 1024, 4096, 8192, 32_768, 49_152] {
        let mut case = Case::new(device, 8, dim);
        device.synchronize().expect("a device that is idle");
        let start = Instant::now();
        case.call(&stream);
        let took = start.elapsed();
        let (x, weight, y) = (case.x.arg(), case.weight.arg(), case.y.arg_mut());
        let kernel = rms_norm::plan(x, Some(weight), y, EPS).expect("arguments that the kernel takes");
        let assembled = {
            let bound = rms_norm::bind(x, Some(weight), y, EPS, device).expect("arguments that the kernel takes");
            bound.loaded().map_or(Duration::ZERO, |l| l.function.report().time)
        };
        let loaded = from_disk(kernel, &rms_norm::RmsNormArgs { x, weight: Some(weight), y, eps: EPS }, device);
        row(&format!("rms_norm 8 × {dim}"), took, assembled, loaded);
        (slowest, slowest_load) = (slowest.max(took), slowest_load.max(loaded));

        let (x, y) = (case.x.arg(), case.y.arg_mut());
        let start = Instant::now();
        softmax(x, y, &stream).expect("a launch that the device takes");
        let took = start.elapsed();
        let kernel = softmax::plan(x, y).expect("arguments that the kernel takes");
        let assembled = {
            let bound = softmax::bind(x, y, device).expect("arguments that the kernel takes");
            bound.loaded().map_or(Duration::ZERO, |l| l.function.report().time)
        };
        let loaded = from_disk(kernel, &softmax::SoftmaxArgs { x, y }, device);
        row(&format!("softmax 8 × {dim}"), took, assembled, loaded);
        (slowest, slowest_load) = (slowest.max(took), slowest_load.max(loaded));
    }
    println!("slowest: cold {slowest:.1?}, from disk {slowest_load:.1?}; the first includes what the driver does once");
}

fn row(what: &str, cold: Duration, assembled: Duration, loaded: Duration) {
    println!("{what:<32} {cold:>14.1?} {assembled:>14.1?} {loaded:>14.1?}");
}

/// Median time to find machine code on disk and to load it.
fn from_disk<K: Kernel + Clone>(
    kernel: K,
    args: &<K::Args as warpsmith_dsl::Params>::Host<'_>,
    device: &Device,
) -> Duration {
    let times = (0..15).map(|_| {
        let bound = Jit::new(kernel.clone()).bind(args, device).expect("arguments that the kernel takes");
        let report = bound.loaded().expect("rows").function.report().clone();
        assert!(report.cached, "machine code that was assembled before is on disk");
        report.time
    });
    median(times.collect())
}

/// Trace time.
fn trace() {
    println!("{:<32} {:>14} {:>14}", "kernel", "trace", "to PTX text");
    let device = Device::idle(Chip::H200);
    for dim in [1024, 4096, 32_768] {
        let mut case = Case::new(&device, 8, dim);
        let (x, weight, y) = (case.x.arg(), case.weight.arg(), case.y.arg_mut());
        let kernel = rms_norm::plan(x, Some(weight), y, EPS).expect("arguments that the kernel takes");
        let args = rms_norm::RmsNormArgs { x, weight: Some(weight), y, eps: EPS };
        let (mut traced, mut printed) = (vec![], vec![]);
        for _ in 0..31 {
            let start = Instant::now();
            let arguments = Arguments::of::<rms_norm::RmsNormParams>(&args);
            let compiled = compile(&kernel, &arguments, &kernel.launch(&args), device.chip().target).expect("a kernel");
            let text = compiled.module.to_string();
            printed.push(start.elapsed());
            drop(text);
            traced.push(compiled.trace_time);
        }
        println!("{:<32} {:>14.1?} {:>14.1?}", format!("rms_norm 8 × {dim}"), median(traced), median(printed));
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
