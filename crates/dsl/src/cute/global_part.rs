//! A thread's part of a tile of global memory. Where the tile overhangs its tensor, accesses are predicated.

use super::coordinates::Coordinates;
use super::index::Cut;
use super::partition::{Partition, Scheme};
use crate::dim::{Stride, gcd};
use crate::tensor::Tensor;
use crate::trace::{Loc, mistake};
use crate::value::{Bool, U32, U64};
use std::panic::Location;

/// A thread's part of a (rows, columns) tile: which elements, in the order of their values. Only places until copied.
#[derive(Clone)]
pub struct GmemPart {
    pub(crate) tensor: Tensor,
    pub(crate) places: Coordinates,
    /// Of its first element.
    address: U64,
}

/// Whether an access happens.
#[derive(Clone, Copy)]
pub(crate) enum Inside {
    Always,
    Never,
    When(Bool),
}

impl Inside {
    #[track_caller]
    pub(crate) fn and(self, other: Inside) -> Inside {
        match (self, other) {
            (Inside::Never, _) | (_, Inside::Never) => Inside::Never,
            (Inside::Always, c) | (c, Inside::Always) => c,
            (Inside::When(a), Inside::When(b)) => Inside::When(a & b),
        }
    }
}

/// How far the elements of a vector reach into the tensor.
pub(crate) enum Reach {
    /// All or none.
    Whole(Inside),
    /// So many of them, at most the vector's length.
    Some(U32),
}

impl Partition for Tensor {
    type Part = GmemPart;

    #[track_caller]
    fn partition(&self, scheme: &Scheme<'_>) -> GmemPart {
        let at = Location::caller();
        let mut tensor = self.clone();
        let mut places = Coordinates::none();
        let extents = tensor.modes.iter().map(|m| m.extent.known()).collect::<Option<Vec<_>>>();
        match extents.as_deref() {
            Some([rows, columns]) => match Coordinates::new([*rows as usize, *columns as usize], scheme, at) {
                Ok(made) => places = made,
                Err(e) => {
                    let message = format!("a tile of `{}` can not be partitioned so: {e}", self.name);
                    mistake(message, &[], scheme.help());
                }
            },
            _ => {
                let message = format!("`{}` is no tile of (rows, columns) known now", self.name);
                mistake(message, &[], "cut it first: `t.tile([64, 32], (i, j))`");
                let mode = crate::tensor::Mode { extent: 1.into(), stride: Stride::Static(0), bound: None };
                tensor.modes.resize(2, mode);
            }
        }
        GmemPart::new(tensor, places)
    }
}

impl GmemPart {
    #[track_caller]
    fn new(tensor: Tensor, places: Coordinates) -> GmemPart {
        let mut address = tensor.address;
        for (mode, first) in tensor.modes.iter().zip(places.first) {
            if let Some(span) = mode.stride.span(first.value, tensor.dtype.bytes()) {
                address = address + span;
            }
        }
        GmemPart { tensor, places, address }
    }

    /// The part that a cut of the values leaves.
    #[track_caller]
    pub fn slice(&self, coordinate: impl Cut) -> GmemPart {
        GmemPart::new(self.tensor.clone(), self.places.slice(coordinate))
    }

    /// Rows and columns of its values, relative to the first.
    pub(crate) fn steps(&self) -> Vec<[i64; 2]> {
        self.places.steps()
    }

    /// The mode along which elements are neighbours in memory.
    pub(crate) fn dense_mode(&self) -> Option<usize> {
        (0..2).rev().find(|&i| matches!(self.tensor.modes[i].stride, Stride::Static(1)))
    }

    /// A number of bytes that divides the address of an element for sure.
    pub(crate) fn align(&self, step: [i64; 2]) -> i64 {
        let bytes = self.tensor.dtype.bytes() as i64;
        let mut align = self.tensor.align;
        for ((mode, first), step) in self.tensor.modes.iter().zip(self.places.first).zip(step) {
            let stride = mode.stride.divisor().saturating_mul(bytes);
            align = gcd(align, gcd(first.power_of_two(), step).saturating_mul(stride));
        }
        align
    }

    /// A number of elements that divides how far the tensor reaches from an element on, along a mode.
    pub(crate) fn extent_divisor(&self, mode: usize, step: i64) -> i64 {
        match self.tensor.modes[mode].bound {
            None => 0,
            Some((from, extent)) => {
                let first = gcd(self.places.first[mode].power_of_two(), step);
                gcd(gcd(from.divisor(), extent.divisor()), first)
            }
        }
    }

    /// Address and constant offset of an element.
    #[track_caller]
    pub(crate) fn address_of(&self, step: [i64; 2]) -> (U64, i32) {
        let bytes = self.tensor.dtype.bytes();
        let (mut address, mut constant) = (self.address, 0);
        for (mode, step) in self.tensor.modes.iter().zip(step) {
            match mode.stride {
                Stride::Static(n) => constant += n * step * bytes as i64,
                stride => {
                    if let Some(span) = stride.span(step.into(), bytes) {
                        address = address + span;
                    }
                }
            }
        }
        match i32::try_from(constant) {
            Ok(offset) => (address, offset),
            Err(_) => (address + constant as u64, 0),
        }
    }

    /// Whether an element lies inside, by one mode.
    #[track_caller]
    pub(crate) fn inside(&self, mode: usize, step: i64) -> Inside {
        let Some((from, extent)) = self.tensor.modes[mode].bound else { return Inside::Always };
        match (from + self.places.first[mode].value + step).below(extent) {
            Ok(c) => Inside::When(c),
            Err(true) => Inside::Always,
            Err(false) => Inside::Never,
        }
    }

    /// How many of `vector` neighbours along `mode` lie inside, from an element on.
    #[track_caller]
    pub(crate) fn reach(&self, mode: usize, step: [i64; 2], vector: i64) -> Reach {
        let across = self.inside(1 - mode, step[1 - mode]);
        if vector == 1 || self.extent_divisor(mode, step[mode]) % vector == 0 {
            return Reach::Whole(across.and(self.inside(mode, step[mode])));
        }
        let Some((from, extent)) = self.tensor.modes[mode].bound else { return Reach::Whole(across) };
        let place: U32 = (from + self.places.first[mode].value + step[mode]).into();
        let extent: U32 = extent.into();
        // What is left of the extent, or nothing.
        let left = (extent.max(place) - place).min(vector as usize);
        match across {
            Inside::Always => Reach::Some(left),
            Inside::Never => Reach::Whole(Inside::Never),
            Inside::When(c) => Reach::Some(crate::flow::select(c, left, U32::from(0))),
        }
    }

    /// The view it is a part of, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.tensor.name
    }

    /// Notes that a vector can not be moved as one.
    #[track_caller]
    pub(crate) fn misaligned(&self, bytes: i64, known: i64, at: Option<Loc>) {
        let message =
            format!("`{}` is copied {bytes} bytes at a time, and known to be aligned to {known}", self.name());
        let notes = at.map(|at| ("the copy", at));
        mistake(message, notes.as_slice(), "let the plan refuse such arguments, or take a narrower copy");
    }
}
