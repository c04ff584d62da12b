//! What no kernel can go below: bytes and operations at the chip's datasheet speeds.

use super::record::Floor;
use crate::case::Case;
use warpsmith_types::{Chip, DType};

/// Dense operations a second of a chip's matrix instructions on 16-bit floats with sums of f32, by NVIDIA's datasheets (A100,
/// H100, H200, HGX B200, HGX B300) and architecture whitepapers (Ada, RTX Blackwell); `None` where it is not known.
pub(crate) fn matrix_peak(chip: &Chip, dtype: DType) -> Option<f64> {
    let known = [
        (Chip::A100, 312e12),
        (Chip::H100, 989.4e12),
        (Chip::H200, 989.4e12),
        (Chip::B200, 2250e12),
        (Chip::B300, 2250e12),
        (Chip::RTX_4090, 165.2e12),
        (Chip::RTX_5090, 209.5e12),
    ];
    let of_dtype = matches!(dtype, DType::BF16 | DType::F16);
    known.into_iter().find(|(c, _)| of_dtype && c.name == chip.name).map(|(_, peak)| peak)
}

impl Floor {
    /// Of a case on a chip.
    pub(super) fn of(case: &Case, chip: &Chip) -> Floor {
        let (bytes, operations) = (case.bytes(), case.operations());
        let peak = matrix_peak(chip, case.dtype);
        Floor {
            bytes,
            bytes_microseconds: bytes as f64 / chip.bandwidth as f64 * 1e6,
            operations,
            operations_microseconds: operations.zip(peak).map(|(n, peak)| n as f64 / peak * 1e6),
        }
    }
}
