//! Clusters: addresses of other blocks' shared memory, the cluster's barrier, asynchronous stores, multicast.

mod support;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, only, program, run_with, system};
use warpsmith_emulator::{Error, Fill, FindingKind, Launch, Options, Outcome, Swizzle, System, TensorMap};
use warpsmith_types::DType;

fn clustered(grid: u32, cluster: u32, threads: u32, args: &[support::Arg]) -> Launch {
    Launch { cluster: [cluster, 1, 1], ..launch([grid, 1, 1], [threads, 1, 1], args) }
}

fn run(s: &mut System, text: &str, launch: &Launch, seed: u64) -> Outcome {
    run_with(s, &program(text, "k"), launch, None, &Options { seed, ..Options::default() })
}

/// Each block writes its rank plus 10 to word `rank` of every block of its cluster, then stores what it has.
fn exchange(remote: &str, sync: &str, leave: &str) -> String {
    kernel(
        ".param .u64 out",
        ".shared .align 16 .b8 slots[64];",
        &format!(
            "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, %cluster_nctarank;
        mov.u32 %r4, slots;
        shl.b32 %r5, %r2, 2;
        add.u32 %r5, %r5, %r4;
        add.u32 %r6, %r2, 10;
        barrier.cluster.arrive.relaxed.aligned;
        barrier.cluster.wait.aligned;
        setp.ge.u32 %p1, %r1, %r3;
        @%p1 bra SENT;
        mapa.shared::cluster.u32 %r7, %r5, %r1;
        {remote}
    SENT:
        {sync}
        setp.ge.u32 %p2, %r1, %r3;
        @%p2 bra DONE;
        shl.b32 %r8, %r1, 2;
        add.u32 %r9, %r4, %r8;
        ld.shared.u32 %r10, [%r9];
        mov.u32 %r11, %ctaid.x;
        mad.lo.u32 %r12, %r11, 4, %r1;
        mul.wide.u32 %rd2, %r12, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r10;
    DONE:
        {leave}"
        ),
    )
}

const STORE: &str = "st.shared::cluster.u32 [%r7], %r6;";
const SYNC: &str = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";

fn exchanged(text: &str, seed: u64) -> (Outcome, Vec<u32>) {
    let mut s = system();
    let out = s.allocate(4 * 32, "out").unwrap();
    let outcome = run(&mut s, text, &clustered(8, 4, 64, &[P(out)]), seed);
    (outcome, s.read_u32s(out, 32))
}

#[test]
fn blocks_write_to_each_other() {
    let expected: Vec<u32> = (0..32).map(|i| 10 + i % 4).collect();
    let generic = "cvt.u64.u32 %rd5, %r5;\ncvta.shared.u64 %rd5, %rd5;\nmapa.u64 %rd6, %rd5, %r1;\nst.u32 [%rd6], %r6;";
    let atomic =
        "mov.u32 %r13, 0;\nst.shared::cluster.u32 [%r7], %r13;\natom.shared::cluster.add.u32 %r14, [%r7], %r6;";
    for seed in 0..5 {
        for remote in [STORE, generic, atomic] {
            let (outcome, got) = exchanged(&exchange(remote, SYNC, ""), seed);
            assert_clean(&outcome);
            assert_eq!(got, expected);
        }
    }
}

#[test]
fn a_missing_cluster_barrier() {
    let (outcome, _) = exchanged(&exchange(STORE, "", SYNC), 0);
    assert!(outcome.findings.iter().any(|f| matches!(f.kind, FindingKind::UninitializedRead(_))));
}

#[test]
fn a_block_exits_that_others_write_to() {
    // Rank 0 leaves before it could be written to.
    let leave = format!("setp.eq.u32 %p3, %r2, 0;\n@%p3 exit;\n{STORE}");
    let text = exchange(
        &leave,
        "mov.u32 %r15, 0;\nSPIN: add.u32 %r15, %r15, 1;\nsetp.lt.u32 %p4, %r15, 1000;\n@%p4 bra SPIN;",
        "",
    )
    .replace("ld.shared.u32 %r10, [%r9];", "mov.u32 %r10, 0;")
    .replace("SENT:", "SENT:\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 exit;");
    let (outcome, _) = exchanged(&text, 0);
    let gone = outcome.findings.iter().find(|f| f.kind == FindingKind::PeerExited).unwrap();
    assert_eq!((gone.detail.as_str(), gone.block), ("block 0 of the cluster has exited", [1, 0, 0]));
}

#[test]
fn a_wait_without_an_arrival() {
    let (outcome, _) = exchanged(&exchange(STORE, &format!("barrier.cluster.wait.acquire.aligned;\n{SYNC}"), ""), 0);
    let wrong = outcome.findings.iter().find(|f| f.kind == FindingKind::BarrierCount).unwrap();
    assert_eq!(wrong.detail, "a wait at the cluster's barrier without an arrival");
}

#[test]
fn where_a_block_is() {
    let body = "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %ctaid.y;
        mad.lo.u32 %r3, %r2, 4, %r1;
        mul.wide.u32 %rd2, %r3, 24;
        add.s64 %rd3, %rd1, %rd2;
        mov.u32 %r4, %clusterid.x;
        mov.u32 %r5, %clusterid.y;
        mov.u32 %r6, %cluster_ctaid.x;
        mov.u32 %r7, %cluster_ctaid.y;
        mov.u32 %r8, %cluster_ctarank;
        mov.u32 %r9, slot;
        mov.u32 %r10, 1;
        mapa.shared::cluster.u32 %r11, %r9, %r10;
        getctarank.shared::cluster.u32 %r12, %r11;
        getctarank.shared::cluster.u32 %r13, %r9;
        sub.u32 %r13, %r13, %r8;
        add.u32 %r12, %r12, %r13;
        st.global.u32 [%rd3], %r4;
        st.global.u32 [%rd3+4], %r5;
        st.global.u32 [%rd3+8], %r6;
        st.global.u32 [%rd3+12], %r7;
        st.global.u32 [%rd3+16], %r8;
        st.global.u32 [%rd3+20], %r12;";
    let text = kernel(".param .u64 out", ".shared .b32 slot;", body);
    let mut s = system();
    let out = s.allocate(24 * 16, "out").unwrap();
    let launch = Launch { cluster: [2, 2, 1], ..launch([4, 4, 1], [1, 1, 1], &[P(out)]) };
    assert_clean(&run(&mut s, &text, &launch, 0));
    let got = s.read_u32s(out, 6 * 16);
    for (i, found) in got.chunks(6).enumerate() {
        let (x, y) = (i as u32 % 4, i as u32 / 4);
        assert_eq!(found, [x / 2, y / 2, x % 2, y % 2, x % 2 + 2 * (y % 2), 1]);
    }
    let odd = Launch { cluster: [3, 1, 1], ..launch.clone() };
    let error = s.launch(&program(&text, "k"), &odd, None, &Options::default()).unwrap_err();
    assert_eq!(
        error,
        Error::Launch {
            kernel: "k".into(),
            reason: "its grid [4, 4, 1] can not be made of clusters of [3, 1, 1] blocks".into()
        }
    );
}

/// Every block of four sends a value to every other's slot, counted at its barrier.
fn all_to_all(send: &str, bytes: u32) -> String {
    kernel(
        ".param .u64 out",
        ".shared .align 16 .b8 slots[64];\n.shared .align 8 .b64 full;",
        &format!(
            "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, full;
        mov.u32 %r4, slots;
        mov.u32 %r20, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r3], 1;
        st.shared.v4.u32 [%r4], {{%r20, %r20, %r20, %r20}};
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {bytes};
    READY:
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        add.u32 %r6, %r2, 10;
        setp.ge.u32 %p2, %r1, 4;
        @%p2 bra WAIT;
        shl.b32 %r5, %r2, 2;
        add.u32 %r5, %r5, %r4;
        mapa.shared::cluster.u32 %r7, %r5, %r1;
        mapa.shared::cluster.u32 %r8, %r3, %r1;
        {send}
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;
        @!%p3 bra WAIT;
        @%p2 bra DONE;
        shl.b32 %r8, %r1, 2;
        add.u32 %r9, %r4, %r8;
        ld.shared.u32 %r10, [%r9];
        mov.u32 %r11, %ctaid.x;
        mad.lo.u32 %r12, %r11, 4, %r1;
        mul.wide.u32 %rd2, %r12, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r10;
    DONE:
        barrier.cluster.arrive.relaxed.aligned;
        barrier.cluster.wait.aligned;"
        ),
    )
    .replace(".version 8.0", ".version 8.1")
}

#[test]
fn asynchronous_stores_and_reductions() {
    let store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r6, [%r8];";
    let add = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r6, [%r8];";
    for seed in 0..5 {
        for send in [store, add] {
            let (outcome, got) = exchanged(&all_to_all(send, 16), seed);
            assert_clean(&outcome);
            assert_eq!(got, (0..32).map(|i| 10 + i % 4).collect::<Vec<u32>>());
        }
    }
    // The barrier of another block than the value's.
    let wrong = all_to_all(&store.replace("[%r8]", "[%r3]"), 16);
    let (outcome, _) = exchanged(&wrong, 0);
    let finding = outcome.findings.iter().find(|f| f.kind == FindingKind::Cluster).unwrap();
    assert_eq!(finding.detail, "the value goes to block 1 of the cluster, its barrier is block 0's");
}

#[test]
fn remote_arrivals() {
    // Nothing but arrivals: each block's barrier waits for all four.
    let text = all_to_all("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];", 16)
        .replace("[%r3], 1;", "[%r3], 4;")
        .replace("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16;", "");
    for seed in 0..5 {
        let (outcome, got) = exchanged(&text, seed);
        assert_clean(&outcome);
        assert_eq!(got, [0; 32]);
    }
}

#[test]
fn one_copy_for_all_blocks() {
    let body = "
        mov.b64 %rd1, in;
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, full;
        mov.u32 %r4, tile;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
    READY:
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        or.b32 %r5, %r1, %r2;
        setp.ne.u32 %p2, %r5, 0;
        @%p2 bra WAIT;
        mov.b32 %r6, 16;
        mov.b16 %h1, MASK;
        cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%rd1, {%r6}], [%r3], %h1;
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;
        @!%p3 bra WAIT;
        shl.b32 %r8, %r1, 2;
        add.u32 %r9, %r4, %r8;
        ld.shared.u32 %r10, [%r9];
        mov.u32 %r11, %ctaid.x;
        mad.lo.u32 %r12, %r11, 32, %r1;
        mul.wide.u32 %rd3, %r12, 4;
        add.s64 %rd4, %rd2, %rd3;
        st.global.u32 [%rd4], %r10;
        barrier.cluster.arrive.relaxed.aligned;
        barrier.cluster.wait.aligned;";
    let text = kernel(
        ".param .align 64 .b8 in[128], .param .u64 out",
        ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 full;",
        body,
    );
    let mut s = system();
    let x = s.u32s("x", &(0..64).collect::<Vec<u32>>());
    let out = s.allocate(4 * 64, "out").unwrap();
    let map = TensorMap {
        base: x,
        dtype: DType::U32,
        rank: 1,
        extents: [64, 1, 1, 1, 1],
        strides: [4, 0, 0, 0, 0],
        box_extents: [32, 1, 1, 1, 1],
        element_strides: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    let mut launch = clustered(2, 2, 32, &[]);
    launch.push(&map.encode()).push(&out.0.to_le_bytes());
    for seed in 0..5 {
        assert_clean(&run(&mut s, &text.replace("MASK", "3"), &launch, seed));
        assert_eq!(s.read_u32s(out, 64), (0..64).map(|i| 16 + i % 32).collect::<Vec<u32>>());
    }
    let outcome = run(&mut s, &text.replace("MASK", "5"), &launch, 0);
    let wrong = outcome.findings.iter().find(|f| f.kind == FindingKind::Cluster).unwrap();
    assert_eq!(wrong.detail, "the multicast mask 0x5, in a cluster of 2 blocks");
}

#[test]
fn a_deadlock_says_which_block_waits() {
    let text = all_to_all("", 16);
    let mut s = system();
    let out = s.allocate(4 * 32, "out").unwrap();
    let outcome = run(&mut s, &text, &clustered(2, 2, 32, &[P(out)]), 0);
    let expected = "\
error: `k` deadlocks
 |
 = note: block (0, 0, 0), thread (0, 0, 0): no thread of the block can go on
 = note: line 39 of the PTX
 = note: block 0 of the cluster, warp 0, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 39 of the PTX)
 = note: block 1 of the cluster, warp 0, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 39 of the PTX)";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}
