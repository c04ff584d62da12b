//! Slices: some coordinates fixed, the others kept.

use crate::convert::Coord;
use crate::coord::Index;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::tuple::View;
use crate::view::{LayoutBuilder, LayoutView};

impl Layout {
    /// The modes at the coordinate's holes, and the offset that its indices add up to.
    ///
    /// The kept modes of a nested coordinate join those around it; one kept mode alone stays a tuple.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let (row, offset) = Layout::new((4, 8), (8, 1))?.slice((2, ..))?;
    /// assert_eq!((row.to_string(), offset.to_string()), ("(8):(1)".into(), "16".into()));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<(Layout, Int)> {
        let coord = coord.into();
        let both = || Ok((pick(self, coord.view(), true)?, self.offset(&coord)?));
        both().of("slice", &[self, &coord])
    }

    /// The modes at the coordinate's indices: those that [`slice`](Layout::slice) leaves out.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 8), (8, 1))?.dice((2, ..))?.to_string(), "(4):(8)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn dice(&self, coord: impl Into<Coord>) -> Result<Layout> {
        let coord = coord.into();
        pick(self, coord.view(), false).of("dice", &[self, &coord])
    }
}

fn pick(layout: &Layout, coord: View<'_, Index>, holes: bool) -> Result<Layout> {
    let mut out = LayoutBuilder::new();
    match coord.as_leaf() {
        Some(index) if matches!(index, Index::All) == holes => return Ok(layout.clone()),
        _ => out.tuple(|out| pick_into(layout.view(), coord, holes, out))?,
    }
    Ok(out.finish())
}

fn pick_into(layout: LayoutView<'_>, coord: View<'_, Index>, holes: bool, out: &mut LayoutBuilder) -> Result<()> {
    if let Some(index) = coord.as_leaf() {
        if matches!(index, Index::All) == holes {
            out.view(layout);
        }
        return Ok(());
    }
    let (n, m) = (coord.rank(), layout.shape.rank());
    if layout.is_leaf() || n != m {
        return Err(LayoutError::Rank { what: "a coordinate and its layout", left: n, right: m });
    }
    layout.modes().zip(coord.modes()).try_for_each(|(mode, c)| pick_into(mode, c, holes, out))
}
