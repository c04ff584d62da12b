//! Between devices: flags of system scope, and nothing else.

use super::*;

/// Writes data, then a flag, both in memory of the other device.
fn publish(flag: &str) -> Arc<Program> {
    of_two(&format!("mov.u32 %r3, 42;\nst.global.u32 [%rd1], %r3;\nmov.u32 %r4, 1;\n{flag}"))
}

/// Polls the flag and reads the data.
fn consume(poll: &str) -> Arc<Program> {
    of_two(&format!(
        "POLL:\n{poll}\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra POLL;\nld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+128], %r6;"
    ))
}

const RELEASE: &str = "st.release.sys.global.u32 [%rd2], %r4;";
const ACQUIRE: &str = "ld.acquire.sys.global.u32 %r5, [%rd2];";

/// Device 0 publishes in memory of device 1, which consumes.
fn message(flag: &str, poll: &str, options: &Options) -> (Outcome, u32) {
    let mut s = two_devices();
    let (data, flags) = (words(&mut s, 1, 64, "data"), words(&mut s, 1, 64, "flag"));
    let [left, right] = [0, 1].map(|d| s.stream(Device(d)).unwrap());
    let arguments = [P(data), P(flags)];
    s.on(left).launch(&publish(flag), launch([1, 1, 1], [1, 1, 1], &arguments));
    s.on(right).launch(&consume(poll), launch([1, 1, 1], [1, 1, 1], &arguments));
    let outcome = s.run(options).unwrap();
    (outcome, s.read_u32s(data.offset(128), 1)[0])
}

#[test]
fn a_message_needs_system_scope() {
    always_clean(|o| {
        let (outcome, got) = message(RELEASE, ACQUIRE, o);
        assert!(got == 42 || !outcome.is_clean(), "{o:?}: {got}");
        outcome
    });
    let fenced = "fence.acq_rel.sys;\nst.relaxed.sys.global.u32 [%rd2], %r4;";
    always_clean(|o| message(fenced, "ld.relaxed.sys.global.u32 %r5, [%rd2];\nfence.acq_rel.sys;", o).0);
    let race = |flag: &str, poll: &str, says: &str| always(FindingKind::Race, says, |o| message(flag, poll, o).0);
    race("st.release.gpu.global.u32 [%rd2], %r4;", ACQUIRE, "the scope .gpu of line 20 of the PTX does not include");
    race(RELEASE, "ld.acquire.gpu.global.u32 %r5, [%rd2];", "the scope .gpu of line 18 of the PTX does not include");
    race(&fenced.replace("acq_rel.sys", "acq_rel.gpu"), ACQUIRE, "the scope .gpu");
    race("st.relaxed.sys.global.u32 [%rd2], %r4;", ACQUIRE, "without `.release`");
    race(RELEASE, "ld.relaxed.sys.global.u32 %r5, [%rd2];", "without `.acquire`");
    race(RELEASE, "ld.volatile.global.u32 %r5, [%rd2];", "without `.acquire`");
}

#[test]
fn a_report_names_devices_and_launches() {
    let (outcome, _) = message("st.relaxed.sys.global.u32 [%rd2], %r4;", ACQUIRE, &Options::default());
    let [race] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
    let text = race.diagnostic().render();
    assert_eq!(race.agent.as_deref(), Some("launch 0 of stream 0 of device 1"), "{text}");
    let other = race.other.as_ref().unwrap();
    assert_eq!(other.agent.as_deref(), Some("`k`, launch 0 of stream 0 of device 0"), "{text}");
    assert_eq!((race.ptx_line, other.ptx_line, other.thread), (21, 18, Some([0; 3])), "{text}");
    assert!(text.contains("block (0, 0, 0) of `k` (launch 0 of stream 0 of device 0) writes the flag"), "{text}");
}

/// Each device raises its flag and looks at the other's: both may see nothing, but the accesses must be strong.
#[test]
fn store_buffering() {
    let run = |store: &str, load: &str, options: &Options| {
        let mut s = two_devices();
        let flags = [0, 1].map(|d| words(&mut s, d, 64, "flag"));
        let seen = [0, 1].map(|d| words(&mut s, d, 64, "seen"));
        let body = format!("mov.u32 %r4, 1;\n{store}\n{load}\nld.param.u64 %rd3, [z];\nst.global.u32 [%rd3], %r5;");
        let start = "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\n";
        let text = kernel(".param .u64 x, .param .u64 y, .param .u64 z", "", &format!("{start}{body}"));
        let program = Arc::new(program(&text, "k"));
        for d in [0, 1] {
            let stream = s.stream(Device(d as u8)).unwrap();
            let arguments = [P(flags[d]), P(flags[1 - d]), P(seen[d])];
            s.on(stream).launch(&program, launch([1, 1, 1], [1, 1, 1], &arguments));
        }
        s.run(options).unwrap()
    };
    always_clean(|o| run("st.relaxed.sys.global.u32 [%rd1], %r4;", "ld.relaxed.sys.global.u32 %r5, [%rd2];", o));
    let weak = |o: &Options| run("st.global.u32 [%rd1], %r4;", "ld.global.u32 %r5, [%rd2];", o);
    always(FindingKind::Race, "different devices", weak);
    let narrow =
        |o: &Options| run("st.relaxed.gpu.global.u32 [%rd1], %r4;", "ld.relaxed.gpu.global.u32 %r5, [%rd2];", o);
    always(FindingKind::Race, "their scopes or sizes do not fit", narrow);
}

#[test]
fn memory_of_another_device_must_be_mapped() {
    let run = |body: &str, map: bool| {
        let mut s = System::linked([Chip::H200, Chip::H200]).unwrap();
        let (own, other) = (words(&mut s, 0, 64, "own"), words(&mut s, 1, 64, "other"));
        if map {
            s.map(other, Device(0)).unwrap();
        }
        let stream = s.stream(Device(0)).unwrap();
        s.on(stream).launch(&of_two(body), launch([1, 1, 1], [1, 1, 1], &[P(other), P(own)]));
        s.run(&Options::default()).unwrap()
    };
    let bodies = [
        "ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;",
        "mov.u32 %r3, 1;\nst.global.u32 [%rd1], %r3;",
        "mov.u32 %r3, 1;\nst.global.u32 [%rd2], %r3;\nred.relaxed.sys.global.add.u32 [%rd1], %r3;",
    ];
    for body in bodies {
        assert_clean(&run(body, true));
        let outcome = run(body, false);
        let [finding] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
        let text = finding.diagnostic().render();
        assert_eq!(finding.kind, FindingKind::NotMapped, "{text}");
        assert!(text.contains("`other` + 0, which is memory of device 1 and not mapped on device 0"), "{text}");
    }
}

/// Also where lanes of a warp poll on their own, and different flags.
#[test]
fn lanes_that_wait_apart_are_told_of() {
    let one = "POLL:\nld.acquire.sys.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra POLL;";
    let two = format!(
        "setp.lt.u32 %p2, %r1, 16;\n@%p2 bra FIRST;\n{}\nbra.uni END;\nFIRST:\n{one}\nEND:",
        one.replace("POLL", "OTHER").replace("[%rd1]", "[%rd2]")
    );
    for body in [one, &two] {
        for lanes_apart in [false, true] {
            for options in schedules() {
                let mut s = two_devices();
                let flags = [0, 1].map(|d| words(&mut s, d, 64, "flag"));
                let streams = [0, 1].map(|d| s.stream(Device(d)).unwrap());
                let wait = || launch([1, 1, 1], [32, 1, 1], &[P(flags[0]), P(flags[1])]);
                for stream in streams {
                    s.on(stream).launch(&of_two(body), wait());
                }
                let outcome = s.run(&Options { lanes_apart, budget: Some(20_000_000), ..options }).unwrap();
                let kinds: Vec<FindingKind> = outcome.findings.iter().map(|f| f.kind).collect();
                assert_eq!(kinds, [FindingKind::Deadlock], "{options:?}, {lanes_apart}");
            }
        }
    }
}

#[test]
fn who_waits_for_whom() {
    // Each waits for a flag that the other raises only afterwards.
    let wait =
        "POLL:\nld.acquire.sys.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra POLL;\nmov.u32 %r4, 1;\n";
    let program = of_two(&format!("{wait}st.release.sys.global.u32 [%rd2], %r4;"));
    for options in schedules() {
        let mut s = two_devices();
        let flags = [0, 1].map(|d| words(&mut s, d, 64, ["left", "right"][usize::from(d)]));
        for d in [0, 1] {
            let stream = s.stream(Device(d as u8)).unwrap();
            s.on(stream).launch(&program, launch([1, 1, 1], [32, 1, 1], &[P(flags[d]), P(flags[1 - d])]));
        }
        let outcome = s.run(&Options { budget: None, ..options }).unwrap();
        let [finding] = &outcome.findings[..] else { panic!("{options:?}: {:?}", outcome.findings) };
        let text = finding.diagnostic().render();
        assert_eq!(finding.kind, FindingKind::Deadlock, "{text}");
        for (device, flag) in [(0, "left"), (1, "right")] {
            let says = format!(
                "launch 0 of stream 0 of device {device}, block (0, 0, 0), warp 0, lanes 0-31 wait for another value of \
                 `{flag}` + 0, which holds 0, and nothing has written it since the start (line 18 of the PTX)"
            );
            assert!(text.contains(&says), "{says}\n{text}");
        }
    }
}

/// Who polls by plain loads gives its turn away: somebody slow comes soon.
#[test]
fn plain_polls_are_known_for_polls() {
    for seed in 0..2 {
        let mut s = two_devices();
        let flag = words(&mut s, 0, 1, "flag");
        let polls = "POLL: ld.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra POLL;";
        for (device, body) in [(0, polls), (1, "st.global.u32 [%rd1], 1;")] {
            let stream = s.stream(Device(device)).unwrap();
            s.on(stream).launch(&of_two(body), launch([1, 1, 1], [1, 1, 1], &[P(flag), P(flag)]));
        }
        let options = Options { schedule: Schedule::SlowDevice, seed, budget: Some(50_000), ..Options::default() };
        let outcome = s.run(&options).unwrap();
        let kinds: Vec<_> = outcome.findings.iter().map(|f| f.kind).collect();
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == FindingKind::Race), "{kinds:?}");
        assert!(outcome.instructions < 10_000, "{}", outcome.instructions);
    }
}
