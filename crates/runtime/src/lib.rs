//! Devices, memory, streams and launches: what runs a kernel, on a GPU or without one.
//!
//! From nothing to a launched kernel of one's own (`warpsmith::prelude` has all of these names, in one import):
//!
//! ```
//! # extern crate warpsmith_runtime as warpsmith; // the derive names the facade
//! use warpsmith_dsl::prelude::*;
//! use warpsmith_runtime::{Device, Jit, Tensor as DeviceTensor};
//!
//! /// `y = a · x`, a block for each row of 128.
//! struct Scale;
//!
//! #[derive(KernelArgs)]
//! struct ScaleArgs<'a> {
//!     #[tensor(rows, dim = fixed)] // `dim` is folded into the code, `rows` is read when it runs
//!     x: &'a TensorArg,
//!     #[tensor(rows, dim = fixed)]
//!     y: &'a mut TensorArg,
//!     a: f32,
//! }
//!
//! impl Kernel for Scale {
//!     type Args = ScaleParams; // written by the derive: the same fields, as run-time values
//!     fn name(&self) -> String {
//!         "scale".into()
//!     }
//!     fn launch(&self, args: &ScaleArgs) -> Launch {
//!         Launch::grid(args.x.dim(0)).block(32)
//!     }
//!     fn body(&self, args: ScaleParams) {
//!         let tv = Tv::rows(1, 32, 4, 1).unwrap(); // 32 threads, 4 elements each
//!         let mine = |t: &Tensor| t.tile([1, 128], (block_idx().x, 0)).partition(&tv, thread_idx().x);
//!         mine(&args.y).store(mine(&args.x).load().f32() * args.a);
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let device = Device::best(); // the first card, or an emulated H200
//!     let ones: Vec<u8> = [1.0f32; 256].iter().flat_map(|v| v.to_le_bytes()).collect();
//!     let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[2, 128], &ones)?;
//!     let mut y = DeviceTensor::new(&device, "y", DType::F32, &[2, 128])?;
//!     let scale = Jit::new(Scale); // compiled at its first launch, and found again after that
//!     scale.launch(&ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 3.0 }, &device.default_stream())?;
//!     assert!(y.to_bytes()?.chunks(4).all(|b| b == 3.0f32.to_le_bytes()));
//!     Ok(())
//! }
//! ```
//!
//! A [`Device`] is a CUDA card or an emulated chip; both stand behind one trait, so everything above a device is the
//! same on both. On it live [`Buffer`]s, [`Stream`]s and [`Event`]s, and [`Function`]s loaded from PTX, of the language or
//! from elsewhere. What is launched on streams runs side by side, on emulated devices too.
//!
//! | for | there is |
//! |---|---|
//! | memory in a stream's order, from a pool | [`Stream::allocate`], [`Device::pool_use`], [`Device::trim_pool`] |
//! | copies that go on by themselves | [`Device::pinned`], [`Stream::upload_from`], [`Stream::download_to`] |
//! | work that is written down and replayed | [`Graph::capture`], [`Graph::update`], [`Graph::replay`] |
//! | several devices | [`Buffer::copy_from`], [`Device::enable_peer_access`], [`Stream::wait`], [`Device::emulated_node`] |
//! | streams, memory and contexts of PyTorch or another library | [`Stream::from_raw`], [`Stream::as_raw`], [`Device::foreign`], [`Device::from_current_context`] |
//! | other processes | [`Buffer::export`], [`Device::import`], [`Device::allocate_shareable`], [`Event::export`] |
//! | looking for leaks | [`Device::memory_use`], [`Device::live_objects`] |
//!
//! | module | what |
//! |---|---|
//! | [`device`] | devices and what lives on them |
//! | [`tensor`] | tensors that own their memory |
//! | [`jit`] | kernels of the language, compiled when they are first launched; operators of several |
//! | [`prepare`](mod@prepare), [`bundle`] | compiling before anyone calls: on a device, or into a file that a deployment loads |
//! | [`tuning`] | which of several plans is the fastest |
//! | [`cache`] | machine code on disk, assembled once |
//! | [`report`] | what the assembler says of a kernel, and its machine code |
//! | [`mod@bench`] | how long launches take on a card, beside a copy of the same bytes |
//! | [`counters`], [`range`] | what was done, for an engine to export; ranges on a profiler's timeline |
//! | [`error`] | what can go wrong, in words |
//! | `driver` | CUDA's driver, loaded when the program runs; the only place with `unsafe` code |
//!
//! | variable | what |
//! |---|---|
//! | `WARPSMITH_DEVICE` | the device of [`Device::from_env`]: `cuda`, `cuda:1`, `emulated`, `emulated:A100` |
//! | `WARPSMITH_SYNC=1` | each launch is waited for, so that an error names the kernel that it is of |
//! | `WARPSMITH_CACHE`, `WARPSMITH_CACHE_MIB` | where machine code is kept, or `off`; how much of it |
//! | `WARPSMITH_BUNDLE` | a file of machine code, looked in first |
//! | `WARPSMITH_ASSEMBLER` | who makes machine code: `driver`, or `ptxas` |
//! | `WARPSMITH_LINE_INFO=1` | lines of source count for what is cached |
//! | `WARPSMITH_TUNE=on` | calls go by what was tuned in other processes |
//! | `WARPSMITH_NVTX=1` | compiling and launches are ranges for Nsight Systems |
//!
//! The build needs no CUDA. A machine without a driver gives [`Error::NoDriver`] where a card is asked for, and emulates
//! where it is not.

// What the derive macro writes names the language as users do; the page above is compiled here.
#[doc(hidden)]
pub use warpsmith_dsl as dsl;

pub mod bench;
pub mod bundle;
pub mod cache;
pub mod counters;
pub mod device;
mod driver;
pub mod error;
pub mod jit;
mod launched;
pub mod prepare;
pub mod range;
pub mod report;
pub mod tensor;
pub mod tuning;

pub use device::{
    Buffer, Device, DeviceId, DeviceInfo, Event, Function, Graph, GraphUpdate, LaunchOutcome, LaunchShape, LiveObjects,
    MemoryHandle, MemoryUse, POOL_THRESHOLD, Pinned, Ptx, Stream, TENSOR_MAP_BYTES, TensorMap, Transfer,
};
pub use driver::{DriverVersion, PoolUse};
pub use error::Error;
pub use jit::{Bound, Jit, Kernels, LaunchError, Loaded, Plans};
pub use launched::Suspect;
pub use prepare::{Request, prepare};
pub use report::CompileReport;
pub use tensor::Tensor;
