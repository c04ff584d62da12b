//! Profiles, advice, and the steps of a warp.

mod support;

use support::{Arg::*, Buffers, kernel, launch, program, run_with, system};
use warpsmith_emulator::{AdviceKind, LineProfile, Options, Outcome, Profile, Traffic, Watch};

const PROFILE: Watch = Watch { profile: true, warp: None, most_steps: 0 };

/// Runs a body with `%r1` the thread's number and `%rd1` the address of 64 KiB; `bytes` of shared memory at `tile`.
fn watched(body: &str, grid: u32, threads: u32, watch: Watch, workers: usize) -> Outcome {
    let declarations = ".shared .align 16 .b8 tile[8192];\n.file 1 \"k.rs\"";
    let body = format!(".local .align 8 .b8 stack[64];\nmov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [x];\n{body}");
    let text = kernel(".param .u64 x", declarations, &body);
    let mut s = system();
    let x = s.u32s("x", &vec![7; 1 << 14]);
    let options = Options { watch, threads: workers, ..Options::default() };
    run_with(&mut s, &program(&text, "k"), &launch([grid, 1, 1], [threads, 1, 1], &[P(x)]), None, &options)
}

fn profile(body: &str, grid: u32, threads: u32) -> Profile {
    let outcome = watched(body, grid, threads, PROFILE, 1);
    let profile = outcome.profile.unwrap();
    assert_eq!(profile.instructions(), outcome.instructions);
    profile
}

fn line(profile: &Profile, n: u32) -> LineProfile {
    profile.lines.iter().find(|l| l.at.as_ref().is_some_and(|at| at.line == n)).unwrap().clone()
}

/// What is said of line 5: kind, what it costs, what would do.
fn advice(body: &str) -> Vec<(AdviceKind, [u64; 2])> {
    let all = profile(body, 1, 32).advice();
    all.into_iter().filter(|a| a.at.as_ref().is_some_and(|at| at.line == 5)).map(|a| (a.kind, a.cost)).collect()
}

/// `%rd2` = x + `stride` · thread + `offset`.
fn global(stride: u32, offset: u32, access: &str) -> String {
    format!("mul.wide.u32 %rd2, %r1, {stride};\nadd.s64 %rd2, %rd2, %rd1;\n.loc 1 5 1\n{access} [%rd2+{offset}];")
}

fn shared(stride: u32, access: &str) -> String {
    format!("mov.u32 %r2, tile;\nmad.lo.u32 %r2, %r1, {stride}, %r2;\n.loc 1 5 1\n{access};")
}

#[test]
fn sectors_of_global_memory() {
    use AdviceKind::SplitAccess;
    assert_eq!(advice(&global(4, 0, "ld.global.u32 %r3,")), []);
    assert_eq!(advice(&global(16, 0, "ld.global.v4.u32 {%r3, %r4, %r5, %r6},")), []);
    // Across the edge of a sector.
    assert_eq!(advice(&global(4, 4, "ld.global.u32 %r3,")), [(SplitAccess, [5, 4])]);
    // Every other word, and a sector for each lane.
    assert_eq!(advice(&global(8, 0, "ld.global.u32 %r3,")), [(SplitAccess, [8, 4])]);
    assert_eq!(advice(&global(128, 0, "ld.global.u32 %r3,")), [(SplitAccess, [32, 4])]);
    // All lanes want one word.
    assert_eq!(advice(&global(0, 0, "ld.global.u32 %r3,")), []);
    assert_eq!(advice(&global(64, 0, "red.global.add.u32").replace("];", "], %r1;")), [(SplitAccess, [32, 4])]);
}

#[test]
fn banks_of_shared_memory() {
    use AdviceKind::BankConflicts;
    assert_eq!(advice(&shared(4, "st.shared.u32 [%r2], %r1")), []);
    assert_eq!(advice(&shared(8, "st.shared.u32 [%r2], %r1")), [(BankConflicts, [2, 1])]);
    assert_eq!(advice(&shared(128, "st.shared.u32 [%r2], %r1")), [(BankConflicts, [32, 1])]);
    // A row of one word more.
    assert_eq!(advice(&shared(132, "st.shared.u32 [%r2], %r1")), []);
    // Eight lanes at a time.
    assert_eq!(advice(&shared(16, "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1}")), []);
    assert_eq!(advice(&shared(32, "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1}")), [(BankConflicts, [8, 4])]);
    // Generic addresses lead there, too.
    let generic = "cvt.u64.u32 %rd3, %r2;\ncvta.shared.u64 %rd3, %rd3;\n.loc 1 5 1\nst.u32 [%rd3], %r1";
    assert_eq!(advice(&shared(8, generic)), [(BankConflicts, [2, 1])]);
    // Rows of 16 bytes without a swizzle: all eight begin at one bank.
    let rows = "st.shared.u32 [%r2], %r1;\nadd.u32 %r4, %r2, 0;\n.loc 1 6 1\nbar.warp.sync -1;";
    let body = shared(128, &format!("{rows}\n.loc 1 7 1\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r3}}, [%r4]"));
    assert_eq!(line(&profile(&body, 1, 32), 7).shared.transactions, 8);
}

#[test]
fn asynchronous_copies() {
    let copy = "cp.async.ca.shared.global [%r2], [%rd1], 16;\ncp.async.wait_all";
    let found = line(&profile(&shared(16, copy), 1, 32), 5);
    assert_eq!((found.shared.transactions, found.shared.least), (4, 4));
    assert_eq!((found.global.bytes, found.global.transactions), (512, 1));
    let bulk = "
        .loc 1 5 1
        mov.u32 %r2, tile;
        @%p1 bra DONE;
        cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 4096;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        DONE:";
    let body = format!("setp.ne.u32 %p1, %r1, 0;\n{bulk}");
    let found = line(&profile(&body, 1, 32), 5);
    assert_eq!((found.global.count, found.global.bytes, found.global.transactions), (1, 4096, 128));
    assert_eq!((found.branches.taken, found.branches.diverged), (1, 1));
}

#[test]
fn branches_and_lanes() {
    let body = "
        .loc 1 5 1
        setp.lt.u32 %p1, %r1, 40;
        @%p1 bra ELSE;
        .loc 1 6 1
        add.u32 %r3, %r1, 1;
        ELSE:
        .loc 1 7 1
        mov.u32 %r4, %r1;";
    let found = profile(body, 1, 96);
    let (five, six) = (line(&found, 5), line(&found, 6));
    assert_eq!((five.branches.taken, five.branches.diverged), (3, 1));
    assert_eq!((six.instructions, six.lanes), (2, 56));
    let said: Vec<_> = found.advice().into_iter().map(|a| (a.kind, a.cost, a.times)).collect();
    assert_eq!(said, [(AdviceKind::DivergentBranch, [1, 0], 3)]);
}

#[test]
fn local_memory() {
    let body = ".loc 1 5 1\nst.local.u32 [stack], %r1;\nld.local.v2.u32 {%r3, %r4}, [stack];";
    assert_eq!(advice(body), [(AdviceKind::LocalMemory, [384, 0])]);
}

#[test]
fn traffic_counts_bytes_and_different_bytes() {
    let body = global(4, 0, "ld.global.u32 %r3,");
    let body = format!("{body}\n{}", global(4, 0, "st.global.u32").replace("];", "], %r1;"));
    for workers in [1, 2] {
        let found = watched(&body, 8, 64, PROFILE, workers).profile.unwrap();
        assert_eq!(found.traffic, Traffic { read: 2048, read_once: 256, written: 2048, written_once: 256 });
        let rereading = found.advice().into_iter().find(|a| a.kind == AdviceKind::Rereading).unwrap();
        assert_eq!(rereading.cost, [2048, 256]);
        let counted: u64 = found.lines.iter().map(|l| l.global.count).sum();
        assert_eq!((counted, line(&found, 5).instructions), (32, 16 * 5));
    }
}

#[test]
fn a_warp_step_by_step() {
    let body = "
        .loc 1 5 1
        setp.lt.u32 %p1, %r1, 40;
        @%p1 add.u32 %r3, %r1, 100;
        mul.wide.u32 %rd3, %r1, 8;";
    let watch = Watch { profile: false, warp: Some(([1, 0, 0], 1)), most_steps: 100 };
    let outcome = watched(body, 2, 64, watch, 1);
    assert!(outcome.profile.is_none());
    let steps = outcome.steps;
    assert!(steps.iter().all(|s| s.lanes == u32::MAX && s.ptx_line > 0));
    let compare = steps.iter().position(|s| s.registers.iter().any(|r| r.written && r.name == "%p1")).unwrap();
    let values = |step: usize, name: &str, written: bool| {
        let all = &steps[step].registers;
        all.iter().find(|r| r.name == name && r.written == written).unwrap_or_else(|| panic!("{name}: {all:?}"))
    };
    assert_eq!(values(compare, "%r1", false).lanes, std::array::from_fn(|l| l as u64 + 32));
    let p = values(compare, "%p1", true);
    assert_eq!((p.bits, p.lanes.iter().sum::<u64>()), (1, 8));
    assert_eq!(steps[compare + 1].active, 0xff);
    assert_eq!(values(compare + 1, "%r3", true).lanes[..8], [132, 133, 134, 135, 136, 137, 138, 139]);
    assert_eq!((values(compare + 2, "%rd3", true).bits, values(compare + 2, "%rd3", true).lanes[31]), (64, 63 * 8));
    assert_eq!(steps[compare].at.as_ref().map(|at| (&*at.file, at.line)), Some(("k.rs", 5)));

    let few = watched(body, 2, 64, Watch { most_steps: 3, ..watch }, 1).steps;
    assert_eq!(few.len(), 3);
    assert!(few.iter().all(|s| s.registers.iter().any(|r| r.written)), "{few:?}");
}

#[test]
fn profiles_serialise() {
    let found = profile(&shared(8, "st.shared.u32 [%r2], %r1"), 1, 32);
    let json = serde_json::to_value(&found).unwrap();
    let five = json["lines"].as_array().unwrap().iter().find(|l| l["at"]["line"] == 5).unwrap();
    assert_eq!((&five["shared"]["transactions"], &five["at"]["file"]), (&2.into(), &"k.rs".into()));
    let advice = serde_json::to_value(found.advice()).unwrap();
    assert_eq!(advice[0]["kind"], "bank-conflicts");
}
