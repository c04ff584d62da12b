//! Coordinate tensors: each element is its own place. Partitioned as a tensor is, they say where a thread's elements are,
//! so that it can compare them with run-time limits.

use super::index::{Cut, cut};
use super::offset::Offset;
use super::partition::{Partition, Scheme};
use crate::trace::{Loc, mistake};
use crate::value::{Bool, U32};
use std::panic::Location;
use warpsmith_layout::{Layout, LayoutError};

/// The tensor of this shape whose elements are their coordinates (CuTe's `make_identity_tensor`).
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::cute::*;
/// # trace("example", || {
/// let copy = make_tiled_copy(copy_atom("UniversalCopy<uint128_t>", BF16), ((16, 8), (8, 1)), ((1, 8), (8, 1)));
/// let mine = copy.partition_s(&identity([64, 64]), thread_idx().x);
/// let inside = mine.predicates(|[row, _]| row.lt(50)); // one a vector, for `copy_if`
/// # let _ = inside;
/// # }).unwrap();
/// ```
pub fn identity(shape: [usize; 2]) -> Identity {
    Identity { shape }
}

/// See [`identity`].
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub(crate) shape: [usize; 2],
}

/// A thread's coordinates: those of its first element, and how the others differ.
#[derive(Clone)]
pub struct Coordinates {
    /// Row and column of the first.
    pub(crate) first: [Offset; 2],
    /// What cuts by Rust numbers added to all.
    constant: [i64; 2],
    /// From a value to its row, and to its column, relative to the first.
    pub(crate) layouts: [Layout; 2],
}

/// One condition a vector of a partition, in the order of its values: what [`copy_if`](super::copy_if) asks.
#[derive(Clone)]
pub struct Predicates {
    pub(crate) all: Vec<Bool>,
}

impl Coordinates {
    /// A thread's part of a tile of this shape.
    pub(crate) fn new(shape: [usize; 2], scheme: &Scheme<'_>, at: Loc) -> Result<Coordinates, LayoutError> {
        let shape = (shape[0] as i64, shape[1] as i64);
        let (rows, row) = scheme.part(&Layout::new(shape, (1, 0))?, at)?;
        let (columns, column) = scheme.part(&Layout::new(shape, (0, 1))?, at)?;
        Ok(Coordinates { first: [row, column], constant: [0; 2], layouts: [rows, columns] })
    }

    /// Nothing, after a mistake.
    pub(crate) fn none() -> Coordinates {
        Coordinates { first: [Offset::ZERO; 2], constant: [0; 2], layouts: [Layout::one(), Layout::one()] }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.layouts[0].size().unwrap_or(0) as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row and column of value `i`.
    #[track_caller]
    pub fn at(&self, i: usize) -> [U32; 2] {
        let step = |mode: usize| self.constant[mode] + self.layouts[mode].at(i as i64).unwrap_or(0);
        [0, 1].map(|mode| U32::from(self.first[mode].value + step(mode)))
    }

    /// The coordinates that a cut of the values leaves.
    #[track_caller]
    pub fn slice(&self, coordinate: impl Cut) -> Coordinates {
        let (at, modes) = (Location::caller(), coordinate.modes());
        let mut rest = self.clone();
        for mode in 0..2 {
            let Some(cut) = cut("coordinates", &self.layouts[mode], &modes, at) else { return self.clone() };
            rest.first[mode] = rest.first[mode].plus(cut.offset, at);
            rest.constant[mode] += cut.constant;
            rest.layouts[mode] = cut.layout;
        }
        rest
    }

    /// Rows and columns of all values, relative to the first.
    pub(crate) fn steps(&self) -> Vec<[i64; 2]> {
        let [rows, columns] = [0, 1].map(|mode| {
            let steps = self.layouts[mode].table().unwrap_or_default();
            steps.into_iter().map(move |step| self.constant[mode] + step)
        });
        rows.zip(columns).map(|(row, column)| [row, column]).collect()
    }

    /// A condition of the first element of each vector: those of one value mode are moved by one instruction.
    #[track_caller]
    pub fn predicates(&self, f: impl Fn([U32; 2]) -> Bool) -> Predicates {
        let vector = self.layouts[0].mode(0).and_then(|v| v.mode(0)).and_then(|v| v.size()).unwrap_or(1).max(1);
        Predicates { all: (0..self.len()).step_by(vector as usize).map(|i| f(self.at(i))).collect() }
    }
}

impl Partition for Identity {
    type Part = Coordinates;

    #[track_caller]
    fn partition(&self, scheme: &Scheme<'_>) -> Coordinates {
        let part = Coordinates::new(self.shape, scheme, Location::caller());
        part.unwrap_or_else(|e| {
            let [rows, columns] = self.shape;
            mistake(format!("a tile of {rows} × {columns} can not be partitioned so: {e}"), &[], scheme.help());
            Coordinates::none()
        })
    }
}
