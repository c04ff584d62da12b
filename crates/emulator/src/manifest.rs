//! What PTX text does not say of a launch: which tensors its pointers are, and what lies where in shared memory.
//!
//! A manifest is optional; without one, reports speak of allocations and offsets.

use crate::memory::DevicePointer;
use warpsmith_types::DType;

/// Names for what a kernel touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The tensors that the kernel was given.
    pub arguments: Vec<ArgumentInfo>,
    /// The tiles of its shared memory.
    pub shared: Vec<SharedTile>,
}

/// A tensor in device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentInfo {
    /// Its name in reports.
    pub name: String,
    /// Where its first element is.
    pub base: DevicePointer,
    /// Its element type.
    pub dtype: DType,
    /// Its extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements from one index to the next in each mode.
    pub strides: Vec<usize>,
    /// Whether no other argument may have bytes of it: the contract of an output that may not be in place.
    pub exclusive: bool,
}

/// A tile in a block's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTile {
    /// Its name in reports.
    pub name: String,
    /// Bytes from the start of the kernel's shared memory.
    pub offset: u32,
    /// Its element type.
    pub dtype: DType,
    /// Its extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements from one index to the next in each mode.
    pub strides: Vec<usize>,
}

/// An element of a tensor, as a report names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorPlace {
    /// The tensor.
    pub name: String,
    /// The index in each mode. When it is not within the shape, the outermost index is the one that passes its extent.
    pub index: Vec<i64>,
    /// Whether the element is one of the tensor's.
    pub inside: bool,
}

impl Manifest {
    /// The tensor that an address belongs to, and the index in it. `allocation` is the base of the allocation that the
    /// address is in or next to: an address past its end still belongs to the tensor that it overran.
    pub(crate) fn tensor(&self, address: u64, allocation: u64) -> Option<TensorPlace> {
        // Several views of one allocation: the one that starts last before the address.
        let argument = self.arguments.iter().filter(|a| a.base.0 >= allocation && a.base.0 <= address);
        let a = argument.max_by_key(|a| a.base.0)?;
        let element = (address - a.base.0) / a.dtype.bytes() as u64;
        Some(place(&a.name, element as i64, &a.shape, &a.strides))
    }

    /// The shared-memory tile that an offset belongs to.
    pub(crate) fn tile(&self, offset: u32) -> Option<TensorPlace> {
        let t = self.shared.iter().filter(|t| t.offset <= offset).max_by_key(|t| t.offset)?;
        let element = (offset - t.offset) as usize / t.dtype.bytes();
        Some(place(&t.name, element as i64, &t.shape, &t.strides))
    }
}

impl ArgumentInfo {
    /// The first byte and the length of each stretch of memory that it has, ascending; `None` where there are too many
    /// to look at.
    fn stretches(&self) -> Option<Vec<(u64, u64)>> {
        let width = self.dtype.bytes() as u64;
        if self.shape.contains(&0) {
            return Some(vec![]);
        }
        let mut modes: Vec<(usize, usize)> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|(n, s)| *n > 1 && *s > 0).collect();
        modes.sort_by_key(|(_, stride)| *stride);
        let mut length = 1;
        let dense = modes.iter().take_while(|(n, stride)| {
            let dense = *stride == length;
            length = if dense { length * n } else { length };
            dense
        });
        let outer = modes[dense.count()..].to_vec();
        let count = outer.iter().try_fold(1usize, |product, (n, _)| product.checked_mul(*n))?;
        if count > MOST_STRETCHES {
            return None;
        }
        let mut starts = vec![self.base.0];
        for (n, stride) in outer {
            let of = |start: &u64| {
                let start = *start;
                (0..n as u64).map(move |i| start + i * stride as u64 * width)
            };
            starts = starts.iter().flat_map(of).collect();
        }
        starts.sort_unstable();
        Some(starts.into_iter().map(|start| (start, length as u64 * width)).collect())
    }

    /// The first byte that two have in common.
    fn shared_byte(&self, other: &ArgumentInfo) -> Option<u64> {
        let (a, b) = (self.stretches()?, other.stretches()?);
        let (mut i, mut j) = (0, 0);
        while let (Some((x, n)), Some((y, m))) = (a.get(i), b.get(j)) {
            let start = *x.max(y);
            if start < (x + n).min(y + m) {
                return Some(start);
            }
            if x + n <= y + m { i += 1 } else { j += 1 }
        }
        None
    }
}

/// Stretches of a tensor that are compared with those of others.
const MOST_STRETCHES: usize = 1 << 20;

impl Manifest {
    /// Arguments that share bytes against the contract: the exclusive one, the other, and the first byte.
    pub(crate) fn overlaps(&self) -> Vec<(&ArgumentInfo, &ArgumentInfo, u64)> {
        let mut found = vec![];
        for (n, a) in self.arguments.iter().enumerate() {
            for b in &self.arguments[n + 1..] {
                let (a, b) = if a.exclusive { (a, b) } else { (b, a) };
                if let Some(byte) = a.exclusive.then(|| a.shared_byte(b)).flatten() {
                    found.push((a, b, byte));
                }
            }
        }
        found
    }
}

/// The index of the element so many elements after the first, largest stride first.
fn place(name: &str, element: i64, shape: &[usize], strides: &[usize]) -> TensorPlace {
    let mut index = vec![0; shape.len()];
    let mut order: Vec<usize> = (0..shape.len().min(strides.len())).filter(|m| strides[*m] > 0).collect();
    // Of equal strides, the mode with the larger extent is the one that moves.
    order.sort_by_key(|m| (std::cmp::Reverse(strides[*m]), shape[*m] == 1));
    let mut rest = element;
    for mode in order {
        index[mode] = rest / strides[mode] as i64;
        rest %= strides[mode] as i64;
    }
    let inside = rest == 0 && index.iter().zip(shape).all(|(i, extent)| *i < *extent as i64);
    TensorPlace { name: name.into(), index, inside }
}

impl std::fmt::Display for TensorPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index.as_slice() {
            [row, column] => write!(f, "`{}[row {row}, column {column}]`", self.name),
            index => {
                let index: Vec<_> = index.iter().map(i64::to_string).collect();
                write!(f, "`{}[{}]`", self.name, index.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_told_by_the_byte() {
        let at = |name: &str, base, shape: [usize; 2], exclusive| ArgumentInfo {
            name: name.into(),
            base: DevicePointer(base),
            dtype: DType::F32,
            shape: shape.into(),
            strides: vec![64, 1],
            exclusive,
        };
        let found = |a: ArgumentInfo, b: ArgumentInfo| {
            let manifest = Manifest { arguments: vec![a, b], shared: vec![] };
            manifest.overlaps().first().map(|(a, b, byte)| (a.name.clone(), b.name.clone(), *byte))
        };
        // Two halves of the rows of one matrix, and the same with one column in common.
        assert_eq!(found(at("x", 4096, [8, 32], false), at("y", 4096 + 128, [8, 32], true)), None);
        let both = Some(("y".into(), "x".into(), 4096 + 124));
        assert_eq!(found(at("x", 4096, [8, 32], false), at("y", 4096 + 124, [8, 32], true)), both);
        // Nobody minds where nothing is exclusive.
        assert_eq!(found(at("x", 4096, [8, 32], false), at("y", 4096, [8, 32], false)), None);
        assert_eq!(found(at("x", 4096, [0, 32], true), at("y", 4096, [8, 32], false)), None);
    }

    #[test]
    fn an_address_is_an_index() {
        let x = ArgumentInfo {
            name: "x".into(),
            base: DevicePointer(0x1000),
            dtype: DType::BF16,
            shape: vec![4, 20],
            strides: vec![32, 1],
            exclusive: false,
        };
        let manifest = Manifest { arguments: vec![x], shared: vec![] };
        let at = |element: u64| manifest.tensor(0x1000 + 2 * element, 0x1000).map(|p| (p.to_string(), p.inside));
        assert_eq!(at(3 * 32 + 17), Some(("`x[row 3, column 17]`".into(), true)));
        assert_eq!(at(4 * 32), Some(("`x[row 4, column 0]`".into(), false)));
        assert_eq!(at(20), Some(("`x[row 0, column 20]`".into(), false)));
        assert_eq!(manifest.tensor(0x900, 0x900), None);
    }
}
