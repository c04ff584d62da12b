//! Moves, conversions, address spaces (PTX ISA §9.7.9).

use super::{Row, row};

const CLAMPED: &str = "Integer to integer, clamped to the range.";

pub(super) const ROWS: &[Row] = &[
    row("mov(.pred|<selectable>)", "d:T, a:T&", "Copies a register, a literal, a special register or an address."),
    row("mov.b128", "d:T, a:T", "Copies a register."),
    row("mov.b32", "d:T, a:2*b16", "Packs, lowest first."),
    row("mov.b64", "d:T, a:2*b32", "Packs, lowest first."),
    row("mov.b64", "d:T, a:4*b16", "Packs, lowest first."),
    row("mov.b128", "d:T, a:2*b64", "Packs, lowest first."),
    row("mov.b32", "d:2*b16, a:T", "Unpacks, lowest first."),
    row("mov.b64", "d:2*b32, a:T", "Unpacks, lowest first."),
    row("mov.b64", "d:4*b16, a:T", "Unpacks, lowest first."),
    row("mov.b128", "d:2*b64, a:T", "Unpacks, lowest first."),
    row("cvt<cvt_int><cvt_int>", "d:T.., a:U..&", "Integer to integer."),
    row("cvt.sat(.u8|.s8)(.u16|.u32|.u64|.s16|.s32|.s64)", "d:T.., a:U..", CLAMPED),
    row("cvt.sat(.u16|.s16)(.u32|.u64|.s32|.s64)", "d:T.., a:U..", CLAMPED),
    row("cvt.sat(.u32|.s32)(.u64|.s64)", "d:T.., a:U..", CLAMPED),
    row("cvt.sat(.u8|.u16|.u32|.u64)(.s8|.s16|.s32|.s64)", "d:T.., a:U..", CLAMPED),
    row("cvt.sat.s8.u8", "d:T.., a:U..", CLAMPED),
    row("cvt.sat.s16.u16", "d:T.., a:U..", CLAMPED),
    row("cvt.sat.s32.u32", "d:T.., a:U..", CLAMPED),
    row("cvt.sat.s64.u64", "d:T.., a:U..", CLAMPED),
    row("cvt<round>{.sat}(.f16|.f64)<cvt_int>", "d:T.., a:U..", "Integer to float."),
    row("cvt<round>{.ftz}{.sat}.f32<cvt_int>", "d:T.., a:U..", "Integer to float."),
    row("cvt<round>.bf16<cvt_int>", "d:T, a:U", "Integer to bfloat16.").ptx(7, 8).sm(90),
    row("cvt<round_int>{.sat}<cvt_int>(.f16|.f64)", "d:T.., a:U..", "Float to integer."),
    row("cvt<round_int>{.ftz}{.sat}<cvt_int>.f32", "d:T.., a:U..", "Float to integer."),
    row("cvt<round_int><cvt_int>.bf16", "d:T, a:U", "Bfloat16 to integer.").ptx(7, 8).sm(90),
    row("cvt<round>{.ftz}{.sat}.f16.f32", "d:T.., a:U..", "Narrows."),
    row("cvt(.rn|.rz).relu.f16.f32", "d:T.., a:U..", "Narrows, at least 0.").sm(80),
    row("cvt(.rn|.rz){.relu}.satfinite.f16.f32", "d:T.., a:U..", "Narrows, without infinities.").ptx(8, 1).sm(80),
    row("cvt<round>{.sat}.f16.f64", "d:T.., a:U..", "Narrows."),
    row("cvt<round>{.ftz}{.sat}.f32.f64", "d:T.., a:U..", "Narrows."),
    row("cvt{.ftz}{.sat}.f32.f16", "d:T.., a:U..", "Widens."),
    row("cvt{.sat}.f64.f16", "d:T.., a:U..", "Widens."),
    row("cvt{.ftz}{.sat}.f64.f32", "d:T.., a:U..", "Widens."),
    row("cvt{<round_int>}{.ftz}{.sat}.f32.f32", "d:T.., a:U..", "Rounds to an integral value, or clamps."),
    row("cvt{<round_int>}{.sat}.f16.f16", "d:T.., a:U..", "Rounds to an integral value, or clamps."),
    row("cvt{<round_int>}{.sat}.f64.f64", "d:T.., a:U..", "Rounds to an integral value, or clamps."),
    row("cvt(.rn|.rz){.relu}.bf16.f32", "d:T.., a:U..", "Narrows.").sm(80),
    row("cvt(.rm|.rp).bf16.f32", "d:T.., a:U..", "Narrows.").ptx(7, 8).sm(80),
    row("cvt(.rn|.rz){.relu}.satfinite.bf16.f32", "d:T.., a:U..", "Narrows, without infinities.").ptx(8, 1).sm(80),
    row("cvt.f32.bf16", "d:T.., a:U..", "Widens.").ptx(7, 1).sm(80),
    row("cvt.ftz.f32.bf16", "d:T.., a:U..", "Widens.").ptx(7, 8).sm(90),
    row("cvt.f64.bf16", "d:T.., a:U..", "Widens.").ptx(7, 8).sm(90),
    row("cvt<round>.bf16(.f16|.f64)", "d:T.., a:U..", "To bfloat16.").ptx(7, 8).sm(90),
    row("cvt<round>.f16.bf16", "d:T.., a:U..", "Between 16-bit floats.").ptx(7, 8).sm(90),
    row("cvt{<round_int>}.bf16.bf16", "d:T.., a:U..", "Rounds to an integral value.").ptx(7, 8).sm(90),
    row("cvt(.rn|.rz){.relu}(.f16x2|.bf16x2).f32", "d:T, a:U, b:U", "Narrows two; a goes to the high half.").sm(80),
    row("cvt(.rn|.rz){.relu}.satfinite(.f16x2|.bf16x2).f32", "d:T, a:U, b:U", "The same, without infinities.")
        .ptx(8, 1)
        .sm(80),
    row("cvt.rna.tf32.f32", "d:b32, a:U", "To tf32, ties away from zero.").sm(80),
    row("cvt.rna.satfinite.tf32.f32", "d:b32, a:U", "To tf32, without infinities.").ptx(8, 1).sm(80),
    row("cvt(.rn|.rz){.relu}.tf32.f32", "d:b32, a:U", "To tf32.").ptx(7, 8).sm(90),
    row("cvt(.rn|.rz).satfinite{.relu}.tf32.f32", "d:b32, a:U", "To tf32, without infinities.").ptx(8, 6).sm(100),
    row("cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f32", "d:T, a:U, b:U", "Narrows two to 8 bits; a goes high.")
        .ptx(8, 1)
        .sm(89),
    row("cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f16x2", "d:T, a:U", "Narrows two to 8 bits.").ptx(8, 1).sm(89),
    row("cvt.rn{.relu}.f16x2(.e4m3x2|.e5m2x2)", "d:T, a:U", "Widens two.").ptx(8, 1).sm(89),
    row("cvt.rn.satfinite{.relu}.e2m1x2.f32", "d:T, a:U, b:U", "Narrows two to 4 bits; a goes high.")
        .ptx(8, 6)
        .only(&[100, 103, 120]),
    row("cvt.rn{.relu}.f16x2.e2m1x2", "d:T, a:U", "Widens two.").ptx(8, 6).only(&[100, 103, 120]),
    row("cvt(.rz|.rp){.satfinite}.ue8m0x2.f32", "d:T, a:U, b:U", "Two to powers of two; a goes high.")
        .ptx(8, 6)
        .only(&[100, 103, 120]),
    row("cvt(.rz|.rp){.satfinite}.ue8m0x2.bf16x2", "d:T, a:U", "Two to powers of two.")
        .ptx(8, 6)
        .only(&[100, 103, 120]),
    row("cvt.rn.bf16x2.ue8m0x2", "d:T, a:U", "Widens two.").ptx(8, 6).only(&[100, 103, 120]),
    row("cvt.pack.sat(.u16|.s16).s32", "d:b32, a:U, b:U", "Narrows two with clamping; a goes high.").sm(72),
    row("cvt.pack.sat(.u8|.s8).s32.b32", "d:b32, a:U, b:U, c:V", "Narrows two; the high half is c's low.").sm(72),
    row("cvta(.const|.global|.local|<any_shared>).u64", "d:T, a:T&", "To a generic address."),
    row("cvta.to(.const|.global|.local|<any_shared>).u64", "d:T, a:T&", "From a generic address."),
    row("isspacep(.const|.global|.local|<any_shared>)", "p:pred, a:u64", "Whether a generic address is there."),
    row("cvta.param.u64", "d:T, a:T&", "To a generic address.").ptx(7, 7).sm(70),
    row("cvta.to.param.u64", "d:T, a:T&", "From a generic address.").ptx(7, 7).sm(70),
    row("isspacep.param", "p:pred, a:u64", "Whether a generic address is there.").ptx(7, 7).sm(70),
    row("mapa{.shared::cluster}(.u32|.u64)", "d:T, a:T&, b:u32", "The same address in block b of the cluster.")
        .ptx(7, 8)
        .sm(90),
    row("getctarank{.shared::cluster}(.u32|.u64)", "d:u32, a:T&", "The block of the cluster that has the address.")
        .ptx(7, 8)
        .sm(90),
];
