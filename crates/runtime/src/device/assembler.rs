//! Who turns PTX into a card's code.

use crate::cache::Code;
use crate::driver::{self, Context, driver};
use crate::error::Error;
use crate::report::{self, Tool, ToolError};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, fs};

/// The variable that chooses: `driver`, or `ptxas`.
const VARIABLE: &str = "WARPSMITH_ASSEMBLER";
/// The variable that asks for code whose lines of source are those of this build, where older ones are cached.
const LINES: &str = "WARPSMITH_LINE_INFO";

/// An assembler of PTX.
#[derive(Clone, Debug)]
pub(super) enum Assembler {
    /// The driver's linker, with the driver's build.
    Driver(String),
    /// `ptxas`, with its release.
    Ptxas(report::Assembler, String),
}

impl Assembler {
    /// The one that the environment asks for.
    pub(super) fn of_process() -> Result<&'static Assembler, Error> {
        static CHOSEN: OnceLock<Assembler> = OnceLock::new();
        if let Some(chosen) = CHOSEN.get() {
            return Ok(chosen);
        }
        // A mistake is told each time; what is found is kept.
        let found = Assembler::named(env::var(VARIABLE).ok())?;
        Ok(CHOSEN.get_or_init(|| found))
    }

    fn named(name: Option<String>) -> Result<Assembler, Error> {
        match name.as_deref() {
            None | Some("" | "driver") => {
                // The version that the driver tells is CUDA's, which several builds share.
                let build = fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
                Ok(Assembler::Driver(format!("{} {}", driver()?.version, build.trim())))
            }
            Some("ptxas") => {
                let path: PathBuf = Tool::Ptxas.find()?;
                let release = Tool::Ptxas.version(&path)?;
                Ok(Assembler::Ptxas(report::Assembler::at(path), release))
            }
            Some(got) => Err(Error::Environment { variable: VARIABLE, got: got.into(), expected: "driver or ptxas" }),
        }
    }

    /// What tells its code from another's.
    pub(super) fn identity(&self) -> String {
        match self {
            Assembler::Driver(build) => format!("driver {build}"),
            Assembler::Ptxas(_, release) => format!("ptxas {release}"),
        }
    }

    pub(super) fn is_driver(&self) -> bool {
        matches!(self, Assembler::Driver(_))
    }

    /// Whether lines of source are part of what is cached.
    pub(super) fn keeps_lines(&self) -> bool {
        env::var(LINES).is_ok_and(|v| v == "1")
    }

    pub(super) fn assemble(&self, context: &Context, ptx: &str, entry: &str) -> Result<Code, Error> {
        let span = tracing::debug_span!("assemble", kernel = entry, by = self.identity());
        let _entered = span.enter();
        match self {
            Assembler::Driver(_) => {
                let linked = driver::link(context, ptx, entry)?;
                Ok(Code { cubin: linked.cubin, log: linked.log })
            }
            Assembler::Ptxas(ptxas, _) => match ptxas.assemble(ptx, context.properties.chip.target) {
                Ok(cubin) => Ok(Code { cubin: cubin.bytes, log: cubin.log }),
                Err(ToolError::Refused { target, log }) => {
                    Err(Error::Compile { entry: entry.into(), target: target.to_string(), log })
                }
                Err(e) => Err(e.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_assembler_is_refused() {
        let e = Assembler::named(Some("nvcc".into())).unwrap_err();
        assert_eq!(e.to_string(), "WARPSMITH_ASSEMBLER is `nvcc`; expected driver or ptxas");
    }
}
