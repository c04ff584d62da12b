//! Tensors of this package for other libraries: DLPack's capsules.

use crate::dlpack::{
    CAPSULE, CPU, CUDA, DataType, DlDevice, DlTensor, IS_COPIED, MAJOR, Managed, ManagedVersioned, VERSIONED_CAPSULE,
    Version,
};
use crate::place::Place;
use crate::tensor::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_void;

/// What a managed tensor points to.
struct Owned<M> {
    managed: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// Keeps the memory.
    _tensor: Py<PyAny>,
}

/// A capsule of a tensor's memory.
pub(crate) fn capsule<'py>(
    tensor: &Tensor,
    object: Bound<'py, PyAny>,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let raw = if versioned {
        let managed = ManagedVersioned {
            version: Version { major: MAJOR, minor: 0 },
            context: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags: if copied { IS_COPIED } else { 0 },
            tensor: DlTensor::empty(),
        };
        let owned = Box::into_raw(own(managed, tensor, object));
        // SAFETY: just made and leaked, alone ours; the pointers are into it. The capsule's destructor or its taker frees it.
        unsafe {
            describe(&mut (*owned).managed.tensor, tensor, &mut (*owned).shape, &mut (*owned).strides);
            (*owned).managed.context = owned.cast();
            ffi::PyCapsule_New((&raw mut (*owned).managed).cast(), VERSIONED_CAPSULE.as_ptr(), Some(drop_versioned))
        }
    } else {
        let managed = Managed { tensor: DlTensor::empty(), context: std::ptr::null_mut(), deleter: Some(delete) };
        let owned = Box::into_raw(own(managed, tensor, object));
        // SAFETY: as above.
        unsafe {
            describe(&mut (*owned).managed.tensor, tensor, &mut (*owned).shape, &mut (*owned).strides);
            (*owned).managed.context = owned.cast();
            ffi::PyCapsule_New((&raw mut (*owned).managed).cast(), CAPSULE.as_ptr(), Some(drop_unversioned))
        }
    };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, raw) }
}

fn own<M>(managed: M, tensor: &Tensor, object: Bound<'_, PyAny>) -> Box<Owned<M>> {
    let signed = |all: &[usize]| all.iter().map(|n| *n as i64).collect();
    let arg = tensor.arg();
    Box::new(Owned { managed, shape: signed(&arg.shape), strides: signed(&arg.strides), _tensor: object.unbind() })
}

fn describe(to: &mut DlTensor, tensor: &Tensor, shape: &mut [i64], strides: &mut [i64]) {
    let arg = tensor.arg();
    let (kind, number) = match tensor.place() {
        Place::Card(card) => (CUDA, card as i32),
        Place::Host | Place::Emulated(_) => (CPU, 0),
    };
    *to = DlTensor {
        data: arg.address as *mut c_void,
        device: DlDevice { kind, number },
        rank: shape.len() as i32,
        dtype: DataType::of(arg.dtype),
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: the deleter of what `capsule` made, called once; the context is the box.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Owned<ManagedVersioned>>()) });
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Owned<Managed>>()) });
}

/// A capsule that nobody took over still has its first name.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with the capsule, once.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED_CAPSULE.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED_CAPSULE.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn drop_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, CAPSULE.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, CAPSULE.as_ptr()).cast());
        }
    }
}
