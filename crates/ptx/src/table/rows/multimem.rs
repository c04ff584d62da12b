//! Memory of several devices at one address (PTX ISA §9.7.9.15).

use super::{Row, row};

const ACROSS: &str = "Reads all copies of a multicast address and combines them.";
const ALL: &str = "Updates all copies of a multicast address.";

pub(super) const ROWS: &[Row] = &[
    row("multimem.ld_reduce{.weak}{.global}(.min|.max)<int32_64>", "d:T, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row("multimem.ld_reduce{.weak}{.global}.add(.u32|.s32|.u64)", "d:T, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row("multimem.ld_reduce{.weak}{.global}(.and|.or|.xor)(.b32|.b64)", "d:T, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row("multimem.ld_reduce{.weak}{.global}.add{.v2|.v4}.f32", "d:vT, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row("multimem.ld_reduce{.weak}{.global}.add.f64", "d:T, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row("multimem.ld_reduce{.weak}{.global}(.min|.max|.add)(.v2|.v4|.v8)(.f16|.bf16)", "d:vT, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce{.weak}{.global}(.min|.max|.add){.v2|.v4}(.f16x2|.bf16x2)", "d:vT, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce{.weak}{.global}.add.acc::f32(.v2|.v4|.v8)(.f16|.bf16)", "d:vT, [a]", ACROSS)
        .ptx(8, 2)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce{.weak}{.global}.add.acc::f32{.v2|.v4}(.f16x2|.bf16x2)", "d:vT, [a]", ACROSS)
        .ptx(8, 2)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}(.min|.max)<int32_64>", "d:T, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}.add(.u32|.s32|.u64)", "d:T, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}(.and|.or|.xor)(.b32|.b64)", "d:T, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}.add{.v2|.v4}.f32", "d:vT, [a]", ACROSS)
        .ptx(8, 1)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}.add.f64", "d:T, [a]", ACROSS).ptx(8, 1).sm(90).reads(),
    row(
        "multimem.ld_reduce<strong_load><scope>{.global}(.min|.max|.add)(.v2|.v4|.v8)(.f16|.bf16)",
        "d:vT, [a]",
        ACROSS,
    )
    .ptx(8, 1)
    .sm(90)
    .reads(),
    row(
        "multimem.ld_reduce<strong_load><scope>{.global}(.min|.max|.add){.v2|.v4}(.f16x2|.bf16x2)",
        "d:vT, [a]",
        ACROSS,
    )
    .ptx(8, 1)
    .sm(90)
    .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}.add.acc::f32(.v2|.v4|.v8)(.f16|.bf16)", "d:vT, [a]", ACROSS)
        .ptx(8, 2)
        .sm(90)
        .reads(),
    row("multimem.ld_reduce<strong_load><scope>{.global}.add.acc::f32{.v2|.v4}(.f16x2|.bf16x2)", "d:vT, [a]", ACROSS)
        .ptx(8, 2)
        .sm(90)
        .reads(),
    row("multimem.st{.weak}{.global}<multimem_st>", "[a], b:T", ALL).ptx(8, 1).sm(90).writes(),
    row("multimem.st{.weak}{.global}(.v2|.v4|.v8)(.f16|.bf16)", "[a], b:vT", ALL).ptx(8, 1).sm(90).writes(),
    row("multimem.st{.weak}{.global}(.v2|.v4)(.f16x2|.bf16x2|.f32)", "[a], b:vT", ALL).ptx(8, 1).sm(90).writes(),
    row("multimem.st<strong_store><scope>{.global}<multimem_st>", "[a], b:T", ALL).ptx(8, 1).sm(90).writes(),
    row("multimem.st<strong_store><scope>{.global}(.v2|.v4|.v8)(.f16|.bf16)", "[a], b:vT", ALL)
        .ptx(8, 1)
        .sm(90)
        .writes(),
    row("multimem.st<strong_store><scope>{.global}(.v2|.v4)(.f16x2|.bf16x2|.f32)", "[a], b:vT", ALL)
        .ptx(8, 1)
        .sm(90)
        .writes(),
    row("multimem.red{.global}(.min|.max)<int32_64>", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red{.global}.add(.u32|.s32|.u64)", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red{.global}(.and|.or|.xor)(.b32|.b64)", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red{.global}.add{.v2|.v4}(.f32|.f16x2|.bf16x2)", "[a], b:vT", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red{.global}.add(.v2|.v4|.v8)(.f16|.bf16)", "[a], b:vT", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red{.global}.add.f64", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red<strong_store><scope>{.global}(.min|.max)<int32_64>", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red<strong_store><scope>{.global}.add(.u32|.s32|.u64)", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
    row("multimem.red<strong_store><scope>{.global}(.and|.or|.xor)(.b32|.b64)", "[a], b:T", ALL)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row("multimem.red<strong_store><scope>{.global}.add{.v2|.v4}(.f32|.f16x2|.bf16x2)", "[a], b:vT", ALL)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row("multimem.red<strong_store><scope>{.global}.add(.v2|.v4|.v8)(.f16|.bf16)", "[a], b:vT", ALL)
        .ptx(8, 1)
        .sm(90)
        .atomic(),
    row("multimem.red<strong_store><scope>{.global}.add.f64", "[a], b:T", ALL).ptx(8, 1).sm(90).atomic(),
];
