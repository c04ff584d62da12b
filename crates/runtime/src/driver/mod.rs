//! CUDA's driver, over `cudarc`'s raw bindings; the only place with `unsafe` code.
//!
//! The library is opened when the first card is asked for, and every function that is used anywhere is looked up then,
//! so that an old driver is an error in words and not a panic later. What is `unsafe` here is what touches the host's
//! memory: handles, slices, strings. Device memory is outside Rust's memory; a wrong address there is the driver's or
//! the device's error, reported as [`Error::Driver`] or [`Error::DeviceLost`].
//!
//! | file | what |
//! |---|---|
//! | `api` | the table of functions |
//! | `failure` | result codes, in words |
//! | `properties` | what a card is |
//! | `context` | a card in use: its context, errors that end it, memory |
//! | `pool` | memory in a stream's order |
//! | `pinned` | page-locked memory of the host, and copies that go on by themselves |
//! | `peer` | cards that reach each other's memory |
//! | `share` | memory and events that other processes see |
//! | `foreign` | streams, contexts and memory that another library made |
//! | `queue` | streams, events |
//! | `graph` | captures, and the graphs made of them |
//! | `link` | PTX to a cubin |
//! | `kernel` | a loaded cubin, and launches |
//! | `tensor_map` | how TMA sees a tensor |
//! | `nvtx` | ranges on a profiler's timeline |
#![allow(unsafe_code)]

mod api;
mod context;
mod failure;
mod foreign;
mod graph;
mod kernel;
mod link;
pub(crate) mod nvtx;
mod peer;
mod pinned;
mod pool;
mod properties;
mod queue;
mod share;
mod tensor_map;

pub(crate) use context::Context;
pub(crate) use graph::GraphHandle;
pub(crate) use kernel::Kernel;
pub(crate) use link::link;
pub(crate) use pinned::{PinnedMemory, PinnedTransfer};
pub use pool::PoolUse;
pub(crate) use properties::Properties;
pub(crate) use queue::{EventHandle, StreamHandle};
pub(crate) use share::{IPC_BYTES, Mapping};

use crate::error::Error;
use api::Api;
use std::fmt;
use std::sync::OnceLock;

/// The CUDA version that a driver supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriverVersion {
    /// Before the dot.
    pub major: u32,
    /// After the dot.
    pub minor: u32,
}

impl DriverVersion {
    /// The oldest that works: PTX 8.0 with `sm_90a`, launches with attributes.
    pub const OLDEST: DriverVersion = DriverVersion { major: 12, minor: 0 };
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA {}.{}", self.major, self.minor)
    }
}

/// The loaded and initialised driver.
pub(crate) struct Driver {
    api: Api,
    /// The CUDA version that it supports.
    pub(crate) version: DriverVersion,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The driver, loaded at the first call.
pub(crate) fn driver() -> Result<&'static Driver, Error> {
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let driver = Driver::load()?;
    // Two threads may get here at once; loading twice does no harm.
    Ok(DRIVER.get_or_init(|| driver))
}

impl Driver {
    fn load() -> Result<Driver, Error> {
        let api = Api::load()?;
        let mut number = 0;
        // SAFETY: the pointer is to a live integer; this call is allowed before `cuInit`.
        unsafe { api.cuDriverGetVersion(&mut number) }.map_err(|e| e.with(&api))?;
        let number = u32::try_from(number).unwrap_or(0);
        let version = DriverVersion { major: number / 1000, minor: number % 1000 / 10 };
        if version < DriverVersion::OLDEST {
            return Err(Error::DriverTooOld { found: version.to_string(), needed: DriverVersion::OLDEST });
        }
        // SAFETY: no arguments but flags, which must be 0.
        unsafe { api.cuInit(0) }.map_err(|e| e.with(&api))?;
        Ok(Driver { api, version })
    }

    /// How many cards there are.
    pub(crate) fn count(&self) -> Result<u32, Error> {
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        unsafe { self.api.cuDeviceGetCount(&mut count) }.map_err(|e| e.with(&self.api))?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// What the card is; makes no context.
    pub(crate) fn properties(&self, ordinal: u32) -> Result<Properties, Error> {
        Properties::read(self, ordinal)
    }
}
