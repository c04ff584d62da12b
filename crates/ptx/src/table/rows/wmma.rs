//! Matrix fragments of a warp whose layout is not told (PTX ISA §9.7.14.4).

use super::{Row, row};

const LOAD: &str = "Loads a fragment.";
const STORE: &str = "Stores a fragment.";
const PRODUCT: &str = "d = a · b + c.";

pub(super) const ROWS: &[Row] = &[
    row("wmma.load(.a|.b).sync.aligned<layout><wmma>{.global|<shared>}.f16", "d:8*b32, [a], stride?:u32", LOAD)
        .reads()
        .aligned(),
    row("wmma.load.c.sync.aligned<layout><wmma>{.global|<shared>}.f16", "d:4*b32, [a], stride?:u32", LOAD)
        .reads()
        .aligned(),
    row("wmma.load.c.sync.aligned<layout><wmma>{.global|<shared>}.f32", "d:8*f32, [a], stride?:u32", LOAD)
        .reads()
        .aligned(),
    row("wmma.load.c.sync.aligned<layout><wmma>{.global|<shared>}.s32", "d:8*s32, [a], stride?:u32", LOAD)
        .sm(72)
        .reads()
        .aligned(),
    row("wmma.load(.a|.b).sync.aligned<layout>.m16n16k16{.global|<shared>}.bf16", "d:4*b32, [a], stride?:u32", LOAD)
        .sm(80)
        .reads()
        .aligned(),
    row("wmma.load(.a|.b).sync.aligned<layout>.m16n16k8{.global|<shared>}.tf32", "d:4*b32, [a], stride?:u32", LOAD)
        .sm(80)
        .reads()
        .aligned(),
    row("wmma.load.c.sync.aligned<layout>.m16n16k8{.global|<shared>}.f32", "d:8*f32, [a], stride?:u32", LOAD)
        .sm(80)
        .reads()
        .aligned(),
    row(
        "wmma.load(.a|.b).sync.aligned<layout>.m16n16k16{.global|<shared>}(.u8|.s8)",
        "d:2*b32, [a], stride?:u32",
        LOAD,
    )
    .sm(72)
    .reads()
    .aligned(),
    row("wmma.store.d.sync.aligned<layout><wmma>{.global|<shared>}.f16", "[a], b:4*b32, stride?:u32", STORE)
        .writes()
        .aligned(),
    row("wmma.store.d.sync.aligned<layout><wmma>{.global|<shared>}.f32", "[a], b:8*f32, stride?:u32", STORE)
        .writes()
        .aligned(),
    row("wmma.store.d.sync.aligned<layout><wmma>{.global|<shared>}.s32", "[a], b:8*s32, stride?:u32", STORE)
        .sm(72)
        .writes()
        .aligned(),
    row("wmma.store.d.sync.aligned<layout>.m16n16k8{.global|<shared>}.f32", "[a], b:8*f32, stride?:u32", STORE)
        .sm(80)
        .writes()
        .aligned(),
    row("wmma.mma.sync.aligned<layout><layout><wmma>.f16.f16", "d:4*b32, a:8*b32, b:8*b32, c:4*b32", PRODUCT).aligned(),
    row("wmma.mma.sync.aligned<layout><layout><wmma>.f16.f32", "d:4*b32, a:8*b32, b:8*b32, c:8*f32", PRODUCT).aligned(),
    row("wmma.mma.sync.aligned<layout><layout><wmma>.f32.f16", "d:8*f32, a:8*b32, b:8*b32, c:4*b32", PRODUCT).aligned(),
    row("wmma.mma.sync.aligned<layout><layout><wmma>.f32.f32", "d:8*f32, a:8*b32, b:8*b32, c:8*f32", PRODUCT).aligned(),
    row(
        "wmma.mma.sync.aligned<layout><layout>.m16n16k16.f32.bf16.bf16.f32",
        "d:8*f32, a:4*b32, b:4*b32, c:8*f32",
        PRODUCT,
    )
    .sm(80)
    .aligned(),
    row(
        "wmma.mma.sync.aligned<layout><layout>.m16n16k8.f32.tf32.tf32.f32",
        "d:8*f32, a:4*b32, b:4*b32, c:8*f32",
        PRODUCT,
    )
    .sm(80)
    .aligned(),
    row(
        "wmma.mma.sync.aligned<layout><layout>.m16n16k16.s32.u8.u8.s32{.satfinite}",
        "d:8*s32, a:2*b32, b:2*b32, c:8*s32",
        PRODUCT,
    )
    .sm(72)
    .aligned(),
    row(
        "wmma.mma.sync.aligned<layout><layout>.m16n16k16.s32.s8.s8.s32{.satfinite}",
        "d:8*s32, a:2*b32, b:2*b32, c:8*s32",
        PRODUCT,
    )
    .sm(72)
    .aligned(),
];
