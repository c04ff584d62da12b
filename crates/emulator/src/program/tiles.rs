//! Fragments of `wmma`.

use super::{Address, Space};
use warpsmith_ptx::Word;

/// How a fragment's elements share its registers: as those of the `mma`s that it takes part in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// A, B, C or D.
    pub role: Word,
    /// Bytes of an element.
    pub bytes: usize,
    /// Elements of a register.
    pub each: usize,
    /// Eights of rows of one `mma`.
    pub halves: usize,
    /// Registers of A or B along k, for eight rows or columns.
    pub steps: usize,
    pub rows: usize,
    pub columns: usize,
    /// Registers that differ.
    pub registers: usize,
}

impl Tile {
    /// Row and column of an element of a lane's register.
    pub(crate) fn place(&self, register: usize, element: usize, lane: usize) -> (usize, usize) {
        let (group, within) = (lane / 4, lane % 4);
        match self.role {
            Word::A => {
                let one = self.halves * self.steps;
                let (part, n) = (register / one, register % one);
                (16 * part + 8 * (n % self.halves) + group, (within + 4 * (n / self.halves)) * self.each + element)
            }
            Word::B => {
                ((within + 4 * (register % self.steps)) * self.each + element, 8 * (register / self.steps) + group)
            }
            _ => {
                let pair = if self.each == 2 { 1 } else { 2 };
                let one = self.halves * pair;
                let (part, n) = (register / one, register % one);
                let wide = self.columns / 8;
                let row = 16 * (part / wide) + 8 * (n / pair) + group;
                (row, 8 * (part % wide) + 2 * within + if pair == 1 { element } else { n % 2 })
            }
        }
    }
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct TileAccess {
    pub tile: Tile,
    /// Whether elements of a column follow each other.
    pub by_columns: bool,
    pub space: Space,
    pub address: Address,
    /// The register of elements from one row, or column, to the next.
    pub stride: u16,
    /// The registers, at least as many as differ.
    pub planes: Vec<u32>,
}
