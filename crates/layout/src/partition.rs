//! A tile of a layout, and one thread's part of it.

use crate::compose::compose_from;
use crate::convert::{Coord, IntTuple};
use crate::coord::{Index, crd2idx_colex, idx2crd, idx2crd_stride};
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::tiler::Tiler;
use crate::tuple::Tuple;

impl Layout {
    /// The tile at a coordinate of the tiles, and its offset. Holes, and modes past the coordinate, are kept after the
    /// tile's own modes; an integer is a linear index of the tiles.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let a = Layout::new((256, 512), (512, 1))?;
    /// let (tile, offset) = a.local_tile((128, 64), (1, ..))?;
    /// assert_eq!((tile.to_string(), offset.to_string()), ("(128,64,8):(512,1,64)".into(), "65536".into()));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn local_tile(&self, tiler: impl Into<Tiler>, coord: impl Into<Coord>) -> Result<(Layout, Int)> {
        let (tiler, coord) = (tiler.into(), coord.into());
        let tile = || {
            let divided = self.zipped_divide(&tiler).and_then(|zipped| {
                let rest = if coord.is_leaf() { coord.clone() } else { padded(&coord, zipped.mode(1)?.rank()) };
                zipped.slice(Tuple::of([holes(&zipped.mode(0)?), rest]))
            });
            // All tiles together may be no layout where this one is.
            divided.or_else(|refusal| one_by_one(self, &tiler, &coord, true).map_err(|_| refusal))
        };
        tile().of("local tile", &[self, &tiler, &coord])
    }

    /// [`local_tile`](Layout::local_tile) with only the entries of tiler and coordinate where `keep` is true: one tiler
    /// of (M, N, K) then serves operands that lack a mode.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let b = Layout::new((16, 64), (1, 16))?;
    /// let (tile, _) = b.local_tile_projected((8, 16, 16), (2, 0, ..), &[false, true, true])?;
    /// assert_eq!(tile.to_string(), "(16,16,4):(1,16,256)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn local_tile_projected(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
        keep: &[bool],
    ) -> Result<(Layout, Int)> {
        let (tiler, coord) = (tiler.into(), coord.into());
        let tiler = match tiler {
            Tiler::Modes(modes) if modes.len() == keep.len() => {
                Tiler::Modes(modes.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(t, _)| t).collect())
            }
            other => {
                return Err(LayoutError::Unsupported(format!("{other} has no entry for each of {} modes", keep.len())));
            }
        };
        if coord.is_leaf() || coord.rank() != keep.len() {
            return Err(LayoutError::Rank {
                what: "a coordinate and a projection",
                left: coord.rank(),
                right: keep.len(),
            });
        }
        let kept = coord.modes().zip(keep).filter(|(_, keep)| **keep).map(|(c, _)| c.to_tuple());
        self.local_tile(tiler, Tuple::of(kept))
    }

    /// One thread's elements, where `threads` lies over the layout again and again, and their offset.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let a = Layout::new((8, 8), (1, 8))?;
    /// let (part, offset) = a.local_partition(&Layout::new((4, 8), (8, 1))?, 18)?;
    /// assert_eq!((part.to_string(), offset.to_string()), ("(2,1):(4,0)".into(), "18".into()));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn local_partition(&self, threads: &Layout, index: impl Into<Int>) -> Result<(Layout, Int)> {
        let index = index.into();
        let part = || {
            let sizes = threads.shape().product_each()?;
            let tiler = match sizes.as_leaf() {
                Some(n) => Tiler::Size(n.clone()),
                None => Tiler::Modes(sizes.leaves().iter().map(|n| Tiler::Size(n.clone())).collect()),
            };
            let at = threads.flat_coord(index.clone())?;
            let divided = self.zipped_divide(&tiler).and_then(|zipped| {
                let rest = holes(&zipped.mode(1)?);
                zipped.slice(Tuple::of([at.clone(), rest]))
            });
            divided.or_else(|refusal| one_by_one(self, &tiler, &at, false).map_err(|_| refusal))
        };
        part().of("local partition", &[self, threads, &index])
    }

    /// The coordinate of an offset in a compact layout, one index a mode;
    /// an integer for a single mode.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 8), (8, 1))?.flat_coord(18)?.to_string(), "(2,2)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn flat_coord(&self, offset: impl Into<Int>) -> Result<Coord> {
        let coord = idx2crd_stride(offset, self.shape(), self.stride().clone())?;
        let index = |c: Tuple<Int>, s: Tuple<Int>| crd2idx_colex(Coord::from(c), s).map(Index::At);
        if coord.is_leaf() {
            return Ok(coord.into());
        }
        let modes = coord.modes().zip(self.shape().modes()).map(|(c, s)| index(c.to_tuple(), s.to_tuple()));
        Ok(Tuple::flat(modes.collect::<Result<Vec<_>>>()?).unwrap_one())
    }
}

/// The slice of a division, mode by mode, without the division: `coord` picks tiles, or elements of the tile.
fn one_by_one(layout: &Layout, tiler: &Tiler, coord: &Coord, picks_tiles: bool) -> Result<(Layout, Int)> {
    let Tiler::Modes(tilers) = tiler else {
        return Err(LayoutError::Unsupported(format!("{tiler} is no tiler by mode")));
    };
    tiler.fits(layout)?;
    let coord = &match (picks_tiles, coord.as_leaf()) {
        (true, Some(Index::At(index))) => Coord::from(idx2crd(index.clone(), tile_counts(layout, tilers)?)?),
        _ => coord.clone(),
    };
    if coord.is_leaf() && layout.rank() > 1 || coord.rank() > layout.rank() {
        return Err(LayoutError::Rank { what: "a coordinate and a layout", left: coord.rank(), right: layout.rank() });
    }
    let (mut kept, mut rests, mut offset) = (Vec::new(), Vec::new(), Int::ZERO);
    for (k, mode) in layout.modes().enumerate() {
        let at = match coord.modes().nth(k) {
            Some(at) => {
                at.as_leaf().cloned().ok_or_else(|| LayoutError::Unsupported(format!("the nested index {at}")))?
            }
            None => Index::All,
        };
        let (tile, at) = match (tilers.get(k).map(Tiler::as_layout).transpose()?.flatten(), at) {
            (Some(tile), Index::At(at)) => (tile, at),
            (Some(_), Index::All) => {
                let divided = mode.logical_divide(tilers.get(k).unwrap_or(&Tiler::Keep))?;
                kept.push(divided.mode(0)?);
                rests.push(divided.mode(1)?);
                continue;
            }
            (None, Index::At(at)) if picks_tiles => {
                offset = offset.add(&mode.offset(at)?)?;
                continue;
            }
            (None, _) => {
                rests.push(mode);
                continue;
            }
        };
        let rest = tile.loose_complement(mode.coalesce()?.shape())?;
        let (fixed, free) = if picks_tiles { (rest, tile) } else { (tile, rest) };
        let (part, start) = compose_from(&mode, &free, &fixed.offset(at)?)?;
        kept.push(part);
        offset = offset.add(&start)?;
    }
    if kept.len() == 1 {
        kept = vec![Layout::of(kept)];
    }
    Ok((Layout::of(kept.into_iter().chain(rests)), offset))
}

/// How many tiles each mode has; all of a mode that has no tiler.
fn tile_counts(layout: &Layout, tilers: &[Tiler]) -> Result<IntTuple> {
    let counts =
        layout.modes().enumerate().map(|(k, mode)| match tilers.get(k).map(Tiler::as_layout).transpose()?.flatten() {
            Some(tile) => tile.loose_complement(mode.coalesce()?.shape())?.extent(),
            None => mode.extent(),
        });
    Ok(Tuple::flat(counts.collect::<Result<Vec<_>>>()?))
}

/// A hole for each mode, so that they join the others; one hole for a single mode.
fn holes(layout: &Layout) -> Coord {
    match layout.rank() {
        1 => Tuple::leaf(Index::All),
        n => Tuple::flat((0..n).map(|_| Index::All)),
    }
}

fn padded(coord: &Coord, rank: usize) -> Coord {
    let missing = rank.saturating_sub(coord.rank());
    Tuple::of(coord.modes().map(|c| c.to_tuple()).chain((0..missing).map(|_| Tuple::leaf(Index::All))))
}
