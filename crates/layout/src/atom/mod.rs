//! Atoms as data: what one instruction moves or multiplies, as layouts, and what is built from that by algebra.

mod copy;
mod mma;
mod shared;
mod tiled_copy;
mod tiled_mma;

pub use copy::CopyAtom;
pub use mma::{MmaAtom, WgmmaKind};
pub use shared::{Major, SharedAtom, SharedDescriptor, SharedSwizzle};
pub use tiled_copy::TiledCopy;
pub use tiled_mma::{Operand, TiledMma};
