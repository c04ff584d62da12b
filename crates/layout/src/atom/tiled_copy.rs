//! Many threads with one copy instruction each: the tile that they move together.

use crate::atom::copy::CopyAtom;
use crate::atom::tiled_mma::{Operand, TiledMma};
use crate::convert::IntTuple;
use crate::coord::Index;
use crate::divide::zipped;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::tiler::Tiler;
use crate::tuple::Tuple;
use crate::tv::make_layout_tv;

/// A copy instruction, a layout (thread, value) -> index in a tile, and the tile.
///
/// ```
/// use warpsmith_layout::Layout;
/// use warpsmith_layout::atom::{CopyAtom, TiledCopy};
/// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
/// let copy = TiledCopy::new(atom, &Layout::new((16, 8), (8, 1))?, &Layout::new((1, 8), (0, 1))?)?;
/// let (part, offset) = copy.partition_source(&Layout::new((128, 256), (256, 1))?, 21)?;
/// assert_eq!((part.to_string(), offset.to_string()), ("((8,1),8,4):((1,0),4096,64)".into(), "552".into()));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledCopy {
    atom: CopyAtom,
    tv: Layout,
    tile: Tiler,
    // (thread, (atom, rest)) -> index, as source and target see them: every partition needs one.
    source: Result<Layout>,
    target: Result<Layout>,
}

impl TiledCopy {
    /// From an instruction in values, an arrangement of threads and one of each thread's values.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.tile().to_string(), "<16,64>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn new(atom: CopyAtom, threads: &Layout, values: &Layout) -> Result<TiledCopy> {
        let (tile, tv) = make_layout_tv(threads, values)?;
        Ok(TiledCopy::from_tv(atom, tv, by_size(&tile)))
    }

    /// From an instruction in values, a thread-value layout and its tile.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint32_t>")?.values(16)?;
    /// let copy = TiledCopy::from_tv(atom, "(32,2):(2,1)".parse()?, (1, 64));
    /// assert_eq!(copy.partition_source(&Layout::row_major((1, 64))?, 5)?.1, 10.into());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn from_tv(atom: CopyAtom, tv: Layout, tile: impl Into<Tiler>) -> TiledCopy {
        let (source, target) = (side(&atom, &tv, &atom.source), side(&atom, &tv, &atom.target));
        TiledCopy { atom, tv, tile: tile.into(), source, target }
    }

    /// The copy that moves the fragments of an operand of a matrix multiplication.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// let ldmatrix = CopyAtom::named("SM75_U32x4_LDSM_N")?.values(16)?;
    /// let copy = TiledCopy::for_mma(ldmatrix, &mma, Operand::A)?;
    /// assert_eq!(copy.tile().to_string(), "<32,16>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn for_mma(atom: CopyAtom, mma: &TiledMma, operand: Operand) -> Result<TiledCopy> {
        Ok(TiledCopy::from_tv(atom, mma.layout_tv(operand)?, by_size(&mma.tile_of(operand)?)))
    }

    /// The copy that moves the accumulator of a matrix multiplication, as many values at a time as one instruction
    /// takes: its tile is only what these values cover.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// let store = CopyAtom::named("UniversalCopy<uint64_t>")?.values(32)?;
    /// let copy = TiledCopy::for_accumulator(store, &mma)?;
    /// assert_eq!(copy.tv().size()?, 128 * 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn for_accumulator(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy> {
        let whole = mma.layout_tv(Operand::C)?;
        let values = atom.source.mode(1)?.extent()?;
        let tv = whole.compose(&Layout::compact((whole.mode(0)?.extent()?, values))?)?;
        let tile = mma.tile_of(Operand::C)?;
        let axis = |m: i64, n: i64| Layout::new(tile.clone(), (m, n))?.compose(&tv)?.filter().map(Tiler::Layout);
        let tile = Tiler::Modes(vec![axis(1, 0)?, axis(0, 1)?]);
        let covered = Layout::compact(mma.tile_of(Operand::C)?)?.compose_tiler(&tile)?;
        Ok(TiledCopy::from_tv(atom, covered.left_inverse()?.compose(&tv)?, tile))
    }

    /// The instruction.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.atom().name, "UniversalCopy<uint128_t>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// The layout (thread, value) -> index in the tile.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.tv().to_string(), "((8,16),8):((128,1),16)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tv(&self) -> &Layout {
        &self.tv
    }

    /// The tile.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.tile().to_string(), "<16,64>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tile(&self) -> &Tiler {
        &self.tile
    }

    /// The layout (thread, value) -> index in the tile, as the source sees threads and values.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.source_tv()?.size()?, 16 * 64);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn source_tv(&self) -> Result<Layout> {
        self.tile_tv(&self.source)
    }

    /// The layout (thread, value) -> index in the tile, as the target sees threads and values.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// assert_eq!(copy.target_tv()?.size()?, 16 * 64);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn target_tv(&self) -> Result<Layout> {
        self.tile_tv(&self.target)
    }

    /// One thread's part (value, rest, rest, ...) of the source, and its offset.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// let (part, offset) = copy.partition_source(&Layout::row_major((16, 64))?, 9)?;
    /// assert_eq!((part.to_string(), offset), ("((8,1),1,1):((1,0),0,0)".into(), 72.into()));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn partition_source(&self, layout: &Layout, thread: impl Into<Int>) -> Result<(Layout, Int)> {
        self.partition(layout, &self.source, thread.into())
    }

    /// One thread's part (value, rest, rest, ...) of the target, and its offset.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// let copy = TiledCopy::new(atom, &Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
    /// let (part, offset) = copy.partition_target(&Layout::row_major((16, 64))?, 9)?;
    /// assert_eq!((part.to_string(), offset), ("((8,1),1,1):((1,0),0,0)".into(), 72.into()));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn partition_target(&self, layout: &Layout, thread: impl Into<Int>) -> Result<(Layout, Int)> {
        self.partition(layout, &self.target, thread.into())
    }

    /// A fragment (value, rest, ...) of another partition of the tile, in this copy's order of values.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// let store = CopyAtom::named("UniversalCopy<uint64_t>")?.values(32)?;
    /// let copy = TiledCopy::for_mma(store, &mma, Operand::C)?;
    /// let fragment: Layout = "((2,2),1,2):((1,2),0,4)".parse()?;
    /// assert_eq!(copy.retile(&fragment)?.size()?, fragment.size()?);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn retile(&self, fragment: &Layout) -> Result<Layout> {
        let retile = || {
            let values = fragment.mode(0)?.extent()?;
            let unit = self.tv.mode(0)?.extent()?.mul(&values)?.known()?;
            let tile = Layout::compact(sizes(&self.tile)?)?;
            let order = self.tv.right_inverse()?.compose(&tile)?.upcast(unit)?;
            let all = Layout::compact(values.clone())?.logical_product(order.right_inverse()?)?;
            let atom = Layout::compact(self.atom.reference.mode(1)?.extent()?)?;
            let in_order = all.zipped_divide(atom)?;
            let sizes = order.shape().product_each()?;
            let tiler = [values].into_iter().chain(sizes.leaves().iter().cloned()).map(Tiler::Size).collect();
            let tiles = fragment.zipped_divide(Tiler::Modes(tiler))?;
            let tiles = tiles.compose_tiler(&Tiler::from((in_order, ..)))?;
            let rest = (1..fragment.rank()).map(|_| Index::All);
            let rest = [Index::from(0)].into_iter().chain(rest);
            Ok(tiles.slice(Tuple::of([Tuple::leaf(Index::All), Tuple::flat(rest)]))?.0)
        };
        retile().of("retile", &[fragment])
    }

    fn tile_tv(&self, side: &Result<Layout>) -> Result<Layout> {
        let tile = Layout::compact(sizes(&self.tile)?)?;
        tile.compose(side.as_ref().map_err(LayoutError::clone)?)
    }

    fn partition(&self, layout: &Layout, side: &Result<Layout>, thread: Int) -> Result<(Layout, Int)> {
        let part = || {
            let tiles = zipped(layout, &self.tile)?;
            let side = side.as_ref().map_err(LayoutError::clone)?;
            let tiles = Layout::of([tiles.mode(0)?.compose(side)?, tiles.mode(1)?]);
            let rest = Tuple::flat((0..layout.rank()).map(|_| Index::All));
            let threads = Tuple::flat([Index::At(thread.clone()), Index::All]);
            tiles.slice(Tuple::of([threads, rest]))
        };
        part().of("partition", &[layout, &thread])
    }
}

/// The tile's threads and values, as one side of the instruction sees them: (thread, (atom, rest)) -> index.
fn side(atom: &CopyAtom, tv: &Layout, side: &Layout) -> Result<Layout> {
    let reference = &atom.reference;
    let atoms = tv.zipped_divide((reference.mode(0)?.extent()?, reference.mode(1)?.extent()?))?;
    let moved: Tiler = reference.right_inverse()?.compose(side)?.into();
    atoms.compose_tiler(&Tiler::from((moved, ..)))?.zip()?.coalesce_by((1, (1, 1)))
}

fn by_size(tile: &IntTuple) -> Tiler {
    Tiler::Modes(tile.leaves().iter().cloned().map(Tiler::Size).collect())
}

/// The size of each mode of a tile.
fn sizes(tile: &Tiler) -> Result<IntTuple> {
    let size = |tile: &Tiler| match tile {
        Tiler::Size(n) => Ok(n.clone()),
        Tiler::Layout(layout) => layout.extent(),
        other => Err(LayoutError::Unsupported(format!("{other} has no size"))),
    };
    match tile {
        Tiler::Modes(modes) => Ok(Tuple::flat(modes.iter().map(size).collect::<Result<Vec<_>>>()?)),
        other => Ok(Tuple::leaf(size(other)?)),
    }
}
