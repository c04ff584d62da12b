//! 128 bits, vectors of atomics, f64 products, changes of tensor maps: what is wider than most.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, kernel, launch, only, program, run, system};
use warpsmith_emulator::{DevicePointer, Fill, FindingKind, Launch, Swizzle, TensorMap};
use warpsmith_types::DType;

#[test]
fn registers_of_128_bits_move_and_swap() {
    let body = "
        .reg .b128 %q<4>;
        ld.param.u64 %rd1, [x];
        ld.global.b128 %q1, [%rd1];
        mov.b128 {%rd2, %rd3}, %q1;
        add.u64 %rd2, %rd2, 1;
        mov.b128 %q2, {%rd3, %rd2};
        atom.relaxed.gpu.global.cas.b128 %q3, [%rd1], %q1, %q2;
        st.global.b128 [%rd1+16], %q3;
        atom.relaxed.gpu.global.exch.b128 %q3, [%rd1], %q1;
        st.global.b128 [%rd1+32], %q3;";
    let mut s = system();
    let x = s.u32s("x", &[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    let ptx = kernel(".param .u64 x", "", body).replace(".version 8.0", ".version 8.3");
    assert_clean(&run(&mut s, &program(&ptx, "k"), &launch([1, 1, 1], [1, 1, 1], &[P(x)])));
    assert_eq!(s.read_u32s(x, 12), [1, 2, 3, 4, 1, 2, 3, 4, 3, 4, 2, 2]);
}

#[test]
fn vectors_of_atomics_add_up() {
    let body = "
        ld.param.u64 %rd1, [x];
        mov.f32 %f1, 0f3F800000;
        mov.f32 %f2, 0f40000000;
        red.relaxed.gpu.global.add.v2.f32 [%rd1], {%f1, %f2};
        mov.b32 %r1, 0x3c004000;
        atom.relaxed.gpu.global.max.noftz.v2.f16x2 {%r2, %r3}, [%rd1+8], {%r1, %r1};";
    let mut s = system();
    let x = s.u32s("x", &[0, 0, 0x4200_3c00, 0]);
    let ptx = kernel(".param .u64 x", "", body).replace(".version 8.0", ".version 8.1");
    assert_clean(&run(&mut s, &program(&ptx, "k"), &launch([2, 1, 1], [32, 1, 1], &[P(x)])));
    assert_eq!(s.read_u32s(x, 4), [64f32.to_bits(), 128f32.to_bits(), 0x4200_4000, 0x3c00_4000]);
}

#[test]
fn products_of_f64() {
    // A is 16 × 8, B is 8 × 8, both by rows; C = A B.
    let body = "
        .reg .f64 %a<4>, %b<2>, %c<4>;
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        ld.param.u64 %rd3, [c];
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 2;
        and.b32 %r3, %r1, 3;
        mad.lo.u32 %r4, %r2, 8, %r3;
        mul.wide.u32 %rd4, %r4, 8;
        add.u64 %rd4, %rd1, %rd4;
        ld.global.f64 %a0, [%rd4];
        ld.global.f64 %a1, [%rd4+512];
        ld.global.f64 %a2, [%rd4+32];
        ld.global.f64 %a3, [%rd4+544];
        mad.lo.u32 %r5, %r3, 8, %r2;
        mul.wide.u32 %rd5, %r5, 8;
        add.u64 %rd5, %rd2, %rd5;
        ld.global.f64 %b0, [%rd5];
        ld.global.f64 %b1, [%rd5+256];
        mov.f64 %c0, 0d0000000000000000;
        mov.f64 %c1, %c0;
        mov.f64 %c2, %c0;
        mov.f64 %c3, %c0;
        mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
        shl.b32 %r6, %r3, 1;
        mad.lo.u32 %r6, %r2, 8, %r6;
        mul.wide.u32 %rd6, %r6, 8;
        add.u64 %rd6, %rd3, %rd6;
        st.global.f64 [%rd6], %c0;
        st.global.f64 [%rd6+8], %c1;
        st.global.f64 [%rd6+512], %c2;
        st.global.f64 [%rd6+520], %c3;";
    let mut random = Random(3);
    let mut matrix = |n: usize| -> Vec<f64> { (0..n).map(|_| f64::from(random.below(9)) - 4.0).collect() };
    let (a, b) = (matrix(128), matrix(64));
    let mut s = system();
    let upload = |s: &mut warpsmith_emulator::System, name: &str, x: &[f64]| s.upload(name, x, |x| x.to_le_bytes());
    let (pa, pb) = (upload(&mut s, "a", &a), upload(&mut s, "b", &b));
    let pc = upload(&mut s, "c", &[0.0; 128]);
    let ptx = kernel(".param .u64 a, .param .u64 b, .param .u64 c", "", body).replace(".version 8.0", ".version 8.1");
    assert_clean(&run(&mut s, &program(&ptx, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(pa), P(pb), P(pc)])));
    let mut bytes = vec![0; 1024];
    s.read(pc, &mut bytes).unwrap();
    for (n, got) in bytes.chunks_exact(8).enumerate() {
        let expected: f64 = (0..8).map(|k| a[n / 8 * 8 + k] * b[k * 8 + n % 8]).sum();
        assert_eq!(f64::from_le_bytes(got.try_into().unwrap()), expected, "element {n}");
    }
}

/// Copies a box by a map that the kernel changed: it lies in global memory, and is changed in shared memory.
fn changed(change: &str) -> (Vec<u32>, warpsmith_emulator::Outcome) {
    edited(change, |text| text)
}

/// The same with another text of the kernel.
fn edited(change: &str, edit: impl Fn(String) -> String) -> (Vec<u32>, warpsmith_emulator::Outcome) {
    let body = format!(
        "
        .shared .align 128 .b8 map[128];
        .shared .align 128 .b8 tile[128];
        .shared .align 8 .b64 bar;
        ld.param.u64 %rd1, [m];
        ld.param.u64 %rd2, [y];
        ld.param.u64 %rd9, [x];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, map;
        shl.b32 %r3, %r1, 2;
        cvt.u64.u32 %rd3, %r3;
        add.u64 %rd3, %rd1, %rd3;
        ld.global.b32 %r4, [%rd3];
        add.u32 %r5, %r2, %r3;
        st.shared.b32 [%r5], %r4;
        bar.sync 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra JOIN;
        {change}
        mov.u32 %r6, bar;
        mbarrier.init.shared.b64 [%r6], 1;
        fence.mbarrier_init.release.cluster;
    JOIN:
        bar.sync 0;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [map], 128;
        @%p1 bra WAIT;
        fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
        mov.u32 %r7, tile;
        mov.u32 %r8, 0;
        mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
        cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%rd1, {{%r8}}], [bar];
    WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
        @!%p2 bra WAIT;
        setp.gt.u32 %p3, %r1, 15;
        @%p3 bra END;
        mov.u32 %r7, tile;
        add.u32 %r7, %r7, %r3;
        ld.shared.b32 %r9, [%r7];
        cvt.u64.u32 %rd4, %r3;
        add.u64 %rd4, %rd2, %rd4;
        st.global.b32 [%rd4], %r9;
    END:"
    );
    let mut s = system();
    let x = s.u32s("x", &(0..64).collect::<Vec<_>>());
    let y = s.u32s("y", &[0; 16]);
    let map = TensorMap {
        base: x,
        dtype: DType::U32,
        rank: 1,
        extents: [64, 1, 1, 1, 1],
        strides: [4, 0, 0, 0, 0],
        box_extents: [16, 1, 1, 1, 1],
        element_strides: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    let m = s.allocate(128, "m").unwrap();
    s.write(m, &map.encode()).unwrap();
    let ptx = kernel(".param .u64 m, .param .u64 y, .param .u64 x", "", &body).replace(".version 8.0", ".version 8.3");
    let mut one = Launch::new(1, 32);
    [m, y, x].iter().for_each(|p: &DevicePointer| {
        one.push(&p.0.to_le_bytes());
    });
    let outcome = run(&mut s, &program(&edit(ptx), "k"), &one);
    (s.read_u32s(y, 16), outcome)
}

#[test]
fn tensor_maps_change() {
    let change = "
        add.u64 %rd9, %rd9, 64;
        tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %rd9;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 10;";
    let (values, outcome) = changed(change);
    assert_clean(&outcome);
    assert_eq!(values, (16..26).chain([0; 6]).collect::<Vec<u32>>());
    let (_, outcome) = changed("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map], 1;");
    assert_eq!(only(&outcome).kind, FindingKind::TensorMap);
}

#[test]
fn changes_of_a_tensor_map_are_fenced() {
    let change = "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 10;";
    let without = |what: &str| {
        let text = |ptx: String| {
            assert!(ptx.contains(what));
            ptx.replacen(what, "", 1)
        };
        edited(change, text).1
    };
    let fence = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;";
    assert_eq!(only(&without(fence)).kind, FindingKind::TensorMapFence);
    // All lanes copy what one has changed.
    let outcome = edited(change, |ptx| ptx.replace("JOIN:\n        bar.sync 0;", "JOIN:")).1;
    assert_eq!(outcome.findings[0].kind, FindingKind::Race);
}
