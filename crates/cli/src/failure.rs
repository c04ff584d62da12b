//! What goes wrong, in one line, and the exit code that says which kind it was.

use crate::tensor_file::FileError;
use std::path::PathBuf;
use warpsmith::runtime::report::ToolError;
use warpsmith::runtime::{Error, LaunchError};

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An operator that does not exist.
    #[error("there is no operator `{name}`; {}", suggestion(.nearest))]
    UnknownOperator {
        /// What was typed.
        name: String,
        /// The nearest name, when one is near.
        nearest: Option<&'static str>,
    },
    /// A tensor file.
    #[error("{0}")]
    File(#[from] FileError),
    /// Another file.
    #[error("{}: can not be read: {error}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file to be written.
    #[error("{}: can not be written: {error}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// An option that does not go with the rest.
    #[error("{0}")]
    Option(String),
    /// The arguments of the operator, or its kernel.
    #[error("{0}")]
    Launch(LaunchError),
    /// The device.
    #[error("{0}")]
    Device(#[from] Error),
    /// NVIDIA's assembler or disassembler.
    #[error("{0}")]
    Tool(#[from] ToolError),
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(n) => format!("did you mean `{n}`?"),
        None => format!("there are {}", crate::operator::names().join(", ")),
    }
}

impl From<LaunchError> for Failure {
    fn from(e: LaunchError) -> Failure {
        match e {
            LaunchError::Device(e) => Failure::Device(e),
            other => Failure::Launch(other),
        }
    }
}

impl Failure {
    /// 2 for bad input, 3 for a device that failed.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Device(Error::Driver { .. } | Error::DeviceLost { .. } | Error::OutOfMemory { .. }) => 3,
            _ => 2,
        }
    }
}
