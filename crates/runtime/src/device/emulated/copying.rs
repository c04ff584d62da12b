//! Copies between page-locked memory and an emulated chip.

use super::super::pinned::{Moving, PinnedBytes};
use super::node::Node;
use crate::error::Error;
use std::sync::Arc;

/// A copy between page-locked memory and the device.
pub(super) struct Copying {
    pub(super) node: Arc<Node>,
    pub(super) memory: Box<[u8]>,
    /// Where the device's bytes will be, for the host.
    pub(super) result: Option<u64>,
}

impl Moving for Copying {
    fn is_done(&self) -> Result<bool, Error> {
        self.node.state().run_awaited().map(|()| true)
    }

    fn wait(mut self: Box<Self>) -> Result<PinnedBytes, Error> {
        let read = {
            let mut state = self.node.state();
            state.run_awaited()?;
            self.result.take().and_then(|result| state.results.remove(&result))
        };
        let mut memory = std::mem::take(&mut self.memory);
        if let Some(read) = read.filter(|read| read.len() == memory.len()) {
            memory.copy_from_slice(&read);
        }
        Ok(PinnedBytes::Emulated(memory))
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        if let Some(result) = self.result {
            let mut state = self.node.state();
            state.run_unasked();
            state.results.remove(&result);
        }
    }
}
