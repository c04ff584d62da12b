//! Memory of emulated devices.

use super::node::{Piece, State};
use super::work::Work;
use crate::error::Error;
use warpsmith_emulator::{Device, DevicePointer};

impl State {
    pub(super) fn allocate(&mut self, device: u8, bytes: usize, name: &str, pooled: bool) -> Result<u64, Error> {
        let address = self.system.allocate_on(Device(device), bytes, name)?.0;
        self.memory.insert(address, Piece { bytes, device, pooled });
        if pooled && let Some(pool) = self.pools.get_mut(usize::from(device)) {
            pool.now.used += bytes as u64;
            pool.now.used_high = pool.now.used_high.max(pool.now.used);
            pool.now.reserved = pool.now.reserved.max(pool.now.used);
            pool.now.reserved_high = pool.now.reserved_high.max(pool.now.reserved);
        }
        Ok(address)
    }

    /// After all that is queued.
    pub(super) fn free(&mut self, address: u64) {
        self.run_unasked();
        self.release(address);
    }

    /// When the stream gets there.
    pub(super) fn free_ordered(&mut self, stream: u64, address: u64) {
        let captured = self.streams.get(&stream).is_none_or(|s| s.capture.is_some());
        if captured || self.is_idle() {
            self.free(address);
        } else {
            self.push(stream, Work::Free { address });
        }
    }

    /// Now.
    pub(super) fn release(&mut self, address: u64) {
        // The owner frees once, so there is nothing to report.
        let _ = self.system.free(DevicePointer(address));
        if let Some(piece) = self.memory.remove(&address)
            && piece.pooled
            && let Some(pool) = self.pools.get_mut(usize::from(piece.device))
        {
            pool.now.used -= piece.bytes as u64;
        }
    }

    /// Pools keep what their thresholds allow.
    pub(super) fn trim_at_synchronisation(&mut self) {
        for pool in &mut self.pools {
            pool.now.reserved = pool.now.reserved.min(pool.threshold).max(pool.now.used);
        }
    }

    /// What is wrong with a range, in words.
    pub(super) fn check(&self, device: u8, address: u64, bytes: usize) -> Result<(), String> {
        let below = self.memory.range(..=address).next_back();
        let Some((base, piece)) = below.filter(|(base, piece)| address - **base < (piece.bytes as u64).max(1)) else {
            return Err("no allocated memory".into());
        };
        if piece.device != device {
            return Err(format!("memory of device {} of its node", piece.device));
        }
        let left = piece.bytes as u64 - (address - base);
        if bytes as u64 > left { Err(format!("only {left} bytes long")) } else { Ok(()) }
    }
}
