//! Layouts on a terminal: C++'s way to write them, and tables of offsets.

use crate::composed::ComposedLayout;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use std::fmt::{self, Write};

/// A leaf as C++ prints it: `_4` when static, `?` when not.
struct Cpp<T>(T);

impl fmt::Display for Cpp<Int> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.value() {
            Some(v) => write!(f, "_{v}"),
            None => f.write_str("?"),
        }
    }
}

impl fmt::Display for Cpp<Step> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Cpp(self.0.value.clone()), self.0.basis)
    }
}

impl Layout {
    /// The layout as CuTe's C++ prints it: static integers with `_`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 8), (8, 1))?.to_cpp_string(), "(_4,_8):(_8,_1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn to_cpp_string(&self) -> String {
        format!("{}:{}", self.shape().map(|s| Cpp(s.clone())), self.stride().map(|d| Cpp(d.clone())))
    }

    /// The offsets of a rank-2 layout as a table with borders, as CuTe's `print_layout` draws it; rank 1 is one
    /// row.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let table = Layout::new((2, 3), (3, 1))?.to_table()?;
    /// assert!(table.contains(" 1  | 3 | 4 | 5 |"));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn to_table(&self) -> Result<String> {
        let (rows, columns, cells) = grid(&ComposedLayout::from(self.clone())).of("table", &[self])?;
        let width = decimals(self.cosize()?.known()?) + 2;
        let mut out = self.to_cpp_string();
        out.push('\n');
        // Writing to a string can not fail.
        let _ = table(&mut out, width, rows, columns, &cells);
        Ok(out)
    }
}

impl ComposedLayout {
    /// The composed layout as CuTe's C++ prints it.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert_eq!(tile.to_cpp_string(), "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_cpp_string(&self) -> String {
        format!("{} o {} o {}", self.swizzle(), Cpp(self.offset().clone()), self.layout().to_cpp_string())
    }
}

fn decimals(n: i64) -> usize {
    n.to_string().len()
}

fn table(out: &mut String, width: usize, rows: usize, columns: usize, cells: &[i64]) -> fmt::Result {
    let digits = width - 2;
    out.push_str("    ");
    for n in 0..columns {
        write!(out, "  {n:digits$} ")?;
    }
    let line = format!("    {}+\n", format!("+{}", "-".repeat(width)).repeat(columns));
    out.push('\n');
    for m in 0..rows {
        out.push_str(&line);
        write!(out, "{m:2}  ")?;
        for n in 0..columns {
            let cell = cells.get(m + n * rows).copied().unwrap_or(0);
            write!(out, "| {cell:digits$} ")?;
        }
        out.push_str("|\n");
    }
    out.push_str(&line);
    Ok(())
}

/// What a page holds.
pub(crate) const MOST_CELLS: i64 = 1 << 14;

/// Rows, columns and the offsets column by column. More than 2 modes are no grid; a page holds only so many cells.
pub(crate) fn grid(layout: &ComposedLayout) -> Result<(usize, usize, Vec<i64>)> {
    let shape = layout.layout().shape();
    let rank = shape.rank();
    if rank == 0 || rank > 2 {
        return Err(LayoutError::Rank { what: "a picture and its layout", left: 2, right: rank });
    }
    let size = layout.size()?;
    if size > MOST_CELLS {
        return Err(LayoutError::Unsupported(format!("{size} cells are too many to draw; {MOST_CELLS} is the limit")));
    }
    let rows = match shape.modes().next() {
        Some(mode) if rank == 2 => crate::coord::size(mode)?.known()?,
        _ => 1,
    };
    let cells = layout.table()?;
    let rows = usize::try_from(rows).unwrap_or(1).max(1);
    Ok((rows, cells.len() / rows, cells))
}
