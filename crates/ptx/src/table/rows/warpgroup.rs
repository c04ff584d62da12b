//! Matrix products of a warpgroup (PTX ISA §9.7.15).

use super::{Row, row};

const SHARED: &str =
    "d+:n*f32, a:b64, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32, #transpose_a:s32, #transpose_b:s32";
const SHARED_HALF: &str =
    "d+:n*b32, a:b64, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32, #transpose_a:s32, #transpose_b:s32";
const REGISTERS: &str = "d+:n*f32, a:4*b32, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32, #transpose_b:s32";
const REGISTERS_HALF: &str = "d+:n*b32, a:4*b32, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32, #transpose_b:s32";
const PLAIN: &str = "d+:n*f32, a:b64, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32";
const PLAIN_HALF: &str = "d+:n*b32, a:b64, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32";
const PLAIN_REGISTERS: &str = "d+:n*f32, a:4*b32, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32";
const PLAIN_REGISTERS_HALF: &str = "d+:n*b32, a:4*b32, b:b64, scale_d:pred, #scale_a:s32, #scale_b:s32";
const PRODUCT: &str = "Starts d = a · b + d; d = a · b without scale_d.";

pub(super) const ROWS: &[Row] = &[
    row("wgmma.fence.sync.aligned", "", "Orders register accesses with those of wgmma.")
        .ptx(8, 0)
        .only(&[90])
        .barrier()
        .aligned(),
    row("wgmma.commit_group.sync.aligned", "", "Closes the group of products.")
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.wait_group.sync.aligned", "#n:u32", "Waits until n groups are left.")
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f32.f16.f16", SHARED, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f16.f16.f16", SHARED_HALF, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f32.bf16.bf16", SHARED, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f32.f16.f16", REGISTERS, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f16.f16.f16", REGISTERS_HALF, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k16>.f32.bf16.bf16", REGISTERS, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k8>.f32.tf32.tf32", PLAIN, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32>.f32(.e4m3|.e5m2)(.e4m3|.e5m2)", PLAIN, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32>.f16(.e4m3|.e5m2)(.e4m3|.e5m2)", PLAIN_HALF, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k8>.f32.tf32.tf32", PLAIN_REGISTERS, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32>.f32(.e4m3|.e5m2)(.e4m3|.e5m2)", PLAIN_REGISTERS, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32>.f16(.e4m3|.e5m2)(.e4m3|.e5m2)", PLAIN_REGISTERS_HALF, PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.s8.s8", "d+:n*s32, a:b64, b:b64, scale_d:pred", PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.u8.u8", "d+:n*s32, a:b64, b:b64, scale_d:pred", PRODUCT)
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.s8.u8", "d+:n*s32, a:b64, b:b64, scale_d:pred", PRODUCT)
        .ptx(8, 4)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.u8.s8", "d+:n*s32, a:b64, b:b64, scale_d:pred", PRODUCT)
        .ptx(8, 4)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row(
        "wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.s8.s8",
        "d+:n*s32, a:4*b32, b:b64, scale_d:pred",
        PRODUCT,
    )
    .ptx(8, 0)
    .only(&[90])
    .asynchronous()
    .aligned(),
    row(
        "wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.u8.u8",
        "d+:n*s32, a:4*b32, b:b64, scale_d:pred",
        PRODUCT,
    )
    .ptx(8, 0)
    .only(&[90])
    .asynchronous()
    .aligned(),
    row(
        "wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.s8.u8",
        "d+:n*s32, a:4*b32, b:b64, scale_d:pred",
        PRODUCT,
    )
    .ptx(8, 4)
    .only(&[90])
    .asynchronous()
    .aligned(),
    row(
        "wgmma.mma_async.sync.aligned<k32_int>{.satfinite}.s32.u8.s8",
        "d+:n*s32, a:4*b32, b:b64, scale_d:pred",
        PRODUCT,
    )
    .ptx(8, 4)
    .only(&[90])
    .asynchronous()
    .aligned(),
];
