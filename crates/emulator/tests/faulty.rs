//! Kernels with one fault each, and the whole text of what is said about it.

mod support;

use support::{Arg::*, Buffers, kernel, launch, only, program, run, run_with, system};
use warpsmith_emulator::{ArgumentInfo, Checks, FindingKind, Manifest, Options, Outcome, SharedTile, Storage, System};
use warpsmith_types::DType;

const FILE: &str = ".file 1 \"scale.rs\"\n.file 2 \"helper.rs\"";

fn text(outcome: &Outcome) -> String {
    only(outcome).diagnostic().render()
}

/// `x[i] = 2 x[i]` for 32 threads from element `first` on.
fn scale(first: u32, load: &str) -> String {
    kernel(
        ".param .u64 x, .param .u64 y",
        FILE,
        &format!(
            "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        add.u32 %r1, %r1, {first};
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        .loc 1 12 9
        {load}
        add.rn.f32 %f2, %f1, %f1;
        .loc 1 13 9
        st.global.f32 [%rd5], %f2;"
        ),
    )
}

fn one_warp(system: &mut System, text: &str, args: &[support::Arg], manifest: Option<&Manifest>) -> Outcome {
    run_with(system, &program(text, "k"), &launch([1, 1, 1], [32, 1, 1], args), manifest, &Options::default())
}

#[test]
fn out_of_bounds_by_one() {
    let mut s = system();
    let (x, y) = (s.f32s("x", &[1.0; 32]), s.allocate(4 * 64, "y").unwrap());
    let outcome = one_warp(&mut s, &scale(1, "ld.global.f32 %f1, [%rd4];"), &[P(x), P(y)], None);
    let expected = "\
error: `k` reads 4 bytes of global memory out of bounds
--> scale.rs:12:9
 = note: this load
 = note: block (0, 0, 0), thread (31, 0, 0), address 0x700000000080: at the very end of `x` (128 bytes)
 = note: line 23 of the PTX";
    assert_eq!(text(&outcome), expected);
    // The load gave poison, the others their values, and the run went on.
    assert_eq!(s.read_f32s(y.offset(4), 31), [2.0; 31]);
    let finding = only(&outcome);
    assert_eq!((finding.kind, finding.count), (FindingKind::OutOfBounds, 1));
}

#[test]
fn an_exclusive_argument_shares_nothing() {
    let run = |offset: u64, exclusive: bool| {
        let mut s = system();
        let x = s.f32s("x", &[1.0; 64]);
        let tensor = |name: &str, base, exclusive| ArgumentInfo {
            name: name.into(),
            base,
            dtype: DType::F32,
            shape: vec![32],
            strides: vec![1],
            exclusive,
        };
        let y = x.offset(offset);
        let manifest = Manifest { arguments: vec![tensor("x", x, false), tensor("y", y, exclusive)], shared: vec![] };
        let outcome = one_warp(&mut s, &scale(4, "ld.global.f32 %f1, [%rd4];"), &[P(x), P(y)], Some(&manifest));
        let overlaps = outcome.findings.iter().filter(|f| f.kind == FindingKind::Overlap);
        overlaps.map(|f| f.detail.clone()).collect::<Vec<_>>()
    };
    let says =
        "`y` and `x` share bytes from 0x70000000007c on, and the contract gives those of `y` to no other argument";
    assert_eq!(run(124, true), [says]);
    assert!(run(128, true).is_empty());
    assert!(run(0, false).is_empty());
    assert_eq!(run(0, true).len(), 1);
}

#[test]
fn the_manifest_names_the_index() {
    let mut s = system();
    let (x, y) = (s.f32s("allocation 7", &[1.0; 64]), s.allocate(4 * 32, "y").unwrap());
    let tensor = |name: &str, base, rows| ArgumentInfo {
        name: name.into(),
        base,
        dtype: DType::F32,
        shape: vec![rows, 10],
        strides: vec![16, 1],
        exclusive: false,
    };
    let manifest = Manifest { arguments: vec![tensor("x", x, 4), tensor("y", y, 2)], shared: vec![] };
    let outcome = one_warp(&mut s, &scale(5, "ld.global.f32 %f1, [%rd4];"), &[P(x), P(y)], Some(&manifest));
    let expected = "\
error: `k` writes 4 bytes of global memory out of bounds
--> scale.rs:13:9
 = note: this store
 = note: block (0, 0, 0), thread (27, 0, 0), address 0x700000010180, `y[row 2, column 0]`: at the very end of `y` (128 bytes)
 = note: line 26 of the PTX
 = note: 5 times in all";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn a_misaligned_vector() {
    let mut s = system();
    let (x, y) = (s.f32s("x", &[1.0; 64]), s.allocate(4 * 64, "y").unwrap());
    let load = "and.b64 %rd4, %rd4, -8;\nadd.s64 %rd4, %rd4, 4;\nld.global.v2.f32 {%f1, %f3}, [%rd4];";
    let outcome = one_warp(&mut s, &scale(0, load), &[P(x), P(y)], None);
    let expected = "\
error: `k` reads 8 bytes of global memory at a misaligned address
--> scale.rs:12:9
 = note: this load
 = note: block (0, 0, 0), thread (0, 0, 0), address 0x700000000004: `x` + 4; the access needs a multiple of 8
 = note: line 25 of the PTX
 = note: 32 times in all";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn uninitialised_global_memory() {
    let mut s = system();
    let (x, y) = (s.f32s("x", &[1.0; 32]), s.allocate(4 * 32, "y").unwrap());
    s.poison(x.offset(42), 1).unwrap();
    let outcome = one_warp(&mut s, &scale(0, "ld.global.f32 %f1, [%rd4];"), &[P(x), P(y)], None);
    let expected = "\
error: `k` reads uninitialised global memory
--> scale.rs:12:9
 = note: this load
 = note: block (0, 0, 0), thread (10, 0, 0), address 0x700000000028: `x` + 40
 = note: line 23 of the PTX";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn freed_memory() {
    let mut s = system();
    let (x, y) = (s.f32s("x", &[1.0; 32]), s.allocate(4 * 32, "y").unwrap());
    s.free(x).unwrap();
    let outcome = one_warp(&mut s, &scale(0, "ld.global.f32 %f1, [%rd4];"), &[P(x), P(y)], None);
    let expected = "\
error: `k` reads 4 bytes of freed memory
--> scale.rs:12:9
 = note: this load
 = note: block (0, 0, 0), thread (0, 0, 0), address 0x700000000000: `x` + 0, which was freed
 = note: line 23 of the PTX
 = note: 32 times in all";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn an_uninitialised_register_in_a_helper() {
    let load = "setp.lt.u32 %p1, %r1, 30;\n@%p1 ld.global.f32 %f1, [%rd4];\n\
        .loc 2 4 5, function_name $helper, inlined_at 1 30 17";
    let ptx = scale(0, load) + ".section .debug_str\n{\n$helper:\n.b8 100,111,117,98,108,101,0\n}\n";
    let mut s = system();
    let (x, y) = (s.f32s("x", &[1.0; 32]), s.allocate(4 * 32, "y").unwrap());
    let outcome = one_warp(&mut s, &ptx, &[P(x), P(y)], None);
    let finding = only(&outcome);
    assert_eq!(finding.kind, FindingKind::UninitializedRead(Storage::Register));
    let location = finding.location.as_ref().unwrap();
    assert_eq!(location.to_string(), "helper.rs:4:5");
    assert_eq!(location.inlined_at.as_ref().unwrap().at.to_string(), "scale.rs:30:17");
    let expected = "\
error: `k` reads an uninitialised register
--> helper.rs:4:5
 = note: here
::: scale.rs:30:17
 = note: in this call
 = note: block (0, 0, 0), thread (30, 0, 0): `%f1` was never written on this thread's way here
 = note: line 26 of the PTX
 = note: 2 times in all";
    assert_eq!(text(&outcome), expected);
}

/// Each thread writes a word of shared memory and reads its right neighbour's.
fn neighbour(barrier: &str) -> String {
    kernel(
        ".param .u64 out",
        ".shared .align 4 .b8 tile[256];",
        &format!(
            "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        shl.b32 %r2, %r1, 2;
        mov.u32 %r3, tile;
        add.u32 %r4, %r3, %r2;
        st.shared.u32 [%r4], %r1;
        {barrier}
        ld.shared.u32 %r5, [%r4+4];
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r5;"
        ),
    )
}

#[test]
fn uninitialised_shared_memory() {
    let mut s = system();
    let out = s.u32s("out", &[0; 64]);
    let tile =
        SharedTile { name: "tile".into(), offset: 0, dtype: DType::U32, shape: vec![4, 16], strides: vec![16, 1] };
    let manifest = Manifest { arguments: vec![], shared: vec![tile] };
    let launch = launch([1, 1, 1], [40, 1, 1], &[P(out)]);
    let program = program(&neighbour("bar.sync 0;"), "k");
    let outcome = run_with(&mut s, &program, &launch, Some(&manifest), &Options::default());
    let expected = "\
error: `k` reads uninitialised shared memory
 |
 = note: block (0, 0, 0), thread (39, 0, 0), shared offset 0xa0, `tile[row 2, column 8]`: `tile` + 160
 = note: line 21 of the PTX";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn past_the_end_of_shared_memory() {
    let mut s = system();
    let out = s.u32s("out", &[0; 64]);
    let outcome = run(&mut s, &program(&neighbour("bar.sync 0;"), "k"), &launch([1, 1, 1], [64, 1, 1], &[P(out)]));
    let expected = "\
error: `k` reads 4 bytes of shared memory out of bounds
 |
 = note: block (0, 0, 0), thread (63, 0, 0), shared offset 0x100: at the very end of `tile` (256 bytes); the kernel has 256 bytes of shared memory
 = note: line 21 of the PTX";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn a_missing_barrier_shows_as_an_uninitialised_read() {
    let mut s = system();
    let out = s.u32s("out", &[0; 64]);
    let outcome = run(&mut s, &program(&neighbour(""), "k"), &launch([1, 1, 1], [48, 1, 1], &[P(out)]));
    assert_eq!(outcome.findings[0].kind, FindingKind::UninitializedRead(Storage::Shared));
    assert_eq!(outcome.findings[0].thread, [31, 0, 0]);
}

#[test]
fn a_divided_warp_at_a_barrier() {
    let body = "
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 16;
        @%p1 bra LOW;
        bar.sync 0;
        bra.uni JOIN;
    LOW:
        bar.sync 0;
    JOIN:
        bar.sync 0;";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [64, 1, 1], &[]));
    let expected = "\
error: `k` reaches a barrier with a divided warp
 |
 = note: block (0, 0, 0), thread (16, 0, 0): lanes 16-31 of warp 0 come here without the others
 = note: line 17 of the PTX
 = note: lanes 0-15 are at line 20 of the PTX";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn a_barrier_that_too_few_come_to() {
    let body = "
        mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 bra JOIN;
        bar.sync 1, 96;
    JOIN:
        bar.sync 0;";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [96, 1, 1], &[]));
    let expected = "\
error: `k` deadlocks
 |
 = note: block (0, 0, 0), thread (0, 0, 0): no thread of the block can go on
 = note: line 17 of the PTX
 = note: warp 0, lanes 0-31 wait at barrier 1, where 32 of 96 threads have arrived (line 17 of the PTX)
 = note: warp 1, lanes 0-31 wait at barrier 0, where 64 of 96 threads have arrived (line 19 of the PTX)
 = note: warp 2, lanes 0-31 wait at barrier 0, where 64 of 96 threads have arrived (line 19 of the PTX)";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn lanes_that_wait_for_each_other_at_different_places() {
    let body = "
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 4;
        @%p1 bra LOW;
        shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
        bra.uni JOIN;
    LOW:
        bar.warp.sync -1;
    JOIN:";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [32, 1, 1], &[]));
    let expected = "\
error: `k` deadlocks
 |
 = note: block (0, 0, 0), thread (4, 0, 0): no thread of the block can go on
 = note: line 17 of the PTX
 = note: warp 0, lanes 4-31 wait at a `.sync` instruction, for lanes 0-3 of the same warp (line 17 of the PTX)
 = note: warp 0, lanes 0-3 wait at `bar.warp.sync`, for lanes 4-31 of the same warp (line 20 of the PTX)";
    assert_eq!(text(&outcome), expected);
}

#[test]
fn a_member_mask_that_leaves_lanes_out() {
    let body = "
        mov.u32 %r1, %tid.x;
        shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0x0000ffff;";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [32, 1, 1], &[]));
    let finding = only(&outcome);
    assert_eq!((finding.kind, finding.count, finding.thread), (FindingKind::SyncMask, 16, [16, 0, 0]));
}

#[test]
fn barrier_counts() {
    let body = "bar.sync 1, 40;";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [64, 1, 1], &[]));
    let finding = only(&outcome);
    assert_eq!(finding.kind, FindingKind::BarrierCount);
    assert_eq!(finding.detail, "barrier 1 for 40 threads, in a block of 64");
}

#[test]
fn a_kernel_that_does_not_end() {
    let body = "LOOP:\nbra.uni LOOP;";
    let options = Options { budget: Some(10_000), ..Options::default() };
    let launch = launch([4, 1, 1], [64, 1, 1], &[]);
    let outcome = run_with(&mut system(), &program(&kernel("", "", body), "k"), &launch, None, &options);
    assert!(outcome.stopped);
    assert_eq!(outcome.findings[0].kind, FindingKind::Budget);
    assert_eq!(outcome.findings[0].detail, "still here after 10000 warp instructions of the launch");
}

#[test]
fn a_trap() {
    let body = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 5;\n@%p1 trap;";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [32, 1, 1], &[]));
    assert_eq!((only(&outcome).kind, only(&outcome).thread), (FindingKind::Trap, [5, 0, 0]));
}

#[test]
fn wild_addresses_do_no_harm() {
    let body = "
        mov.u64 %rd1, 16;
        ld.global.u32 %r1, [%rd1];
        mov.u64 %rd2, -4;
        st.global.u32 [%rd2], %r1;
        mov.u64 %rd3, -8;
        ld.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];
        mov.u32 %r6, 0;
        st.shared.u32 [%r6], %r1;
        ld.shared.v2.u64 {%rd4, %rd5}, [%r6+-16];
        atom.global.add.u32 %r7, [%rd1], 1;
        ld.param.u64 %rd6, [%rd1];";
    let outcome = run(&mut system(), &program(&kernel("", "", body), "k"), &launch([1, 1, 1], [32, 1, 1], &[]));
    assert_eq!(outcome.findings.len(), 7);
    assert!(outcome.findings.iter().all(|f| f.kind == FindingKind::OutOfBounds && f.count == 32));
    let checks = Options { checks: Checks::NONE, ..Options::default() };
    let launch = launch([1, 1, 1], [32, 1, 1], &[]);
    let outcome = run_with(&mut system(), &program(&kernel("", "", body), "k"), &launch, None, &checks);
    assert!(outcome.is_clean());
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let findings = |threads| {
        let mut s = system();
        let (x, y) = (s.f32s("x", &[1.0; 1000]), s.allocate(4 * 2000, "y").unwrap());
        let body = "
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r1, %r2, 32, %r1;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        ld.global.f32 %f1, [%rd4];
        st.global.f32 [%rd5], %f1;";
        let program = program(&kernel(".param .u64 x, .param .u64 y", "", body), "k");
        let options = Options { threads, ..Options::default() };
        let outcome = run_with(&mut s, &program, &launch([60, 1, 1], [32, 1, 1], &[P(x), P(y)]), None, &options);
        (outcome.findings, outcome.instructions)
    };
    assert_eq!(findings(1), findings(4));
    assert_eq!(findings(4).0[0].block, [31, 0, 0]);
}
