//! Fences: what of this thread's memory traffic stays before what, for whom (PTX ISA §9.7.13.4).

use crate::machine::ptx;
use crate::pointer::{Element, Order, Pointer};
use crate::trace::mistake;
use warpsmith_ir::access::Scope;

/// Orders this thread's accesses: those before it with those after it, as the scope sees them (`fence.acq_rel`,
/// `fence.acquire`, `fence.release`; one way alone from sm_90 on).
#[track_caller]
pub fn fence(order: Order, scope: Scope) {
    match order {
        Order::Relaxed => mistake("a relaxed fence orders nothing", &[], "`Order::AcquireRelease`"),
        _ => {
            ptx(format!("fence.{}.{}", order.name(), scope.name())).emit();
        }
    }
}

/// Orders this thread's accesses in the one order that all sequentially consistent fences of the scope agree on
/// (`fence.sc`).
#[track_caller]
pub fn fence_sequential(scope: Scope) {
    ptx(format!("fence.sc.{}", scope.name())).emit();
}

/// Which memory a proxy fence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proxied {
    /// All of it.
    All,
    /// Global memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// The cluster's shared memory.
    SharedCluster,
}

/// Orders ordinary accesses with those of asynchronous engines: after writing what TMA or an MMA reads, after reading
/// what they will overwrite (`fence.proxy.async`, sm_90).
#[track_caller]
pub fn fence_async(memory: Proxied) {
    ptx(match memory {
        Proxied::All => "fence.proxy.async",
        Proxied::Global => "fence.proxy.async.global",
        Proxied::Shared => "fence.proxy.async.shared::cta",
        Proxied::SharedCluster => "fence.proxy.async.shared::cluster",
    })
    .emit();
}

/// Orders accesses through one address with those through another of the same memory (`fence.proxy.alias`).
#[track_caller]
pub fn fence_alias() {
    ptx("fence.proxy.alias").emit();
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

/// Publishes what this thread has changed of a tensor map in memory (`fence.proxy.tensormap::generic.release`, sm_90).
#[track_caller]
pub fn release_tensor_map(scope: Scope) {
    ptx(format!("fence.proxy.tensormap::generic.release.{}", scope.name())).emit();
}

/// Before the first copy through a tensor map that somebody changed: sees the change
/// (`fence.proxy.tensormap::generic.acquire`, sm_90).
#[track_caller]
pub fn acquire_tensor_map<T: Element>(map: Pointer<T>, scope: Scope) {
    let fence = ptx(format!("fence.proxy.tensormap::generic.acquire.{}", scope.name()));
    fence.at_offset(map.address, map.offset).number(128).emit();
}
