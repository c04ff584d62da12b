//! Flags, fences, scopes, locks, barriers of a grid.

use super::*;

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
