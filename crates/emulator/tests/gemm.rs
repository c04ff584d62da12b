//! A whole GEMM with tensor copies, barriers and products of warpgroups; right, and with one fault each.

mod support;

use support::gemm::{self, Gemm};
use support::{assert_clean, program, run_with};
use warpsmith_emulator::Options;

#[test]
fn multiplies() {
    let program = program(&gemm::ptx(), "gemm");
    let seeds = (1..13).map(|seed| (128, 256, 512, seed));
    let sizes = [(128, 256, 64, 0), (256, 512, 640, 0), (256, 256, 448, 3), (200, 264, 200, 1)];
    for (m, n, k, seed) in sizes.into_iter().chain(seeds) {
        let mut g = Gemm::new(m, n, k);
        let options = Options { seed, ..Options::default() };
        let outcome = run_with(&mut g.system, &program, &g.launch, None, &options);
        assert_clean(&outcome);
        let result = g.result();
        for (i, (x, y)) in result.iter().zip(&g.expected).enumerate() {
            let y = warpsmith_types::convert::bf16_to_f32(warpsmith_types::convert::f32_to_bf16(*y));
            assert_eq!(*x, y, "row {}, column {}", i / n, i % n);
        }
    }
}

/// The findings of the kernel with one change.
fn faulty(from: &str, to: &str, k: usize) -> Vec<String> {
    let text = gemm::ptx();
    assert!(text.contains(from), "{from}");
    let program = program(&text.replace(from, to), "gemm");
    let mut g = Gemm::new(128, 256, k);
    let options = Options { budget: Some(1_000_000), ..Options::default() };
    let outcome = run_with(&mut g.system, &program, &g.launch, None, &options);
    outcome.findings.iter().map(|f| f.diagnostic().render()).collect()
}

/// Whether one of the findings starts like that, and what they are if none does.
fn assert_found(found: &[String], expected: &str) {
    assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n\nbut:\n\n{}", found.join("\n"));
}

#[test]
fn the_consumer_does_not_wait_for_its_tiles() {
    assert_found(
        &faulty("@!%q bra CWAIT;", "", 256),
        "\
error: `gemm` reads uninitialised shared memory
 |
 = note: block (0, 0, 0), thread (128, 0, 0), shared offset 0x400: dynamic shared memory + 0",
    );
}

#[test]
fn the_consumer_does_not_flip_its_phase() {
    let flip = "@%p5 xor.b32 %r12, %r12, 1;\n        add.u32 %r10, %r10, 1;\n        setp.lt.u32 %p6, %r10, %r5;\n        @%p6 bra CONSUME;";
    let found = faulty(flip, &flip[27..], 512);
    assert_found(
        &found,
        "\
error: `gemm` waits twice for the same phase of an mbarrier
 |
 = note: block (0, 0, 0), thread (128, 0, 0): `full`: this thread had already waited for phase 0, and the barrier went on to phase 1",
    );
}

#[test]
fn too_many_bytes_are_expected() {
    let found = faulty("_, [%r15], 49152;", "_, [%r15], 49168;", 256);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("warp 4, lanes 0-31 wait for phase 0 of the mbarrier `full`, which lacks 16 bytes"));
    assert!(found[0].contains("warp 0, lane 0 waits for phase 0 of the mbarrier `empty`, which lacks 2 of 2 arrivals"));
}

#[test]
fn the_producer_does_not_wait_for_a_free_stage() {
    assert_found(
        &faulty("@!%q bra PWAIT;", "", 512),
        "\
error: `gemm` arrives at an mbarrier too often
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `full`: 1 arrival where 0 are pending
 = note: line 63 of the PTX",
    );
}

#[test]
fn the_consumer_frees_a_stage_too_often() {
    let found = faulty("@%p7 mbarrier.arrive.shared", "mbarrier.arrive.shared", 512);
    let expected = "`empty`: phase 2 ends before a thread has waited for phase 1: `mbarrier.init` gave it 2 arrivals";
    assert!(found.iter().any(|f| f.contains(expected)), "{}", found.join("\n"));
}

#[test]
fn the_product_is_not_waited_for() {
    let found = faulty("wgmma.wait_group.sync.aligned 0;", "", 256);
    let expected = "\
error: `gemm` uses a register that a `wgmma` on its way owns
 |
 = note: block (0, 0, 0), thread (128, 0, 0): `%f1` belongs to the `wgmma` of line 245 of the PTX until `wgmma.wait_group`
 = note: line 269 of the PTX
 = note: 256 times in all";
    assert_eq!(found, [expected]);
}

#[test]
fn the_store_is_not_waited_for() {
    assert_found(
        &faulty("cp.async.bulk.wait_group.read 0;", "", 256),
        "\
error: `gemm` exits while a copy still uses its shared memory
 |
 = note: block (0, 0, 0), thread (128, 0, 0): nobody has waited until this copy had read its source
 = note: line 456 of the PTX",
    );
}

#[test]
fn the_epilogue_is_not_fenced() {
    assert_found(
        &faulty("fence.proxy.async.shared::cta;", "", 256),
        "\
error: `gemm` reads shared memory that is not fenced for the async proxy
 |
 = note: block (0, 0, 0), thread (128, 0, 0): dynamic shared memory + 0 was stored by warp 4, and no `fence.proxy.async` came between
 = note: line 456 of the PTX",
    );
}
