//! Which of several plans is the fastest: measured on the device when that is asked for, and remembered.
//!
//! An operator's own model decides, unless it is told otherwise: what a process runs must not depend on what another one
//! happened to measure. [`Kernels::tune`](crate::Kernels::tune) measures, and the process goes by what it found; with
//! `WARPSMITH_TUNE=on` calls also go by what other processes have found. Winners lie beside the [cache](crate::cache), each
//! with what it was measured on: for another text of the kernel, another card or another driver it counts for nothing.
//!
//! | file | what |
//! |---|---|
//! | `contest` | how candidates are measured |
//! | `record` | a winner with its provenance, as text |
//! | `store` | where winners are kept |

mod contest;
mod record;
mod store;

pub use contest::{Contest, Measure, contest};
pub use record::{Measured, Provenance, Record};
pub use store::Store;

pub(crate) use record::today;

use std::sync::OnceLock;

/// The variable that has calls go by stored winners: `on`, or `off` as without it.
pub const VARIABLE: &str = "WARPSMITH_TUNE";

/// Whether calls go by stored winners; read once.
pub(crate) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var(VARIABLE).is_ok_and(|v| v == "on" || v == "1"))
}

/// Who has decided on a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The operator's model: there is nothing to measure on, or nothing to choose from.
    Model,
    /// A measurement of before.
    Stored,
    /// A measurement of now.
    Measured,
}

/// The plan that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned<K> {
    /// The kernel.
    pub kernel: K,
    /// Who says so.
    pub by: Decision,
    /// What was measured; `None` when nothing was.
    pub record: Option<Record>,
}
