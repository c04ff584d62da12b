//! Many threads with one copy instruction each: the tile that they move together.

use crate::atom::copy::CopyAtom;
use crate::atom::tiled_mma::{Operand, TiledMma};
use crate::convert::IntTuple;
use crate::coord::Index;
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
}

impl TiledCopy {
    /// From an instruction in values, an arrangement of threads and one of each thread's values.
    pub fn new(atom: CopyAtom, threads: &Layout, values: &Layout) -> Result<TiledCopy> {
        let (tile, tv) = make_layout_tv(threads, values)?;
        Ok(TiledCopy { atom, tv, tile: by_size(&tile) })
    }

    /// From an instruction in values, a thread-value layout and its tile.
    pub fn from_tv(atom: CopyAtom, tv: Layout, tile: impl Into<Tiler>) -> TiledCopy {
        TiledCopy { atom, tv, tile: tile.into() }
    }

    /// The copy that moves the fragments of an operand of a matrix multiplication.
    pub fn for_mma(atom: CopyAtom, mma: &TiledMma, operand: Operand) -> Result<TiledCopy> {
        Ok(TiledCopy { atom, tv: mma.layout_tv(operand)?, tile: by_size(&mma.tile_of(operand)?) })
    }

    /// The copy that moves the accumulator of a matrix multiplication, as many values at a time as one instruction
    /// takes: its tile is only what these values cover.
    pub fn for_accumulator(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy> {
        let whole = mma.layout_tv(Operand::C)?;
        let values = atom.source.mode(1)?.extent()?;
        let tv = whole.compose(&Layout::compact((whole.mode(0)?.extent()?, values))?)?;
        let tile = mma.tile_of(Operand::C)?;
        let axis = |m: i64, n: i64| Layout::new(tile.clone(), (m, n))?.compose(&tv)?.filter().map(Tiler::Layout);
        let tile = Tiler::Modes(vec![axis(1, 0)?, axis(0, 1)?]);
        let covered = Layout::compact(mma.tile_of(Operand::C)?)?.compose_tiler(&tile)?;
        Ok(TiledCopy { atom, tv: covered.left_inverse()?.compose(&tv)?, tile })
    }

    /// The instruction.
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// The layout (thread, value) -> index in the tile.
    pub fn tv(&self) -> &Layout {
        &self.tv
    }

    /// The tile.
    pub fn tile(&self) -> &Tiler {
        &self.tile
    }

    /// The layout (thread, value) -> index in the tile, as the source sees threads and values.
    pub fn source_tv(&self) -> Result<Layout> {
        self.tile_tv(&self.atom.source)
    }

    /// The layout (thread, value) -> index in the tile, as the target sees threads and values.
    pub fn target_tv(&self) -> Result<Layout> {
        self.tile_tv(&self.atom.target)
    }

    /// One thread's part (value, rest, rest, ...) of the source, and its offset.
    pub fn partition_source(&self, layout: &Layout, thread: impl Into<Int>) -> Result<(Layout, Int)> {
        self.partition(layout, &self.atom.source, thread.into())
    }

    /// One thread's part (value, rest, rest, ...) of the target, and its offset.
    pub fn partition_target(&self, layout: &Layout, thread: impl Into<Int>) -> Result<(Layout, Int)> {
        self.partition(layout, &self.atom.target, thread.into())
    }

    /// A fragment (value, rest, ...) of another partition of the tile, in this copy's order of values.
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

    /// The tile's threads and values, as one side of the instruction sees them: (thread, (atom, rest)) -> index.
    fn side(&self, side: &Layout) -> Result<Layout> {
        let atom = (self.atom.reference.mode(0)?.extent()?, self.atom.reference.mode(1)?.extent()?);
        let atoms = self.tv.zipped_divide(atom)?;
        let moved: Tiler = self.atom.reference.right_inverse()?.compose(side)?.into();
        atoms.compose_tiler(&Tiler::from((moved, ..)))?.zip()?.coalesce_by((1, (1, 1)))
    }

    fn tile_tv(&self, side: &Layout) -> Result<Layout> {
        let tile = Layout::compact(sizes(&self.tile)?)?;
        tile.compose(&self.side(side)?)
    }

    fn partition(&self, layout: &Layout, side: &Layout, thread: Int) -> Result<(Layout, Int)> {
        let part = || {
            let tiles = layout.zipped_divide(&self.tile)?;
            let tiles = tiles.compose_tiler(&Tiler::from((self.side(side)?, ..)))?;
            let rest = Tuple::flat((0..layout.rank()).map(|_| Index::All));
            let threads = Tuple::flat([Index::At(thread.clone()), Index::All]);
            tiles.slice(Tuple::of([threads, rest]))
        };
        part().of("partition", &[layout, &thread])
    }
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
