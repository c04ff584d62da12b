//! The integer at a leaf: static, or opaque until run time.

use crate::error::{LayoutError, Result};
use crate::facts::Facts;
use crate::symbol::Symbol;
use std::fmt;

/// A static integer, or a run-time one of which some facts are known.
///
/// Arithmetic on run-time integers writes expressions down in a normal form, so that what is provable stays static:
/// products and sums of equal things compare equal, and a division that cancels leaves nothing behind.
///
/// ```
/// use warpsmith_layout::{Facts, Int};
/// let rows = Int::variable(0, Facts::new(8, 8, 4096));
/// let bytes = rows.mul(&Int::from(4))?;
/// assert_eq!(bytes.is_multiple_of(&Int::from(32)), Some(true));
/// assert_eq!(bytes.div(&rows)?, Int::from(4));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// Known now.
    Static(i64),
    /// Known at run time.
    Dynamic(Symbol),
}

impl Int {
    /// Zero.
    ///
    /// ```
    /// # use warpsmith_layout::Int;
    /// assert_eq!(Int::ZERO, Int::from(0));
    /// ```
    pub const ZERO: Int = Int::Static(0);
    /// One.
    ///
    /// ```
    /// # use warpsmith_layout::Int;
    /// assert_eq!(Int::ONE.mul(&Int::from(7))?, Int::from(7));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub const ONE: Int = Int::Static(1);

    /// A run-time integer. The number is the caller's name for it; the facts must always hold.
    ///
    /// An integer whose bounds meet is static.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Int::variable(7, Facts::size()).to_string(), "?7");
    /// assert_eq!(Int::variable(7, Facts::of(4)), Int::from(4));
    /// ```
    pub fn variable(id: u32, facts: Facts) -> Int {
        match facts.exact() {
            Some(value) => Int::Static(value),
            None => Int::Dynamic(Symbol::variable(id, facts)),
        }
    }

    /// The value, where it is static.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!((Int::from(4).value(), n.value()), (Some(4), None));
    /// ```
    pub fn value(&self) -> Option<i64> {
        match self {
            Int::Static(v) => Some(*v),
            Int::Dynamic(_) => None,
        }
    }

    /// The value; an error when it is only known at run time.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(Int::from(4).known(), Ok(4));
    /// assert!(n.known().is_err());
    /// ```
    pub fn known(&self) -> Result<i64> {
        self.value().ok_or_else(|| LayoutError::Unknown(format!("the value of {self}")))
    }

    /// Whether this is static.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert!(Int::ONE.is_static() && !n.is_static());
    /// ```
    pub fn is_static(&self) -> bool {
        matches!(self, Int::Static(_))
    }

    /// Whether this is the static integer `value`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert!(Int::ONE.is(1) && !n.is(8));
    /// ```
    pub fn is(&self, value: i64) -> bool {
        self.value() == Some(value)
    }

    /// What is known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.add(&Int::from(16))?.facts(), Facts::new(8, 24, 80));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn facts(&self) -> Facts {
        match self {
            Int::Static(v) => Facts::of(*v),
            Int::Dynamic(s) => s.facts(),
        }
    }

    /// Whether both are equal: `None` when that is not known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.equals(&Int::from(12)), Some(false)); // no multiple of 8
    /// assert_eq!(n.equals(&Int::from(16)), None);
    /// ```
    pub fn equals(&self, other: &Int) -> Option<bool> {
        match (self, other) {
            (Int::Static(a), Int::Static(b)) => Some(a == b),
            _ if self == other => Some(true),
            _ => {
                let (a, b) = (self.facts(), other.facts());
                let apart = a.upper < b.lower || b.upper < a.lower;
                let indivisible = matches!(self, Int::Static(v) if v.checked_rem(b.divisor).unwrap_or(0) != 0)
                    || matches!(other, Int::Static(v) if v.checked_rem(a.divisor).unwrap_or(0) != 0);
                (apart || indivisible).then_some(false)
            }
        }
    }

    /// Whether `self <= other`: `None` when that is not known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.at_most(&Int::from(64)), Some(true));
    /// assert_eq!(n.at_most(&Int::from(32)), None);
    /// ```
    pub fn at_most(&self, other: &Int) -> Option<bool> {
        let (a, b) = (self.facts(), other.facts());
        if self == other || a.upper <= b.lower {
            Some(true)
        } else if a.lower > b.upper {
            Some(false)
        } else {
            None
        }
    }

    /// Whether `self < other`: `None` when that is not known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.less_than(&Int::from(8)), Some(false));
    /// ```
    pub fn less_than(&self, other: &Int) -> Option<bool> {
        other.at_most(self).map(|v| !v)
    }

    /// Whether `other` divides `self`: `None` when that is not known. Nothing but zero is a multiple of zero.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.is_multiple_of(&Int::from(4)), Some(true));
    /// assert_eq!(n.is_multiple_of(&Int::from(16)), None);
    /// ```
    pub fn is_multiple_of(&self, other: &Int) -> Option<bool> {
        match (self, other) {
            (Int::Static(a), Int::Static(0)) => Some(*a == 0),
            (Int::Static(a), Int::Static(b)) => Some(a.checked_rem(*b).unwrap_or(0) == 0),
            _ if self.is(0) || other.is(1) || self == other => Some(true),
            (Int::Dynamic(a), Int::Static(b)) if *b != 0 => {
                if a.facts().divisor % b == 0 {
                    return Some(true);
                }
                let f = a.facts();
                // No multiple but zero lies strictly between -|b| and |b|.
                (f.lower > 0 && f.upper < b.saturating_abs()).then_some(false)
            }
            (_, Int::Dynamic(b)) => crate::symbol::cancels(self, b).then_some(true),
            _ => None,
        }
    }

    /// The sum.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.add(&n)?, n.mul(&Int::from(2))?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn add(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (Int::Static(a), Int::Static(b)) => {
                a.checked_add(*b).map(Int::Static).ok_or_else(|| overflow(self, "+", other))
            }
            (Int::Static(0), x) | (x, Int::Static(0)) => Ok(x.clone()),
            _ => crate::symbol::sum(self, other),
        }
    }

    /// The product.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.mul(&Int::ZERO)?, Int::ZERO);
    /// assert!(Int::from(i64::MAX).mul(&Int::from(2)).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn mul(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (Int::Static(a), Int::Static(b)) => {
                a.checked_mul(*b).map(Int::Static).ok_or_else(|| overflow(self, "*", other))
            }
            (Int::Static(0), _) | (_, Int::Static(0)) => Ok(Int::ZERO),
            (Int::Static(1), x) | (x, Int::Static(1)) => Ok(x.clone()),
            _ => crate::symbol::product(self, other),
        }
    }

    /// The quotient, rounded down.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.mul(&Int::from(6))?.div(&Int::from(3))?, n.mul(&Int::from(2))?);
    /// assert_eq!(Int::from(-7).div(&Int::from(2))?, Int::from(-4));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn div(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (_, Int::Static(0)) => Err(LayoutError::DivisionByZero(self.to_string())),
            (Int::Static(a), Int::Static(b)) => {
                let (q, r) = (a.checked_div(*b).ok_or_else(|| overflow(self, "/", other))?, a.checked_rem(*b));
                Ok(Int::Static(if r.is_some_and(|r| r != 0 && (r < 0) != (*b < 0)) { q - 1 } else { q }))
            }
            (x, Int::Static(1)) => Ok(x.clone()),
            (Int::Static(0), _) => Ok(Int::ZERO),
            _ => crate::symbol::quotient(self, other, false),
        }
    }

    /// The quotient, rounded up.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(16, 16, 1024));
    /// assert_eq!(n.ceil_div(&Int::from(8))?.facts(), Facts::new(2, 2, 128));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn ceil_div(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (_, Int::Static(0)) => Err(LayoutError::DivisionByZero(self.to_string())),
            (Int::Static(a), Int::Static(b)) => {
                let (q, r) = (a.checked_div(*b).ok_or_else(|| overflow(self, "/", other))?, a.checked_rem(*b));
                Ok(Int::Static(if r.is_some_and(|r| r != 0 && (r < 0) == (*b < 0)) { q + 1 } else { q }))
            }
            (x, Int::Static(1)) => Ok(x.clone()),
            (Int::Static(0), _) => Ok(Int::ZERO),
            _ => crate::symbol::quotient(self, other, true),
        }
    }

    /// The remainder of the division that rounds down.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.rem(&Int::from(8))?, Int::ZERO);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn rem(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (_, Int::Static(0)) => Err(LayoutError::DivisionByZero(self.to_string())),
            (_, Int::Static(1)) | (Int::Static(0), _) => Ok(Int::ZERO),
            (Int::Static(a), Int::Static(b)) => {
                let r = a.checked_rem(*b).unwrap_or(0);
                Ok(Int::Static(if r != 0 && (r < 0) != (*b < 0) { r + b } else { r }))
            }
            _ => crate::symbol::remainder(self, other),
        }
    }

    /// The negative.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.neg()?.add(&n)?, Int::ZERO);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn neg(&self) -> Result<Int> {
        self.mul(&Int::Static(-1))
    }

    /// The absolute value; an error when the sign is not known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.neg()?.abs()?, n);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn abs(&self) -> Result<Int> {
        if self.facts().lower >= 0 {
            Ok(self.clone())
        } else if self.facts().upper <= 0 {
            self.neg()
        } else {
            Err(LayoutError::Unknown(format!("the sign of {self}")))
        }
    }

    /// The smaller of both; an error when it is not known which that is.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert_eq!(n.smaller(&Int::from(4))?, Int::from(4));
    /// assert!(n.smaller(&Int::from(16)).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn smaller(&self, other: &Int) -> Result<Int> {
        match self.at_most(other).or_else(|| other.at_most(self).map(|v| !v)) {
            Some(true) => Ok(self.clone()),
            Some(false) => Ok(other.clone()),
            None => Err(LayoutError::Unknown(format!("whether {self} <= {other}"))),
        }
    }
}

pub(crate) fn overflow(left: &Int, operator: &'static str, right: &Int) -> LayoutError {
    LayoutError::Overflow { left: left.to_string(), operator, right: right.to_string() }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Static(v) => v.fmt(f),
            Int::Dynamic(s) => s.fmt(f),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! from_small {
    ($($t:ty)*) => {$(
        impl From<$t> for Int {
            fn from(v: $t) -> Int {
                Int::Static(i64::from(v))
            }
        }
    )*};
}
from_small!(i32 i64 u32 u16 u8);

impl From<usize> for Int {
    /// Saturates at `i64::MAX`, which is more than any memory holds.
    fn from(v: usize) -> Int {
        Int::Static(i64::try_from(v).unwrap_or(i64::MAX))
    }
}
