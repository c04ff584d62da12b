//! Tensors in the host's memory, read and written as the reference has them: float64, dense, row-major.

use warpsmith::dsl::TensorArg;
use warpsmith::types::DType;
use warpsmith::types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// A tensor in the host's memory.
pub(crate) struct HostTensor {
    arg: TensorArg,
}

impl HostTensor {
    /// Of memory that is the host's.
    ///
    /// # Safety
    /// All elements are allocated until this is dropped, and whoever writes them meanwhile is the one who calls.
    pub(crate) unsafe fn new(arg: &TensorArg) -> HostTensor {
        HostTensor { arg: arg.clone() }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.arg.shape
    }

    /// Byte addresses of its elements, row-major.
    fn addresses(&self) -> impl Iterator<Item = u64> {
        let TensorArg { shape, strides, .. } = &self.arg;
        let count: usize = shape.iter().product();
        let bytes = self.arg.dtype.bytes();
        (0..count).map(move |i| {
            let (mut rest, mut offset) = (i, 0);
            for (n, stride) in shape.iter().zip(strides).rev() {
                offset += rest % n * stride;
                rest /= n;
            }
            self.arg.address + (offset * bytes) as u64
        })
    }

    /// Its elements.
    pub(crate) fn read(&self) -> Vec<f64> {
        let dtype = self.arg.dtype;
        self.addresses().map(|at| one(dtype, at)).collect()
    }

    /// Its elements, which are integers.
    pub(crate) fn read_integers(&self) -> Vec<i64> {
        let dtype = self.arg.dtype;
        let read = |at: u64| match dtype {
            // SAFETY: `new` was promised that the element is there.
            DType::I32 => i64::from(unsafe { (at as *const i32).read_unaligned() }),
            // SAFETY: as above.
            _ => unsafe { (at as *const i64).read_unaligned() },
        };
        self.addresses().map(read).collect()
    }

    /// Writes all elements, each rounded once to f32 and once more to a narrower dtype, as kernels do.
    pub(crate) fn write(&self, values: &[f64]) {
        for (at, v) in self.addresses().zip(values) {
            let v = *v as f32;
            match self.arg.dtype {
                // SAFETY: `new` was promised that the element is there, and nobody else's meanwhile.
                DType::BF16 => unsafe { (at as *mut u16).write_unaligned(f32_to_bf16(v)) },
                // SAFETY: as above.
                DType::F16 => unsafe { (at as *mut u16).write_unaligned(f32_to_f16(v)) },
                // SAFETY: as above. The operators' outputs are of these three dtypes.
                _ => unsafe { (at as *mut f32).write_unaligned(v) },
            }
        }
    }
}

/// An element, which is one of the dtypes that operators compute with.
fn one(dtype: DType, at: u64) -> f64 {
    match dtype {
        // SAFETY: `HostTensor::new` was promised that the element is there.
        DType::BF16 => f64::from(bf16_to_f32(unsafe { (at as *const u16).read_unaligned() })),
        // SAFETY: as above.
        DType::F16 => f64::from(f16_to_f32(unsafe { (at as *const u16).read_unaligned() })),
        // SAFETY: as above.
        _ => f64::from(unsafe { (at as *const f32).read_unaligned() }),
    }
}
