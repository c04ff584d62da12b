//! Tilers: what a layout is divided, multiplied or composed by, mode by mode.

use crate::error::{LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::parse::Reader;
use std::fmt;
use std::str::FromStr;

/// A size or a layout for the whole, or a tiler for each mode, or `_`, which leaves a mode alone.
///
/// A size `n` stands for `n` neighbours: the layout `n:1`, in divisions and products `1:0` for one. A Rust tuple stands
/// for a tiler by mode.
///
/// ```
/// use warpsmith_layout::Tiler;
/// let t = Tiler::from((128, 64));
/// assert_eq!(t.to_string(), "<128,64>");
/// assert_eq!("<128, 64>".parse::<Tiler>()?, t);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
// A box would cost an allocation for every tile.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tiler {
    /// Leave this mode alone.
    Keep,
    /// Apply the layout of this many neighbours.
    Size(Int),
    /// Apply this layout.
    Layout(Layout),
    /// Apply each to its mode.
    Modes(Vec<Tiler>),
}

impl Tiler {
    /// The layout for a division or a product; none for `_` and tilers by mode.
    pub(crate) fn as_layout(&self) -> Result<Option<Layout>> {
        match self {
            Tiler::Size(n) => Layout::compact(n.clone()).map(Some),
            Tiler::Layout(layout) => Ok(Some(layout.clone())),
            Tiler::Keep | Tiler::Modes(_) => Ok(None),
        }
    }

    /// Refuses a tiler with more modes than the layout has.
    pub(crate) fn fits(&self, layout: &Layout) -> Result<()> {
        match self {
            Tiler::Modes(modes) if modes.len() > layout.rank() => {
                Err(LayoutError::Rank { what: "a tiler and its layout", left: modes.len(), right: layout.rank() })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Tiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiler::Keep => f.write_str("_"),
            Tiler::Size(n) => n.fmt(f),
            Tiler::Layout(layout) => layout.fmt(f),
            Tiler::Modes(modes) => {
                for (i, mode) in modes.iter().enumerate() {
                    write!(f, "{}{mode}", if i == 0 { "<" } else { "," })?;
                }
                f.write_str(if modes.is_empty() { "<>" } else { ">" })
            }
        }
    }
}

impl Reader<'_> {
    fn tiler(&mut self, depth: usize) -> Result<Tiler> {
        if self.take("_") {
            return Ok(Tiler::Keep);
        }
        if self.take("<") {
            if depth == 16 {
                return Err(self.expected("less nesting"));
            }
            let mut modes = Vec::new();
            while !self.take(">") {
                modes.push(self.tiler(depth + 1)?);
                if !self.take(",") {
                    self.need(">")?;
                    break;
                }
            }
            return Ok(Tiler::Modes(modes));
        }
        let shape = self.int_tuple()?;
        if self.take(":") {
            let stride = self.strides()?;
            return Layout::new(shape, stride).map(Tiler::Layout);
        }
        match shape.as_leaf() {
            Some(n) => Ok(Tiler::Size(n.clone())),
            None => Err(self.expected("`:` and strides")),
        }
    }
}

impl FromStr for Tiler {
    type Err = LayoutError;

    /// `_`, an integer, a layout, or tilers by mode: `<4:2,_,8>`.
    fn from_str(text: &str) -> Result<Tiler> {
        Reader::whole(text, |r| r.tiler(0))
    }
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Tiler {
        Tiler::Layout(layout)
    }
}

impl From<&Layout> for Tiler {
    fn from(layout: &Layout) -> Tiler {
        Tiler::Layout(layout.clone())
    }
}

impl From<&Tiler> for Tiler {
    fn from(tiler: &Tiler) -> Tiler {
        tiler.clone()
    }
}

impl From<std::ops::RangeFull> for Tiler {
    fn from(_: std::ops::RangeFull) -> Tiler {
        Tiler::Keep
    }
}

macro_rules! from_integers {
    ($($t:ty)*) => {$(
        impl From<$t> for Tiler {
            fn from(n: $t) -> Tiler {
                Tiler::Size(n.into())
            }
        }
    )*};
}
from_integers!(i32 i64 u32 usize Int);

macro_rules! from_tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Into<Tiler>),*> From<($($name,)*)> for Tiler {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Tiler {
                Tiler::Modes(vec![$($name.into()),*])
            }
        }
    )*};
}
from_tuples!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));
