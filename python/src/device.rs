//! `warpsmith.Device`.

use crate::error::{Failure, exception, judge, unexpected};
use crate::operand::Operand;
use crate::place::Place;
use crate::tensor::{Memory, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpsmith::dsl::TensorArg;
use warpsmith::runtime::{self, Buffer, DeviceId};
use warpsmith::types::DType;

/// Where kernels run: `Device("cuda")`, `Device("cuda:1")`, `Device("emulated")` (an H200), `Device("emulated:B200")`.
///
/// The same name is the same device for the whole process. `Device("idle")` takes launches and runs none of them: what a
/// call costs there is the host's part of it.
#[pyclass(frozen, eq, hash, module = "warpsmith")]
#[derive(PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) place: Place,
}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.place.id().hash(state);
    }
}

impl Device {
    fn device(&self, py: Python<'_>) -> PyResult<runtime::Device> {
        let found = self.place.device().map_err(|e| Failure::from(e).raise(py, &[]))?;
        found.ok_or_else(|| exception(py, "DeviceError", "the host is no device".into()))
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name = "emulated"))]
    fn new(py: Python<'_>, name: &str) -> PyResult<Device> {
        match py.detach(|| Place::named(name)) {
            Ok(Some(place)) => Ok(Device { place }),
            Ok(None) => {
                let expected = "cuda, cuda:N, emulated or emulated:CHIP (A100, H100, H200, B200 …)";
                Err(Failure::from(unexpected("device", expected, name)).raise(py, &[]))
            }
            Err(e) => Err(Failure::from(e).raise(py, &[])),
        }
    }

    /// As it was asked for: `cuda:0`, `emulated:H200`.
    #[getter]
    fn name(&self) -> String {
        self.place.name()
    }

    /// `H200`.
    #[getter]
    fn chip(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.device(py)?.chip().name)
    }

    /// What its kernels are compiled for: `sm_90a`.
    #[getter]
    fn target(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.device(py)?.chip().target.to_string())
    }

    /// Whether it is emulated.
    #[getter]
    fn is_emulated(&self) -> bool {
        matches!(self.place, Place::Emulated(_))
    }

    /// Waits for all that is queued on it.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let device = self.device(py)?;
        let outcome = py.detach(|| device.synchronize()).map_err(|e| Failure::from(e).raise(py, &[]))?;
        judge(py, &outcome)
    }

    /// Memory on it. The emulator reports reads of what was never written.
    #[pyo3(signature = (shape, dtype = "f32"))]
    fn empty(&self, py: Python<'_>, shape: Vec<usize>, dtype: &str) -> PyResult<Tensor> {
        let made = dtype_named(dtype).and_then(|dtype| {
            let (buffer, arg) = allocate(&self.device(py)?, "tensor", dtype, &shape)?;
            Ok(Tensor::new(Memory::Device(buffer), arg, self.place))
        });
        made.map_err(|e| e.raise(py, &[]))
    }

    /// A dense copy of an array in the host's memory; `dtype` says what its bits mean where the array can not.
    #[pyo3(signature = (array, dtype = None))]
    fn tensor(&self, py: Python<'_>, array: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Tensor> {
        let copy = || {
            let from = Tensor::of(array, "array")?;
            let dtype = dtype.map_or(Ok(from.arg().dtype), dtype_named)?;
            let from = from.with_dtype(dtype, "dtype")?;
            let (buffer, arg) = allocate(&self.device(py)?, "array", dtype, &from.arg().shape)?;
            buffer.upload(&from.bytes()?)?;
            Ok(Tensor::new(Memory::Device(buffer), arg, self.place))
        };
        copy().map_err(|e: Failure| e.raise(py, &[]))
    }

    fn __repr__(&self) -> String {
        format!("warpsmith.Device({:?})", self.place.name())
    }
}

/// The dtype of a name, as errors show it.
pub(crate) fn dtype_named(name: &str) -> Result<DType, Failure> {
    // As NumPy and PyTorch spell some.
    let ours = match name.rsplit('.').next().unwrap_or(name) {
        "float32" => "f32",
        "float16" | "half" => "f16",
        "bfloat16" => "bf16",
        "float64" => "f64",
        "int32" => "i32",
        "int64" => "i64",
        other => other,
    };
    ours.parse().map_err(|_| {
        let all: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
        unexpected("dtype", format!("one of {}", all.join(", ")), name).into()
    })
}

fn allocate(
    device: &runtime::Device,
    name: &str,
    dtype: DType,
    shape: &[usize],
) -> Result<(Buffer, TensorArg), Failure> {
    let bytes = bytes_of(dtype, shape)?;
    let buffer = device.allocate(bytes, name)?;
    let arg = TensorArg::new(buffer.address(), device.info().id.into(), dtype, shape);
    Ok((buffer, arg))
}

/// Bytes of a dense tensor.
pub(crate) fn bytes_of(dtype: DType, shape: &[usize]) -> Result<usize, Failure> {
    let bytes = shape.iter().try_fold(dtype.bytes(), |all, n| all.checked_mul(*n));
    bytes.ok_or_else(|| unexpected("shape", "fewer elements than there are addresses", format!("{shape:?}")).into())
}

/// The CUDA cards of this machine; empty where there is no driver.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<String> {
    let count = py.detach(runtime::Device::cuda_count).unwrap_or(0);
    (0..count).map(|n| DeviceId::Cuda(n).to_string()).collect()
}

/// The memory of an array in the host's memory, its elements taken for another dtype of the same width: bf16 of uint16.
#[pyfunction]
pub(crate) fn view(py: Python<'_>, array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Tensor> {
    let view = || Tensor::of(array, "array")?.with_dtype(dtype_named(dtype)?, "dtype");
    view().map_err(|e: Failure| e.raise(py, &[]))
}

/// Memory of the host, aligned to 64 bytes, zeroed.
#[pyfunction]
#[pyo3(signature = (shape, dtype = "f32"))]
pub(crate) fn empty(py: Python<'_>, shape: Vec<usize>, dtype: &str) -> PyResult<Tensor> {
    dtype_named(dtype).and_then(|dtype| Tensor::on_host(dtype, &shape)).map_err(|e| e.raise(py, &[]))
}

type Description<'py> = (String, u64, &'static str, Bound<'py, PyTuple>, Bound<'py, PyTuple>);

/// How a tensor is seen here: place, address, dtype, shape, strides in elements.
#[pyfunction]
pub(crate) fn describe<'py>(py: Python<'py>, tensor: &Bound<'py, PyAny>) -> PyResult<Description<'py>> {
    let mut arg = TensorArg::new(0, Place::Host.id(), DType::F32, &[]);
    let operand = Operand::read(tensor, "tensor", None, &mut arg).map_err(|e| e.raise(py, &[]))?;
    let (shape, strides) = (PyTuple::new(py, &arg.shape)?, PyTuple::new(py, &arg.strides)?);
    Ok((operand.place.name(), arg.address, arg.dtype.name(), shape, strides))
}

/// The raw stream that a call with `stream=None` would take for it.
#[pyfunction]
pub(crate) fn current_stream(py: Python<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<u64> {
    let mut arg = TensorArg::new(0, Place::Host.id(), DType::F32, &[]);
    let operand = Operand::read(tensor, "tensor", None, &mut arg).map_err(|e| e.raise(py, &[]))?;
    match operand.place {
        Place::Card(card) => operand.source.current(py, card),
        _ => Ok(0),
    }
}
