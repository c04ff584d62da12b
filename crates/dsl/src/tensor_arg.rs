//! Tensors as a launch takes them.

use warpsmith_types::DType;

/// Which device memory is on. The runtime numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(pub u32);

/// A tensor as a launch takes it: an address and how to read what is there. It owns nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorArg {
    /// Of the first element, on the device.
    pub address: u64,
    /// Where the memory is.
    pub device: DeviceId,
    /// Of the elements.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Distances between neighbours, in elements; as many as extents.
    pub strides: Vec<usize>,
}

impl TensorArg {
    /// A dense row-major tensor.
    pub fn new(address: u64, device: DeviceId, dtype: DType, shape: &[usize]) -> TensorArg {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        TensorArg { address, device, dtype, shape: shape.into(), strides }
    }

    /// The extent of a mode; 0 where there is none.
    pub fn dim(&self, mode: usize) -> usize {
        self.shape.get(mode).copied().unwrap_or(0)
    }

    /// Bytes from the first element to past the last.
    pub fn span(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        let last: usize = self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum();
        (last as u64 + 1) * self.dtype.bytes() as u64
    }

    /// Whether both have memory in common.
    pub fn overlaps(&self, other: &TensorArg) -> bool {
        self.device == other.device
            && self.address < other.address + other.span()
            && other.address < self.address + self.span()
    }
}
