//! Sums over two devices, each of which reads the other's part.

use super::*;

const WRITE: &str = "
    cvt.u64.u32 %rd5, %r1;
    shl.b64 %rd5, %rd5, 2;
    add.u64 %rd1, %rd1, %rd5;
    add.u64 %rd2, %rd2, %rd5;
    ld.param.u32 %r9, [round];
    add.u32 %r3, %r1, %r9;
    st.global.u32 [%rd1], %r3;
";
const READ: &str = "
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [%rd2];
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd1+128], %r4;
";

/// Tells the other that all is done here, and waits until it says so, too: the flags count to a goal.
fn meet(before: &str, scope: &str, after: &str, goal: u32, label: &str) -> String {
    format!(
        "{before}
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra {label}_DONE;
        red.release.{scope}.global.add.u32 [%rd4], 1;
    {label}_POLL:
        ld.acquire.{scope}.global.u32 %r6, [%rd3];
        setp.lt.u32 %p2, %r6, {goal};
        @%p2 bra {label}_POLL;
    {label}_DONE:
        {after}"
    )
}

/// As many launches on each device as there are bodies.
fn reduce(bodies: &[String], options: &Options) -> Outcome {
    let mut s = two_devices();
    let parts = [0, 1].map(|d| words(&mut s, d, 64, ["left", "right"][usize::from(d)]));
    let flags = [0, 1].map(|d| words(&mut s, d, 1, "flag"));
    let start = "
        ld.param.u64 %rd1, [own];
        ld.param.u64 %rd2, [other];
        ld.param.u64 %rd3, [flag];
        ld.param.u64 %rd4, [its_flag];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;\n";
    let parameters = ".param .u64 own, .param .u64 other, .param .u64 flag, .param .u64 its_flag, .param .u32 round";
    for d in [0, 1] {
        let stream = s.stream(Device(d as u8)).unwrap();
        for (round, body) in bodies.iter().enumerate() {
            let text = kernel(parameters, "", &format!("{start}{body}")).replace(".version 8.0", ".version 8.6");
            let arguments = [P(parts[d]), P(parts[1 - d]), P(flags[d]), P(flags[1 - d]), U(round as u32)];
            s.on(stream).launch(&Arc::new(program(&text, "k")), launch([1, 1, 1], [32, 1, 1], &arguments));
        }
    }
    let outcome = s.run(options).unwrap();
    if outcome.is_clean() {
        let round = bodies.len() as u32 - 1;
        for part in parts {
            let sums: Vec<u32> = (0..32).map(|thread| 2 * (thread + round)).collect();
            assert_eq!(s.read_u32s(part.offset(128), 32), sums);
        }
    }
    outcome
}

const SYNC: &str = "bar.sync 0;";

#[test]
fn flags_of_system_scope_and_barriers_around_them() {
    let body = |before, scope, after| [format!("{WRITE}{}{READ}", meet(before, scope, after, 1, "MEET"))];
    always_clean(|o| reduce(&body(SYNC, "sys", SYNC), o));
    always(FindingKind::Race, "the scope .gpu", |o| reduce(&body(SYNC, "gpu", SYNC), o));
    always(FindingKind::Race, "nothing orders the two", |o| reduce(&body("", "sys", SYNC), o));
    always(FindingKind::Race, "nothing orders the two", |o| reduce(&body(SYNC, "sys", ""), o));
}

#[test]
fn a_part_is_written_anew_only_when_the_other_has_read_it() {
    let round = |meetings: &[u32]| {
        let [first, rest @ ..] = meetings else { return String::new() };
        let rest: String = rest.iter().map(|goal| meet(SYNC, "sys", SYNC, *goal, "LAST")).collect();
        format!("{WRITE}{}{READ}{rest}", meet(SYNC, "sys", SYNC, *first, "MEET"))
    };
    always_clean(|o| reduce(&[round(&[1, 2]), round(&[3, 4])], o));
    // A poll that sees what the second round's flag says is ordered after all of the other's first round: schedules in
    // which one device is a round ahead hide it.
    let found =
        |o: Options| reduce(&[round(&[1]), round(&[2])], &o).findings.iter().any(|f| f.kind == FindingKind::Race);
    assert!(schedules().any(found));
}
