//! A GEMM of the kind that a compiler writes for Hopper: a producer warpgroup that copies tiles by tensor maps, two
//! consumer warpgroups that multiply them, a ring of barriers between, and an epilogue through shared memory.
//!
//! A is (m, k), B is (n, k), D is (m, n), all bf16; a tile is 128 × 256, of which each consumer has 64 rows.

use std::fmt::Write;
use warpsmith_emulator::{DevicePointer, Fill, Launch, Swizzle, System, TensorMap};
use warpsmith_types::{DType, convert};

/// Stages of the ring.
pub const STAGES: u32 = 3;
/// Bytes of a stage: 128 × 64 of A, 256 × 64 of B.
const STAGE: u32 = 128 * 128 + 256 * 128;
const SHARED: u32 = STAGES * STAGE;

/// The kernel `gemm`.
pub fn ptx() -> String {
    let mut b = String::new();
    let accumulator: Vec<String> = (0..128).map(|i| format!("%f{i}")).collect();
    let accumulator = accumulator.join(", ");
    b += "
        mov.u32 %r1, %tid.x;
        mov.b32 %r2, smem;
        mov.u32 %r3, full;
        mov.u32 %r4, empty;
        ld.param.u32 %r5, [k_tiles];
        mov.b64 %rd1, map_a;
        cvta.param.u64 %rd1, %rd1;
        mov.b64 %rd2, map_b;
        cvta.param.u64 %rd2, %rd2;
        mov.b64 %rd3, map_d;
        cvta.param.u64 %rd3, %rd3;
        mov.u32 %r20, %ctaid.x;
        shl.b32 %r20, %r20, 7;
        mov.u32 %r21, %ctaid.y;
        shl.b32 %r21, %r21, 8;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;\n";
    for stage in 0..STAGES {
        let at = 8 * stage;
        writeln!(b, "mbarrier.init.shared::cta.b64 [%r3+{at}], 1;\nmbarrier.init.shared::cta.b64 [%r4+{at}], 2;")
            .unwrap();
    }
    write!(
        b,
        "
        fence.mbarrier_init.release.cluster;
    READY:
        bar.sync 0;
        shr.u32 %r6, %r1, 7;
        mov.b32 %r10, 0;
        mov.b32 %r11, 0;
        mov.b32 %r12, 0;
        setp.ne.u32 %p2, %r6, 0;
        @%p2 bra CONSUMER;
        setmaxnreg.dec.sync.aligned.u32 40;
        shr.u32 %r7, %r1, 5;
        setp.ne.u32 %p3, %r7, 0;
        @%p3 bra END;
        elect.sync _|%p4, 0xffffffff;
        @!%p4 bra END;
        mov.b32 %r12, 1;
    PRODUCE:
        shl.b32 %r13, %r11, 3;
        add.u32 %r14, %r4, %r13;
        add.u32 %r15, %r3, %r13;
    PWAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %q, [%r14], %r12;
        @!%q bra PWAIT;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r15], {STAGE};
        mad.lo.u32 %r16, %r11, {STAGE}, %r2;
        add.u32 %r17, %r16, 16384;
        shl.b32 %r18, %r10, 6;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r16], [%rd1, {{%r18, %r20}}], [%r15];
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r17], [%rd2, {{%r18, %r21}}], [%r15];
        add.u32 %r11, %r11, 1;
        setp.eq.u32 %p5, %r11, {STAGES};
        selp.b32 %r11, 0, %r11, %p5;
        @%p5 xor.b32 %r12, %r12, 1;
        add.u32 %r10, %r10, 1;
        setp.lt.u32 %p6, %r10, %r5;
        @%p6 bra PRODUCE;
        bra.uni END;
    CONSUMER:
        setmaxnreg.inc.sync.aligned.u32 232;
        and.b32 %r8, %r1, 127;
        sub.u32 %r9, %r6, 1;
        shl.b32 %r22, %r9, 13;\n"
    )
    .unwrap();
    for i in 0..128 {
        writeln!(b, "mov.f32 %f{i}, 0f00000000;").unwrap();
    }
    write!(
        b,
        "
    CONSUME:
        shl.b32 %r13, %r11, 3;
        add.u32 %r14, %r4, %r13;
        add.u32 %r15, %r3, %r13;
    CWAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %q, [%r15], %r12;
        @!%q bra CWAIT;
        mad.lo.u32 %r16, %r11, {STAGE}, %r2;
        add.u32 %r17, %r16, 16384;
        add.u32 %r16, %r16, %r22;
        shr.u32 %r16, %r16, 4;
        and.b32 %r16, %r16, 0x3fff;
        shr.u32 %r17, %r17, 4;
        and.b32 %r17, %r17, 0x3fff;
        cvt.u64.u32 %rd4, %r16;
        or.b64 %rd4, %rd4, 0x4000004000010000;
        cvt.u64.u32 %rd5, %r17;
        or.b64 %rd5, %rd5, 0x4000004000010000;
        wgmma.fence.sync.aligned;\n"
    )
    .unwrap();
    for step in 0..4 {
        write!(
            b,
            "
        add.u64 %rd6, %rd4, {0};
        add.u64 %rd7, %rd5, {0};
        wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{{accumulator}}}, %rd6, %rd7, 1, 1, 1, 0, 0;\n",
            2 * step
        )
        .unwrap();
    }
    write!(
        b,
        "
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        setp.eq.u32 %p7, %r8, 0;
        @%p7 mbarrier.arrive.shared::cta.b64 _, [%r14];
        add.u32 %r11, %r11, 1;
        setp.eq.u32 %p5, %r11, {STAGES};
        selp.b32 %r11, 0, %r11, %p5;
        @%p5 xor.b32 %r12, %r12, 1;
        add.u32 %r10, %r10, 1;
        setp.lt.u32 %p6, %r10, %r5;
        @%p6 bra CONSUME;
        bar.sync 3, 256;
        // A consumer's 64 rows of D: four tiles of 64 columns, 128 bytes a row, swizzled.
        shl.b32 %r23, %r9, 15;
        add.u32 %r23, %r23, %r2;
        shr.u32 %r24, %r8, 5;
        and.b32 %r25, %r8, 15;
        mad.lo.u32 %r25, %r24, 16, %r25;
        shl.b32 %r26, %r25, 7;
        add.u32 %r26, %r26, %r23;
        and.b32 %r27, %r8, 31;
        shr.u32 %r27, %r27, 4;\n"
    )
    .unwrap();
    for sixteen in 0..16 {
        // Two fragments of eight columns, of both halves of the rows: lanes 0-15 address the first eight columns.
        let (tile, chunk) = (sixteen / 4, 2 * (sixteen % 4));
        for (register, f) in [(0, 0), (1, 2), (2, 4), (3, 6)] {
            let f = 8 * sixteen + f;
            writeln!(b, "cvt.rn.bf16x2.f32 %r{}, %f{}, %f{};", 40 + register, f + 1, f).unwrap();
        }
        write!(
            b,
            "
        add.u32 %r28, %r27, {chunk};
        and.b32 %r29, %r25, 7;
        xor.b32 %r28, %r28, %r29;
        shl.b32 %r28, %r28, 4;
        add.u32 %r28, %r28, %r26;
        stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r28+{}], {{%r40, %r41, %r42, %r43}};\n",
            8192 * tile
        )
        .unwrap();
    }
    b += "
        fence.proxy.async.shared::cta;
        add.u32 %r30, %r6, 0;
        bar.sync %r30, 128;
        setp.ne.u32 %p8, %r8, 0;
        @%p8 bra END;
        shl.b32 %r31, %r9, 6;
        add.u32 %r31, %r31, %r20;\n";
    for tile in 0..4 {
        write!(
            b,
            "
        add.u32 %r32, %r21, {};
        add.u32 %r33, %r23, {};
        cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {{%r32, %r31}}], [%r33];\n",
            64 * tile,
            8192 * tile
        )
        .unwrap();
    }
    b += "
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
    END:
        ret;";
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n\
         .visible .entry gemm(.param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128],\n\
         .param .align 64 .b8 map_d[128], .param .u32 k_tiles)\n.reqntid 384, 1, 1\n{{\n\
         .reg .pred %p<16>, %q;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<128>;\n\
         .shared .align 8 .b64 full[{STAGES}];\n.shared .align 8 .b64 empty[{STAGES}];\n{b}\n}}\n"
    )
}

/// A row-major bf16 matrix as boxes of 64 columns.
fn map(base: DevicePointer, rows: usize, columns: usize, box_rows: u32) -> TensorMap {
    TensorMap {
        base,
        dtype: DType::BF16,
        rank: 2,
        extents: [columns as u64, rows as u64, 1, 1, 1],
        strides: [2, 2 * columns as u64, 0, 0, 0],
        box_extents: [64, box_rows, 1, 1, 1],
        element_strides: [1; 5],
        swizzle: Swizzle::Bytes128,
        fill: Fill::Zero,
    }
}

/// Matrices of small integers, their exact product, and the launch that computes it.
pub struct Gemm {
    pub system: System,
    pub launch: Launch,
    pub d: DevicePointer,
    pub expected: Vec<f32>,
    pub m: usize,
    pub n: usize,
}

impl Gemm {
    pub fn new(m: usize, n: usize, k: usize) -> Gemm {
        let mut system = super::system();
        let mut random = super::Random(7);
        let mut matrix = |rows: usize| -> Vec<f32> { (0..rows * k).map(|_| random.below(5) as f32 - 2.0).collect() };
        let (a, b) = (matrix(m), matrix(n));
        let mut upload = |name: &str, values: &[f32]| {
            super::Buffers::upload(&mut system, name, values, |x| convert::f32_to_bf16(*x).to_le_bytes())
        };
        let (pa, pb) = (upload("a", &a), upload("b", &b));
        let d = system.allocate(2 * m * n, "d").unwrap();
        let mut launch = Launch::new(1, 384);
        launch.grid = [m.div_ceil(128) as u32, n.div_ceil(256) as u32, 1];
        launch.dynamic_shared = SHARED;
        launch.push(&map(pa, m, k, 128).encode()).push(&map(pb, n, k, 256).encode()).push(&map(d, m, n, 64).encode());
        launch.push(&(k.div_ceil(64) as u32).to_le_bytes());
        let mut expected = vec![0.0; m * n];
        for (row, out) in expected.chunks_mut(n).enumerate() {
            for (column, x) in out.iter_mut().enumerate() {
                *x = (0..k).map(|i| a[row * k + i] * b[column * k + i]).sum();
            }
        }
        Gemm { system, launch, d, expected, m, n }
    }

    /// The result.
    pub fn result(&self) -> Vec<f32> {
        let mut bytes = vec![0; 2 * self.m * self.n];
        self.system.read(self.d, &mut bytes).unwrap();
        bytes.chunks_exact(2).map(|b| convert::bf16_to_f32(u16::from_le_bytes([b[0], b[1]]))).collect()
    }
}
