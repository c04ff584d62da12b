//! Making atoms, layouts and tiled instructions in a kernel's body: what can not be is a mistake at the author's line.

use super::instruction::uncovered;
use crate::trace::mistake;
use warpsmith_layout::atom::{CopyAtom, Major, MmaAtom, Operand, SharedAtom, SharedSwizzle, TiledCopy, TiledMma};
use warpsmith_layout::{ComposedLayout, IntTuple, Layout, LayoutError, Strides, Tiler};
use warpsmith_types::DType;

/// A layout, or (shape, strides).
pub trait IntoLayout {
    /// The layout, if it is one.
    fn layout(self) -> Result<Layout, LayoutError>;
}
impl IntoLayout for Layout {
    fn layout(self) -> Result<Layout, LayoutError> {
        Ok(self)
    }
}
impl<S: Into<IntTuple>, D: Into<Strides>> IntoLayout for (S, D) {
    fn layout(self) -> Result<Layout, LayoutError> {
        Layout::new(self.0, self.1)
    }
}

/// A copy instruction by CUTLASS' name, for elements of a dtype: `SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>`,
/// `SM75_U32x4_LDSM_N`, `UniversalCopy<uint128_t>` … (see [`CopyAtom::named`]).
#[track_caller]
pub fn copy_atom(name: &str, dtype: DType) -> CopyAtom {
    let atom = CopyAtom::named(name).and_then(|a| a.values(dtype.bits() as i64));
    let single =
        || CopyAtom { name: "one element".into(), threads: one(), source: one(), target: one(), reference: one() };
    atom.unwrap_or_else(|e| {
        mistake(format!("no copy of {dtype} by `{name}`: {e}"), &[], "names are CUTLASS': `SM75_U32x4_LDSM_N`");
        single()
    })
}

/// A matrix instruction by CUTLASS' name: `SM80_16x8x16_F32BF16BF16F32_TN` (see [`MmaAtom::named`]).
#[track_caller]
pub fn mma_atom(name: &str) -> MmaAtom {
    MmaAtom::named(name).unwrap_or_else(|e| {
        mistake(e.to_string(), &[], "names are CUTLASS': `SM80_16x8x16_F32BF16BF16F32_TN`");
        MmaAtom {
            name: name.into(),
            shape: (1, 1, 1).into(),
            threads: one(),
            a: pair(),
            b: pair(),
            c: pair(),
            bits: [16, 16, 32],
        }
    })
}

fn one() -> Layout {
    Layout::one()
}

fn pair() -> Layout {
    Layout::of([Layout::one(), Layout::one()])
}

/// What a mistake gives.
fn nothing() -> TiledCopy {
    let single =
        CopyAtom { name: "one element".into(), threads: one(), source: pair(), target: pair(), reference: pair() };
    TiledCopy::from_tv(single, pair(), (1, 1))
}

/// A copy by many threads: `threads` arranges them over (rows, columns), `values` the elements of each.
#[track_caller]
pub fn make_tiled_copy(atom: CopyAtom, threads: impl IntoLayout, values: impl IntoLayout) -> TiledCopy {
    let made = threads.layout().and_then(|t| Ok((t, values.layout()?)));
    let copy = made.and_then(|(t, v)| TiledCopy::new(atom, &t, &v)).unwrap_or_else(|e| {
        mistake(format!("no tiled copy: {e}"), &[], "threads and values are layouts over (rows, columns)");
        nothing()
    });
    covered(copy)
}

/// The copy, if its atom covers it.
#[track_caller]
fn covered(copy: TiledCopy) -> TiledCopy {
    match uncovered(&copy) {
        Some(problem) => {
            mistake(problem, &[], "give threads and values that whole instructions cover");
            nothing()
        }
        None => copy,
    }
}

#[track_caller]
fn for_operand(atom: CopyAtom, mma: &TiledMma, operand: Operand) -> TiledCopy {
    let name = atom.name.clone();
    let copy = TiledCopy::for_mma(atom, mma, operand).unwrap_or_else(|e| {
        mistake(format!("`{name}` can not move fragments of {operand:?}: {e}"), &[], "see `TiledCopy::for_mma`");
        nothing()
    });
    covered(copy)
}

/// The copy that fills fragments of A.
#[track_caller]
pub fn make_tiled_copy_a(atom: CopyAtom, mma: &TiledMma) -> TiledCopy {
    for_operand(atom, mma, Operand::A)
}

/// The copy that fills fragments of B.
#[track_caller]
pub fn make_tiled_copy_b(atom: CopyAtom, mma: &TiledMma) -> TiledCopy {
    for_operand(atom, mma, Operand::B)
}

/// The copy that moves fragments of the sums.
#[track_caller]
pub fn make_tiled_copy_c(atom: CopyAtom, mma: &TiledMma) -> TiledCopy {
    for_operand(atom, mma, Operand::C)
}

/// A matrix instruction repeated over `copies` (warps along M, N, K) and the tile `permutation` (M, N, K).
#[track_caller]
pub fn make_tiled_mma(atom: MmaAtom, copies: impl Into<IntTuple>, permutation: impl Into<Tiler>) -> TiledMma {
    let (copies, name) = (copies.into(), atom.name.clone());
    let fallback = atom.clone();
    Layout::compact(copies).and_then(|copies| TiledMma::new(atom, copies, permutation)).unwrap_or_else(|e| {
        mistake(format!("no tiled `{name}`: {e}"), &[], "copies and permutation are triples (M, N, K)");
        TiledMma::single(fallback)
    })
}

/// A shared-memory layout of this shape (two modes, or three with stages) in blocks of a swizzle: what copies, `ldmatrix`,
/// warpgroup instructions and TMA take without bank conflicts. Elements along the `major` mode are neighbours.
#[track_caller]
pub fn smem_layout(dtype: DType, major: Major, swizzle: SharedSwizzle, shape: impl Into<IntTuple>) -> ComposedLayout {
    let (atom, bits, shape) = (SharedAtom { major, swizzle }, dtype.bits() as i64, shape.into());
    // Blocks go down the other mode first, then along the major one.
    let order: IntTuple = match (major, shape.rank()) {
        (Major::K, 2) => (0, 1).into(),
        (Major::K, _) => (0, 1, 2).into(),
        (Major::Mn, 2) => (1, 0).into(),
        (Major::Mn, _) => (1, 0, 2).into(),
    };
    let made = atom.tile(bits, shape.clone(), Some(order)).and_then(|layout| atom.with_swizzle(bits, layout));
    made.unwrap_or_else(|e| {
        mistake(
            format!("no shared layout {shape} of {dtype}: {e}"),
            &[],
            "extents are multiples of the swizzle's block",
        );
        ComposedLayout::from(Layout::one())
    })
}
