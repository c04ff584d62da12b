//! Descriptors: how warpgroup instructions are told where a matrix lies in shared memory (PTX ISA, "Matrix descriptor").

use crate::cast::Cast;
use crate::cute::SmemTensor;
use crate::smem::{MatrixAt, PANEL};
use crate::trace::{mistake, with};
use crate::value::{U32, U64};
use crate::warpgroup::{K_BYTES, Tile};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use warpsmith_layout::{Layout, LayoutError, Swizzle};
use warpsmith_types::DType;

/// A matrix in shared memory as the instruction takes it: a descriptor, and what each step of K adds to it.
pub(crate) struct Matrix {
    /// Of the first step; in a ring's stage, of the first step of each panel.
    starts: Vec<U64>,
    /// What a step adds to its start, in units of 16 bytes.
    advances: Rc<[(usize, u64)]>,
    transposed: bool,
}

/// What layouts came to so far: unrolled loops ask again and again.
pub(crate) type Descriptors = FxHashMap<(DType, Swizzle, Layout), Result<Canonical, String>>;

impl Matrix {
    #[track_caller]
    pub(crate) fn new(tile: Tile<'_>) -> Option<Matrix> {
        match tile {
            Tile::Ring(full) => Some(Matrix::of_panels(full.matrix())),
            Tile::Tensor(t) => Matrix::of_tensor(t),
        }
    }

    pub(crate) fn steps(&self) -> usize {
        self.advances.len()
    }

    pub(crate) fn is_transposed(&self) -> bool {
        self.transposed
    }

    #[track_caller]
    pub(crate) fn descriptor(&self, step: usize) -> U64 {
        let (start, advance) = self.advances[step];
        if advance == 0 { self.starts[start] } else { self.starts[start] + advance }
    }

    #[track_caller]
    fn of_panels(m: MatrixAt) -> Matrix {
        let steps = PANEL / K_BYTES;
        let panels = 0..m.tile.panels();
        let advances = panels.clone().flat_map(|p| (0..steps).map(move |s| (p, (s * K_BYTES / 16) as u64))).collect();
        Matrix { starts: panels.map(|p| panel_descriptor(m, p)).collect(), advances, transposed: false }
    }

    #[track_caller]
    fn of_tensor(t: &SmemTensor) -> Option<Matrix> {
        let key = (t.dtype, t.swizzle(), t.layout.clone());
        let form = with(|trace| trace.descriptors.entry(key).or_insert_with(|| canonical(t)).clone());
        let (form, address) = match form.and_then(|form| Ok((form, t.matrix_address()?))) {
            Ok(found) => found,
            Err(problem) => {
                let message =
                    format!("`{}` ({} o {}) is no operand of an MMA: {problem}", t.name, t.swizzle(), t.layout);
                mistake(message, &[], "lay it out by `smem_layout`, and cut it at whole rows of the swizzle");
                return None;
            }
        };
        let start = (address / 16).u64() | form.bits;
        Some(Matrix { starts: vec![start], advances: form.advances, transposed: form.transposed })
    }
}

/// The descriptor of a panel (PTX ISA, "Matrix descriptor"): address, 1024 bytes from one group of 8 rows to the next,
/// 128-byte swizzle.
#[track_caller]
fn panel_descriptor(m: MatrixAt, panel: usize) -> U64 {
    const ROWS_OF_EIGHT: u64 = ((8 * PANEL as u64) >> 4) << 32;
    const SWIZZLE_128: u64 = 1 << 62;
    const LEADING: u64 = 1 << 16; // not used by swizzled K-major tiles; CUTLASS gives 1
    let address: U32 = if panel == 0 { m.address } else { m.address + panel * m.tile.panel_bytes() };
    (address / 16).u64() | (SWIZZLE_128 | ROWS_OF_EIGHT | LEADING)
}

/// A layout as descriptors describe it.
#[derive(Clone)]
pub(crate) struct Canonical {
    /// All of the descriptor but the address.
    bits: u64,
    /// Of each step of K: the one start, and units of 16 bytes.
    advances: Rc<[(usize, u64)]>,
    transposed: bool,
}

/// Finds the descriptor of a layout by PTX's canonical layouts ("Strides"): a swizzle's atom is 8 rows of its width, the
/// rest is two strides.
fn canonical(t: &SmemTensor) -> Result<Canonical, String> {
    let bytes = t.dtype.bytes() as i64;
    let words = |e: LayoutError| e.to_string();
    let extent = |i: usize| t.layout.mode(i).and_then(|m| m.size()).map_err(words);
    let (rows, columns) = (extent(0)?, extent(1)?);
    let offset = |row: i64, column: i64| t.layout.at_coord((row, column)).map(|o| o * bytes).map_err(words);
    let swizzle = t.swizzle();
    let (log2, code) = match swizzle.bits() {
        bits @ 0..=3 => (bits, [0u64, 3, 2, 1][bits as usize]),
        bits => return Err(format!("a swizzle of {bits} bits")),
    };
    if log2 > 0 && (i64::from(swizzle.shift()) != 3 || (bytes << swizzle.base()) != 16) {
        return Err("hardware swizzles XOR pieces of 16 bytes with the rows of 8 above them".into());
    }
    // Elements in a row of the atom.
    let width = (16 << log2) / bytes;
    let transposed = columns > 1 && rows > 1 && offset(1, 0)? == bytes && offset(0, 1)? != bytes;
    if transposed && bytes != 2 {
        return Err("only elements of 16 bits may lie MN-major".into());
    }
    // From here on: `along` the dense mode, and `across` it.
    let (along, across) = if transposed { (rows, columns) } else { (columns, rows) };
    let at = |i: i64, j: i64| if transposed { offset(i, j) } else { offset(j, i) };
    // Less than an atom along is a part of its rows.
    if along > width && along % width != 0 || across % 8 != 0 {
        return Err(format!("whole atoms of {width} × 8 elements do not fill it"));
    }
    let second = |n: i64, have: i64, stride: Result<i64, String>| if n < have { stride } else { Ok(0) };
    // From one atom to the next, along and across.
    let (next_along, next_across) = (second(width, along, at(width, 0))?, second(8, across, at(0, 8))?);
    // A layout is a sum over its modes: what holds along both edges holds everywhere.
    let apart = || Err("its atoms are not two strides apart".to_string());
    for i in 0..along {
        if at(i, 0)? != (i / width) * next_along + (i % width) * bytes {
            return apart();
        }
    }
    for j in 0..across {
        if at(0, j)? != (j / 8) * next_across + (j % 8) * width * bytes {
            return apart();
        }
    }
    // K-major swizzled tiles are one atom wide for an instruction: its leading stride is not used, CUTLASS gives 1.
    let (leading, stride) = match (transposed, log2) {
        (false, 0) => (next_along, next_across),
        (false, _) => (16, next_across),
        (true, 0) => (next_across, next_along),
        (true, _) => (next_along, next_across),
    };
    if leading % 16 != 0 || stride % 16 != 0 || leading >= 1 << 18 || stride >= 1 << 18 {
        return Err(format!("strides of {leading} and {stride} bytes do not fit a descriptor"));
    }
    let k = K_BYTES as i64 / bytes;
    let step = |s: i64| offset(0, s * k).map(|o| (0, (o / 16) as u64));
    Ok(Canonical {
        bits: ((leading / 16) as u64) << 16 | ((stride / 16) as u64) << 32 | code << 62,
        advances: (0..columns / k).map(step).collect::<Result<_, _>>()?,
        transposed,
    })
}
