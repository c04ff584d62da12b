//! What a bulk copy moves: a stretch of global memory, or a box of a tensor, row by row.

use crate::tensor_map::{Fill, Swizzle, TensorMap};
use std::ops::Range;

/// The global side of a bulk copy.
#[derive(Clone, Debug)]
pub(crate) enum Boxes {
    /// Bytes in a row.
    Line { address: u64, bytes: u32 },
    /// The box of a tensor at these coordinates.
    Tensor { map: Box<TensorMap>, at: [i32; 5] },
}

/// Bytes that lie side by side on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// From the start of the copy in shared memory, before swizzling.
    pub shared: u32,
    /// In global memory, where all of it is inside.
    pub global: u64,
    pub bytes: usize,
    /// The bytes of it that are elements of the tensor.
    pub inside: Range<usize>,
}

/// Bytes of the longest row: 256 elements of 8 bytes.
pub(crate) const LONGEST: usize = 2048;

impl Boxes {
    /// Bytes in shared memory.
    pub(crate) fn bytes(&self) -> u32 {
        match self {
            Boxes::Line { bytes, .. } => *bytes,
            Boxes::Tensor { map, .. } => map.box_bytes(),
        }
    }

    pub(crate) fn swizzle(&self) -> Swizzle {
        match self {
            Boxes::Line { .. } => Swizzle::None,
            Boxes::Tensor { map, .. } => map.swizzle,
        }
    }

    /// Fills a row with what elements outside the tensor read as.
    pub(crate) fn fill(&self, row: &mut [u8]) {
        row.fill(0);
        if let Boxes::Tensor { map, .. } = self
            && map.fill == Fill::Nan
            && map.dtype.is_float()
        {
            for element in row.chunks_exact_mut(map.dtype.bytes()) {
                element.fill(0xff);
                element[map.dtype.bytes() - 1] = 0x7f;
            }
        }
    }

    /// Every row, until the visitor has had enough.
    pub(crate) fn rows(&self, mut visit: impl FnMut(Row) -> bool) {
        match self {
            Boxes::Line { address, bytes } => {
                for start in (0..*bytes).step_by(LONGEST) {
                    let n = (bytes - start).min(LONGEST as u32) as usize;
                    let global = address.wrapping_add(start.into());
                    if !visit(Row { shared: start, global, bytes: n, inside: 0..n }) {
                        return;
                    }
                }
            }
            Boxes::Tensor { map, at } => tensor_rows(map, at, visit),
        }
    }
}

fn tensor_rows(map: &TensorMap, at: &[i32; 5], mut visit: impl FnMut(Row) -> bool) {
    let width = map.dtype.bytes() as u64;
    let row_bytes = map.row_bytes();
    for row in 0..map.rows() {
        // The indices of the row in the outer modes, fastest first.
        let mut rest = row;
        let mut inside = true;
        let mut base = map.base.0;
        for (mode, start) in at.iter().enumerate().take(map.rank).skip(1) {
            let n = map.count(mode);
            let step = rest % n * map.element_strides[mode];
            rest /= n;
            let index = i64::from(*start) + i64::from(step);
            inside &= index >= 0 && (index as u64) < map.extents[mode];
            base = base.wrapping_add((index as u64).wrapping_mul(map.strides[mode]));
        }
        let first = i64::from(at[0]);
        let extent = map.extents[0] as i64;
        let shared = row * row_bytes;
        if map.element_strides[0] == 1 {
            let n = i64::from(map.count(0));
            let (from, to) = ((-first).clamp(0, n), (extent - first).clamp(0, n));
            let range = if inside && from < to { from as usize..to as usize } else { 0..0 };
            let global = base.wrapping_add((first as u64).wrapping_mul(width));
            let inside = range.start * width as usize..range.end * width as usize;
            if !visit(Row { shared, global, bytes: row_bytes as usize, inside }) {
                return;
            }
            continue;
        }
        for element in 0..map.count(0) {
            let index = first + i64::from(element * map.element_strides[0]);
            let here = inside && (0..extent).contains(&index);
            let row = Row {
                shared: shared + element * width as u32,
                global: base.wrapping_add((index as u64).wrapping_mul(width)),
                bytes: width as usize,
                inside: 0..if here { width as usize } else { 0 },
            };
            if !visit(row) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DevicePointer;
    use warpsmith_types::DType;

    #[test]
    fn a_box_over_an_edge() {
        let map = TensorMap {
            base: DevicePointer(0x1000),
            dtype: DType::F32,
            rank: 2,
            extents: [10, 3, 1, 1, 1],
            strides: [4, 48, 0, 0, 0],
            box_extents: [8, 2, 1, 1, 1],
            element_strides: [1; 5],
            swizzle: Swizzle::None,
            fill: Fill::Zero,
        };
        let mut rows = vec![];
        Boxes::Tensor { map: Box::new(map), at: [4, 2, 0, 0, 0] }.rows(|r| {
            rows.push((r.shared, r.global, r.bytes, r.inside));
            true
        });
        assert_eq!(rows, [(0, 0x1000 + 96 + 16, 32, 0..24), (32, 0x1000 + 144 + 16, 32, 0..0)]);
        let mut inside = vec![];
        Boxes::Tensor { map: Box::new(map), at: [-3, 0, 0, 0, 0] }.rows(|r| {
            inside.push(r.inside);
            true
        });
        assert_eq!(inside, [12..32, 12..32]);
    }
}
