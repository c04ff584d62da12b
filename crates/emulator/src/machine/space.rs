//! Room for blocks on the multiprocessors of a chip.

use warpsmith_types::Chip;

/// What a multiprocessor has left for blocks, or a block takes of one. How many registers a block takes is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    pub threads: u32,
    pub blocks: u32,
    /// Bytes of shared memory, with those that a block takes for itself.
    pub shared: u32,
}

impl Space {
    /// A multiprocessor without blocks.
    pub(crate) fn of(chip: &Chip) -> Space {
        Space {
            threads: chip.threads_per_multiprocessor,
            blocks: chip.blocks_per_multiprocessor,
            shared: chip.shared_per_multiprocessor,
        }
    }

    /// How many such blocks there is room for.
    pub(crate) fn holds(self, block: Space) -> u32 {
        (self.threads / block.threads.max(1))
            .min(self.blocks / block.blocks.max(1))
            .min(self.shared / block.shared.max(1))
    }

    fn take(&mut self, block: Space) {
        self.threads -= block.threads;
        self.blocks -= block.blocks;
        self.shared -= block.shared;
    }
}

/// The multiprocessors of a device.
#[derive(Clone, Debug)]
pub(crate) struct Multiprocessors(Vec<Space>);

impl Multiprocessors {
    pub(crate) fn of(chip: &Chip) -> Multiprocessors {
        Multiprocessors(vec![Space::of(chip); chip.multiprocessors as usize])
    }

    /// Places so many blocks, or all that fit: each where there is most room for one like it.
    pub(crate) fn place(&mut self, block: Space, mut count: u64) {
        let most = self.0.iter().map(|m| m.holds(block)).max().unwrap_or_default();
        for level in (1..=most).rev() {
            for multiprocessor in self.0.iter_mut().filter(|m| m.holds(block) >= level) {
                if count == 0 {
                    return;
                }
                multiprocessor.take(block);
                count -= 1;
            }
        }
    }

    /// How many more such blocks there is room for.
    pub(crate) fn holds(&self, block: Space) -> u64 {
        self.0.iter().map(|m| u64::from(m.holds(block))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Space = Space { threads: 64, blocks: 1, shared: 10_000 };
    const LARGE: Space = Space { threads: 1024, blocks: 1, shared: 200_000 };

    #[test]
    fn small_blocks_fit_beside_large_ones() {
        let chip = Chip { multiprocessors: 4, ..Chip::H200 };
        let mut all = Multiprocessors::of(&chip);
        assert_eq!(all.holds(LARGE), 4);
        all.place(LARGE, 3);
        assert_eq!((all.holds(LARGE), all.holds(SMALL)), (1, 3 * 3 + 23));
        // They go to the free one as long as that has more room.
        all.place(SMALL, 1);
        assert_eq!(all.holds(LARGE), 1);
        all.place(SMALL, 4);
        assert_eq!(all.holds(LARGE), 0);
    }

    #[test]
    fn blocks_spread() {
        let mut all = Multiprocessors::of(&Chip { multiprocessors: 4, ..Chip::H200 });
        all.place(SMALL, 4);
        assert_eq!(all.0[0], all.0[3]);
        all.place(LARGE, 9);
        assert_eq!(all.holds(LARGE), 0);
    }
}
