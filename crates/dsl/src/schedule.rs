//! Which block works on which tile, when there are more tiles than blocks.

use crate::dim::Dim;
use crate::flow::range;
use crate::thread::{block_idx, grid_size};
use crate::trace::helper;
use crate::value::U32;

/// The place of an output tile, counted in tiles.
#[derive(Clone, Copy)]
pub struct TileAt {
    /// Down.
    pub m: Dim,
    /// Across.
    pub n: Dim,
}

/// A persistent schedule: each block takes every `grid`-th tile. Tiles go down bands of `band` rows, so that the blocks
/// that run at one time share rows of A and of B in the level-two cache.
#[derive(Clone, Copy)]
pub struct TileSchedule {
    down: Dim,
    across: Dim,
    band: usize,
}

impl TileSchedule {
    /// For `down` × `across` tiles.
    pub fn new(down: impl Into<Dim>, across: impl Into<Dim>, band: usize) -> TileSchedule {
        TileSchedule { down: down.into(), across: across.into(), band: band.max(1) }
    }

    /// This block's tiles, one after the other: `for tile in schedule.each() { … }` is a run-time loop.
    #[track_caller]
    pub fn each(&self) -> impl Iterator<Item = TileAt> {
        let TileSchedule { down, across, band } = *self;
        let tiles = range(block_idx().x, down * across).step(grid_size().x);
        tiles.into_iter().map(move |i| {
            helper("TileSchedule", || {
                let in_band = across * band;
                let (first, rest) = (Dim::from(i) / in_band * band, Dim::from(i) % in_band);
                let left: U32 = (down + first * -1).into();
                let height = Dim::from(left.min(band));
                TileAt { m: first + rest % height, n: rest / height }
            })
        })
    }
}
