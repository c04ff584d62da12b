//! Atomic operations and reductions (PTX ISA §9.7.13).

use super::{Row, row};

const ATOM: &str = "d:T_, [a], b:T, policy@L2::cache_hint:b64";
const SWAP: &str = "d:T_, [a], b:T, c:T";
const VECTOR: &str = "d:vT, [a], b:vT, policy@L2::cache_hint:b64";
const RED: &str = "[a], b:T, policy@L2::cache_hint:b64";
const RED_VECTOR: &str = "[a], b:vT, policy@L2::cache_hint:b64";
const OLD: &str = "Updates memory; d is what was there.";
const UPDATE: &str = "Updates memory.";
const COMPARE: &str = "Stores c where memory holds b; d is what was there.";

pub(super) const ROWS: &[Row] = &[
    row("atom{<order>}{<scope>}{<where>}(.and|.or|.xor|.exch){.L2::cache_hint}(.b32|.b64)", ATOM, OLD).atomic(),
    row("atom{<order>}{<scope>}{<where>}.exch{.L2::cache_hint}.b128", ATOM, OLD).ptx(8, 3).sm(90).atomic(),
    row("atom{<order>}{<scope>}{<where>}.cas(.b32|.b64)", SWAP, COMPARE).atomic(),
    row("atom{<order>}{<scope>}{<where>}.cas.b16", SWAP, COMPARE).sm(70).atomic(),
    row("atom{<order>}{<scope>}{<where>}.cas.b128", SWAP, COMPARE).ptx(8, 3).sm(90).atomic(),
    row("atom{<order>}{<scope>}{<where>}.add{.L2::cache_hint}(.u32|.s32|.u64|.f32)", ATOM, OLD).atomic(),
    row("atom{<order>}{<scope>}{<where>}.add{.L2::cache_hint}.f64", ATOM, OLD).sm(60).atomic(),
    row("atom{<order>}{<scope>}{<where>}(.inc|.dec){.L2::cache_hint}.u32", ATOM, OLD).atomic(),
    row("atom{<order>}{<scope>}{<where>}(.min|.max){.L2::cache_hint}<int32_64>", ATOM, OLD).atomic(),
    row("atom{<order>}{<scope>}{<where>}.add.noftz{.L2::cache_hint}(.f16|.f16x2)", ATOM, OLD).sm(70).atomic(),
    row("atom{<order>}{<scope>}{<where>}.add.noftz{.L2::cache_hint}(.bf16|.bf16x2)", ATOM, OLD)
        .ptx(7, 8)
        .sm(90)
        .atomic(),
    row("atom{<order>}{<scope>}{.global}.add{.L2::cache_hint}(.v2|.v4).f32", VECTOR, OLD).ptx(8, 1).sm(90).atomic(),
    row("atom{<order>}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4|.v8)(.f16|.bf16)", VECTOR, OLD)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row("atom{<order>}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4)(.f16x2|.bf16x2)", VECTOR, OLD)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}(.and|.or|.xor){.L2::cache_hint}(.b32|.b64)", RED, UPDATE).atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}.add{.L2::cache_hint}(.u32|.s32|.u64|.f32)", RED, UPDATE).atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}.add{.L2::cache_hint}.f64", RED, UPDATE).sm(60).atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}(.inc|.dec){.L2::cache_hint}.u32", RED, UPDATE).atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}(.min|.max){.L2::cache_hint}<int32_64>", RED, UPDATE).atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}.add.noftz{.L2::cache_hint}(.f16|.f16x2)", RED, UPDATE)
        .sm(70)
        .atomic(),
    row("red{.relaxed|.release}{<scope>}{<where>}.add.noftz{.L2::cache_hint}(.bf16|.bf16x2)", RED, UPDATE)
        .ptx(7, 8)
        .sm(90)
        .atomic(),
    row("red{.relaxed|.release}{<scope>}{.global}.add{.L2::cache_hint}(.v2|.v4).f32", RED_VECTOR, UPDATE)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row(
        "red{.relaxed|.release}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4|.v8)(.f16|.bf16)",
        RED_VECTOR,
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .atomic(),
    row(
        "red{.relaxed|.release}{<scope>}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4)(.f16x2|.bf16x2)",
        RED_VECTOR,
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .atomic(),
    row(
        "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.inc|.dec).u32",
        "[a], b:T, [barrier]",
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
    row(
        "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.min|.max)(.u32|.s32)",
        "[a], b:T, [barrier]",
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
    row(
        "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.add(.u32|.s32|.u64)",
        "[a], b:T, [barrier]",
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
    row(
        "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.and|.or|.xor).b32",
        "[a], b:T, [barrier]",
        UPDATE,
    )
    .ptx(8, 1)
    .sm(90)
    .asynchronous(),
];
