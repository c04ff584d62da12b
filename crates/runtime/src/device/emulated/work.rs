//! What is queued on an emulated device.

use std::sync::Arc;
use warpsmith_emulator::{Launch, Manifest, Program};

/// A piece of work on a stream. Moments are numbers that no other moment has or had.
#[derive(Clone)]
pub(super) enum Work {
    Copy { to: u64, from: u64, bytes: usize },
    Fill { to: u64, byte: u8, bytes: usize },
    Write { to: u64, data: Vec<u8> },
    Read { from: u64, bytes: usize, result: u64 },
    Launch { program: Arc<Program>, launch: Launch, manifest: Option<Arc<Manifest>> },
    Free { address: u64 },
    Record { moment: u64 },
    Wait { moment: u64 },
}

impl Work {
    /// Whether it is told of memory in that range. A kernel may find addresses elsewhere than in its parameters.
    pub(super) fn names(&self, base: u64, len: usize) -> bool {
        let range = base..base + (len as u64).max(1);
        let meets = |address: u64, bytes: usize| address < range.end && range.start < address + bytes as u64;
        match self {
            Work::Copy { to, from, bytes } => meets(*to, *bytes) || meets(*from, *bytes),
            Work::Fill { to, bytes, .. } => meets(*to, *bytes),
            Work::Write { to, data } => meets(*to, data.len()),
            Work::Read { from, bytes, .. } => meets(*from, *bytes),
            Work::Launch { launch, .. } => {
                let (words, _) = launch.parameters.as_chunks::<8>();
                words.iter().any(|word| range.contains(&u64::from_le_bytes(*word)))
            }
            Work::Free { .. } | Work::Record { .. } | Work::Wait { .. } => false,
        }
    }
}
