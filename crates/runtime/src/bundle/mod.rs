//! Bundles: the machine code of many kernels in one read-only file, so that a deployment assembles nothing.
//!
//! [`Bundle::compile`] makes one for chips that need not be there; with [`VARIABLE`] set to its path, a process looks there
//! before it looks in its [cache](crate::cache). An entry is that of the cache, with its checksum, and found by the hash of
//! the PTX: code of another version of a kernel is never taken for it. What is damaged is told, and assembled as ever.
//!
//! | file | what |
//! |---|---|
//! | `format` | the file as bytes |
//! | `compile` | from requests to a bundle |

mod compile;
mod format;

pub use compile::{BundleError, Compiled, Reason, Refused};
pub use format::{Content, Damaged, Form};

use crate::cache::{Code, Key, Trouble};
use crate::counters;
use format::Index;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};
use warpsmith_types::Target;

/// The variable that names the bundle of a process.
pub const VARIABLE: &str = "WARPSMITH_BUNDLE";

/// A bundle in memory.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    bytes: Vec<u8>,
    index: Index,
}

/// Why a file can not be used as a bundle.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It can not be read.
    #[error("the bundle {}: {error}", path.display())]
    Read {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is there is no bundle.
    #[error("the bundle {}: {damaged}", path.display())]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        damaged: Damaged,
    },
}

static PROCESS: OnceLock<Result<Option<Bundle>, Trouble>> = OnceLock::new();

impl Bundle {
    /// Reads a bundle; entries are checked when they are taken.
    ///
    /// # Errors
    /// When the file can not be read, or its head is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Bundle, OpenError> {
        let path = path.into();
        match fs::read(&path) {
            Err(error) => Err(OpenError::Read { path, error }),
            Ok(bytes) => match Index::read(&bytes) {
                Ok(index) => Ok(Bundle { path, bytes, index }),
                Err(damaged) => Err(OpenError::Damaged { path, damaged }),
            },
        }
    }

    /// The bundle of this process, by [`VARIABLE`] or [`Bundle::install`]. `None` when there is none, or it can not be used:
    /// then [`Bundle::refused`] says why.
    pub fn process() -> Option<&'static Bundle> {
        Bundle::found().as_ref().ok().and_then(Option::as_ref)
    }

    /// Why the bundle that the environment names can not be used.
    pub fn refused() -> Option<&'static Trouble> {
        Bundle::found().as_ref().err()
    }

    fn found() -> &'static Result<Option<Bundle>, Trouble> {
        PROCESS.get_or_init(|| {
            let Some(path) = env::var_os(VARIABLE).filter(|v| !v.is_empty()) else { return Ok(None) };
            let path = PathBuf::from(path);
            Bundle::open(&path).map(Some).map_err(|e| {
                tracing::warn!(error = %e, "kernels are assembled without the bundle");
                Trouble { path, problem: e.to_string() }
            })
        })
    }

    /// Makes this the bundle of the process, before any kernel is loaded. Whether that is so: the first one stays.
    pub fn install(self) -> bool {
        PROCESS.set(Ok(Some(self))).is_ok()
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    pub fn contents(&self) -> &[Content] {
        self.index.contents()
    }

    /// The machine code of PTX for a target, when it is here and whole.
    pub fn find(&self, ptx: &str, entry: &str, target: Target) -> Option<Code> {
        let key = key(ptx, entry, target);
        let content = self.index.find(&key).filter(|c| c.form == Form::MachineCode)?;
        match Code::from_bytes(&key, self.bytes.get(content.range())?) {
            Ok(code) => {
                counters::BUNDLED.add(1);
                Some(code)
            }
            Err(damage) => {
                tracing::warn!(path = %self.path.display(), kernel = entry, problem = %damage, "bundle");
                None
            }
        }
    }
}

/// What an entry is found by: the same as in the cache, of no assembler in particular.
fn key(ptx: &str, entry: &str, target: Target) -> Key {
    Key::new(ptx, entry, target, "bundle", "", false)
}
