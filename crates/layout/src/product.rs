//! Products: a layout repeated by a layout.

use crate::convert::IntTuple;
use crate::divide::{by_mode, flat, tiled, unzip};
use crate::error::{Context, LayoutError, Result};
use crate::layout::Layout;
use crate::tiler::Tiler;
use crate::tuple::Tuple;

impl Layout {
    /// `(self, copies)`: the layout, and the copies of it that the tiler places; by mode for a tiler by mode.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((2, 2), (4, 1))?.logical_product(Layout::new(6, 1)?)?;
    /// assert_eq!(l.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn logical_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        logical(self, &tiler).of("logical product", &[self, &tiler])
    }

    /// `((M,N),(TileM,TileN))`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, 2), (1, 4))?.zipped_product(Layout::new(2, 4)?)?;
    /// assert_eq!(l.to_string(), "((4,2),2):((1,4),32)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn zipped_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).of("zipped product", &[self, &tiler])
    }

    /// `((M,N),TileM,TileN)`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((2, 5), (5, 1))?.tiled_product("<3:5,4:6>".parse::<Tiler>()?)?;
    /// assert_eq!(l.to_string(), "((2,5),3,4):((5,1),10,30)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn tiled_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).map(|l| tiled(&l)).of("tiled product", &[self, &tiler])
    }

    /// `(M,N,TileM,TileN)`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((4, 2, 3), (1, 4, 8))?.flat_product(Layout::new((6, 4), (4, 1))?)?;
    /// assert_eq!(l.to_string(), "(4,2,3,6,4):(1,4,8,96,24)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn flat_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).map(|l| flat(&l)).of("flat product", &[self, &tiler])
    }

    /// Copies of `self` side by side, as `tiling` arranges them: `((a0,b0),(a1,b1),...)`. Blocks stay together.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((2, 5), (5, 1))?.blocked_product(&Layout::new((3, 4), (1, 3))?)?;
    /// assert_eq!(l.to_string(), "((2,3),(5,4)):((5,10),(1,30))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn blocked_product(&self, tiling: &Layout) -> Result<Layout> {
        paired(self, tiling, |block, tile| [block, tile]).of("blocked product", &[self, tiling])
    }

    /// Copies of `self` interleaved: `((b0,a0),(b1,a1),...)`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((2, 5), (5, 1))?.raked_product(&Layout::new((3, 4), (1, 3))?)?;
    /// assert_eq!(l.to_string(), "((3,2),(4,5)):((10,5),(30,1))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn raked_product(&self, tiling: &Layout) -> Result<Layout> {
        paired(self, tiling, |block, tile| [tile, block]).of("raked product", &[self, tiling])
    }

    /// Copies of `self` that fill a shape, mode by mode; the copies run in `order` (the least fastest), or column by
    /// column. The block must divide the shape.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let block = Layout::new((8, 8), (8, 1))?;
    /// assert_eq!(block.tile_to_shape((16, 16), None)?.to_string(), "((8,2),(8,2)):((8,64),(1,128))");
    /// assert_eq!(block.tile_to_shape((16, 16), Some((1, 0).into()))?.to_string(), "((8,2),(8,2)):((8,128),(1,64))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn tile_to_shape(&self, target: impl Into<IntTuple>, order: Option<IntTuple>) -> Result<Layout> {
        let target = target.into();
        tile_to_shape(self, &target, order).of("tile to shape", &[self, &target])
    }

    /// This layout with modes `1:0` at the end, up to this rank.
    pub(crate) fn padded(&self, rank: usize) -> Layout {
        let have = self.rank();
        if have >= rank {
            return self.clone();
        }
        Layout::of(self.modes().chain((have..rank).map(|_| Layout::one())))
    }
}

fn logical(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    match (tiler, tiler.as_layout()?) {
        (_, Some(tile)) => Ok(Layout::of([layout.clone(), copies(layout, &tile)?])),
        (Tiler::Modes(_), None) => by_mode(layout, tiler, logical),
        (_, None) => Ok(layout.clone()),
    }
}

/// Where the copies of `block` go that `tiling` asks for.
fn copies(block: &Layout, tiling: &Layout) -> Result<Layout> {
    let reach = tiling.cosize()?;
    let holes = block.loose_complement(block.extent()?.mul(&reach)?)?;
    // Past the last hole inside the block, the holes would go on where the block itself goes on.
    if let (Some(more), Some((size, step))) = (reach.at_most(&holes.extent()?), holes.leaves().next_back())
        && !more
        && size.mul(step.int()?)?.less_than(&block.filter()?.cosize()?) == Some(true)
    {
        return Err(LayoutError::Unsupported(format!("copies {tiling} of {block} overlap: its holes are {holes}")));
    }
    holes.compose(tiling)
}

fn zipped(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    unzip(&logical(layout, tiler)?, tiler)
}

fn paired(block: &Layout, tiling: &Layout, pair: impl Fn(Layout, Layout) -> [Layout; 2]) -> Result<Layout> {
    let rank = block.rank().max(tiling.rank());
    let (block, tiling) = (block.padded(rank), tiling.padded(rank));
    let copies = copies(&block, &tiling)?;
    let [first, second] = pair(block, copies);
    if first.is_leaf() {
        return Ok(Layout::of([Layout::of([first, second])]));
    }
    if second.is_leaf() || first.rank() != second.rank() {
        return Err(LayoutError::NotCongruent { left: first.to_string(), right: second.to_string() });
    }
    Ok(Layout::of(first.modes().zip(second.modes()).map(|(a, b)| Layout::of([a, b]))))
}

fn tile_to_shape(block: &Layout, target: &IntTuple, order: Option<IntTuple>) -> Result<Layout> {
    let (n, m) = (block.rank(), target.rank());
    if n > m {
        return Err(LayoutError::Rank { what: "a block and the shape to fill", left: n, right: m });
    }
    let block = block.padded(m);
    let mut counts = Vec::new();
    for (i, (s, b)) in target.modes().zip(block.shape().modes()).enumerate() {
        let (s, b) = (crate::coord::size(s)?, crate::coord::size(b)?);
        match s.is_multiple_of(&b) {
            Some(true) => counts.push(s.div(&b)?),
            Some(false) => {
                return Err(LayoutError::ShapeDivisibility { mode: i, size: s.to_string(), part: b.to_string() });
            }
            None => return Err(LayoutError::Unknown(format!("whether {b} divides {s}"))),
        }
    }
    let counts = Tuple::flat(counts);
    let copies = match order {
        Some(order) => Layout::ordered(counts, order)?,
        None => Layout::compact(counts)?,
    };
    block.blocked_product(&copies)
}
