//! Tensors in files: `.safetensors` and `.npy`, told apart by the name's ending.

mod npy;
mod safetensors;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use warpsmith_types::DType;

/// A tensor in the host's memory, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// What its elements are.
    pub(crate) dtype: DType,
    /// Its extents, the outermost first.
    pub(crate) shape: Vec<usize>,
    /// Its elements, little-endian.
    pub(crate) bytes: Vec<u8>,
}

/// The kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    SafeTensors,
    Npy,
}

/// Reads a tensor. `name` chooses one of a `.safetensors` file, and is not needed when there is only one.
pub(crate) fn read(path: &Path, name: Option<&str>) -> Result<Tensor, FileError> {
    match format(path)? {
        Format::SafeTensors => safetensors::read(path, name),
        Format::Npy => match name {
            Some(name) => Err(FileError::new(path, Problem::Unnamed { name: name.into() })),
            None => npy::read(path),
        },
    }
}

/// The same, for those who compute with f32, f16 or bf16 only.
pub(crate) fn read_float(path: &Path, name: Option<&str>) -> Result<Tensor, FileError> {
    let tensor = read(path, name)?;
    match tensor.dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(tensor),
        other => {
            let problem = Problem::DType { got: other.to_string(), expected: "f32, f16 or bf16" };
            Err(FileError::new(path, problem))
        }
    }
}

/// Writes a tensor, as `name` where the file has names. Gives the dtype that it was written as: `.npy` has no bf16, so
/// that becomes f32, which holds every bf16 value.
pub(crate) fn write(path: &Path, name: &str, tensor: &Tensor) -> Result<DType, FileError> {
    match format(path)? {
        Format::SafeTensors => safetensors::write(path, name, tensor),
        Format::Npy => npy::write(path, tensor),
    }
}

fn format(path: &Path) -> Result<Format, FileError> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => Ok(Format::SafeTensors),
        Some("npy") => Ok(Format::Npy),
        _ => Err(FileError::new(path, Problem::Extension)),
    }
}

/// What is wrong with a file.
#[derive(Debug)]
pub(crate) struct FileError {
    path: PathBuf,
    problem: Problem,
}

/// One line each, to follow the file's name.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("a tensor file ends in .safetensors or .npy")]
    Extension,
    #[error("can not be read: {0}")]
    Read(io::Error),
    #[error("can not be written: {0}")]
    Write(io::Error),
    #[error("is no {kind} file: {reason}")]
    Malformed { kind: &'static str, reason: String },
    #[error("is truncated: {found} bytes, its header speaks of {expected}")]
    Truncated { found: u64, expected: u64 },
    #[error("is longer than its header says: {found} bytes, not {expected}")]
    Overlong { found: u64, expected: u64 },
    #[error("has no tensors")]
    Empty,
    #[error("has no tensor `{name}`; it has {}", list(.names))]
    NoTensor { name: String, names: Vec<String> },
    #[error("has several tensors; choose one by name: {}", list(.names))]
    Several { names: Vec<String> },
    #[error("has one tensor without a name; `{name}` can not be chosen")]
    Unnamed { name: String },
    #[error("elements of {got} are not supported; expected {expected}")]
    DType { got: String, expected: &'static str },
    #[error("is in Fortran order; save it in C order (numpy.ascontiguousarray)")]
    FortranOrder,
}

impl FileError {
    fn new(path: &Path, problem: Problem) -> FileError {
        FileError { path: path.into(), problem }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for FileError {}

/// Names in backticks; the first dozen when there are many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests;
