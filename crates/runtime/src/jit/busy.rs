//! One thread a key: the others wait for it, and find what it made.

use std::sync::{Condvar, Mutex, PoisonError};

/// Keys that threads are busy with. Whoever holds one waits for no other thread.
pub(super) struct Busy {
    keys: Mutex<Vec<u64>>,
    freed: Condvar,
}

/// A key, for as long as it lives.
pub(super) struct Taken<'b> {
    busy: &'b Busy,
    key: u64,
}

impl Busy {
    pub(super) const fn new() -> Busy {
        Busy { keys: Mutex::new(Vec::new()), freed: Condvar::new() }
    }

    pub(super) fn take(&self, key: u64) -> Taken<'_> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.contains(&key) {
            keys = self.freed.wait(keys).unwrap_or_else(PoisonError::into_inner);
        }
        keys.push(key);
        Taken { busy: self, key }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.busy.keys.lock().unwrap_or_else(PoisonError::into_inner).retain(|k| *k != self.key);
        self.busy.freed.notify_all();
    }
}
