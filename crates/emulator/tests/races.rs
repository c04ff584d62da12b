//! Litmus tests: what orders two accesses, and what does not.

mod support;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, program, run_with, system};
use warpsmith_emulator::{Finding, FindingKind, Launch, Options, Outcome, Storage};

/// Runs a body on a zeroed buffer `x` of 4096 words; `%r1` is the thread, `%r2` the block, `%rd1` the buffer.
fn go(declarations: &str, body: &str, grid: u32, threads: u32, seed: u64) -> Outcome {
    clustered(declarations, body, (grid, 1), threads, seed)
}

fn clustered(declarations: &str, body: &str, (grid, cluster): (u32, u32), threads: u32, seed: u64) -> Outcome {
    let start = "ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n";
    let text = kernel(".param .u64 x", declarations, &format!("{start}{body}"));
    let mut s = system();
    let x = s.u32s("x", &[0; 4096]);
    let mut launch = launch([grid, 1, 1], [threads, 1, 1], &[P(x)]);
    launch.cluster = [cluster, 1, 1];
    let options = Options { seed, budget: Some(2_000_000), ..Options::default() };
    run_with(&mut s, &program(&text.replace(".version 8.0", ".version 8.6"), "k"), &launch, None, &options)
}

fn races(outcome: &Outcome) -> Vec<&Finding> {
    outcome.findings.iter().filter(|f| f.kind == FindingKind::Race).collect()
}

/// Nothing is found under a few schedules.
fn ordered(declarations: &str, body: &str, grid: u32, threads: u32) {
    for seed in 0..6 {
        assert_clean(&go(declarations, body, grid, threads, seed));
    }
}

/// A race is found, whatever the schedule, and its report says so.
fn racy(declarations: &str, body: &str, grid: u32, threads: u32, says: &str) {
    for seed in 0..6 {
        let outcome = go(declarations, body, grid, threads, seed);
        let found = races(&outcome);
        let texts: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
        assert!(!found.is_empty(), "seed {seed}: {texts:?}");
        assert!(found.iter().any(|f| f.detail.contains(says)), "seed {seed}: {}", texts.join("\n"));
    }
}

/// Block 0 writes data, then a flag; block 1 polls the flag, then reads the data.
fn message(publish: &str, poll: &str) -> String {
    format!(
        "
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra READER;
        mov.u32 %r3, 42;
        st.global.u32 [%rd1], %r3;
        mov.u32 %r4, 1;
        {publish}
        bra.uni END;
    READER:
        {poll}
        setp.eq.u32 %p2, %r5, 0;
        @%p2 bra READER;
        // after the loop
        ld.global.u32 %r6, [%rd1];
        st.global.u32 [%rd1+256], %r6;
    END:"
    )
}

#[test]
fn message_passing() {
    let release = "st.release.gpu.global.u32 [%rd1+128], %r4;";
    let acquire = "ld.acquire.gpu.global.u32 %r5, [%rd1+128];";
    let relaxed_store = "st.relaxed.gpu.global.u32 [%rd1+128], %r4;";
    let relaxed_load = "ld.relaxed.gpu.global.u32 %r5, [%rd1+128];";
    ordered("", &message(release, acquire), 2, 1);
    ordered("", &message(&format!("fence.acq_rel.gpu;\n{relaxed_store}"), acquire), 2, 1);
    ordered("", &message(release, &format!("{relaxed_load}\nfence.acq_rel.gpu;")), 2, 1);
    ordered("", &message(&format!("membar.gl;\n{relaxed_store}"), &format!("{relaxed_load}\nmembar.gl;")), 2, 1);
    ordered(
        "",
        &message(&format!("fence.release.gpu;\n{relaxed_store}"), &format!("{relaxed_load}\nfence.acquire.gpu;")),
        2,
        1,
    );
    racy("", &message(relaxed_store, acquire), 2, 1, "without `.release`");
    racy("", &message(release, relaxed_load), 2, 1, "without `.acquire`");
    racy("", &message(release, "ld.volatile.global.u32 %r5, [%rd1+128];"), 2, 1, "without `.acquire`");
    // A fence after the flag comes too late.
    racy("", &message(&format!("{relaxed_store}\nfence.acq_rel.gpu;"), acquire), 2, 1, "without `.release`");
}

#[test]
fn scopes_must_include_each_other() {
    let acquire = "ld.acquire.gpu.global.u32 %r5, [%rd1+128];";
    racy("", &message("st.release.cta.global.u32 [%rd1+128], %r4;", acquire), 2, 1, "the scope .cta");
    let narrow = "ld.acquire.cta.global.u32 %r5, [%rd1+128];";
    racy("", &message("st.release.gpu.global.u32 [%rd1+128], %r4;", narrow), 2, 1, "does not include block (0, 0, 0)");
    racy("", &message("fence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%rd1+128], %r4;", acquire), 2, 1, ".cta");
    // The same block is within its scope.
    let body = message("st.release.cta.global.u32 [%rd1+128], %r4;", narrow)
        .replace("setp.ne.u32 %p1, %r2", "setp.ne.u32 %p1, %r1");
    ordered("", &body, 1, 2);
    let system = "ld.acquire.sys.global.u32 %r5, [%rd1+128];";
    ordered("", &message("st.release.sys.global.u32 [%rd1+128], %r4;", system), 2, 1);
}

#[test]
fn a_report_names_both_accesses() {
    let body = message("st.relaxed.gpu.global.u32 [%rd1+128], %r4;", "ld.acquire.gpu.global.u32 %r5, [%rd1+128];");
    let outcome = go("", &body, 2, 1, 0);
    let [race] = races(&outcome)[..] else { panic!("{:?}", outcome.findings) };
    let text = race.diagnostic().render();
    let other = race.other.as_ref().unwrap();
    let line = |needle: &str| {
        let text = kernel(".param .u64 x", "", &format!("a\nb\nc\n{body}"));
        text.lines().position(|l| l.contains(needle)).unwrap() as u32 + 1
    };
    assert_eq!((race.block, race.thread, other.block, other.thread), ([1, 0, 0], [0; 3], [0; 3], Some([0; 3])));
    assert_eq!((race.ptx_line, other.ptx_line), (line("ld.global.u32 %r6"), line("st.global.u32 [%rd1], %r3")));
    assert_eq!((race.storage, other.writes), (Some(Storage::Global), true));
    assert!(text.contains("`k` has a data race in global memory") && text.contains("`x` + 0"), "{text}");
}

#[test]
fn weak_flags_race_themselves() {
    let body = message("st.global.u32 [%rd1+128], %r4;", "ld.acquire.gpu.global.u32 %r5, [%rd1+128];");
    racy("", &body, 2, 1, "");
    // Store buffering with weak accesses.
    let buffering = "
        mul.wide.u32 %rd2, %r2, 128;
        add.u64 %rd2, %rd1, %rd2;
        xor.b32 %r3, %r2, 1;
        mul.wide.u32 %rd3, %r3, 128;
        add.u64 %rd3, %rd1, %rd3;
        mov.u32 %r4, 1;
        st.global.u32 [%rd2], %r4;
        ld.global.u32 %r5, [%rd3];
        st.global.u32 [%rd2+1024], %r5;";
    racy("", buffering, 2, 1, "nothing orders");
}

#[test]
fn a_release_chain_goes_through_atomics() {
    // Each block writes its part and counts; the last one sums up.
    let last = |count: &str, after: &str| {
        format!(
            "
            mul.wide.u32 %rd2, %r2, 4;
            add.u64 %rd2, %rd1, %rd2;
            st.global.u32 [%rd2], %r2;
            {count}
            setp.ne.u32 %p1, %r5, 3;
            @%p1 bra END;
            {after}
            ld.global.v4.u32 {{%r6, %r7, %r8, %r9}}, [%rd1];
            st.global.v4.u32 [%rd1+64], {{%r6, %r7, %r8, %r9}};
        END:"
        )
    };
    ordered("", &last("atom.acq_rel.gpu.global.add.u32 %r5, [%rd1+256], 1;", ""), 4, 1);
    ordered(
        "",
        &last("fence.acq_rel.gpu;\natom.relaxed.gpu.global.add.u32 %r5, [%rd1+256], 1;", "fence.acq_rel.gpu;"),
        4,
        1,
    );
    racy("", &last("atom.relaxed.gpu.global.add.u32 %r5, [%rd1+256], 1;", ""), 4, 1, "without `.release`");
    racy("", &last("atom.release.gpu.global.add.u32 %r5, [%rd1+256], 1;", ""), 4, 1, "without `.acquire`");
    racy("", &last("atom.acquire.gpu.global.add.u32 %r5, [%rd1+256], 1;", ""), 4, 1, "without `.release`");
    racy("", &last("atom.acq_rel.cta.global.add.u32 %r5, [%rd1+256], 1;", ""), 4, 1, "the scope .cta");
}

#[test]
fn a_lock_inside_a_warp() {
    let lock = |take: &str, give: &str| {
        format!(
            "
            mov.u32 %r10, 0;
        TRY:
            {take}
            setp.ne.u32 %p1, %r4, 0;
            @%p1 bra NEXT;
            ld.global.u32 %r5, [%rd1];
            add.u32 %r5, %r5, 1;
            st.global.u32 [%rd1], %r5;
            {give}
            mov.u32 %r10, 1;
        NEXT:
            setp.eq.u32 %p2, %r10, 0;
            @%p2 bra TRY;"
        )
    };
    let (take, give) =
        ("atom.acquire.gpu.global.cas.b32 %r4, [%rd1+128], 0, 1;", "st.release.gpu.global.u32 [%rd1+128], 0;");
    ordered("", &lock(take, give), 1, 32);
    ordered("", &lock(take, give), 2, 16);
    racy("", &lock(take, "st.relaxed.gpu.global.u32 [%rd1+128], 0;"), 1, 32, "");
    racy("", &lock("atom.relaxed.gpu.global.cas.b32 %r4, [%rd1+128], 0, 1;", give), 1, 32, "");
}

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

const TILE: &str = ".shared .align 16 .b8 tile[1024];";

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

const BAR: &str = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar;";

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

/// Every block counts in, waits for all, and reads what its neighbour wrote.
fn grid_barrier(arrive: &str, wait: &str) -> String {
    format!(
        "
        mul.wide.u32 %rd2, %r2, 4;
        add.u64 %rd2, %rd1, %rd2;
        setp.ne.u32 %p1, %r1, 32;
        @!%p1 st.global.u32 [%rd2], %r2;
        bar.sync 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra JOIN;
        {arrive}
    SPIN:
        {wait}
        setp.lt.u32 %p2, %r5, 4;
        @%p2 bra SPIN;
        // passed
    JOIN:
        bar.sync 0;
        add.u32 %r6, %r2, 1;
        and.b32 %r6, %r6, 3;
        mul.wide.u32 %rd3, %r6, 4;
        add.u64 %rd3, %rd1, %rd3;
        setp.ne.u32 %p1, %r1, 40;
        @!%p1 ld.global.u32 %r7, [%rd3];"
    )
}

#[test]
fn a_grid_meets_when_both_fences_are_there() {
    let (arrive, wait) =
        ("red.release.gpu.global.add.u32 [%rd1+256], 1;", "ld.acquire.gpu.global.u32 %r5, [%rd1+256];");
    ordered("", &grid_barrier(arrive, wait), 4, 64);
    let (relaxed, poll) =
        ("red.relaxed.gpu.global.add.u32 [%rd1+256], 1;", "ld.relaxed.gpu.global.u32 %r5, [%rd1+256];");
    let fence = "fence.acq_rel.gpu;";
    let after = |body: String| body.replace("// passed", fence);
    ordered("", &after(grid_barrier(&format!("{fence}\n{relaxed}"), poll)), 4, 64);
    racy("", &after(grid_barrier(relaxed, poll)), 4, 64, "without `.release`");
    racy("", &grid_barrier(&format!("{fence}\n{relaxed}"), poll), 4, 64, "without `.acquire`");
    racy("", &grid_barrier(arrive, wait).replacen("bar.sync 0;", "", 1), 4, 64, "");
    let last = grid_barrier(arrive, wait);
    let at = last.rfind("bar.sync 0;").unwrap();
    let mirror = format!("{}{}", &last[..at], &last[at + 11..]);
    racy("", &mirror, 4, 64, "");
}

#[test]
fn a_flag_that_is_not_reset_says_nothing_new() {
    // Two rounds with one flag: without an epoch, the second wait passes at once.
    let rounds = |expected: &str| {
        format!(
            "
            mov.u32 %r10, 0;
        ROUND:
            add.u32 %r10, %r10, 1;
            setp.ne.u32 %p1, %r2, 0;
            @%p1 bra READER;
            st.global.u32 [%rd1], %r10;
            st.release.gpu.global.u32 [%rd1+128], %r10;
        BACK:
            ld.acquire.gpu.global.u32 %r5, [%rd1+256];
            setp.lt.u32 %p2, %r5, %r10;
            @%p2 bra BACK;
            bra.uni NEXT;
        READER:
            ld.acquire.gpu.global.u32 %r5, [%rd1+128];
            setp.lt.u32 %p2, %r5, {expected};
            @%p2 bra READER;
            ld.global.u32 %r6, [%rd1];
            st.release.gpu.global.u32 [%rd1+256], %r10;
        NEXT:
            setp.lt.u32 %p3, %r10, 3;
            @%p3 bra ROUND;"
        )
    };
    ordered("", &rounds("%r10"), 2, 1);
    let found = (0..12).filter(|seed| !races(&go("", &rounds("1"), 2, 1, *seed)).is_empty()).count();
    assert!(found > 0);
}

#[test]
fn constant_loads_are_for_what_does_not_change() {
    let body = "
        mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd2, %rd1, %rd2;
        ld.global.nc.u32 %r3, [%rd2];
        add.u32 %r3, %r3, 1;
        st.global.u32 [%rd2+2048], %r3;";
    ordered("", body, 1, 32);
    let outcome = go("", &body.replace("+2048", ""), 1, 32, 0);
    assert_eq!(outcome.findings.iter().map(|f| f.kind).collect::<Vec<_>>(), [FindingKind::ConstantLoad]);
    let same = body.replace("ld.global.nc", "ld.global");
    ordered("", &same.replace("+2048", ""), 1, 32);
}

#[test]
fn atomics_are_strong_and_of_one_size() {
    let body = |other: &str| format!("atom.global.add.u32 %r3, [%rd1], 1;\n{other}");
    ordered("", &body(""), 4, 64);
    ordered("", &body("ld.relaxed.gpu.global.u32 %r4, [%rd1];\nst.volatile.global.u32 [%rd1], %r4;"), 2, 32);
    racy("", &body("ld.global.u32 %r4, [%rd1];"), 2, 32, "");
    racy("", &body("ld.relaxed.cta.global.u32 %r4, [%rd1];"), 2, 32, "");
    // A word of a pair that another thread updates at once.
    racy("", &body("atom.global.add.u64 %rd4, [%rd1], 1;"), 2, 32, "scopes or sizes");
}

#[test]
fn lanes_of_one_store_agree_or_race() {
    let body = "st.global.u32 [%rd1], %r1;";
    racy("", body, 1, 32, "no `.sync` instruction");
    ordered("", "mov.u32 %r3, 7;\nst.global.u32 [%rd1], %r3;", 1, 32);
    ordered("", "mov.u32 %r3, 7;\nst.global.u32 [%rd1], %r3;", 4, 64);
}

#[test]
fn launches_are_ordered() {
    let text = kernel(
        ".param .u64 x",
        "",
        "ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r1;",
    );
    let mut s = system();
    let x = s.u32s("x", &[0; 64]);
    let program = program(&text, "k");
    for _ in 0..3 {
        let one: Launch = launch([1, 1, 1], [64, 1, 1], &[P(x)]);
        assert_clean(&run_with(&mut s, &program, &one, None, &Options::default()));
    }
}
