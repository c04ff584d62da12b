//! Pictures of layouts, for pages and for terminals.

use crate::color::{Rgb, around, distinct, ramp};
use crate::composed::ComposedLayout;
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::text::{MOST_CELLS, grid};
use crate::tuple::View;
use std::fmt::{self, Write};

/// One cell of a picture.
#[derive(Debug, Clone)]
struct Cell {
    lines: Vec<String>,
    color: Rgb,
}

/// A table of labelled, coloured cells: rows are mode 0, columns are mode 1.
///
/// ```
/// use warpsmith_layout::{Layout, Picture, make_layout_tv};
/// let (tile, tv) = make_layout_tv(&Layout::compact((4, 2))?, &Layout::compact((1, 2))?)?;
/// let picture = Picture::thread_values(&tv, tile)?;
/// assert!(picture.to_svg().starts_with("<svg"));
/// assert!(picture.to_text().contains("T0 V1"));
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    note: &'static str,
    rows: Axis,
    columns: Axis,
    // Column by column.
    cells: Vec<Cell>,
}

/// One side of a picture: how many cells, and after how many of them a nested mode starts anew.
#[derive(Debug, Clone, Default)]
struct Axis {
    count: usize,
    parts: Vec<usize>,
}

impl Axis {
    /// So many cells, and the shape whose inner modes stand together.
    fn new(count: usize, shape: Option<View<'_, Int>>) -> Axis {
        let sizes = shape.map_or(&[][..], View::leaves).iter().map(|s| s.value().and_then(|v| usize::try_from(v).ok()));
        let mut parts: Vec<usize> = sizes
            .scan(1usize, |all, size| {
                *all = all.checked_mul(size?)?;
                Some(*all)
            })
            .filter(|part| (2..count).contains(part))
            .collect();
        parts.dedup();
        Axis { count, parts }
    }

    /// How many gaps lie before cell `i`.
    fn gaps(&self, i: usize) -> usize {
        self.parts.iter().filter_map(|part| i.checked_div(*part)).sum()
    }

    /// How many gaps lie between cell `i` and the one before it.
    fn gap_at(&self, i: usize) -> usize {
        self.gaps(i) - self.gaps(i.saturating_sub(1))
    }
}

impl Picture {
    /// The offset of each coordinate, coloured by where it lies in memory.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let picture = Picture::offsets(&Layout::new((2, 2), (2, 1))?.into())?;
    /// assert_eq!(picture.to_text(), "(2,2):(2,1)\n     0  1\n  0  0  1\n  1  2  3\n");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn offsets(layout: &ComposedLayout) -> Result<Picture> {
        let (rows, columns, offsets) = grid(layout).of("picture", &[layout])?;
        let (low, high) = bounds(&offsets);
        let color = |offset: i64| ramp((offset.saturating_sub(low)) as f64 / (high.saturating_sub(low)).max(1) as f64);
        let cells = offsets.iter().map(|&v| Cell { lines: vec![v.to_string()], color: color(v) }).collect();
        let [rows, columns] = axes(layout.layout(), rows, columns);
        Ok(Picture { title: title(layout), note: "offset; colour: place in memory", rows, columns, cells })
    }

    /// The offset of each coordinate, coloured by the bank of shared memory that an element of so many bits lies in:
    /// cells of one colour can not be read at once.
    ///
    /// ```
    /// use warpsmith_layout::{ComposedLayout, Picture};
    /// let tile: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    /// assert!(Picture::banks(&tile, 16)?.to_svg().contains("Sw&lt;3,3,3&gt;"));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn banks(layout: &ComposedLayout, bits: i64) -> Result<Picture> {
        if !(1..=1024).contains(&bits) {
            return Err(LayoutError::Unsupported(format!("elements of {bits} bits")));
        }
        let (rows, columns, offsets) = grid(layout).of("picture", &[layout])?;
        let bank = |offset: i64| (i128::from(offset) * i128::from(bits)).div_euclid(32).rem_euclid(32) as i64;
        let cell = |&v: &i64| Cell { lines: vec![v.to_string(), format!("b{}", bank(v))], color: around(bank(v), 32) };
        let cells = offsets.iter().map(cell).collect();
        let [rows, columns] = axes(layout.layout(), rows, columns);
        Ok(Picture { title: title(layout), note: "offset and bank; colour: bank, one of 32", rows, columns, cells })
    }

    /// The coordinate that each coordinate of a layout with basis strides is sent to, coloured by its order.
    ///
    /// ```
    /// use warpsmith_layout::{Layout, Picture};
    /// let tiles = Layout::identity((4, 8))?.zipped_divide((2, 4))?;
    /// assert!(Picture::coordinates(&tiles)?.to_text().contains("(2,4)"));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn coordinates(layout: &Layout) -> Result<Picture> {
        let place = Layout::compact(layout.shape()).and_then(|l| grid(&l.into())).of("picture", &[layout]);
        let (rows, columns, places) = place?;
        let mut cells = Vec::with_capacity(places.len());
        for i in places {
            let coordinate = layout.coordinate(i)?;
            let last = coordinate.leaves().last().and_then(Int::value).unwrap_or(0);
            cells.push((last, coordinate.to_string()));
        }
        let most = cells.iter().map(|(last, _)| *last).max().unwrap_or(0).max(1);
        let cell = |(last, text)| Cell { lines: vec![text], color: ramp(last as f64 / most as f64) };
        let cells = cells.into_iter().map(cell).collect();
        let [rows, columns] = axes(layout, rows, columns);
        Ok(Picture { title: layout.to_string(), note: "coordinate; colour: its last index", rows, columns, cells })
    }

    /// The threads and values of a layout (thread, value) -> index in a tile, coloured by thread. A tile has one mode or
    /// two.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let (tile, tv) = make_layout_tv(&Layout::row_major((2, 2))?, &Layout::row_major((1, 2))?)?;
    /// assert!(Picture::thread_values(&tv, tile)?.to_text().contains("T2 V0  T2 V1  T3 V0  T3 V1"));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn thread_values(tv: &Layout, tile: impl Into<IntTuple>) -> Result<Picture> {
        let tile = tile.into();
        thread_values(tv, &tile).of("picture", &[tv, &tile])
    }

    /// How many rows there are.
    ///
    /// ```
    /// use warpsmith_layout::{Layout, Picture};
    /// let picture = Picture::offsets(&Layout::row_major((4, 8))?.into())?;
    /// assert_eq!((picture.rows(), picture.columns()), (4, 8));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.rows.count
    }

    /// How many columns there are.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Picture::offsets(&Layout::row_major((4, 8))?.into())?.columns(), 8);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns.count
    }

    /// The upper left part, of at most so many rows and as many columns as fit a terminal so many characters wide.
    ///
    /// ```
    /// use warpsmith_layout::{Layout, Picture};
    /// let part = Picture::offsets(&Layout::row_major((64, 64))?.into())?.cropped(8, 80);
    /// assert_eq!((part.rows(), part.columns()), (8, 12));
    /// assert!(part.to_text().lines().all(|line| line.len() <= 80));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn cropped(&self, rows: usize, width: usize) -> Picture {
        let cell = self.widths().iter().map(|w| w + 1).sum::<usize>() + 1;
        let gaps = |column: usize| (1..=column).filter(|c| self.columns.gap_at(*c) > 0).count();
        let fits = |column: &usize| 4 + (column + 1) * cell + gaps(*column) <= width;
        let columns = (0..self.columns.count).take_while(fits).count().max(1);
        let rows = rows.clamp(1, self.rows.count.max(1));
        let cells = (0..columns).flat_map(|c| (0..rows).filter_map(move |r| self.cell(r, c).cloned())).collect();
        let cut = |axis: &Axis, count: usize| Axis { count: axis.count.min(count), parts: axis.parts.clone() };
        let (rows, columns) = (cut(&self.rows, rows), cut(&self.columns, columns));
        Picture { title: self.title.clone(), note: self.note, rows, columns, cells }
    }

    /// The picture as an SVG document.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let picture = Picture::offsets(&Layout::row_major((4, 8))?.into())?;
    /// assert_eq!(picture.to_svg().matches("<rect").count(), 1 + 32);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string can not fail.
        let _ = self.svg(&mut out);
        out
    }

    /// The picture as plain text.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let picture = Picture::offsets(&Layout::row_major((4, 8))?.into())?;
    /// assert!(picture.to_text().contains("  1   8   9  10"));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_text(&self) -> String {
        self.terminal(false)
    }

    /// The picture for a terminal of 24-bit colours.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let picture = Picture::offsets(&Layout::row_major((4, 8))?.into())?;
    /// assert!(picture.to_ansi().contains("\x1b[48;2;"));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_ansi(&self) -> String {
        self.terminal(true)
    }

    fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.cells.get(row + column * self.rows.count)
    }

    /// The longest first line of a label, the longest second one, and so on.
    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for cell in &self.cells {
            widths.resize(cell.lines.len().max(widths.len()), 1);
            for (width, line) in widths.iter_mut().zip(&cell.lines) {
                *width = line.chars().count().max(*width);
            }
        }
        widths
    }

    fn svg(&self, out: &mut String) -> fmt::Result {
        const MARGIN: usize = 34;
        const TOP: usize = 58;
        const GAP: usize = 5;
        let lines = self.cells.iter().map(|c| c.lines.len()).max().unwrap_or(1);
        let (w, h) = ((self.widths().into_iter().max().unwrap_or(1) * 8 + 14).max(34), lines * 14 + 16);
        let text_width = (self.title.len() * 9).max(self.note.len() * 7) + MARGIN;
        let left = |column: usize| MARGIN + column * w + self.columns.gaps(column) * GAP;
        let top = |row: usize| TOP + row * h + self.rows.gaps(row) * GAP;
        let width = (left(self.columns.count.saturating_sub(1)) + w + 16).max(text_width);
        let height = top(self.rows.count.saturating_sub(1)) + h + 40;
        writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="12" text-anchor="middle" fill="#222">"##
        )?;
        writeln!(out, r##"<rect width="{width}" height="{height}" rx="8" fill="#fff"/>"##)?;
        let title = escaped(&self.title);
        writeln!(
            out,
            r#"<text x="{MARGIN}" y="24" font-size="15" font-weight="600" text-anchor="start">{title}</text>"#
        )?;
        for column in 0..self.columns.count {
            let x = left(column) + w / 2;
            writeln!(out, r##"<text x="{x}" y="{}" fill="#888">{column}</text>"##, TOP - 8)?;
        }
        for row in 0..self.rows.count {
            let y = top(row) + h / 2 + 4;
            writeln!(out, r##"<text x="{}" y="{y}" fill="#888" text-anchor="end">{row}</text>"##, MARGIN - 8)?;
            for column in 0..self.columns.count {
                let Some(cell) = self.cell(row, column) else { continue };
                let (x, y) = (left(column), top(row));
                let color = cell.color.hex();
                writeln!(
                    out,
                    r##"<rect x="{}" y="{}" width="{}" height="{}" rx="3" fill="{color}"/>"##,
                    x + 1,
                    y + 1,
                    w - 2,
                    h - 2
                )?;
                let first = y + h / 2 + 4 - (cell.lines.len().saturating_sub(1)) * 7;
                for (i, line) in cell.lines.iter().enumerate() {
                    let style = if i == 0 { "" } else { r##" font-size="10" fill="#555""## };
                    writeln!(out, r#"<text x="{}" y="{}"{style}>{}</text>"#, x + w / 2, first + i * 14, escaped(line))?;
                }
            }
        }
        writeln!(
            out,
            r##"<text x="{MARGIN}" y="{}" font-size="11" fill="#888" text-anchor="start">{}</text>"##,
            height - 14,
            self.note
        )?;
        out.push_str("</svg>\n");
        Ok(())
    }

    fn terminal(&self, colors: bool) -> String {
        let widths = self.widths();
        let cell_width = widths.iter().map(|w| w + 1).sum::<usize>().max(2) - 1;
        let gap = |column: usize| " ".repeat(self.columns.gap_at(column).min(1));
        let mut out = format!("{}\n    ", self.title);
        for column in 0..self.columns.count {
            out.push_str(&format!("{} {column:>cell_width$} ", gap(column)));
        }
        for row in 0..self.rows.count {
            out.push_str("\n".repeat(1 + self.rows.gap_at(row).min(1)).as_str());
            out.push_str(&format!("{row:>3} "));
            for column in 0..self.columns.count {
                let Some(cell) = self.cell(row, column) else { continue };
                let mut text = String::new();
                for (i, width) in widths.iter().enumerate() {
                    let line = cell.lines.get(i).map_or("", String::as_str);
                    // Numbers end at the same place; what belongs to them starts at the same place.
                    text.push_str(&if i == 0 { format!(" {line:>width$}") } else { format!(" {line:<width$}") });
                }
                text.push(' ');
                let Rgb(r, g, b) = cell.color;
                out.push_str(&gap(column));
                match colors {
                    true => out.push_str(&format!("\x1b[48;2;{r};{g};{b}m\x1b[38;2;30;30;30m{text}\x1b[0m")),
                    false => out.push_str(&text),
                }
            }
        }
        out.push('\n');
        out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }
}

/// Rows and columns, with the gaps of nested modes.
fn axes(layout: &Layout, rows: usize, columns: usize) -> [Axis; 2] {
    let shape = layout.shape();
    let mode = |i: usize| shape.modes().nth(i);
    match shape.rank() {
        2 => [Axis::new(rows, mode(0)), Axis::new(columns, mode(1))],
        _ => [Axis::new(rows, None), Axis::new(columns, Some(shape.view()))],
    }
}

fn title(layout: &ComposedLayout) -> String {
    match layout.swizzle().is_identity() && layout.offset().is(0) {
        true => layout.layout().to_string(),
        false => layout.to_string(),
    }
}

fn bounds(values: &[i64]) -> (i64, i64) {
    (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
}

fn thread_values(tv: &Layout, tile: &IntTuple) -> Result<Picture> {
    let (rows, columns, places) = grid(&ComposedLayout::from(Layout::compact(tile.product_each()?)?))?;
    let mut owners = vec![Vec::new(); places.len()];
    let size = tv.size()?;
    if size > MOST_CELLS {
        return Err(LayoutError::Unsupported(format!("{size} values are too many to draw; {MOST_CELLS} is the limit")));
    }
    let threads = tv.mode(0)?.size()?;
    let values = tv.mode(1)?.size()?;
    for value in 0..values {
        for thread in 0..threads {
            let index = tv.at_coord((thread, value))?;
            match usize::try_from(index).ok().and_then(|index| owners.get_mut(index)) {
                Some(owners) => owners.push((thread, value)),
                None => return Err(LayoutError::Unsupported(format!("index {index} is outside of the tile {tile}"))),
            }
        }
    }
    let cells = owners.iter().map(|owners| match owners.as_slice() {
        [] => Cell { lines: vec!["–".to_string()], color: Rgb::WHITE },
        [(thread, value), more @ ..] => {
            let also = if more.is_empty() { String::new() } else { format!(" +{}", more.len()) };
            Cell { lines: vec![format!("T{thread}"), format!("V{value}{also}")], color: distinct(*thread) }
        }
    });
    let cells = cells.collect();
    let (rows, columns) = (Axis::new(rows, None), Axis::new(columns, None));
    Ok(Picture { title: format!("{tv}  in  {tile}"), note: "thread and value; colour: thread", rows, columns, cells })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Layout {
    /// The offsets as an SVG document: rows are mode 0, columns mode 1.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert!(Layout::new((4, 8), (8, 1))?.to_svg()?.ends_with("</svg>\n"));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn to_svg(&self) -> Result<String> {
        Ok(Picture::offsets(&self.clone().into())?.to_svg())
    }
}

impl ComposedLayout {
    /// The swizzled offsets as an SVG document.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let tile: ComposedLayout = "Sw<2,0,3> o 0 o (8,8):(8,1)".parse()?;
    /// assert!(tile.to_svg()?.starts_with("<svg"));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_svg(&self) -> Result<String> {
        Ok(Picture::offsets(self)?.to_svg())
    }
}
