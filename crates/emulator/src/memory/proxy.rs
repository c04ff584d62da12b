//! Which bytes of shared memory were written by ordinary stores and not yet made known to the async proxy.
//!
//! Copies and products read shared memory through a proxy of their own. It sees what a thread stored only after a
//! `fence.proxy.async` of that thread, or of one that the thread released its stores to.

use super::Flat;

/// The warp that wrote, and how often it had told others that it went on; kept for 16 bytes at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writer(u32);

impl Writer {
    pub(crate) const NOBODY: Writer = Writer(0);

    pub(crate) fn new(warp: u32, releases: u32) -> Writer {
        Writer((warp + 1) << 24 | (releases & 0xff_ffff))
    }

    /// The warp, unless it is nobody.
    pub(crate) fn warp(self) -> Option<u32> {
        (self.0 >> 24).checked_sub(1)
    }
}

impl Flat {
    /// Keeps track of ordinary stores from now on, or does not.
    pub(crate) fn track(&mut self, on: bool) {
        self.unfenced.clear();
        if on {
            self.unfenced.resize(self.len().div_ceil(16), Writer::NOBODY);
        }
    }

    /// An ordinary store of at most 32 bytes.
    #[inline(always)]
    pub(crate) fn stored(&mut self, offset: usize, bytes: usize, by: Writer) {
        if let Some(granules) = self.unfenced.get_mut(offset / 16..(offset + bytes).div_ceil(16)) {
            granules.fill(by);
        }
    }

    /// What is there no longer comes from ordinary stores.
    pub(crate) fn fenced(&mut self, offset: usize, bytes: usize) {
        self.stored(offset, bytes, Writer::NOBODY);
    }

    /// A `fence.proxy.async` of a warp: for its own stores, and those that others have released since.
    pub(crate) fn fence_proxy(&mut self, warp: u32, releases: &[u32]) {
        for writer in &mut self.unfenced {
            let Some(by) = writer.warp() else { continue };
            let now = releases.get(by as usize).copied().unwrap_or_default();
            if by == warp || *writer != Writer::new(by, now) {
                *writer = Writer::NOBODY;
            }
        }
    }

    /// The warp whose stores to 16 bytes the async proxy does not see.
    #[inline(always)]
    pub(crate) fn unfenced_by(&self, offset: usize) -> Option<u32> {
        self.unfenced.get(offset / 16)?.warp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_counts_for_what_it_knows_of() {
        let mut flat = Flat::new(64);
        flat.track(true);
        flat.stored(0, 16, Writer::new(0, 0));
        flat.stored(16, 4, Writer::new(1, 0));
        flat.stored(32, 4, Writer::new(2, 0));
        // Warp 2 has arrived at a barrier since.
        flat.fence_proxy(0, &[0, 0, 1]);
        assert_eq!([0, 16, 32, 48].map(|at| flat.unfenced_by(at)), [None, Some(1), None, None]);
    }
}
