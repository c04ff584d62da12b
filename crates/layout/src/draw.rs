//! Pictures of layouts, for pages and for terminals.

use crate::color::{Rgb, around, distinct, ramp};
use crate::composed::ComposedLayout;
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::layout::Layout;
use crate::text::{MOST_CELLS, grid};
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
    rows: usize,
    columns: usize,
    // Column by column.
    cells: Vec<Cell>,
}

impl Picture {
    /// The offset of each coordinate, coloured by where it lies in memory.
    pub fn offsets(layout: &ComposedLayout) -> Result<Picture> {
        let (rows, columns, offsets) = grid(layout).of("picture", &[layout])?;
        let (low, high) = bounds(&offsets);
        let color = |offset: i64| ramp((offset.saturating_sub(low)) as f64 / (high.saturating_sub(low)).max(1) as f64);
        let cells = offsets.iter().map(|&v| Cell { lines: vec![v.to_string()], color: color(v) }).collect();
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
        let cell =
            |&v: &i64| Cell { lines: vec![v.to_string(), format!("bank {}", bank(v))], color: around(bank(v), 32) };
        let cells = offsets.iter().map(cell).collect();
        Ok(Picture { title: title(layout), note: "offset; colour: bank of 4 bytes, of 32", rows, columns, cells })
    }

    /// The threads and values of a layout (thread, value) -> index in a tile, coloured by thread. A tile has one mode or
    /// two.
    pub fn thread_values(tv: &Layout, tile: impl Into<IntTuple>) -> Result<Picture> {
        let tile = tile.into();
        thread_values(tv, &tile).of("picture", &[tv, &tile])
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string can not fail.
        let _ = self.svg(&mut out);
        out
    }

    /// The picture as plain text.
    pub fn to_text(&self) -> String {
        self.terminal(false)
    }

    /// The picture for a terminal of 24-bit colours.
    pub fn to_ansi(&self) -> String {
        self.terminal(true)
    }

    fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.cells.get(row + column * self.rows)
    }

    /// The longest label line.
    fn widest(&self) -> usize {
        self.cells.iter().flat_map(|c| &c.lines).map(String::len).max().unwrap_or(1)
    }

    fn svg(&self, out: &mut String) -> fmt::Result {
        const MARGIN: usize = 34;
        const TOP: usize = 58;
        let lines = self.cells.iter().map(|c| c.lines.len()).max().unwrap_or(1);
        let (w, h) = ((self.widest() * 8 + 14).max(34), lines * 14 + 16);
        let text_width = (self.title.len() * 9).max(self.note.len() * 7) + MARGIN;
        let width = (MARGIN + self.columns * w + 16).max(text_width);
        let height = TOP + self.rows * h + 40;
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
        for column in 0..self.columns {
            let x = MARGIN + column * w + w / 2;
            writeln!(out, r##"<text x="{x}" y="{}" fill="#888">{column}</text>"##, TOP - 8)?;
        }
        for row in 0..self.rows {
            let y = TOP + row * h + h / 2 + 4;
            writeln!(out, r##"<text x="{}" y="{y}" fill="#888" text-anchor="end">{row}</text>"##, MARGIN - 8)?;
            for column in 0..self.columns {
                let Some(cell) = self.cell(row, column) else { continue };
                let (x, y) = (MARGIN + column * w, TOP + row * h);
                let color = cell.color.hex();
                writeln!(
                    out,
                    r##"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{color}" stroke="#fff" stroke-width="1.5"/>"##
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
        let label = |cell: &Cell| cell.lines.join(" ");
        let width = self.cells.iter().map(|c| label(c).len()).max().unwrap_or(1);
        let mut out = format!("{}\n    ", self.title);
        for column in 0..self.columns {
            out.push_str(&format!(" {column:^width$} "));
        }
        out.push('\n');
        for row in 0..self.rows {
            out.push_str(&format!("{row:>3} "));
            for column in 0..self.columns {
                let Some(cell) = self.cell(row, column) else { continue };
                let text = format!(" {:^width$} ", label(cell));
                let Rgb(r, g, b) = cell.color;
                match colors {
                    true => out.push_str(&format!("\x1b[48;2;{r};{g};{b}m\x1b[38;2;30;30;30m{text}\x1b[0m")),
                    false => out.push_str(&text),
                }
            }
            out.push('\n');
        }
        out
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
    pub fn to_svg(&self) -> Result<String> {
        Ok(Picture::offsets(self)?.to_svg())
    }
}
