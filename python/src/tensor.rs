//! `warpsmith.Tensor`: memory of a device or of the host.

use crate::device::bytes_of;
use crate::error::{Failure, unexpected};
use crate::export;
use crate::operand::Operand;
use crate::place::Place;
use pyo3::exceptions::{PyBufferError, PyImportError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyTuple};
use std::cell::UnsafeCell;
use warpsmith::dsl::TensorArg;
use warpsmith::runtime::{Buffer, Stream};
use warpsmith::types::DType;

/// Memory of a `Device`, of the host, or a view of an array in the host's; it has DLPack.
#[pyclass(frozen, module = "warpsmith")]
pub(crate) struct Tensor {
    memory: Memory,
    arg: TensorArg,
    place: Place,
}

/// Whose the memory is.
pub(crate) enum Memory {
    /// A device's.
    Device(Buffer),
    /// The host's, from here.
    Host(#[allow(dead_code, reason = "it keeps the memory")] HostMemory),
    /// Another object's, in the host's memory.
    Of(#[allow(dead_code, reason = "it keeps the memory")] Py<PyAny>),
}

/// Zeroed memory of the host.
pub(crate) struct HostMemory(Box<[UnsafeCell<Line>]>);

// SAFETY: the bytes are reached by address alone, as those of any array of Python are: who writes them orders that.
unsafe impl Sync for HostMemory {}

/// What tensor libraries want memory to be aligned to.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(#[allow(dead_code, reason = "only its bytes are used, by address")] [u8; 64]);

impl HostMemory {
    fn new(bytes: usize) -> HostMemory {
        HostMemory((0..bytes.div_ceil(64)).map(|_| UnsafeCell::new(Line([0; 64]))).collect())
    }
}

impl Tensor {
    pub(crate) fn new(memory: Memory, arg: TensorArg, place: Place) -> Tensor {
        Tensor { memory, arg, place }
    }

    /// Memory of the host.
    pub(crate) fn on_host(dtype: DType, shape: &[usize]) -> Result<Tensor, Failure> {
        let memory = HostMemory::new(bytes_of(dtype, shape)?);
        let arg = TensorArg::new(memory.0.as_ptr() as u64, Place::Host.id(), dtype, shape);
        Ok(Tensor::new(Memory::Host(memory), arg, Place::Host))
    }

    /// A view of an object's memory, which is the host's.
    pub(crate) fn of(object: &Bound<'_, PyAny>, name: &'static str) -> Result<Tensor, Failure> {
        let mut arg = TensorArg::new(0, Place::Host.id(), DType::F32, &[]);
        let operand = Operand::read(object, name, None, &mut arg)?;
        if operand.place != Place::Host {
            return Err(unexpected(name, "memory of the host", operand.place.name()).into());
        }
        let keep = operand.keep.unwrap_or_else(|| object.clone().unbind());
        Ok(Tensor::new(Memory::Of(keep), arg, Place::Host))
    }

    /// The same memory with elements of another dtype.
    pub(crate) fn with_dtype(mut self, dtype: DType, name: &'static str) -> Result<Tensor, Failure> {
        if dtype.bits() != self.arg.dtype.bits() {
            let expected = format!("a dtype of {} bits, as {}", self.arg.dtype.bits(), self.arg.dtype);
            return Err(unexpected(name, expected, dtype.name()).into());
        }
        self.arg.dtype = dtype;
        Ok(self)
    }

    pub(crate) fn arg(&self) -> &TensorArg {
        &self.arg
    }

    /// As an argument whose vectors are used again.
    pub(crate) fn copy_to(&self, arg: &mut TensorArg) {
        (arg.address, arg.device, arg.dtype) = (self.arg.address, self.arg.device, self.arg.dtype);
        arg.shape.clone_from(&self.arg.shape);
        arg.strides.clone_from(&self.arg.strides);
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Its elements' bytes, row-major.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let TensorArg { address, shape, strides, dtype, .. } = &self.arg;
        let all = match &self.memory {
            Memory::Device(buffer) => {
                let mut all = vec![0; self.arg.span() as usize];
                buffer.download(&mut all)?;
                all
            }
            // SAFETY: the memory is kept by this tensor, and its elements lie within the span. They are bytes of numbers,
            // which any bits are.
            _ => unsafe { std::slice::from_raw_parts(*address as *const u8, self.span_or_nothing()) }.to_vec(),
        };
        let (count, width): (usize, usize) = (shape.iter().product(), dtype.bytes());
        let mut dense = Vec::with_capacity(count * width);
        for i in 0..count {
            let (mut rest, mut at) = (i, 0);
            for (n, stride) in shape.iter().zip(strides).rev() {
                at += rest % n * stride * width;
                rest /= n;
            }
            dense.extend_from_slice(&all[at..at + width]);
        }
        Ok(dense)
    }

    /// Bytes that may be read; an address of nothing may be null.
    fn span_or_nothing(&self) -> usize {
        if self.arg.address == 0 { 0 } else { self.arg.span() as usize }
    }
}

#[pymethods]
impl Tensor {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.arg.shape)
    }

    /// In elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.arg.strides)
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.arg.dtype.name()
    }

    /// `cpu`, or the name of its `Device`.
    #[getter]
    fn device(&self) -> String {
        if self.place == Place::Host { "cpu".into() } else { self.place.name() }
    }

    #[getter]
    fn data_ptr(&self) -> u64 {
        self.arg.address
    }

    /// Its elements in order, row-major.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.bytes()).map_err(|e| e.raise(py, &[]))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A copy as a NumPy array; bf16 and 8-bit floats as `ml_dtypes` has them, or as integers without it.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = py.detach(|| self.bytes()).map_err(|e| e.raise(py, &[]))?;
        let numpy = py.import("numpy")?;
        let (name, plain) = match self.arg.dtype {
            DType::F64 => ("float64", None),
            DType::F32 => ("float32", None),
            DType::F16 => ("float16", None),
            DType::I64 => ("int64", None),
            DType::I32 => ("int32", None),
            DType::I16 => ("int16", None),
            DType::I8 => ("int8", None),
            DType::U64 => ("uint64", None),
            DType::U32 => ("uint32", None),
            DType::U16 => ("uint16", None),
            DType::U8 => ("uint8", None),
            DType::BF16 => ("bfloat16", Some("uint16")),
            DType::E4M3 => ("float8_e4m3fn", Some("uint8")),
            DType::E5M2 => ("float8_e5m2", Some("uint8")),
            DType::E8M0 => ("float8_e8m0fnu", Some("uint8")),
            DType::E2M1x2 => ("uint8", None),
        };
        let dtype = match plain {
            None => numpy.getattr(name)?,
            Some(plain) => match py.import("ml_dtypes") {
                Ok(m) => m.getattr(name)?,
                Err(e) if e.is_instance_of::<PyImportError>(py) => numpy.getattr(plain)?,
                Err(e) => return Err(e),
            },
        };
        // A bytearray, so that the array can be written.
        let flat = numpy.call_method1("frombuffer", (PyByteArray::new(py, &bytes), dtype))?;
        flat.call_method1("reshape", (self.shape(py)?,))
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Tensor>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), slf.get());
        if dl_device.is_some_and(|asked| asked != tensor.__dlpack_device__()) {
            return Err(PyBufferError::new_err("memory can not be moved to another device by DLPack here"));
        }
        let versioned = max_version.is_some_and(|v| v.0 >= 1);
        let emulated = matches!(tensor.place, Place::Emulated(_));
        if emulated || copy == Some(true) {
            if copy == Some(false) {
                return Err(PyBufferError::new_err("memory of an emulated device can only be copied"));
            }
            let bytes = py.detach(|| tensor.bytes()).map_err(|e| e.raise(py, &[]))?;
            let copied = Tensor::on_host(tensor.arg.dtype, &tensor.arg.shape).map_err(|e| e.raise(py, &[]))?;
            // SAFETY: just made, as many bytes, and nobody else's yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), copied.arg.address as *mut u8, bytes.len()) };
            let copied = Bound::new(py, copied)?;
            return export::capsule(copied.get(), copied.clone().into_any(), versioned, true);
        }
        if let (Memory::Device(buffer), Some(stream)) = (&tensor.memory, stream)
            && stream > 1
        {
            // What is queued on our stream is done before what the other queues next.
            let device = buffer.device();
            let order = || -> Result<(), Failure> {
                // SAFETY: DLPack has the caller give a stream that is alive.
                let theirs = unsafe { Stream::from_raw(device, stream as u64) }?;
                let event = device.create_event()?;
                event.record(&device.default_stream())?;
                Ok(theirs.wait(&event)?)
            };
            order().map_err(|e| e.raise(py, &[]))?;
        }
        export::capsule(tensor, slf.clone().into_any(), versioned, false)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.place {
            Place::Card(card) => (crate::dlpack::CUDA, card as i32),
            Place::Host | Place::Emulated(_) => (crate::dlpack::CPU, 0),
        }
    }

    fn __repr__(&self) -> String {
        format!("warpsmith.Tensor({} {:?} on {})", self.arg.dtype, self.arg.shape, self.device())
    }
}
