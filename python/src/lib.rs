//! The Python package's extension module: operators on tensors of PyTorch, CuPy, JAX and NumPy, where they lie.

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
