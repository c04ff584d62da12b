//! A pipeline between threads that produce and threads that consume, by pairs of memory barriers.

use crate::pipeline::Place;
use crate::trace::{Loc, helper, mistake, with};
use crate::value::U32;
use crate::{Mbarrier, Mbarriers, fence_barrier_init, sync_threads, thread_idx, when};
use std::panic::Location;

/// `stages` pairs of a full and an empty barrier (CuTe's `PipelineAsync`). Any producer that arrives by memory barrier
/// can fill a stage: ordinary stores, `cp.async`, and after [`Pipeline::for_bulk_copies`] bulk copies. Each role keeps its
/// own place and phase.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::cute::*;
/// # trace("example", || {
/// // A warp stores what the other reads.
/// let (ring, memory) = (Pipeline::new(2, 32, 32), Shared::<F32>::new("values", 64));
/// let (lane, warp) = (thread_idx().x % 32, thread_idx().x / 32);
/// when(warp.eq(0), || {
///     for i in range(0, 10) {
///         let stage = ring.producer_acquire();
///         memory.set(stage.index() * 32 + lane, i.f32());
///         stage.commit();
///     }
/// })
/// .otherwise(|| {
///     for _ in range(0, 10) {
///         let stage = ring.consumer_wait();
///         let _ = memory.get(stage.index() * 32 + (lane ^ 1));
///         stage.release();
///     }
/// });
/// # }).unwrap();
/// ```
pub struct Pipeline {
    stages: usize,
    bulk: bool,
    full: Mbarriers,
    empty: Mbarriers,
    producer: Place,
    consumer: Place,
    /// The oldest stage that consumers kept.
    held: Place,
}

impl Pipeline {
    /// Sets the barriers up: `producers` arrivals make a stage full, `consumers` arrivals make it empty. All threads of
    /// the block take part.
    #[track_caller]
    pub fn new(stages: usize, producers: usize, consumers: usize) -> Pipeline {
        helper("Pipeline::new", || Pipeline::set_up(stages, [producers, consumers], false))
    }

    /// The same for stages that bulk copies fill ([`Acquired::commit_bytes`]): the engines that copy see the barriers, too.
    #[track_caller]
    pub fn for_bulk_copies(stages: usize, producers: usize, consumers: usize) -> Pipeline {
        helper("Pipeline::for_bulk_copies", || Pipeline::set_up(stages, [producers, consumers], true))
    }

    #[track_caller]
    fn set_up(stages: usize, [producers, consumers]: [usize; 2], bulk: bool) -> Pipeline {
        let (full, empty) = (Mbarriers::new("full", stages), Mbarriers::new("empty", stages));
        when(thread_idx().x.eq(0), || {
            full.init(producers);
            empty.init(consumers);
            if bulk {
                fence_barrier_init();
            }
        });
        sync_threads();
        // The producer starts a phase ahead: all stages are empty.
        let [producer, consumer, held] = [Place::new(1), Place::new(0), Place::new(0)];
        Pipeline { stages, bulk, full, empty, producer, consumer, held }
    }

    /// How many stages it has.
    pub fn stages(&self) -> usize {
        self.stages
    }

    /// Waits until the producer's next stage is empty.
    #[track_caller]
    pub fn producer_acquire(&self) -> Acquired<'_> {
        let at = Location::caller();
        helper("producer_acquire", || {
            let (index, parity) = (self.producer.index(), self.producer.parity());
            self.empty.at(index).wait(parity);
            let barrier = self.full.at(index);
            Acquired { pipeline: self, index, barrier, open: Open { at, what: "acquired stage", open: true } }
        })
    }

    /// Waits until the consumer's next stage is full.
    #[track_caller]
    pub fn consumer_wait(&self) -> Ready<'_> {
        let at = Location::caller();
        helper("consumer_wait", || {
            let (index, parity) = (self.consumer.index(), self.consumer.parity());
            self.full.at(index).wait(parity);
            Ready { pipeline: self, index, open: Open { at, what: "full stage", open: true } }
        })
    }

    /// Frees the oldest stage that [`Ready::keep`] kept.
    #[track_caller]
    pub fn release_oldest(&self) {
        helper("release_oldest", || {
            self.empty.at(self.held.index()).arrive();
            self.held.advance(self.stages);
        });
    }
}

/// Says when a stage is forgotten.
struct Open {
    at: Loc,
    what: &'static str,
    open: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.open && !std::thread::panicking() {
            let (help, message) = ("call `commit` or `release`", format!("this {} is never given back", self.what));
            with(|t| t.error(message, self.at, "taken here", &[], help));
        }
    }
}

/// A stage to fill; [`Acquired::commit`] gives it to the consumers.
#[must_use = "a stage that is acquired must be committed"]
pub struct Acquired<'p> {
    pipeline: &'p Pipeline,
    index: U32,
    barrier: Mbarrier,
    open: Open,
}

impl Acquired<'_> {
    /// Which stage, from 0.
    pub fn index(&self) -> U32 {
        self.index
    }

    /// The barrier that consumers wait at: where bulk copies report their bytes.
    #[track_caller]
    pub fn barrier(&self) -> Mbarrier {
        if !self.pipeline.bulk {
            let message = "bulk copies report to the barrier of a pipeline that is not set up for them";
            mistake(message, &[], "`Pipeline::for_bulk_copies`");
        }
        self.barrier
    }

    /// This thread has written its part.
    #[track_caller]
    pub fn commit(self) {
        self.barrier.arrive();
        self.close();
    }

    /// This thread's part is `bytes` of bulk copies that report to [`Acquired::barrier`].
    #[track_caller]
    pub fn commit_bytes(self, bytes: usize) {
        self.barrier.arrive_expect(bytes);
        self.close();
    }

    /// This thread's part is its `cp.async` so far: it arrives when they have (`cp.async.mbarrier.arrive.noinc`).
    #[track_caller]
    pub fn commit_copies(self) {
        self.barrier.arrive_when_copied();
        self.close();
    }

    #[track_caller]
    fn close(mut self) {
        self.open.open = false;
        self.pipeline.producer.advance(self.pipeline.stages);
    }
}

/// A full stage; [`Ready::release`] gives it back to the producers.
#[must_use = "a stage that was waited for must be released"]
pub struct Ready<'p> {
    pipeline: &'p Pipeline,
    index: U32,
    open: Open,
}

impl Ready<'_> {
    /// Which stage, from 0.
    pub fn index(&self) -> U32 {
        self.index
    }

    /// This thread has read its part. Stages that were kept are released before.
    #[track_caller]
    pub fn release(self) {
        let pipeline = self.pipeline;
        self.keep();
        pipeline.release_oldest();
    }

    /// Goes on to the next stage while this one is still read, as by a product in flight:
    /// [`Pipeline::release_oldest`] frees it later.
    #[track_caller]
    pub fn keep(mut self) {
        self.open.open = false;
        self.pipeline.consumer.advance(self.pipeline.stages);
    }
}
