//! Where winners are kept: in files as robust as the cache's entries, beside them.

use super::record::{Provenance, Record};
use crate::cache::{Cache, Folder};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Bytes that records may take together; each has about one thousand.
const BYTES: u64 = 16 << 20;

/// A folder of winners. Nothing about it fails a call: what is not there or not whole is not known.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
}

impl Store {
    /// A folder, which is made if it is not there, for its owner alone.
    ///
    /// # Errors
    /// When the folder can not be made, is another user's, or others may write to it.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Store> {
        Ok(Store { folder: Folder::open(folder.into(), BYTES)? })
    }

    /// The one beside the cache of this process; `None` when there is no cache.
    pub fn process() -> Option<&'static Store> {
        static FOUND: OnceLock<Option<Store>> = OnceLock::new();
        FOUND.get_or_init(|| Store::open(Cache::process()?.path().join("tuning")).ok()).as_ref()
    }

    /// The winner of exactly these candidates, on such a card with that driver.
    pub fn find(&self, provenance: &Provenance) -> Option<Record> {
        let key = provenance.key();
        let bytes = self.folder.read(&key).ok()??;
        let record = String::from_utf8(bytes).ok().and_then(|text| Record::from_text(&text));
        match record.filter(|r| r.provenance == *provenance) {
            Some(record) => Some(record),
            None => {
                let path = self.folder.entry_path(&key);
                tracing::warn!(path = %path.display(), "a tuning record is damaged, and is forgotten");
                self.folder.remove(&key);
                None
            }
        }
    }

    /// Keeps a winner.
    pub fn keep(&self, record: &Record) {
        let key = record.provenance.key();
        if let Err(error) = self.folder.write(&key, record.to_text().as_bytes()) {
            tracing::warn!(path = %self.folder.entry_path(&key).display(), %error, "a tuning record is not kept");
        }
    }
}
