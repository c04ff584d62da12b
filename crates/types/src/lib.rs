//! What every part of Warpsmith shares.
//!
//! | module | what |
//! |---|---|
//! | [`dtype`] | element types, by name and by width |
//! | [`convert`] | exact conversions between them |
//! | [`target`] | the instruction sets that PTX is written for, and PTX versions |
//! | [`chip`] | chips as data: multiprocessors, memory, limits |
//! | [`location`] | places in the user's source |
//! | [`diagnostic`] | messages that point at such places, and their renderer |

pub mod chip;
pub mod convert;
pub mod diagnostic;
pub mod dtype;
pub mod location;
mod small;
pub mod target;

pub use chip::Chip;
pub use diagnostic::{Diagnostic, Note, Report, Severity};
pub use dtype::DType;
pub use location::{Inlined, Location};
pub use target::{PtxVersion, Target};
