//! Machine code on disk, so that a kernel is assembled once on a machine and not once a process.
//!
//! An entry is a file named by the hash of all that it depends on. It is written to a temporary file, synced and renamed,
//! so that no reader sees a part of it; a checksum tells what a crash or a bad disk left. While one process assembles a
//! key, others that want it wait for its lock, which goes with the process. Nothing here fails a launch: whatever is wrong
//! with the folder or a file, the kernel is assembled as if there were no cache, and [`Cache::troubles`] says what it was.
//!
//! | file | what |
//! |---|---|
//! | `key` | what an entry depends on |
//! | `entry` | an entry as bytes |
//! | `folder` | the folder: whose it is, what fits, what goes first |
//! | `lock` | one assembler a key, over threads and processes |

mod entry;
mod folder;
mod key;
mod lock;

pub use entry::Code;
pub use key::{Key, without_lines};

pub(crate) use folder::{Folder, write_whole};

use lock::Locks;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, fmt, io};

/// The variable that says where the cache is, or `off`.
pub const VARIABLE: &str = "WARPSMITH_CACHE";

/// Bytes that entries may take together, where [`SIZE_VARIABLE`] says nothing.
pub const DEFAULT_BYTES: u64 = 1 << 30;

/// The variable that says how many MiB entries may take.
pub const SIZE_VARIABLE: &str = "WARPSMITH_CACHE_MIB";

/// Machine code that was assembled before.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    locks: Locks,
    hits: AtomicU64,
    misses: AtomicU64,
    troubles: Mutex<Vec<Trouble>>,
}

/// Something about the cache that is not as it should be, and that no launch failed of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

/// Troubles that are kept: one folder mostly has the same one again and again.
const MOST_TROUBLES: usize = 16;

/// Where code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From disk.
    Disk,
    /// From a bundle.
    Bundle,
    /// Assembled now.
    Assembled,
}

impl Cache {
    /// A cache in a folder, which is made if it is not there, for its owner alone: it holds code that will run.
    ///
    /// # Errors
    /// When the folder can not be made, is another user's, or others may write to it.
    pub fn open(folder: impl Into<PathBuf>, bytes: u64) -> io::Result<Cache> {
        Ok(Cache {
            folder: Folder::open(folder.into(), bytes)?,
            locks: Locks::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            troubles: Mutex::default(),
        })
    }

    /// The cache of this process, by [`VARIABLE`]: `off`, or a folder; without it `warpsmith` in `XDG_CACHE_HOME`, or in
    /// `.cache` of `HOME`. `None` when it is off, or its folder can not be used: then [`Cache::refused`] says why.
    pub fn process() -> Option<&'static Cache> {
        Cache::found().as_ref().ok().and_then(Option::as_ref)
    }

    /// Why the folder of [`Cache::process`] can not be used.
    pub fn refused() -> Option<&'static Trouble> {
        Cache::found().as_ref().err()
    }

    fn found() -> &'static Result<Option<Cache>, Trouble> {
        static FOUND: OnceLock<Result<Option<Cache>, Trouble>> = OnceLock::new();
        FOUND.get_or_init(|| {
            let Some(path) = place(|name| env::var(name).ok().filter(|v| !v.is_empty())) else { return Ok(None) };
            let mib = env::var(SIZE_VARIABLE).ok().and_then(|n| n.parse::<u64>().ok());
            let bytes = mib.map_or(DEFAULT_BYTES, |n| n.saturating_mul(1 << 20));
            Cache::open(&path, bytes).map(Some).map_err(|e| Trouble { path, problem: e.to_string() })
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The code of a key: from disk, or by `assemble`, which at most one live process and thread runs for a key at a time.
    ///
    /// # Errors
    /// When `assemble` fails; never for what is wrong with the cache.
    pub fn get_or<E>(&self, key: &Key, assemble: impl FnOnce() -> Result<Code, E>) -> Result<(Code, Source), E> {
        if let Some(code) = self.find(key) {
            return Ok((code, Source::Disk));
        }
        // Whoever had the lock before may have written it meanwhile.
        let lock = self.locks.take(key, &self.folder);
        if let Some(problem) = lock.problem() {
            self.note(self.folder.lock_path(key), problem);
        } else if let Some(code) = self.find(key) {
            return Ok((code, Source::Disk));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let code = assemble()?;
        if let Err(e) = self.folder.write(key, &code.to_bytes(key)) {
            self.note(self.folder.entry_path(key), e.to_string());
        }
        Ok((code, Source::Assembled))
    }

    /// Forgets a key: what is written there does not run.
    pub fn remove(&self, key: &Key, problem: &str) {
        self.note(self.folder.entry_path(key), problem.into());
        self.folder.remove(key);
    }

    fn find(&self, key: &Key) -> Option<Code> {
        let bytes = match self.folder.read(key) {
            Ok(bytes) => bytes?,
            Err(e) => {
                self.note(self.folder.entry_path(key), e.to_string());
                return None;
            }
        };
        match Code::from_bytes(key, &bytes) {
            Ok(code) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Some(code)
            }
            Err(damage) => {
                self.remove(key, &damage.to_string());
                None
            }
        }
    }

    /// How often code was found, and how often it had to be assembled.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// What was wrong so far: damaged entries that were assembled anew, folders that could not be written.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, path: PathBuf, problem: String) {
        tracing::warn!(path = %path.display(), problem, "compile cache");
        let mut all = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = Trouble { path, problem };
        if all.len() < MOST_TROUBLES && !all.contains(&trouble) {
            all.push(trouble);
        }
    }
}

/// The folder that the environment asks for.
fn place(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    match variable(VARIABLE).as_deref() {
        Some("off" | "0") => None,
        Some(folder) => Some(folder.into()),
        None => {
            let base = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
            let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
            Some(base.or_else(home)?.join("warpsmith"))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_environment_says_where() {
        let place = |set: &[(&str, &str)]| {
            super::place(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
        };
        assert_eq!(place(&[("WARPSMITH_CACHE", "off"), ("HOME", "/h")]), None);
        assert_eq!(place(&[("WARPSMITH_CACHE", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(place(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Some("/x/warpsmith".into()));
        // The specification of these folders says to ignore relative ones.
        assert_eq!(place(&[("XDG_CACHE_HOME", "x"), ("HOME", "/h")]), Some("/h/.cache/warpsmith".into()));
        assert_eq!(place(&[]), None);
    }
}
