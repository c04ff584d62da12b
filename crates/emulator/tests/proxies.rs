//! What threads store to global memory, and copies read through a tensor map.

mod support;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, only, program, run_with, system};
use warpsmith_emulator::{Fill, FindingKind, Options, Outcome, Storage, Swizzle, TensorMap};
use warpsmith_types::DType;

/// Each of four blocks stores a row, and reads a neighbour's after a barrier of the grid.
fn rows(at_writers: &str, at_the_reader: &str, seed: u64) -> Outcome {
    let body = format!(
        "
        mov.b64 %rd1, map;
        ld.param.u64 %rd2, [x];
        ld.param.u64 %rd3, [count];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, tile;
        mov.u32 %r4, full;
        mad.lo.u32 %r5, %r2, 32, %r1;
        mul.wide.u32 %rd4, %r5, 4;
        add.u64 %rd4, %rd2, %rd4;
        st.global.u32 [%rd4], %r5;
        {at_writers}
        bar.sync 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra JOIN;
        red.release.gpu.global.add.u32 [%rd3], 1;
    SPIN:
        ld.acquire.gpu.global.u32 %r6, [%rd3];
        setp.lt.u32 %p2, %r6, 4;
        @%p2 bra SPIN;
        mbarrier.init.shared::cta.b64 [%r4], 1;
        fence.mbarrier_init.release.cluster;
        {at_the_reader}
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
        mov.u32 %r7, 0;
        xor.b32 %r8, %r2, 1;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {{%r7, %r8}}], [%r4];
    JOIN:
        bar.sync 0;
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;
        @!%p3 bra WAIT;"
    );
    let parameters = ".param .align 64 .b8 map[128], .param .u64 x, .param .u64 count";
    let text = kernel(parameters, ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 full;", &body);
    let mut s = system();
    let (x, count) = (s.u32s("x", &[0; 128]), s.u32s("count", &[0]));
    let map = TensorMap {
        base: x,
        dtype: DType::U32,
        rank: 2,
        extents: [32, 4, 1, 1, 1],
        strides: [4, 128, 0, 0, 0],
        box_extents: [32, 1, 1, 1, 1],
        element_strides: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    let mut launch = launch([4, 1, 1], [32, 1, 1], &[]);
    launch.push(&map.encode()).push(&x.0.to_le_bytes()).push(&count.0.to_le_bytes());
    run_with(&mut s, &program(&text, "k"), &launch, None, &Options { seed, threads: 1, ..Options::default() })
}

#[test]
fn writers_or_the_reader_fence_for_a_tensor_copy() {
    for seed in 0..4 {
        for fence in ["fence.proxy.async;", "fence.proxy.async.global;"] {
            assert_clean(&rows(fence, "", seed));
            assert_clean(&rows("", fence, seed));
        }
        for (writers, reader) in [("", ""), ("fence.proxy.async.shared::cta;", "fence.proxy.async.shared::cta;")] {
            let outcome = rows(writers, reader, seed);
            let finding = only(&outcome);
            assert_eq!((finding.kind, finding.storage), (FindingKind::ProxyFence, Some(Storage::Global)));
            assert!(finding.other.as_ref().is_some_and(|other| other.writes && !other.asynchronous), "{finding:?}");
        }
    }
}

/// A store of an engine that was waited for needs no fence for the block's loads, nor for its copies.
#[test]
fn what_an_engine_wrote_is_fenced_when_it_is_done() {
    let body = "
        ld.param.u64 %rd1, [x];
        mov.u32 %r1, %tid.x;
        mov.u32 %r3, tile;
        mov.u32 %r4, full;
        shl.b32 %r5, %r1, 2;
        add.u32 %r6, %r3, %r5;
        st.shared.u32 [%r6], %r1;
        setp.ne.u32 %p1, %r1, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
        fence.proxy.async.shared::cta;
        bar.sync 0;
        @%p1 bra JOIN;
        cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 128;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 128, [%r4];
    JOIN:
        bar.sync 0;
        ld.global.u32 %r7, [%rd1];
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;
        @!%p3 bra WAIT;";
    let text = kernel(".param .u64 x", ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 full;", body);
    let mut s = system();
    let x = s.u32s("x", &[0; 32]);
    let launch = launch([1, 1, 1], [32, 1, 1], &[P(x)]);
    assert_clean(&run_with(&mut s, &program(&text, "k"), &launch, None, &Options::default()));
}
