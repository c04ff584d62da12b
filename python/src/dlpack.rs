//! DLPack's structures, as in version 1.3 of its header: what tensor libraries hand to each other.

use std::ffi::{CStr, c_char, c_int, c_void};
use warpsmith::types::DType;

/// The major version whose layout this is.
pub(crate) const MAJOR: u32 = 1;
/// Device types.
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA: i32 = 2;
pub(crate) const CUDA_HOST: i32 = 3;
pub(crate) const CUDA_MANAGED: i32 = 13;
/// Flags of a managed tensor.
pub(crate) const READ_ONLY: u64 = 1;
pub(crate) const IS_COPIED: u64 = 2;
/// Names of capsules that nobody has taken over.
pub(crate) const CAPSULE: &CStr = c"dltensor";
pub(crate) const VERSIONED_CAPSULE: &CStr = c"dltensor_versioned";
pub(crate) const EXCHANGE_CAPSULE: &CStr = c"dlpack_exchange_api";

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DlDevice {
    pub(crate) kind: i32,
    pub(crate) number: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
pub(crate) struct DlTensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: DlDevice,
    pub(crate) rank: i32,
    pub(crate) dtype: DataType,
    pub(crate) shape: *mut i64,
    /// In elements; null where the tensor is dense.
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// `DLManagedTensor`, from before there were versions.
#[repr(C)]
pub(crate) struct Managed {
    pub(crate) tensor: DlTensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub(crate) struct ManagedVersioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    pub(crate) flags: u64,
    pub(crate) tensor: DlTensor,
}

/// What an allocator reports errors by.
pub(crate) type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`: a library's functions for its own tensors. Each gives 0, or -1 with a Python exception set.
#[repr(C)]
pub(crate) struct ExchangeApi {
    pub(crate) version: Version,
    pub(crate) previous: *const ExchangeApi,
    pub(crate) allocate:
        Option<unsafe extern "C" fn(*mut DlTensor, *mut *mut ManagedVersioned, *mut c_void, SetError) -> c_int>,
    pub(crate) managed_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedVersioned) -> c_int>,
    pub(crate) managed_to_object: Option<unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut c_void) -> c_int>,
    /// Fills a tensor that borrows from the object.
    pub(crate) tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int>,
    /// The stream that the library queues on now.
    pub(crate) current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

impl DlTensor {
    /// To be filled.
    pub(crate) const fn empty() -> DlTensor {
        DlTensor {
            data: std::ptr::null_mut(),
            device: DlDevice { kind: 0, number: 0 },
            rank: 0,
            dtype: DataType { code: 0, bits: 0, lanes: 0 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

impl DataType {
    /// The dtype here, where there is one.
    pub(crate) fn dtype(self) -> Option<DType> {
        let dtype = match (self.code, self.bits, self.lanes) {
            (2, 16, 1) => DType::F16,
            (4, 16, 1) => DType::BF16,
            (2, 32, 1) => DType::F32,
            (2, 64, 1) => DType::F64,
            (0, 8, 1) => DType::I8,
            (0, 16, 1) => DType::I16,
            (0, 32, 1) => DType::I32,
            (0, 64, 1) => DType::I64,
            (1, 8, 1) => DType::U8,
            (1, 16, 1) => DType::U16,
            (1, 32, 1) => DType::U32,
            (1, 64, 1) => DType::U64,
            (10, 8, 1) => DType::E4M3,
            (12, 8, 1) => DType::E5M2,
            (14, 8, 1) => DType::E8M0,
            (17, 4, 2) => DType::E2M1x2,
            _ => return None,
        };
        Some(dtype)
    }

    pub(crate) fn of(dtype: DType) -> DataType {
        let (code, bits, lanes) = match dtype {
            DType::F64 | DType::F32 | DType::F16 => (2, dtype.bits(), 1),
            DType::BF16 => (4, 16, 1),
            DType::E4M3 => (10, 8, 1),
            DType::E5M2 => (12, 8, 1),
            DType::E8M0 => (14, 8, 1),
            DType::E2M1x2 => (17, 4, 2),
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => (0, dtype.bits(), 1),
            DType::U64 | DType::U32 | DType::U16 | DType::U8 => (1, dtype.bits(), 1),
        };
        DataType { code, bits: bits as u8, lanes }
    }
}
