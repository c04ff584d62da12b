//! The operators, a file per family: its functions, what they launch, and the reference on the host.

pub(crate) mod cross_entropy;
pub(crate) mod norm;
pub(crate) mod softmax;

use crate::host::HostTensor;
use warpsmith::dsl::{ArgumentError, TensorArg};

/// A tensor that a call has always: that it was given has been checked.
fn some<'a>(name: &'static str, t: Option<&'a mut TensorArg>) -> Result<&'a mut TensorArg, ArgumentError> {
    t.ok_or_else(|| crate::error::unexpected(name, "a tensor", "None"))
}

/// A tensor of the host, of a call of a reference.
///
/// # Safety
/// As [`HostTensor::new`].
unsafe fn on_host(t: &Option<&mut TensorArg>) -> Option<HostTensor> {
    // SAFETY: as the caller promises.
    t.as_deref().map(|t| unsafe { HostTensor::new(t) })
}

/// Row `row` of values with `length` to a row.
fn row(values: &[f64], row: usize, length: usize) -> &[f64] {
    values.get(row * length..(row + 1) * length).unwrap_or(&[])
}
