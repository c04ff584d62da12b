//! Tensor maps: how TMA sees a tensor in global memory.

use super::Device;
use crate::error::Error;
use warpsmith_types::DType;

/// Bytes of an encoded map, a kernel's parameter aligned to 64.
pub const TENSOR_MAP_BYTES: usize = 128;

/// A tensor as TMA copies it, box by box. Modes are listed from the innermost, which is dense.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// Of the first element; a multiple of 16.
    pub address: u64,
    /// Of the elements.
    pub dtype: DType,
    /// Extents, in elements: one to five.
    pub extents: Vec<u64>,
    /// Distances of neighbours along all modes but the first, in bytes; multiples of 16 below 2⁴⁰.
    pub strides: Vec<u64>,
    /// Extents of the box that one copy moves, each up to 256.
    pub boxed: Vec<u32>,
    /// The shared-memory swizzle's span in bytes: 32, 64, 128, or 0 for none.
    pub swizzle: u32,
}

impl TensorMap {
    /// What no device takes, in words.
    fn problem(&self) -> Option<String> {
        let rank = self.extents.len();
        if !(1..=5).contains(&rank) || self.boxed.len() != rank || self.strides.len() + 1 != rank {
            return Some(format!(
                "expected 1 to 5 extents, as many box extents and one stride less, got {rank}, {} and {}",
                self.boxed.len(),
                self.strides.len()
            ));
        }
        if !self.address.is_multiple_of(16) {
            return Some(format!("expected an address that is a multiple of 16, got {:#x}", self.address));
        }
        if let Some(s) = self.strides.iter().find(|s| !s.is_multiple_of(16) || **s >= 1 << 40) {
            return Some(format!("expected strides that are multiples of 16 bytes below 2^40, got {s}"));
        }
        if let Some(n) = self.extents.iter().find(|n| **n == 0 || **n > 1 << 32) {
            return Some(format!("expected extents of 1 to 2^32, got {n}"));
        }
        if let Some(n) = self.boxed.iter().find(|n| **n == 0 || **n > 256) {
            return Some(format!("expected box extents of 1 to 256, got {n}"));
        }
        let row = self.boxed[0] as usize * self.dtype.bytes();
        if !row.is_multiple_of(16) || (self.swizzle > 0 && row > self.swizzle as usize) {
            return Some(format!("expected rows of the box of whole 16 bytes within the swizzle, got {row} bytes"));
        }
        (!matches!(self.swizzle, 0 | 32 | 64 | 128))
            .then(|| format!("expected a swizzle of 0, 32, 64 or 128 bytes, got {}", self.swizzle))
    }
}

impl Device {
    /// Encodes a map for this device.
    ///
    /// # Errors
    /// When the map is none that TMA takes, or the device has no TMA.
    pub fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
        match map.problem() {
            Some(problem) => Err(Error::TensorMap(problem)),
            None => self.backend().encode_tensor_map(map),
        }
    }
}
