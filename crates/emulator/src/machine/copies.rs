//! Copies that `cp.async` started and no wait has completed: they happen as late as they may, so that a missing wait
//! shows.

use crate::lanes::{LANES, each};

/// One lane's copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub lane: u8,
    /// The lane's groups committed before this copy: it belongs to the next one.
    pub group: u32,
    pub from: u64,
    /// An offset in shared memory.
    pub to: u32,
    pub bytes: u8,
    /// Bytes that are read; the others become zero.
    pub source_bytes: u8,
    pub pc: u32,
}

/// A warp's copies in flight, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Copy>,
    committed: [u32; LANES],
}

impl Copies {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    pub(crate) fn start(&mut self, mut copy: Copy) {
        copy.group = self.committed[copy.lane as usize % LANES];
        self.pending.push(copy);
    }

    pub(crate) fn commit(&mut self, mask: u32) {
        each(mask).for_each(|lane| self.committed[lane] += 1);
    }

    /// Takes out the copies that lanes wait for: all but their last `pending` groups, or all, committed or not.
    pub(crate) fn wait(&mut self, mask: u32, pending: Option<u32>) -> Vec<Copy> {
        let committed = self.committed;
        let due = |c: &Copy| {
            let lane = c.lane as usize % LANES;
            mask >> lane & 1 == 1
                && match pending {
                    Some(n) => c.group < committed[lane].saturating_sub(n),
                    None => true,
                }
        };
        let ready = self.pending.iter().filter(|c| due(c)).copied().collect();
        self.pending.retain(|c| !due(c));
        ready
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
