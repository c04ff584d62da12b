//! Asynchronous copies, clusters, odd rows.

use super::*;

#[test]
fn copies_are_there_after_their_wait() {
    let copy = |wait: &str, other: &str| {
        format!(
            "
            mov.u32 %r3, tile;
            mul.wide.u32 %rd2, %r1, 4;
            add.u64 %rd2, %rd1, %rd2;
            shl.b32 %r4, %r1, 2;
            add.u32 %r4, %r3, %r4;
            st.shared.u32 [%r4], %r1;
            {other}
            cp.async.ca.shared.global [%r4], [%rd2], 4;
            cp.async.commit_group;
            {wait}
            ld.shared.u32 %r6, [%r4];"
        )
    };
    ordered(TILE, &copy("cp.async.wait_group 0;", ""), 1, 32);
    ordered(TILE, &copy("cp.async.wait_all;", ""), 1, 32);
    racy(TILE, &copy("", ""), 1, 32, "no `cp.async.wait_group` comes between");
    racy(TILE, &copy("cp.async.wait_group 1;", ""), 1, 32, "no `cp.async.wait_group` comes between");
    // A wait is for the thread's own copies.
    let neighbour = |barrier: &str| {
        copy(
            &format!(
                "cp.async.wait_all;\n{barrier}\nxor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r4, %r3, %r5;"
            ),
            "bar.sync 0;",
        )
    };
    ordered(TILE, &neighbour("bar.sync 0;"), 1, 64);
    racy(TILE, &neighbour(""), 1, 64, "");
}

/// A bulk copy of 128 bytes from `x` to `tile`, counted at `bar`.
fn bulk(before: &str, after: &str) -> String {
    format!(
        "
        mov.u32 %r3, tile;
        mov.u32 %r9, bar;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra JOIN;
        mbarrier.init.shared.b64 [%r9], 1;
        fence.mbarrier_init.release.cluster;
    JOIN:
        bar.sync 0;
        {before}
        @%p1 bra WAIT;
        mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 128;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 128, [%r9];
    WAIT:
        {after}
        and.b32 %r4, %r1, 31;
        shl.b32 %r4, %r4, 2;
        add.u32 %r4, %r3, %r4;
        ld.shared.u32 %r6, [%r4];
        bar.sync 0;"
    )
}

#[test]
fn bulk_copies_land_where_nobody_reads() {
    let wait = "mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra WAIT;";
    ordered(BAR, &bulk("", wait), 1, 64);
    let read = "and.b32 %r4, %r1, 31;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r3, %r4;\nst.shared.u32 [%r4], 7;\nfence.proxy.async.shared::cta;";
    ordered(BAR, &bulk(&format!("setp.ge.u32 %p4, %r1, 32;\n@%p4 bra OVER;\n{read}\nOVER:\nbar.sync 0;"), wait), 1, 64);
    racy(BAR, &bulk(&format!("setp.lt.u32 %p4, %r1, 32;\n@%p4 bra OVER;\n{read}\nOVER:"), wait), 1, 64, "");
    // Warp 1 does not wait: it finds poison, or what it must not see yet.
    for seed in 0..4 {
        let some = format!(
            "setp.ge.u32 %p4, %r1, 32;\n@%p4 bra READ;\n{}\nREAD:",
            wait.replace("WAIT", "AGAIN").replacen("mbarrier", "AGAIN: mbarrier", 1)
        );
        assert!(!go(BAR, &bulk("", &some), 1, 64, seed).is_clean());
    }
}

#[test]
fn stores_of_copies_read_until_the_wait() {
    let store = |fence: &str, wait: &str| {
        format!(
            "
            mov.u32 %r3, tile;
            and.b32 %r4, %r1, 31;
            shl.b32 %r4, %r4, 2;
            add.u32 %r4, %r3, %r4;
            st.shared.u32 [%r4], %r1;
            {fence}
            bar.sync 0;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra JOIN;
            cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 128;
            cp.async.bulk.commit_group;
            {wait}
        JOIN:
            bar.sync 0;
            st.shared.u32 [%r4], 5;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra END;
            cp.async.bulk.wait_group 0;
        END:"
        )
    };
    let fence = "fence.proxy.async.shared::cta;";
    ordered(TILE, &store(fence, "cp.async.bulk.wait_group.read 0;"), 1, 32);
    racy(TILE, &store(fence, ""), 1, 32, "no `cp.async.bulk.wait_group` comes between");
    let outcome = go(TILE, &store("", "cp.async.bulk.wait_group.read 0;"), 1, 32, 0);
    assert_eq!(outcome.findings.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::ProxyFence]);
}

/// Each block of a cluster writes to the other's shared memory, which then reads it.
fn remote(between: &str) -> String {
    format!(
        "
        mov.u32 %r3, tile;
        mov.u32 %r4, %cluster_ctarank;
        xor.b32 %r5, %r4, 1;
        mapa.shared::cluster.u32 %r6, %r3, %r5;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        shl.b32 %r7, %r1, 2;
        add.u32 %r8, %r6, %r7;
        st.shared::cluster.u32 [%r8], %r1;
        {between}
        add.u32 %r8, %r3, %r7;
        ld.shared.u32 %r9, [%r8];
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;"
    )
}

#[test]
fn clusters_meet_at_their_barrier() {
    let both = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
    for seed in 0..6 {
        assert_clean(&clustered(TILE, &remote(both), (2, 2), 32, seed));
        assert_clean(&clustered(
            TILE,
            &remote(&both.replace("arrive", "arrive.release").replace("wait", "wait.acquire")),
            (2, 2),
            32,
            seed,
        ));
        let fenced = format!("fence.acq_rel.cluster;\n{}", both.replace("arrive", "arrive.relaxed"));
        assert_clean(&clustered(TILE, &remote(&fenced), (2, 2), 32, seed));
        for missing in ["", "bar.sync 0;", &both.replace("arrive", "arrive.relaxed")] {
            let outcome = clustered(TILE, &remote(missing), (2, 2), 32, seed);
            assert!(races(&outcome).iter().any(|f| f.detail.contains("cluster")), "{missing} {:?}", outcome.findings);
        }
    }
}

#[test]
fn rows_of_odd_length_share_words() {
    // Blocks write rows of 33 halves each, side by side.
    let body = "
        mul.lo.u32 %r3, %r2, 33;
        add.u32 %r3, %r3, %r1;
        mul.wide.u32 %rd2, %r3, 2;
        add.u64 %rd2, %rd1, %rd2;
        cvt.u16.u32 %h1, %r1;
        st.global.b16 [%rd2], %h1;
        ld.global.b16 %h2, [%rd2];
        st.global.b16 [%rd2], %h2;";
    ordered("", body, 8, 33);
    // One byte too far.
    racy("", &body.replace("%r2, 33", "%r2, 32"), 8, 33, "nothing orders");
}

#[test]
fn stores_of_copies_write_until_the_wait() {
    let store = |wait: &str| {
        format!(
            "
            mov.u32 %r3, tile;
            shl.b32 %r4, %r1, 2;
            add.u32 %r4, %r3, %r4;
            st.shared.u32 [%r4], %r1;
            fence.proxy.async.shared::cta;
            bar.sync 0;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra END;
            cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 128;
            cp.async.bulk.commit_group;
            {wait}
            ld.global.u32 %r5, [%rd1+16];
            cp.async.bulk.wait_group.read 0;
        END:"
        )
    };
    ordered(TILE, &store("cp.async.bulk.wait_group 0;"), 1, 32);
    for wait in ["", "cp.async.bulk.wait_group 1;", "cp.async.bulk.wait_group.read 0;"] {
        racy(TILE, &store(wait), 1, 32, "no `cp.async.bulk.wait_group` comes between");
    }
}
