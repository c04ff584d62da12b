//! Matrix fragments of a warp (PTX ISA §9.7.14).

use super::{Row, row};

const PRODUCT: &str = "d = a · b + c.";
const BYTES: &str = "d = a · b + c, of 8-bit integers.";

const SCALED: &str = "d:4*f32, a:4*b32, b:2*b32, c:4*f32, scale_a:b32, ids_a:2*u16, scale_b:b32, ids_b:2*u16";

pub(super) const ROWS: &[Row] = &[
    row("ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{<shared>}.b16", "d:xb32, [a]", "Loads 8 × 8 matrices.")
        .sm(75)
        .reads()
        .aligned(),
    row("stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{<shared>}.b16", "[a], b:xb32", "Stores 8 × 8 matrices.")
        .ptx(7, 8)
        .sm(90)
        .writes()
        .aligned(),
    row("movmatrix.sync.aligned.m8n8.trans.b16", "d:b32, a:b32", "Transposes across lanes.").ptx(7, 8).sm(75).aligned(),
    row("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "d:2*b32, a:2*b32, b:1*b32, c:2*b32", PRODUCT)
        .sm(75)
        .aligned(),
    row("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "d:4*f32, a:2*b32, b:1*b32, c:4*f32", PRODUCT)
        .sm(75)
        .aligned(),
    row("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "d:2*b32, a:4*b32, b:2*b32, c:2*b32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "d:4*f32, a:4*b32, b:2*b32, c:4*f32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "d:4*f32, a:2*b32, b:1*b32, c:4*f32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "d:4*f32, a:4*b32, b:2*b32, c:4*f32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "d:4*f32, a:2*b32, b:1*b32, c:4*f32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "d:4*f32, a:4*b32, b:2*b32, c:4*f32", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "d:2*f64, a:1*f64, b:1*f64, c:2*f64", PRODUCT)
        .sm(80)
        .aligned(),
    row("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "d:4*f64, a:2*f64, b:1*f64, c:4*f64", PRODUCT)
        .ptx(7, 8)
        .sm(90)
        .aligned(),
    row("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "d:4*f64, a:4*f64, b:2*f64, c:4*f64", PRODUCT)
        .ptx(7, 8)
        .sm(90)
        .aligned(),
    row("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "d:4*f64, a:8*f64, b:4*f64, c:4*f64", PRODUCT)
        .ptx(7, 8)
        .sm(90)
        .aligned(),
    row(
        "mma.sync.aligned.m8n8k16.row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32",
        "d:2*s32, a:1*b32, b:1*b32, c:2*s32",
        BYTES,
    )
    .sm(75)
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k16.row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32",
        "d:4*s32, a:2*b32, b:1*b32, c:4*s32",
        BYTES,
    )
    .sm(80)
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32(.u8|.s8)(.u8|.s8).s32",
        "d:4*s32, a:4*b32, b:2*b32, c:4*s32",
        BYTES,
    )
    .sm(80)
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k32.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",
        "d:4*f32, a:4*b32, b:2*b32, c:4*f32",
        PRODUCT,
    )
    .ptx(8, 4)
    .sm(89)
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k32.row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16",
        "d:2*b32, a:4*b32, b:2*b32, c:2*b32",
        PRODUCT,
    )
    .ptx(8, 7)
    .sm(89)
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k16.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",
        "d:4*f32, a:2*b32, b:1*b32, c:4*f32",
        PRODUCT,
    )
    .ptx(8, 7)
    .sm(89)
    .aligned(),
    row(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32<f8f6f4><f8f6f4>.f32",
        "d:4*f32, a:4*b32, b:2*b32, c:4*f32",
        "d = a · b + c, of 8, 6 and 4-bit floats in bytes.",
    )
    .ptx(8, 7)
    .only(&[120])
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        SCALED,
        "d = a · b + c, of scaled 4-bit floats.",
    )
    .ptx(8, 7)
    .only(&[120])
    .aligned(),
    row(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        SCALED,
        "d = a · b + c, of scaled 4-bit floats.",
    )
    .ptx(8, 7)
    .only(&[120])
    .aligned(),
];
