//! Launches that start before the one before them is over, and grids whose blocks wait for each other.

use super::*;

const WRITE: &str = "mov.u32 %r3, 7;\nst.global.u32 [%rd1], %r3;\n";
const READ: &str = "ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;";

/// One launch writes what the next one, which may start before it is over, reads.
fn pair(first: &str, second: &str, options: &Options) -> Outcome {
    let mut s = two_devices();
    let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
    let stream = s.stream(Device(0)).unwrap();
    let shape = || launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]);
    let next = Launch { dependent: true, ..shape() };
    s.on(stream).launch(&of_two(first), shape()).launch(&of_two(second), next);
    let outcome = s.run(options).unwrap();
    if outcome.is_clean() {
        assert_eq!(s.read_u32s(y, 1), [7]);
    }
    outcome
}

#[test]
fn a_dependent_launch_waits_for_what_it_reads() {
    let early = format!("{WRITE}griddepcontrol.launch_dependents;");
    let late = format!("griddepcontrol.launch_dependents;\n{WRITE}");
    let waits = format!("griddepcontrol.wait;\n{READ}");
    for first in [&early, &late] {
        always_clean(|o| pair(first, &waits, o));
        let says = "no `griddepcontrol.wait` comes before it, so that the launch before may still run";
        always(FindingKind::Race, says, |o| pair(first, READ, o));
        // Too late for what was read before.
        always(FindingKind::Race, says, |o| pair(first, &format!("{READ}\ngriddepcontrol.wait;"), o));
    }
}

#[test]
fn a_dependent_launch_goes_on_whenever_the_other_ends() {
    // Blocks that end one after the other, and many seeds: the second launch blocks at every point of the first's end.
    let late = format!("{WRITE}griddepcontrol.launch_dependents;\nbar.sync 0;\nbar.sync 0;");
    for schedule in [Schedule::Seeded, Schedule::SlowWarp, Schedule::SlowBlock, Schedule::Adversarial] {
        for seed in 0..64 {
            let options = Options { schedule, seed, budget: Some(100_000), ..Options::default() };
            assert_clean(&pair(&late, &format!("griddepcontrol.wait;\n{READ}"), &options));
        }
    }
}

#[test]
fn who_does_not_let_others_start_is_over_before_them() {
    always_clean(|o| pair(WRITE, READ, o));
}

#[test]
fn what_a_dependent_launch_reads_through_nc_must_be_written_before_it_starts() {
    let read = READ.replace("ld.global", "ld.global.nc");
    let waits = format!("griddepcontrol.wait;\n{read}");
    let says = "must not change from its start on, and this launch starts before the one before is over";
    for first in
        [format!("{WRITE}griddepcontrol.launch_dependents;"), format!("griddepcontrol.launch_dependents;\n{WRITE}")]
    {
        always(FindingKind::ConstantLoad, says, |o| pair(&first, &waits, o));
    }
    for second in [&read, &waits] {
        always_clean(|o| pair(WRITE, second, o));
    }
}

#[test]
fn what_a_dependent_launch_overwrites_may_still_be_read() {
    let reads = format!("griddepcontrol.launch_dependents;\n{READ}");
    let run = |second: &str, options: &Options| {
        let mut s = two_devices();
        let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
        let stream = s.stream(Device(0)).unwrap();
        let shape = || launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]);
        let next = Launch { dependent: true, ..shape() };
        s.on(stream).launch(&of_two(&reads), shape()).launch(&of_two(second), next);
        s.run(options).unwrap()
    };
    always_clean(|o| run(&format!("griddepcontrol.wait;\n{WRITE}"), o));
    always(FindingKind::Race, "griddepcontrol.wait", |o| run(WRITE, o));
}

/// A barrier of all blocks: each counts in, and waits for all.
const MEET: &str = "
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    mov.u32 %r3, %nctaid.x;
    red.release.gpu.global.add.u32 [%rd1], 1;
POLL:
    ld.acquire.gpu.global.u32 %r4, [%rd1];
    setp.lt.u32 %p2, %r4, %r3;
    @%p2 bra POLL;
DONE:
    bar.sync 0;";

/// Shared memory of which a multiprocessor has not twice as much.
const MOST: u32 = 120_000;

#[test]
fn a_barrier_of_more_blocks_than_fit_never_ends() {
    // A chip with few multiprocessors has as much to wait for.
    let small = Chip { multiprocessors: 4, ..Chip::H200 };
    let run = |blocks: u32, cooperative: bool| {
        let mut s = System::new(small);
        let count = words(&mut s, 0, 1, "count");
        let stream = s.stream(Device(0)).unwrap();
        let shape =
            Launch { cooperative, dynamic_shared: MOST, ..launch([blocks, 1, 1], [32, 1, 1], &[P(count), P(count)]) };
        s.on(stream).launch(&of_two(MEET), shape);
        s.run(&Options::default())
    };
    // One of them on each multiprocessor.
    for cooperative in [false, true] {
        assert_clean(&run(4, cooperative).unwrap());
    }
    let outcome = run(5, false).unwrap();
    let [finding] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
    let text = finding.diagnostic().render();
    assert_eq!(finding.kind, FindingKind::Deadlock, "{text}");
    let says = format!("4 blocks of `k` run and 1 have not started: the {} holds 4 of them at a time", small.name);
    assert!(text.contains(&says), "{text}");
    let error = run(5, true).unwrap_err().to_string();
    assert!(error.contains("it is cooperative and has 5 blocks"), "{error}");
}

/// Two grids of as many blocks, each with a barrier of all its blocks, on two streams of a chip of four multiprocessors,
/// each of which holds one block.
fn two_grids(blocks: u32, cooperative: bool, options: &Options) -> Outcome {
    let mut s = System::new(Chip { multiprocessors: 4, ..Chip::H200 });
    for name in ["first", "second"] {
        let count = words(&mut s, 0, 1, name);
        let stream = s.stream(Device(0)).unwrap();
        let arguments = [P(count), P(count)];
        let shape = Launch { cooperative, dynamic_shared: MOST, ..launch([blocks, 1, 1], [32, 1, 1], &arguments) };
        s.on(stream).launch(&of_two(MEET), shape);
    }
    s.run(options).unwrap()
}

#[test]
fn cooperative_grids_wait_for_room() {
    for blocks in [1, 2, 3, 4] {
        always_clean(|o| two_grids(blocks, true, o));
    }
    // Others take what there is: two blocks of each fit, three can be in each other's way.
    always_clean(|o| two_grids(2, false, o));
    let stuck = |o: Options| two_grids(3, false, &o).findings.iter().any(|f| f.kind == FindingKind::Deadlock);
    assert!(schedules().any(stuck));
}

/// A kernel that fills every multiprocessor but for a little shared memory waits for a small one, which fits beside it;
/// not so another large one.
#[test]
fn small_blocks_run_beside_large_ones() {
    let run = |shared: u32, options: &Options| {
        let mut s = System::new(Chip { multiprocessors: 4, ..Chip::H200 });
        let flag = words(&mut s, 0, 1, "flag");
        let polls = "POLL: ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra POLL;";
        let raises = "mov.u32 %r3, 1;\nst.release.gpu.global.u32 [%rd1], %r3;";
        let shape =
            |grid, dynamic_shared| Launch { dynamic_shared, ..launch([grid, 1, 1], [1, 1, 1], &[P(flag), P(flag)]) };
        let (first, second) = (s.stream(Device(0)).unwrap(), s.stream(Device(0)).unwrap());
        let started = s.event();
        // It has all multiprocessors before another launch comes.
        let large = Launch { cooperative: true, ..shape(4, 200_000) };
        s.on(first).record(started).launch(&of_two(polls), large);
        s.on(second).wait(started).launch(&of_two(raises), shape(1, shared));
        s.run(options).unwrap()
    };
    always_clean(|o| run(20_000, o));
    always(FindingKind::Deadlock, "1 have not started", |o| run(40_000, o));
}
