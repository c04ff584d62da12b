//! Functions of the module that cost as little as a call from Python can: arguments as they lie on the interpreter's
//! stack (`METH_FASTCALL`), read where they are.

use crate::parameter::{Arguments, Signature};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The C function of one.
pub(crate) type Raw = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// In all versions from 3.7 on, though the limited API has named it only since 3.10.
const METH_FASTCALL: c_int = 0x80;

/// Adds a function to the module; `documentation` begins with its signature, as `inspect` reads it.
pub(crate) fn add(
    module: &Bound<'_, PyModule>,
    name: &'static CStr,
    raw: Raw,
    documentation: &'static CStr,
) -> PyResult<()> {
    let method = ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            // SAFETY: only a pointer is kept here; the flags say what it is called as.
            PyCFunctionWithKeywords: unsafe { std::mem::transmute::<Raw, ffi::PyCFunctionWithKeywords>(raw) },
        },
        ml_flags: METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: documentation.as_ptr(),
    };
    // Python keeps the pointer for the life of the process.
    let method = Box::leak(Box::new(method));
    // SAFETY: a live module and a definition that stays; its name is not used.
    let function = unsafe { ffi::PyCFunction_NewEx(method, std::ptr::null_mut(), module.name()?.as_ptr()) };
    // SAFETY: a new reference, or null with an exception set.
    let function = unsafe { Bound::from_owned_ptr_or_err(module.py(), function) }?;
    module.add(name.to_str().map_err(|e| PyRuntimeError::new_err(e.to_string()))?, function)
}

/// What a function's C function does: sorts the arguments, calls `body`, turns errors and panics into exceptions.
///
/// # Safety
/// Called by Python with the arguments of a call of that function.
pub(crate) unsafe fn enter<const N: usize>(
    signature: &'static Signature,
    values: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
    body: impl FnOnce(Python<'_>, &Arguments<'_, '_, N>) -> PyResult<()>,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        let call = || {
            // SAFETY: as the caller promises.
            let arguments = unsafe { Arguments::parse(py, signature, values, positional as usize, keywords) }?;
            body(py, &arguments)
        };
        let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(PyRuntimeError::new_err(format!("warpsmith panicked: {}", said.unwrap_or("no message"))))
        });
        match done {
            // SAFETY: attached; the caller gets a reference of its own.
            Ok(()) => unsafe {
                let none = ffi::Py_None();
                ffi::Py_INCREF(none);
                none
            },
            Err(e) => {
                e.restore(py);
                std::ptr::null_mut()
            }
        }
    })
}

/// Defines a module with a function's signature and its `add`: names of its parameters, how many are required, and what it
/// does with the arguments.
macro_rules! function {
    ($(#[doc = $doc:literal])* fn $name:ident($($required:ident),* $(; $($default:ident = $value:literal),*)?) $body:expr) => {
        pub(crate) mod $name {
            use super::*;

            static SIGNATURE: $crate::parameter::Signature = $crate::parameter::Signature {
                name: $crate::function::c_string(concat!(stringify!($name), "\0")),
                parameters: &[
                    $($crate::function::c_string(concat!(stringify!($required), "\0")),)*
                    $($($crate::function::c_string(concat!(stringify!($default), "\0")),)*)?
                ],
                required: [$(stringify!($required)),*].len(),
            };
            const COUNT: usize = [$(stringify!($required)),* $(, $(stringify!($default)),*)?].len();

            unsafe extern "C" fn raw(
                _module: *mut pyo3::ffi::PyObject,
                values: *const *mut pyo3::ffi::PyObject,
                positional: pyo3::ffi::Py_ssize_t,
                keywords: *mut pyo3::ffi::PyObject,
            ) -> *mut pyo3::ffi::PyObject {
                // SAFETY: Python calls this as the method definition says.
                unsafe { $crate::function::enter::<COUNT>(&SIGNATURE, values, positional, keywords, $body) }
            }

            /// Adds it to the module.
            pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
                const DOCUMENTATION: &std::ffi::CStr = $crate::function::c_string(concat!(
                    stringify!($name), "(",
                    $(stringify!($required), ", ",)*
                    $($(stringify!($default), "=", $value, ", ",)*)?
                    ")\n--\n\n", $($doc, "\n",)* "\0"
                ));
                $crate::function::add(module, SIGNATURE.name, raw, DOCUMENTATION)
            }
        }
    };
}
pub(crate) use function;

/// Text with a null at its end as C has it; without one, nothing.
pub(crate) const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(c) => c,
        Err(_) => c"",
    }
}
