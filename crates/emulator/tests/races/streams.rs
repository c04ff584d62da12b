//! Launches, copies and events on streams.

use super::*;

const WRITE: &str = "mov.u32 %r3, 7;\nst.global.u32 [%rd1], %r3;";
const READ: &str = "ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;";

/// One kernel writes what another reads.
fn two_launches(enqueue: impl Fn(&mut System, [Arc<Program>; 2], [Launch; 2]), options: &Options) -> Outcome {
    let mut s = two_devices();
    let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
    let shape = || launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]);
    enqueue(&mut s, [of_two(WRITE), of_two(READ)], [shape(), shape()]);
    let outcome = s.run(options).unwrap();
    if outcome.is_clean() {
        assert_eq!(s.read_u32s(y, 1), [7]);
    }
    outcome
}

#[test]
fn launches_of_a_stream_are_ordered() {
    let enqueue = |s: &mut System, [write, read]: [Arc<Program>; 2], [a, b]: [Launch; 2]| {
        let (stream, other) = (s.stream(Device(0)).unwrap(), s.stream(Device(0)).unwrap());
        s.on(stream).launch(&write, a).launch(&read, b);
        // Something else at the same time, so that there is a choice.
        let z = words(s, 0, 64, "z");
        s.on(other).launch(&write, launch([1, 1, 1], [32, 1, 1], &[P(z), P(z)]));
    };
    always_clean(|o| two_launches(enqueue, o));
}

#[test]
fn launches_of_two_streams_need_an_event() {
    let enqueue = |event: bool| {
        move |s: &mut System, [write, read]: [Arc<Program>; 2], [a, b]: [Launch; 2]| {
            let (first, second) = (s.stream(Device(0)).unwrap(), s.stream(Device(0)).unwrap());
            let done = s.event();
            s.on(first).launch(&write, a);
            if event {
                s.on(first).record(done);
            }
            s.on(second).wait(done).launch(&read, b);
        }
    };
    always_clean(|o| two_launches(enqueue(true), o));
    always(FindingKind::Race, "nothing orders the two launches", |o| two_launches(enqueue(false), o));
}

/// A launch may read through `.nc` what was written before it, and what it has read may be written when it is over.
#[test]
fn memory_read_through_nc_may_change_between_launches() {
    const READ_NC: &str = "ld.global.nc.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;";
    let run = |bodies: [&str; 2], event: bool, host: bool, options: &Options| {
        let mut s = two_devices();
        let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
        s.map_to_host(x).unwrap();
        let [first, second] = [0, 0].map(|d| s.stream(Device(d)).unwrap());
        let done = s.event();
        if host {
            let thread = s.host_thread("main");
            s.host(thread).write(x, &[7; 256]);
            if event {
                s.host(thread).record(done);
            }
        } else {
            s.on(first).launch(&of_two(bodies[0]), launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]));
            if event {
                s.on(first).record(done);
            }
        }
        s.on(second).wait(done).launch(&of_two(bodies[1]), launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]));
        s.run(options).unwrap()
    };
    for (bodies, host) in [([WRITE, READ_NC], false), ([READ_NC, WRITE], false), (["", READ_NC], true)] {
        always_clean(|o| run(bodies, true, host, o));
        always(FindingKind::ConstantLoad, "through `.nc`", |o| run(bodies, false, host, o));
    }
}

#[test]
fn events_pass_on_what_came_before() {
    let enqueue = |s: &mut System, [write, read]: [Arc<Program>; 2], [a, b]: [Launch; 2]| {
        // Over three streams, the last on another device.
        let [one, two, three] = [0, 0, 1].map(|d| s.stream(Device(d)).unwrap());
        let (first, second) = (s.event(), s.event());
        s.on(one).launch(&write, a).record(first);
        s.on(two).wait(first).record(second);
        s.on(three).wait(second).launch(&read, b);
    };
    always_clean(|o| two_launches(enqueue, o));
    let late = |s: &mut System, [write, read]: [Arc<Program>; 2], [a, b]: [Launch; 2]| {
        let (one, two) = (s.stream(Device(0)).unwrap(), s.stream(Device(0)).unwrap());
        let event = s.event();
        // Recorded too early to order the launch.
        s.on(one).record(event).launch(&write, a);
        s.on(two).wait(event).launch(&read, b);
    };
    always(FindingKind::Race, "nothing orders the two launches", |o| two_launches(late, o));
}

#[test]
fn a_copy_races_with_a_kernel_of_another_stream() {
    let run = |event: bool, options: &Options| {
        let mut s = two_devices();
        let (x, y, z) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"), words(&mut s, 1, 64, "z"));
        let (first, second) = (s.stream(Device(0)).unwrap(), s.stream(Device(1)).unwrap());
        let done = s.event();
        s.on(first).launch(&of_two(WRITE), launch([1, 1, 1], [32, 1, 1], &[P(x), P(y)]));
        if event {
            s.on(first).record(done);
        }
        s.on(second).wait(done).copy(z, x, 256);
        let seen = s.on(second).read(z, 4);
        let outcome = s.run(options).unwrap();
        if event {
            assert_eq!(s.result(seen), 7u32.to_le_bytes());
        }
        outcome
    };
    always_clean(|o| run(true, o));
    always(FindingKind::Race, "copy of 256 bytes from `x` + 0 to `z` + 0", |o| run(false, o));
}

#[test]
fn copies_and_fills_are_writes() {
    let run = |apart: bool, options: &Options| {
        let mut s = two_devices();
        let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
        let first = s.stream(Device(0)).unwrap();
        let second = if apart { s.stream(Device(0)).unwrap() } else { first };
        let other = s.stream(Device(1)).unwrap();
        s.on(first).fill(x, 1, 256);
        s.on(second).write(x, &[2; 64]);
        s.on(other).fill(y, 3, 256);
        let outcome = s.run(options).unwrap();
        if !apart {
            assert_eq!(s.read_u32s(x.offset(60), 2), [0x0202_0202, 0x0101_0101]);
        }
        assert_eq!(s.read_u32s(y, 1), [0x0303_0303]);
        outcome
    };
    always_clean(|o| run(false, o));
    always(FindingKind::Race, "nothing orders the two", |o| run(true, o));
}

#[test]
fn what_was_never_written_does_not_become_so_by_copying() {
    let mut s = two_devices();
    let x = s.allocate_on(Device(0), 200_000, "x").unwrap();
    let y = s.allocate_on(Device(1), 200_000, "y").unwrap();
    s.write(x, &vec![5; 100_001]).unwrap();
    let (stream, other) = (s.stream(Device(0)).unwrap(), s.stream(Device(1)).unwrap());
    s.on(other).read(x, 1);
    s.on(stream).copy(y, x, 200_000);
    assert_clean(&s.run(&Options::default()).unwrap());
    assert!(s.is_initialized(y, 100_001).unwrap());
    assert!(!s.is_initialized(y.offset(100_000), 2).unwrap());
    let ticket = s.on(stream).read(y.offset(100_000), 4);
    let outcome = s.run(&Options::default()).unwrap();
    let [finding] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
    assert_eq!(finding.kind, FindingKind::UninitializedRead(Storage::Global));
    assert!(finding.diagnostic().render().contains("`y` + 100001"), "{}", finding.diagnostic().render());
    assert_eq!(s.result(ticket)[0], 5);
}

#[test]
fn one_stream_alone_is_a_sequence() {
    let mut s = two_devices();
    let (x, y) = (words(&mut s, 0, 64, "x"), words(&mut s, 0, 64, "y"));
    let stream = s.stream(Device(0)).unwrap();
    let shape = || launch([2, 1, 1], [32, 1, 1], &[P(x), P(y)]);
    s.on(stream).launch(&of_two(WRITE), shape()).launch(&of_two(READ), shape());
    let seen = s.on(stream).read(y, 4);
    let outcome = s.run(&Options::default()).unwrap();
    assert_clean(&outcome);
    assert_eq!((s.result(seen), outcome.instructions > 0), (&7u32.to_le_bytes()[..], true));
    // Nothing is left to run.
    assert_eq!(s.run(&Options::default()).unwrap().instructions, 0);
}

#[test]
fn launches_have_numbers() {
    let mut s = two_devices();
    let x = words(&mut s, 0, 8, "x");
    let number = of_two("mov.u64 %rd3, %gridid;\nst.global.u64 [%rd1], %rd3;");
    let shape = |n: u64| launch([1, 1, 1], [1, 1, 1], &[P(x.offset(8 * n)), P(x)]);
    s.launch(&number, &shape(0), None, &Options::default()).unwrap();
    for (device, n) in [(0, 1), (1, 2)] {
        let stream = s.stream(Device(device)).unwrap();
        s.on(stream).launch(&number, shape(n));
    }
    assert_clean(&s.run(&Options::default()).unwrap());
    s.launch(&number, &shape(3), None, &Options::default()).unwrap();
    let mut numbers: Vec<u32> = s.read_u32s(x, 8).chunks(2).map(|n| n[0]).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), 4);
}

#[test]
fn accesses_of_registers_of_devices_are_strong() {
    // They are relaxed: a flag, and nothing that orders other memory.
    let run = |fence: &str, options: &Options| {
        let mut s = two_devices();
        let (x, flag) = (words(&mut s, 0, 1, "x"), words(&mut s, 0, 1, "flag"));
        let writes = format!("st.global.u32 [%rd1], 7;\n{fence}\nst.mmio.relaxed.sys.global.u32 [%rd2], 1;");
        let reads = format!(
            "POLL: ld.mmio.relaxed.sys.global.u32 %r3, [%rd2];
            setp.eq.u32 %p1, %r3, 0;
            @%p1 bra POLL;
            {fence}
            ld.global.u32 %r4, [%rd1];"
        );
        for (device, body) in [(0, writes), (1, reads)] {
            let stream = s.stream(Device(device)).unwrap();
            s.on(stream).launch(&of_two(&body), launch([1, 1, 1], [1, 1, 1], &[P(x), P(flag)]));
        }
        s.run(options).unwrap()
    };
    always_clean(|o| run("fence.acq_rel.sys;", o));
    always(FindingKind::Race, "x", |o| run("", o));
}
