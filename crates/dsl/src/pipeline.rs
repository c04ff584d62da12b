//! Pipelines: rings of shared tiles between a producer and its consumers.
//!
//! Misuse that Rust's types catch: freeing a stage that a pending MMA reads (borrowed), keeping a stage's tile after the
//! stage (lifetime), not answering a drained stage with an MMA (the closure must return one).

use crate::dim::Dim;
use crate::fence::fence_barrier_init;
use crate::flow::{Var, range, select, var, when};
use crate::mbarrier::Mbarriers;
use crate::roles::Group;
use crate::smem::{MatrixAt, PANEL, SmemTile};
use crate::tensor::{Coord, Tensor};
use crate::thread::{sync_threads, thread_idx};
use crate::tma::Mapped;
use crate::trace::{emit, helper, mistake, with};
use crate::value::U32;
use crate::wgmma::{MMA_ROWS, Pending, wait_mma};
use std::marker::PhantomData;
use std::panic::Location;
use warpsmith_ir::{Op, SharedId, SharedVariable, Type};

/// `stages` sets of `N` tiles with full and empty barriers; each role keeps its own place and phase.
pub struct TmaRing<const N: usize> {
    stages: usize,
    tiles: [SmemTile; N],
    memory: [SharedId; N],
    full: Mbarriers,
    empty: Mbarriers,
    producer: Place,
    consumer: Place,
    /// The oldest stage that the consumer still holds.
    held: Place,
}

/// Where a role is in the ring: a stage, and the parity of its phase.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    index: Var<U32>,
    parity: Var<U32>,
}

impl Place {
    #[track_caller]
    pub(crate) fn new(parity: usize) -> Self {
        Place { index: var(U32::from(0)), parity: var(U32::from(parity)) }
    }

    #[track_caller]
    pub(crate) fn index(&self) -> U32 {
        self.index.get()
    }

    #[track_caller]
    pub(crate) fn parity(&self) -> U32 {
        self.parity.get()
    }

    #[track_caller]
    pub(crate) fn advance(&self, stages: usize) {
        let next = self.index.get() + 1;
        let wraps = next.eq(stages);
        let parity = self.parity.get();
        self.parity.set(select(wraps, parity ^ 1, parity));
        self.index.set(select(wraps, U32::from(0), next));
    }
}

impl<const N: usize> TmaRing<N> {
    /// Declares the ring and sets its barriers up, for one producing thread and `consumers` warpgroups. All threads of the
    /// block take part.
    #[track_caller]
    pub fn new(stages: usize, consumers: usize, tiles: [SmemTile; N]) -> Self {
        let at = Location::caller();
        helper("TmaRing::new", || {
            for tile in &tiles {
                if let Some(problem) = tile.problem() {
                    with(|t| t.error(problem, at, "", &[], "see `SmemTile`"));
                }
            }
            let memory = tiles.map(|tile| {
                let bytes = (stages * tile.bytes()) as u32;
                with(|t| t.shared(SharedVariable { name: "ring".into(), bytes, align: 1024 }))
            });
            let (full, empty) = (Mbarriers::new("full", stages), Mbarriers::new("empty", stages));
            when(thread_idx().x.eq(0), || {
                full.init(1);
                empty.init(consumers);
                fence_barrier_init();
            });
            sync_threads();
            // The producer starts a phase ahead: the ring is empty.
            let [producer, consumer, held] = [Place::new(1), Place::new(0), Place::new(0)];
            TmaRing { stages, tiles, memory, full, empty, producer, consumer, held }
        })
    }

    fn bytes(&self) -> usize {
        self.tiles.iter().map(SmemTile::bytes).sum()
    }

    #[track_caller]
    fn address(&self, slot: usize, stage: U32) -> U32 {
        let base = U32 { h: emit(Op::SharedAddress(self.memory[slot]), &[], Type::U32) };
        base + stage * self.tiles[slot].bytes()
    }

    /// The producer's loop, by one thread: `count` times, waits until a stage is empty, and has `f` fill it.
    #[track_caller]
    pub fn fill(&self, count: impl Into<Dim>, f: impl Fn(U32, [Fill<'_>; N])) {
        helper("ring.fill", || {
            for k in range(0, count) {
                let (stage, parity) = (self.producer.index.get(), self.producer.parity.get());
                self.empty.at(stage).wait(parity);
                let barrier = self.full.at(stage);
                barrier.arrive_expect(self.bytes());
                f(
                    k,
                    std::array::from_fn(|slot| Fill {
                        to: self.address(slot, stage),
                        tile: self.tiles[slot],
                        barrier: barrier.address(),
                        life: PhantomData,
                    }),
                );
                self.producer.advance(self.stages);
            }
        })
    }

    /// A consumer warpgroup's loop: `count` times, waits until a stage is full, and starts the MMA that `f` returns. One
    /// MMA stays in flight, and the stage before it is freed. At the end all are waited for, and every stage is free.
    #[track_caller]
    pub fn drain<'acc>(&self, count: impl Into<Dim>, f: impl Fn(U32, [Full<'_>; N]) -> Pending<'acc, '_>) {
        helper("ring.drain", || {
            let count = count.into();
            for k in range(0, count) {
                let (stage, parity) = (self.consumer.index.get(), self.consumer.parity.get());
                self.full.at(stage).wait(parity);
                self.consumer.advance(self.stages);
                f(k, self.full_tiles(stage)).commit();
                wait_mma(1);
                when(k.gt(0), || self.free_oldest());
            }
            wait_mma(0);
            when(U32::from(count).gt(0), || self.free_oldest());
        })
    }

    #[track_caller]
    fn full_tiles<'s>(&self, stage: U32) -> [Full<'s>; N] {
        std::array::from_fn(|slot| Full {
            at: MatrixAt { address: self.address(slot, stage), tile: self.tiles[slot] },
            life: PhantomData,
        })
    }

    #[track_caller]
    fn free_oldest(&self) {
        when((thread_idx().x % 128).eq(0), || self.empty.at(self.held.index.get()).arrive());
        self.held.advance(self.stages);
    }
}

/// A stage's tile to fill. Can not leave the closure that it was given to.
pub struct Fill<'s> {
    to: U32,
    tile: SmemTile,
    barrier: U32,
    life: PhantomData<&'s ()>,
}

impl Fill<'_> {
    /// Starts the copy of the tile at `place`, counted in tiles. The host builds the map from the tensor's argument.
    #[track_caller]
    pub fn load(&self, from: &Tensor, place: impl Coord<2>) {
        Mapped::new(from, self.tile).load(self.to, place, self.barrier);
    }
}

/// A stage's tile, full. Can not leave the closure that it was given to.
#[derive(Clone, Copy)]
pub struct Full<'s> {
    at: MatrixAt,
    life: PhantomData<&'s ()>,
}

impl Full<'_> {
    /// The 64 rows of one consumer warpgroup.
    #[track_caller]
    pub fn rows(self, group: Group) -> Self {
        if self.at.tile.panels() > 1 {
            mistake("rows of a tile of several panels", &[], "a tile of A is one panel wide: 128 bytes of K");
        }
        let address = self.at.address + group.index * (MMA_ROWS * PANEL);
        Full { at: MatrixAt { address, tile: SmemTile { rows: MMA_ROWS, ..self.at.tile } }, ..self }
    }

    pub(crate) fn matrix(self) -> MatrixAt {
        self.at
    }
}
