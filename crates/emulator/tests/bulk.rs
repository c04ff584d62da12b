//! Bulk copies and the barriers that count their bytes.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, kernel, launch, only, program, run_with, system};
use warpsmith_emulator::{
    DevicePointer, Fill, FindingKind, MbarrierFault, Options, Outcome, Storage, Swizzle, TensorMap,
};
use warpsmith_types::DType;

/// Copies 128 words to shared memory, waits, and writes twice their value.
fn line(init: &str, arrive: &str, wait: &str) -> String {
    kernel(
        ".param .u64 x, .param .u64 y",
        ".shared .align 128 .b8 tile[512];\n.shared .align 8 .b64 full;",
        &format!(
            "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, tile;
        mov.u32 %r3, full;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        {init}
        fence.mbarrier_init.release.cluster;
    READY:
        bar.sync 0;
        @%p1 bra WAIT;
        {arrive}
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [%r3];
    WAIT:
        {wait}
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r2, %r4;
        ld.shared.u32 %r6, [%r5];
        add.u32 %r6, %r6, %r6;
        cvt.u64.u32 %rd3, %r4;
        add.s64 %rd4, %rd2, %rd3;
        st.global.u32 [%rd4], %r6;"
        ),
    )
}

const INIT: &str = "mbarrier.init.shared::cta.b64 [%r3], 1;";
const EXPECT: &str = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;";
const WAIT: &str = "SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra SPIN;";

fn run_line(text: &str, seed: u64) -> (Outcome, Vec<u32>) {
    let mut s = system();
    let values: Vec<u32> = (0..128).collect();
    let (x, y) = (s.u32s("x", &values), s.allocate(512, "y").unwrap());
    let options = Options { seed, ..Options::default() };
    let launch = launch([1, 1, 1], [128, 1, 1], &[P(x), P(y)]);
    let outcome = run_with(&mut s, &program(text, "k"), &launch, None, &options);
    (outcome, s.read_u32s(y, 128))
}

fn texts(outcome: &Outcome) -> Vec<String> {
    outcome.findings.iter().map(|f| f.diagnostic().render()).collect()
}

#[test]
fn a_line_comes_and_is_waited_for() {
    let test = "SPIN: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra SPIN;";
    let state =
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 512;\nmbarrier.arrive.shared::cta.b64 %rd9, [%r3];";
    for seed in 0..10 {
        for (arrive, wait) in [(EXPECT, WAIT), (EXPECT, test), (state, WAIT)] {
            let (outcome, y) = run_line(&line(INIT, arrive, wait), seed);
            assert_clean(&outcome);
            assert_eq!(y, (0..128).map(|x| 2 * x).collect::<Vec<u32>>());
        }
    }
}

#[test]
fn a_missing_wait_reads_poison() {
    let (outcome, _) = run_line(&line(INIT, EXPECT, ""), 0);
    let expected = [
        "\
error: `k` exits while a copy still uses its shared memory
 |
 = note: block (0, 0, 0), thread (0, 0, 0): nobody has waited for this copy
 = note: line 28 of the PTX",
        "\
error: `k` reads uninitialised shared memory
 |
 = note: block (0, 0, 0), thread (0, 0, 0), shared offset 0x0: `tile` + 0; a copy to it (line 28 of the PTX) is not complete
 = note: line 33 of the PTX
 = note: 128 times in all",
    ];
    assert_eq!(texts(&outcome), expected);
}

#[test]
fn more_bytes_are_expected_than_come() {
    let (outcome, _) = run_line(&line(INIT, &EXPECT.replace("512", "528"), WAIT), 0);
    let expected = "\
error: `k` deadlocks
 |
 = note: block (0, 0, 0), thread (0, 0, 0): no thread of the block can go on
 = note: line 30 of the PTX
 = note: warp 0, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 30 of the PTX)
 = note: warp 1, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 30 of the PTX)
 = note: warp 2, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 30 of the PTX)
 = note: warp 3, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes (line 30 of the PTX)";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn fewer_bytes_are_expected_than_come() {
    let (outcome, _) = run_line(&line(INIT, &EXPECT.replace("512", "496"), WAIT), 0);
    let expected = "\
error: `k` counts other bytes at an mbarrier than it expects
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `full`: 16 bytes more than the phase expects, and no arrival is pending
 = note: line 28 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn no_bytes_are_expected() {
    let (outcome, _) = run_line(&line(INIT, "mbarrier.arrive.shared::cta.b64 _, [%r3];", WAIT), 0);
    let kinds: Vec<FindingKind> = outcome.findings.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [FindingKind::ExitInFlight, FindingKind::UninitializedRead(Storage::Shared)]);
}

#[test]
fn a_barrier_that_was_not_made() {
    let (outcome, _) = run_line(&line("", EXPECT, WAIT), 0);
    let expected = "\
error: `k` uses an mbarrier that is not initialised
 |
 = note: block (0, 0, 0), thread (0, 0, 0): no `mbarrier.init` has made one of `full`
 = note: line 27 of the PTX";
    assert_eq!(texts(&outcome)[0], expected);
}

#[test]
fn a_barrier_that_is_made_twice_or_for_nobody() {
    let (outcome, _) = run_line(&line(&INIT.repeat(2), EXPECT, WAIT), 0);
    let expected = "\
error: `k` initialises an mbarrier that is in use
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `full` is one already, in phase 0; `mbarrier.inval` must come first
 = note: line 22 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
    let inval = format!("{INIT}\nmbarrier.inval.shared::cta.b64 [%r3];\n{INIT}");
    assert_clean(&run_line(&line(&inval, EXPECT, WAIT), 0).0);
    let (outcome, _) = run_line(&line(&INIT.replace(", 1", ", 0"), EXPECT, WAIT), 0);
    assert_eq!(only(&outcome).detail, "`full` for 0 arrivals; it must be 1 to 1048575");
}

#[test]
fn an_arrival_too_many() {
    let twice = format!("{EXPECT}\nmbarrier.arrive.shared::cta.b64 _, [%r3];");
    let (outcome, _) = run_line(&line(INIT, &twice, WAIT), 0);
    let expected = "\
error: `k` arrives at an mbarrier too often
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `full`: 1 arrival where 0 are pending
 = note: line 28 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn a_store_to_a_barrier() {
    let init = format!("{INIT}\nmov.u32 %r9, 7;\nst.shared.u32 [%r3], %r9;");
    let (outcome, _) = run_line(&line(&init, EXPECT, WAIT), 0);
    let expected = "\
error: `k` overwrites an mbarrier
 |
 = note: block (0, 0, 0), thread (0, 0, 0): something else was stored to `full` since its last use
 = note: line 29 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn bytes_that_are_no_multiple_of_16() {
    let (outcome, _) = run_line(&line(INIT, EXPECT, WAIT).replace("[%rd1], 512", "[%rd1], 500"), 0);
    assert_eq!(outcome.findings[0].detail, "500 bytes; a bulk copy moves a multiple of 16");
}

/// Two rounds over one buffer: the second waits for phase 1.
fn rounds(flip: &str) -> String {
    let body = format!(
        "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, tile;
        mov.u32 %r3, full;
        mov.u32 %r7, 0;
        mov.u32 %r8, 0;
        mov.u32 %r9, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra ROUND;
        mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster;
    ROUND:
        bar.sync 0;
        @%p1 bra WAIT;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [%r3];
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r8;
        @!%p2 bra WAIT;
        {flip}
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r2, %r4;
        ld.shared.u32 %r6, [%r5];
        add.u32 %r9, %r9, %r6;
        cvt.u64.u32 %rd3, %r4;
        add.s64 %rd4, %rd2, %rd3;
        st.global.u32 [%rd4], %r9;
        add.u64 %rd1, %rd1, 512;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p3, %r7, 3;
        @%p3 bra ROUND;"
    );
    kernel(".param .u64 x, .param .u64 y", ".shared .align 128 .b8 tile[512];\n.shared .align 8 .b64 full;", &body)
        .replace(".version 8.0", ".version 8.6")
}

#[test]
fn phases_alternate() {
    let run = |flip: &str, seed: u64| {
        let mut s = system();
        let values: Vec<u32> = (0..384).collect();
        let (x, y) = (s.u32s("x", &values), s.allocate(512, "y").unwrap());
        let launch = launch([1, 1, 1], [128, 1, 1], &[P(x), P(y)]);
        let options = Options { seed, ..Options::default() };
        let outcome = run_with(&mut s, &program(&rounds(flip), "k"), &launch, None, &options);
        (outcome, s.read_u32s(y, 128))
    };
    for seed in 0..5 {
        let (outcome, y) = run("xor.b32 %r8, %r8, 1;", seed);
        assert_clean(&outcome);
        assert_eq!(y, (0..128).map(|x| 3 * x + 384).collect::<Vec<u32>>());
    }
    let (outcome, _) = run("", 0);
    assert!(outcome.findings.iter().any(|f| f.kind == FindingKind::UninitializedRead(Storage::Shared)));
    let twice = outcome.findings.iter().find(|f| f.kind == FindingKind::Mbarrier(MbarrierFault::Phase)).unwrap();
    assert_eq!(
        twice.diagnostic().render(),
        "\
error: `k` waits twice for the same phase of an mbarrier
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `full`: this thread had already waited for phase 0, and the barrier went on to phase 1
 = note: line 33 of the PTX
 = note: 128 times in all"
    );
}

/// A tensor of words whose rows are `pitch` bytes apart.
fn map(base: DevicePointer, extents: &[u64], boxed: &[u32], swizzle: Swizzle) -> TensorMap {
    let mut map = TensorMap {
        base,
        dtype: DType::U32,
        rank: extents.len(),
        extents: [1; 5],
        strides: [4, 0, 0, 0, 0],
        box_extents: [1; 5],
        element_strides: [1; 5],
        swizzle,
        fill: Fill::Zero,
    };
    let mut stride = 4;
    for (mode, (extent, boxed)) in extents.iter().zip(boxed).enumerate() {
        (map.extents[mode], map.box_extents[mode], map.strides[mode]) = (*extent, *boxed, stride);
        stride = (stride * extent).next_multiple_of(16);
    }
    map
}

/// Loads a box at some coordinates, and stores it to another tensor at others.
fn through(rank: usize, bytes: u32, from: &[i32], to: &[i32], store: &str, wait: &str) -> String {
    let moves = |start: usize, x: &[i32]| -> String {
        x.iter().enumerate().map(|(i, x)| format!("mov.b32 %r{}, {x};\n", start + i)).collect()
    };
    let registers = |start: usize| (0..rank).map(|i| format!("%r{}", start + i)).collect::<Vec<_>>().join(", ");
    let body = format!(
        "
        mov.b64 %rd1, in;
        cvta.param.u64 %rd1, %rd1;
        mov.b64 %rd2, out;
        mov.u32 %r2, tile;
        mov.u32 %r3, full;
        {}{}
        mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {bytes};
        cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {{{}}}], [%r3];
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
        @!%p2 bra WAIT;
        {store}.{rank}d.global.shared::cta{}.tile.bulk_group [%rd2, {{{}}}], [%r2];
        cp.async.bulk.commit_group;
        {wait}",
        moves(10, from),
        moves(20, to),
        registers(10),
        if store.starts_with("cp.reduce") { ".add" } else { "" },
        registers(20)
    );
    kernel(
        ".param .align 64 .b8 in[128], .param .align 64 .b8 out[128]",
        ".shared .align 1024 .b8 tile[32768];\n.shared .align 8 .b64 full;",
        &body,
    )
}

const STORE: &str = "cp.async.bulk.tensor";
const READ: &str = "cp.async.bulk.wait_group.read 0;";

/// The word at an index of a tensor in memory.
fn word(map: &TensorMap, words: &[u32], at: &[i64]) -> Option<usize> {
    let inside = at.iter().zip(map.extents).all(|(i, n)| (0..n as i64).contains(i));
    let offset: i64 = at.iter().zip(map.strides).map(|(i, s)| i * s as i64).sum();
    inside.then_some(offset as usize / 4).filter(|i| *i < words.len())
}

fn check_box(extents: &[u64], boxed: &[u32], from: &[i32], to: &[i32], swizzle: Swizzle, adds: bool, seed: u64) {
    let mut s = system();
    let mut random = Random(seed + 5);
    let probe = map(DevicePointer(0), extents, boxed, swizzle);
    let last = probe.rank - 1;
    let size = (probe.strides[last] * extents[last]) as usize / 4;
    let values: Vec<u32> = (0..size).map(|_| random.next()).collect();
    let old: Vec<u32> = (0..size as u32).collect();
    let (x, y) = (s.u32s("x", &values), s.u32s("y", &old));
    let (mx, my) = (map(x, extents, boxed, swizzle), map(y, extents, boxed, swizzle));
    let store = if adds { "cp.reduce.async.bulk.tensor" } else { STORE };
    let text = through(extents.len(), mx.box_bytes(), from, to, store, READ);
    let mut launch = launch([1, 1, 1], [1, 1, 1], &[]);
    launch.push(&mx.encode()).push(&my.encode());
    let options = Options { seed, ..Options::default() };
    assert_clean(&run_with(&mut s, &program(&text, "k"), &launch, None, &options));
    let mut expected = old.clone();
    let count: u32 = boxed.iter().product();
    for i in 0..count {
        let mut rest = i;
        let index: Vec<i64> = boxed
            .iter()
            .map(|n| {
                let digit = rest % n;
                rest /= n;
                i64::from(digit)
            })
            .collect();
        let at = |start: &[i32]| index.iter().zip(start).map(|(i, s)| i + i64::from(*s)).collect::<Vec<i64>>();
        let value = word(&mx, &values, &at(from)).map_or(0, |i| values[i]);
        if let Some(i) = word(&my, &old, &at(to)) {
            expected[i] = if adds { expected[i].wrapping_add(value) } else { value };
        }
    }
    assert_eq!(s.read_u32s(y, size), expected, "{extents:?} {boxed:?} {from:?} {to:?} {swizzle:?}");
}

#[test]
fn boxes_of_every_rank_over_every_edge() {
    for (seed, adds) in [(0, false), (1, true), (2, false)] {
        check_box(&[100], &[32], &[80], &[3], Swizzle::None, adds, seed);
        check_box(&[20, 9], &[8, 4], &[-3, 7], &[14, -1], Swizzle::Bytes32, adds, seed);
        check_box(&[16, 40], &[16, 16], &[4, 30], &[0, 2], Swizzle::Bytes64, adds, seed);
        check_box(&[64, 40], &[32, 24], &[32, 3], &[0, 20], Swizzle::Bytes128, adds, seed);
        check_box(&[8, 5, 6], &[4, 3, 2], &[4, -1, 5], &[2, 3, 0], Swizzle::None, adds, seed);
        check_box(&[8, 3, 4, 3], &[8, 2, 2, 2], &[0, 1, 3, -1], &[4, 0, 0, 1], Swizzle::Bytes32, adds, seed);
        check_box(&[4, 3, 2, 3, 2], &[4, 2, 2, 2, 2], &[0, 2, 1, 0, 1], &[0, 0, 0, 2, 0], Swizzle::None, adds, seed);
    }
}

#[test]
fn a_swizzle_is_that_of_the_hardware() {
    // Chunk c of row r lies at chunk c ^ (r & 7) when the tile is aligned to 1024 bytes.
    let mut s = system();
    let values: Vec<u32> = (0..32 * 16).collect();
    let (x, y) = (s.u32s("x", &values), s.allocate(4 * values.len(), "y").unwrap());
    let body = "
        mov.b64 %rd1, in;
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, tile;
        mov.u32 %r3, full;
        mov.b32 %r4, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r4, %r4}], [%r3];
    READY:
        bar.sync 0;
    WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
        @!%p2 bra WAIT;
        shl.b32 %r5, %r1, 4;
        add.u32 %r6, %r2, %r5;
        ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];
        cvt.u64.u32 %rd3, %r5;
        add.s64 %rd4, %rd2, %rd3;
        st.global.v4.u32 [%rd4], {%r7, %r8, %r9, %r10};";
    let text = kernel(
        ".param .align 64 .b8 in[128], .param .u64 y",
        ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 full;",
        body,
    );
    let mut launch = launch([1, 1, 1], [128, 1, 1], &[]);
    launch.push(&map(x, &[32, 16], &[32, 16], Swizzle::Bytes128).encode()).push(&y.0.to_le_bytes());
    assert_clean(&run_with(&mut s, &program(&text, "k"), &launch, None, &Options::default()));
    let got = s.read_u32s(y, values.len());
    for (i, x) in got.iter().enumerate() {
        let (row, chunk, rest) = (i / 32, i % 32 / 4, i % 4);
        assert_eq!(*x as usize, row * 32 + (chunk ^ (row & 7)) * 4 + rest);
    }
}

#[test]
fn nobody_waits_for_a_store() {
    let mut s = system();
    let (x, y) = (s.u32s("x", &[1; 64]), s.u32s("y", &[0; 64]));
    let (mx, my) = (map(x, &[64], &[32], Swizzle::None), map(y, &[64], &[32], Swizzle::None));
    let mut launch = launch([1, 1, 1], [1, 1, 1], &[]);
    launch.push(&mx.encode()).push(&my.encode());
    let text = through(1, 128, &[0], &[0], STORE, "");
    let outcome = run_with(&mut s, &program(&text, "k"), &launch, None, &Options::default());
    let expected = "\
error: `k` exits while a copy still uses its shared memory
 |
 = note: block (0, 0, 0), thread (0, 0, 0): nobody has waited until this copy had read its source
 = note: line 30 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn what_is_no_tensor_map() {
    let mut s = system();
    let y = s.u32s("y", &[0; 64]);
    let my = map(y, &[64], &[32], Swizzle::None);
    let mut launch = launch([1, 1, 1], [1, 1, 1], &[]);
    launch.push(&[0; 128]).push(&my.encode());
    let text = through(1, 128, &[0], &[0], STORE, READ);
    let outcome = run_with(&mut s, &program(&text, "k"), &launch, None, &Options::default());
    let expected = "\
error: `k` starts a bulk copy that can not be
 |
 = note: block (0, 0, 0), thread (0, 0, 0): parameter `in`: it is no tensor map of an emulated device
 = note: line 26 of the PTX";
    assert_eq!(texts(&outcome)[0], expected);
}
