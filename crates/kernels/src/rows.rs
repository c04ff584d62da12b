//! What kernels over rows share: how a block's threads cover rows, and the checks of their arguments.

use crate::gate::Refusal;
use std::fmt;
use warpsmith_dsl::{ArgumentError, DType, RowGroup, TensorArg, Tv};

/// The longest row that one block holds in registers.
pub const LONGEST_ROW: usize = 49_152;

/// Bytes that one access can move on every supported chip.
const ACCESS_BYTES: usize = 16;

/// How a block covers rows of one length: `threads_per_row` threads share a row, each owning `vectors` runs of `vector`
/// elements; `rows` rows share a block.
///
/// The choice follows from what limits such kernels, memory requests in flight, and from measurements on an H200
/// (`bench/results`):
/// - accesses are as wide as alignment allows, up to 128 bits;
/// - a thread has two of them at once, both issued before the first is used: with few registers a thread, many threads
///   fit a multiprocessor, and other rows load while one waits at its barrier;
/// - beyond 512 threads a row, more accesses a thread are better than more threads, up to eight;
/// - short rows share a block of 128 threads, and rows that a warp holds need no shared memory and no barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowPlan {
    /// The threads that a row's reduction goes over, and rows in a block.
    pub group: RowGroup,
    /// Who owns what of a block's tile; its columns may overhang the row.
    pub tv: Tv,
}

/// Threads in a block of short rows.
const BLOCK: usize = 128;
/// Accesses of a thread, as long as rows are short enough.
const FEW: usize = 2;
/// Threads of a row that do with so few.
const MANY_THREADS: usize = 512;
/// Accesses of a thread that its registers hold well.
const MOST: usize = 8;

/// Values of a thread beyond which its registers spill.
const MOST_VALUES: usize = 64;

impl RowPlan {
    /// For rows of `dim` elements, accessed `vector` at a time (which divides `dim`).
    ///
    /// # Errors
    /// When the row is longer than [`LONGEST_ROW`] or empty.
    pub fn new(dim: usize, vector: usize) -> Result<RowPlan, ArgumentError> {
        let runs = dim.div_ceil(vector).max(1);
        let threads = runs.div_ceil(FEW).next_power_of_two().min(MANY_THREADS);
        RowPlan::with_threads(dim, vector, if runs.div_ceil(threads) > MOST { 1024 } else { threads })
    }

    /// The same with so many threads to a row: a power of two, up to 1024.
    ///
    /// # Errors
    /// When the row is longer than [`LONGEST_ROW`] or empty, or the number of threads is none of these.
    pub fn with_threads(dim: usize, vector: usize, threads_per_row: usize) -> Result<RowPlan, ArgumentError> {
        let refuse = |name, expected: &str, got: usize| {
            Err(ArgumentError::Unexpected { name, expected: expected.into(), got: got.to_string() })
        };
        if dim == 0 || dim > LONGEST_ROW {
            return refuse("dim", "1 to 49152 elements in a row", dim);
        }
        if !threads_per_row.is_power_of_two() || threads_per_row > 1024 {
            return refuse("threads_per_row", "a power of two up to 1024", threads_per_row);
        }
        let group = RowGroup { rows: (BLOCK / threads_per_row).max(1), threads_per_row };
        let vectors = dim.div_ceil(vector).div_ceil(threads_per_row);
        match Tv::rows(group.rows, threads_per_row, vector, vectors) {
            Ok(tv) => Ok(RowPlan { group, tv }),
            Err(_) => refuse("vector", "a divisor of the row's length", vector),
        }
    }

    /// This plan, and those with other numbers of threads that may be faster for rows of `dim` elements: a thread has one
    /// access at least, and what it holds fits its registers.
    pub fn others(&self, dim: usize) -> impl Iterator<Item = RowPlan> {
        let vector = self.tv.vector();
        let threads = (0..=10).map(|i| 1 << i).filter(move |t| *t == 1 || *t < 2 * dim.div_ceil(vector));
        let plans = threads.filter_map(move |t| RowPlan::with_threads(dim, vector, t).ok());
        let mine = self.clone();
        let others = plans.filter(move |p| *p != mine && p.tv.values() <= MOST_VALUES);
        std::iter::once(self.clone()).chain(others)
    }

    /// Rows in a block.
    pub fn rows(&self) -> usize {
        self.group.rows
    }

    /// Threads in a block.
    pub fn threads(&self) -> usize {
        self.group.threads()
    }

    /// Rows and columns of a block's tile.
    pub fn tile(&self) -> [usize; 2] {
        self.tv.tile()
    }
}

impl fmt::Display for RowPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowGroup { rows, threads_per_row } = self.group;
        let (vector, vectors) = (self.tv.vector(), self.tv.values() / self.tv.vector());
        let s = if rows == 1 { "" } else { "s" };
        write!(f, "{} threads and {rows} row{s} a block, {threads_per_row} threads a row, ", self.threads())?;
        write!(f, "{vectors} × {vector} elements a thread")
    }
}

/// Elements in one access of row-wise (rows, dim) tensors and (dim) vectors: the most, up to 128 bits of the widest
/// dtype, that lengths, strides and addresses of all of them allow.
pub fn vector(tensors: &[&TensorArg]) -> usize {
    let widest = tensors.iter().map(|t| t.dtype.bytes()).max().unwrap_or(1);
    let fits = |width: usize| {
        tensors.iter().all(|t| {
            let last = t.shape.len().saturating_sub(1);
            t.dim(last).is_multiple_of(width)
                && t.strides.iter().take(last).all(|s| s.is_multiple_of(width))
                && t.address.is_multiple_of((width * t.dtype.bytes()) as u64)
        })
    };
    let mut width = ACCESS_BYTES / widest;
    while width > 1 && !fits(width) {
        width /= 2;
    }
    width.max(1)
}

/// A call's size: plans are the same for as many rows up to a factor of two.
pub(crate) fn size(x: &TensorArg) -> u32 {
    x.dim(0).checked_ilog2().unwrap_or(0)
}

/// The plan of the kernels that keep a row in a block's registers. `x` and `y` are rows of one length.
pub(crate) fn in_registers(x: &TensorArg, y: &TensorArg) -> Result<RowPlan, Refusal> {
    let got = x.dim(1);
    RowPlan::new(got, vector(&[x, y])).map_err(|_| Refusal::RowLength { argument: "x", most: LONGEST_ROW, got })
}

/// Checks (rows, dim) tensors of one shape, and returns `dim`.
pub(crate) fn check(tensors: &[(&'static str, &TensorArg)]) -> Result<usize, ArgumentError> {
    let mut dim = None;
    for &(name, t) in tensors {
        if t.shape.len() != 2 {
            let (modes, shape) = ("rows, dim".into(), t.shape.clone());
            return Err(ArgumentError::Rank { name, expected: 2, modes, shape });
        }
        check_dtype(name, t.dtype)?;
        let (got, other) = (t.dim(1), tensors[0].0);
        let expected = *dim.get_or_insert(got);
        if got != expected {
            return Err(ArgumentError::Disagree { name, extent: "dim", got, other, expected });
        }
        if got == 0 {
            let expected = "rows of at least 1 element".into();
            return Err(ArgumentError::Unexpected { name, expected, got: got.to_string() });
        }
        if got > 1 && t.strides.last() != Some(&1) {
            let got = t.strides.last().copied().unwrap_or(0);
            return Err(ArgumentError::InnerStride { name, extent: "dim", got });
        }
    }
    Ok(dim.unwrap_or(0))
}

/// Checks a (dim) vector that goes with rows of `dim`.
pub(crate) fn check_vector(name: &'static str, t: &TensorArg, dim: usize) -> Result<(), ArgumentError> {
    if t.shape.len() != 1 {
        return Err(ArgumentError::Rank { name, expected: 1, modes: "dim".into(), shape: t.shape.clone() });
    }
    check_dtype(name, t.dtype)?;
    if t.dim(0) != dim {
        let (got, expected) = (t.dim(0), dim);
        return Err(ArgumentError::Disagree { name, extent: "dim", got, other: "x", expected });
    }
    Ok(())
}

fn check_dtype(name: &'static str, dtype: DType) -> Result<(), ArgumentError> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(()),
        other => {
            let expected = "elements of f32, f16 or bf16".into();
            Err(ArgumentError::Unexpected { name, expected, got: other.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_row_within_a_block() {
        for dim in (1..=LONGEST_ROW).step_by(97).chain([LONGEST_ROW]) {
            for vector in [1, 2, 4, 8].into_iter().filter(|v| dim % v == 0) {
                let p = RowPlan::new(dim, vector).unwrap();
                let [rows, columns] = p.tile();
                assert!(columns >= dim && rows == p.rows(), "{dim}: {p}");
                assert!(p.threads() <= 1024 && p.threads().is_multiple_of(32), "{dim}: {p}");
                assert!(p.group.threads_per_row.is_power_of_two() && rows >= 1, "{dim}: {p}");
                assert!(p.tv.values() <= 64, "{dim}: registers of {p}");
            }
        }
        assert!(RowPlan::new(LONGEST_ROW + 1, 1).is_err() && RowPlan::new(0, 1).is_err());
        assert!(RowPlan::with_threads(64, 1, 48).is_err());
    }

    #[test]
    fn other_plans_cover_the_row_too() {
        for (dim, vector) in [(1, 1), (8, 8), (100, 4), (4096, 8), (LONGEST_ROW, 4)] {
            let model = RowPlan::new(dim, vector).unwrap();
            let all: Vec<RowPlan> = model.others(dim).collect();
            assert_eq!(all[0], model);
            for (i, p) in all.iter().enumerate() {
                assert!(p.tile()[1] >= dim && p.threads() <= 1024 && !all[..i].contains(p), "{dim}: {p}");
                // Half of the threads would not do with one access each.
                assert!(p.group.threads_per_row == 1 || p.group.threads_per_row / 2 * vector < dim, "{dim}: {p}");
            }
        }
        // 64 to 512 threads to a row, by 8 values at least and 64 at most each.
        assert_eq!(RowPlan::new(4096, 8).unwrap().others(4096).count(), 4);
    }

    #[test]
    fn accesses_are_as_wide_as_alignment_proves() {
        let t = |address, columns, stride| TensorArg {
            strides: vec![stride, 1],
            ..TensorArg::new(address, warpsmith_dsl::DeviceId(0), DType::BF16, &[4, columns])
        };
        assert_eq!(vector(&[&t(256, 4096, 4096)]), 8);
        assert_eq!(vector(&[&t(256, 4100, 4100)]), 4);
        assert_eq!(vector(&[&t(258, 4096, 4096)]), 1);
        assert_eq!(vector(&[&t(256, 4096, 4098)]), 2);
        let wide = TensorArg::new(256, warpsmith_dsl::DeviceId(0), DType::F32, &[4096]);
        assert_eq!(vector(&[&t(256, 4096, 4096), &wide]), 4);
    }
}
