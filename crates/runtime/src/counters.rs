//! What a process has done so far, in numbers that an engine can export.
//!
//! ```
//! use warpsmith_runtime::counters;
//!
//! let counted = counters::snapshot();
//! assert!(counted.to_prometheus().contains("# TYPE warpsmith_launches_total counter"));
//! ```

use crate::cache::Cache;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Launches that a device took, those written down in graphs included.
pub(crate) static LAUNCHED: Counter = Counter::new();
/// Kernels traced and loaded.
pub(crate) static COMPILED: Counter = Counter::new();
/// Launches that found their kernel in memory.
pub(crate) static FOUND: Counter = Counter::new();
/// Machine code found in a bundle.
pub(crate) static BUNDLED: Counter = Counter::new();
/// Bytes allocated on devices.
pub(crate) static ALLOCATED: Counter = Counter::new();
/// Bytes given back.
pub(crate) static FREED: Counter = Counter::new();

/// All counters at one time. Names are stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Launches that a device took, those written down in graphs included.
    pub launches: u64,
    /// Kernels of the language traced and loaded; all other launches of them found theirs in memory.
    pub compiles: u64,
    /// Launches of kernels of the language that found theirs in memory.
    pub memory_hits: u64,
    /// Machine code found in the cache on disk.
    pub disk_hits: u64,
    /// Machine code that was not there, and was assembled.
    pub disk_misses: u64,
    /// Machine code found in a bundle.
    pub bundle_hits: u64,
    /// Bytes allocated on devices.
    pub bytes_allocated: u64,
    /// Bytes given back.
    pub bytes_freed: u64,
}

/// What was counted up to now, in this process.
pub fn snapshot() -> Counters {
    let (disk_hits, disk_misses) = Cache::process().map_or((0, 0), Cache::counts);
    Counters {
        launches: LAUNCHED.get(),
        compiles: COMPILED.get(),
        memory_hits: FOUND.get(),
        disk_hits,
        disk_misses,
        bundle_hits: BUNDLED.get(),
        bytes_allocated: ALLOCATED.get(),
        bytes_freed: FREED.get(),
    }
}

impl Counters {
    /// Name, meaning and number of each.
    pub fn list(&self) -> [(&'static str, &'static str, u64); 8] {
        [
            (
                "warpsmith_launches_total",
                "Launches that a device took, those written down in graphs included.",
                self.launches,
            ),
            ("warpsmith_compiles_total", "Kernels traced and loaded.", self.compiles),
            ("warpsmith_memory_hits_total", "Launches that found their kernel in memory.", self.memory_hits),
            ("warpsmith_disk_hits_total", "Machine code found in the cache on disk.", self.disk_hits),
            ("warpsmith_disk_misses_total", "Machine code that the cache on disk did not have.", self.disk_misses),
            ("warpsmith_bundle_hits_total", "Machine code found in a bundle.", self.bundle_hits),
            ("warpsmith_allocated_bytes_total", "Bytes allocated on devices.", self.bytes_allocated),
            ("warpsmith_freed_bytes_total", "Bytes given back to devices.", self.bytes_freed),
        ]
    }

    /// In Prometheus' text format.
    pub fn to_prometheus(&self) -> String {
        self.list().iter().fold(String::new(), |mut text, (name, help, n)| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {n}");
            text
        })
    }
}
