//! How it maps onto the chip, and which arguments it takes.

use super::Gemm;
use warpsmith_dsl::{ArgumentError, DType, TensorArg};
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

impl Gemm {
    pub(super) fn plan(a: &TensorArg, b: &TensorArg, c: &TensorArg, chip: &Chip) -> Result<Gemm, ArgumentError> {
        let dtype = a.dtype;
        for (name, t) in [("a", a), ("b", b), ("c", c)] {
            let unexpected = |expected: String, got: String| Err(ArgumentError::Unexpected { name, expected, got });
            if t.shape.len() != 2 || t.strides.len() != 2 {
                let modes = if name == "c" { "m, n" } else { "rows, k" }.into();
                return Err(ArgumentError::Rank { name, expected: 2, modes, shape: t.shape.clone() });
            }
            if !matches!(t.dtype, DType::BF16 | DType::F16) || t.dtype != dtype {
                return unexpected("bf16 or f16, the same for all".into(), t.dtype.to_string());
            }
            if !t.address.is_multiple_of(16) || !t.strides[0].is_multiple_of(8) {
                let got = format!("address {:#x}, row stride {}", t.address, t.strides[0]);
                return unexpected("rows aligned to 16 bytes".into(), got);
            }
            // TMA stores whole groups of 16 bytes: what lies behind a shorter row's end would be overwritten.
            if name == "c" && !t.shape[1].is_multiple_of(8) {
                return unexpected("rows of a multiple of 8 elements".into(), format!("{}", t.shape[1]));
            }
        }
        check_extents(a, b, c)?;
        if chip.target != warpsmith_dsl::Target::SM_90A {
            let (expected, got) = ("a device of sm_90a".into(), chip.target.to_string());
            return Err(ArgumentError::Unexpected { name: "device", expected, got });
        }
        Ok(Gemm { dtype, plan: GemmPlan::new(chip) })
    }
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
