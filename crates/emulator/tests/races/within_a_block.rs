//! Barriers of blocks, named ones, mbarriers, lanes.

use super::*;

/// Each thread writes its word of shared memory and reads that of another.
fn exchange(between: &str, other: &str) -> String {
    format!(
        "
        mov.u32 %r3, tile;
        shl.b32 %r4, %r1, 2;
        add.u32 %r4, %r3, %r4;
        st.shared.u32 [%r4], %r1;
        {between}
        {other}
        shl.b32 %r5, %r5, 2;
        add.u32 %r5, %r3, %r5;
        ld.shared.u32 %r6, [%r5];
        mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd2, %rd1, %rd2;
        st.global.u32 [%rd2], %r6;"
    )
}

#[test]
fn barriers_order_a_block() {
    let (far, near) = ("xor.b32 %r5, %r1, 32;", "xor.b32 %r5, %r1, 1;");
    ordered(TILE, &exchange("bar.sync 0;", far), 1, 64);
    ordered(TILE, &exchange("barrier.sync 3;", far), 1, 64);
    ordered(
        TILE,
        &exchange("bar.red.popc.u32 %r9, 0, %p0;", far).replace("st.shared", "setp.eq.u32 %p0, %r1, 0;\nst.shared"),
        1,
        64,
    );
    racy(TILE, &exchange("", far), 1, 64, "no barrier comes between");
    racy(TILE, &exchange("bar.warp.sync -1;", far), 1, 64, "no barrier comes between");
    ordered(TILE, &exchange("bar.warp.sync -1;", near), 1, 64);
    ordered(
        TILE,
        &exchange("vote.sync.any.pred %p0, %p0, -1;", near).replace("st.shared", "setp.eq.u32 %p0, %r1, 0;\nst.shared"),
        1,
        64,
    );
    racy(TILE, &exchange("", near), 1, 32, "no `.sync` instruction");
    ordered(TILE, &exchange("shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", near), 1, 64);
    racy(TILE, &exchange("shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", far), 1, 64, "no barrier comes between");
    // Pairs of lanes that name each other.
    ordered(TILE, &exchange("bar.warp.sync 0xffff;", near), 1, 16);
    let halves = "and.b32 %r20, %r1, 16;\nshl.b32 %r21, 0xffff, %r20;\nbar.warp.sync %r21;";
    ordered(TILE, &exchange(halves, near), 1, 32);
    racy(TILE, &exchange(halves, "xor.b32 %r5, %r1, 16;"), 1, 32, "no `.sync` instruction");
}

#[test]
fn lanes_that_exit_let_the_others_meet() {
    // The lower half waits first; the upper half exits.
    let body = "
        mov.u32 %r3, tile;
        shl.b32 %r4, %r1, 2;
        add.u32 %r4, %r3, %r4;
        setp.ge.u32 %p1, %r1, 16;
        @%p1 bra UPPER;
        st.shared.u32 [%r4], %r1;
        bar.warp.sync -1;
        xor.b32 %r5, %r1, 1;
        shl.b32 %r5, %r5, 2;
        add.u32 %r5, %r3, %r5;
        ld.shared.u32 %r6, [%r5];
        exit;
    UPPER:
        nanosleep.u32 10;
        exit;";
    ordered(TILE, body, 1, 32);
    racy(TILE, &body.replace("bar.warp.sync -1;", ""), 1, 32, "no `.sync` instruction");
}

#[test]
fn a_named_barrier_orders_who_comes() {
    // Warp 2 does not come to the barrier of the two others.
    let body = |third: &str| {
        format!(
            "
            mov.u32 %r3, tile;
            shr.u32 %r7, %r1, 5;
            shl.b32 %r4, %r1, 2;
            add.u32 %r4, %r3, %r4;
            st.shared.u32 [%r4], %r1;
            setp.eq.u32 %p1, %r7, 2;
            @%p1 bra THIRD;
            bar.sync 1, 64;
            bra.uni READ;
        THIRD:
            {third}
        READ:
            add.u32 %r5, %r1, 32;
            setp.ge.u32 %p2, %r5, 96;
            @%p2 sub.u32 %r5, %r5, 96;
            shl.b32 %r5, %r5, 2;
            add.u32 %r5, %r3, %r5;
            ld.shared.u32 %r6, [%r5];"
        )
    };
    racy(TILE, &body(""), 1, 96, "no barrier comes between");
    ordered(TILE, &body("").replace("bar.sync 1, 64;", "").replace("READ:", "READ:\nbar.sync 0;"), 1, 96);
}

#[test]
fn arrivals_make_known_only_what_came_before() {
    let body = |order: [&str; 2]| {
        format!(
            "
            mov.u32 %r3, tile;
            and.b32 %r4, %r1, 31;
            shl.b32 %r4, %r4, 2;
            add.u32 %r4, %r3, %r4;
            setp.ge.u32 %p1, %r1, 32;
            @%p1 bra CONSUME;
            {}
            {}
            bra.uni END;
        CONSUME:
            bar.sync 1, 64;
            ld.shared.u32 %r6, [%r4];
        END:",
            order[0], order[1]
        )
    };
    let (write, arrive) = ("st.shared.u32 [%r4], %r1;", "bar.arrive 1, 64;");
    ordered(TILE, &body([write, arrive]), 1, 64);
    for seed in 0..6 {
        let outcome = go(TILE, &body([arrive, write]), 1, 64, seed);
        assert!(!outcome.is_clean(), "seed {seed}");
    }
}

/// A producer warp fills a slot and arrives at an mbarrier; a consumer warp waits, or not.
fn mbarrier(arrive: &str, wait: &str) -> String {
    format!(
        "
        mov.u32 %r3, tile;
        mov.u32 %r9, bar;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 mbarrier.init.shared.b64 [%r9], 32;
        bar.sync 0;
        and.b32 %r4, %r1, 31;
        shl.b32 %r4, %r4, 2;
        add.u32 %r4, %r3, %r4;
        setp.ge.u32 %p2, %r1, 32;
        @%p2 bra CONSUME;
        st.shared.u32 [%r4], %r1;
        {arrive}
        bra.uni END;
    CONSUME:
        {wait}
        ld.shared.u32 %r6, [%r4];
    END:
        bar.sync 0;"
    )
}

#[test]
fn mbarriers_order_arrivals_before_waits() {
    let arrive = "mbarrier.arrive.shared.b64 _, [%r9];";
    let wait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra WAIT;";
    ordered(BAR, &mbarrier(arrive, wait), 1, 64);
    ordered(BAR, &mbarrier(arrive, &wait.replace("try_wait", "test_wait")), 1, 64);
    racy(BAR, &mbarrier(arrive, ""), 1, 64, "no barrier comes between");
    // The wait of one lane is no other's.
    let one = format!("setp.ne.u32 %p4, %r1, 32;\n@%p4 bra READ;\n{wait}\nREAD:");
    racy(BAR, &mbarrier(arrive, &one), 1, 64, "no barrier comes between");
    ordered(BAR, &mbarrier(arrive, &format!("{one}\nbar.warp.sync -1;")), 1, 64);
    // It must be made before it is used.
    let unmade = mbarrier(arrive, wait).replacen("bar.sync 0;", "bar.warp.sync -1;", 1);
    let outcomes: Vec<Outcome> = (0..6).map(|seed| go(BAR, &unmade, 1, 64, seed)).collect();
    assert!(outcomes.iter().all(|o| !o.is_clean()));
}

#[test]
fn a_stage_is_used_again_only_when_it_is_empty() {
    // Two rounds through one slot: the producer must wait for the consumer before it writes again.
    let ring = |empty: &str| {
        format!(
            "
            mov.u32 %r3, tile;
            mov.u32 %r9, bar;
            setp.eq.u32 %p1, %r1, 0;
            @%p1 mbarrier.init.shared.b64 [%r9], 32;
            @%p1 mbarrier.init.shared.b64 [%r9+8], 32;
            bar.sync 0;
            and.b32 %r4, %r1, 31;
            shl.b32 %r4, %r4, 2;
            add.u32 %r4, %r3, %r4;
            mov.u32 %r10, 0;
            setp.ge.u32 %p2, %r1, 32;
            @%p2 bra CONSUME;
        PRODUCE:
            {empty}
            st.shared.u32 [%r4], %r10;
            mbarrier.arrive.shared.b64 _, [%r9];
            add.u32 %r10, %r10, 1;
            setp.lt.u32 %p4, %r10, 2;
            @%p4 bra PRODUCE;
            bra.uni END;
        CONSUME:
            mbarrier.try_wait.parity.shared.b64 %p3, [%r9], %r10;
            @!%p3 bra CONSUME;
            ld.shared.u32 %r6, [%r4];
            mbarrier.arrive.shared.b64 _, [%r9+8];
            add.u32 %r10, %r10, 1;
            setp.lt.u32 %p4, %r10, 2;
            @%p4 bra CONSUME;
        END:
            bar.sync 0;"
        )
    };
    let declarations = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar[2];";
    let wait =
        "xor.b32 %r11, %r10, 1;\nEMPTY: mbarrier.try_wait.parity.shared.b64 %p5, [%r9+8], %r11;\n@!%p5 bra EMPTY;";
    ordered(declarations, &ring(wait), 1, 64);
    for seed in 0..6 {
        let outcome = go(declarations, &ring(""), 1, 64, seed);
        assert!(!outcome.is_clean(), "seed {seed}");
    }
}
