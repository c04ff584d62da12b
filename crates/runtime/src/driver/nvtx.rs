//! NVIDIA's library for ranges on a profiler's timeline, loaded when it is asked for.

use libloading::Library;
use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

/// Names that the toolkit installs it by: up to CUDA 12, and after that.
const NAMES: [&str; 3] = ["libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"];

struct Nvtx {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
}

static NVTX: OnceLock<Option<Nvtx>> = OnceLock::new();

/// Whether it is there; loads it once, for the life of the process.
pub(crate) fn load() -> bool {
    NVTX.get_or_init(find).is_some()
}

fn find() -> Option<Nvtx> {
    // SAFETY: the library's initialisers have no preconditions.
    let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok())?;
    // SAFETY: the types are the C declarations of these functions in nvToolsExt.h.
    let (push, pop) = unsafe {
        (library.get(b"nvtxRangePushA\0").map(|s| *s).ok()?, library.get(b"nvtxRangePop\0").map(|s| *s).ok()?)
    };
    let nvtx = Nvtx { push, pop };
    // Its functions are called until the process ends.
    let _ = Box::leak(Box::new(library));
    Some(nvtx)
}

/// Begins a range of the thread.
pub(crate) fn push(name: &str) {
    if let (Some(Some(nvtx)), Ok(name)) = (NVTX.get(), CString::new(name)) {
        // SAFETY: the name is NUL-terminated, and copied.
        unsafe { (nvtx.push)(name.as_ptr()) };
    }
}

/// Ends the thread's latest range.
pub(crate) fn pop() {
    if let Some(Some(nvtx)) = NVTX.get() {
        // SAFETY: a range without a beginning is an error code, which has nobody to tell.
        unsafe { (nvtx.pop)() };
    }
}
