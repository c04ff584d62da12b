//! Asynchronous copies (PTX ISA §9.7.9.25).

use super::{Row, row};

const GROUP: &str = "[d], [a], size:u32, policy@L2::cache_hint:b64";
const LOAD: &str = "[d], [a], size:u32, [barrier], mask@multicast::cluster:u16, policy@L2::cache_hint:b64";
const TENSOR: &str = "[d], [a, c], [barrier], mask@multicast::cluster:u16, policy@L2::cache_hint:b64";
const TENSOR_STORE: &str = "[d, c], [a], policy@L2::cache_hint:b64";

pub(super) const ROWS: &[Row] = &[
    row(
        "cp.async.ca<shared>.global{.L2::cache_hint}{<prefetch>}",
        "[d], [a], #size:u32, source_size?:u32, policy@L2::cache_hint:b64",
        "Copies 4, 8 or 16 bytes through L1; what the source lacks is 0.",
    )
    .sm(80)
    .asynchronous(),
    row(
        "cp.async.cg<shared>.global{.L2::cache_hint}{<prefetch>}",
        "[d], [a], #size:u32, source_size?:u32, policy@L2::cache_hint:b64",
        "Copies 16 bytes through L2; what the source lacks is 0.",
    )
    .sm(80)
    .asynchronous(),
    row("cp.async.commit_group", "", "Closes the group of copies.").sm(80).asynchronous(),
    row("cp.async.wait_group", "#n:u32", "Waits until n groups are left.").sm(80).asynchronous(),
    row("cp.async.wait_all", "", "Waits for all copies.").sm(80).asynchronous(),
    row("cp.async.mbarrier.arrive{.noinc}{<shared>}.b64", "[a]", "Arrives when the copies so far are done.")
        .sm(80)
        .asynchronous(),
    row(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}",
        LOAD,
        "Copies to shared memory; counts bytes at a barrier.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}", LOAD, "The same, own block.")
        .ptx(8, 6)
        .sm(90)
        .asynchronous(),
    row(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "[d], [a], size:u32, [barrier]",
        "Copies to another block of the cluster.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row("cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}", GROUP, "Copies to global memory.")
        .ptx(8, 0)
        .sm(90)
        .asynchronous(),
    row("cp.async.bulk.prefetch.L2.global{.L2::cache_hint}", "[a], size:u32, policy@L2::cache_hint:b64", "Into L2.")
        .ptx(8, 0)
        .sm(90)
        .asynchronous(),
    row("cp.async.bulk.commit_group", "", "Closes the group of bulk copies.").ptx(8, 0).sm(90).asynchronous(),
    row("cp.async.bulk.wait_group{.read}", "#n:u32", "Waits until n groups are left; `.read`: their sources are free.")
        .ptx(8, 0)
        .sm(90)
        .asynchronous(),
    row(
        "cp.async.bulk.tensor<dim>.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster}\
         {.L2::cache_hint}",
        TENSOR,
        "Copies a box of a tensor to shared memory; counts bytes at a barrier.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.async.bulk.tensor<dim>.shared::cta.global{.tile}.mbarrier::complete_tx::bytes{.L2::cache_hint}",
        TENSOR,
        "The same, own block.",
    )
    .ptx(8, 6)
    .sm(90)
    .asynchronous(),
    row(
        "cp.async.bulk.tensor<dim>.global.shared::cta{.tile}.bulk_group{.L2::cache_hint}",
        TENSOR_STORE,
        "Copies shared memory to a box of a tensor.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.async.bulk.prefetch.tensor<dim>.L2.global{.tile}{.L2::cache_hint}",
        "[a, c], policy@L2::cache_hint:b64",
        "Brings a box of a tensor into L2.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.tensor<dim>.global.shared::cta(.add|.min|.max|.inc|.dec|.and|.or|.xor){.tile}\
         .bulk_group{.L2::cache_hint}",
        TENSOR_STORE,
        "Combines shared memory into a box of a tensor.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.and|.or|.xor).b32",
        "[d], [a], size:u32, [barrier]",
        "Combines into another block's shared memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.add|.min|.max)(.u32|.s32)",
        "[d], [a], size:u32, [barrier]",
        "Combines into another block's shared memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.inc|.dec).u32",
        "[d], [a], size:u32, [barrier]",
        "Combines into another block's shared memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64",
        "[d], [a], size:u32, [barrier]",
        "Combines into another block's shared memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add(.u32|.s32|.u64|.f32|.f64)",
        GROUP,
        "Combines into global memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.min|.max)(<int32_64>|.f16|.bf16)",
        GROUP,
        "Combines into global memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz(.f16|.bf16)",
        GROUP,
        "Combines into global memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.inc|.dec).u32",
        GROUP,
        "Combines into global memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.and|.or|.xor)(.b32|.b64)",
        GROUP,
        "Combines into global memory.",
    )
    .ptx(8, 0)
    .sm(90)
    .asynchronous(),
    row(
        "st.async{.shared::cluster}.mbarrier::complete_tx::bytes{.v2|.v4}(.b32|.u32|.s32|.f32)",
        "[a], b:vT, [barrier]",
        "Stores into another block; counts bytes at its barrier.",
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
    row(
        "st.async{.shared::cluster}.mbarrier::complete_tx::bytes{.v2}(.b64|.u64|.s64|.f64)",
        "[a], b:vT, [barrier]",
        "Stores into another block; counts bytes at its barrier.",
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
];
