//! Devices, memory, streams and launches: what runs a PTX kernel, on a GPU or without one.
//!
//! A [`Device`] is a CUDA card or an emulated chip; both stand behind one trait, so everything above a device is the
//! same on both. On it live [`Buffer`]s, [`Stream`]s and [`Event`]s, and [`Function`]s loaded from PTX, which are
//! launched with a [`LaunchShape`] and packed parameter bytes:
//!
//! ```
//! use warpsmith_runtime::{Device, Error};
//! use warpsmith_types::Chip;
//!
//! let device = Device::emulated(Chip::H200);
//! let x = device.allocate(16, "x")?;
//! x.upload(&[7; 16])?;
//! let mut back = [0; 16];
//! x.download(&mut back)?;
//! assert_eq!(back, [7; 16]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`device`] | devices and what lives on them |
//! | [`tensor`] | tensors that own their memory |
//! | [`jit`] | kernels of the language, compiled when they are first launched |
//! | [`cache`] | machine code on disk, assembled once |
//! | [`report`] | what the assembler says of a kernel, and its machine code |
//! | [`mod@bench`] | how long launches take on a card, beside a copy of the same bytes |
//! | [`error`] | what can go wrong, in words |
//! | `driver` | CUDA's driver, loaded when the program runs; the only place with `unsafe` code |
//!
//! The build needs no CUDA. A machine without a driver gives [`Error::NoDriver`] where a card is asked for, and emulates
//! where it is not.

pub mod bench;
pub mod cache;
pub mod device;
mod driver;
pub mod error;
pub mod jit;
mod manifest;
pub mod report;
pub mod tensor;

pub use device::{
    Buffer, Device, DeviceId, DeviceInfo, Event, Function, Graph, GraphUpdate, LaunchOutcome, LaunchShape, LiveObjects,
    MemoryHandle, MemoryUse, POOL_THRESHOLD, Pinned, Ptx, Stream, TENSOR_MAP_BYTES, TensorMap, Transfer,
};
pub use driver::{DriverVersion, PoolUse};
pub use error::Error;
pub use jit::{Bound, Jit, LaunchError, Loaded};
pub use report::CompileReport;
pub use tensor::Tensor;
