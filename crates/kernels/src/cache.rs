//! One compiled kernel for each config, for the life of the process.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use warpsmith_dsl::Kernel;
use warpsmith_runtime::Jit;

/// Finds the kernel of a config.
pub(crate) struct Configs<K: Kernel> {
    all: Mutex<Option<HashMap<K, Arc<Jit<K>>>>>,
}

impl<K: Kernel + Clone + Eq + Hash> Configs<K> {
    pub(crate) const fn new() -> Self {
        Configs { all: Mutex::new(None) }
    }

    pub(crate) fn get(&self, config: K) -> Arc<Jit<K>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        all.entry(config.clone()).or_insert_with(|| Arc::new(Jit::new(config))).clone()
    }
}
