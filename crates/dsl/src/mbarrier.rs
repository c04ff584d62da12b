//! Memory barriers in shared memory (`mbarrier`, PTX ISA §9.7.13.15): arrivals, and bytes of asynchronous copies, counted
//! through phases.

use crate::dim::Dim;
use crate::machine::ptx;
use crate::options::target;
use crate::spin::spin;
use crate::trace::{emit, mistake, with};
use crate::value::{Bool, U32, U64};
use warpsmith_ir::{Op, SharedId, SharedVariable, Type};

/// Barriers of one name. Each counts arrivals, and bytes of asynchronous copies, through phases.
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

/// A memory barrier of this block.
#[derive(Clone, Copy)]
pub struct Mbarrier {
    address: U32,
}

/// A phase of a barrier, as an arrival found it.
#[derive(Clone, Copy)]
pub struct Phase {
    state: U64,
}

impl Mbarrier {
    /// The barrier at an address in shared memory.
    pub fn from_address(address: U32) -> Mbarrier {
        Mbarrier { address }
    }

    /// Its address in shared memory.
    pub fn address(self) -> U32 {
        self.address
    }

    /// The same barrier of block `rank` of the cluster (`mapa`, sm_90).
    #[track_caller]
    pub fn in_block(self, rank: impl Into<U32>) -> RemoteMbarrier {
        let rank = rank.into();
        let address = ptx("mapa.shared::cluster.u32").result(Type::U32).arg(self.address.h).arg(rank.h).value();
        RemoteMbarrier { address: U32 { h: address } }
    }

    /// Initialises it for `arrivals` a phase (`mbarrier.init`).
    #[track_caller]
    pub fn init(self, arrivals: usize) {
        ptx("mbarrier.init.shared::cta.b64").at(self.address.h).number(arrivals as i64).emit();
    }

    /// Ends its life: the memory may be used for something else (`mbarrier.inval`).
    #[track_caller]
    pub fn invalidate(self) {
        ptx("mbarrier.inval.shared::cta.b64").at(self.address.h).emit();
    }

    /// One arrival (`mbarrier.arrive`, release in the block).
    #[track_caller]
    pub fn arrive(self) {
        // Before Hopper the phase can not be left away.
        if target().number < 90 {
            self.arrive_phase();
            return;
        }
        ptx("mbarrier.arrive.shared::cta.b64").sink().at(self.address.h).emit();
    }

    /// One arrival; gives the phase that it counts for.
    #[track_caller]
    pub fn arrive_phase(self) -> Phase {
        Phase { state: U64 { h: ptx("mbarrier.arrive.shared::cta.b64").result(Type::U64).at(self.address.h).value() } }
    }

    /// So many arrivals at once (sm_90).
    #[track_caller]
    pub fn arrive_many(self, count: impl Into<U32>) {
        let count = count.into();
        ptx("mbarrier.arrive.shared::cta.b64").sink().at(self.address.h).arg(count.h).emit();
    }

    /// So many arrivals, of which none may end the phase; gives the phase (`.noComplete`).
    #[track_caller]
    pub fn arrive_without_end(self, count: impl Into<U32>) -> Phase {
        let count = count.into();
        let arrive = ptx("mbarrier.arrive.noComplete.shared::cta.b64").result(Type::U64);
        Phase { state: U64 { h: arrive.at(self.address.h).arg(count.h).value() } }
    }

    /// One arrival that also announces bytes of asynchronous copies (`mbarrier.arrive.expect_tx`, sm_90).
    #[track_caller]
    pub fn arrive_expect(self, bytes: impl Into<U32>) {
        let bytes = bytes.into();
        ptx("mbarrier.arrive.expect_tx.shared::cta.b64").sink().at(self.address.h).arg(bytes.h).emit();
    }

    /// Announces bytes of asynchronous copies, and does not arrive (sm_90).
    #[track_caller]
    pub fn expect(self, bytes: impl Into<U32>) {
        let bytes = bytes.into();
        ptx("mbarrier.expect_tx.relaxed.cta.shared::cta.b64").at(self.address.h).arg(bytes.h).emit();
    }

    /// Counts bytes as come, as an asynchronous copy does at its end (sm_90).
    #[track_caller]
    pub fn complete(self, bytes: impl Into<U32>) {
        let bytes = bytes.into();
        ptx("mbarrier.complete_tx.relaxed.cta.shared::cta.b64").at(self.address.h).arg(bytes.h).emit();
    }

    /// One arrival, the last of this thread: later phases expect one less (`mbarrier.arrive_drop`).
    #[track_caller]
    pub fn arrive_drop(self) -> Phase {
        let arrive = ptx("mbarrier.arrive_drop.shared::cta.b64").result(Type::U64);
        Phase { state: U64 { h: arrive.at(self.address.h).value() } }
    }

    /// One arrival when the `cp.async` copies of this thread so far are done. It counts among those that
    /// [`init`](Mbarrier::init) announced (`cp.async.mbarrier.arrive.noinc`).
    #[track_caller]
    pub fn arrive_when_copied(self) {
        ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64").at(self.address.h).emit();
    }

    /// Whether the phase is over (`mbarrier.test_wait`).
    #[track_caller]
    pub fn is_over(self, phase: Phase) -> Bool {
        let test = ptx("mbarrier.test_wait.shared::cta.b64").result(Type::Bool);
        Bool { h: test.at(self.address.h).arg(phase.state.h).value() }
    }

    /// Whether the phase of this parity is over (`mbarrier.test_wait.parity`).
    #[track_caller]
    pub fn test_wait(self, parity: impl Into<U32>) -> Bool {
        let parity = parity.into();
        let test = ptx("mbarrier.test_wait.parity.shared::cta.b64").result(Type::Bool);
        Bool { h: test.at(self.address.h).arg(parity.h).value() }
    }

    /// Whether the phase of this parity is over; may wait a while (`mbarrier.try_wait.parity`, acquire in the block,
    /// sm_90).
    #[track_caller]
    pub fn try_wait(self, parity: impl Into<U32>) -> Bool {
        let parity = parity.into();
        let wait = ptx("mbarrier.try_wait.parity.shared::cta.b64").result(Type::Bool);
        Bool { h: wait.at(self.address.h).arg(parity.h).value() }
    }

    /// The same, acquiring from the whole cluster: after arrivals of other blocks.
    #[track_caller]
    pub fn try_wait_cluster(self, parity: impl Into<U32>) -> Bool {
        let parity = parity.into();
        let wait = ptx("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64").result(Type::Bool);
        Bool { h: wait.at(self.address.h).arg(parity.h).value() }
    }

    /// Waits until the phase of this parity is over.
    #[track_caller]
    pub fn wait(self, parity: impl Into<U32>) {
        let parity = parity.into();
        spin("mbarrier.wait").until(|| self.try_wait(parity));
    }

    /// Waits until the phase of this parity is over, and sees what the cluster's blocks did before they arrived.
    #[track_caller]
    pub fn wait_cluster(self, parity: impl Into<U32>) {
        let parity = parity.into();
        spin("mbarrier.wait_cluster").until(|| self.try_wait_cluster(parity));
    }

    /// Waits until the phase is over, on targets before sm_90 too.
    #[track_caller]
    pub fn wait_phase(self, phase: Phase) {
        spin("mbarrier.wait_phase").until(|| self.is_over(phase));
    }
}

impl Phase {
    /// Arrivals that the phase still lacked then (`mbarrier.pending_count`).
    #[track_caller]
    pub fn pending(self) -> U32 {
        U32 { h: ptx("mbarrier.pending_count.b64").result(Type::U32).arg(self.state.h).value() }
    }
}

/// A memory barrier of another block of the cluster: one may arrive there, not wait.
#[derive(Clone, Copy)]
pub struct RemoteMbarrier {
    address: U32,
}

impl RemoteMbarrier {
    /// Its address in the cluster's shared memory.
    pub fn address(self) -> U32 {
        self.address
    }

    /// One arrival, releasing to the cluster.
    #[track_caller]
    pub fn arrive(self) {
        ptx("mbarrier.arrive.release.cluster.shared::cluster.b64").sink().at(self.address.h).emit();
    }

    /// One arrival that also announces bytes of asynchronous copies.
    #[track_caller]
    pub fn arrive_expect(self, bytes: impl Into<U32>) {
        let bytes = bytes.into();
        let arrive = ptx("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64");
        arrive.sink().at(self.address.h).arg(bytes.h).emit();
    }
}
