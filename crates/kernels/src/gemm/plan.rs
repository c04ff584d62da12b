//! How it maps onto the chip, and which arguments it takes.

use super::Gemm;
use crate::gate::{Candidate, Implementation, Operator, Refusal, candidates, choose};
use std::fmt;
use warpsmith_dsl::{ArgumentError, DType, Target, TensorArg};
use warpsmith_types::Chip;

/// How a GEMM maps onto the chip.
///
/// - A tile of 128 × 256 keeps both consumer warpgroups' sums in registers (128 a thread) and reads 96 bytes of shared
///   memory for each 64 · 256 · 16 multiplications of an instruction, below what the tensor cores wait for.
/// - Stages of 64 columns are one 128-byte swizzle wide. Three of them (144 KiB) and the results' tile (64 KiB) fit the
///   227 KiB of a block.
/// - Tiles go down bands of `band` rows, so that the running blocks share A and B in the level-two cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmPlan {
    /// Rows, columns and depth of a block's tile.
    pub tile: [usize; 3],
    /// Stages of the ring.
    pub stages: usize,
    /// Tiles in a band.
    pub band: usize,
    /// Blocks that run at one time: one a multiprocessor.
    pub blocks: usize,
}

impl GemmPlan {
    /// For a chip with warpgroup instructions.
    pub fn new(chip: &Chip) -> GemmPlan {
        GemmPlan { tile: [128, 256, 64], stages: 3, band: 8, blocks: chip.multiprocessors as usize }
    }

    /// Warpgroups that multiply, 64 rows each.
    pub fn consumers(&self) -> usize {
        self.tile[0] / 64
    }

    /// Threads in a block: a producer warpgroup and the consumers.
    pub fn threads(&self) -> usize {
        128 * (1 + self.consumers())
    }
}

impl fmt::Display for GemmPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, n, k], stages, band) = (self.tile, self.stages, self.band);
        write!(f, "tiles of {m} × {n} × {k}, {stages} stages, {} consumer warpgroups, ", self.consumers())?;
        write!(f, "bands of {band} tiles, up to {} blocks", self.blocks)
    }
}

/// The operator: `a`, `b` and `c`.
struct Ways;

impl Operator for Ways {
    type Arguments<'a> = [&'a TensorArg; 3];
    type Plan = Gemm;
    const GENERAL: Implementation<Ways> = Implementation {
        name: "warpgroups",
        what: "persistent tiles that TMA loads and stores, multiplied by Hopper's warpgroup instructions",
        supports: |[a, b, c], chip| Gemm::by_warpgroups([("a", a), ("b", b), ("c", c)], chip),
    };
}

impl Gemm {
    pub(super) fn plan(a: &TensorArg, b: &TensorArg, c: &TensorArg, chip: &Chip) -> Result<Gemm, ArgumentError> {
        check([("a", a), ("b", b), ("c", c)])?;
        Ok(choose::<Ways>(&[a, b, c], chip)?)
    }

    pub(super) fn candidates(
        a: &TensorArg,
        b: &TensorArg,
        c: &TensorArg,
        chip: &Chip,
    ) -> Result<Vec<Candidate<Gemm>>, ArgumentError> {
        check([("a", a), ("b", b), ("c", c)])?;
        Ok(candidates::<Ways>(&[a, b, c], chip))
    }

    fn by_warpgroups(tensors: [(&'static str, &TensorArg); 3], chip: &Chip) -> Result<Gemm, Refusal> {
        if chip.target != Target::SM_90A {
            return Err(Refusal::Target { needed: Target::SM_90A, got: chip.target });
        }
        for (argument, t) in tensors {
            let stride = t.strides.first().copied().unwrap_or(0);
            if !t.address.is_multiple_of(16) || !stride.is_multiple_of(8) {
                return Err(Refusal::RowAlignment { argument, bytes: 16, address: t.address, stride });
            }
        }
        let [(_, a), _, (argument, c)] = tensors;
        // TMA stores whole groups of 16 bytes: what lies behind a shorter row's end would be overwritten.
        if !c.dim(1).is_multiple_of(8) {
            return Err(Refusal::RowMultiple { argument, factor: 8, got: c.dim(1) });
        }
        Ok(Gemm { dtype: a.dtype, plan: GemmPlan::new(chip) })
    }
}

/// Refuses what is no product of bf16 or f16 matrices.
fn check(tensors: [(&'static str, &TensorArg); 3]) -> Result<(), ArgumentError> {
    let dtype = tensors[0].1.dtype;
    for (name, t) in tensors {
        let unexpected =
            |expected: &str, got: String| Err(ArgumentError::Unexpected { name, expected: expected.into(), got });
        if t.shape.len() != 2 || t.strides.len() != 2 {
            let modes = if name == "c" { "m, n" } else { "rows, k" }.into();
            return Err(ArgumentError::Rank { name, expected: 2, modes, shape: t.shape.clone() });
        }
        if !matches!(t.dtype, DType::BF16 | DType::F16) || t.dtype != dtype {
            return unexpected("bf16 or f16, the same for all", t.dtype.to_string());
        }
    }
    let [(_, a), (_, b), (_, c)] = tensors;
    check_extents(a, b, c)
}

/// What no signature says of extents: which of them are 0.
pub(super) fn check_extents(a: &TensorArg, b: &TensorArg, c: &TensorArg) -> Result<(), ArgumentError> {
    for (name, t) in [("a", a), ("b", b), ("c", c)] {
        if t.shape.contains(&0) {
            let (expected, got) = ("extents of at least 1".into(), format!("{:?}", t.shape));
            return Err(ArgumentError::Unexpected { name, expected, got });
        }
    }
    Ok(())
}
