//! Division: a layout cut into tiles.

use crate::error::{Context, LayoutError, Result};
use crate::layout::Layout;
use crate::tiler::Tiler;
use smallvec::SmallVec;

impl Layout {
    /// Cuts each mode into `(tile, rest)`: `((TileM,RestM),(TileN,RestN),L,...)`. Modes past the tiler stay.
    ///
    /// A tile that does not divide its mode gives a rest that covers more than the layout; the caller then must guard
    /// what it reads.
    ///
    /// ```
    /// use warpsmith_layout::{Layout, Tiler};
    /// let t: Tiler = "<3:3,(2,4):(1,8)>".parse()?;
    /// let l: Layout = "(9,(4,8)):(59,(13,1))".parse()?;
    /// assert_eq!(l.logical_divide(&t)?.to_string(), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        logical(self, &tiler).of("logical divide", &[self, &tiler])
    }

    /// Cuts into `((TileM,TileN),(RestM,RestN,L,...))`: one tile, and the tiles.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((256, 512), (512, 1))?.zipped_divide((128, 64))?;
    /// assert_eq!(l.to_string(), "((128,64),(2,8)):((512,1),(65536,64))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).of("zipped divide", &[self, &tiler])
    }

    /// Cuts into `((TileM,TileN),RestM,RestN,L,...)`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((4, 6, 5), (1, 4, 24))?.tiled_divide((2, 3))?;
    /// assert_eq!(l.to_string(), "((2,3),2,2,5):((1,4),2,12,24)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn tiled_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).and_then(|l| tiled(&l)).of("tiled divide", &[self, &tiler])
    }

    /// Cuts into `(TileM,TileN,RestM,RestN,L,...)`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l = Layout::new((4, 6), (1, 4))?.flat_divide((2, 3))?;
    /// assert_eq!(l.to_string(), "(2,3,2,2):(1,4,2,12)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn flat_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        zipped(self, &tiler).and_then(|l| flat(&l)).of("flat divide", &[self, &tiler])
    }
}

fn logical(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    match (tiler, tiler.as_layout()?) {
        (_, Some(tile)) => {
            let rest = tile.loose_complement(layout.coalesce()?.shape())?;
            layout.compose(&Layout::of([tile, rest]))
        }
        (Tiler::Modes(_), None) => by_mode(layout, tiler, logical),
        (_, None) => Ok(layout.clone()),
    }
}

/// Applies a tiler by mode; the modes past it stay.
pub(crate) fn by_mode(
    layout: &Layout,
    tiler: &Tiler,
    operation: impl Fn(&Layout, &Tiler) -> Result<Layout>,
) -> Result<Layout> {
    tiler.fits(layout)?;
    let Tiler::Modes(tilers) = tiler else { return operation(layout, tiler) };
    let mut modes: SmallVec<[Layout; 4]> = layout.modes().collect();
    for (mode, tiler) in modes.iter_mut().zip(tilers) {
        *mode = operation(mode, tiler)?;
    }
    Ok(Layout::of(modes))
}

fn zipped(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    unzip(&logical(layout, tiler)?, tiler)
}

/// `((T0,R0),(T1,R1),L)` becomes `((T0,T1),(R0,R1,L))`, along the tiler's tree.
pub(crate) fn unzip(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    let Tiler::Modes(tilers) = tiler else {
        return if layout.rank() == 2 && !layout.is_leaf() {
            Ok(layout.clone())
        } else {
            Err(LayoutError::Unsupported(format!("{layout} is no pair of tile and rest")))
        };
    };
    let mut modes = layout.modes();
    let (mut tiles, mut rests): (SmallVec<[Layout; 4]>, SmallVec<[Layout; 4]>) = Default::default();
    for (mode, tiler) in modes.by_ref().take(tilers.len()).zip(tilers) {
        let pair = unzip(&mode, tiler)?;
        tiles.push(pair.mode(0)?);
        rests.push(pair.mode(1)?);
    }
    rests.extend(modes);
    Ok(Layout::of([Layout::of(tiles), Layout::of(rests)]))
}

/// The modes, to be spliced in; a single mode stays wrapped.
fn unpacked(layout: Layout) -> SmallVec<[Layout; 4]> {
    if layout.rank() == 1 { smallvec::smallvec![layout] } else { layout.modes().collect() }
}

/// `(T,(R0,R1))` becomes `(T,R0,R1)`.
pub(crate) fn tiled(zipped: &Layout) -> Result<Layout> {
    Ok(Layout::of([zipped.mode(0)?].into_iter().chain(unpacked(zipped.mode(1)?))))
}

/// `((T0,T1),(R0,R1))` becomes `(T0,T1,R0,R1)`.
pub(crate) fn flat(zipped: &Layout) -> Result<Layout> {
    Ok(Layout::of(unpacked(zipped.mode(0)?).into_iter().chain(unpacked(zipped.mode(1)?))))
}
