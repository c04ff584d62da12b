//! Barriers in shared memory as threads alone use them, and the small instructions around them.

mod support;

use support::{Arg::*, Buffers, assert_clean, kernel, launch, only, program, run, run_with, system};
use warpsmith_emulator::{FindingKind, MbarrierFault, Options};

const SHARED: &str = ".shared .align 8 .b64 bar;\n.shared .align 8 .b64 other;\n.shared .align 4 .b8 words[1024];";

#[test]
fn states_counts_and_dropped_arrivals() {
    // 64 threads hand words on by one barrier, in rounds; warp 1 leaves after the first, and is expected no more.
    let body = "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, bar;
        mov.u32 %r3, words;
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r3, %r4;
        setp.ne.u32 %p1, %r1, 0;
        @!%p1 mbarrier.init.shared.b64 [%r2], 64;
        bar.sync 0;
        st.shared.u32 [%r5], %r1;
        setp.ge.u32 %p2, %r1, 32;
        @%p2 mbarrier.arrive_drop.shared.b64 %rd2, [%r2];
        @%p2 bra DONE;
        mbarrier.arrive.shared.b64 %rd2, [%r2];
    FIRST:
        mbarrier.try_wait.shared.b64 %p3, [%r2], %rd2;
        @!%p3 bra FIRST;
        ld.shared.u32 %r6, [%r5+128];
        mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 0;
        mbarrier.pending_count.b64 %r7, %rd3;
        bar.warp.sync -1;
        mbarrier.arrive.shared.b64 %rd3, [%r2];
    SECOND:
        mbarrier.test_wait.shared.b64 %p3, [%r2], %rd3;
        @!%p3 bra SECOND;
        mad.lo.u32 %r6, %r7, 1000, %r6;
        mul.wide.u32 %rd4, %r1, 4;
        add.s64 %rd5, %rd1, %rd4;
        st.global.u32 [%rd5], %r6;
    DONE:";
    let text = kernel(".param .u64 out", SHARED, body)
        .replace("%r2], 0;\n        mbarrier.pending", "%r2], %r63;\n        mbarrier.pending");
    let text = text.replace("mov.u32 %r2, bar;", "mov.u32 %r2, bar;\nmov.u32 %r63, 0;");
    for seed in 0..5 {
        let mut s = system();
        let out = s.allocate(128, "out").unwrap();
        let options = Options { seed, ..Options::default() };
        let outcome = run_with(&mut s, &program(&text, "k"), &launch([1, 1, 1], [64, 1, 1], &[P(out)]), None, &options);
        assert_clean(&outcome);
        assert_eq!(s.read_u32s(out, 32), (0..32).map(|i| 32_000 + 32 + i).collect::<Vec<u32>>());
    }
}

#[test]
fn lanes_wait_at_different_barriers() {
    // Even lanes wait for one barrier, odd ones for another, that the other warp arrives at in turn.
    let body = "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, bar;
        mov.u32 %r3, other;
        setp.ne.u32 %p1, %r1, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
        @!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
        bar.sync 0;
        setp.eq.u32 %p2, %r1, 32;
        @%p2 nanosleep.u32 100;
        @%p2 mbarrier.arrive.shared::cta.b64 _, [%r3];
        @%p2 mbarrier.arrive.shared::cta.b64 _, [%r2];
        setp.ge.u32 %p3, %r1, 32;
        @%p3 bra DONE;
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p4, %r4, 1;
        selp.b32 %r5, %r3, %r2, %p4;
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5], 0;
        @!%p5 bra WAIT;
        mul.wide.u32 %rd4, %r1, 4;
        add.s64 %rd5, %rd1, %rd4;
        st.global.u32 [%rd5], %r1;
    DONE:";
    for seed in 0..5 {
        let mut s = system();
        let out = s.allocate(128, "out").unwrap();
        let text = kernel(".param .u64 out", SHARED, body);
        let options = Options { seed, ..Options::default() };
        let outcome = run_with(&mut s, &program(&text, "k"), &launch([1, 1, 1], [64, 1, 1], &[P(out)]), None, &options);
        assert_clean(&outcome);
        assert_eq!(s.read_u32s(out, 32), (0..32).collect::<Vec<u32>>());
    }
}

#[test]
fn more_threads_arrive_than_the_barrier_was_made_for() {
    let body = "
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, bar;
        setp.ne.u32 %p1, %r1, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r2], 32;
        bar.sync 0;
        mbarrier.arrive.shared::cta.b64 %rd1, [%r2];";
    let outcome = run(&mut system(), &program(&kernel("", SHARED, body), "k"), &launch([1, 1, 1], [64, 1, 1], &[]));
    let expected = "\
error: `k` arrives at an mbarrier too often
 |
 = note: block (0, 0, 0), thread (63, 0, 0): `bar`: phase 1 ends before a thread has waited for phase 0: `mbarrier.init` gave it 32 arrivals
 = note: line 21 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
    assert_eq!(outcome.findings[0].kind, FindingKind::Mbarrier(MbarrierFault::Arrivals));
}

#[test]
fn registers_of_a_warpgroup() {
    let body = "
        griddepcontrol.wait;
        setmaxnreg.dec.sync.aligned.u32 COUNT;
        griddepcontrol.launch_dependents;";
    let run = |count: &str| {
        let text = kernel("", "", &body.replace("COUNT", count));
        run(&mut system(), &program(&text, "k"), &launch([1, 1, 1], [128, 1, 1], &[]))
    };
    assert_clean(&run("40"));
    let expected = "\
error: `k` asks for an impossible number of registers
 |
 = note: block (0, 0, 0), thread (0, 0, 0): 42 registers; it must be a multiple of 8 from 24 to 256
 = note: line 15 of the PTX
 = note: 128 times in all";
    assert_eq!(only(&run("42")).diagnostic().render(), expected);
}

#[test]
fn copies_arrive() {
    let body = "
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, bar;
        mov.u32 %r3, words;
        setp.ne.u32 %p1, %r1, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
        bar.sync 0;
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r3, %r4;
        cvt.u64.u32 %rd3, %r4;
        add.s64 %rd1, %rd1, %rd3;
        add.s64 %rd2, %rd2, %rd3;
        cp.async.ca.shared.global [%r5], [%rd1], 4;
        cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
        @!%p2 bra WAIT;
        xor.b32 %r6, %r4, 252;
        add.u32 %r6, %r6, %r3;
        ld.shared.u32 %r7, [%r6];
        st.global.u32 [%rd2], %r7;";
    let mut s = system();
    let (x, out) = (s.u32s("in", &(0..64).collect::<Vec<u32>>()), s.allocate(256, "out").unwrap());
    let text = kernel(".param .u64 in, .param .u64 out", SHARED, body);
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [64, 1, 1], &[P(x), P(out)])));
    assert_eq!(s.read_u32s(out, 64), (0..64).rev().collect::<Vec<u32>>());
}
