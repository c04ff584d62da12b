//! Tiles of shared memory as TMA writes them and matrix instructions read them.

use crate::value::U32;
use warpsmith_types::DType;

/// A (rows, columns) tile in shared memory, K-major: 128-byte panels of rows, one after the other, each with the 128-byte
/// swizzle (CuTe's `Swizzle<3,4,3>`), so that neither copies nor matrix instructions meet bank conflicts. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmemTile {
    /// The dtype of its elements.
    pub dtype: DType,
    /// A multiple of 8, up to 256.
    pub rows: usize,
    /// A multiple of 128 bytes.
    pub columns: usize,
}

/// Bytes of a panel's row, and of the swizzle's span.
pub(crate) const PANEL: usize = 128;

impl SmemTile {
    /// Elements in a panel's row.
    pub fn panel_columns(&self) -> usize {
        PANEL / self.dtype.bytes()
    }

    /// How many panels it has.
    pub fn panels(&self) -> usize {
        self.columns.div_ceil(self.panel_columns())
    }

    /// Bytes of a panel.
    pub fn panel_bytes(&self) -> usize {
        self.rows * PANEL
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.panels() * self.panel_bytes()
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        let SmemTile { rows, columns, .. } = *self;
        if rows == 0 || !rows.is_multiple_of(8) || rows > 256 {
            return Some(format!("a shared tile has {rows} rows; expected a multiple of 8, up to 256"));
        }
        if columns == 0 || !columns.is_multiple_of(self.panel_columns()) {
            let n = self.panel_columns();
            return Some(format!("a shared tile has {columns} columns; expected a multiple of {n} (128 bytes)"));
        }
        None
    }
}

/// A matrix in shared memory as wgmma takes it: the address of its first panel's first row, and its rows.
#[derive(Clone, Copy)]
pub(crate) struct MatrixAt {
    pub(crate) address: U32,
    pub(crate) tile: SmemTile,
}
