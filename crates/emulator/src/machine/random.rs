//! Chance, by seed.

/// A small generator for schedules (splitmix64): the same seed, the same schedule, on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The length of a turn, up to a power of two; as many short ones as long ones.
    pub(crate) fn turn(&mut self, most: u64) -> u64 {
        let power = self.below(most + 1);
        1 + self.below(1 << power)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}
