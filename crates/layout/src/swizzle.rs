//! The swizzle: a permutation of offsets that spreads a tile over the banks of shared memory.

use crate::error::{Context, LayoutError, Result};
use crate::parse::Reader;
use std::fmt;
use std::str::FromStr;

/// `Sw<B,M,S>`: of an offset, XOR the `B` bits at `M` with the `B` bits that lie `S` higher (lower for a negative `S`).
///
/// ```
/// use warpsmith_layout::Swizzle;
/// let s = Swizzle::new(3, 4, 3)?; // the 128-byte swizzle, on byte addresses
/// assert_eq!(s.apply(0b1_1000_0000), 0b1_1011_0000);
/// assert_eq!(s.apply(s.apply(12345)), 12345);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The swizzle that changes nothing.
    ///
    /// ```
    /// # use warpsmith_layout::Swizzle;
    /// assert_eq!(Swizzle::IDENTITY.to_string(), "Sw<0,0,0>");
    /// ```
    pub const IDENTITY: Swizzle = Swizzle { bits: 0, base: 0, shift: 0 };

    /// `Sw<bits,base,shift>`. The two groups of bits may not overlap, and must lie below bit 63.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Swizzle::new(3, 4, 3)?.to_string(), "Sw<3,4,3>");
    /// assert!(Swizzle::new(3, 4, 2).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn new(bits: u32, base: u32, shift: i32) -> Result<Swizzle> {
        let swizzle = Swizzle { bits, base, shift };
        let top = [bits, base, shift.unsigned_abs()].iter().try_fold(0u32, |n, v| n.checked_add(*v));
        if shift.unsigned_abs() < bits {
            Err(LayoutError::Unsupported(format!("{swizzle} XORs bits with each other: |{shift}| is below {bits}")))
        } else if top.is_none_or(|top| top > 63) {
            Err(LayoutError::Unsupported(format!("{swizzle} reaches past 63 bits")))
        } else {
            Ok(swizzle)
        }
    }

    /// The swizzle that XORs the bits `y` into the bits `z`, if there is one.
    ///
    /// ```
    /// use warpsmith_layout::Swizzle;
    /// assert_eq!(Swizzle::from_masks(0b1_1000_0000, 0b110_0000)?.to_string(), "Sw<2,5,2>");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn from_masks(y: i64, z: i64) -> Result<Swizzle> {
        if (y, z) == (0, 0) {
            return Ok(Swizzle::IDENTITY);
        }
        let none = || LayoutError::Unsupported(format!("no swizzle XORs the bits {y:#b} into {z:#b}"));
        if y < 0 || z < 0 || y.count_ones() != z.count_ones() {
            return Err(none());
        }
        let (from, to) = (y.trailing_zeros(), z.trailing_zeros());
        let shift = from.cast_signed() - to.cast_signed();
        let swizzle = Swizzle::new(y.count_ones(), from.min(to), shift)?;
        if (swizzle.y(), swizzle.z()) == (y, z) { Ok(swizzle) } else { Err(none()) }
    }

    /// How many bits are XORed.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.bits(), 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// How many low bits stay as they are.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.base(), 4);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn base(self) -> u32 {
        self.base
    }

    /// How far the XORed bits lie above those that they change.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.shift(), 3);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn shift(self) -> i32 {
        self.shift
    }

    /// Whether nothing changes.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert!(Swizzle::IDENTITY.is_identity() && !swizzle.is_identity());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_identity(self) -> bool {
        self.bits == 0
    }

    /// The bits that are read.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.y(), 0b1_1000_0000);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn y(self) -> i64 {
        self.mask(self.shift.max(0).unsigned_abs())
    }

    /// The bits that are changed.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.z(), 0b0_0011_0000);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn z(self) -> i64 {
        self.mask(self.shift.min(0).unsigned_abs())
    }

    fn mask(self, up: u32) -> i64 {
        // At most 63 bits, as `new` has checked.
        (((1u64 << self.bits) - 1) << (self.base + up)).cast_signed()
    }

    /// What the swizzle does to offsets below `1 << bits`: without the bits that it would read from above.
    pub(crate) fn below(self, bits: u32) -> Swizzle {
        let first = self.y().trailing_zeros();
        if first >= bits {
            return Swizzle::IDENTITY;
        }
        Swizzle { bits: self.bits.min(bits.saturating_sub(first)), ..self }
    }

    /// The swizzled offset.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let swizzle = Swizzle::new(2, 4, 3)?;
    /// assert_eq!(swizzle.apply(0b1_1000_0000), 0b1_1011_0000);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn apply(self, offset: i64) -> i64 {
        let y = offset & self.y();
        let moved = if self.shift >= 0 { y >> self.shift } else { y << self.shift.unsigned_abs() };
        offset ^ moved
    }

    /// Both swizzles, one after the other, as one; only for equal shifts, where the order does not matter.
    ///
    /// ```
    /// use warpsmith_layout::Swizzle;
    /// assert_eq!(Swizzle::new(1, 4, 3)?.compose(Swizzle::new(3, 4, 3)?)?.to_string(), "Sw<2,5,3>");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compose(self, other: Swizzle) -> Result<Swizzle> {
        let merged = || {
            if self.shift != other.shift {
                return Err(LayoutError::Unsupported("only swizzles of equal shift make one".to_string()));
            }
            Swizzle::from_masks(self.y() ^ other.y(), self.z() ^ other.z())
        };
        merged().of("composition", &[&self, &other])
    }

    /// The swizzle on elements `n` times as wide; `n` must be a power of two.
    ///
    /// ```
    /// use warpsmith_layout::Swizzle;
    /// assert_eq!(Swizzle::new(3, 4, 3)?.upcast(2)?.to_string(), "Sw<3,3,3>");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn upcast(self, n: i64) -> Result<Swizzle> {
        let by = log2(n).of("upcast", &[&self, &n])?;
        let lost = by.saturating_sub(self.base);
        Swizzle::new(self.bits.saturating_sub(lost), self.base.saturating_sub(by), self.shift)
    }

    /// The swizzle on elements of which `n` make one of the old ones; `n` must be a power of two.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Swizzle::new(3, 3, 3)?.downcast(2)?.to_string(), "Sw<3,4,3>");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn downcast(self, n: i64) -> Result<Swizzle> {
        let by = log2(n).of("downcast", &[&self, &n])?;
        Swizzle::new(self.bits, self.base + by, self.shift)
    }
}

fn log2(n: i64) -> Result<u32> {
    match u64::try_from(n) {
        Ok(n) if n.is_power_of_two() => Ok(n.trailing_zeros()),
        _ => Err(LayoutError::Unsupported(format!("{n} is no power of two"))),
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}

impl Reader<'_> {
    pub(crate) fn swizzle(&mut self) -> Result<Swizzle> {
        if !self.take("Sw<") {
            self.need("S<")?;
        }
        let bits = self.number()?;
        self.need(",")?;
        let base = self.number()?;
        self.need(",")?;
        let shift = self.integer()?;
        self.need(">")?;
        Swizzle::new(bits, base, i32::try_from(shift).map_err(|_| self.expected("a smaller shift"))?)
    }

    fn number(&mut self) -> Result<u32> {
        let n = self.integer()?;
        u32::try_from(n).map_err(|_| self.expected("a small number"))
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    /// `Sw<3,4,3>`, as C++ prints it, or `S<3,4,3>`, as CuTe-DSL does.
    fn from_str(text: &str) -> Result<Swizzle> {
        Reader::whole(text, |r| r.swizzle())
    }
}
