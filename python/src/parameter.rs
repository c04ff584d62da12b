//! The parameters of an operator's function, and what a call gives for them.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::CStr;

/// A tensor among the parameters.
pub(crate) struct Parameter {
    /// In Python.
    pub(crate) name: &'static str,
    /// In the kernels and their errors.
    pub(crate) in_kernel: &'static str,
    pub(crate) optional: bool,
    pub(crate) output: bool,
}

impl Parameter {
    pub(crate) const fn input(name: &'static str) -> Parameter {
        Parameter { name, in_kernel: name, optional: false, output: false }
    }

    pub(crate) const fn output(name: &'static str) -> Parameter {
        Parameter { output: true, ..Parameter::input(name) }
    }

    pub(crate) const fn or_none(self) -> Parameter {
        Parameter { optional: true, ..self }
    }

    pub(crate) const fn in_kernel(self, in_kernel: &'static str) -> Parameter {
        Parameter { in_kernel, ..self }
    }
}

/// A function as Python sees it.
pub(crate) struct Signature {
    pub(crate) name: &'static CStr,
    /// All parameters in their order.
    pub(crate) parameters: &'static [&'static CStr],
    /// How many of them have no default.
    pub(crate) required: usize,
}

/// The arguments of a call, borrowed from it.
pub(crate) struct Arguments<'a, 'py, const N: usize> {
    py: Python<'py>,
    signature: &'a Signature,
    given: [*mut ffi::PyObject; N],
}

impl<'a, 'py, const N: usize> Arguments<'a, 'py, N> {
    /// Sorts arguments by position and keyword to parameters.
    ///
    /// # Safety
    /// The three are what Python's vectorcall gives, alive for `'a`.
    pub(crate) unsafe fn parse(
        py: Python<'py>,
        signature: &'a Signature,
        values: *const *mut ffi::PyObject,
        positional: usize,
        keywords: *mut ffi::PyObject,
    ) -> PyResult<Self> {
        let mut given = [std::ptr::null_mut(); N];
        if positional > N {
            return Err(wrong(signature, &format!("takes at most {N} arguments, got {positional}")));
        }
        for (i, slot) in given.iter_mut().enumerate().take(positional) {
            // SAFETY: there are so many.
            *slot = unsafe { *values.add(i) };
        }
        // SAFETY: null, or a tuple.
        let named = if keywords.is_null() { 0 } else { unsafe { ffi::PyTuple_Size(keywords) } };
        for i in 0..named {
            // SAFETY: within the tuple, which holds strings; their values follow the positional ones.
            let (name, value) = unsafe { (ffi::PyTuple_GetItem(keywords, i), *values.add(positional + i as usize)) };
            // SAFETY: a string, and a C string.
            let is = |p: &&CStr| unsafe { ffi::PyUnicode_CompareWithASCIIString(name, p.as_ptr()) == 0 };
            let slot = signature.parameters.iter().position(is).and_then(|at| given.get_mut(at));
            match slot {
                Some(slot) if slot.is_null() => *slot = value,
                slot => {
                    // SAFETY: a live string.
                    let name = unsafe { Bound::from_borrowed_ptr(py, name) };
                    let wrong_by = if slot.is_some() { "multiple values for" } else { "an unexpected keyword" };
                    return Err(wrong(signature, &format!("got {wrong_by} argument '{name}'")));
                }
            }
        }
        if let Some(missing) = given.iter().take(signature.required).position(|v| v.is_null()) {
            let name = signature.parameters[missing].to_string_lossy();
            return Err(wrong(signature, &format!("missing required argument '{name}'")));
        }
        Ok(Arguments { py, signature, given })
    }

    /// Consecutive ones as they are, for tensors.
    pub(crate) fn raw<const T: usize>(&self, first: usize) -> [*mut ffi::PyObject; T] {
        std::array::from_fn(|i| self.given.get(first + i).copied().unwrap_or(std::ptr::null_mut()))
    }

    /// What was given, unless it was nothing or None.
    pub(crate) fn some(&self, at: usize) -> Option<&Bound<'py, PyAny>> {
        let slot = self.given.get(at)?;
        // SAFETY: attached; None lives for ever.
        if slot.is_null() || *slot == unsafe { ffi::Py_None() } {
            return None;
        }
        // SAFETY: a live object, borrowed from the call.
        Some(unsafe { Bound::ref_from_ptr(self.py, slot) })
    }

    /// What is true, or not given.
    pub(crate) fn flag(&self, at: usize) -> PyResult<bool> {
        self.some(at).map_or(Ok(false), |v| v.is_truthy())
    }

    /// A number, or the default.
    pub(crate) fn float(&self, at: usize, default: f32) -> PyResult<f32> {
        let Some(slot) = self.given.get(at).filter(|s| !s.is_null()) else { return Ok(default) };
        // SAFETY: a live object, borrowed from the call.
        let value = unsafe { ffi::PyFloat_AsDouble(*slot) };
        if value == -1.0
            && let Some(e) = PyErr::take(self.py)
        {
            return Err(self.named(at, "a number", e));
        }
        Ok(value as f32)
    }

    /// An integer of 32 bits, or the default.
    pub(crate) fn integer(&self, at: usize, default: i32) -> PyResult<i32> {
        if self.given.get(at).is_none_or(|s| s.is_null()) {
            return Ok(default);
        }
        let Some(value) = self.some(at) else { return Err(self.none(at, "an integer of 32 bits")) };
        value.extract().map_err(|e| self.named(at, "an integer of 32 bits", e))
    }

    /// A handle, when one was given.
    pub(crate) fn handle(&self, at: usize) -> PyResult<Option<u64>> {
        let value = self.some(at).map(|v| v.extract::<u64>()).transpose();
        value.map_err(|e| self.named(at, "a raw stream, an integer", e))
    }

    fn none(&self, at: usize, expected: &str) -> PyErr {
        PyTypeError::new_err(format!("`{}`: expected {expected}, got None", self.label(at)))
    }

    fn named(&self, at: usize, expected: &str, e: PyErr) -> PyErr {
        PyTypeError::new_err(format!("`{}`: expected {expected}: {}", self.label(at), e.value(self.py)))
    }

    fn label(&self, at: usize) -> String {
        self.signature.parameters.get(at).map_or_else(String::new, |p| p.to_string_lossy().into_owned())
    }
}

fn wrong(signature: &Signature, what: &str) -> PyErr {
    PyTypeError::new_err(format!("{}() {what}", signature.name.to_string_lossy()))
}
