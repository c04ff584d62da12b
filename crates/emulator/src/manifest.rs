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
    fn an_address_is_an_index() {
        let x = ArgumentInfo {
            name: "x".into(),
            base: DevicePointer(0x1000),
            dtype: DType::BF16,
            shape: vec![4, 20],
            strides: vec![32, 1],
        };
        let manifest = Manifest { arguments: vec![x], shared: vec![] };
        let at = |element: u64| manifest.tensor(0x1000 + 2 * element, 0x1000).map(|p| (p.to_string(), p.inside));
        assert_eq!(at(3 * 32 + 17), Some(("`x[row 3, column 17]`".into(), true)));
        assert_eq!(at(4 * 32), Some(("`x[row 4, column 0]`".into(), false)));
        assert_eq!(at(20), Some(("`x[row 0, column 20]`".into(), false)));
        assert_eq!(manifest.tensor(0x900, 0x900), None);
    }
}
