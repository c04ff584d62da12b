//! How threads, blocks and asynchronous engines wait for each other.

use crate::dim::Dim;
use crate::flow::{break_if, repeat};
use crate::machine::ptx;
use crate::trace::{emit, helper, mistake, with};
use crate::value::{Bool, U32};
use warpsmith_ir::{Op, SharedId, SharedVariable, Type};

/// `threads` of the block meet at barrier `id` (1 to 15; 0 is [`sync_threads`](crate::sync_threads)'s) and see each
/// other's memory (`bar.sync`). `threads` is a multiple of 32; whole warps come.
#[track_caller]
pub fn sync_named(id: impl Into<U32>, threads: usize) {
    ptx("bar.sync").arg(id.into().h).number(threads as i64).emit();
}

/// Announces this thread at barrier `id` and goes on (`bar.arrive`): others wait there with [`sync_named`].
#[track_caller]
pub fn arrive_named(id: impl Into<U32>, threads: usize) {
    ptx("bar.arrive").arg(id.into().h).number(threads as i64).emit();
}

/// All threads of the cluster meet and see each other's memory (`barrier.cluster`, release and acquire; sm_90).
#[track_caller]
pub fn sync_cluster() {
    ptx("barrier.cluster.arrive.release.aligned").emit();
    ptx("barrier.cluster.wait.acquire.aligned").emit();
}

/// Makes barriers that this thread has initialised visible to the cluster and to asynchronous engines
/// (`fence.mbarrier_init.release.cluster`).
#[track_caller]
pub fn fence_barrier_init() {
    ptx("fence.mbarrier_init.release.cluster").emit();
}

/// Orders this thread's ordinary accesses to shared memory before those of asynchronous engines that follow
/// (`fence.proxy.async.shared::cta`): after writing what TMA or an MMA reads.
#[track_caller]
pub fn fence_async_shared() {
    ptx("fence.proxy.async.shared::cta").emit();
}

/// Sleeps for about so long.
#[track_caller]
pub fn sleep_nanoseconds(duration: impl Into<U32>) {
    ptx("nanosleep.u32").arg(duration.into().h).emit();
}

/// Memory barriers in shared memory (`mbarrier`): each counts arrivals, and bytes of asynchronous copies, through phases.
pub struct Mbarriers {
    id: SharedId,
    len: usize,
}

impl Mbarriers {
    /// Declares `len` barriers. They must be initialised by one thread before others use them.
    #[track_caller]
    pub fn new(name: &str, len: usize) -> Mbarriers {
        if with(|t| t.in_loop()) {
            mistake("barriers are set up inside a run-time loop", &[], "make them before the loop");
        }
        let variable = SharedVariable { name: name.into(), bytes: 8 * len as u32, align: 8 };
        Mbarriers { id: with(|t| t.shared(variable)), len }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Barrier `index`.
    #[track_caller]
    pub fn at(&self, index: impl Into<Dim>) -> Mbarrier {
        let base = U32 { h: emit(Op::SharedAddress(self.id), &[], Type::U32) };
        let index = index.into();
        Mbarrier { address: if index.known() == Some(0) { base } else { base + U32::from(index * 8) } }
    }

    /// Initialises every barrier for `arrivals` a phase; by one thread.
    #[track_caller]
    pub fn init(&self, arrivals: usize) {
        for i in 0..self.len {
            self.at(i).init(arrivals);
        }
    }
}

/// A memory barrier.
#[derive(Clone, Copy)]
pub struct Mbarrier {
    address: U32,
}

impl Mbarrier {
    /// Its address in shared memory.
    pub fn address(self) -> U32 {
        self.address
    }

    /// Initialises it for `arrivals` a phase (`mbarrier.init`).
    #[track_caller]
    pub fn init(self, arrivals: usize) {
        ptx("mbarrier.init.shared::cta.b64").at(self.address.h).number(arrivals as i64).emit();
    }

    /// One arrival (`mbarrier.arrive`, release in the block).
    #[track_caller]
    pub fn arrive(self) {
        ptx("mbarrier.arrive.shared::cta.b64").sink().at(self.address.h).emit();
    }

    /// One arrival that also announces bytes of asynchronous copies (`mbarrier.arrive.expect_tx`).
    #[track_caller]
    pub fn arrive_expect(self, bytes: usize) {
        ptx("mbarrier.arrive.expect_tx.shared::cta.b64").sink().at(self.address.h).number(bytes as i64).emit();
    }

    /// Whether the phase of this parity is over; may wait a while (`mbarrier.try_wait.parity`, acquire in the block).
    #[track_caller]
    pub fn try_wait(self, parity: U32) -> Bool {
        let h =
            ptx("mbarrier.try_wait.parity.shared::cta.b64").result(Type::Bool).at(self.address.h).arg(parity.h).value();
        Bool { h }
    }

    /// Waits until the phase of this parity is over.
    #[track_caller]
    pub fn wait(self, parity: U32) {
        helper("mbarrier.wait", || repeat(|| break_if(self.try_wait(parity))));
    }
}
