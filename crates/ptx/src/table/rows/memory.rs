//! Loads, stores, caches (PTX ISA §9.7.9).

use super::{Row, row};

const LOAD: &str = "d:vT.., [a], policy@L2::cache_hint:b64";
const STORE: &str = "[a], b:vT.., policy@L2::cache_hint:b64";

pub(super) const ROWS: &[Row] = &[
    row("ld{.weak}{<space>}{<load_cache>}{.L2::cache_hint}{<prefetch>}{<vector>}<memory>", LOAD, "Loads.").reads(),
    row("ld{.weak}{.global}<L1>{.L2::cache_hint}{<prefetch>}{<vector>}<memory>", LOAD, "Loads.").reads(),
    row("ld{.weak}.global{<L1>}<L2_wide>{.L2::cache_hint}{<prefetch>}.v8(.b32|.u32|.s32|.f32)", LOAD, "Loads.")
        .ptx(8, 8)
        .sm(100)
        .reads(),
    row("ld{.weak}.global{<L1>}<L2_wide>{.L2::cache_hint}{<prefetch>}.v4(.b64|.u64|.s64|.f64)", LOAD, "Loads.")
        .ptx(8, 8)
        .sm(100)
        .reads(),
    row("ld.volatile{<where>}{<prefetch>}{<vector>}<memory>", "d:vT.., [a]", "Loads; never merged or dropped.").reads(),
    row("ld.relaxed<scope>{<where>}{<L1>}{.L2::cache_hint}{<prefetch>}{<vector>}<memory>", LOAD, "Loads, coherent.")
        .sm(70)
        .reads(),
    row(
        "ld.acquire<scope>{<where>}{<L1>}{.L2::cache_hint}{<prefetch>}{<vector>}<memory>",
        LOAD,
        "Loads; what follows stays after it.",
    )
    .sm(70)
    .reads(),
    row("ld.mmio.relaxed.sys{.global}<memory>", "d:T.., [a]", "Loads from a device's registers.")
        .ptx(8, 2)
        .sm(70)
        .reads(),
    row("ld.global{.ca|.cg|.cs}.nc{.L2::cache_hint}{<prefetch>}{<vector>}<memory>", LOAD, "Loads what nobody writes.")
        .reads(),
    row("ld.global.nc<L1>{.L2::cache_hint}{<prefetch>}{<vector>}<memory>", LOAD, "Loads what nobody writes.").reads(),
    row(
        "ld.global.nc{<L1>}<L2_wide>{.L2::cache_hint}{<prefetch>}.v8(.b32|.u32|.s32|.f32)",
        LOAD,
        "Loads what nobody writes.",
    )
    .ptx(8, 8)
    .sm(100)
    .reads(),
    row(
        "ld.global.nc{<L1>}<L2_wide>{.L2::cache_hint}{<prefetch>}.v4(.b64|.u64|.s64|.f64)",
        LOAD,
        "Loads what nobody writes.",
    )
    .ptx(8, 8)
    .sm(100)
    .reads(),
    row("ld{.weak}{<space>}.b128", "d:T, [a]", "Loads 128 bits as one.").reads(),
    row("ld(.relaxed|.acquire)<scope>{<where>}.b128", "d:T, [a]", "Loads 128 bits as one.").reads(),
    row("ldu{.global}{.v2|.v4}<memory>", "d:vT.., [a]", "Loads what is the same for the warp.").reads(),
    row("st{.weak}{<store_space>}{<store_cache>}{.L2::cache_hint}{<vector>}<memory>", STORE, "Stores.").writes(),
    row("st{.weak}{.global}<L1>{.L2::cache_hint}{<vector>}<memory>", STORE, "Stores.").writes(),
    row("st{.weak}.global{<L1>}<L2_wide>{.L2::cache_hint}.v8(.b32|.u32|.s32|.f32)", STORE, "Stores.")
        .ptx(8, 8)
        .sm(100)
        .writes(),
    row("st{.weak}.global{<L1>}<L2_wide>{.L2::cache_hint}.v4(.b64|.u64|.s64|.f64)", STORE, "Stores.")
        .ptx(8, 8)
        .sm(100)
        .writes(),
    row("st.volatile{<where>}{<vector>}<memory>", "[a], b:vT..", "Stores; never merged or dropped.").writes(),
    row("st.relaxed<scope>{<where>}{<L1>}{.L2::cache_hint}{<vector>}<memory>", STORE, "Stores, coherent.")
        .sm(70)
        .writes(),
    row(
        "st.release<scope>{<where>}{<L1>}{.L2::cache_hint}{<vector>}<memory>",
        STORE,
        "Stores; what precedes stays before it.",
    )
    .sm(70)
    .writes(),
    row("st.mmio.relaxed.sys{.global}<memory>", "[a], b:T..", "Stores to a device's registers.")
        .ptx(8, 2)
        .sm(70)
        .writes(),
    row("st{.weak}{<store_space>}.b128", "[a], b:T", "Stores 128 bits as one.").writes(),
    row("st(.relaxed|.release)<scope>{<where>}.b128", "[a], b:T", "Stores 128 bits as one.").writes(),
    row("prefetch{.global|.local}(.L1|.L2)", "[a]", "Brings a line into a cache.").reads(),
    row("prefetch.global(.L2::evict_last|.L2::evict_normal)", "[a]", "Brings a line into L2.").ptx(7, 4).sm(80).reads(),
    row("prefetch{.const|.param}.tensormap", "[a]", "Brings a tensor map into its cache.").ptx(8, 0).sm(90).reads(),
    row("prefetchu.L1", "[a]", "Brings a line into the uniform cache.").reads(),
    row("applypriority{.global}.L2::evict_normal", "[a], #size:u64", "Makes a line evictable again.")
        .ptx(7, 4)
        .sm(80)
        .writes(),
    row("discard{.global}.L2", "[a], #size:u64", "Drops a line without writing it back.").ptx(7, 4).sm(80).writes(),
    row(
        "createpolicy.fractional<L2>{.L2::evict_first|.L2::evict_unchanged}.b64",
        "d:T, fraction?:f32",
        "A cache policy for a share of accesses.",
    )
    .ptx(7, 4)
    .sm(80),
    row(
        "createpolicy.range{.global}<L2>{.L2::evict_first|.L2::evict_unchanged}.b64",
        "d:T, [a], primary:u32, total:u32",
        "A cache policy for a range of addresses.",
    )
    .ptx(7, 4)
    .sm(80),
];
