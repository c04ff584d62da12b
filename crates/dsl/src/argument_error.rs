//! What can be wrong with the arguments of a launch; each error names the argument.

use warpsmith_types::DType;

/// An argument that can not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Wrong number of modes.
    #[error("`{name}`: expected {expected} dimensions ({modes}), got shape {shape:?}")]
    Rank {
        /// The argument.
        name: &'static str,
        /// How many it should have.
        expected: usize,
        /// Their names.
        modes: String,
        /// What came.
        shape: Vec<usize>,
    },
    /// Two arguments disagree about an extent that they share.
    #[error("`{name}`: `{extent}` is {got}, but `{other}` has {expected}")]
    Disagree {
        /// The argument.
        name: &'static str,
        /// The extent.
        extent: &'static str,
        /// What came.
        got: usize,
        /// The argument that was there first.
        other: &'static str,
        /// What that one has.
        expected: usize,
    },
    /// The last mode is not dense.
    #[error("`{name}`: expected a stride of 1 along `{extent}`, got {got}; copy it to a dense tensor first")]
    InnerStride {
        /// The argument.
        name: &'static str,
        /// The last mode.
        extent: &'static str,
        /// What came.
        got: usize,
    },
    /// Neighbours along a mode share memory.
    #[error("`{name}`: a stride of {got} along `{extent}` makes its elements overlap; expected at least {expected}")]
    Overlapping {
        /// The argument.
        name: &'static str,
        /// The mode.
        extent: &'static str,
        /// The stride that came.
        got: usize,
        /// The least that would do.
        expected: usize,
    },
    /// An address that no element can have.
    #[error("`{name}`: the address {address:#x} is not a multiple of the {bytes} bytes of a {dtype}")]
    Misaligned {
        /// The argument.
        name: &'static str,
        /// What came.
        address: u64,
        /// The width of an element.
        bytes: usize,
        /// Its dtype.
        dtype: DType,
    },
    /// An extent that 31 bits do not hold.
    #[error("`{name}`: `{extent}` is {got}; expected below 2147483648")]
    TooLarge {
        /// The argument.
        name: &'static str,
        /// The extent.
        extent: &'static str,
        /// What came.
        got: usize,
    },
    /// An output that covers an input in part.
    #[error("`{output}` and `{input}` overlap without being the same tensor")]
    Alias {
        /// The output.
        output: &'static str,
        /// What it overlaps.
        input: &'static str,
    },
    /// Arguments on different devices.
    #[error("`{name}` is on device {got}, but `{other}` on device {expected}")]
    Device {
        /// The argument.
        name: &'static str,
        /// Where it is.
        got: u32,
        /// The argument that was there first.
        other: &'static str,
        /// Where that one is.
        expected: u32,
    },
    /// What one kernel says of its own arguments.
    #[error("`{name}`: expected {expected}, got {got}")]
    Unexpected {
        /// The argument.
        name: &'static str,
        /// What it should be.
        expected: String,
        /// What came.
        got: String,
    },
}
