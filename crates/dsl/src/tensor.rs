//! Tensors in global memory: an address, a dtype, and modes of (extent, stride). Views are made on the host; they emit
//! only index arithmetic.

use crate::dim::{Dim, Stride, gcd};
use crate::part::Part;
use crate::trace::mistake;
use crate::tv::Tv;
use crate::value::{U32, U64};
use smallvec::{SmallVec, smallvec};
use std::panic::Location;
use std::rc::Rc;
use warpsmith_types::DType;

/// Coordinates: tuples of Rust numbers, `U32` and `Dim`, mixed.
pub trait Coord<const N: usize> {
    /// One a mode.
    fn dims(self) -> [Dim; N];
}
impl<A: Into<Dim>> Coord<1> for (A,) {
    fn dims(self) -> [Dim; 1] {
        [self.0.into()]
    }
}
impl<A: Into<Dim>, B: Into<Dim>> Coord<2> for (A, B) {
    fn dims(self) -> [Dim; 2] {
        [self.0.into(), self.1.into()]
    }
}

/// Coordinates of any rank: tuples of Rust numbers, `U32` and `Dim`, mixed, or arrays of one of them.
pub trait Coordinates {
    /// One a mode.
    fn dims(self) -> SmallVec<[Dim; 5]>;
}
macro_rules! coordinates {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Into<Dim>),*> Coordinates for ($($t,)*) {
            fn dims(self) -> SmallVec<[Dim; 5]> {
                smallvec![$(self.$i.into()),*]
            }
        }
    )*};
}
coordinates! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

impl<T: Into<Dim>, const N: usize> Coordinates for [T; N] {
    fn dims(self) -> SmallVec<[Dim; 5]> {
        self.into_iter().map(Into::into).collect()
    }
}

/// A view of global memory. It owns its layout, so its methods take `&self`.
#[derive(Clone)]
pub struct Tensor {
    pub(crate) name: Rc<str>,
    /// Of the view's first element.
    pub(crate) address: U64,
    /// A power of two that divides the address for sure.
    pub(crate) align: i64,
    pub(crate) dtype: DType,
    pub(crate) modes: Vec<Mode>,
    /// The kernel was told that nobody writes it.
    pub(crate) read_only: bool,
    /// Not the whole argument any more.
    pub(crate) is_view: bool,
}

/// One mode of a view.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) extent: Dim,
    pub(crate) stride: Stride,
    /// (first coordinate of this view, extent of the whole) when part of the view may lie outside.
    pub(crate) bound: Option<(Dim, Dim)>,
}

impl Tensor {
    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many modes it has.
    pub fn rank(&self) -> usize {
        self.modes.len()
    }

    /// The extent of a mode; 0 where there is none.
    pub fn dim(&self, mode: usize) -> Dim {
        self.modes.get(mode).map_or(Dim::Static(0), |m| m.extent)
    }

    /// The same memory with a new first mode, along which nothing changes.
    pub fn broadcast(&self, extent: impl Into<Dim>) -> Tensor {
        let mut t = self.clone();
        t.is_view = true;
        t.modes.insert(0, Mode { extent: extent.into(), stride: Stride::Static(0), bound: None });
        t
    }

    /// What has this coordinate in a mode: a view with one mode fewer.
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// fn of_head(x: &Tensor) -> Tensor {
    ///     x.slice(1, block_idx().y) // (rows, heads, dim) to (rows, dim)
    /// }
    /// ```
    #[track_caller]
    pub fn slice(&self, mode: usize, at: impl Into<Dim>) -> Tensor {
        let mut t = self.clone();
        t.is_view = true;
        if mode >= t.modes.len() {
            mistake(format!("`{}` has {} modes, and none of number {mode}", self.name, t.modes.len()), &[], "");
            return t;
        }
        let (bytes, at) = (self.dtype.bytes(), at.into());
        let Mode { stride, .. } = t.modes.remove(mode);
        if let Some(span) = stride.span(at, bytes) {
            t.address = t.address + span;
            t.align = gcd(t.align, at.divisor().saturating_mul(stride.divisor() * bytes as i64));
        }
        t
    }

    /// The tile at `coord` when the tensor is cut by `tiler` (CuTe's `local_tile`). Tiles at the edge may overhang: what
    /// lies outside is neither read nor written.
    #[track_caller]
    pub fn tile<const N: usize>(&self, tiler: [usize; N], coord: impl Coord<N>) -> Tensor {
        let mut t = self.clone();
        t.is_view = true;
        if N != t.modes.len() {
            let help = "give one tile extent a mode; `broadcast` adds a mode";
            mistake(format!("`{}` has {} modes, the tiler {N}", self.name, t.modes.len()), &[], help);
            return t;
        }
        let bytes = self.dtype.bytes();
        for ((mode, tile), c) in t.modes.iter_mut().zip(tiler).zip(coord.dims()) {
            let first = c * tile;
            if let Some(span) = mode.stride.span(first, bytes) {
                t.address = t.address + span;
                t.align = gcd(t.align, first.divisor().saturating_mul(mode.stride.divisor() * bytes as i64));
            }
            let covered = matches!(mode.stride, Stride::Static(0)) || mode.extent.is_multiple_of(tile as i64);
            let bound = match mode.bound {
                Some((from, extent)) => Some((from + first, extent)),
                None => (!covered).then_some((first, mode.extent)),
            };
            *mode = Mode { extent: tile.into(), stride: mode.stride, bound };
        }
        t
    }

    /// What `thread` owns of this (rows, columns) tile.
    #[track_caller]
    pub fn partition(&self, tv: &Tv, thread: U32) -> Part {
        Part::new(self, tv, thread, Location::caller())
    }
}
