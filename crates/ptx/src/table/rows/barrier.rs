//! Barriers of blocks and clusters, fences (PTX ISA §9.7.13).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("bar{.cta}.sync", "a:u32, b?:u32", "Waits for b threads at barrier a.").barrier().aligned(),
    row("bar{.cta}.arrive", "a:u32, b:u32", "Counts at barrier a, without waiting.").barrier().aligned(),
    row("bar{.cta}.red.popc.u32", "d:T, a:u32, b?:u32, c:pred", "Waits; d counts the threads where c holds.")
        .barrier()
        .aligned(),
    row("bar{.cta}.red(.and|.or).pred", "p:T, a:u32, b?:u32, c:pred", "Waits; p combines c.").barrier().aligned(),
    row("barrier{.cta}.sync", "a:u32, b?:u32", "Waits for b threads at barrier a.").barrier(),
    row("barrier{.cta}.arrive", "a:u32, b:u32", "Counts at barrier a, without waiting.").barrier(),
    row("barrier{.cta}.red.popc.u32", "d:T, a:u32, b?:u32, c:pred", "Waits; d counts the threads where c holds.")
        .barrier(),
    row("barrier{.cta}.red(.and|.or).pred", "p:T, a:u32, b?:u32, c:pred", "Waits; p combines c.").barrier(),
    row("barrier{.cta}.sync.aligned", "a:u32, b?:u32", "The same, whole warps.").barrier().aligned(),
    row("barrier{.cta}.arrive.aligned", "a:u32, b:u32", "The same, whole warps.").barrier().aligned(),
    row("barrier{.cta}.red.popc.aligned.u32", "d:T, a:u32, b?:u32, c:pred", "The same, whole warps.")
        .barrier()
        .aligned(),
    row("barrier{.cta}.red(.and|.or).aligned.pred", "p:T, a:u32, b?:u32, c:pred", "The same, whole warps.")
        .barrier()
        .aligned(),
    row("barrier.cluster.arrive{.release|.relaxed}", "", "Counts at the cluster's barrier.").ptx(7, 8).sm(90).barrier(),
    row("barrier.cluster.arrive{.release|.relaxed}.aligned", "", "The same, whole warps.")
        .ptx(7, 8)
        .sm(90)
        .barrier()
        .aligned(),
    row("barrier.cluster.wait{.acquire}", "", "Waits for the cluster's threads.").ptx(7, 8).sm(90).barrier(),
    row("barrier.cluster.wait{.acquire}.aligned", "", "The same, whole warps.").ptx(7, 8).sm(90).barrier().aligned(),
    row("membar(.cta|.gl|.sys)", "", "Orders memory for that scope.").barrier(),
    row("fence{.sc|.acq_rel}<scope>", "", "Orders memory for that scope.").sm(70).barrier(),
    row("fence(.acquire|.release)<scope>", "", "Orders memory one way.").ptx(8, 6).sm(90).barrier(),
    row("membar.proxy.alias", "", "Orders accesses through aliases of an address.").ptx(7, 5).sm(70).barrier(),
    row("fence.proxy.alias", "", "Orders accesses through aliases of an address.").ptx(7, 5).sm(70).barrier(),
    row(
        "fence.proxy.async{.global|.shared::cta|.shared::cluster}",
        "",
        "Orders ordinary accesses with those of asynchronous copies and wgmma.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row("fence.proxy.tensormap::generic.release<scope>", "", "Publishes changes of a tensor map.")
        .ptx(8, 3)
        .sm(90)
        .barrier(),
    row("fence.proxy.tensormap::generic.acquire<scope>", "[a], #size:u32", "Makes changes of a tensor map seen.")
        .ptx(8, 3)
        .sm(90)
        .barrier(),
    row("fence.mbarrier_init.release.cluster", "", "Shows fresh mbarriers to the cluster.").ptx(8, 0).sm(90).barrier(),
];
