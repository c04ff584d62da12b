//! Division: a layout cut into tiles.

use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use crate::tiler::Tiler;
use crate::view::{LayoutBuilder, LayoutView};

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
        zipped(self, &tiler).map(|l| tiled(&l)).of("tiled divide", &[self, &tiler])
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
        zipped(self, &tiler).map(|l| flat(&l)).of("flat divide", &[self, &tiler])
    }
}

fn logical(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    if let (Tiler::Size(n), Some((size, stride))) = (tiler, layout.view().as_leaf())
        && n.value().is_some_and(|n| n > 1)
    {
        return neighbours(size, stride, n);
    }
    match (tiler, tiler.as_layout()?) {
        (_, Some(tile)) => {
            // A mode that is a leaf is simple enough.
            let rest = match layout.is_leaf() {
                true => tile.loose_complement(layout.shape())?,
                false => tile.loose_complement(layout.coalesce()?.shape())?,
            };
            layout.compose(&Layout::of([tile, rest]))
        }
        (Tiler::Modes(_), None) => by_mode(layout, tiler, logical),
        (_, None) => Ok(layout.clone()),
    }
}

/// One mode cut into neighbours: most divisions of matrices are two of these, and need no algebra.
fn neighbours(size: &Int, stride: &Step, n: &Int) -> Result<Layout> {
    let mut out = LayoutBuilder::new();
    out.open();
    out.leaf(n.clone(), stride.clone());
    let rest = size.ceil_div(n)?;
    let step = if rest.is(1) { Step::ZERO } else { stride.times(n)? };
    out.leaf(rest, step);
    out.close();
    Ok(out.finish())
}

/// Applies a tiler by mode; the modes past it stay.
pub(crate) fn by_mode(
    layout: &Layout,
    tiler: &Tiler,
    operation: impl Fn(&Layout, &Tiler) -> Result<Layout>,
) -> Result<Layout> {
    tiler.fits(layout)?;
    let Tiler::Modes(tilers) = tiler else { return operation(layout, tiler) };
    let mut tilers = tilers.iter();
    let mut out = LayoutBuilder::new();
    out.tuple(|out| {
        layout.view().modes().try_for_each(|mode| {
            match tilers.next() {
                Some(tiler) => out.layout(operation(&mode.to_layout(), tiler)?),
                None => out.view(mode),
            }
            Ok(())
        })
    })?;
    Ok(out.finish())
}

pub(crate) fn zipped(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    unzip(&logical(layout, tiler)?, tiler)
}

/// `((T0,R0),(T1,R1),L)` becomes `((T0,T1),(R0,R1,L))`, along the tiler's tree.
pub(crate) fn unzip(layout: &Layout, tiler: &Tiler) -> Result<Layout> {
    let mut out = LayoutBuilder::new();
    out.tuple(|out| {
        unzipped(layout.view(), tiler, false, out)?;
        unzipped(layout.view(), tiler, true, out)
    })?;
    Ok(out.finish())
}

/// One side: the tiles, or the rests and what has no tiler.
fn unzipped(layout: LayoutView<'_>, tiler: &Tiler, rests: bool, out: &mut LayoutBuilder) -> Result<()> {
    let Tiler::Modes(tilers) = tiler else {
        let mut modes = layout.modes();
        return match (modes.next(), modes.next(), modes.next()) {
            (Some(tile), Some(rest), None) if !layout.is_leaf() => {
                out.view(if rests { rest } else { tile });
                Ok(())
            }
            _ => Err(LayoutError::Unsupported(format!("{} is no pair of tile and rest", layout.to_layout()))),
        };
    };
    out.tuple(|out| {
        layout.modes().zip(tilers).try_for_each(|(mode, tiler)| unzipped(mode, tiler, rests, out))?;
        if rests {
            layout.modes().skip(tilers.len()).for_each(|mode| out.view(mode));
        }
        Ok(())
    })
}

/// The modes, to be spliced in; a single mode stays wrapped.
fn splice(mode: LayoutView<'_>, out: &mut LayoutBuilder) {
    if mode.shape.rank() == 1 {
        out.view(mode);
    } else {
        mode.modes().for_each(|mode| out.view(mode));
    }
}

/// `(T,(R0,R1))` becomes `(T,R0,R1)`.
pub(crate) fn tiled(zipped: &Layout) -> Layout {
    let mut out = LayoutBuilder::new();
    out.open();
    let mut modes = zipped.view().modes();
    modes.next().into_iter().for_each(|tile| out.view(tile));
    modes.for_each(|rest| splice(rest, &mut out));
    out.close();
    out.finish()
}

/// `((T0,T1),(R0,R1))` becomes `(T0,T1,R0,R1)`.
pub(crate) fn flat(zipped: &Layout) -> Layout {
    let mut out = LayoutBuilder::new();
    out.open();
    zipped.view().modes().for_each(|mode| splice(mode, &mut out));
    out.close();
    out.finish()
}
