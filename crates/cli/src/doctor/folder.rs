//! The compile cache on disk.

use serde::Serialize;
use std::fmt;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use warpsmith_runtime::cache::{Cache, DEFAULT_BYTES, SIZE_VARIABLE};

/// What was found of it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Folder {
    /// Not wanted, or there is no home for it.
    Off,
    /// It can not be used.
    Refused { path: PathBuf, problem: String },
    /// It is used.
    Open {
        path: PathBuf,
        entries: usize,
        bytes: u64,
        /// Bytes that entries may take.
        room: u64,
        /// Who may read and write it, on Unix.
        mode: Option<u32>,
        /// What is wrong with it, and stops nothing.
        troubles: Vec<String>,
    },
}

impl Folder {
    /// Opens it as the first kernel would, which makes it.
    pub(super) fn examine() -> Folder {
        if let Some(refused) = Cache::refused() {
            return Folder::Refused { path: refused.path.clone(), problem: refused.problem.clone() };
        }
        let Some(cache) = Cache::process() else { return Folder::Off };
        let (entries, bytes) = contents(cache.path());
        let mib = std::env::var(SIZE_VARIABLE).ok().and_then(|n| n.parse::<u64>().ok());
        Folder::Open {
            path: cache.path().into(),
            entries,
            bytes,
            room: mib.map_or(DEFAULT_BYTES, |n| n.saturating_mul(1 << 20)),
            mode: mode(cache.path()),
            troubles: cache.troubles().iter().map(ToString::to_string).collect(),
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Folder::Off => f.write_str("off"),
            Folder::Refused { path, problem } => write!(f, "{}: {problem}", path.display()),
            Folder::Open { path, entries, bytes, room, mode, .. } => {
                let s = if *entries == 1 { "entry" } else { "entries" };
                let (size, room) = (super::size(*bytes), super::size(*room));
                write!(f, "{}: {entries} {s}, {size} of {room}", path.display())?;
                mode.map_or(Ok(()), |mode| write!(f, ", mode {mode:04o}"))
            }
        }
    }
}

/// Entries and their bytes: files of the folders in it, but those of locks, and those that are being written.
fn contents(folder: &Path) -> (usize, u64) {
    let list = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let is_entry = |e: &DirEntry| !e.file_name().to_string_lossy().starts_with("tmp-");
    let folders = list(folder.into()).filter(|e| e.file_name() != "locks" && e.path().is_dir());
    let files = folders.flat_map(|e| list(e.path()).filter(is_entry)).filter_map(|e| e.metadata().ok());
    files.filter(|m| m.is_file()).fold((0, 0), |(n, bytes), m| (n + 1, bytes + m.len()))
}

#[cfg(unix)]
fn mode(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(folder).ok().map(|m| m.mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}
