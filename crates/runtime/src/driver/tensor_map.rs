//! Tensor maps by the driver.

use super::context::Context;
use crate::device::{TENSOR_MAP_BYTES, TensorMap};
use crate::error::Error;
use cudarc::driver::sys::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion,
    CUtensorMapSwizzle,
};
use warpsmith_types::DType;

impl Context {
    /// Encodes a checked map.
    pub(crate) fn encode_tensor_map(&self, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
        use CUtensorMapDataType::*;
        let dtype = match map.dtype {
            DType::F64 => CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            DType::F32 => CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            DType::F16 => CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            DType::BF16 => CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            DType::I64 => CU_TENSOR_MAP_DATA_TYPE_INT64,
            DType::I32 => CU_TENSOR_MAP_DATA_TYPE_INT32,
            DType::U64 => CU_TENSOR_MAP_DATA_TYPE_UINT64,
            DType::U32 => CU_TENSOR_MAP_DATA_TYPE_UINT32,
            DType::U16 | DType::I16 => CU_TENSOR_MAP_DATA_TYPE_UINT16,
            // Pairs of 4-bit floats and scales are moved as the bytes that they are.
            DType::E4M3 | DType::E5M2 | DType::E2M1x2 | DType::E8M0 | DType::I8 | DType::U8 => {
                CU_TENSOR_MAP_DATA_TYPE_UINT8
            }
        };
        let swizzle = match map.swizzle {
            0 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            _ => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        let mut encoded = CUtensorMap { opaque: [0; 16] };
        let dense = [1u32; 5];
        let _entered = self.enter()?;
        // SAFETY: the pointers are to as many live integers as the rank says (one less for strides), which the caller has
        // checked; the address is one of the device and is not read here.
        unsafe {
            self.driver.api.cuTensorMapEncodeTiled(
                &mut encoded,
                dtype,
                map.extents.len() as u32,
                map.address as *mut _,
                map.extents.as_ptr(),
                map.strides.as_ptr(),
                map.boxed.as_ptr(),
                dense.as_ptr(),
                CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        }
        .map_err(|e| self.explain(e))?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(encoded.opaque) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Ok(bytes)
    }
}
