//! PTX to a cubin, by `ptxas`.

use super::compile::CompileReport;
use super::tool::{Scratch, Tool, ToolError};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpsmith_types::Target;

/// `ptxas`.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

/// Machine code for one target, and what the assembler said.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// The machine code, an ELF file, with line information.
    pub bytes: Vec<u8>,
    /// What it is for.
    pub target: Target,
    /// The verbose log.
    pub log: String,
    /// How long the assembler took, its start included.
    pub time: Duration,
}

impl Assembler {
    /// The one that [`Tool::find`] finds.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Assembler, ToolError> {
        Ok(Assembler { path: Tool::Ptxas.find()? })
    }

    /// The one at a path.
    pub(crate) fn at(path: PathBuf) -> Assembler {
        Assembler { path }
    }

    /// Assembles a module. The code is what it would be without line information.
    ///
    /// # Errors
    /// [`ToolError::Refused`] with the assembler's messages and their lines of the PTX.
    pub fn assemble(&self, ptx: &str, target: Target) -> Result<Cubin, ToolError> {
        let (input, output) = (Scratch::holding("ptx", ptx.as_bytes())?, Scratch::new("cubin"));
        let arch = format!("-arch={target}");
        let options = ["-v", "-lineinfo", &arch, "-o"].map(OsStr::new);
        let files = [output.path.as_os_str(), input.path.as_os_str()];
        let start = Instant::now();
        let run = Tool::Ptxas.run(&self.path, options.into_iter().chain(files))?;
        let time = start.elapsed();
        // Messages name our scratch file, which means nothing to their reader.
        let log = String::from_utf8_lossy(&run.stderr).replace(&format!("ptxas {}, ", input.path.display()), "");
        if !run.status.success() {
            return Err(ToolError::Refused { target, log: log.trim_end().into() });
        }
        Ok(Cubin { bytes: output.read()?, target, log, time })
    }
}

impl Cubin {
    /// What the assembler said of a kernel.
    pub fn report(&self, kernel: &str) -> CompileReport {
        let report = CompileReport::from_log(&self.log, kernel);
        CompileReport { cubin: Some(self.bytes.len()), time: self.time, ..report }
    }
}
