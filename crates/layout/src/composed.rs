//! Swizzled layouts: a swizzle after an offset after a layout.

use crate::convert::{Coord, IntTuple};
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::parse::Reader;
use crate::recast::ratio;
use crate::swizzle::Swizzle;
use crate::tiler::Tiler;
use std::fmt;
use std::str::FromStr;

/// The function `c -> swizzle(offset + layout(c))`.
///
/// What changes the domain (divides, tiles, slices) acts on the layout inside.
///
/// ```
/// use warpsmith_layout::ComposedLayout;
/// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
/// assert_eq!(tile.at_coord((1, 0))?, 64 + 8);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    swizzle: Swizzle,
    offset: Int,
    layout: Layout,
}

impl ComposedLayout {
    /// The composed layout.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile = ComposedLayout::new(Swizzle::new(3, 3, 3)?, 8, Layout::row_major((8, 64))?);
    /// assert_eq!(tile.to_string(), "Sw<3,3,3> o 8 o (8,64):(64,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn new(swizzle: Swizzle, offset: impl Into<Int>, layout: Layout) -> ComposedLayout {
        ComposedLayout { swizzle, offset: offset.into(), layout }
    }

    /// The swizzle.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.swizzle(), Swizzle::new(3, 3, 3)?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// What is added before the swizzle.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.slice((2, ..))?.offset(), &Int::from(128));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn offset(&self) -> &Int {
        &self.offset
    }

    /// The layout inside.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.layout(), &Layout::row_major((8, 64))?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of coordinates.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.size()?, 512);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn size(&self) -> Result<i64> {
        self.layout.size()
    }

    /// The cosize of the layout inside, whatever swizzle and offset make of it.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.cosize()?, Int::from(512));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn cosize(&self) -> Result<Int> {
        self.layout.cosize()
    }

    /// The offset of a linear index, on the host.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.at(1)?, 64 + 8);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn at(&self, index: i64) -> Result<i64> {
        self.at_coord(index)
    }

    /// The offset of a coordinate, on the host.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.at_coord((2, 0))?, 128 + 16);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn at_coord(&self, coord: impl Into<Coord>) -> Result<i64> {
        Ok(self.swizzle.apply(self.linear(coord)?.known()?))
    }

    /// The offset of a coordinate before the swizzle, static or not.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.linear((2, 0))?, Int::from(128));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn linear(&self, coord: impl Into<Coord>) -> Result<Int> {
        self.offset.add(&self.layout.offset(coord)?)
    }

    /// All offsets, in order.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<1,0,1> o 0 o 4:1".parse()?;
    /// assert_eq!(tile.table()?, [0, 1, 3, 2]);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn table(&self) -> Result<Vec<i64>> {
        (0..self.size()?).map(|i| self.at(i)).collect()
    }

    /// Swizzle and offset around another layout.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.around(Layout::new(8, 64)?).to_string(), "Sw<3,3,3> o 0 o 8:64");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn around(&self, layout: Layout) -> ComposedLayout {
        ComposedLayout { layout, ..self.clone() }
    }

    /// The composed layout `c -> self(inner(c))`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// let row = tile.compose(&Layout::new(64, 8)?)?;
    /// assert_eq!(row.to_string(), "Sw<3,3,3> o 0 o 64:1");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compose(&self, inner: &Layout) -> Result<ComposedLayout> {
        Ok(self.around(self.layout.compose(inner)?))
    }

    /// The composed layout `c -> self(inner(c))`, where both swizzles make one.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<2,0,3> o 0 o (8,8):(8,1)".parse()?;
    /// let same: ComposedLayout = "Sw<0,0,0> o 0 o (8,8):(1,8)".parse()?;
    /// assert_eq!(tile.compose_composed(&same)?, tile);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn compose_composed(&self, inner: &ComposedLayout) -> Result<ComposedLayout> {
        let composed = || {
            if !self.offset.is(0) {
                return Err(LayoutError::Unsupported("an offset between two swizzles".to_string()));
            }
            let right = self.layout.compose_composed(inner)?;
            let swizzle = if right.swizzle.is_identity() {
                self.swizzle
            } else if self.swizzle.is_identity() {
                right.swizzle
            } else {
                self.swizzle.compose(right.swizzle)?
            };
            Ok(ComposedLayout { swizzle, ..right })
        };
        composed().of("composition", &[self, inner])
    }

    /// Composition by mode of the layout inside.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.compose_tiler(&Tiler::from((4, 8)))?.to_string(), "Sw<3,3,3> o 0 o (4,8):(64,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn compose_tiler(&self, tiler: &Tiler) -> Result<ComposedLayout> {
        Ok(self.around(self.layout.compose_tiler(tiler)?))
    }

    /// The slice: the layout of the holes, with the offset of the indices before the swizzle.
    ///
    /// ```
    /// use warpsmith_layout::ComposedLayout;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.slice((1, ..))?.to_string(), "Sw<3,3,3> o 64 o (64):(1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<ComposedLayout> {
        let (layout, offset) = self.layout.slice(coord)?;
        Ok(ComposedLayout { swizzle: self.swizzle, offset: self.offset.add(&offset)?, layout })
    }

    /// Copies that fill a shape, as [`Layout::tile_to_shape`] places them.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// let whole = tile.tile_to_shape((128, 64), None)?;
    /// assert_eq!(whole.to_string(), "Sw<3,3,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tile_to_shape(&self, target: impl Into<IntTuple>, order: Option<IntTuple>) -> Result<ComposedLayout> {
        Ok(self.around(self.layout.tile_to_shape(target, order)?))
    }

    /// The composed layout in elements `n` times as wide.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.upcast(8)?.to_string(), "Sw<3,0,3> o 0 o (8,8):(8,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn upcast(&self, n: i64) -> Result<ComposedLayout> {
        let layout = self.layout.upcast(n)?;
        if self.offset.is_multiple_of(&n.into()) != Some(true) {
            return Err(LayoutError::Indivisible(self.offset.to_string(), n.to_string())).of("upcast", &[self, &n]);
        }
        Ok(ComposedLayout { swizzle: self.swizzle.upcast(n)?, offset: self.offset.div(&n.into())?, layout })
    }

    /// The composed layout in elements of which `n` make one of the old ones.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.downcast(2)?.to_string(), "Sw<3,4,3> o 0 o (8,128):(128,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn downcast(&self, n: i64) -> Result<ComposedLayout> {
        let layout = self.layout.downcast(n)?;
        Ok(ComposedLayout { swizzle: self.swizzle.downcast(n)?, offset: self.offset.mul(&n.into())?, layout })
    }

    /// The composed layout of elements of `old` bits as one of elements of `new` bits.
    ///
    /// ```
    /// use warpsmith_layout::ComposedLayout;
    /// let bytes: ComposedLayout = "Sw<3,4,3> o 0 o (8,128):(128,1)".parse()?;
    /// assert_eq!(bytes.recast(8, 16)?.to_string(), "Sw<3,3,3> o 0 o (8,64):(64,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn recast(&self, old: i64, new: i64) -> Result<ComposedLayout> {
        let (up, down) = ratio(old, new)?;
        let wide = if up == 1 { self.clone() } else { self.upcast(up)? };
        if down == 1 { Ok(wide) } else { wide.downcast(down) }
    }

    /// A right inverse, with the swizzle moved to its left end.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<1,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// assert_eq!(tile.right_inverse()?.to_string(), "Sw<1,0,-2> o 0 o (4,4):(4,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn right_inverse(&self) -> Result<ComposedLayout> {
        self.inverse(Layout::right_inverse).of("right inverse", &[self])
    }

    /// A left inverse, with the swizzle moved to its left end.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<2,1,3> o 0 o (4,16):(16,1)".parse()?;
    /// let back = tile.left_inverse()?;
    /// assert!((0..64).all(|i| tile.at(i).and_then(|at| back.at(at)) == Ok(i)));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn left_inverse(&self) -> Result<ComposedLayout> {
        self.inverse(Layout::left_inverse).of("left inverse", &[self])
    }

    fn inverse(&self, of: impl Fn(&Layout) -> Result<Layout>) -> Result<ComposedLayout> {
        if !self.offset.is(0) {
            return Err(LayoutError::Unsupported("the inverse of a layout with an offset".to_string()));
        }
        // A swizzle is its own inverse.
        of(&self.layout)?.after_swizzle(self.swizzle)
    }

    /// How many elements, from the first on, lie side by side in both.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (64,8):(1,64)".parse()?;
    /// assert_eq!(tile.max_common_vector(&Layout::compact((64, 8))?)?, Int::from(8));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn max_common_vector(&self, other: &Layout) -> Result<Int> {
        let (vector, _) = self.layout.max_common(other)?;
        let run = match 1i64.checked_shl(self.swizzle.base()) {
            Some(run) if run > 0 && !self.swizzle.is_identity() => Int::Static(run),
            _ => return Ok(vector),
        };
        // An offset moves where the swizzle first changes something.
        let run = Int::Static(crate::facts::gcd(run.known()?, self.offset.facts().divisor));
        vector.smaller(&run)
    }
}

impl Layout {
    /// The composed layout `c -> self(inner(c))`, with the swizzle moved to the left of `self`.
    ///
    /// ```
    /// use warpsmith_layout::{ComposedLayout, Layout};
    /// let inner: ComposedLayout = "Sw<2,0,-3> o 0 o (8,8):(8,1)".parse()?;
    /// let outer = Layout::new((8, 8), (8, 1))?;
    /// assert_eq!(outer.compose_composed(&inner)?.to_string(), "Sw<2,0,3> o 0 o (8,8):(1,8)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compose_composed(&self, inner: &ComposedLayout) -> Result<ComposedLayout> {
        let composed = || {
            if !inner.offset.is(0) {
                return Err(LayoutError::Unsupported("an offset between layout and swizzle".to_string()));
            }
            let left = self.after_swizzle(inner.swizzle)?;
            Ok(ComposedLayout { layout: left.layout.compose(&inner.layout)?, ..left })
        };
        composed().of("composition", &[self, inner])
    }

    /// `self` after a swizzle, as another swizzle after `self`. Refused unless `self` moves bits without mixing them.
    fn after_swizzle(&self, swizzle: Swizzle) -> Result<ComposedLayout> {
        if swizzle.is_identity() {
            return Ok(ComposedLayout::new(swizzle, 0, self.clone()));
        }
        // Bits of the swizzle past the end may collide with others; those that no index has can go.
        let bits = 64 - self.size()?.saturating_sub(1).leading_zeros();
        let moved = Swizzle::from_masks(self.at(swizzle.y())?, self.at(swizzle.z())?)?;
        let moved = match self.check_moved(swizzle, moved, bits) {
            Ok(()) => moved,
            Err(refusal) => {
                let reached = swizzle.below(bits);
                let moved = Swizzle::from_masks(self.at(reached.y())?, self.at(reached.z())?)?;
                self.check_moved(reached, moved, bits).map_err(|_| refusal)?;
                moved
            }
        };
        Ok(ComposedLayout::new(moved, 0, self.clone()))
    }

    /// Whether `moved` does to the offsets of indices below `1 << bits` what `swizzle` does to the indices.
    fn check_moved(&self, swizzle: Swizzle, moved: Swizzle, bits: u32) -> Result<()> {
        let mixes = || LayoutError::Unsupported(format!("{self} does not keep the bits of {swizzle} apart"));
        // Sizes other than powers of two carry in the middle of an index.
        let mut sizes = self.coalesce()?.shape().leaves().iter().map(Int::known).collect::<Result<Vec<_>>>()?;
        sizes.pop();
        if sizes.iter().any(|s| s.count_ones() != 1) {
            return Err(mixes());
        }
        // Both ways are linear over bits if each bit goes to one of its own, or to none; then they agree if they agree on bits.
        let mut taken = 0i64;
        let reached = (0..63).map(|bit| 1i64 << bit);
        for bit in reached.filter(|bit| bit >> bits == 0 || swizzle.below(bits).z() & bit != 0) {
            let image = self.at(bit)?;
            if image < 0 || image.count_ones() > 1 || taken & image != 0 {
                return Err(mixes());
            }
            taken |= image;
            if bit >> bits == 0 && moved.apply(image) != self.at(swizzle.apply(bit))? {
                return Err(mixes());
            }
        }
        Ok(())
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}

impl FromStr for ComposedLayout {
    type Err = LayoutError;

    /// `Sw<B,M,S> o OFFSET o LAYOUT`, or a plain layout.
    fn from_str(text: &str) -> Result<ComposedLayout> {
        Reader::whole(text, |r| {
            if r.peek() != Some('S') {
                return Ok(ComposedLayout::from(r.layout()?));
            }
            let swizzle = r.swizzle()?;
            r.need("o")?;
            let offset = r.integer()?;
            r.need("o")?;
            Ok(ComposedLayout::new(swizzle, offset, r.layout()?))
        })
    }
}

impl From<Layout> for ComposedLayout {
    fn from(layout: Layout) -> ComposedLayout {
        ComposedLayout::new(Swizzle::IDENTITY, 0, layout)
    }
}
