//! Where a thread is, and how threads meet.

use crate::trace::{effect, emit};
use crate::value::U32;
use warpsmith_ir::{Op, Special, Type};

/// A position in the launch; reading all three costs nothing, dead ones vanish.
#[derive(Clone, Copy)]
pub struct Index3 {
    /// The fastest.
    pub x: U32,
    /// The middle.
    pub y: U32,
    /// The slowest.
    pub z: U32,
}

macro_rules! special {
    ($($(#[$doc:meta])* $name:ident => $x:ident $y:ident $z:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name() -> Index3 {
            Index3 {
                x: U32 { h: emit(Op::Special(Special::$x), &[], Type::U32) },
                y: U32 { h: emit(Op::Special(Special::$y), &[], Type::U32) },
                z: U32 { h: emit(Op::Special(Special::$z), &[], Type::U32) },
            }
        }
    )*};
}
special! {
    /// The thread in its block.
    thread_idx => ThreadX ThreadY ThreadZ;
    /// The block in the grid.
    block_idx => BlockX BlockY BlockZ;
    /// Threads in a block.
    block_size => BlockSizeX BlockSizeY BlockSizeZ;
    /// Blocks in the grid.
    grid_size => GridX GridY GridZ;
}

/// The thread's lane in its warp, 0 to 31.
#[track_caller]
pub fn lane_idx() -> U32 {
    U32 { h: emit(Op::Special(Special::Lane), &[], Type::U32) }
}

/// All threads of the block meet here and see each other's writes (`bar.sync`). Every thread must come.
#[track_caller]
pub fn sync_threads() {
    effect(Op::Barrier, &[]);
}

/// Waits until the kernels that this one depends on have finished and their writes are visible
/// (`griddepcontrol.wait`). Without programmatic dependent launch it does nothing.
#[track_caller]
pub fn wait_for_upstream() {
    effect(Op::WaitForUpstream, &[]);
}

/// Lets kernels that depend on this one start (`griddepcontrol.launch_dependents`).
#[track_caller]
pub fn launch_dependents() {
    effect(Op::LaunchDependents, &[]);
}
