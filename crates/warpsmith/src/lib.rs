//! CuTe for Rust: a GPU-kernel language embedded in Rust, an emulator that runs and checks its kernels without a GPU, and
//! a library of LLM kernels.
//!
//! A kernel is a Rust function that runs once, when it is compiled, and writes down a GPU program. Rust values are
//! compile time, typed handles are run time. The program becomes PTX, which the driver runs on a GPU and the emulator
//! runs and checks on a CPU.
//!
//! ```
//! use warpsmith::prelude::*;
//!
//! /// `y = a · x`, a block for each row.
//! struct Scale;
//!
//! #[derive(KernelArgs)]
//! struct ScaleArgs<'a> {
//!     #[tensor(rows, dim = fixed)]
//!     x: &'a TensorArg,
//!     #[tensor(rows, dim = fixed)]
//!     y: &'a mut TensorArg,
//!     a: f32,
//! }
//!
//! impl Kernel for Scale {
//!     type Args = ScaleParams;
//!
//!     fn name(&self) -> String {
//!         "scale".into()
//!     }
//!
//!     fn launch(&self, args: &ScaleArgs) -> Launch {
//!         Launch::grid(args.x.dim(0)).block(32)
//!     }
//!
//!     fn body(&self, args: ScaleParams) {
//!         let tv = Tv::rows(1, 32, 4, 1).unwrap();
//!         let mine = |t: &Tensor| t.tile([1, 128], (block_idx().x, 0)).partition(&tv, thread_idx().x);
//!         mine(&args.y).store(mine(&args.x).load().f32() * args.a);
//!     }
//! }
//!
//! let device = Device::emulated(Chip::H200);
//! let ones: Vec<u8> = [1.0f32; 256].iter().flat_map(|v| v.to_le_bytes()).collect();
//! let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[2, 128], &ones)?;
//! let mut y = DeviceTensor::new(&device, "y", DType::F32, &[2, 128])?;
//! let args = ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 3.0 };
//! let outcome = Jit::new(Scale).launch(&args, &device.default_stream())?;
//! assert!(outcome.findings.is_empty());
//! assert!(y.to_bytes()?.chunks(4).all(|b| b == 3.0f32.to_le_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | name | what |
//! |---|---|
//! | [`prelude`] | what a kernel file imports |
//! | [`dsl`] | the kernel language |
//! | [`layout`] | CuTe's layout algebra on the host |
//! | [`runtime`] | devices, memory, streams, launches |
//! | [`kernels`] | the library |
//! | [`types`] | dtypes, targets, chips, diagnostics |

pub use warpsmith_dsl as dsl;
pub use warpsmith_kernels as kernels;
pub use warpsmith_layout as layout;
pub use warpsmith_runtime as runtime;
pub use warpsmith_types as types;

/// What a kernel file imports: the language, and what is needed to launch.
pub mod prelude {
    pub use warpsmith_dsl::prelude::*;
    pub use warpsmith_runtime::{Device, Jit, Stream, Tensor as DeviceTensor};
    pub use warpsmith_types::Chip;
}
