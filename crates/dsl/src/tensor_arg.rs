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
    /// The caller's promise that nobody writes it while a launch that takes it is under way; see
    /// [`constant`](TensorArg::constant).
    pub constant: bool,
}

impl TensorArg {
    /// A dense row-major tensor.
    pub fn new(address: u64, device: DeviceId, dtype: DType, shape: &[usize]) -> TensorArg {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        TensorArg { address, device, dtype, shape: shape.into(), strides, constant: false }
    }

    /// The same with the promise that nobody writes it while a launch that takes it is under way, as holds for the weights
    /// of a model that only answers. It counts for arguments that a kernel declares as `#[tensor(.., constant)]`: row
    /// kernels are launched with PDL when all of theirs are promised, and load them by `ld.global.nc`.
    ///
    /// A launch with PDL is under way from where every block of the launch before has said `griddepcontrol.launch_dependents`
    /// or has ended, though it waits for that launch's writes (PTX ISA, `griddepcontrol`). `ld.global.nc` is outside of
    /// PTX's memory model, and asks for memory that is only read for as long as the kernel runs: what is cached may be from
    /// before, whatever was waited for. So no launch that it overlaps may write the tensor: not the launch before, not one
    /// that this overlaps in turn, none on another stream that no event orders. Right are writers behind which comes a launch
    /// without PDL, a copy, an event or a wait of the host. Kernels of the library load what is constant after their wait
    /// all the same.
    ///
    /// Not for training: where an optimiser's kernel writes a weight and the next launch reads it, leave it unpromised. On an
    /// emulated device a write that overlaps is reported.
    pub fn constant(self) -> TensorArg {
        TensorArg { constant: true, ..self }
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
