//! Shared-memory tiles that warpgroup instructions and tensor copies understand, and their descriptors.

use crate::composed::ComposedLayout;
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::swizzle::Swizzle;
use crate::tiler::Tiler;

/// Which mode of an operand lies contiguous.
///
/// ```
/// use warpsmith_layout::*;
/// use warpsmith_layout::atom::*;
/// let atom = SharedAtom { major: Major::Mn, swizzle: SharedSwizzle::B64 };
/// assert_eq!(atom.elements(16)?.to_string(), "(32,8):(1,32)");
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Major {
    /// M or N.
    Mn,
    /// K.
    K,
}

/// How shared memory is swizzled, by the bytes of a row of the pattern.
///
/// ```
/// use warpsmith_layout::*;
/// use warpsmith_layout::atom::*;
/// assert_eq!(SharedSwizzle::B32.on_bytes()?.to_string(), "Sw<1,4,3>");
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedSwizzle {
    /// Rows of 16 bytes, not swizzled.
    Interleave,
    /// Rows of 32 bytes.
    B32,
    /// Rows of 64 bytes.
    B64,
    /// Rows of 128 bytes.
    B128,
}

impl SharedSwizzle {
    /// The swizzle, on byte addresses.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert_eq!(SharedSwizzle::B64.on_bytes()?.to_string(), "Sw<2,4,3>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn on_bytes(self) -> Result<Swizzle> {
        Swizzle::new(self.log2(), 4, 3)
    }

    /// The row in units of 16 bytes.
    fn width(self) -> i64 {
        1 << self.log2()
    }

    fn log2(self) -> u32 {
        match self {
            SharedSwizzle::Interleave => 0,
            SharedSwizzle::B32 => 1,
            SharedSwizzle::B64 => 2,
            SharedSwizzle::B128 => 3,
        }
    }

    /// The number of this mode in a descriptor.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert_eq!(SharedSwizzle::B128.code(), 1);
    /// ```
    pub fn code(self) -> u64 {
        match self {
            SharedSwizzle::Interleave => 0,
            SharedSwizzle::B128 => 1,
            SharedSwizzle::B64 => 2,
            SharedSwizzle::B32 => 3,
        }
    }
}

/// The smallest tile of a shared-memory operand.
///
/// ```
/// use warpsmith_layout::atom::{Major, SharedAtom, SharedSwizzle};
/// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
/// assert_eq!(atom.swizzled(16)?.to_string(), "Sw<3,3,3> o 0 o (8,64):(64,1)");
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedAtom {
    /// Which mode lies contiguous.
    pub major: Major,
    /// The swizzle.
    pub swizzle: SharedSwizzle,
}

impl SharedAtom {
    /// The atom in bits, before the swizzle.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// assert_eq!(atom.bits()?.to_string(), "(8,1024):(1024,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn bits(self) -> Result<Layout> {
        let row = 128 * self.swizzle.width();
        match self.major {
            Major::Mn => Layout::new((row, 8), (1, row)),
            Major::K => Layout::new((8, row), (row, 1)),
        }
    }

    /// The atom in elements of so many bits, before the swizzle.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// assert_eq!(atom.elements(16)?.to_string(), "(8,64):(64,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn elements(self, bits: i64) -> Result<Layout> {
        self.bits()?.upcast(bits)
    }

    /// The atom in elements of so many bits with its swizzle on element offsets. Widths are 8 bits and more.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// assert_eq!(atom.swizzled(8)?.to_string(), "Sw<3,4,3> o 0 o (8,128):(128,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn swizzled(self, bits: i64) -> Result<ComposedLayout> {
        self.with_swizzle(bits, self.elements(bits)?)
    }

    /// Copies of the atom that fill a shape, as [`Layout::tile_to_shape`] places them, before the swizzle.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// assert_eq!(atom.tile(16, (128, 64), None)?.to_string(), "((8,16),(64,1)):((64,512),(1,0))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn tile(self, bits: i64, target: impl Into<IntTuple>, order: Option<IntTuple>) -> Result<Layout> {
        self.elements(bits)?.tile_to_shape(target, order)
    }

    /// A layout of such atoms with their swizzle on element offsets.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// let tile = atom.tile(16, (16, 64), None)?;
    /// assert_eq!(atom.with_swizzle(16, tile)?.swizzle().to_string(), "Sw<3,3,3>");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn with_swizzle(self, bits: i64, layout: Layout) -> Result<ComposedLayout> {
        if bits < 8 || bits % 8 != 0 {
            return Err(LayoutError::Unsupported(format!("a swizzle on elements of {bits} bits")));
        }
        let swizzle = self.swizzle.on_bytes()?.upcast(bits / 8)?;
        let swizzle = if swizzle.is_identity() { Swizzle::IDENTITY } else { swizzle };
        Ok(ComposedLayout::new(swizzle, 0, layout))
    }

    /// The descriptor of the block of 64 rows by 256 bits at the start of a tile of such atoms.
    ///
    /// ```
    /// use warpsmith_layout::atom::{Major, SharedAtom, SharedSwizzle};
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// let tile = atom.tile(16, (128, 64), None)?;
    /// assert_eq!(atom.descriptor(16, &tile)?.stride_offset, 64);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn descriptor(self, bits: i64, tile: &Layout) -> Result<SharedDescriptor> {
        self.describe(bits, tile).of("shared-memory descriptor", &[tile])
    }

    fn describe(self, bits: i64, tile: &Layout) -> Result<SharedDescriptor> {
        if bits < 1 {
            return Err(LayoutError::NotPositive(bits.to_string()));
        }
        let block = tile.compose_tiler(&Tiler::from((64, 256 / bits)))?;
        let units = block.recast(bits, 128)?;
        let width = self.swizzle.width();
        let plain = self.swizzle == SharedSwizzle::Interleave;
        let tiler = match self.major {
            Major::Mn => (Layout::new(width, 1)?, Layout::new(8, 1)?),
            Major::K => (Layout::new(8, 1)?, Layout::new(2, 1)?),
        };
        let canonical = units.logical_divide(tiler)?;
        let stride = |i: usize, j: usize| match canonical.mode(i)?.mode(j)?.stride().as_leaf() {
            Some(d) => d.int()?.known(),
            None => Err(LayoutError::Unsupported(format!("{canonical} is no canonical layout: mode ({i},{j})"))),
        };
        let (first, second) = (stride(0, 0)?, stride(1, 0)?);
        let (leading, across, fits) = match self.major {
            Major::Mn if plain => (stride(1, 1)?, stride(0, 1)?, second == 1),
            Major::Mn => (stride(0, 1)?, stride(1, 1)?, first == 1 && second == width),
            Major::K => (second, stride(0, 1)?, first == width && (plain || second == 1)),
        };
        if !fits {
            return Err(LayoutError::Unsupported(format!("{canonical} is no canonical layout of this swizzle")));
        }
        let limit = |offset: i64| match u16::try_from(offset) {
            Ok(v) if v < 1 << 14 => Ok(v),
            _ => Err(LayoutError::Overflow { left: offset.to_string(), operator: "in", right: "14 bits".to_string() }),
        };
        Ok(SharedDescriptor {
            leading_offset: limit(leading)?,
            stride_offset: limit(across)?,
            swizzle: self.swizzle,
            block,
            units,
            canonical,
        })
    }
}

/// What a warpgroup instruction is told about an operand in shared memory. Offsets are in units of 16 bytes.
///
/// ```
/// use warpsmith_layout::*;
/// use warpsmith_layout::atom::*;
/// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
/// let descriptor = atom.descriptor(16, &atom.tile(16, (128, 64), None)?)?;
/// assert_eq!((descriptor.leading_offset, descriptor.stride_offset), (1, 64));
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDescriptor {
    /// The leading dimension's offset.
    pub leading_offset: u16,
    /// The stride dimension's offset.
    pub stride_offset: u16,
    /// The swizzle.
    pub swizzle: SharedSwizzle,
    /// The block that is described, in elements.
    pub block: Layout,
    /// The block in units of 16 bytes.
    pub units: Layout,
    /// The block as the canonical layout that the offsets are read from.
    pub canonical: Layout,
}

impl SharedDescriptor {
    /// The 64 bits, for a start address in units of 16 bytes.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// let descriptor = atom.descriptor(16, &atom.tile(16, (128, 64), None)?)?;
    /// assert_eq!(descriptor.encode(0x40), 0x4000_0040_0001_0040);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn encode(&self, start: u16) -> u64 {
        let start = u64::from(start & 0x3fff);
        start | u64::from(self.leading_offset) << 16 | u64::from(self.stride_offset) << 32 | self.swizzle.code() << 62
    }

    /// How many of them a block has: its size in units of 16 bytes.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    /// let descriptor = atom.descriptor(16, &atom.tile(16, (128, 64), None)?)?;
    /// assert_eq!(descriptor.size()?, 128.into());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn size(&self) -> Result<Int> {
        self.units.extent()
    }
}
