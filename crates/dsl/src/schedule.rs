//! Which block works on which tile, when there are more tiles than blocks.

use crate::dim::Dim;
use crate::flow::{Var, break_if, range, repeat, var, when};
use crate::pointer::Pointer;
use crate::shared::Shared;
use crate::tensor::Tensor;
use crate::thread::{block_idx, grid_size, sync_threads, thread_idx};
use crate::trace::{helper, mistake};
use crate::value::U32;
use warpsmith_ir::access::Scope;
use warpsmith_types::DType;

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
        let schedule = *self;
        let tiles = range(block_idx().x, self.down * self.across).step(grid_size().x);
        tiles.into_iter().map(move |i| schedule.at(i))
    }

    /// The tile of this number.
    #[track_caller]
    fn at(&self, i: U32) -> TileAt {
        let TileSchedule { down, across, band } = *self;
        helper("TileSchedule", || {
            let in_band = across * band;
            let (first, rest) = (Dim::from(i) / in_band * band, Dim::from(i) % in_band);
            let left: U32 = (down + first * -1).into();
            let height = Dim::from(left.min(band));
            TileAt { m: first + rest % height, n: rest / height }
        })
    }

    /// The same tiles, each for the block that asks first: balanced when tiles take unequal time. `counter` is one u32 in
    /// the caller's memory, zero at the launch; the block that asks last sets it back to zero. The grid is
    /// one-dimensional. All threads of the block take part.
    #[track_caller]
    pub fn atomic(&self, counter: &Tensor) -> AtomicSchedule {
        if counter.dtype != DType::U32 || counter.read_only {
            let message = format!("`{}` of {} counts tiles", counter.name, counter.dtype);
            mistake(message, &[], "an output of one u32: `&mut TensorArg`");
        }
        // Two slots: while slow threads read one, the next number goes to the other.
        AtomicSchedule {
            tiles: *self,
            counter: counter.at((0,)),
            slots: Shared::new("tile", 2),
            turn: var(U32::from(0)),
        }
    }
}

/// Tiles that blocks draw from a counter.
pub struct AtomicSchedule {
    tiles: TileSchedule,
    counter: Pointer<U32>,
    slots: Shared<U32>,
    turn: Var<U32>,
}

impl AtomicSchedule {
    /// Works on the tiles that this block draws, one after the other.
    #[track_caller]
    pub fn each(&self, f: impl Fn(TileAt)) {
        helper("AtomicSchedule::each", || {
            let total = U32::from(self.tiles.down * self.tiles.across);
            // Each block draws once in vain.
            let last = total + grid_size().x - 1;
            repeat(|| {
                let slot = self.turn.get();
                when(thread_idx().x.eq(0), || {
                    let counter = self.counter.relaxed(Scope::Device);
                    let drawn = counter.fetch_add(1);
                    when(drawn.eq(last), || counter.store(0));
                    self.slots.set(slot, drawn);
                });
                sync_threads();
                let tile = self.slots.get(slot);
                // Also before the last turn ends: whoever draws again leaves the slot alone that slow threads still read.
                self.turn.set(slot ^ 1);
                break_if(tile.ge(total));
                f(self.tiles.at(tile));
            });
        });
    }
}
