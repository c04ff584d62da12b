//! CuTe's layout algebra on the host: exact, and complete.
//!
//! A [`Layout`] is a function from coordinates to offsets, written `shape:stride`. The algebra makes layouts from
//! layouts: it cuts them into tiles, repeats them, composes them, inverts them. Who holds which element of which tile,
//! in which order, at which address, is then a matter of a few operations:
//!
//! ```
//! use warpsmith_layout::{Layout, make_layout_tv};
//!
//! // A row-major matrix, cut into tiles of 128 x 64.
//! let matrix = Layout::row_major((1024, 512))?;
//! let (tile, offset) = matrix.local_tile((128, 64), (3, 2))?;
//! assert_eq!((tile.to_string(), offset.to_string()), ("(128,64):(512,1)".into(), "196736".into()));
//!
//! // 16 x 8 threads with 8 neighbours of a row each cover 16 x 64 elements of the tile.
//! let (tiler, tv) = make_layout_tv(&Layout::row_major((16, 8))?, &Layout::row_major((1, 8))?)?;
//! assert_eq!(tiler.to_string(), "(16,64)");
//!
//! // The elements of thread 9, as often as the tile takes.
//! let parts = tile.zipped_divide((16, 64))?.compose_tiler(&(tv, ..).into())?;
//! let (mine, start) = parts.slice(((9, ..), ..))?;
//! assert_eq!(mine.to_string(), "(8,(8,1)):(1,(8192,0))");
//! assert_eq!(start.to_string(), "520");
//! # Ok::<(), warpsmith_layout::LayoutError>(())
//! ```
//!
//! - **The words.** [`IntTuple`] is a nested tuple of [`Int`]s, a [`Coord`] one of indices and holes, [`Strides`] one of
//!   [`Step`]s. A [`Tiler`] says how to cut. A [`Swizzle`] permutes offsets, a [`ComposedLayout`] is a swizzled layout.
//! - **The order** is colexicographic: mode 0 runs fastest. Past its end, the last mode of a layout goes on.
//! - **Run-time integers.** A leaf may be opaque ([`Int::variable`]) with what is known of it ([`Facts`]). What is
//!   provable stays static; an operation that needs a fact which is not known says which. A language writes the offsets
//!   that come out down through [`Emit`].
//! - **Refusals.** An operation whose result would not be the function that it should be is an error, a
//!   [`LayoutError`], with the operands and the mode that fails; so is what does not fit 64 bits.
//! - **Atoms.** What instructions move and multiply is data: see [`atom`].
//! - **Pictures.** [`Picture`] draws layouts as SVG and on terminals.

pub mod atom;
mod coalesce;
mod color;
mod complement;
mod compose;
mod composed;
mod convert;
mod coord;
mod divide;
mod draw;
mod emit;
mod error;
mod facts;
mod filter;
mod int;
mod inverse;
mod layout;
mod make;
mod modes;
mod parse;
mod partition;
mod product;
mod recast;
#[cfg(feature = "serde")]
mod serial;
mod shape;
mod slice;
mod step;
mod swizzle;
mod symbol;
mod text;
mod tiler;
mod tuple;
mod tv;
mod view;

/// The examples of the book's chapter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/src/layouts.md")]
mod book {}

pub use composed::ComposedLayout;
pub use convert::{Coord, IntTuple, Strides};
pub use coord::{Index, crd2crd, crd2idx, crd2idx_colex, idx2crd, idx2crd_stride};
pub use draw::Picture;
pub use emit::Emit;
pub use error::{LayoutError, Result};
pub use facts::Facts;
pub use int::Int;
pub use layout::Layout;
pub use step::{Basis, Step};
pub use swizzle::Swizzle;
pub use symbol::Symbol;
pub use tiler::Tiler;
pub use tuple::{Modes, Tuple, View};
pub use tv::make_layout_tv;
