//! Frequent instructions have a loop of their own where all lanes take part: it must give what their functions give.

mod support;

use support::{Arg, Buffers, Random, assert_clean, kernel, launch, program, run, system};

/// Instructions with sources `%r1` to `%r3`, `%rd1` to `%rd3` and `%p1`, and results in `%r9`, `%rd9` or `%p9`.
const INSTRUCTIONS: &[&str] = &[
    "mov.b32 %r9, %r1",
    "mov.b64 %rd9, %rd1",
    "add.rn.f32 %r9, %r1, %r2",
    "sub.rn.f32 %r9, %r1, %r2",
    "mul.rn.f32 %r9, %r1, %r2",
    "fma.rn.f32 %r9, %r1, %r2, %r3",
    "fma.rn.f32 %r9, %r9, %r2, %r9",
    "min.f32 %r9, %r1, %r2",
    "max.f32 %r9, %r1, %r2",
    "ex2.approx.f32 %r9, %r1",
    "ex2.approx.ftz.f32 %r9, %r1",
    "add.rn.f32x2 %rd9, %rd1, %rd2",
    "mul.rn.f32x2 %rd9, %rd1, %rd2",
    "fma.rn.f32x2 %rd9, %rd1, %rd2, %rd3",
    "add.u32 %r9, %r1, %r2",
    "sub.s32 %r9, %r1, %r2",
    "mul.lo.u32 %r9, %r1, %r2",
    "mad.lo.s32 %r9, %r1, %r2, %r3",
    "and.b32 %r9, %r1, %r2",
    "or.b32 %r9, %r1, %r2",
    "xor.b32 %r9, %r1, %r2",
    "shl.b32 %r9, %r1, %r2",
    "shr.u32 %r9, %r1, %r2",
    "shr.s32 %r9, %r1, %r2",
    "add.s64 %rd9, %rd1, %rd2",
    "sub.u64 %rd9, %rd1, %rd2",
    "mul.wide.u32 %rd9, %r1, %r2",
    "mul.wide.s32 %rd9, %r1, %r2",
    "mad.wide.u32 %rd9, %r1, %r2, %rd3",
    "mad.wide.s32 %rd9, %r1, %r2, %rd3",
    "cvt.u64.u32 %rd9, %r1",
    "cvt.s64.s32 %rd9, %r1",
    "cvt.rn.bf16.f32 %h9, %r1",
    "cvt.rn.bf16x2.f32 %r9, %r1, %r2",
    "cvt.f32.bf16 %r9, %h1",
    "cvt.rn.f16.f32 %h9, %r1",
    "cvt.f32.f16 %r9, %h1",
    "mov.b32 %r9, {%h1, %h2}",
    "mov.b32 {%h8, %h9}, %r1",
    "selp.b32 %r9, %r1, %r2, %p1",
    "setp.eq.u32 %p9, %r1, %r2",
    "setp.ne.s32 %p9, %r1, %r2",
    "setp.lt.u32 %p9, %r1, %r2",
    "setp.le.u32 %p9, %r1, %r2",
    "setp.gt.u32 %p9, %r1, %r2",
    "setp.ge.u32 %p9, %r1, %r2",
    "setp.lt.s32 %p9, %r1, %r2",
    "setp.le.s32 %p9, %r1, %r2",
    "setp.gt.s32 %p9, %r1, %r2",
    "setp.ge.s32 %p9, %r1, %r2",
    "shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 2, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 4, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 8, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 16, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r9, 16, 0x1f, 0xffffffff",
    "shfl.sync.bfly.b32 %r9, %r1, 3, 31, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 4, 7, -1",
    "shfl.sync.bfly.b32 %r9, %r1, 8, 0x181f, -1",
    "shfl.sync.bfly.b32 %r9|%p9, %r1, 8, 31, -1",
    "shfl.sync.down.b32 %r9, %r1, 8, 31, -1",
    "vote.sync.any.pred %p9, %p1, -1",
];

/// Words of every kind: small ones, equal ones, floats of all classes.
fn words(count: usize) -> Vec<u32> {
    const SPECIAL: [u32; 12] =
        [0, 1, 31, 32, 33, 1 << 31, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234, 0x7f80_0001, 0x8000_0001, 0x3f80_0000];
    let mut random = Random(11);
    let mut word = |_| match random.below(4) {
        0 => SPECIAL[random.below(12) as usize],
        1 => random.below(70),
        2 => (random.float() * 150.0).to_bits(),
        _ => random.next(),
    };
    (0..count).map(&mut word).collect()
}

#[test]
fn the_loop_gives_what_the_functions_give() {
    // Each once for all lanes, and once under a guard that all lanes pass: that one runs by its function.
    let words = words(64 * 32 * 6);
    let mut body = String::from(
        "mov.u32 %r20, %tid.x;\nld.param.u64 %rd20, [x];\nld.param.u64 %rd21, [y];\nmov.u32 %r21, %ctaid.x;\n\
         mad.lo.u32 %r22, %r21, 192, %r20;\nmul.wide.u32 %rd22, %r22, 4;\nadd.s64 %rd22, %rd20, %rd22;\n\
         setp.lt.u32 %p10, %r20, 32;\n",
    );
    for n in 0..3 {
        body += &format!(
            "ld.global.u32 %r{0}, [%rd22+{1}];\nld.global.u32 %r{2}, [%rd22+{3}];\n",
            n + 1,
            256 * n,
            n + 11,
            256 * n + 128
        );
        body += &format!("mov.b64 %rd{0}, {{%r{0}, %r{1}}};\nmov.b32 {{%h{0}, %h1{0}}}, %r{0};\n", n + 1, n + 11);
    }
    body += &format!("setp.lt.s32 %p1, %r3, 7;\nmad.lo.u32 %r23, %r21, {}, %r20;\n", 32 * INSTRUCTIONS.len());
    body += "mul.wide.u32 %rd23, %r23, 16;\nadd.s64 %rd21, %rd21, %rd23;\n";
    for instruction in INSTRUCTIONS {
        for (guard, offset) in [("", 0), ("@%p10 ", 8)] {
            body += "mov.b64 %rd9, 0;\nmov.b32 %r9, 0;\nmov.b16 %h8, 0;\nmov.b16 %h9, 0;\nsetp.ne.u32 %p9, 0, 0;\n";
            body += &format!("mov.b32 %r9, %r2;\n{guard}{instruction};\n");
            body += "selp.b32 %r30, 1, 0, %p9;\nmov.b32 %r31, {%h8, %h9};\nxor.b32 %r30, %r30, %r31;\n";
            body += "xor.b32 %r30, %r30, %r9;\nmov.b64 {%r32, %r33}, %rd9;\nxor.b32 %r30, %r30, %r32;\n";
            body += &format!("st.global.v2.b32 [%rd21+{offset}], {{%r30, %r33}};\n");
        }
        body += "add.s64 %rd21, %rd21, 512;\n";
    }
    let ptx = kernel(".param .u64 x, .param .u64 y", "", &body).replace("sm_90a", "sm_100a").replace("8.0", "8.6");
    let program = program(&ptx, "k");
    let mut system = system();
    let x = system.u32s("x", &words);
    let blocks = words.len() / 192;
    let count = blocks * 32 * INSTRUCTIONS.len() * 4;
    let y = system.allocate(4 * count, "y").unwrap();
    let outcome = run(&mut system, &program, &launch([blocks as u32, 1, 1], [32, 1, 1], &[Arg::P(x), Arg::P(y)]));
    assert_clean(&outcome);
    let results = system.read_u32s(y, count);
    let mut seen = std::collections::HashSet::new();
    for (n, pair) in results.chunks_exact(4).enumerate() {
        let instruction = INSTRUCTIONS[n / 32 % INSTRUCTIONS.len()];
        assert_eq!(pair[..2], pair[2..], "{instruction}, lane {} of block {}", n % 32, n / 32 / INSTRUCTIONS.len());
        seen.insert((instruction, pair[0], pair[1]));
    }
    // Not all the same: something was computed.
    assert!(seen.len() > 1000 * INSTRUCTIONS.len() / 4, "{}", seen.len());
}
