//! Arithmetic on shapes, and questions about them.

use crate::convert::IntTuple;
use crate::coord::size;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::tiler::Tiler;
use crate::tuple::{Tuple, View};

/// `shape / n`, rounded up, taken from the leaves one by one, the first first.
pub(crate) fn ceil_div_by(shape: &IntTuple, n: &Int) -> Result<IntTuple> {
    let mut rest = n.clone();
    shape.try_map(|s| {
        if rest.is(1) {
            return Ok(s.clone());
        }
        let quotient = s.ceil_div(&rest)?;
        rest = rest.ceil_div(s)?;
        Ok(quotient)
    })
}

impl Tuple<Int> {
    /// The product of all leaves; an error when it is only known at run time.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert_eq!(IntTuple::from((4, (2, 3))).size()?, 24);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn size(&self) -> Result<i64> {
        self.extent()?.known()
    }

    /// The product of all leaves.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::from((4, (2, 3))).extent()?, Int::from(24));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn extent(&self) -> Result<Int> {
        size(self.view())
    }
    /// Whether every coordinate of `self` is a coordinate of `other`: the sizes agree at each leaf of `self`.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert!(IntTuple::from((4, 6)).is_compatible(&IntTuple::from((4, (2, 3))))?);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn is_compatible(&self, other: &IntTuple) -> Result<bool> {
        fn go(a: View<'_, Int>, b: View<'_, Int>) -> Result<bool> {
            if let Some(s) = a.as_leaf() {
                let n = size(b)?;
                return s.equals(&n).ok_or_else(|| LayoutError::Unknown(format!("whether {s} = {n}")));
            }
            if b.is_leaf() || a.rank() != b.rank() {
                return Ok(false);
            }
            a.modes().zip(b.modes()).try_fold(true, |all, (a, b)| Ok(all && go(a, b)?))
        }
        go(self.view(), other.view())
    }

    /// `self / other`, rounded up: mode by mode against a tuple, where missing modes count as 1; against an integer,
    /// from the first leaf on.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert_eq!(IntTuple::from((9, 5)).ceil_div(&IntTuple::from((2, 4)))?, IntTuple::from((5, 2)));
    /// assert_eq!(IntTuple::from((9, 5)).ceil_div(&IntTuple::from(18))?, IntTuple::from((1, 3)));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn ceil_div(&self, other: &IntTuple) -> Result<IntTuple> {
        by_mode(self.view(), other.view(), &|a, n| ceil_div_by(&a.to_tuple(), n)).of("ceil_div", &[self, other])
    }

    /// `self / other`, where at each step one must divide the other.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert_eq!(IntTuple::from((12, 4)).shape_div(&IntTuple::from(24))?, IntTuple::from((1, 2)));
    /// assert!(IntTuple::from((8, 2)).shape_div(&IntTuple::from(3)).is_err());
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn shape_div(&self, other: &IntTuple) -> Result<IntTuple> {
        let divide = |a: View<'_, Int>, n: &Int| {
            let mut rest = n.clone();
            a.to_tuple().try_map(|s| {
                let quotient = shape_div(s, &rest)?;
                rest = shape_div(&rest, s)?;
                Ok(quotient)
            })
        };
        let checked = || {
            let (n, m) = (self.rank(), other.rank());
            if !self.is_leaf() && !other.is_leaf() && n != m {
                return Err(LayoutError::Rank { what: "a shape and its divisor", left: n, right: m });
            }
            by_mode(self.view(), other.view(), &divide)
        };
        checked().of("shape_div", &[self, other])
    }

    /// `self` rounded up to multiples of `other`, mode by mode; missing modes count as 1.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert_eq!(IntTuple::from((9, 5)).round_up(&IntTuple::from((4, 2)))?, IntTuple::from((12, 6)));
    /// assert!(IntTuple::from((9, 5)).round_up(&IntTuple::from(4)).is_err());
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn round_up(&self, other: &IntTuple) -> Result<IntTuple> {
        let round = |a: View<'_, Int>, n: &Int| match a.as_leaf() {
            Some(size) => Ok(Tuple::leaf(size.ceil_div(n)?.mul(n)?)),
            None if n.is(1) => Ok(a.to_tuple()),
            None => Err(LayoutError::NotCongruent { left: a.to_string(), right: n.to_string() }),
        };
        by_mode(self.view(), other.view(), &round).of("round_up", &[self, other])
    }

    /// Whether a tiler cuts this shape without a rest.
    ///
    /// ```
    /// use warpsmith_layout::{IntTuple, Tiler};
    /// assert!(IntTuple::from((32, 64)).is_divided_by(&Tiler::from((16, 64)))?);
    /// assert!(!IntTuple::from((32, 64)).is_divided_by(&Tiler::from((16, 48)))?);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn is_divided_by(&self, tiler: &Tiler) -> Result<bool> {
        fn go(shape: View<'_, Int>, tiler: &Tiler) -> Result<bool> {
            match tiler {
                Tiler::Keep => Ok(true),
                Tiler::Size(t) if shape.is_leaf() => {
                    let n = size(shape)?;
                    n.is_multiple_of(t).ok_or_else(|| LayoutError::Unknown(format!("whether {t} divides {n}")))
                }
                // Leaf by leaf: 12 divides the size of (2,4,12), but of the 6 left after the 2, the 4 is no factor.
                Tiler::Size(t) => {
                    let (n, rest) = (size(shape)?, ceil_div_by(&shape.to_tuple(), t)?.extent()?);
                    let covered = t.mul(&rest)?;
                    n.equals(&covered).ok_or_else(|| LayoutError::Unknown(format!("whether {n} = {covered}")))
                }
                Tiler::Layout(tile) => {
                    let rest = tile.loose_complement(shape.to_tuple())?.extent()?;
                    let (n, t) = (size(shape)?, tile.extent()?.mul(&rest)?);
                    n.equals(&t).ok_or_else(|| LayoutError::Unknown(format!("whether {n} = {t}")))
                }
                Tiler::Modes(tilers) if tilers.len() > shape.rank() => Ok(false),
                Tiler::Modes(tilers) => shape.modes().zip(tilers).try_fold(true, |all, (s, t)| Ok(all && go(s, t)?)),
            }
        }
        go(self.view(), tiler)
    }

    /// The size of each mode.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// assert_eq!(IntTuple::from((4, (2, 3))).product_each()?, IntTuple::from((4, 6)));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn product_each(&self) -> Result<IntTuple> {
        if self.is_leaf() {
            return Ok(self.clone());
        }
        Ok(Tuple::flat(self.modes().map(size).collect::<Result<Vec<_>>>()?))
    }
}

fn shape_div(a: &Int, b: &Int) -> Result<Int> {
    match (a.is_multiple_of(b), b.is_multiple_of(a)) {
        (Some(true), _) => a.div(b),
        (_, Some(true)) => Ok(Int::ONE),
        (Some(false), Some(false)) => Err(LayoutError::Indivisible(a.to_string(), b.to_string())),
        _ => Err(LayoutError::Unknown(format!("whether one of {a} and {b} divides the other"))),
    }
}

/// Pairs modes off; where the right side is an integer, `leaf` takes over. Modes that it lacks stay.
fn by_mode(
    a: View<'_, Int>,
    b: View<'_, Int>,
    leaf: &dyn Fn(View<'_, Int>, &Int) -> Result<IntTuple>,
) -> Result<IntTuple> {
    if let Some(n) = b.as_leaf() {
        return leaf(a, n);
    }
    if a.is_leaf() {
        return leaf(a, &size(b)?);
    }
    let (n, m) = (a.rank(), b.rank());
    if n < m {
        return Err(LayoutError::Rank { what: "a shape and what it is combined with", left: n, right: m });
    }
    let mut others = b.modes();
    let modes = a.modes().map(|mode| match others.next() {
        Some(other) => by_mode(mode, other, leaf),
        None => Ok(mode.to_tuple()),
    });
    Ok(Tuple::of(modes.collect::<Result<Vec<_>>>()?))
}
