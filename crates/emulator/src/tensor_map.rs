//! Tensor maps: what a tensor copy must know of a tensor, in 128 bytes.
//!
//! The driver's record is not documented, so emulated devices have one of their own. It is passed as the driver's is: a
//! kernel parameter of 128 bytes, 64-byte aligned, whose address the kernel hands to `cp.async.bulk.tensor`.

use crate::memory::DevicePointer;
use warpsmith_types::DType;

/// Modes of a tensor, at most.
const RANK: usize = 5;

/// A tensor in device memory, and the box of it that one copy moves. Mode 0 is the one whose elements lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Its first element; 16-byte aligned.
    pub base: DevicePointer,
    /// Its element type.
    pub dtype: DType,
    /// How many of its modes count, 1 to 5.
    pub rank: usize,
    /// Elements in each mode.
    pub extents: [u64; RANK],
    /// Bytes from one index to the next in each mode; multiples of 16, but for mode 0, where it is the element's size.
    pub strides: [u64; RANK],
    /// Indices that a copy spans in each mode, 1 to 256.
    pub box_extents: [u32; RANK],
    /// Of the indices of a box, every how many-th is copied, 1 to 8.
    pub element_strides: [u32; RANK],
    /// How rows of the box are permuted in shared memory.
    pub swizzle: Swizzle,
    /// What elements outside the tensor read as.
    pub fill: Fill,
}

/// How 16-byte chunks are permuted in shared memory, so that columns of a tile do not share banks. The name is the
/// length of a row that is permuted within itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Pairs of chunks.
    Bytes32,
    /// Fours.
    Bytes64,
    /// Eights.
    Bytes128,
}

/// What elements outside the tensor read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zero.
    #[default]
    Zero,
    /// A NaN, for floats.
    Nan,
}

/// A record that is no tensor map, or one that no copy could use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// Fewer than 128 bytes.
    #[error("it has {0} bytes, not 128")]
    Length(usize),
    /// It does not start as tensor maps of emulated devices do.
    #[error("it is no tensor map of an emulated device")]
    Magic,
    /// It is of another version.
    #[error("it is a tensor map of version {0}, not {VERSION}")]
    Version(u16),
    /// One of its fields has an impossible value.
    #[error("{0}")]
    Field(String),
}

const MAGIC: [u8; 4] = *b"WTMP";
const VERSION: u16 = 1;
/// No block has more shared memory.
const LARGEST_BOX: u64 = 256 << 10;

impl Swizzle {
    /// Every mode, by its number in the record.
    pub(crate) const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

    /// Bytes of a row.
    pub fn bytes(self) -> u32 {
        match self {
            Swizzle::None => 16,
            Swizzle::Bytes32 => 32,
            Swizzle::Bytes64 => 64,
            Swizzle::Bytes128 => 128,
        }
    }

    /// Where the byte at an address of shared memory really goes: the index of its 16-byte chunk is combined with that
    /// of its 128-byte row.
    #[inline(always)]
    pub fn apply(self, address: u32) -> u32 {
        address ^ ((address >> 7) & (self.bytes() / 16 - 1)) << 4
    }
}

impl TensorMap {
    /// Bytes of the record.
    pub const BYTES: usize = 128;

    /// The record.
    pub fn encode(&self) -> [u8; 128] {
        let mut out = [0; 128];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        put(&VERSION.to_le_bytes());
        let dtype = DType::ALL.iter().position(|d| *d == self.dtype).unwrap_or_default();
        put(&[dtype as u8, self.rank as u8]);
        put(&self.base.0.to_le_bytes());
        self.extents.iter().for_each(|x| put(&x.to_le_bytes()));
        // Strides have 40 bits, as the driver's have.
        self.strides.iter().for_each(|x| put(&x.to_le_bytes()[..5]));
        self.box_extents.iter().for_each(|x| put(&(*x as u16).to_le_bytes()));
        self.element_strides.iter().for_each(|x| put(&[*x as u8]));
        let swizzle = Swizzle::ALL.iter().position(|s| *s == self.swizzle).unwrap_or_default();
        put(&[swizzle as u8, u8::from(self.fill == Fill::Nan)]);
        out
    }

    /// The map of a record, if it is one and makes sense.
    pub fn decode(bytes: &[u8]) -> Result<TensorMap, TensorMapError> {
        let map = TensorMap::parse(bytes)?;
        map.check()?;
        Ok(map)
    }

    /// The map of a record, if it is one; between two changes of its fields it may make no sense.
    pub(crate) fn parse(bytes: &[u8]) -> Result<TensorMap, TensorMapError> {
        let record = bytes.get(..Self::BYTES).ok_or(TensorMapError::Length(bytes.len()))?;
        let mut at = 0;
        let mut take = |n: usize| {
            let value = record[at..at + n].iter().rev().fold(0u64, |x, byte| x << 8 | u64::from(*byte));
            at += n;
            value
        };
        if take(4) != u64::from(u32::from_le_bytes(MAGIC)) {
            return Err(TensorMapError::Magic);
        }
        let version = take(2) as u16;
        if version != VERSION {
            return Err(TensorMapError::Version(version));
        }
        let field = |what: &str| TensorMapError::Field(what.into());
        let dtype = *DType::ALL.get(take(1) as usize).ok_or_else(|| field("its element type does not exist"))?;
        Ok(TensorMap {
            dtype,
            rank: take(1) as usize,
            base: DevicePointer(take(8)),
            extents: std::array::from_fn(|_| take(8)),
            strides: std::array::from_fn(|_| take(5)),
            box_extents: std::array::from_fn(|_| take(2) as u32),
            element_strides: std::array::from_fn(|_| take(1) as u32),
            swizzle: *Swizzle::ALL.get(take(1) as usize).ok_or_else(|| field("its swizzle mode does not exist"))?,
            fill: if take(1) == 0 { Fill::Zero } else { Fill::Nan },
        })
    }

    /// What the driver would refuse.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let fail = |text: String| Err(TensorMapError::Field(text));
        if self.rank == 0 || self.rank > RANK {
            return fail(format!("its rank is {}, not 1 to 5", self.rank));
        }
        if !self.base.0.is_multiple_of(16) {
            return fail(format!("its base {} is no multiple of 16", self.base));
        }
        for mode in 0..self.rank {
            let (extent, stride) = (self.extents[mode], self.strides[mode]);
            if extent == 0 || extent > 1 << 32 {
                return fail(format!("its extent in mode {mode} is {extent}, not 1 to 2^32"));
            }
            if mode > 0 && (stride % 16 != 0 || stride >= 1 << 40) {
                return fail(format!("its stride in mode {mode} is {stride} bytes, no multiple of 16 below 2^40"));
            }
            if !(1..=256).contains(&self.box_extents[mode]) {
                return fail(format!("its box spans {} indices in mode {mode}, not 1 to 256", self.box_extents[mode]));
            }
            if !(1..=8).contains(&self.element_strides[mode]) {
                let stride = self.element_strides[mode];
                return fail(format!("its element stride in mode {mode} is {stride}, not 1 to 8"));
            }
        }
        let all = (0..self.rank).map(|mode| u64::from(self.count(mode))).product::<u64>() * self.dtype.bytes() as u64;
        if all > LARGEST_BOX {
            return fail(format!("its box has {all} bytes, more than shared memory"));
        }
        let row = self.row_bytes();
        if !row.is_multiple_of(16) {
            return fail(format!("a row of its box has {row} bytes, no multiple of 16"));
        }
        if self.swizzle != Swizzle::None && row > self.swizzle.bytes() {
            return fail(format!(
                "a row of its box has {row} bytes, more than the {} of its swizzle",
                self.swizzle.bytes()
            ));
        }
        Ok(())
    }

    /// Elements that a copy moves in a mode.
    pub(crate) fn count(&self, mode: usize) -> u32 {
        self.box_extents[mode].div_ceil(self.element_strides[mode].max(1))
    }

    /// Bytes of a row of the box: its elements in mode 0.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.count(0) * self.dtype.bytes() as u32
    }

    /// Rows of the box.
    pub(crate) fn rows(&self) -> u32 {
        (1..self.rank).map(|mode| self.count(mode)).product()
    }

    /// Bytes that a copy counts at its barrier: those of the whole box, whatever of it is outside the tensor.
    pub fn box_bytes(&self) -> u32 {
        self.rows() * self.row_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            base: DevicePointer(0x7000_0000_0100),
            dtype: DType::BF16,
            rank: 2,
            extents: [4096, 100, 1, 1, 1],
            strides: [2, 8192, 0, 0, 0],
            box_extents: [64, 128, 1, 1, 1],
            element_strides: [1; 5],
            swizzle: Swizzle::Bytes128,
            fill: Fill::Zero,
        }
    }

    #[test]
    fn a_record_decodes_to_its_map() {
        assert_eq!(TensorMap::decode(&map().encode()), Ok(map()));
        assert_eq!(map().box_bytes(), 128 * 128);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        assert_eq!(TensorMap::decode(&[0; 128]), Err(TensorMapError::Magic));
        assert_eq!(TensorMap::decode(&[0; 12]), Err(TensorMapError::Length(12)));
        let wide = TensorMap { box_extents: [128, 64, 1, 1, 1], ..map() };
        let error = TensorMap::decode(&wide.encode()).unwrap_err();
        assert_eq!(error.to_string(), "a row of its box has 256 bytes, more than the 128 of its swizzle");
        let mut newer = map().encode();
        newer[4] = 9;
        assert_eq!(TensorMap::decode(&newer), Err(TensorMapError::Version(9)));
    }

    #[test]
    fn swizzles_permute_rows() {
        assert_eq!(Swizzle::Bytes128.apply(0x480), 0x480 ^ 0x10);
        assert_eq!(Swizzle::Bytes64.apply(0x400 + 7 * 128), 0x400 + 7 * 128 + 0x30);
        assert_eq!(Swizzle::Bytes32.apply(0x180), 0x190);
        assert_eq!(Swizzle::None.apply(0x3f0), 0x3f0);
    }
}
