//! What kernels over rows share: how blocks cover rows ([`RowPlan`]), how a kernel walks over them and reduces along them
//! (`walk`, `reduce`), how it is launched, and the checks of their arguments.

mod check;
mod launch;
mod leaving;
mod plan;
mod reduce;
mod ring;
mod shifted;
mod staging;
mod summing;
mod walk;
mod ways;

pub use check::vector;
pub use plan::{LONGEST_ROW, RowPlan};
pub use staging::{Narrow, RingPlan, Ringed, Staging};
pub use summing::Summing;

pub(crate) use check::{EVEN, Form, PORTABLE, Room, check, check_dtype, check_vector, form};
pub(crate) use launch::launch;
pub(crate) use leaving::Leaving;
pub(crate) use plan::BLOCK;
pub(crate) use reduce::{MaxSum, MaxSumDot, Sum1, Sum2};
pub(crate) use walk::{Chunk, Rows, Walk, scalar};
pub(crate) use ways::Ways;
