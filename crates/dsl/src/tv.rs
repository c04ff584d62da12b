//! Thread-value layouts of tiles: who owns what. Plain data, made and tested without a trace.

use crate::dim::Dim;
use crate::trace::{Loc, with};
use crate::value::U32;
use warpsmith_ir::{Binary, Op, Type};
use warpsmith_layout::{Emit, Facts, Int, Layout, LayoutError};

/// A thread-value layout of a (rows, columns) tile.
///
/// CuTe's `(thread, value) → index in the tile`, with indices column by column, kept beside its two projections to a row
/// and a column. A thread's values come in runs of neighbouring columns (`vector`): one access each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tv {
    tile: [usize; 2],
    layout: Layout,
    row: Layout,
    column: Layout,
    vector: usize,
    threads: usize,
    values: usize,
}

impl Tv {
    /// Threads side by side along each row, `threads_per_row` to a row and `rows` rows; each thread owns `vectors` runs
    /// of `vector` neighbouring elements, `threads_per_row · vector` columns apart, so that a warp's accesses touch
    /// neighbouring memory.
    ///
    /// # Errors
    /// When a product does not fit, as [`LayoutError`] says.
    ///
    /// ```
    /// use warpsmith_dsl::Tv;
    /// let tv = Tv::rows(4, 32, 8, 2)?;
    /// assert_eq!(tv.tile(), [4, 512]);
    /// assert_eq!(tv.layout().to_string(), "((32,4),(8,2)):((32,1),(4,1024))");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(rows: usize, threads_per_row: usize, vector: usize, vectors: usize) -> Result<Tv, LayoutError> {
        let [r, t, v, n] = [rows, threads_per_row, vector, vectors].map(|x| x as i64);
        let layout = Layout::new(((t, r), (v, n)), ((r * v, 1), (r, r * v * t)))?;
        Tv::new([rows, threads_per_row * vector * vectors], layout, vector)
    }

    /// From a layout `(thread, value) → index in the tile`, column by column. `vector` values from the first on, and each
    /// `vector` after them, are neighbours in a row.
    ///
    /// # Errors
    /// When the layout does not compose with the tile's coordinates, or `vector` values are not neighbours.
    pub fn new(tile: [usize; 2], layout: Layout, vector: usize) -> Result<Tv, LayoutError> {
        let shape = (tile[0] as i64, tile[1] as i64);
        let row = Layout::new(shape, (1, 0))?.compose(&layout)?;
        let column = Layout::new(shape, (0, 1))?.compose(&layout)?;
        let (threads, values) = (layout.mode(0)?.size()? as usize, layout.mode(1)?.size()? as usize);
        let tv = Tv { tile, layout, row, column, vector: vector.max(1), threads, values };
        for run in (0..values).step_by(tv.vector) {
            let (r, c) = tv.value(run)?;
            for j in 1..tv.vector {
                if run + j >= values || tv.value(run + j)? != (r, c + j as i64) {
                    return Err(LayoutError::Unknown(format!("{vector} neighbours at value {run} of {}", tv.layout)));
                }
            }
        }
        Ok(tv)
    }

    /// Rows and columns of the tile.
    pub fn tile(&self) -> [usize; 2] {
        self.tile
    }

    /// `(thread, value) → index in the tile`.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Threads that share the tile.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Elements a thread owns.
    pub fn values(&self) -> usize {
        self.values
    }

    /// Neighbouring elements in a run.
    pub fn vector(&self) -> usize {
        self.vector
    }

    /// The row and column of a value, relative to its thread's first.
    pub(crate) fn value(&self, value: usize) -> Result<(i64, i64), LayoutError> {
        Ok((self.row.mode(1)?.at(value as i64)?, self.column.mode(1)?.at(value as i64)?))
    }

    /// The row and column of thread `thread`'s first value, as expressions of it.
    pub(crate) fn first(&self) -> Result<(Int, Int), LayoutError> {
        let thread = Int::variable(0, Facts::index(self.threads as i64));
        Ok((self.row.mode(0)?.offset(thread.clone())?, self.column.mode(0)?.offset(thread)?))
    }
}

/// Writes a layout's expression of the thread down as run-time arithmetic, as if by the author's call at `at`.
pub(crate) struct OfThread {
    pub(crate) thread: U32,
    pub(crate) at: Loc,
}

impl OfThread {
    fn binary(&self, op: Binary, a: Dim, b: Dim, facts: Facts) -> Dim {
        let made = with(|t| {
            let [a, b] = [a, b].map(|d| match d {
                Dim::Static(n) => t.record(Op::Const(n as u64 & 0xffff_ffff), &[], &[Type::U32], self.at)[0],
                Dim::Dynamic { value, .. } => value.h,
            });
            t.record(Op::Binary(op), &[a, b], &[Type::U32], self.at)[0]
        });
        Dim::Dynamic { value: U32 { h: made }, divisor: facts.divisor.max(1) }
    }
}

impl Emit for OfThread {
    type Value = Dim;
    fn constant(&mut self, value: i64) -> Dim {
        Dim::Static(value)
    }
    fn variable(&mut self, _: u32) -> Dim {
        Dim::from(self.thread)
    }
    fn add(&mut self, a: Dim, b: Dim, facts: Facts) -> Dim {
        self.binary(Binary::Add, a, b, facts)
    }
    fn mul(&mut self, a: Dim, b: Dim, facts: Facts) -> Dim {
        self.binary(Binary::Mul, a, b, facts)
    }
    fn div(&mut self, a: Dim, b: Dim, facts: Facts) -> Dim {
        self.binary(Binary::Div, a, b, facts)
    }
    fn rem(&mut self, a: Dim, b: Dim, facts: Facts) -> Dim {
        self.binary(Binary::Rem, a, b, facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_its_tile_once() {
        for (rows, threads_per_row, vector, vectors) in [(4, 32, 8, 3), (1, 256, 4, 5), (16, 8, 1, 2), (1, 1, 1, 1)] {
            let tv = Tv::rows(rows, threads_per_row, vector, vectors).unwrap();
            let [r, c] = tv.tile();
            let mut seen = vec![0; r * c];
            for t in 0..tv.threads() {
                let (row0, col0) = (tv.row.mode(0).unwrap(), tv.column.mode(0).unwrap());
                for v in 0..tv.values() {
                    let (dr, dc) = tv.value(v).unwrap();
                    let (row, col) = (row0.at(t as i64).unwrap() + dr, col0.at(t as i64).unwrap() + dc);
                    seen[row as usize * c + col as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{tv:?}");
        }
    }

    #[test]
    fn neighbours_are_checked() {
        let strided = Layout::new((32, 4), (1, 64)).unwrap();
        assert!(Tv::new([1, 256], strided, 4).is_err());
    }
}
