//! Many threads with one matrix instruction each: the tile that they multiply together.

use crate::atom::mma::MmaAtom;
use crate::convert::{Coord, IntTuple};
use crate::coord::{Index, size};
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::tiler::Tiler;
use crate::tuple::Tuple;

/// An operand of a matrix multiplication.
///
/// ```
/// use warpsmith_layout::*;
/// use warpsmith_layout::atom::*;
/// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
/// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
/// assert_eq!(mma.tile_of(Operand::B)?.to_string(), "(32,16)"); // (N,K)
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A, of modes (M,K).
    A,
    /// B, of modes (N,K).
    B,
    /// The accumulator, of modes (M,N).
    C,
}

impl Operand {
    /// The two of (M,N,K) that are this operand's modes.
    fn modes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::C => [0, 1],
        }
    }
}

/// A matrix instruction repeated over threads (the atom layout) and values (the permutation).
///
/// ```
/// use warpsmith_layout::Layout;
/// use warpsmith_layout::atom::{MmaAtom, Operand, TiledMma};
/// let atom = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
/// let mma = TiledMma::new(atom, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
/// assert_eq!(mma.tile_size()?.to_string(), "(32,32,16)");
/// assert_eq!(mma.layout_tv(Operand::C)?.to_string(), "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))");
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledMma {
    atom: MmaAtom,
    threads: Layout,
    permutation: [Tiler; 3],
}

impl TiledMma {
    /// The instruction, the layout of its copies over (M,N,K), and the tile's permutation by (M,N,K): a size or a
    /// layout each, or `..` for as much as the copies cover.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.threads().size()?, 128);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn new(atom: MmaAtom, copies: Layout, permutation: impl Into<Tiler>) -> Result<TiledMma> {
        let permutation = match permutation.into() {
            Tiler::Modes(modes) => <[Tiler; 3]>::try_from(modes).map_err(|modes| LayoutError::Rank {
                what: "a permutation and (M,N,K)",
                left: modes.len(),
                right: 3,
            })?,
            other => return Err(LayoutError::Unsupported(format!("{other} is no tiler by (M,N,K)"))),
        };
        if copies.rank() != 3 {
            return Err(LayoutError::Rank {
                what: "a layout of instructions and (M,N,K)",
                left: copies.rank(),
                right: 3,
            });
        }
        let threads = atom.threads.tiled_product(copies)?;
        Ok(TiledMma { atom, threads, permutation })
    }

    /// One instruction by itself.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = TiledMma::single(MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?);
    /// assert_eq!(mma.tile_size()?.to_string(), "(16,8,16)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn single(atom: MmaAtom) -> TiledMma {
        let threads = Layout::of([atom.threads.clone(), Layout::one(), Layout::one(), Layout::one()]);
        TiledMma { atom, threads, permutation: [Tiler::Keep, Tiler::Keep, Tiler::Keep] }
    }

    /// The instruction.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.atom().shape.to_string(), "(16,8,16)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// The threads: from (V,M,N,K) to the thread's index.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.threads().to_string(), "(32,2,2,1):(1,32,64,0)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn threads(&self) -> &Layout {
        &self.threads
    }

    /// The size of the tile by (M,N,K).
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.tile_size()?.to_string(), "(32,32,16)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tile_size(&self) -> Result<IntTuple> {
        Ok(Tuple::flat((0..3).map(|i| self.size_of(i)).collect::<Result<Vec<_>>>()?))
    }

    /// What the instruction's copies cover of mode `i`.
    fn core_size(&self, i: usize) -> Result<i64> {
        let atom = size(self.atom.shape.mode(i)?)?;
        atom.mul(&self.threads.mode(i + 1)?.extent()?)?.known()
    }

    fn size_of(&self, i: usize) -> Result<Int> {
        let core = self.core_size(i)?;
        let permuted = match self.permutation.get(i) {
            Some(Tiler::Size(n)) => n.known()?,
            Some(Tiler::Layout(layout)) => layout.size()?,
            _ => core,
        };
        Ok(core.max(permuted).into())
    }

    fn permutation_of(&self, i: usize) -> Result<Tiler> {
        match self.permutation.get(i) {
            None | Some(Tiler::Keep) => Ok(Tiler::from(self.core_size(i)?)),
            Some(tiler) => Ok(tiler.clone()),
        }
    }

    /// An operand's layout as ((thread in the atom, (thread, thread)), (value in the atom, (rest, rest, ...))).
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// let a = mma.thread_fragment(Operand::A, &Layout::compact((32, 16))?)?;
    /// assert_eq!(a.shape().to_string(), "(((4,8),(2,1)),((2,2,2),(1,1)))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn thread_fragment(&self, operand: Operand, layout: &Layout) -> Result<Layout> {
        let fragment = || {
            let [i, j] = operand.modes();
            let permuted = layout.logical_divide((self.permutation_of(i)?, self.permutation_of(j)?))?;
            let tile = |i| Ok::<_, LayoutError>(Tiler::Size(size(self.atom.shape.mode(i)?)?));
            let tiles = permuted.zipped_divide((tile(i)?, tile(j)?))?;
            let tv = match operand {
                Operand::A => &self.atom.a,
                Operand::B => &self.atom.b,
                Operand::C => &self.atom.c,
            };
            let fragments = tiles.compose_tiler(&Tiler::from((tv, ..)))?;
            let threads = |i: usize| Ok::<_, LayoutError>(Tiler::Size(self.threads.mode(i + 1)?.extent()?));
            fragments.zipped_divide((.., (threads(i)?, threads(j)?)))
        };
        fragment().of("thread fragment", &[layout])
    }

    /// The layout (thread, value) -> index in the tile of an operand, column by column.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.layout_tv(Operand::A)?.mode(0)?.size()?, 128);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn layout_tv(&self, operand: Operand) -> Result<Layout> {
        let [i, j] = operand.modes();
        let tile = Layout::compact((self.size_of(i)?, self.size_of(j)?))?;
        let fragment = self.thread_fragment(operand, &tile)?;
        // A and B do not depend on all modes of the threads: these get stride 0.
        let copies = (self.threads.mode(1)?.extent()?, self.threads.mode(2)?.extent()?);
        let fragment = match operand {
            Operand::A => {
                let spread: Tiler = Layout::new(copies, (1, 0))?.into();
                fragment.compose_tiler(&Tiler::from(((.., (spread, ..)), ..)))?
            }
            Operand::B => {
                let spread: Tiler = Layout::new(copies, (0, 1))?.into();
                fragment.compose_tiler(&Tiler::from(((.., (spread, ..)), ..)))?
            }
            Operand::C => fragment,
        };
        let threads: Tiler = self.threads.right_inverse()?.into();
        fragment.compose_tiler(&Tiler::from((threads, ..)))
    }

    /// One thread's part (value, rest, rest, ...) of an operand, and its offset.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// let (part, offset) = mma.partition(Operand::C, &Layout::row_major((64, 64))?, 33)?;
    /// assert_eq!((part.shape().to_string(), offset), ("((2,2),2,4)".into(), (16 * 64 + 2).into()));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn partition(&self, operand: Operand, layout: &Layout, thread: impl Into<Int>) -> Result<(Layout, Int)> {
        let [i, j] = operand.modes();
        let fragment = self.thread_fragment(operand, layout)?;
        let at = self.threads.flat_coord(thread)?;
        let mode = |i: usize| Ok::<Coord, LayoutError>(at.mode(i)?.to_tuple());
        let thread = Tuple::of([mode(0)?, Tuple::of([mode(i + 1)?, mode(j + 1)?])]);
        let rests = fragment.mode(1)?.mode(1)?.rank();
        let rest = Tuple::flat((0..rests).map(|_| Index::All));
        fragment.slice(Tuple::of([thread, Tuple::of([Tuple::leaf(Index::All), rest])]))
    }

    /// The size of a mode pair, as (M,K), (N,K) or (M,N).
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    /// let mma = TiledMma::new(mma, Layout::compact((2, 2, 1))?, (32, 32, 16))?;
    /// assert_eq!(mma.tile_of(Operand::B)?.to_string(), "(32,16)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tile_of(&self, operand: Operand) -> Result<IntTuple> {
        let [i, j] = operand.modes();
        Ok(Tuple::flat([self.size_of(i)?, self.size_of(j)?]))
    }
}
