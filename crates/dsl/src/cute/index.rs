//! Coordinates that cut tensors: holes, Rust numbers and run-time numbers, mixed.

use super::offset::{Offset, write};
use crate::trace::{Loc, mistake};
use crate::value::U32;
use warpsmith_layout::{Coord, Facts, Index, Int, Layout, LayoutError, Tuple};

/// One mode of a coordinate.
#[derive(Clone, Copy)]
pub enum At {
    /// The whole mode: it stays.
    All,
    /// An index known now.
    Known(i64),
    /// A run-time index.
    Index(U32),
}

impl From<std::ops::RangeFull> for At {
    fn from(_: std::ops::RangeFull) -> At {
        At::All
    }
}
impl From<usize> for At {
    fn from(n: usize) -> At {
        At::Known(n as i64)
    }
}
impl From<U32> for At {
    fn from(n: U32) -> At {
        At::Index(n)
    }
}

/// A coordinate, one [`At`] a mode: `(.., .., stage)`.
pub trait Cut {
    /// In the order of the modes.
    fn modes(self) -> Vec<At>;
}

macro_rules! cuts {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Into<At>),*> Cut for ($($t,)*) {
            fn modes(self) -> Vec<At> {
                vec![$(self.$i.into()),*]
            }
        }
    )*};
}
cuts! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

/// The coordinate in the algebra's words, and its run-time indices as the variables that it names.
pub(crate) fn coordinate(layout: &Layout, modes: &[At]) -> Result<(Coord, Vec<Offset>), LayoutError> {
    if modes.len() != layout.rank() {
        return Err(LayoutError::Rank { what: "a coordinate and a tensor", left: modes.len(), right: layout.rank() });
    }
    let mut variables = vec![];
    let mut index = |mode: usize, at: &At| {
        let extent = layout.mode(mode)?.size()?;
        Ok(match *at {
            At::All => Index::All,
            At::Known(n) if n < extent => Index::At(n.into()),
            At::Known(n) => {
                return Err(LayoutError::Unsupported(format!("index {n} of mode {mode}, which has extent {extent}")));
            }
            At::Index(value) => {
                variables.push(Offset::below(value, extent));
                Index::At(Int::variable(variables.len() as u32 - 1, Facts::index(extent)))
            }
        })
    };
    // A layout of one mode has no tuple.
    if let ([at], true) = (modes, layout.is_leaf()) {
        return Ok((Tuple::leaf(index(0, at)?), variables));
    }
    let coord = modes.iter().enumerate().map(|(i, at)| index(i, at)).collect::<Result<Vec<_>, LayoutError>>()?;
    Ok((Tuple::flat(coord), variables))
}

/// What a cut leaves.
pub(crate) struct Rest {
    /// Of the modes that stay.
    pub(crate) layout: Layout,
    /// Of the run-time indices.
    pub(crate) offset: Offset,
    /// Of the Rust numbers.
    pub(crate) constant: i64,
}

/// The layout at a coordinate's holes, and the offset of its indices.
#[track_caller]
pub(crate) fn cut(name: &str, layout: &Layout, modes: &[At], at: Loc) -> Option<Rest> {
    let cut = || -> Result<Rest, LayoutError> {
        // Offsets are sums over modes: what is known now can be added last.
        let zero = |stays: fn(&At) -> bool| modes.iter().map(|m| if stays(m) { *m } else { At::Known(0) }).collect();
        let known: Vec<At> = zero(|m| !matches!(m, At::Index(_)));
        let dynamic: Vec<At> = zero(|m| !matches!(m, At::Known(_)));
        let (rest, constant) = layout.slice(coordinate(layout, &known)?.0)?;
        let (coord, variables) = coordinate(layout, &dynamic)?;
        let offset = write(&layout.slice(coord)?.1, &variables, at)?;
        Ok(Rest { layout: rest, offset, constant: constant.known()? })
    };
    cut().inspect_err(|e| mistake(format!("`{name}` can not be cut so: {e}"), &[], "one index or `..` a mode")).ok()
}
