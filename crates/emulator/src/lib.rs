//! Runs PTX on the CPU, exactly, and checks it.
//!
//! A [`System`] is the emulated machine: devices, their memory in one address space, and the host. A [`Program`] is a kernel of a PTX module, decoded once.
//! A [`Launch`] says with which grid and parameters to run it; the [`Outcome`] counts the instructions and holds what
//! the sanitizer found, each [`Finding`] with thread, address, tensor and source line. Nothing that a kernel does
//! crashes the emulator: a load out of bounds gives poison, such a store is dropped, and the run goes on.
//!
//! ```
//! use warpsmith_emulator::{Launch, Options, Program, System};
//! use warpsmith_types::Chip;
//!
//! let ptx = "
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry double(.param .u64 x)
//! {
//!     .reg .b32 %r<4>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [x];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.u32 %r2, [%rd3];
//!     add.u32 %r3, %r2, %r2;
//!     st.global.u32 [%rd3], %r3;
//!     ret;
//! }";
//! let module = warpsmith_ptx::parse(ptx)?;
//! let program = Program::decode(&module, "double")?;
//!
//! let mut system = System::new(Chip::H200);
//! let x = system.allocate(128, "x")?;
//! let values: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
//! system.write(x, &values)?;
//!
//! let mut launch = Launch::new(1, 32);
//! launch.push(&x.0.to_le_bytes());
//! let outcome = system.launch(&program, &launch, None, &Options::default())?;
//! assert!(outcome.is_clean());
//!
//! let mut last = [0; 4];
//! system.read(x.offset(124), &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 62);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What runs
//!
//! Kernels for `sm_70` to `sm_90a`, and the arithmetic of `sm_100a`: integer, bit, f16, bf16, f32 and f64 arithmetic in
//! every rounding, conversions down to 4 bits, the approximate functions (correctly rounded but for one value in many
//! millions), predicates and unstructured branches, calls of functions with recursion, `vprintf` (what it printed is in
//! [`Outcome::printed`]) and `__assertfail`, loads and stores of all state spaces and widths, atomics of all types and
//! of vectors, `cp.async` with its groups, shuffles, votes, matches and reductions of a warp, the sixteen barriers of a
//! block, `wmma`. Of Hopper's machinery: `mbarrier`, bulk and tensor copies in tile mode with swizzles, reductions and
//! multicast, changes of tensor maps, `wgmma` of every type, `mma` of 8 to 64 bits, `ldmatrix` and `stmatrix`, clusters
//! with their barrier and distributed shared memory, `st.async`. Of several devices: `multimem`, `griddepcontrol`. im2col
//! copies, calls through a register and `clusterlaunchcontrol` are refused by [`Program::decode`]; `tests/table.rs` lists what else is.
//!
//! # What is found
//!
//! Bounds, alignment and initialisation of every access; misused barriers, `mbarrier`s, tensor maps and products;
//! what threads stored and copies or products read without a `fence.proxy.async`, in shared and in global memory;
//! deadlocks, with each warp's wait. Data races are found by happens-before over PTX's memory model: what orders two
//! accesses are `.sync` instructions for the lanes that they name, barriers, `mbarrier` phases, waits for copies, and
//! release and acquire patterns whose scopes include each other; strong accesses of one size may meet, weak ones may
//! not. A report names both accesses, their threads, and what is missing between them. [`Schedule`] and [`Options::seed`]
//! choose who runs when. Findings serialise, and [`Outcome::summary`] says how a process should end.
//!
//! Copies and products that run beside the threads happen as late as they may: what a kernel does not wait for, it does
//! not see. A `try_wait` gives up once before it waits, as the hardware's may. [`TensorMap`] is what kernels copy by.
//!
//! # Several devices, streams, the host
//!
//! [`System::launch`] runs one kernel. What is enqueued with [`System::on`] a [`Stream`] or for a [`HostThread`] runs
//! together, and races between kernels, copies, devices and the host are found:
//!
//! ```
//! use std::sync::Arc;
//! use warpsmith_emulator::{FindingKind, Launch, Options, Program, System};
//! use warpsmith_types::Chip;
//!
//! // Stores 1 to another device's memory.
//! let module = warpsmith_ptx::parse("
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry put(.param .u64 x)
//! {
//!     .reg .b64 %rd<2>;
//!     ld.param.u64 %rd1, [x];
//!     st.global.u32 [%rd1], 1;
//!     ret;
//! }")?;
//! let put = Arc::new(Program::decode(&module, "put")?);
//!
//! let mut system = System::linked([Chip::H200, Chip::H200])?;
//! system.map_peers();
//! let [first, second] = [0, 1].map(warpsmith_emulator::Device);
//! let x = system.allocate_on(second, 4, "x")?;
//! let mut launch = Launch::new(1, 1);
//! launch.push(&x.0.to_le_bytes());
//!
//! let (writer, reader) = (system.stream(first)?, system.stream(second)?);
//! let done = system.event();
//! system.on(writer).launch(&put, launch.clone()).record(done);
//! let read = system.on(reader).wait(done).read(x, 4);
//! assert!(system.run(&Options::default())?.is_clean());
//! assert_eq!(system.result(read), [1, 0, 0, 0]);
//!
//! // Without the event, nothing orders the two.
//! system.on(writer).launch(&put, launch);
//! system.on(reader).read(x, 4);
//! let outcome = system.run(&Options::default())?;
//! assert_eq!(outcome.findings[0].kind, FindingKind::Race);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A device reaches another's memory where it is mapped ([`System::map`], [`System::map_peers`]), and the memory behind
//! a [`System::multicast`] range by `multimem`. PTX wants a `fence.proxy.alias` between accesses through such a range
//! and others to the same memory; no program in use has it, and it is not asked for here. Launches with
//! [`Launch::dependent`] start when the one before lets them; grids share a device's multiprocessors, and a
//! [`Launch::cooperative`] one waits until all of its blocks fit.
//!
//! Where clusters can not see each other's writes, they run on several threads; a kernel with global atomics, fences or
//! volatile accesses runs under one scheduler, seeded by [`Options::seed`].
//!
//! | module | what |
//! |---|---|
//! | `system` | the machine as its users see it |
//! | `memory` | the address space in sparse pages; shared, local and parameter memory |
//! | `decode` | from a PTX function to a [`Program`] |
//! | `program` | the compact form that runs |
//! | `lanes` | registers of a warp, functions over all lanes |
//! | `quick` | the most frequent of these functions in one loop |
//! | `simd` | lane loops for what the machine has |
//! | `arithmetic` | PTX's arithmetic on single values |
//! | `machine` | grids, clusters, blocks, warps; loads, stores, barriers, copies, products; the inner loop |
//! | `tensor_map` | what tensor copies know of a tensor |
//! | `finding`, `record`, `manifest` | reports, reports for programs, and names for them |
//! | `profile`, `step` | what a launch did, line by line; what a warp did, step by step |

mod arithmetic;
mod decode;
mod error;
mod finding;
mod lanes;
mod machine;
mod manifest;
mod memory;
mod profile;
mod program;
mod quick;
mod record;
mod simd;
mod step;
mod system;
mod tensor_map;

pub use error::{DecodeError, Error};
pub use finding::{AccessKind, Finding, FindingKind, MbarrierFault, OtherAccess, Storage};
pub use machine::{Checks, Launch, Options, Outcome, Schedule};
pub use manifest::{ArgumentInfo, Manifest, SharedTile, TensorPlace};
pub use memory::DevicePointer;
pub use profile::{Advice, AdviceKind, LineProfile, Parted, Profile, Requests, Traffic};
pub use program::Program;
pub use record::Summary;
pub use step::{Step, StepRegister, Watch};
pub use system::{Device, Event, HostThread, OnHost, OnStream, Order, Stream, System, Ticket, Word};
pub use tensor_map::{Fill, Swizzle, TensorMap, TensorMapError};
