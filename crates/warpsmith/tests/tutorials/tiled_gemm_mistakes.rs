//! Tiles that do not fit, as the third tutorial shows them.

use warpsmith::dsl::cute::*;
use warpsmith::prelude::*;

/// What the trace says of a body.
pub(crate) fn said(body: fn()) -> String {
    trace("tiled_gemm", body).unwrap_err().to_string()
}

/// `ldmatrix` reads rows of 16 bytes; here a row's neighbours lie a column apart.
pub(crate) fn torn_rows() {
    let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2, 1), (32, 32, 16));
    let s2r = make_tiled_copy_a(copy_atom("SM75_U32x4_LDSM_N", BF16), &mma);
    let across = smem_layout(BF16, Major::Mn, SharedSwizzle::B128, (128, 64));
    let tile = SmemTensor::new("a", BF16, across);
    let registers = mma.make_fragment_a([128, 64]);
    copy(&s2r, &s2r.partition_s(&tile, thread_idx().x), &s2r.retile_d(&registers));
}

/// 100 rows are no whole number of the MMA's 32.
pub(crate) fn uncovered() {
    let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2, 1), (32, 32, 16));
    mma.make_fragment_c([100, 128]);
}
