//! Layouts from a shape alone: compact ones, ordered ones, copies of an order, identities.

use crate::coalesce::Flat;
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::facts::gcd;
use crate::int::Int;
use crate::layout::Layout;
use crate::step::{Basis, Step};
use crate::tuple::{Builder, View};
use smallvec::SmallVec;

impl Layout {
    /// The compact layout in which mode 0 runs fastest (column-major). Modes of size 1 get stride 0.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::compact((4, (2, 3)))?.to_string(), "(4,(2,3)):(1,(4,8))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compact(shape: impl Into<IntTuple>) -> Result<Layout> {
        let shape = shape.into();
        let mut below = Int::ONE;
        let stride = shape.try_map(|s| next_step(s, &mut below))?;
        Layout::new(shape, stride)
    }

    /// The compact layout in which the last mode runs fastest (row-major).
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::row_major((4, 8))?.to_string(), "(4,8):(8,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn row_major(shape: impl Into<IntTuple>) -> Result<Layout> {
        let shape = shape.into();
        let mut below = Int::ONE;
        let steps = shape.leaves().iter().rev().map(|s| next_step(s, &mut below));
        let mut steps = steps.collect::<Result<SmallVec<[Step; 8]>>>()?;
        steps.reverse();
        with_strides(shape, steps)
    }
    /// The compact layout whose modes run in the order of `order`, the least fastest. A leaf of `order` may stand for a
    /// whole mode, which then is column-major; equal leaves start at the same stride.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::ordered((2, 3, 4), (1, 2, 0))?.to_string(), "(2,3,4):(4,8,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn ordered(shape: impl Into<IntTuple>, order: impl Into<IntTuple>) -> Result<Layout> {
        let (shape, order) = (shape.into(), order.into());
        ordered(&shape, &order).of("ordered layout", &[&shape, &order])
    }

    /// The compact layout with this shape whose modes run in the order of this layout's strides; stride 0 stays.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2, 8), (100, 0, 3))?.compact_like()?.to_string(), "(4,2,8):(8,0,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compact_like(&self) -> Result<Layout> {
        let like = || {
            let order = self.stride().try_map(|d| d.int().cloned())?;
            let compact = ordered(self.filter_zeros().shape(), &order)?;
            Layout::new(self.shape().clone(), compact.stride().clone())
        };
        like().of("layout like", &[self])
    }

    /// The compact layout for a register fragment of this one: mode 0, the values of one instruction, column-major
    /// (stride 0 stays), the other modes after it in the order of their strides.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2, 8), (1, 800, 100))?.fragment_like()?.to_string(), "(4,2,8):(1,32,4)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn fragment_like(&self) -> Result<Layout> {
        let fragment = || {
            if self.rank() < 2 {
                return Layout::compact(self.shape().clone());
            }
            let mut modes = self.modes();
            let first = modes.next().unwrap_or_else(Layout::one);
            let values = Layout::compact(first.filter_zeros().shape().clone())?;
            let values = Layout::new(first.shape().clone(), values.stride().clone())?;
            let rest = Layout::of(modes);
            let order = rest.stride().try_map(|d| d.int().cloned())?;
            values.tiled_product(ordered(rest.shape(), &order)?)
        };
        fragment().of("fragment like", &[self])
    }

    /// The layout that maps each coordinate to itself: its strides are unit vectors.
    ///
    /// ```
    /// use warpsmith_layout::{IntTuple, Layout};
    /// let l = Layout::identity((4, (2, 3)))?;
    /// assert_eq!(l.to_string(), "(4,(2,3)):(1@0,(1@0@1,1@1@1))");
    /// assert_eq!(l.coordinate(9)?, IntTuple::from((1, (0, 1))));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn identity(shape: impl Into<IntTuple>) -> Result<Layout> {
        fn go(shape: View<'_, Int>, basis: Basis, out: &mut Builder<Step>) -> Result<()> {
            if shape.is_leaf() {
                out.leaf(Step::new(1, basis));
                return Ok(());
            }
            out.open();
            for (i, mode) in shape.modes().enumerate() {
                go(mode, basis.inside(i)?, out)?;
            }
            out.close();
            Ok(())
        }
        let shape = shape.into();
        let mut strides = Builder::new();
        go(shape.view(), Basis::default(), &mut strides)?;
        Layout::new(shape, strides.finish())
    }

    /// Spreads `n` threads over a shape, leaf by leaf from the left, as far as `n` and the leaves have factors in common.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::distribute((15, 14), 6)?.to_string(), "(3,2):(1,15)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn distribute(shape: impl Into<IntTuple>, n: i64) -> Result<Layout> {
        let shape = shape.into();
        let spread = || {
            if n < 1 {
                return Err(LayoutError::NotPositive(n.to_string()));
            }
            let (mut rest, mut below, mut out) = (n, Int::ONE, Flat::new());
            for s in shape.leaves() {
                let part = gcd(s.known()?, rest).max(1);
                out.push((Int::Static(part), Step::from(below.clone())));
                below = below.mul(s)?;
                rest /= part;
            }
            Layout::flat(out).coalesce()
        };
        spread().of("distribution", &[&n, &shape])
    }
}

fn ordered(shape: &IntTuple, order: &IntTuple) -> Result<Layout> {
    let mut groups = Vec::new();
    pair_up(shape.view(), order.view(), &mut groups)?;
    let mut steps = SmallVec::new();
    for (mode, place) in &groups {
        let mut below = Int::ONE;
        for (other, at) in &groups {
            let before = at.less_than(place).ok_or_else(|| LayoutError::Unknown(format!("whether {at} < {place}")))?;
            if before {
                below = below.mul(&crate::coord::size(*other)?)?;
            }
        }
        for s in mode.leaves() {
            steps.push(next_step(s, &mut below)?);
        }
    }
    with_strides(shape.clone(), steps)
}

/// Each leaf of the order with the mode that it stands for.
fn pair_up<'a>(shape: View<'a, Int>, order: View<'a, Int>, out: &mut Vec<(View<'a, Int>, &'a Int)>) -> Result<()> {
    if let Some(place) = order.as_leaf() {
        out.push((shape, place));
        return Ok(());
    }
    if shape.is_leaf() || shape.rank() != order.rank() {
        return Err(LayoutError::NotCongruent { left: shape.to_string(), right: order.to_string() });
    }
    shape.modes().zip(order.modes()).try_for_each(|(s, o)| pair_up(s, o, out))
}

/// The stride of a leaf after all those that have come before it.
fn next_step(s: &Int, below: &mut Int) -> Result<Step> {
    if s.is(1) {
        return Ok(Step::ZERO);
    }
    let above = below.mul(s)?;
    Ok(Step::from(std::mem::replace(below, above)))
}

fn with_strides(shape: IntTuple, steps: SmallVec<[Step; 8]>) -> Result<Layout> {
    let stride = shape.with_leaves(steps).ok_or_else(|| LayoutError::Unsupported(format!("strides of {shape}")))?;
    Layout::new(shape, stride)
}
