//! Errors as Python exceptions: classes of `warpsmith.errors`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpsmith::dsl::{ArgumentError, CompileError};
use warpsmith::runtime::{Error, LaunchError, LaunchOutcome};
use warpsmith::types::Severity;

/// Names of arguments in kernels, and in Python where they differ.
pub(crate) type Names = [(&'static str, &'static str)];

/// Why a call failed.
pub(crate) enum Failure {
    /// An argument's.
    Argument(ArgumentError),
    /// A launch's.
    Launch(LaunchError),
    /// The device's.
    Device(Error),
    /// One that is Python's already.
    Python(PyErr),
}

impl From<ArgumentError> for Failure {
    fn from(e: ArgumentError) -> Failure {
        Failure::Argument(e)
    }
}

impl From<LaunchError> for Failure {
    fn from(e: LaunchError) -> Failure {
        Failure::Launch(e)
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Device(e)
    }
}

impl From<PyErr> for Failure {
    fn from(e: PyErr) -> Failure {
        Failure::Python(e)
    }
}

impl Failure {
    /// As an exception, by the names that the call's parameters have in Python.
    pub(crate) fn raise(self, py: Python<'_>, names: &Names) -> PyErr {
        match self {
            Failure::Argument(e) => argument(py, vec![e], names),
            Failure::Launch(LaunchError::Compile(CompileError::Arguments(all))) => argument(py, all, names),
            Failure::Launch(LaunchError::Device(e)) | Failure::Device(e) => exception(py, "DeviceError", e.to_string()),
            Failure::Launch(e @ LaunchError::Compile(_)) => exception(py, "CompileError", e.to_string()),
            Failure::Python(e) => e,
        }
    }
}

/// An exception of a class of `warpsmith.errors`.
pub(crate) fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made = py.import("warpsmith.errors").and_then(|m| m.getattr(class)?.call1((message,)));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// An argument that is not what it should be.
pub(crate) fn unexpected(name: &'static str, expected: impl Into<String>, got: impl Into<String>) -> ArgumentError {
    ArgumentError::Unexpected { name, expected: expected.into(), got: got.into() }
}

/// Something that is no tensor at all.
pub(crate) fn no_tensor(name: &str, got: &Bound<'_, PyAny>) -> PyErr {
    let what = got.get_type().fully_qualified_name().map_or_else(|_| "something else".into(), |n| n.to_string());
    PyTypeError::new_err(format!("`{name}`: expected a tensor with DLPack or a NumPy array, got {what}"))
}

fn argument(py: Python<'_>, mut all: Vec<ArgumentError>, names: &Names) -> PyErr {
    for e in &mut all {
        rename(e, names);
    }
    let message = all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let error = exception(py, "ArgumentError", message);
    if let Some(name) = all.first().map(name) {
        // An exception without it says the same.
        let _ = error.value(py).setattr("argument", name);
    }
    error
}

/// Kernels call some arguments otherwise than Python does.
fn rename(e: &mut ArgumentError, names: &Names) {
    let new = |name: &mut &'static str| {
        if let Some((_, python)) = names.iter().find(|(kernel, _)| kernel == name) {
            *name = python;
        }
    };
    match e {
        ArgumentError::Disagree { name, other, .. } | ArgumentError::Device { name, other, .. } => {
            new(name);
            new(other);
        }
        ArgumentError::Alias { output, input } => {
            new(output);
            new(input);
        }
        ArgumentError::Rank { name, .. }
        | ArgumentError::InnerStride { name, .. }
        | ArgumentError::Overlapping { name, .. }
        | ArgumentError::Misaligned { name, .. }
        | ArgumentError::TooLarge { name, .. }
        | ArgumentError::Unexpected { name, .. } => new(name),
    }
}

fn name(e: &ArgumentError) -> &'static str {
    match e {
        ArgumentError::Alias { output, .. } => output,
        ArgumentError::Rank { name, .. }
        | ArgumentError::Disagree { name, .. }
        | ArgumentError::Device { name, .. }
        | ArgumentError::InnerStride { name, .. }
        | ArgumentError::Overlapping { name, .. }
        | ArgumentError::Misaligned { name, .. }
        | ArgumentError::TooLarge { name, .. }
        | ArgumentError::Unexpected { name, .. } => name,
    }
}

/// What the emulator found: errors as an exception, the rest as warnings.
pub(crate) fn judge(py: Python<'_>, outcome: &LaunchOutcome) -> PyResult<()> {
    if outcome.findings.is_empty() {
        return Ok(());
    }
    let rendered = |severity| -> Vec<String> {
        outcome.findings.iter().filter(|f| f.severity == severity).map(|f| f.render()).collect()
    };
    let errors = rendered(Severity::Error);
    if errors.is_empty() {
        let warn = py.import("warnings")?.getattr("warn")?;
        let class = py.import("warpsmith.errors")?.getattr("SanitizerWarning")?;
        for text in rendered(Severity::Warning) {
            warn.call1((text, &class))?;
        }
        return Ok(());
    }
    let error = exception(py, "SanitizerError", errors.join("\n"));
    error.value(py).setattr("findings", PyTuple::new(py, errors)?)?;
    Err(error)
}
