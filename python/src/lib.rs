//! The Python package's extension module: operators on tensors of PyTorch, CuPy, JAX and NumPy, where they lie.
//!
//! | file | what |
//! |---|---|
//! | `function`, `parameter` | functions that read their arguments where Python has them |
//! | `operand` | from an object to a tensor as a launch takes it |
//! | `exchange`, `dlpack`, `export` | DLPack: its C exchange API, its structures, and our own tensors for others |
//! | `place`, `stream` | devices by where memory is, and other libraries' streams |
//! | `call` | a call: which of card, emulator and reference it runs on |
//! | `rows` | tensors of any rank as rows |
//! | `stage` | tensors of the host, copied to a device that is asked for |
//! | `host` | the host's memory, for the reference |
//! | `operators` | what there is to call |
//! | `device`, `tensor` | the two classes |
//! | `error` | errors as exceptions |
//!
//! Addresses come from Python, so that this crate has `unsafe` code, at the edge: an address is of memory that its owner
//! keeps as long as a call.

mod call;
mod device;
mod dlpack;
mod error;
mod exchange;
mod export;
mod function;
mod host;
mod operand;
mod operators;
mod parameter;
mod place;
mod rows;
mod stage;
mod stream;
mod tensor;

use pyo3::prelude::*;

/// The operators as the kernels have them: every tensor is given, outputs too, and nothing is allocated.
#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::device::{Device, current_stream, describe, devices, empty, view};
    #[pymodule_export]
    use super::operators::norm::norm_workspace;
    #[pymodule_export]
    use super::tensor::Tensor;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        operators::norm::rms_norm_fwd::add(module)?;
        operators::norm::layer_norm_fwd::add(module)?;
        operators::norm::norm_bwd::add(module)?;
        operators::softmax::softmax_fwd::add(module)?;
        operators::softmax::softmax_bwd::add(module)?;
        operators::cross_entropy::cross_entropy_fwd::add(module)?;
        operators::cross_entropy::cross_entropy_bwd::add(module)
    }
}
