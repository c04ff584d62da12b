//! One assembler a key: among this process's threads by a mutex, among processes by a lock of a file, which the system
//! takes back from a process that dies.

use super::folder::Folder;
use super::key::Key;
use rustc_hash::FxHashSet;
use std::fs::File;
use std::sync::{Condvar, Mutex, PoisonError};

/// The keys that threads of this process are busy with.
#[derive(Debug, Default)]
pub(super) struct Locks {
    busy: Mutex<FxHashSet<Key>>,
    freed: Condvar,
}

/// A key's lock, for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock<'c> {
    locks: &'c Locks,
    key: Key,
    /// The locked file; closing it unlocks it.
    file: Result<File, String>,
}

impl Locks {
    /// Waits for the key's lock. Where the file can not be locked, the lock is this process's alone.
    pub(super) fn take(&self, key: &Key, folder: &Folder) -> Lock<'_> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        while !busy.insert(*key) {
            busy = self.freed.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        drop(busy);
        // From here on the key is given back, whatever happens.
        let mut lock = Lock { locks: self, key: *key, file: Err(String::new()) };
        lock.file =
            folder.lock(key).map_err(|e| format!("can not be locked ({e}); other processes may assemble it, too"));
        lock
    }
}

impl Lock<'_> {
    /// Why other processes are not kept out.
    pub(super) fn problem(&self) -> Option<String> {
        self.file.as_ref().err().cloned()
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.file = Err(String::new());
        self.locks.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locks.freed.notify_all();
    }
}
