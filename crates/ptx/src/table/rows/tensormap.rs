//! Changing tensor maps on the device (PTX ISA §9.7.9.28), and taking over blocks that have not started (§9.7.13.17).

use super::{Row, row};

const REPLACE: &str = "Changes a field of a tensor map.";

pub(super) const ROWS: &[Row] = &[
    row("tensormap.replace.tile.global_address{.global|.shared::cta}.b1024.b64", "[a], b:T", REPLACE)
        .ptx(8, 3)
        .only(&[90, 100, 103, 120])
        .writes(),
    row("tensormap.replace.tile.rank{.global|.shared::cta}.b1024.b32", "[a], b:T", REPLACE)
        .ptx(8, 3)
        .only(&[90, 100, 103, 120])
        .writes(),
    row(
        "tensormap.replace.tile(.box_dim|.global_dim|.element_stride){.global|.shared::cta}.b1024.b32",
        "[a], #dimension:u32, b:T",
        REPLACE,
    )
    .ptx(8, 3)
    .only(&[90, 100, 103, 120])
    .writes(),
    row("tensormap.replace.tile.global_stride{.global|.shared::cta}.b1024.b64", "[a], #dimension:u32, b:T", REPLACE)
        .ptx(8, 3)
        .only(&[90, 100, 103, 120])
        .writes(),
    row(
        "tensormap.replace.tile(.elemtype|.interleave_layout|.swizzle_mode|.fill_mode){.global|.shared::cta}.b1024.b32",
        "[a], #value:u32",
        REPLACE,
    )
    .ptx(8, 3)
    .only(&[90, 100, 103, 120])
    .writes(),
    row(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release<scope>.sync.aligned",
        "[d], [a], #size:u32",
        "Copies a tensor map to global memory and publishes it.",
    )
    .ptx(8, 3)
    .sm(90)
    .barrier()
    .aligned(),
    row(
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes.b128",
        "[d], [barrier]",
        "Asks to take over a block that has not started.",
    )
    .ptx(8, 6)
    .sm(100)
    .asynchronous(),
    row(
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
        "[d], [barrier]",
        "The same, and tells every block of the cluster.",
    )
    .ptx(8, 6)
    .only(&[100, 103, 120])
    .asynchronous(),
    row("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "p:pred, a:b128", "Whether a block was taken over.")
        .ptx(8, 6)
        .sm(100),
    row("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", "d:4*b32, a:b128", "Where that block is.")
        .ptx(8, 6)
        .sm(100),
    row(
        "clusterlaunchcontrol.query_cancel(.get_first_ctaid::x|.get_first_ctaid::y|.get_first_ctaid::z).b32.b128",
        "d:b32, a:b128",
        "One coordinate of it.",
    )
    .ptx(8, 6)
    .sm(100),
];
