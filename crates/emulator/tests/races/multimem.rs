//! Multicast memory: sums that one instruction takes over two devices, and what must order them.

use super::*;
use warpsmith_emulator::DevicePointer;

/// A multicast range `all` over 64 words on each device, with what each holds.
fn range(s: &mut System, words_of: impl Fn(u8, u32) -> u32) -> (DevicePointer, [DevicePointer; 2]) {
    let parts = [0, 1].map(|d| {
        let part = words(s, d, 64, ["left", "right"][usize::from(d)]);
        let data: Vec<u8> = (0..64).flat_map(|i| words_of(d, i).to_le_bytes()).collect();
        s.write(part, &data).unwrap();
        part
    });
    (s.multicast(256, "all", &parts).unwrap(), parts)
}

/// One launch of one warp on the first device, which peers need not be mapped for; `%rd1` is the range.
fn one(words_of: impl Fn(u8, u32) -> u32, body: &str) -> (Outcome, [Vec<u32>; 2], Vec<u32>) {
    let mut s = System::linked([Chip::H200, Chip::H200]).unwrap();
    let (all, parts) = range(&mut s, words_of);
    let out = words(&mut s, 0, 128, "out");
    let stream = s.stream(Device(0)).unwrap();
    s.on(stream).launch(&of_two(body), launch([1, 1, 1], [32, 1, 1], &[P(all), P(out)]));
    let outcome = s.run(&Options::default()).unwrap();
    let read = parts.map(|part| s.read_u32s(part, 64));
    let results = s.read_u32s(out, 128);
    (outcome, read, results)
}

/// The address of the thread's 4, 8 or 16 bytes in the range and in the results.
fn place(bytes: u32) -> String {
    format!("mul.wide.u32 %rd5, %r1, {bytes};\nadd.u64 %rd1, %rd1, %rd5;\nadd.u64 %rd2, %rd2, %rd5;\n")
}

#[test]
fn loads_combine_what_all_devices_hold() {
    let of = |d: u8, i: u32| [i, 1000 + 3 * i][usize::from(d)];
    let each = |op: &str| {
        let body = format!("{}multimem.ld_reduce.global.{op} %r3, [%rd1];\nst.global.u32 [%rd2], %r3;", place(4));
        let (outcome, _, out) = one(of, &body);
        assert_clean(&outcome);
        out[..32].to_vec()
    };
    let want = |f: fn(u32, u32) -> u32| (0..32).map(|i| f(of(0, i), of(1, i))).collect::<Vec<_>>();
    assert_eq!(each("add.u32"), want(|a, b| a + b));
    assert_eq!(each("max.u32"), want(u32::max));
    assert_eq!(each("min.s32"), want(u32::min));
    assert_eq!(each("xor.b32"), want(|a, b| a ^ b));
    let floats = |d: u8, i: u32| (i as f32 + 0.5 * f32::from(d)).to_bits();
    let body = format!(
        "{}multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd1];
        st.global.v4.f32 [%rd2], {{%f0, %f1, %f2, %f3}};",
        "setp.ge.u32 %p1, %r1, 16;\n@%p1 exit;\n".to_string() + &place(16)
    );
    let (outcome, _, out) = one(floats, &body);
    assert_clean(&outcome);
    assert_eq!(out[..64], (0..64).map(|i| (2.0 * i as f32 + 0.5).to_bits()).collect::<Vec<_>>());
}

#[test]
fn sums_of_16_bits_are_rounded_once_where_they_are_taken_in_32() {
    // Three devices show it: 256 + 1 + 1 is 258 only in binary32.
    for (how, want) in [("", 0x4380u32), (".acc::f32", 0x4381)] {
        let mut s = System::linked([Chip::H200; 3]).unwrap();
        let parts = [0x4380_4380u32, 0x3f80_3f80, 0x3f80_3f80].map(|value| value.to_le_bytes());
        let parts: Vec<_> = (0..3)
            .map(|d| {
                let part = words(&mut s, d, 1, "part");
                s.write(part, &parts[usize::from(d)]).unwrap();
                part
            })
            .collect();
        let all = s.multicast(4, "all", &parts).unwrap();
        let out = words(&mut s, 0, 1, "out");
        let stream = s.stream(Device(0)).unwrap();
        let body = format!("multimem.ld_reduce.global.add{how}.bf16x2 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;");
        s.on(stream).launch(&of_two(&body), launch([1, 1, 1], [1, 1, 1], &[P(all), P(out)]));
        assert_clean(&s.run(&Options::default()).unwrap());
        assert_eq!(s.read_u32s(out, 1), [want << 16 | want], "{how}");
    }
}

#[test]
fn stores_and_reductions_reach_all_devices() {
    let of = |d: u8, i: u32| 100 * u32::from(d) + i;
    let body = format!("{}multimem.st.global.u32 [%rd1], %r1;", place(4));
    let (outcome, parts, _) = one(of, &body);
    assert_clean(&outcome);
    let threads: Vec<u32> = (0..32).collect();
    assert!(parts.iter().all(|p| p[..32] == threads));
    let body = format!("{}multimem.red.global.add.u32 [%rd1], %r1;", place(4));
    let (outcome, parts, _) = one(of, &body);
    assert_clean(&outcome);
    for (d, part) in (0..).zip(&parts) {
        assert_eq!(part[..32], (0..32).map(|i| of(d, i) + i).collect::<Vec<_>>());
    }
}

#[test]
fn other_instructions_may_not_use_the_range_nor_multimem_other_memory() {
    let says = |body: &str, says: &str| {
        let (outcome, ..) = one(|_, i| i, body);
        let found = outcome.findings.iter().find(|f| f.kind == FindingKind::Multicast);
        let text = found.unwrap_or_else(|| panic!("{:?}", outcome.findings)).diagnostic().render();
        assert!(text.contains(says), "{text}");
    };
    says("ld.global.u32 %r3, [%rd1];", "the multicast range `all` + 0; only `multimem` instructions may use it");
    says("multimem.ld_reduce.global.add.u32 %r3, [%rd2];", "`out` + 0, which is no multicast memory");
    let (outcome, ..) = one(|_, i| i, "multimem.ld_reduce.global.add.u64 %rd3, [%rd1+4];");
    assert!(outcome.findings.iter().any(|f| f.kind == FindingKind::Misaligned), "{:?}", outcome.findings);
}

/// Writes the own part, meets the other device, sums a half of the words for both, and meets again.
fn all_reduce(before: &str, scope: &str, between: &str, again: bool, options: &Options) -> Outcome {
    let mut s = System::linked([Chip::H200, Chip::H200]).unwrap();
    s.map_peers();
    let (all, parts) = range(&mut s, |_, _| 0);
    let flags = [0, 1].map(|d| words(&mut s, d, 1, "flag"));
    let out = [0, 1].map(|d| words(&mut s, d, 64, "out"));
    let parameters = ".param .u64 part, .param .u64 all, .param .u64 flag, .param .u64 its_flag, .param .u64 out, \
                      .param .u32 rank";
    let meet = |goal: u32| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;
            @%p1 bra DONE{goal};
            red.release.{scope}.global.add.u32 [%rd4], 1;
        POLL{goal}:
            ld.acquire.{scope}.global.u32 %r6, [%rd3];
            setp.lt.u32 %p2, %r6, {goal};
            @%p2 bra POLL{goal};
        DONE{goal}:"
        )
    };
    let body = format!(
        "ld.param.u64 %rd1, [part];
        ld.param.u64 %rd2, [all];
        ld.param.u64 %rd3, [flag];
        ld.param.u64 %rd4, [its_flag];
        ld.param.u64 %rd6, [out];
        ld.param.u32 %r9, [rank];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd5, %r1, 4;
        add.u64 %rd1, %rd1, %rd5;
        add.u32 %r3, %r1, %r9;
        st.global.u32 [%rd1], %r3;
        {before}
        {}
        {between}
        // Each device sums its half of the words, for both.
        mul.lo.u32 %r4, %r9, 32;
        add.u32 %r4, %r4, %r1;
        mul.wide.u32 %rd7, %r4, 4;
        add.u64 %rd2, %rd2, %rd7;
        sub.u32 %r5, %r1, %r4;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 bra SKIP;
        multimem.ld_reduce.relaxed.{scope}.global.add.u32 %r7, [%rd2];
        multimem.st.relaxed.{scope}.global.u32 [%rd2], %r7;
    SKIP:
        bar.sync 0;
        {}
        bar.sync 0;
        ld.global.u32 %r8, [%rd1];
        add.u64 %rd6, %rd6, %rd5;
        st.global.u32 [%rd6], %r8;",
        meet(1),
        if again { meet(2) } else { String::new() }
    );
    for d in [0, 1] {
        let stream = s.stream(Device(d as u8)).unwrap();
        let text = kernel(parameters, "", &body).replace(".version 8.0", ".version 8.6");
        let arguments = [P(parts[d]), P(all), P(flags[d]), P(flags[1 - d]), P(out[d]), U(d as u32)];
        s.on(stream).launch(&Arc::new(program(&text, "k")), launch([1, 1, 1], [64, 1, 1], &arguments));
    }
    let outcome = s.run(options).unwrap();
    if outcome.is_clean() {
        for out in out {
            assert_eq!(s.read_u32s(out, 64), (0..64).map(|i| 2 * i + 1).collect::<Vec<_>>());
        }
    }
    outcome
}

#[test]
fn an_all_reduce_in_the_switch_needs_a_meeting_before_and_one_after() {
    const SYNC: &str = "bar.sync 0;";
    always_clean(|o| all_reduce(SYNC, "sys", SYNC, true, o));
    always(FindingKind::Race, "nothing orders the two", |o| all_reduce("", "sys", SYNC, true, o));
    always(FindingKind::Race, "the scope .gpu", |o| all_reduce(SYNC, "gpu", SYNC, true, o));
    always(FindingKind::Race, "nothing orders the two", |o| all_reduce(SYNC, "sys", "", true, o));
    always(FindingKind::Race, "nothing orders the two", |o| all_reduce(SYNC, "sys", SYNC, false, o));
}
