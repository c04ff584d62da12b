//! NVIDIA's tools: where they are, and what their absence costs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use warpsmith_types::Target;

/// A program of NVIDIA's toolkit. `scripts/fetch_ptxas.sh` fetches both without the toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// The assembler, from PTX to machine code.
    Ptxas,
    /// The disassembler.
    Nvdisasm,
}

impl Tool {
    /// The program's name.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Ptxas => "ptxas",
            Tool::Nvdisasm => "nvdisasm",
        }
    }

    /// The environment variable that says where it is.
    pub const fn variable(self) -> &'static str {
        match self {
            Tool::Ptxas => "WARPSMITH_PTXAS",
            Tool::Nvdisasm => "WARPSMITH_NVDISASM",
        }
    }

    /// What is not to be had without it.
    pub const fn cost(self) -> &'static str {
        match self {
            Tool::Ptxas => {
                "kernels are compiled by a card's driver alone, and for that card; tests of machine code skip"
            }
            Tool::Nvdisasm => "machine code can not be shown, and tests of it skip",
        }
    }

    const fn other(self) -> Tool {
        match self {
            Tool::Ptxas => Tool::Nvdisasm,
            Tool::Nvdisasm => Tool::Ptxas,
        }
    }

    /// Looks where its variable says; without one on `PATH`, in `bin` of `CUDA_HOME` and of `CUDA_PATH`, and beside the
    /// other tool when that one's variable is set.
    ///
    /// # Errors
    /// When it is in none of these, or the variable names no file.
    pub fn find(self) -> Result<PathBuf, ToolError> {
        self.search(|variable| env::var_os(variable))
    }

    fn search(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, ToolError> {
        let set = |name: &str| variable(name).filter(|v| !v.is_empty());
        if let Some(path) = set(self.variable()).map(PathBuf::from) {
            return if path.is_file() { Ok(path) } else { Err(ToolError::NoFile { tool: self, path }) };
        }
        let path = set("PATH").unwrap_or_default();
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(&set).map(|home| PathBuf::from(home).join("bin"));
        let beside = set(self.other().variable()).and_then(|other| Some(Path::new(&other).parent()?.to_path_buf()));
        let folders = env::split_paths(&path).chain(homes).chain(beside);
        folders
            .map(|folder| folder.join(self.name()))
            .find(|file| file.is_file())
            .ok_or(ToolError::Missing { tool: self })
    }

    /// What it says of its release: "release 13.0, V13.0.48".
    ///
    /// # Errors
    /// When it can not be started.
    pub fn version(self, path: &Path) -> Result<String, ToolError> {
        let output = self.run(path, [OsStr::new("--version")])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|l| l.contains("release")).unwrap_or("of an unknown release");
        Ok(line.split_once(", ").map_or(line, |(_, rest)| rest).trim().into())
    }

    /// Runs it to its end.
    pub(super) fn run<'a>(
        self,
        path: &Path,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<Output, ToolError> {
        let output = Command::new(path).args(arguments).output();
        output.map_err(|error| ToolError::Run { tool: self, path: path.into(), error })
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why there is no report or no machine code.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not on this machine.
    #[error(
        "{tool} not found: {} is not set, and there is none on PATH or in CUDA_HOME/bin; scripts/fetch_ptxas.sh fetches it \
         (without it, {})", tool.variable(), tool.cost()
    )]
    Missing {
        /// Which.
        tool: Tool,
    },
    /// Its variable names no file.
    #[error("{} is {}, where there is no file", tool.variable(), path.display())]
    NoFile {
        /// Which.
        tool: Tool,
        /// What the variable says.
        path: PathBuf,
    },
    /// It could not be started.
    #[error("{} does not run: {error}", path.display())]
    Run {
        /// Which.
        tool: Tool,
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that it was to read or to write.
    #[error("the scratch file {}: {error}", path.display())]
    Scratch {
        /// Where it is.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// The assembler does not take the PTX.
    #[error("ptxas refuses the PTX for {target}:\n{log}")]
    Refused {
        /// What it was to be compiled for.
        target: Target,
        /// What it said, with lines of the PTX.
        log: String,
    },
    /// The disassembler does not take the machine code.
    #[error("nvdisasm refuses the machine code: {log}")]
    Unreadable {
        /// What it said.
        log: String,
    },
}

/// A file of this process alone, removed when it is dropped.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

impl Scratch {
    pub(super) fn new(ending: &str) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Scratch { path: env::temp_dir().join(format!("warpsmith-{process}-{number}.{ending}")) }
    }

    pub(super) fn holding(ending: &str, contents: &[u8]) -> Result<Scratch, ToolError> {
        let scratch = Scratch::new(ending);
        std::fs::write(&scratch.path, contents).map_err(|e| scratch.failed(e))?;
        Ok(scratch)
    }

    pub(super) fn read(&self) -> Result<Vec<u8>, ToolError> {
        std::fs::read(&self.path).map_err(|e| self.failed(e))
    }

    fn failed(&self, error: io::Error) -> ToolError {
        ToolError::Scratch { path: self.path.clone(), error }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a file called `ptxas`, and one in `bin` below it.
    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("warpsmith-tool-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::write(folder.join("ptxas"), "").unwrap();
        std::fs::write(folder.join("bin/ptxas"), "").unwrap();
        folder
    }

    #[test]
    fn a_tool_is_looked_for_in_order() {
        let here = folder("order");
        let search = |set: &[(&str, PathBuf)]| {
            let found = Tool::Ptxas.search(|v| set.iter().find(|(n, _)| *n == v).map(|(_, p)| p.clone().into()));
            found.map_err(|e| e.to_string())
        };
        let none = PathBuf::from("/no/such");
        assert_eq!(search(&[("CUDA_HOME", here.clone())]), Ok(here.join("bin/ptxas")));
        assert_eq!(search(&[("PATH", here.clone()), ("CUDA_HOME", here.clone())]), Ok(here.join("ptxas")));
        assert_eq!(search(&[("WARPSMITH_NVDISASM", here.join("nvdisasm"))]), Ok(here.join("ptxas")));
        let exact = here.join("bin/ptxas");
        assert_eq!(search(&[("PATH", here.clone()), ("WARPSMITH_PTXAS", exact.clone())]), Ok(exact));
        assert_eq!(
            search(&[("PATH", here.clone()), ("WARPSMITH_PTXAS", none.clone())]),
            Err("WARPSMITH_PTXAS is /no/such, where there is no file".into())
        );
        let missing = search(&[("PATH", none), ("WARPSMITH_PTXAS", PathBuf::new())]).unwrap_err();
        assert!(missing.starts_with("ptxas not found: WARPSMITH_PTXAS is not set"), "{missing}");
        assert!(missing.contains("scripts/fetch_ptxas.sh"), "{missing}");
        std::fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn a_scratch_file_goes_away() {
        let scratch = Scratch::holding("txt", b"x").unwrap();
        let path = scratch.path.clone();
        assert_eq!(scratch.read().unwrap(), b"x");
        drop(scratch);
        assert!(!path.exists());
        assert!(matches!(Scratch::new("txt").read(), Err(ToolError::Scratch { .. })));
    }
}
