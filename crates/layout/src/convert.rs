//! Rust's own integers and tuples as tuples of the algebra: `(4, (2, 3))`.

use crate::coord::Index;
use crate::int::Int;
use crate::step::Step;
use crate::tuple::Tuple;

/// A shape, or an integer coordinate: a nested tuple of integers.
///
/// ```
/// use warpsmith_layout::*;
/// assert_eq!(IntTuple::from((4, (2, 3))), "(4,(2,3))".parse()?);
/// # Ok::<(), LayoutError>(())
/// ```
pub type IntTuple = Tuple<Int>;
/// The strides of a layout: a nested tuple of [`Step`]s.
///
/// ```
/// use warpsmith_layout::*;
/// assert_eq!(Strides::from((8, (1, 0))), "(8,(1,0))".parse()?);
/// # Ok::<(), LayoutError>(())
/// ```
pub type Strides = Tuple<Step>;
/// A coordinate that may have holes.
///
/// ```
/// use warpsmith_layout::*;
/// assert_eq!(Coord::from((1, ..)), "(1,_)".parse()?);
/// # Ok::<(), LayoutError>(())
/// ```
pub type Coord = Tuple<Index>;

macro_rules! from_integers {
    ($leaf:ty: $($t:ty)*) => {$(
        impl From<$t> for Tuple<$leaf> {
            fn from(v: $t) -> Self {
                Tuple::leaf(<$leaf>::from(v))
            }
        }
    )*};
}

macro_rules! from_tuples {
    ($leaf:ty: $(($($name:ident)*))*) => {$(
        impl<$($name: Into<Tuple<$leaf>>),*> From<($($name,)*)> for Tuple<$leaf> {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Tuple::of([$($name.into()),*])
            }
        }
    )*};
}

macro_rules! from_slices {
    ($leaf:ty) => {
        impl<const N: usize> From<[i64; N]> for Tuple<$leaf> {
            fn from(v: [i64; N]) -> Self {
                Tuple::flat(v.map(<$leaf>::from))
            }
        }
        impl From<&[i64]> for Tuple<$leaf> {
            fn from(v: &[i64]) -> Self {
                Tuple::flat(v.iter().map(|v| <$leaf>::from(*v)))
            }
        }
        impl From<&Tuple<$leaf>> for Tuple<$leaf> {
            fn from(v: &Tuple<$leaf>) -> Self {
                v.clone()
            }
        }
    };
}

from_integers!(Int: i32 i64 u32 usize);
from_integers!(Step: i32 i64 u32 usize Int);
from_integers!(Index: i32 i64 u32 usize Int std::ops::RangeFull);
from_tuples!(Int: (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));
from_tuples!(Step: (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));
from_tuples!(Index: (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));
from_slices!(Int);
from_slices!(Step);
from_slices!(Index);

impl From<IntTuple> for Strides {
    fn from(v: IntTuple) -> Self {
        v.map(|v| Step::from(v.clone()))
    }
}

impl From<IntTuple> for Coord {
    fn from(v: IntTuple) -> Self {
        v.map(|v| Index::At(v.clone()))
    }
}

impl From<&IntTuple> for Coord {
    fn from(v: &IntTuple) -> Self {
        v.map(|v| Index::At(v.clone()))
    }
}
