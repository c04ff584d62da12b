//! The layout: a shape and its strides, a function from coordinates to offsets.

use crate::convert::{Coord, IntTuple, Strides};
use crate::coord;
use crate::error::{LayoutError, Result};
use crate::int::Int;
use crate::step::{Step, Vector};
use crate::tuple::Tuple;
use crate::view::{LayoutBuilder, LayoutView};
use std::fmt;

/// A function from coordinates to offsets: the sum of index times stride over the leaves of its shape.
///
/// ```
/// use warpsmith_layout::Layout;
/// let row_major = Layout::new((4, 8), (8, 1))?;
/// assert_eq!(row_major.to_string(), "(4,8):(8,1)");
/// assert_eq!(row_major.at(5)?, 9); // the sixth coordinate, column by column, is (1, 1)
/// assert_eq!(row_major.at_coord((1, 1))?, 9);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: IntTuple,
    stride: Strides,
}

impl Layout {
    /// A layout of a shape and strides with the same profile. Static sizes are at least 1.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::new((4, (2, 3)), (3, (12, 1)))?.to_string(), "(4,(2,3)):(3,(12,1))");
    /// assert!(Layout::new((4, 8), 1).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn new(shape: impl Into<IntTuple>, stride: impl Into<Strides>) -> Result<Layout> {
        let (shape, stride) = (shape.into(), stride.into());
        if !shape.is_congruent(&stride) {
            return Err(LayoutError::NotCongruent { left: shape.to_string(), right: stride.to_string() });
        }
        match shape.leaves().iter().find(|s| s.value().is_some_and(|v| v < 1)) {
            Some(s) => Err(LayoutError::NotPositive(s.to_string())),
            None => Ok(Layout { shape, stride }),
        }
    }

    /// One mode: `size:stride`.
    pub(crate) fn leaf(size: Int, stride: Step) -> Layout {
        Layout { shape: Tuple::leaf(size), stride: Tuple::leaf(stride) }
    }

    /// The layout of one element: `1:0`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::one().to_string(), "1:0");
    /// ```
    pub fn one() -> Layout {
        Layout::leaf(Int::ONE, Step::ZERO)
    }

    /// The layout of these modes, side by side.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::of([Layout::new(4, 1)?, Layout::new((2, 3), (12, 4))?]);
    /// assert_eq!(l.to_string(), "(4,(2,3)):(1,(12,4))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn of(modes: impl IntoIterator<Item = Layout>) -> Layout {
        let mut out = LayoutBuilder::new();
        out.open();
        modes.into_iter().for_each(|mode| out.layout(mode));
        out.close();
        out.finish()
    }

    /// The flat layout of these modes.
    pub(crate) fn flat(modes: impl IntoIterator<Item = (Int, Step)>) -> Layout {
        let (shape, stride): (smallvec::SmallVec<[_; 8]>, smallvec::SmallVec<[_; 8]>) = modes.into_iter().unzip();
        Layout { shape: Tuple::flat(shape), stride: Tuple::flat(stride) }
    }

    /// The shape.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.shape().to_string(), "(4,(2,3))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// The strides.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.stride().to_string(), "(6,(3,1))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn stride(&self) -> &Strides {
        &self.stride
    }

    /// The number of modes.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.rank(), 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The nesting of the shape.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.depth(), 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// The number of coordinates, static or not.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let rows = Int::variable(0, Facts::size());
    /// assert_eq!(Layout::compact((rows, 4))?.extent()?.to_string(), "4*?0");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn extent(&self) -> Result<Int> {
        coord::size(self.shape.view())
    }

    /// The number of coordinates; an error when it is only known at run time.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.size()?, 24);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn size(&self) -> Result<i64> {
        self.extent()?.known()
    }

    /// One more than the greatest offset: `1 + sum((size - 1) * |stride|)`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::new((4, 2), (1, 16))?.cosize()?, Int::from(20));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn cosize(&self) -> Result<Int> {
        self.leaves().try_fold(Int::ONE, |n, (s, d)| {
            if d.is_zero() {
                return Ok(n);
            }
            n.add(&s.add(&Int::Static(-1))?.mul(&d.int()?.abs()?)?)
        })
    }

    /// The offset of a linear index, on the host. Past the end, the last mode goes on.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::new((4, 2), (1, 16))?.at(6)?, 18);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn at(&self, index: i64) -> Result<i64> {
        self.offset(Int::Static(index))?.known()
    }

    /// The offset of a coordinate, on the host.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.at_coord((1, (1, 2)))?, 6 + 3 + 2);
    /// assert_eq!(l.at_coord((1, 5))?, 6 + 3 + 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn at_coord(&self, coord: impl Into<Coord>) -> Result<i64> {
        self.offset(coord)?.known()
    }

    /// The offset of a coordinate, static or not; a hole counts as 0.
    ///
    /// ```
    /// use warpsmith_layout::{Facts, Int, Layout};
    /// let thread = Int::variable(0, Facts::index(32));
    /// assert_eq!(Layout::new((4, 8), (8, 1))?.offset(thread)?.to_string(), "[[?0/4]+8*[?0%4]]");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn offset(&self, coord: impl Into<Coord>) -> Result<Int> {
        let mut sum = Int::ZERO;
        coord::offsets(coord.into().view(), self.shape.view(), self.stride.view(), &mut |step| {
            sum = sum.add(step.int()?)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// The coordinate of a linear index, for a layout with basis strides: an integer, or a tuple as wide and as deep as
    /// the strides name. Modes that no stride names are 0.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tiles = Layout::identity((4, 8))?.logical_divide((2, 4))?;
    /// assert_eq!(tiles.coordinate(((1, 1), (0, 1)))?.to_string(), "(3,4)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn coordinate(&self, coord: impl Into<Coord>) -> Result<IntTuple> {
        let mut sum = Vector::default();
        for d in self.stride.leaves() {
            sum.add(d.basis.path(), &Int::ZERO)?;
        }
        coord::offsets(coord.into().view(), self.shape.view(), self.stride.view(), &mut |step| {
            sum.add(step.basis.path(), &step.value)
        })?;
        Ok(sum.into_tuple())
    }

    /// All offsets, in order.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::new((2, 3), (3, 1))?.table()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn table(&self) -> Result<Vec<i64>> {
        let size = self.size()?;
        match self.static_table(usize::try_from(size).unwrap_or(0)) {
            Some(table) => Ok(table),
            None => (0..size).map(|i| self.at(i)).collect(),
        }
    }

    /// All offsets where every stride is a static integer, without a division: each leaf repeats what is there.
    fn static_table(&self, size: usize) -> Option<Vec<i64>> {
        let mut table = Vec::with_capacity(size);
        table.push(0i64);
        for (extent, stride) in self.leaves() {
            let (extent, stride) = (extent.value()?, stride.int().ok()?.value()?);
            let before = table.len();
            for i in 1..extent {
                let far = i.checked_mul(stride)?;
                for j in 0..before {
                    table.push(table[j].checked_add(far)?);
                }
            }
        }
        Some(table)
    }

    /// Size and stride of each leaf.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.leaves().map(|(size, stride)| format!("{size}:{stride}")).collect::<Vec<_>>(), ["4:6", "2:3", "3:1"]);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = (&Int, &Step)> + ExactSizeIterator + Clone {
        self.shape.leaves().iter().zip(self.stride.leaves())
    }

    /// The modes as layouts; an integer layout is its own only mode.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.modes().map(|mode| mode.to_string()).collect::<Vec<_>>(), ["4:6", "(2,3):(3,1)"]);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn modes(&self) -> impl Iterator<Item = Layout> + '_ {
        self.view().modes().map(LayoutView::to_layout)
    }

    pub(crate) fn view(&self) -> LayoutView<'_> {
        LayoutView { shape: self.shape.view(), stride: self.stride.view() }
    }

    /// Mode `i` as a layout.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, (2, 3)), (6, (3, 1)))?;
    /// assert_eq!(l.mode(1)?.to_string(), "(2,3):(3,1)");
    /// assert!(l.mode(2).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn mode(&self, i: usize) -> Result<Layout> {
        self.modes().nth(i).ok_or_else(|| LayoutError::NoSuchMode { of: self.to_string(), mode: i, rank: self.rank() })
    }

    /// Whether the shape is an integer and no tuple.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert!(Layout::new(4, 1)?.is_leaf());
    /// assert!(!Layout::of([Layout::new(4, 1)?]).is_leaf());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_leaf(&self) -> bool {
        self.shape.is_leaf()
    }

    /// Whether all leaves are static.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let rows = Int::variable(0, Facts::size());
    /// assert!(!Layout::new((rows, 4), (4, 1))?.is_static());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_static(&self) -> bool {
        self.leaves().all(|(s, d)| s.is_static() && d.value.is_static())
    }

    /// The caller sees to it that shape and stride have the same profile.
    pub(crate) fn from_parts(shape: IntTuple, stride: Strides) -> Layout {
        Layout { shape, stride }
    }

    pub(crate) fn into_parts(self) -> (IntTuple, Strides) {
        (self.shape, self.stride)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape, self.stride)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
