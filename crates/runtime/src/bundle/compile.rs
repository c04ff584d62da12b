//! From requests to a bundle.

use super::format::{Entry, Form, write};
use super::{Bundle, key};
use crate::cache::{Code, write_whole};
use crate::prepare::{Request, side_by_side};
use crate::report::{Assembler, ToolError};
use std::io;
use std::path::{Path, PathBuf};
use warpsmith_dsl::CompileError;
use warpsmith_types::Target;

/// Why a bundle could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A kernel does not compile.
    #[error("`{}` for {}: {}", .0.kernel, .0.target, .0.reason)]
    Kernel(Box<Refused>),
    /// The file can not be written.
    #[error("the bundle {}: {error}", path.display())]
    Write {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// A kernel that a target does not take.
#[derive(Debug)]
pub struct Refused {
    /// Its name.
    pub kernel: String,
    /// The target.
    pub target: Target,
    /// Why.
    pub reason: Reason,
}

/// Why a kernel does not compile.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no PTX for it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// `ptxas` refuses it, or does not run.
    #[error(transparent)]
    Assemble(#[from] ToolError),
}

/// A bundle that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Kernels in it, one for each target that it is for.
    pub kernels: usize,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it holds: machine code, or PTX where there was no assembler.
    pub form: Form,
}

impl Bundle {
    /// Compiles each request for its target and writes all of them to a file: machine code by the assembler, PTX without
    /// one. No card is needed. The file is there whole or not at all, and read-only.
    ///
    /// # Errors
    /// The first kernel that does not compile, or why the file can not be written.
    pub fn compile(
        path: &Path,
        requests: &[(Request<'_>, Target)],
        assembler: Option<&Assembler>,
    ) -> Result<Compiled, BundleError> {
        let each = |(request, target): &(Request<'_>, Target)| {
            let refused = |reason| {
                let kernel = request.name().into();
                BundleError::Kernel(Box::new(Refused { kernel, target: *target, reason }))
            };
            one(request, *target, assembler).map_err(refused)
        };
        let entries = side_by_side(requests, each).into_iter().collect::<Result<Vec<_>, _>>()?;
        let form = if assembler.is_some() { Form::MachineCode } else { Form::Ptx };
        let file = write(entries);
        let kernels = super::format::Index::read(&file).map_or(0, |i| i.contents().len());
        match write_whole(path, &file, 0o444) {
            Ok(()) => Ok(Compiled { kernels, bytes: file.len() as u64, form }),
            Err(error) => Err(BundleError::Write { path: path.into(), error }),
        }
    }
}

fn one(request: &Request<'_>, target: Target, assembler: Option<&Assembler>) -> Result<Entry, Reason> {
    let compiled = request.compile(target)?;
    let ptx = compiled.module.to_string();
    let key = key(&ptx, &compiled.entry, target);
    let (form, code) = match assembler {
        Some(assembler) => {
            let cubin = assembler.assemble(&ptx, target)?;
            (Form::MachineCode, Code { cubin: cubin.bytes, log: cubin.log })
        }
        None => (Form::Ptx, Code { cubin: ptx.into_bytes(), log: String::new() }),
    };
    Ok(Entry { key, kernel: compiled.entry, target, form, bytes: code.to_bytes(&key) })
}
