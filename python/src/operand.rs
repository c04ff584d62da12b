//! From a Python object to a tensor as a launch takes it.
//!
//! | object | how |
//! |---|---|
//! | a `Tensor` of this package | as it is |
//! | of a type with DLPack's C exchange API | by it, without making a Python object |
//! | a NumPy array | by `__array_interface__`, which has bf16 of `ml_dtypes` too |
//! | a `torch.Tensor` older than the API | by its methods |
//! | anything else with DLPack | by a capsule, which is kept until the call is over |

use crate::dlpack::{self, CAPSULE, DlTensor, Managed, ManagedVersioned, VERSIONED_CAPSULE};
use crate::error::{Failure, no_tensor, unexpected};
use crate::exchange;
use crate::place::Place;
use crate::stream::Source;
use crate::tensor::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use warpsmith::dsl::{ArgumentError, TensorArg};
use warpsmith::types::DType;

/// What is known of an object beside its [`TensorArg`].
pub(crate) struct Operand {
    pub(crate) place: Place,
    pub(crate) source: Source,
    pub(crate) read_only: bool,
    /// What keeps the memory, or the extents, until the call is over.
    pub(crate) keep: Option<Py<PyAny>>,
}

impl Operand {
    fn new(place: Place, source: Source) -> Operand {
        Operand { place, source, read_only: false, keep: None }
    }

    /// Reads an object into `arg`, whose vectors are used again. `stream` is the caller's, if it said one.
    pub(crate) fn read(
        object: &Bound<'_, PyAny>,
        name: &'static str,
        stream: Option<u64>,
        arg: &mut TensorArg,
    ) -> Result<Operand, Failure> {
        if let Ok(tensor) = object.cast_exact::<Tensor>() {
            let tensor = tensor.get();
            tensor.copy_to(arg);
            return Ok(Operand::new(tensor.place(), Source::Own));
        }
        // SAFETY: attached, and alive while it is borrowed.
        if let Some(api) = unsafe { exchange::of(object.as_ptr()) }
            && let Some(read) = api.tensor_from_object
        {
            let mut tensor = DlTensor::empty();
            // SAFETY: the object is of the type that the API is of. What is filled in borrows from the object.
            if unsafe { read(object.as_ptr().cast(), &mut tensor) } != 0 {
                return Err(PyErr::fetch(object.py()).into());
            }
            // SAFETY: just filled, and the object is alive.
            let place = unsafe { fill(&tensor, name, arg) }?;
            return Ok(Operand::new(place, Source::Exchange(api)));
        }
        Operand::read_slowly(object, name, stream, arg)
    }

    #[cold]
    fn read_slowly(
        object: &Bound<'_, PyAny>,
        name: &'static str,
        stream: Option<u64>,
        arg: &mut TensorArg,
    ) -> Result<Operand, Failure> {
        let module = object.get_type().module().map(|m| m.to_string()).unwrap_or_default();
        let of = |library: &str| module == library || module.strip_prefix(library).is_some_and(|m| m.starts_with('.'));
        if of("torch") && object.hasattr("data_ptr")? {
            return torch(object, name, arg);
        }
        if !of("cupy")
            && let Some(interface) = object.getattr_opt("__array_interface__")?
        {
            return array(object, &interface, name, arg);
        }
        if object.hasattr("__dlpack__")? && object.hasattr("__dlpack_device__")? {
            let source = if of("cupy") { Source::Cupy } else { Source::Unknown };
            return capsule(object, name, source, stream, arg);
        }
        Err(no_tensor(name, object).into())
    }
}

fn no_dtype(name: &'static str, got: String) -> ArgumentError {
    unexpected(name, "elements of a dtype that there is here", got)
}

/// Extents and strides, as they are signed elsewhere.
fn set(arg: &mut TensorArg, name: &'static str, modes: impl Iterator<Item = (i64, i64)>) -> Result<(), ArgumentError> {
    arg.shape.clear();
    arg.strides.clear();
    for (extent, stride) in modes {
        let (Ok(extent), Ok(positive)) = (usize::try_from(extent), usize::try_from(stride)) else {
            return Err(unexpected(name, "strides of at least 0", stride.to_string()));
        };
        arg.shape.push(extent);
        // Between elements that are not there, any will do.
        arg.strides.push(if extent == 1 { positive.max(1) } else { positive });
    }
    if arg.shape.contains(&0) {
        make_dense(arg);
    }
    Ok(())
}

/// Strides of a dense tensor, whose last is 1 already or between no elements.
fn make_dense(arg: &mut TensorArg) {
    let mut stride = 1usize;
    for (n, at) in arg.shape.iter().zip(&mut arg.strides).rev() {
        *at = stride;
        stride = stride.saturating_mul(*n.max(&1));
    }
}

/// Fills in what a DLPack tensor says.
///
/// # Safety
/// The tensor's extents and strides are so many as it says.
unsafe fn fill(tensor: &DlTensor, name: &'static str, arg: &mut TensorArg) -> Result<Place, Failure> {
    let dlpack::DataType { code, bits, lanes } = tensor.dtype;
    let Some(dtype) = tensor.dtype.dtype() else {
        return Err(no_dtype(name, format!("DLPack's code {code} of {bits} bits and {lanes} lanes")).into());
    };
    let place = match (tensor.device.kind, u32::try_from(tensor.device.number)) {
        (dlpack::CPU | dlpack::CUDA_HOST, _) => Place::Host,
        (dlpack::CUDA | dlpack::CUDA_MANAGED, Ok(card)) => Place::Card(card),
        (kind, _) => {
            return Err(unexpected(name, "memory of a CUDA card or of the host", format!("device type {kind}")).into());
        }
    };
    arg.address = tensor.data as u64 + tensor.byte_offset;
    arg.dtype = dtype;
    arg.device = place.id();
    let rank = usize::try_from(tensor.rank).unwrap_or(0);
    if rank == 0 {
        set(arg, name, std::iter::empty())?;
        return Ok(place);
    }
    // SAFETY: as the caller promises; there is at least one.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, rank) };
    if tensor.strides.is_null() {
        set(arg, name, shape.iter().map(|n| (*n, 1)))?;
        make_dense(arg);
    } else {
        // SAFETY: as above.
        let strides = unsafe { std::slice::from_raw_parts(tensor.strides, rank) };
        set(arg, name, shape.iter().copied().zip(strides.iter().copied()))?;
    }
    Ok(place)
}

/// A NumPy array, or what looks like one.
fn array(
    object: &Bound<'_, PyAny>,
    interface: &Bound<'_, PyAny>,
    name: &'static str,
    arg: &mut TensorArg,
) -> Result<Operand, Failure> {
    let (address, read_only): (u64, bool) = interface.get_item("data")?.extract()?;
    let shape: Vec<i64> = interface.get_item("shape")?.extract()?;
    let kind: String = interface.get_item("typestr")?.extract()?;
    let dtype = match &kind[..] {
        "<f2" => Some(DType::F16),
        "<f4" => Some(DType::F32),
        "<f8" => Some(DType::F64),
        "|i1" => Some(DType::I8),
        "<i2" => Some(DType::I16),
        "<i4" => Some(DType::I32),
        "<i8" => Some(DType::I64),
        "|u1" => Some(DType::U8),
        "<u2" => Some(DType::U16),
        "<u4" => Some(DType::U32),
        "<u8" => Some(DType::U64),
        // Not NumPy's own: `ml_dtypes`.
        _ => match &object.getattr("dtype")?.getattr("name")?.extract::<String>()?[..] {
            "bfloat16" => Some(DType::BF16),
            "float8_e4m3fn" => Some(DType::E4M3),
            "float8_e5m2" => Some(DType::E5M2),
            "float8_e8m0fnu" => Some(DType::E8M0),
            _ => None,
        },
    };
    let dtype = dtype.ok_or_else(|| no_dtype(name, kind.clone()))?;
    let bytes = dtype.bytes() as i64;
    let strides: Vec<i64> = match interface.get_item("strides")? {
        dense if dense.is_none() => {
            let after = |i: usize| shape[i + 1..].iter().map(|n| n.max(&1)).product::<i64>();
            (0..shape.len()).map(after).collect()
        }
        strides => strides.extract::<Vec<i64>>()?.into_iter().map(|s| s.div_euclid(bytes)).collect(),
    };
    set(arg, name, shape.into_iter().zip(strides))?;
    (arg.address, arg.dtype, arg.device) = (address, dtype, Place::Host.id());
    Ok(Operand { read_only, ..Operand::new(Place::Host, Source::Own) })
}

/// A tensor of a PyTorch without the exchange API.
fn torch(object: &Bound<'_, PyAny>, name: &'static str, arg: &mut TensorArg) -> Result<Operand, Failure> {
    let dtype = object.getattr("dtype")?.str()?.to_string();
    arg.dtype = match dtype.strip_prefix("torch.").unwrap_or(&dtype) {
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "float32" => DType::F32,
        "float64" => DType::F64,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "uint8" => DType::U8,
        other => return Err(no_dtype(name, other.into()).into()),
    };
    let device = object.getattr("device")?;
    let place = match &device.getattr("type")?.extract::<String>()?[..] {
        "cpu" => Place::Host,
        "cuda" => Place::Card(device.getattr("index")?.extract::<Option<u32>>()?.unwrap_or(0)),
        other => return Err(unexpected(name, "memory of a CUDA card or of the host", other).into()),
    };
    let shape: Vec<i64> = object.getattr("shape")?.extract()?;
    let strides: Vec<i64> = object.call_method0("stride")?.extract()?;
    set(arg, name, shape.into_iter().zip(strides))?;
    arg.address = object.call_method0("data_ptr")?.extract()?;
    arg.device = place.id();
    Ok(Operand::new(place, Source::Torch))
}

/// Anything with DLPack's Python protocol.
fn capsule(
    object: &Bound<'_, PyAny>,
    name: &'static str,
    source: Source,
    stream: Option<u64>,
    arg: &mut TensorArg,
) -> Result<Operand, Failure> {
    let py = object.py();
    let (kind, number): (i32, u32) = object.call_method0("__dlpack_device__")?.extract()?;
    let arguments = pyo3::types::PyDict::new(py);
    if matches!(kind, dlpack::CUDA | dlpack::CUDA_MANAGED) {
        let ours = stream.map_or_else(|| source.current(py, number), Ok)?;
        // What it has queued is to be seen by what we queue there. The legacy default stream is 1 in this protocol.
        arguments.set_item("stream", if ours == 0 { 1 } else { ours })?;
    }
    arguments.set_item("max_version", (dlpack::MAJOR, 3))?;
    let export = |arguments| object.call_method("__dlpack__", PyTuple::empty(py), Some(arguments));
    let made = match export(&arguments) {
        Err(e) if e.is_instance_of::<PyTypeError>(py) => {
            // From before there were versions.
            arguments.del_item("max_version")?;
            export(&arguments)?
        }
        made => made?,
    };
    let Ok(held) = made.cast::<PyCapsule>() else { return Err(no_tensor(name, object).into()) };
    let (mut read_only, mut copied) = (false, false);
    // SAFETY: the capsule says by its name what is behind it, and is kept below as long as that is used.
    let place = unsafe {
        let raw = held.as_ptr();
        if ffi::PyCapsule_IsValid(raw, VERSIONED_CAPSULE.as_ptr()) != 0 {
            let managed: *const ManagedVersioned = ffi::PyCapsule_GetPointer(raw, VERSIONED_CAPSULE.as_ptr()).cast();
            if (*managed).version.major != dlpack::MAJOR {
                let got = format!("version {}", (*managed).version.major);
                return Err(unexpected(name, "DLPack's version 1", got).into());
            }
            read_only = (*managed).flags & dlpack::READ_ONLY != 0;
            copied = (*managed).flags & dlpack::IS_COPIED != 0;
            fill(&(*managed).tensor, name, arg)
        } else if ffi::PyCapsule_IsValid(raw, CAPSULE.as_ptr()) != 0 {
            let managed: *const Managed = ffi::PyCapsule_GetPointer(raw, CAPSULE.as_ptr()).cast();
            fill(&(*managed).tensor, name, arg)
        } else {
            Err(no_tensor(name, object).into())
        }
    }?;
    // What is written to a copy is lost.
    Ok(Operand { place, source, read_only: read_only || copied, keep: Some(made.unbind()) })
}
