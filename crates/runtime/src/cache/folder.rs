//! The folder of the cache. Entries lie in 256 folders by the first byte of their keys, locks in one of their own.

use super::key::Key;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Locks that keys share: as many files, and no more.
const LOCKS: u16 = 1024;

/// A temporary file of a process that died is removed after so long.
const ABANDONED: Duration = Duration::from_secs(3600);

/// An entry's time of use is kept to this: reading does not write each time.
const USED: Duration = Duration::from_secs(600);

/// Of the room, what is left after some entries went.
const LEFT: u64 = 80;

/// Bytes written before the folder is looked through again, in parts of the room.
const LOOK: u64 = 20;

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Bytes that all entries may take.
    room: u64,
    /// Bytes written since the folder was looked through.
    written: AtomicU64,
}

impl Folder {
    pub(crate) fn open(path: PathBuf, room: u64) -> io::Result<Folder> {
        make(&path)?;
        owned(&path)?;
        make(&path.join("locks"))?;
        // The first write looks at what others have left.
        Ok(Folder { path, room, written: AtomicU64::new(room) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn entry_path(&self, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.path.join(&name[..2]).join(&name[2..])
    }

    pub(super) fn lock_path(&self, key: &Key) -> PathBuf {
        self.path.join("locks").join((u16::from_le_bytes([key.0[30], key.0[31]]) % LOCKS).to_string())
    }

    /// Waits for the lock that the key has with some others. Never held while waiting for another.
    pub(super) fn lock(&self, key: &Key) -> io::Result<File> {
        let file = mode_of(0o600).create(true).truncate(false).write(true).open(self.lock_path(key))?;
        file.lock()?;
        Ok(file)
    }

    /// An entry's bytes, if there is one.
    pub(crate) fn read(&self, key: &Key) -> io::Result<Option<Vec<u8>>> {
        let mut file = match File::open(self.entry_path(key)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let metadata = file.metadata()?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        let now = SystemTime::now();
        if metadata.modified().is_ok_and(|used| now.duration_since(used).is_ok_and(|since| since > USED)) {
            // So that it does not go first; who may only read does not mind.
            let _ = OpenOptions::new().write(true).open(self.entry_path(key)).and_then(|f| f.set_modified(now));
        }
        Ok(Some(bytes))
    }

    /// Writes an entry so that it is there whole or not at all.
    pub(crate) fn write(&self, key: &Key, bytes: &[u8]) -> io::Result<()> {
        let path = self.entry_path(key);
        make(path.parent().unwrap_or(&self.path))?;
        write_whole(&path, bytes, 0o600)?;
        let size = bytes.len() as u64;
        let before = self.written.fetch_add(size, Ordering::Relaxed);
        if before + size > self.room / 100 * LOOK {
            self.written.store(0, Ordering::Relaxed);
            self.shrink(&path);
        }
        Ok(())
    }

    pub(crate) fn remove(&self, key: &Key) {
        let _ = fs::remove_file(self.entry_path(key));
    }

    /// Removes those that nobody has used for longest until the rest has room, and what dead processes have left. What
    /// can not be looked at or removed stays: the next look comes.
    fn shrink(&self, keep: &Path) {
        let mut entries = vec![];
        let now = SystemTime::now();
        for folder in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            // Those of entries have two letters; there are others.
            if folder.file_name().len() != 2 {
                continue;
            }
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let Ok(metadata) = file.metadata() else { continue };
                let used = metadata.modified().unwrap_or(now);
                if file.file_name().to_string_lossy().starts_with("tmp-") {
                    if now.duration_since(used).is_ok_and(|age| age > ABANDONED) {
                        let _ = fs::remove_file(file.path());
                    }
                } else {
                    entries.push((used, metadata.len(), file.path()));
                }
            }
        }
        let mut bytes: u64 = entries.iter().map(|(_, len, _)| len).sum();
        if bytes <= self.room {
            return;
        }
        entries.sort_unstable();
        for (_, len, path) in entries {
            if bytes <= self.room / 100 * LEFT {
                break;
            }
            if path != keep && fs::remove_file(path).is_ok() {
                bytes -= len;
            }
        }
    }
}

/// Writes a file so that it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!("tmp-{}-{number}", std::process::id()));
    let written = mode_of(mode).create_new(true).write(true).open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes a folder for its owner alone, and those around it.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// How files of a mode are opened.
fn mode_of(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

/// Refuses a folder that others may write to: what is in it runs.
fn owned(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (folder, home) = (fs::metadata(path)?, fs::metadata("/proc/self"));
        let refuse =
            |what: &str| Err(io::Error::new(ErrorKind::PermissionDenied, format!("{what}; its code would run here")));
        if folder.mode() & 0o022 != 0 {
            return refuse("others may write to the folder");
        }
        if home.is_ok_and(|me| me.uid() != folder.uid()) {
            return refuse("the folder is another user's");
        }
    }
    Ok(())
}
