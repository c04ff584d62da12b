//! Coordinates: between a linear index, a coordinate and an offset.

use crate::convert::{Coord, IntTuple, Strides};
use crate::error::{LayoutError, Result};
use crate::int::Int;
use crate::step::Step;
use crate::tuple::{Builder, Tuple, View};
use std::fmt;

/// A leaf of a coordinate: an index, or the hole `_` that keeps a whole mode.
///
/// ```
/// use warpsmith_layout::*;
/// assert_eq!(Coord::from((1, ..)).leaves(), [Index::from(1), Index::All]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Index {
    /// An index.
    At(Int),
    /// The whole mode.
    All,
}

impl Index {
    /// The index, where this is no hole.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Index::from(3).at(), Some(&Int::from(3)));
    /// assert_eq!(Index::All.at(), None);
    /// ```
    pub fn at(&self) -> Option<&Int> {
        match self {
            Index::At(v) => Some(v),
            Index::All => None,
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Index::At(v) => v.fmt(f),
            Index::All => f.write_str("_"),
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: Into<Int>> From<T> for Index {
    fn from(v: T) -> Self {
        Index::At(v.into())
    }
}

impl From<std::ops::RangeFull> for Index {
    fn from(_: std::ops::RangeFull) -> Self {
        Index::All
    }
}

/// The product of all leaves.
pub(crate) fn size(shape: View<'_, Int>) -> Result<Int> {
    shape.leaves().iter().try_fold(Int::ONE, |n, s| n.mul(s))
}

/// The offsets that a coordinate adds up to, one a stride that takes part. A hole counts as 0.
pub(crate) fn offsets(
    coord: View<'_, Index>,
    shape: View<'_, Int>,
    stride: View<'_, Step>,
    out: &mut dyn FnMut(Step) -> Result<()>,
) -> Result<()> {
    match coord.as_leaf() {
        Some(Index::All) => Ok(()),
        Some(Index::At(i)) => split_index(i, shape, stride, out),
        None => {
            let (n, m) = (coord.rank(), shape.rank());
            if shape.is_leaf() || n != m {
                return Err(LayoutError::Rank { what: "a coordinate and its shape", left: n, right: m });
            }
            for ((c, s), d) in coord.modes().zip(shape.modes()).zip(stride.modes()) {
                offsets(c, s, d, out)?;
            }
            Ok(())
        }
    }
}

/// A linear index against a shape: the last mode takes whatever is left.
fn split_index(
    i: &Int,
    shape: View<'_, Int>,
    stride: View<'_, Step>,
    out: &mut dyn FnMut(Step) -> Result<()>,
) -> Result<()> {
    if let (true, Some(d)) = (shape.is_leaf(), stride.as_leaf()) {
        return out(d.times(i)?);
    }
    if i.is(0) {
        return Ok(());
    }
    let mut rest = i.clone();
    let last = shape.rank().saturating_sub(1);
    for (k, (s, d)) in shape.modes().zip(stride.modes()).enumerate() {
        if k == last {
            return split_index(&rest, s, d, out);
        }
        let n = size(s)?;
        split_index(&rest.rem(&n)?, s, d, out)?;
        rest = rest.div(&n)?;
    }
    Ok(())
}

/// The offset of a coordinate under a shape and plain strides.
///
/// A coordinate may be an integer at any level; past the end, the last mode goes on.
///
/// ```
/// use warpsmith_layout::{Int, crd2idx};
/// assert_eq!(crd2idx((1, 2), (4, 8), (8, 1))?, Int::from(10));
/// assert_eq!(crd2idx(9, (4, 8), (8, 1))?, Int::from(10));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn crd2idx(coord: impl Into<Coord>, shape: impl Into<IntTuple>, stride: impl Into<Strides>) -> Result<Int> {
    let (coord, shape, stride) = (coord.into(), shape.into(), stride.into());
    if !shape.is_congruent(&stride) {
        return Err(LayoutError::NotCongruent { left: shape.to_string(), right: stride.to_string() });
    }
    let mut sum = Int::ZERO;
    offsets(coord.view(), shape.view(), stride.view(), &mut |step| {
        sum = sum.add(step.int()?)?;
        Ok(())
    })?;
    Ok(sum)
}

/// The linear index of a coordinate: where it stands when mode 0 runs fastest.
///
/// ```
/// use warpsmith_layout::{Int, crd2idx_colex};
/// assert_eq!(crd2idx_colex((6, (1, 2)), (16, (2, 4)))?, Int::from(6 + 16 * 5));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn crd2idx_colex(coord: impl Into<Coord>, shape: impl Into<IntTuple>) -> Result<Int> {
    fn go(coord: View<'_, Index>, shape: View<'_, Int>) -> Result<Int> {
        if let Some(i) = coord.as_leaf() {
            return Ok(i.at().cloned().unwrap_or(Int::ZERO));
        }
        let (n, m) = (coord.rank(), shape.rank());
        if shape.is_leaf() || n != m {
            return Err(LayoutError::Rank { what: "a coordinate and its shape", left: n, right: m });
        }
        let (mut sum, mut below) = (Int::ZERO, Int::ONE);
        for (c, s) in coord.modes().zip(shape.modes()) {
            sum = sum.add(&go(c, s)?.mul(&below)?)?;
            below = below.mul(&size(s)?)?;
        }
        Ok(sum)
    }
    go(coord.into().view(), shape.into().view())
}

/// The coordinate of a linear index, with the shape's profile. The last mode takes whatever is left.
///
/// ```
/// use warpsmith_layout::{IntTuple, idx2crd};
/// assert_eq!(idx2crd(9, (4, (2, 3)))?, IntTuple::from((1, (0, 1))));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn idx2crd(index: impl Into<Int>, shape: impl Into<IntTuple>) -> Result<IntTuple> {
    fn go(i: &Int, shape: View<'_, Int>, out: &mut Builder<Int>) -> Result<()> {
        if shape.is_leaf() {
            out.leaf(i.clone());
            return Ok(());
        }
        out.open();
        let mut rest = i.clone();
        let last = shape.rank().saturating_sub(1);
        for (k, s) in shape.modes().enumerate() {
            if k == last {
                go(&rest, s, out)?;
            } else {
                let n = size(s)?;
                go(&rest.rem(&n)?, s, out)?;
                rest = rest.div(&n)?;
            }
        }
        out.close();
        Ok(())
    }
    let mut out = Builder::new();
    go(&index.into(), shape.into().view(), &mut out)?;
    Ok(out.finish())
}

/// The coordinate whose offset is `index` in a compact layout: at each leaf `(index / stride) % size`.
///
/// ```
/// use warpsmith_layout::{IntTuple, idx2crd_stride};
/// assert_eq!(idx2crd_stride(18, (4, 8), (8, 1))?, IntTuple::from((2, 2)));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn idx2crd_stride(
    index: impl Into<Int>,
    shape: impl Into<IntTuple>,
    stride: impl Into<Strides>,
) -> Result<IntTuple> {
    let (index, shape, stride) = (index.into(), shape.into(), stride.into());
    if !shape.is_congruent(&stride) {
        return Err(LayoutError::NotCongruent { left: shape.to_string(), right: stride.to_string() });
    }
    let mut strides = stride.leaves().iter();
    shape.try_map(|s| match strides.next() {
        Some(d) if !s.is(1) => index.div(d.int()?)?.rem(s),
        _ => Ok(Int::ZERO),
    })
}

/// A coordinate of one shape as the coordinate of another that has the same linear index, mode by mode where possible.
///
/// ```
/// use warpsmith_layout::{IntTuple, crd2crd};
/// assert_eq!(crd2crd((1, 5), (4, 6), (4, (2, 3)))?, IntTuple::from((1, (1, 2))));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn crd2crd(coord: impl Into<IntTuple>, from: impl Into<IntTuple>, to: impl Into<IntTuple>) -> Result<IntTuple> {
    fn go(coord: View<'_, Int>, from: View<'_, Int>, to: View<'_, Int>) -> Result<IntTuple> {
        if coord.is_leaf() || from.is_leaf() || to.is_leaf() {
            return idx2crd(crd2idx_colex(Coord::from(coord.to_tuple()), from.to_tuple())?, to.to_tuple());
        }
        let (n, m, k) = (coord.rank(), from.rank(), to.rank());
        if n != m || n != k {
            let right = if n == m { k } else { m };
            return Err(LayoutError::Rank { what: "a coordinate and its shapes", left: n, right });
        }
        let modes = coord.modes().zip(from.modes()).zip(to.modes()).map(|((c, f), t)| go(c, f, t));
        Ok(Tuple::of(modes.collect::<Result<Vec<_>>>()?))
    }
    go(coord.into().view(), from.into().view(), to.into().view())
}

impl Tuple<Int> {
    /// Whether `self` comes before `other` when the first mode decides first.
    ///
    /// ```
    /// use warpsmith_layout::IntTuple;
    /// let (a, b) = (IntTuple::from((1, 5)), IntTuple::from((2, 0)));
    /// assert_eq!((a.lex_less(&b)?, a.colex_less(&b)?, a.elem_less(&b)?), (true, false, false));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn lex_less(&self, other: &IntTuple) -> Result<bool> {
        let pairs = self.pairs(other)?;
        first_difference(pairs.into_iter())
    }

    /// Whether `self` comes before `other` when the last mode decides first: the order of linear indices.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert!(IntTuple::from((5, 0)).colex_less(&(0, 1).into())?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn colex_less(&self, other: &IntTuple) -> Result<bool> {
        let pairs = self.pairs(other)?;
        first_difference(pairs.into_iter().rev())
    }

    /// Whether each leaf is less than that of `other`: the test that guards what lies past a shape.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert!(IntTuple::from((3, 7)).elem_less(&(4, 8).into())?);
    /// assert!(!IntTuple::from((3, 8)).elem_less(&(4, 8).into())?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn elem_less(&self, other: &IntTuple) -> Result<bool> {
        self.pairs(other)?.into_iter().try_fold(true, |all, (a, b)| Ok(all && less(a, b)?))
    }

    fn pairs<'a>(&'a self, other: &'a IntTuple) -> Result<Vec<(&'a Int, &'a Int)>> {
        if !self.is_congruent(other) {
            return Err(LayoutError::NotCongruent { left: self.to_string(), right: other.to_string() });
        }
        Ok(self.leaves().iter().zip(other.leaves()).collect())
    }
}

fn less(a: &Int, b: &Int) -> Result<bool> {
    a.less_than(b).ok_or_else(|| LayoutError::Unknown(format!("whether {a} < {b}")))
}

fn first_difference<'a>(mut pairs: impl Iterator<Item = (&'a Int, &'a Int)>) -> Result<bool> {
    match pairs.find(|(a, b)| a.equals(b) != Some(true)) {
        Some((a, b)) => less(a, b),
        None => Ok(false),
    }
}
