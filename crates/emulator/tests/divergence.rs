//! Lanes and warps that part, wait for each other, and meet again.

mod support;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, only, program, run, run_with, system};
use warpsmith_emulator::{FindingKind, Launch, Options};

const OUT: &str = "
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
";

/// Runs a kernel of one parameter, the result a word a thread, and gives the words.
fn words(body: &str, declarations: &str, threads: u32, seed: u64) -> Vec<u32> {
    let text = kernel(".param .u64 out", declarations, &format!("{OUT}{body}"));
    let mut s = system();
    let out = s.u32s("out", &vec![0; threads as usize]);
    let options = Options { seed, ..Options::default() };
    let program = program(&text, "k");
    assert_clean(&run_with(&mut s, &program, &launch([1, 1, 1], [threads, 1, 1], &[P(out)]), None, &options));
    s.read_u32s(out, threads as usize)
}

#[test]
fn nested_ifs_meet_again() {
    let body = "
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        mov.u32 %r3, 0;
        @%p1 bra EVEN;
        setp.lt.u32 %p2, %r1, 16;
        @%p2 bra LOW;
        add.u32 %r3, %r3, 1;
        bra.uni JOIN;
    LOW:
        add.u32 %r3, %r3, 2;
        bra.uni JOIN;
    EVEN:
        add.u32 %r3, %r3, 4;
    JOIN:
        activemask.b32 %r4;
        popc.b32 %r4, %r4;
        mad.lo.u32 %r3, %r4, 256, %r3;
        st.global.u32 [%rd3], %r3;";
    let want = (0..32).map(|t| {
        32 * 256
            + if t % 2 == 0 {
                4
            } else if t < 16 {
                2
            } else {
                1
            }
    });
    assert_eq!(words(body, "", 32, 0), want.collect::<Vec<u32>>());
}

#[test]
fn loops_of_different_length() {
    let body = "
        mov.u32 %r2, 0;
        mov.u32 %r3, 0;
    LOOP:
        setp.ge.u32 %p1, %r2, %r1;
        @%p1 bra DONE;
        add.u32 %r3, %r3, %r2;
        add.u32 %r2, %r2, 1;
        bra.uni LOOP;
    DONE:
        activemask.b32 %r4;
        setp.ne.u32 %p2, %r4, -1;
        @%p2 add.u32 %r3, %r3, 1000000;
        st.global.u32 [%rd3], %r3;";
    assert_eq!(words(body, "", 32, 0), (0..32u32).map(|t| t * t.saturating_sub(1) / 2).collect::<Vec<_>>());
}

#[test]
fn a_lane_waits_for_a_flag_of_another() {
    // Lane 0 spins, ahead in the code, on what lane 31 writes after it.
    let body = "
        mov.u32 %r6, flag;
        setp.eq.u32 %p1, %r1, 0;
        @!%p1 bra OTHERS;
    SPIN:
        ld.volatile.shared.u32 %r2, [%r6];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra SPIN;
        bra.uni JOIN;
    OTHERS:
        mov.u32 %r2, 7;
        st.volatile.shared.u32 [%r6], %r2;
    JOIN:
        st.global.u32 [%rd3], %r2;";
    let init = "
        mov.u32 %r6, flag;
        mov.u32 %r7, 0;
        st.shared.u32 [%r6], %r7;
        bar.warp.sync -1;";
    assert_eq!(words(&format!("{init}{body}"), ".shared .align 4 .b8 flag[4];", 32, 0), [7; 32]);
}

#[test]
fn a_warp_waits_for_a_flag_of_another() {
    for seed in [0, 1, 2] {
        let body = "
        mov.u32 %r6, flag;
        mov.u32 %r7, 0;
        st.shared.u32 [%r6], %r7;
        bar.sync 0;
        shr.u32 %r8, %r1, 5;
        setp.ne.u32 %p1, %r8, 0;
        @%p1 bra WRITER;
    SPIN:
        ld.volatile.shared.u32 %r2, [%r6];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra SPIN;
        bra.uni JOIN;
    WRITER:
        mov.u32 %r2, 9;
        st.volatile.shared.u32 [%r6], %r2;
    JOIN:
        st.global.u32 [%rd3], %r2;";
        assert_eq!(words(body, ".shared .align 4 .b8 flag[4];", 64, seed), [9; 64]);
    }
}

#[test]
fn a_spin_lock_inside_a_warp() {
    // Every lane takes the lock in turn and adds to a plain counter.
    let text = kernel(
        ".param .u64 lock, .param .u64 counter",
        "",
        "
        ld.param.u64 %rd1, [lock];
        ld.param.u64 %rd2, [counter];
    TRY:
        atom.global.cas.b32 %r1, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra TRY;
        ld.volatile.global.u32 %r2, [%rd2];
        add.u32 %r2, %r2, 1;
        st.volatile.global.u32 [%rd2], %r2;
        membar.gl;
        atom.global.exch.b32 %r3, [%rd1], 0;",
    );
    let program = program(&text, "k");
    for seed in 0..4 {
        let mut s = system();
        let (lock, counter) = (s.u32s("lock", &[0]), s.u32s("counter", &[0]));
        let launch = launch([3, 1, 1], [64, 1, 1], &[P(lock), P(counter)]);
        let options = Options { seed, budget: Some(50_000_000), ..Options::default() };
        assert_clean(&run_with(&mut s, &program, &launch, None, &options));
        assert_eq!(s.read_u32s(counter, 1), [192], "seed {seed}");
    }
}

#[test]
fn blocks_wait_for_each_other() {
    // A grid barrier: each block counts in and waits for all.
    let text = kernel(
        ".param .u64 count, .param .u64 out",
        "",
        "
        ld.param.u64 %rd1, [count];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %nctaid.x;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra WAIT;
        atom.add.release.gpu.global.u32 %r4, [%rd1], 1;
    SPIN:
        ld.acquire.gpu.global.u32 %r5, [%rd1];
        setp.lt.u32 %p2, %r5, %r3;
        @%p2 bra SPIN;
    WAIT:
        bar.sync 0;
        ld.relaxed.gpu.global.u32 %r6, [%rd1];
        mad.lo.u32 %r7, %r2, 64, %r1;
        mul.wide.u32 %rd3, %r7, 4;
        add.s64 %rd4, %rd2, %rd3;
        st.global.u32 [%rd4], %r6;",
    );
    let program = program(&text, "k");
    for seed in 0..3 {
        let mut s = system();
        let (count, out) = (s.u32s("count", &[0]), s.u32s("out", &[0; 64 * 40]));
        let options = Options { seed, ..Options::default() };
        let launch = launch([40, 1, 1], [64, 1, 1], &[P(count), P(out)]);
        assert_clean(&run_with(&mut s, &program, &launch, None, &options));
        assert_eq!(s.read_u32s(out, 64 * 40), [40; 64 * 40]);
    }
}

#[test]
fn named_barriers_pass_work_on() {
    // Warp 0 fills, warp 1 empties: two barriers of 64 threads each, one side only arriving.
    let body = "
        mov.u32 %r6, box;
        shr.u32 %r8, %r1, 5;
        and.b32 %r9, %r1, 31;
        shl.b32 %r10, %r9, 2;
        add.u32 %r6, %r6, %r10;
        mov.u32 %r11, 0;
        mov.u32 %r12, 0;
        setp.ne.u32 %p1, %r8, 0;
        @%p1 bra CONSUME;
    PRODUCE:
        add.u32 %r13, %r9, %r11;
        st.shared.u32 [%r6], %r13;
        bar.arrive 1, 64;
        bar.sync 2, 64;
        add.u32 %r11, %r11, 1;
        setp.lt.u32 %p2, %r11, 5;
        @%p2 bra PRODUCE;
        bra.uni JOIN;
    CONSUME:
        bar.sync 1, 64;
        ld.shared.u32 %r13, [%r6];
        add.u32 %r12, %r12, %r13;
        bar.arrive 2, 64;
        add.u32 %r11, %r11, 1;
        setp.lt.u32 %p2, %r11, 5;
        @%p2 bra CONSUME;
    JOIN:
        st.global.u32 [%rd3], %r12;";
    for seed in 0..3 {
        let got = words(body, ".shared .align 4 .b8 box[128];", 64, seed);
        assert_eq!(got[..32], [0; 32]);
        assert_eq!(got[32..], (0..32).map(|l| 5 * l + 10).collect::<Vec<u32>>());
    }
}

#[test]
fn barrier_reductions() {
    let body = "
        setp.lt.u32 %p1, %r1, 40;
        bar.red.popc.u32 %r2, 0, %p1;
        bar.red.and.pred %p2, 0, %p1;
        bar.red.or.pred %p3, 0, %p1;
        selp.u32 %r3, 100, 0, %p2;
        selp.u32 %r4, 1000, 0, %p3;
        add.u32 %r2, %r2, %r3;
        add.u32 %r2, %r2, %r4;
        st.global.u32 [%rd3], %r2;";
    assert_eq!(words(body, "", 96, 0), [1040; 96]);
}

#[test]
fn sync_instructions_meet_by_mask() {
    // Even and odd lanes vote apart, on different ways.
    let body = "
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        setp.lt.u32 %p2, %r1, 8;
        @%p1 bra EVEN;
        vote.sync.ballot.b32 %r3, %p2, 0xaaaaaaaa;
        bra.uni JOIN;
    EVEN:
        vote.sync.ballot.b32 %r3, %p2, 0x55555555;
    JOIN:
        bar.warp.sync -1;
        match.any.sync.b32 %r4, %r2, -1;
        and.b32 %r3, %r3, %r4;
        st.global.u32 [%rd3], %r3;";
    assert_eq!(words(body, "", 32, 0), (0..32).map(|t| if t % 2 == 0 { 0x55 } else { 0xaa }).collect::<Vec<u32>>());
}

#[test]
fn lanes_on_one_way_meet_by_their_own_masks() {
    // Lanes of one residue modulo 3 name each other. Those of residue 1 come by another way, and later.
    let body = "
        rem.u32 %r2, %r1, 3;
        mov.u32 %r5, 0;
        setp.eq.u32 %p1, %r2, 1;
        @%p1 bra LATER;
        bra.uni MEET;
    LATER:
        mov.u32 %r5, 100;
    MEET:
        match.any.sync.b32 %r3, %r2, -1;
        add.u32 %r6, %r1, %r5;
        redux.sync.add.u32 %r4, %r6, %r3;
        bar.warp.sync %r3;
        st.global.u32 [%rd3], %r4;";
    let own = |lane: u32| if lane % 3 == 1 { lane + 100 } else { lane };
    let want: Vec<u32> = (0..32).map(|t| (0..32).filter(|l| l % 3 == t % 3).map(own).sum()).collect();
    for seed in [0, 3] {
        assert_eq!(words(body, "", 32, seed), want);
    }
}

#[test]
fn a_partial_block_and_lanes_that_left() {
    // 40 threads; the last 4 exit early, the others still meet at the barrier.
    let body = "
        mov.u32 %r2, 1;
        st.global.u32 [%rd3], %r2;
        setp.ge.u32 %p1, %r1, 36;
        @%p1 exit;
        bar.sync 0;
        activemask.b32 %r2;
        vote.sync.ballot.b32 %r3, 1, -1;
        st.global.u32 [%rd3], %r3;";
    let got = words(body, "", 40, 0);
    assert_eq!(got[..32], [u32::MAX; 32]);
    assert_eq!(got[32..36], [0xf; 4]);
    assert_eq!(got[36..], [1; 4]);
}

#[test]
fn cp_async_moves_at_the_wait() {
    let text = kernel(
        ".param .u64 x, .param .u64 out",
        ".shared .align 16 .b8 tile[1024];",
        "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 16;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        mov.u32 %r2, tile;
        shl.b32 %r3, %r1, 4;
        add.u32 %r4, %r2, %r3;
        mov.u32 %r20, 1;
        st.shared.v4.u32 [%r4], {%r20, %r20, %r20, %r20};
        cp.async.cg.shared.global [%r4], [%rd4], 16;
        cp.async.commit_group;
        cp.async.ca.shared.global [%r4+512], [%rd4], 16, 8;
        cp.async.commit_group;
        ld.shared.u32 %r5, [%r4];
        cp.async.wait_group 1;
        ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4];
        cp.async.wait_all;
        ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4+512];
        add.u32 %r6, %r6, %r10;
        add.u32 %r7, %r7, %r11;
        add.u32 %r8, %r8, %r12;
        add.u32 %r9, %r9, %r5;
        st.global.v4.u32 [%rd5], {%r6, %r7, %r8, %r9};",
    );
    let mut s = system();
    let x: Vec<u32> = (0..128).collect();
    let (px, out) = (s.u32s("x", &x), s.u32s("out", &[0; 128]));
    let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(px), P(out)]));
    // The early load races with the copy.
    assert_eq!(only(&outcome).kind, FindingKind::Race);
    assert!(only(&outcome).detail.contains("no `cp.async.wait_group` comes between"), "{}", only(&outcome).detail);
    // The tail of the second copy is zero filled; the early load saw the old value.
    let want = x.chunks(4).flat_map(|c| [2 * c[0], 2 * c[1], c[2], c[3] + 1]);
    assert_eq!(s.read_u32s(out, 128), want.collect::<Vec<_>>());
}

#[test]
fn cp_async_to_a_far_offset() {
    let text = kernel(
        ".param .u64 x, .param .u64 out",
        ".shared .align 16 .b8 tile[81920];",
        "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [out];
        mov.u32 %r2, tile;
        cvt.u64.u32 %rd3, %r2;
        cp.async.ca.shared.global [%r2+40000], [%rd1], 4;
        cp.async.ca.shared.global [%rd3+81916], [%rd1+4], 4;
        cp.async.wait_all;
        ld.shared.u32 %r3, [%r2+40000];
        ld.shared.u32 %r4, [%r2+81916];
        st.global.v2.u32 [%rd2], {%r3, %r4};",
    );
    let mut s = system();
    let (px, out) = (s.u32s("x", &[1, 2]), s.u32s("out", &[0; 2]));
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [1, 1, 1], &[P(px), P(out)])));
    assert_eq!(s.read_u32s(out, 2), [1, 2]);
}

/// Only what the source size says is read: a row may end amid the piece that is copied, where its memory ends.
#[test]
fn cp_async_reads_no_more_than_its_source_size() {
    let text = kernel(
        ".param .u64 x, .param .u64 out, .param .u32 size",
        ".shared .align 16 .b8 tile[16];",
        "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [out];
        ld.param.u32 %r1, [size];
        mov.u32 %r2, tile;
        cp.async.cg.shared.global [%r2], [%rd1], 16, %r1;
        cp.async.wait_all;
        ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];
        st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};",
    );
    let program = program(&text, "k");
    for size in [0, 4, 8, 12, 13] {
        let mut s = system();
        let (px, out) = (s.u32s("x", &[1, 2, 3]), s.u32s("out", &[0; 4]));
        let outcome = run(&mut s, &program, &launch([1, 1, 1], [1, 1, 1], &[P(px), P(out), U(size)]));
        if size > 12 {
            assert!(outcome.findings.iter().any(|f| f.kind == FindingKind::OutOfBounds), "{size}");
            continue;
        }
        assert_clean(&outcome);
        let want: Vec<u32> = (0..4).map(|i| if 4 * i < size { i + 1 } else { 0 }).collect();
        assert_eq!(s.read_u32s(out, 4), want, "{size}");
    }
}

#[test]
fn dynamic_shared_local_memory_and_module_variables() {
    let text = kernel(
        ".param .u64 out",
        ".extern .shared .align 16 .b8 pool[];\n.const .align 4 .u32 table[4] = {10, 20, 30, 40};\n.global .align 4 .u32 runs;",
        "
        .local .align 8 .b8 stack[16];
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u64 %rd10, stack;
        cvta.local.u64 %rd11, %rd10;
        st.local.u32 [%rd10+4], %r1;
        ld.u32 %r2, [%rd11+4];
        and.b32 %r3, %r1, 3;
        mul.wide.u32 %rd4, %r3, 4;
        mov.u64 %rd5, table;
        add.s64 %rd5, %rd5, %rd4;
        ld.const.u32 %r4, [%rd5];
        add.u32 %r2, %r2, %r4;
        mov.u32 %r5, pool;
        shl.b32 %r6, %r1, 2;
        add.u32 %r5, %r5, %r6;
        st.shared.u32 [%r5], %r2;
        cvt.u64.u32 %rd6, %r5;
        cvta.shared.u64 %rd7, %rd6;
        ld.u32 %r7, [%rd7];
        isspacep.shared %p1, %rd7;
        selp.u32 %r8, 1000, 0, %p1;
        add.u32 %r7, %r7, %r8;
        mul.wide.u32 %rd8, %r1, 4;
        add.s64 %rd9, %rd1, %rd8;
        st.global.u32 [%rd9], %r7;
        setp.ne.u32 %p2, %r1, 0;
        @%p2 bra END;
        atom.global.add.u32 %r9, [runs], 1;
        st.global.u32 [%rd1], %r9;
    END:",
    );
    let program = program(&text, "k");
    let mut s = system();
    let out = s.u32s("out", &[0; 32]);
    let launch = Launch { dynamic_shared: 128, ..launch([1, 1, 1], [32, 1, 1], &[P(out)]) };
    for run_number in 0..3 {
        assert_clean(&run(&mut s, &program, &launch));
        let mut want: Vec<u32> = (0..32).map(|t| t + 10 * (t % 4 + 1) + 1000).collect();
        want[0] = run_number;
        assert_eq!(s.read_u32s(out, 32), want);
    }
}
