//! Which parts of a stretch of memory were touched at all: most accesses are the first ones where they are.

/// A bit for each of 128 parts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts(u128);

impl Parts {
    /// The parts that lie between two bytes, each of `1 << shift` bytes. Beyond the last part there is nothing.
    #[inline(always)]
    pub(super) fn between(start: u32, end: u32, shift: u32) -> Parts {
        let last = (end.saturating_sub(1).max(start) >> shift).min(127);
        let first = (start >> shift).min(127);
        Parts(u128::MAX >> (127 - (last - first)) << first)
    }

    /// How large a part is of so many bytes, as a power of two.
    pub(super) fn shift(bytes: usize) -> u32 {
        bytes.div_ceil(128).next_power_of_two().trailing_zeros()
    }

    #[inline(always)]
    pub(super) fn add(&mut self, other: Parts) {
        self.0 |= other.0;
    }

    #[inline(always)]
    pub(super) fn touches(self, other: Parts) -> bool {
        self.0 & other.0 != 0
    }

    /// Parts get another size: whatever was touched, all may have been.
    pub(super) fn blur(&mut self) {
        self.0 = if self.0 == 0 { 0 } else { u128::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_bytes() {
        let shift = Parts::shift(1 << 16);
        assert_eq!(shift, 9);
        assert_eq!(Parts::between(0, 512, shift).0, 1);
        assert_eq!(Parts::between(511, 513, shift).0, 3);
        assert_eq!(Parts::between(0, 1 << 16, shift).0, u128::MAX);
        assert_eq!(Parts::between((1 << 16) - 1, 1 << 16, shift).0, 1 << 127);
        let mut parts = Parts::between(512, 1024, shift);
        assert!(parts.touches(Parts::between(1020, 1030, shift)) && !parts.touches(Parts::between(1024, 1030, shift)));
        parts.blur();
        assert!(parts.touches(Parts::between(1024, 1030, shift)));
        assert_eq!((Parts::shift(64), Parts::shift(129)), (0, 1));
    }
}
