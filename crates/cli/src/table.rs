//! Tables for the terminal.

use crate::style::{Ink, paint};

/// A cell: text, and a colour for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    ink: Option<Ink>,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ink: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_string().into()
    }
}

impl Cell {
    /// In a colour.
    pub(crate) fn inked(text: String, ink: Option<Ink>) -> Cell {
        Cell { text, ink }
    }
}

/// Lines of cells under headings. The first columns are words and lie left, the others numbers and lie right.
pub(crate) struct Table {
    words: usize,
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// With headings, of which so many are above words.
    pub(crate) fn new(words: usize, head: &[&str]) -> Table {
        Table { words, head: head.iter().map(|h| h.to_string()).collect(), rows: vec![] }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Every line, the heading first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let length = |text: &str| text.chars().count();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|c| length(&c.text));
            cells.chain([length(&self.head[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[Cell]| {
            let mut out = String::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let space = " ".repeat(width - length(&cell.text));
                let text = cell.ink.map_or_else(|| cell.text.clone(), |ink| paint(ink, &cell.text));
                out += if column == 0 { "" } else { "  " };
                out += &if column < self.words { text + &space } else { space + &text };
            }
            out.trim_end().to_string()
        };
        let head: Vec<Cell> = self.head.iter().map(|h| Cell::inked(h.clone(), Some(Ink::Bold))).collect();
        [line(&head)].into_iter().chain(self.rows.iter().map(|row| line(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let mut table = Table::new(1, &["name", "µs", "of it"]);
        table.push(vec!["softmax".into(), "1.5".into(), "99.1 %".into()]);
        table.push(vec!["gemm".into(), "100.0".into(), "".into()]);
        assert_eq!(table.lines(), ["name        µs   of it", "softmax    1.5  99.1 %", "gemm     100.0"]);
    }
}
