//! The gate: which implementation a call takes, and why it does not take the others.
//!
//! An operator is a list of [`Implementation`]s, the most specialised first, the most general last. Each says of arguments
//! and a chip whether it takes them, and by which plan; the first that does, runs. Adding one is adding an entry to
//! [`Operator::SPECIALISED`] and a variant to [`Operator::Plan`]:
//!
//! ```
//! use warpsmith_kernels::gate::{Implementation, Operator, Refusal, candidates, choose};
//! use warpsmith_types::{Chip, Target};
//!
//! /// Sums of `n` numbers.
//! struct Sum;
//!
//! impl Operator for Sum {
//!     type Arguments<'a> = usize;
//!     type Plan = &'static str;
//!     const SPECIALISED: &'static [Implementation<Sum>] = &[Implementation {
//!         name: "cluster",
//!         what: "a cluster of blocks for each sum",
//!         supports: |_, chip| match chip.target.has(Target::SM_90A) {
//!             true => Ok("8 blocks"),
//!             false => Err(Refusal::Target { needed: Target::SM_90A, got: chip.target }),
//!         },
//!     }];
//!     const GENERAL: Implementation<Sum> =
//!         Implementation { name: "general", what: "a block for each sum", supports: |_, _| Ok("1 block") };
//! }
//!
//! assert_eq!(choose::<Sum>(&4096, &Chip::H200), Ok("8 blocks"));
//! assert_eq!(choose::<Sum>(&4096, &Chip::A100), Ok("1 block"));
//! let refused = candidates::<Sum>(&4096, &Chip::A100).remove(0).verdict.unwrap_err();
//! assert_eq!(refused.to_string(), "it needs sm_90a, and the chip is sm_80");
//! ```
//!
//! Arguments that no implementation could take are wrong, not refused: an operator checks them first, and its error names
//! the argument. A [`Refusal`] is data, and becomes words when it is shown.

use warpsmith_dsl::{ArgumentError, Target};
use warpsmith_types::Chip;

/// Something that is computed, in one or several ways.
pub trait Operator: Sized + 'static {
    /// What a way is chosen by: arguments that are known to be right.
    type Arguments<'a>;
    /// What was chosen: a kernel with its plan.
    type Plan;
    /// Ways for some arguments or chips, the most specialised first.
    const SPECIALISED: &'static [Implementation<Self>] = &[];
    /// The way for the rest.
    const GENERAL: Implementation<Self>;
}

/// A way to compute an operator.
pub struct Implementation<O: Operator> {
    /// A word for it.
    pub name: &'static str,
    /// How it works, in a line.
    pub what: &'static str,
    /// Whether it takes these arguments on this chip, and how. Pure: calls alike ask once.
    pub supports: fn(&O::Arguments<'_>, &Chip) -> Result<O::Plan, Refusal>,
}

/// What an implementation says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<P> {
    /// The implementation's name.
    pub name: &'static str,
    /// How it works.
    pub what: &'static str,
    /// How it would run, or why it does not.
    pub verdict: Result<P, Refusal>,
}

impl<P> Candidate<P> {
    /// The same with something made of its plan.
    pub fn map<Q>(self, f: impl FnOnce(P) -> Q) -> Candidate<Q> {
        Candidate { name: self.name, what: self.what, verdict: self.verdict.map(f) }
    }
}

/// Why an implementation does not take right arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has instructions that the chip lacks.
    #[error("it needs {needed}, and the chip is {got}")]
    Target {
        /// What has them.
        needed: Target,
        /// What the chip has.
        got: Target,
    },
    /// A row does not fit.
    #[error("it takes rows of up to {most} elements, and `{argument}` has {got}")]
    RowLength {
        /// The argument.
        argument: &'static str,
        /// Elements that fit.
        most: usize,
        /// Elements of a row.
        got: usize,
    },
    /// It keeps a weight, and the call has none, or more than it keeps.
    #[error("it keeps a weight between rows, and nothing else")]
    Weight,
    /// A row is too short to be worth it.
    #[error("it takes rows of at least {least} elements, and `{argument}` has {got}")]
    Short {
        /// The argument.
        argument: &'static str,
        /// Elements from which on it is.
        least: usize,
        /// Elements of a row.
        got: usize,
    },
    /// It reads rows once.
    #[error("it reads rows once, and `{argument}` is needed again")]
    Again {
        /// The argument.
        argument: &'static str,
    },
    /// Rows are shared evenly by others.
    #[error("it takes rows of no multiple of {factor} elements, and `{argument}` has {got}")]
    Even {
        /// The argument.
        argument: &'static str,
        /// What the length is a multiple of.
        factor: usize,
        /// Elements of a row.
        got: usize,
    },
    /// Rows begin at addresses that its accesses can not have.
    #[error(
        "it needs rows aligned to {bytes} bytes, and `{argument}` has address {address:#x} and row stride {stride}"
    )]
    RowAlignment {
        /// The argument.
        argument: &'static str,
        /// The alignment that it needs.
        bytes: usize,
        /// The tensor's address.
        address: u64,
        /// From row to row, in elements.
        stride: usize,
    },
    /// Its accesses would be too narrow, or of another size than it takes.
    #[error("it needs accesses of {expected}, and those of `{argument}` are {bytes} bytes")]
    Accesses {
        /// The argument.
        argument: &'static str,
        /// What it takes.
        expected: &'static str,
        /// Bytes of one.
        bytes: usize,
    },
    /// Rows end within one of its accesses.
    #[error("it needs rows of a multiple of {factor} elements, and `{argument}` has {got}")]
    RowMultiple {
        /// The argument.
        argument: &'static str,
        /// What the length must be a multiple of.
        factor: usize,
        /// Elements of a row.
        got: usize,
    },
}

/// The refusal of the most general implementation is the caller's error: what nobody takes is not supported.
impl From<Refusal> for ArgumentError {
    fn from(refusal: Refusal) -> ArgumentError {
        let (name, expected, got) = match refusal {
            Refusal::Target { needed, got } => ("device", format!("a device of {needed}"), got.to_string()),
            Refusal::RowLength { argument, most, got } => {
                (argument, format!("rows of 1 to {most} elements"), got.to_string())
            }
            Refusal::RowAlignment { argument, bytes, address, stride } => {
                let got = format!("address {address:#x}, row stride {stride}");
                (argument, format!("rows aligned to {bytes} bytes"), got)
            }
            Refusal::Short { argument, least, got } => {
                (argument, format!("rows of at least {least} elements"), got.to_string())
            }
            Refusal::Weight => ("weight", "a weight, and nothing else".into(), "another call".into()),
            Refusal::Again { argument } => {
                (argument, "rows that are read once".into(), "rows that are read again".into())
            }
            Refusal::Even { argument, factor, got } => {
                (argument, format!("rows of no multiple of {factor} elements"), got.to_string())
            }
            Refusal::Accesses { argument, expected, bytes } => {
                (argument, format!("accesses of {expected}"), format!("{bytes} bytes"))
            }
            Refusal::RowMultiple { argument, factor, got } => {
                (argument, format!("rows of a multiple of {factor} elements"), got.to_string())
            }
        };
        ArgumentError::Unexpected { name, expected, got }
    }
}

/// The plan of the first implementation that takes the arguments.
///
/// # Errors
/// When none does: the refusal of [`Operator::GENERAL`].
pub fn choose<O: Operator>(arguments: &O::Arguments<'_>, chip: &Chip) -> Result<O::Plan, Refusal> {
    let special = O::SPECIALISED.iter().find_map(|i| (i.supports)(arguments, chip).ok());
    special.map_or_else(|| (O::GENERAL.supports)(arguments, chip), Ok)
}

/// What every implementation says, the most specialised first: the first that accepts is the one that [`choose`] takes.
pub fn candidates<O: Operator>(arguments: &O::Arguments<'_>, chip: &Chip) -> Vec<Candidate<O::Plan>> {
    let ask = |i: &Implementation<O>| Candidate { name: i.name, what: i.what, verdict: (i.supports)(arguments, chip) };
    O::SPECIALISED.iter().chain([&O::GENERAL]).map(ask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes by length: `short` up to 4, `even` multiples of 2, `general` up to 100.
    struct Toy;

    fn upto(most: usize, got: usize) -> Result<usize, Refusal> {
        if got <= most { Ok(most) } else { Err(Refusal::RowLength { argument: "x", most, got }) }
    }

    impl Operator for Toy {
        type Arguments<'a> = &'a [u8];
        type Plan = usize;
        const SPECIALISED: &'static [Implementation<Toy>] = &[
            Implementation { name: "short", what: "", supports: |x, _| upto(4, x.len()) },
            Implementation {
                name: "even",
                what: "",
                supports: |x, _| match x.len() % 2 {
                    0 => Ok(2),
                    _ => Err(Refusal::RowMultiple { argument: "x", factor: 2, got: x.len() }),
                },
            },
        ];
        const GENERAL: Implementation<Toy> =
            Implementation { name: "general", what: "", supports: |x, _| upto(100, x.len()) };
    }

    #[test]
    fn the_first_that_takes_them_runs() {
        for (n, chosen) in [(0, 4), (4, 4), (5, 100), (6, 2), (99, 100), (102, 2)] {
            let x = vec![0; n];
            assert_eq!(choose::<Toy>(&&*x, &Chip::H200), Ok(chosen), "{n}");
            let all = candidates::<Toy>(&&*x, &Chip::H200);
            assert_eq!(all.iter().find_map(|c| c.verdict.as_ref().ok()), Some(&chosen), "{n}");
            assert_eq!(all.iter().map(|c| c.name).collect::<Vec<_>>(), ["short", "even", "general"]);
        }
    }

    #[test]
    fn what_nobody_takes_is_the_last_ones_error() {
        let x = vec![0; 101];
        let refused = choose::<Toy>(&&*x, &Chip::H200).unwrap_err();
        assert_eq!(refused.to_string(), "it takes rows of up to 100 elements, and `x` has 101");
        assert_eq!(ArgumentError::from(refused).to_string(), "`x`: expected rows of 1 to 100 elements, got 101");
        let said: Vec<_> = candidates::<Toy>(&&*x, &Chip::H200).into_iter().map(|c| c.verdict.unwrap_err()).collect();
        assert_eq!(said[1].to_string(), "it needs rows of a multiple of 2 elements, and `x` has 101");
    }
}
