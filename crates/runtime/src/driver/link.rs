//! PTX to a cubin, by the driver's linker.

use super::context::Context;
use super::failure::UNSUPPORTED_PTX_VERSION;
use crate::error::Error;
use cudarc::driver::sys::{CUjit_option, CUjitInputType, CUlinkState};
use std::ffi::{CString, c_void};

/// What the linker made.
pub(crate) struct Linked {
    /// The machine code, an ELF file.
    pub(crate) cubin: Vec<u8>,
    /// What the linker said, verbosely.
    pub(crate) log: String,
}

/// Room for a log; the linker cuts what is longer.
const LOG: usize = 64 << 10;

/// Compiles PTX for the context's card. `entry` names it in messages.
pub(crate) fn link(context: &Context, ptx: &str, entry: &str) -> Result<Linked, Error> {
    let problem = |message: &str| Error::Ptx { entry: entry.into(), message: message.into() };
    let text = CString::new(ptx).map_err(|_| problem("the text has a NUL in it"))?;
    let name = CString::new(entry).map_err(|_| problem("the name has a NUL in it"))?;
    let _entered = context.enter()?;
    let api = &context.driver.api;

    // The linker keeps pointers to all of these until it is destroyed: they stay in place, and are read after that.
    let mut info = vec![0u8; LOG];
    let mut errors = vec![0u8; LOG];
    let (mut options, mut values) = options(&mut info, &mut errors, ptx.contains(".loc"));

    let result = {
        let mut state: CUlinkState = std::ptr::null_mut();
        // SAFETY: `options` and `values` have the same length, which is given, and each value is what its option wants; they
        // and the two buffers outlive the linker.
        unsafe { api.cuLinkCreate_v2(options.len() as u32, options.as_mut_ptr(), values.as_mut_ptr(), &mut state) }
            .map_err(|e| context.explain(e))?;
        let (mut cubin, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the text is NUL-terminated and its size includes the NUL, as the linker wants for PTX; no options are
        // given, so their pointers may be null.
        let linked = unsafe {
            api.cuLinkAddData_v2(
                state,
                CUjitInputType::CU_JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.as_bytes_with_nul().len(),
                name.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        }
        // SAFETY: the pointers are to a live pointer and integer, which the linker sets.
        .and_then(|()| unsafe { api.cuLinkComplete(state, &mut cubin, &mut size) })
        // SAFETY: on success the linker owns `size` bytes there until it is destroyed; they are copied.
        .map(|()| unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), size) }.to_vec());
        // SAFETY: the state is live and is not used again.
        let _ = unsafe { api.cuLinkDestroy(state) };
        linked
    };

    let log = written(&info);
    match result {
        Ok(cubin) => Ok(Linked { cubin, log }),
        Err(e) if e.loses_the_device() => Err(context.explain(e)),
        Err(e) => {
            let mut log = written(&errors);
            if e.code == UNSUPPORTED_PTX_VERSION {
                log = format!("the driver ({}) does not know this PTX version\n{log}", context.driver.version);
            }
            if log.trim().is_empty() {
                log = context.explain(e).to_string();
            }
            let target = context.properties.chip.target.to_string();
            Err(Error::Compile { entry: entry.into(), target, log: log.trim_end().into() })
        }
    }
}

/// The linker's options, and beside them their values, which are numbers or addresses in the guise of pointers.
fn options(info: &mut [u8], errors: &mut [u8], lines: bool) -> (Vec<CUjit_option>, Vec<*mut c_void>) {
    let number = |n: usize| std::ptr::without_provenance_mut::<c_void>(n);
    let mut options = vec![
        (CUjit_option::CU_JIT_INFO_LOG_BUFFER, info.as_mut_ptr().cast()),
        (CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(info.len())),
        (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, errors.as_mut_ptr().cast()),
        (CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, number(errors.len())),
        (CUjit_option::CU_JIT_LOG_VERBOSE, number(1)),
    ];
    if lines {
        // So that profilers and the sanitizer of CUDA show the user's source; the code is the same.
        options.push((CUjit_option::CU_JIT_GENERATE_LINE_INFO, number(1)));
    }
    options.into_iter().unzip()
}

/// A log up to its NUL.
fn written(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_values_go_together() {
        let (mut info, mut errors) = (vec![0; 8], vec![0; 4]);
        let (options, values) = options(&mut info, &mut errors, true);
        assert_eq!(options.len(), values.len());
        assert_eq!(values[1] as usize, 8);
        assert_eq!(values[3] as usize, 4);
        assert_eq!(values[2] as usize, errors.as_ptr() as usize);
        assert_eq!(written(b"two\nlines\0rest"), "two\nlines");
        assert_eq!(written(b"full"), "full");
    }
}
