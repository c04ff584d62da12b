//! Result codes of the driver, in words.

use super::DriverVersion;
use super::api::Api;
use crate::error::Error;
use std::ffi::{CStr, c_char};

/// A call that did not return `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    call: &'static str,
    /// The code in `cuda.h`.
    pub(super) code: u32,
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub(super) const INVALID_CONTEXT: u32 = 201;
/// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`.
pub(super) const PEER_ACCESS_UNSUPPORTED: u32 = 217;
/// `CUDA_ERROR_NOT_FOUND`.
pub(super) const NOT_FOUND: u32 = 500;
/// `CUDA_ERROR_NOT_READY`.
pub(super) const NOT_READY: u32 = 600;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
pub(super) const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
/// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`.
pub(super) const GRAPH_EXEC_UPDATE_FAILURE: u32 = 910;
/// `CUDA_ERROR_STUB_LIBRARY`: the toolkit's libcuda, which only serves linking.
const STUB_LIBRARY: u32 = 34;
/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`: the library and the kernel module are of different versions.
const DRIVER_MISMATCH: u32 = 803;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
pub(super) const UNSUPPORTED_PTX_VERSION: u32 = 222;

impl Failure {
    pub(super) fn check(call: &'static str, code: u32) -> Result<(), Failure> {
        if code == 0 { Ok(()) } else { Err(Failure { call, code }) }
    }

    /// Whether the context is unusable from here on: `cuda.h` says of these that the process must be restarted.
    pub(super) fn loses_the_device(self) -> bool {
        matches!(
            self.code,
            214 // ECC_UNCORRECTABLE
            | 220 // NVLINK_UNCORRECTABLE
            | 226 // CONTAINED
            | 700 // ILLEGAL_ADDRESS
            | 702 // LAUNCH_TIMEOUT
            | 709 // CONTEXT_IS_DESTROYED
            | 710 // ASSERT
            | 714 // HARDWARE_STACK_ERROR
            | 715 // ILLEGAL_INSTRUCTION
            | 716 // MISALIGNED_ADDRESS
            | 717 // INVALID_ADDRESS_SPACE
            | 718 // INVALID_PC
            | 719 // LAUNCH_FAILED
            | 721 // TENSOR_MEMORY_LEAK
        )
    }

    /// The driver's words for it: "an illegal memory access was encountered".
    pub(super) fn text(self, api: &Api) -> String {
        // SAFETY: writes one pointer to a string that lives as long as the driver.
        self.words(|out| unsafe { api.cuGetErrorString(self.code, out) })
    }

    /// As an error that is not about a context.
    pub(super) fn with(self, api: &Api) -> Error {
        match self.code {
            NO_DEVICE => Error::NoCard,
            STUB_LIBRARY => Error::NoDriver,
            DRIVER_MISMATCH => Error::DriverTooOld {
                found: format!("{} says {}", self.call, self.text(api)),
                needed: DriverVersion::OLDEST,
            },
            900..=908 => Error::Capture { reason: format!("{} says {}", self.call, self.text(api)) },
            _ => Error::Driver {
                call: self.call,
                // SAFETY: as in `text`.
                name: self.words(|out| unsafe { api.cuGetErrorName(self.code, out) }),
                code: self.code,
                text: self.text(api),
            },
        }
    }

    fn words(self, ask: impl Fn(*mut *const c_char) -> Result<(), Failure>) -> String {
        let mut text: *const c_char = std::ptr::null();
        match ask(&mut text) {
            // SAFETY: the driver gave a NUL-terminated string of static lifetime.
            Ok(()) if !text.is_null() => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            _ => "unknown error".into(),
        }
    }
}
