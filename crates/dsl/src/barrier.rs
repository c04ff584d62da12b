//! Where the threads of a block, or of a cluster, meet.

use crate::machine::ptx;
use crate::value::{Bool, U32};
use warpsmith_ir::Type;

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

/// All threads of the block meet; each learns in how many of them the condition holds (`bar.red.popc`).
#[track_caller]
pub fn sync_threads_count(condition: Bool) -> U32 {
    U32 { h: ptx("bar.red.popc.u32").result(Type::U32).number(0).arg(condition.h).value() }
}

/// All threads of the block meet; each learns whether the condition holds in all of them (`bar.red.and`).
#[track_caller]
pub fn sync_threads_all(condition: Bool) -> Bool {
    Bool { h: ptx("bar.red.and.pred").result(Type::Bool).number(0).arg(condition.h).value() }
}

/// All threads of the block meet; each learns whether the condition holds in some of them (`bar.red.or`).
#[track_caller]
pub fn sync_threads_any(condition: Bool) -> Bool {
    Bool { h: ptx("bar.red.or.pred").result(Type::Bool).number(0).arg(condition.h).value() }
}

/// Announces this thread at the cluster's barrier, with what it has written (`barrier.cluster.arrive.release`, sm_90).
/// [`wait_cluster`] must follow before the next arrival.
#[track_caller]
pub fn arrive_cluster() {
    ptx("barrier.cluster.arrive.release.aligned").emit();
}

/// Announces this thread at the cluster's barrier, and orders nothing (`barrier.cluster.arrive.relaxed`): for blocks that
/// only must have started, or not have ended.
#[track_caller]
pub fn arrive_cluster_relaxed() {
    ptx("barrier.cluster.arrive.relaxed.aligned").emit();
}

/// Waits for all threads of the cluster, and sees what those that released have written (`barrier.cluster.wait.acquire`).
#[track_caller]
pub fn wait_cluster() {
    ptx("barrier.cluster.wait.acquire.aligned").emit();
}

/// All threads of the cluster meet and see each other's memory (`barrier.cluster`, release and acquire; sm_90).
#[track_caller]
pub fn sync_cluster() {
    ptx("barrier.cluster.arrive.release.aligned").emit();
    ptx("barrier.cluster.wait.acquire.aligned").emit();
}

/// Sleeps for about so long.
#[track_caller]
pub fn sleep_nanoseconds(duration: impl Into<U32>) {
    ptx("nanosleep.u32").arg(duration.into().h).emit();
}
