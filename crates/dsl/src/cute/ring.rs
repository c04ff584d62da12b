//! A ring of shared stages that `cp.async` fills while the block multiplies.

use crate::dim::Dim;
use crate::flow::{range, select, var, when};
use crate::thread::sync_threads;
use crate::trace::{helper, mistake};
use crate::value::U32;

use super::copy::{cp_async_fence, cp_async_wait};

/// A pipeline of `stages`: tiles are copied by `cp.async` up to `stages - 1` ahead of the tile that is worked on. All
/// threads of the block copy and work; the ring counts groups, waits, and lets nobody overwrite what others still read.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::cute::*;
/// # trace("example", || {
/// let tiles = SmemTensor::new("tiles", F32, smem_layout(F32, Major::K, SharedSwizzle::Interleave, (8, 4, 3)));
/// CpAsyncRing::new(3).run(10, |tile, stage| { let _ = (tile, tiles.slice((.., .., stage))); }, |_, stage| {
///     let _ = tiles.slice((.., .., stage)).get((0, 0)).f32();
/// });
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpAsyncRing {
    stages: usize,
}

impl CpAsyncRing {
    /// With so many stages, at least two.
    #[track_caller]
    pub fn new(stages: usize) -> CpAsyncRing {
        if stages < 2 {
            mistake(
                format!("a ring of {stages} stages"),
                &[],
                "one stage is read while another is filled: two or more",
            );
        }
        CpAsyncRing { stages: stages.max(2) }
    }

    /// How many stages it has.
    pub fn stages(&self) -> usize {
        self.stages
    }

    /// Works on `count` tiles: `load(tile, stage)` starts the copies of a tile, `work(tile, stage)` reads them when they
    /// have arrived. Afterwards no copy is under way; threads that use the memory for something else meet first.
    #[track_caller]
    pub fn run(&self, count: impl Into<Dim>, load: impl Fn(U32, U32), work: impl Fn(U32, U32)) {
        let (count, stages) = (U32::from(count.into()), self.stages);
        helper("CpAsyncRing::run", || {
            for ahead in 0..stages - 1 {
                let tile = U32::from(ahead);
                when(tile.lt(count), || load(tile, tile));
                cp_async_fence();
            }
            let [full, empty] = [var(U32::from(0)), var(U32::from(stages - 1))];
            let next = |stage: U32| select((stage + 1).eq(stages), U32::from(0), stage + 1);
            for tile in range(0, count) {
                cp_async_wait(stages - 2);
                // Everybody's copies have arrived, and everybody is done with the stage that is filled next.
                sync_threads();
                let ahead = tile + (stages - 1);
                when(ahead.lt(count), || load(ahead, empty.get()));
                // A group a tile, empty at the end, keeps the count of the wait right.
                cp_async_fence();
                work(tile, full.get());
                full.update(next);
                empty.update(next);
            }
            // The last wait left none but empty groups.
        });
    }
}
