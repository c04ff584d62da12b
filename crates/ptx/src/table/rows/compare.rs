//! Comparison and selection (PTX ISA §9.7.6, §9.7.7).

use super::{Row, row};

const PREDICATE: &str = "p:pred|q?:pred, a:T, b:T";
const COMBINED: &str = "p:pred|q?:pred, a:T, b:T, c:pred";
const SET: &str = "d:T, a:U, b:U";
const SET_COMBINED: &str = "d:T, a:U, b:U, c:pred";
const TEST: &str = "p = (a ∘ b), q its opposite.";
const TEST_COMBINED: &str = "p = (a ∘ b) with c, q = its opposite with c.";
const TEST_PAIR: &str = "p for the low half, q for the high.";
const NUMBER: &str = "All ones or 1.0 where the comparison holds, else 0.";
const NUMBER_COMBINED: &str = "The same, after a boolean operation with c.";

pub(super) const ROWS: &[Row] = &[
    row("setp(.eq|.ne)<bits>", PREDICATE, TEST),
    row("setp<compare_int><int>", PREDICATE, TEST),
    row("setp<compare_unsigned>(.u16|.u32|.u64)", PREDICATE, TEST),
    row("setp<compare_float>{.ftz}.f32", PREDICATE, TEST),
    row("setp<compare_float>.f64", PREDICATE, TEST),
    row("setp<compare_float>{.ftz}.f16", "p:pred, a:T, b:T", TEST).sm(53),
    row("setp<compare_float>.bf16", "p:pred, a:T, b:T", TEST).ptx(7, 8).sm(90),
    row("setp<compare_float>{.ftz}.f16x2", "p:pred|q:pred, a:T, b:T", TEST_PAIR).sm(53),
    row("setp<compare_float>.bf16x2", "p:pred|q:pred, a:T, b:T", TEST_PAIR).ptx(7, 8).sm(90),
    row("setp(.eq|.ne)<bool><bits>", COMBINED, TEST_COMBINED),
    row("setp<compare_int><bool><int>", COMBINED, TEST_COMBINED),
    row("setp<compare_unsigned><bool>(.u16|.u32|.u64)", COMBINED, TEST_COMBINED),
    row("setp<compare_float><bool>{.ftz}.f32", COMBINED, TEST_COMBINED),
    row("setp<compare_float><bool>.f64", COMBINED, TEST_COMBINED),
    row("setp<compare_float><bool>{.ftz}.f16", "p:pred, a:T, b:T, c:pred", TEST_COMBINED).sm(53),
    row("setp<compare_float><bool>.bf16", "p:pred, a:T, b:T, c:pred", TEST_COMBINED).ptx(7, 8).sm(90),
    row("setp<compare_float><bool>{.ftz}.f16x2", "p:pred|q:pred, a:T, b:T, c:pred", TEST_PAIR).sm(53),
    row("setp<compare_float><bool>.bf16x2", "p:pred|q:pred, a:T, b:T, c:pred", TEST_PAIR).ptx(7, 8).sm(90),
    row("set(.eq|.ne)(.u32|.s32|.f32)<bits>", SET, NUMBER),
    row("set<compare_int>(.u32|.s32|.f32)<int>", SET, NUMBER),
    row("set<compare_unsigned>(.u32|.s32|.f32)(.u16|.u32|.u64)", SET, NUMBER),
    row("set<compare_float>{.ftz}(.u32|.s32|.f32).f32", SET, NUMBER),
    row("set<compare_float>(.u32|.s32|.f32).f64", SET, NUMBER),
    row("set<compare_float>{.ftz}(.f16|.u16|.s16|.u32|.s32).f16", SET, NUMBER).sm(53),
    row("set<compare_float>{.ftz}(.f16x2|.u32|.s32).f16x2", SET, NUMBER).sm(53),
    row("set<compare_float>(.bf16|.u16|.s16|.u32|.s32).bf16", SET, NUMBER).ptx(7, 8).sm(90),
    row("set<compare_float>(.bf16x2|.u32|.s32).bf16x2", SET, NUMBER).ptx(7, 8).sm(90),
    row("set(.eq|.ne)<bool>(.u32|.s32|.f32)<bits>", SET_COMBINED, NUMBER_COMBINED),
    row("set<compare_int><bool>(.u32|.s32|.f32)<int>", SET_COMBINED, NUMBER_COMBINED),
    row("set<compare_unsigned><bool>(.u32|.s32|.f32)(.u16|.u32|.u64)", SET_COMBINED, NUMBER_COMBINED),
    row("set<compare_float><bool>{.ftz}(.u32|.s32|.f32).f32", SET_COMBINED, NUMBER_COMBINED),
    row("set<compare_float><bool>(.u32|.s32|.f32).f64", SET_COMBINED, NUMBER_COMBINED),
    row("set<compare_float><bool>{.ftz}(.f16|.u16|.s16|.u32|.s32).f16", SET_COMBINED, NUMBER_COMBINED).sm(53),
    row("set<compare_float><bool>{.ftz}(.f16x2|.u32|.s32).f16x2", SET_COMBINED, NUMBER_COMBINED).sm(53),
    row("set<compare_float><bool>(.bf16|.u16|.s16|.u32|.s32).bf16", SET_COMBINED, NUMBER_COMBINED).ptx(7, 8).sm(90),
    row("set<compare_float><bool>(.bf16x2|.u32|.s32).bf16x2", SET_COMBINED, NUMBER_COMBINED).ptx(7, 8).sm(90),
    row("selp<selectable>", "d:T, a:T, b:T, c:pred", "a where c, else b."),
    row("slct<selectable>.s32", "d:T, a:T, b:T, c:U", "a where c ≥ 0, else b."),
    row("slct{.ftz}<selectable>.f32", "d:T, a:T, b:T, c:U", "a where c ≥ 0, else b."),
];
