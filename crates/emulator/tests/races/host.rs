//! The host as another agent: flags in mapped memory, and events.

use super::*;
use warpsmith_emulator::Order;

const RAISE: &str = "mov.u32 %r3, 42;\nst.global.u32 [%rd1], %r3;\nmov.u32 %r4, 1;\n";
const POLL: &str =
    "setp.eq.u32 %p1, %r5, 0;\n@%p1 bra POLL;\nld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+128], %r6;";

#[test]
fn the_host_sees_what_a_kernel_releases_to_the_system() {
    let run = |flag: &str, order: Order, options: &Options| {
        let mut s = two_devices();
        let (data, flags) = (s.allocate_host(512, "data").unwrap(), s.allocate_host(4, "flag").unwrap());
        s.write(flags, &[0; 4]).unwrap();
        let (stream, thread) = (s.stream(Device(1)).unwrap(), s.host_thread("main"));
        s.on(stream).launch(&of_two(&format!("{RAISE}{flag}")), launch([1, 1, 1], [1, 1, 1], &[P(data), P(flags)]));
        let seen = s.host(thread).wait_until(flags, 1u32, order).read(data, 4);
        let outcome = s.run(options).unwrap();
        assert_eq!(s.result(seen), 42u32.to_le_bytes());
        outcome
    };
    always_clean(|o| run("st.release.sys.global.u32 [%rd2], %r4;", Order::Acquire, o));
    let narrow = "st.release.gpu.global.u32 [%rd2], %r4;";
    let says = "the scope .gpu of line 20 of the PTX does not include host thread `main`";
    always(FindingKind::Race, says, |o| run(narrow, Order::Acquire, o));
    let relaxed = |o: &Options| run("st.release.sys.global.u32 [%rd2], %r4;", Order::Relaxed, o);
    always(FindingKind::Race, "without `.acquire`", relaxed);
    let weak = |o: &Options| run("st.relaxed.sys.global.u32 [%rd2], %r4;", Order::Acquire, o);
    always(FindingKind::Race, "without `.release`", weak);
}

#[test]
fn a_kernel_sees_what_the_host_releases() {
    let run = |load: &str, order: Order, options: &Options| {
        let mut s = two_devices();
        let (data, flags) = (s.allocate_host(512, "data").unwrap(), words(&mut s, 0, 1, "flag"));
        s.map_to_host(flags).unwrap();
        let (stream, thread) = (s.stream(Device(0)).unwrap(), s.host_thread("main"));
        let consume = of_two(&format!("POLL:\n{load}\n{POLL}"));
        s.on(stream).launch(&consume, launch([1, 1, 1], [1, 1, 1], &[P(data), P(flags)]));
        s.host(thread).write(data, &42u32.to_le_bytes()).store(flags, 1u32, order);
        let outcome = s.run(options).unwrap();
        if outcome.is_clean() {
            assert_eq!(s.read_u32s(data.offset(128), 1), [42]);
        }
        outcome
    };
    always_clean(|o| run("ld.acquire.sys.global.u32 %r5, [%rd2];", Order::Release, o));
    let narrow = |o: &Options| run("ld.acquire.gpu.global.u32 %r5, [%rd2];", Order::Release, o);
    always(FindingKind::Race, "the scope .gpu of line 18 of the PTX does not include host thread `main`", narrow);
    let relaxed = |o: &Options| run("ld.acquire.sys.global.u32 %r5, [%rd2];", Order::Relaxed, o);
    always(FindingKind::Race, "host thread `main` writes the flag", relaxed);
}

#[test]
fn a_synchronised_stream_is_over() {
    let run = |waits: bool, options: &Options| {
        let mut s = two_devices();
        let data = s.allocate_host(512, "data").unwrap();
        let (stream, thread, done) = (s.stream(Device(0)).unwrap(), s.host_thread("main"), s.event());
        s.on(stream).launch(&of_two(RAISE), launch([1, 1, 1], [1, 1, 1], &[P(data), P(data)])).record(done);
        if waits {
            s.host(thread).wait(done);
        }
        let seen = s.host(thread).write(data, &[9; 4]).read(data, 4);
        let outcome = s.run(options).unwrap();
        if waits {
            assert_eq!(s.result(seen), [9; 4]);
        }
        outcome
    };
    always_clean(|o| run(true, o));
    always(FindingKind::Race, "nothing orders the two", |o| run(false, o));
}

#[test]
fn a_launch_comes_after_what_the_host_did_before() {
    let run = |event: bool, options: &Options| {
        let mut s = two_devices();
        let (data, other) = (s.allocate_host(512, "data").unwrap(), words(&mut s, 0, 1, "other"));
        s.write(data, &[0; 512]).unwrap();
        let (stream, thread, before) = (s.stream(Device(0)).unwrap(), s.host_thread("main"), s.event());
        s.host(thread).write(data, &[9; 4]);
        if event {
            s.host(thread).record(before);
        }
        let read = of_two("ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;");
        s.on(stream).wait(before).launch(&read, launch([1, 1, 1], [1, 1, 1], &[P(data), P(other)]));
        s.run(options).unwrap()
    };
    always_clean(|o| run(true, o));
    always(FindingKind::Race, "nothing orders the two", |o| run(false, o));
}

#[test]
fn atomics_of_the_host_meet_those_of_kernels() {
    always_clean(|o| {
        let mut s = two_devices();
        let counter = s.allocate_host(4, "counter").unwrap();
        s.write(counter, &[0; 4]).unwrap();
        let add = of_two("red.relaxed.sys.global.add.u32 [%rd1], 1;");
        for d in [0, 1] {
            let stream = s.stream(Device(d)).unwrap();
            s.on(stream).launch(&add, launch([2, 1, 1], [32, 1, 1], &[P(counter), P(counter)]));
        }
        let thread = s.host_thread("main");
        s.host(thread).add(counter, 1u32, Order::Relaxed);
        s.host(thread).wait_at_least(counter, 129u32, Order::Acquire);
        let last = s.host(thread).load(counter, Order::Relaxed);
        let outcome = s.run(o).unwrap();
        assert_eq!(s.result(last), 129u32.to_le_bytes());
        outcome
    });
}

#[test]
fn a_host_that_waits_for_ever_is_told_of() {
    for options in schedules() {
        let mut s = two_devices();
        let flag = s.allocate_host(4, "flag").unwrap();
        s.write(flag, &[0; 4]).unwrap();
        let (stream, thread) = (s.stream(Device(0)).unwrap(), s.host_thread("main"));
        let done = s.event();
        s.host(thread).wait_until(flag, 1u32, Order::Acquire).record(done);
        // The kernel that would raise the flag waits for the host.
        let raise = of_two("mov.u32 %r4, 1;\nst.release.sys.global.u32 [%rd1], %r4;");
        s.on(stream).wait(done).launch(&raise, launch([1, 1, 1], [1, 1, 1], &[P(flag), P(flag)]));
        let outcome = s.run(&Options { budget: None, ..options }).unwrap();
        let [finding] = &outcome.findings[..] else { panic!("{options:?}: {:?}", outcome.findings) };
        let text = finding.diagnostic().render();
        assert_eq!(finding.kind, FindingKind::Deadlock);
        assert!(text.contains("host thread `main` (wait until `flag` + 0 holds 1) has not been done"), "{text}");
        assert!(text.contains("stream 0 of device 0 waits for an event of host thread `main`"), "{text}");
    }
}

#[test]
fn what_the_host_may_not_do_is_an_error() {
    let mut s = two_devices();
    let x = words(&mut s, 0, 4, "x");
    let thread = s.host_thread("main");
    s.host(thread).write(x, &[1]);
    let error = s.run(&Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "0x700000000000 (`x` + 0) is not mapped for the host");
    s.map_to_host(x).unwrap();
    s.host(thread).store(x.offset(2), 1u32, Order::Relaxed);
    assert_eq!(s.run(&Options::default()).unwrap_err().to_string(), "0x700000000002 is not a multiple of 4");
    s.host(thread).write(x, &[1; 17]);
    assert!(s.run(&Options::default()).unwrap_err().to_string().starts_with("17 bytes at 0x700000000000"));
}
