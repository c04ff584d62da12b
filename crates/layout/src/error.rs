//! What can go wrong, with the operands printed.

use thiserror::Error;

/// Why an operation of the algebra was refused.
///
/// ```
/// use warpsmith_layout::*;
/// let refusal = Layout::row_major((8, 8))?.compose(&Layout::new(4, 3)?).unwrap_err();
/// assert_eq!(
///     refusal.to_string(),
///     "composition of (8,8):(8,1) and 4:3: mode 0: size 4 is not a multiple of 3, what is left of the mode",
/// );
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Shape and stride (or two operands that must match) have different profiles.
    #[error("{left} and {right} have different profiles")]
    NotCongruent {
        /// The first operand.
        left: String,
        /// The second operand.
        right: String,
    },
    /// A mode was asked for that is not there.
    #[error("mode {mode} of {of}, which has rank {rank}")]
    NoSuchMode {
        /// The tuple or layout.
        of: String,
        /// The index that was asked for.
        mode: usize,
        /// The rank of `of`.
        rank: usize,
    },
    /// Two operands need the same rank, or one may not have more modes than the other.
    #[error("{what}: rank {left} against rank {right}")]
    Rank {
        /// What was compared.
        what: &'static str,
        /// Rank of the first operand.
        left: usize,
        /// Rank of the second operand.
        right: usize,
    },
    /// A result does not fit 64 bits.
    #[error("{left} {operator} {right} does not fit 64 bits")]
    Overflow {
        /// The first operand.
        left: String,
        /// The operator.
        operator: &'static str,
        /// The second operand.
        right: String,
    },
    /// Division by zero.
    #[error("{0} is divided by zero")]
    DivisionByZero(String),
    /// A size must be positive.
    #[error("a size must be at least 1, but {0} is not")]
    NotPositive(String),
    /// A step of a layout does not fit the mode that it walks.
    #[error("mode {mode}: stride {stride} neither divides nor is a multiple of the extent {extent}")]
    StrideDivisibility {
        /// The mode of the left operand.
        mode: usize,
        /// The step.
        stride: String,
        /// The extent of the mode.
        extent: String,
    },
    /// A size of a layout does not fit the mode that it walks.
    #[error("mode {mode}: size {size} is not a multiple of {part}, what is left of the mode")]
    ShapeDivisibility {
        /// The mode of the left operand.
        mode: usize,
        /// The size.
        size: String,
        /// What it must be a multiple of.
        part: String,
    },
    /// Two numbers of which neither divides the other.
    #[error("neither of {0} and {1} divides the other")]
    Indivisible(String, String),
    /// The modes of a layout, taken together, leave the mode that they walk: the result would not be the composition.
    #[error("mode {mode}: indices up to {reach} leave the mode, whose size is {extent}, and carry into the next")]
    Inadmissible {
        /// The mode of the left operand.
        mode: usize,
        /// The greatest index that is reached in it.
        reach: String,
        /// The size of the mode.
        extent: String,
    },
    /// Two coordinates reach one element.
    #[error("mode {mode} overlaps: its stride {stride} is below the extent {extent} of the modes before it")]
    NotInjective {
        /// The mode, in order of stride.
        mode: usize,
        /// Its stride.
        stride: String,
        /// The extent of what lies below.
        extent: String,
    },
    /// A fact about a run-time integer is needed and not known.
    #[error("not known at compile time: {0}")]
    Unknown(String),
    /// An operand is of a kind that the operation does not take.
    #[error("{0}")]
    Unsupported(String),
    /// Text that is not a tuple, layout, swizzle or tiler.
    #[error("{text:?}: expected {} at byte {at}", quoted(.expected))]
    Parse {
        /// The whole text.
        text: String,
        /// Where reading stopped.
        at: usize,
        /// What would have been right there.
        expected: &'static str,
    },
    /// The operation and its operands, around the reason.
    #[error("{operation} of {operands}: {reason}")]
    At {
        /// The operation's name.
        operation: &'static str,
        /// Its operands.
        operands: String,
        /// Why it was refused.
        #[source]
        reason: Box<LayoutError>,
    },
}

impl LayoutError {
    /// The innermost reason.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let refusal = Layout::new((2, 2), (1, 1))?.complement(8).unwrap_err();
    /// assert!(matches!(refusal.reason(), LayoutError::NotInjective { mode: 1, .. }));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn reason(&self) -> &LayoutError {
        match self {
            LayoutError::At { reason, .. } => reason.reason(),
            other => other,
        }
    }
}

/// Marks stand in quotes, words do not.
fn quoted(expected: &str) -> std::borrow::Cow<'_, str> {
    match expected.len() > 1 && expected.starts_with(|c: char| c.is_ascii_lowercase() || c == '`') {
        true => expected.into(),
        false => format!("`{expected}`").into(),
    }
}

/// `Result` with [`LayoutError`].
///
/// ```
/// use warpsmith_layout::*;
/// fn size(text: &str) -> warpsmith_layout::Result<i64> {
///     text.parse::<Layout>()?.size()
/// }
/// assert_eq!(size("(4,8):(8,1)"), Ok(32));
/// # Ok::<(), LayoutError>(())
/// ```
pub type Result<T, E = LayoutError> = std::result::Result<T, E>;

/// Adds the operation and its operands to an error.
pub(crate) trait Context<T> {
    fn of(self, operation: &'static str, operands: &[&dyn std::fmt::Display]) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn of(self, operation: &'static str, operands: &[&dyn std::fmt::Display]) -> Result<T> {
        self.map_err(|reason| LayoutError::At {
            operation,
            operands: operands.iter().map(|o| o.to_string()).collect::<Vec<_>>().join(" and "),
            reason: Box::new(reason),
        })
    }
}
