//! Tensor libraries whose types have DLPack's C exchange API, PyTorch's from 2.10 on: their tensors are read, and their
//! current streams asked for, without making a Python object.

use crate::dlpack::{EXCHANGE_CAPSULE, ExchangeApi, MAJOR};
use pyo3::ffi;
use std::cell::Cell;

/// The API of a type, or that it has none.
#[derive(Clone, Copy)]
struct Known {
    /// Kept alive by a reference of this table's own, so that no other type comes to lie there.
    of: *mut ffi::PyTypeObject,
    api: Option<&'static ExchangeApi>,
}

/// Types that are remembered in a thread: a call's tensors are of one or two.
const REMEMBERED: usize = 4;

thread_local! {
    static KNOWN: Cell<[Known; REMEMBERED]> =
        const { Cell::new([Known { of: std::ptr::null_mut(), api: None }; REMEMBERED]) };
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

/// The exchange API of an object's type.
///
/// # Safety
/// The thread is attached to the interpreter, and the object alive.
pub(crate) unsafe fn of(object: *mut ffi::PyObject) -> Option<&'static ExchangeApi> {
    // SAFETY: as the caller promises.
    let of = unsafe { ffi::Py_TYPE(object) };
    let known = KNOWN.get();
    if let Some(known) = known.iter().find(|k| k.of == of) {
        return known.api;
    }
    // SAFETY: an object's type is alive.
    let api = unsafe { look_up(of) };
    // SAFETY: as above; the table's reference.
    unsafe { ffi::Py_INCREF(of.cast()) };
    let at = NEXT.get();
    NEXT.set((at + 1) % REMEMBERED);
    let (mut known, forgotten) = (known, known[at].of);
    known[at] = Known { of, api };
    KNOWN.set(known);
    // SAFETY: the table had a reference, and has it no more. Null is allowed.
    unsafe { ffi::Py_XDECREF(forgotten.cast()) };
    api
}

/// Asks a type. The attribute is a capsule; it was a number, and had another name, before DLPack 1.3.
unsafe fn look_up(of: *mut ffi::PyTypeObject) -> Option<&'static ExchangeApi> {
    for name in [c"__dlpack_c_exchange_api__", c"__c_dlpack_exchange_api__"] {
        // SAFETY: the type is alive and the name a C string.
        let attribute = unsafe { ffi::PyObject_GetAttrString(of.cast(), name.as_ptr()) };
        if attribute.is_null() {
            // SAFETY: attached. That there is no such attribute is no error.
            unsafe { ffi::PyErr_Clear() };
            continue;
        }
        // SAFETY: the attribute is a live object of ours until the reference is given back.
        let pointer = unsafe {
            let pointer = if ffi::PyCapsule_IsValid(attribute, EXCHANGE_CAPSULE.as_ptr()) != 0 {
                ffi::PyCapsule_GetPointer(attribute, EXCHANGE_CAPSULE.as_ptr())
            } else if ffi::PyLong_Check(attribute) != 0 {
                ffi::PyLong_AsVoidPtr(attribute)
            } else {
                std::ptr::null_mut()
            };
            ffi::Py_DECREF(attribute);
            ffi::PyErr_Clear();
            pointer
        };
        let mut api: *const ExchangeApi = pointer.cast();
        // Newer ones may have an older one behind them.
        while !api.is_null() {
            // SAFETY: DLPack has the table live as long as the process, and its header the same in all versions.
            let header = unsafe { ((*api).version, (*api).previous) };
            if header.0.major == MAJOR {
                // SAFETY: as above, and this version's layout is known.
                return Some(unsafe { &*api });
            }
            api = header.1;
        }
    }
    None
}
