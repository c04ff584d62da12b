//! Matrix products: from shared memory by fused multiply-adds, by `mma.sync`, by `wgmma`.

use super::{Workload, support};
use std::fmt::Write;
use support::gemm::Gemm;
use support::{Buffers, Random};
use warpsmith_emulator::Launch;
use warpsmith_types::convert;

/// Small integers, so that every order of summation gives the same.
fn matrix(random: &mut Random, count: usize) -> Vec<f32> {
    (0..count).map(|_| random.below(5) as f32 - 2.0).collect()
}

fn line(b: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(b, "{text}").expect("a string takes it");
}

/// Adds lines of PTX.
macro_rules! ptx {
    ($b:expr, $($text:tt)*) => { line(&mut $b, format_args!($($text)*)) };
}

/// f32: A (m, k) and B (k, n) by rows, tiles of 64 × 64 × 16 in shared memory, 4 × 4 a thread.
pub(crate) fn shared_memory() -> Workload {
    const SIZE: usize = 256;
    let mut b = String::from(
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [d];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n\
         // Of A a thread loads four elements of a row, and stores them as a column.\n\
         shr.u32 %r4, %r1, 2;\nand.b32 %r5, %r1, 3;\nshl.b32 %r6, %r3, 6;\nadd.u32 %r6, %r6, %r4;\n",
    );
    ptx!(b, "mul.wide.u32 %rd4, %r6, {};\nadd.s64 %rd4, %rd1, %rd4;", 4 * SIZE);
    ptx!(b, "mul.wide.u32 %rd5, %r5, 16;\nadd.s64 %rd4, %rd4, %rd5;");
    ptx!(
        b,
        "shl.b32 %r7, %r5, 10;\nshl.b32 %r8, %r4, 2;\nadd.u32 %r7, %r7, %r8;\nmov.u32 %r8, tile_a;\nadd.u32 %r7, %r7, %r8;"
    );
    ptx!(b, "// Of B, four of a row.\nshr.u32 %r9, %r1, 4;\nand.b32 %r10, %r1, 15;");
    ptx!(b, "mul.wide.u32 %rd6, %r9, {};\nadd.s64 %rd6, %rd2, %rd6;\nshl.b32 %r11, %r2, 6;", 4 * SIZE);
    ptx!(
        b,
        "mul.wide.u32 %rd7, %r11, 4;\nadd.s64 %rd6, %rd6, %rd7;\nmul.wide.u32 %rd7, %r10, 16;\nadd.s64 %rd6, %rd6, %rd7;"
    );
    ptx!(b, "shl.b32 %r12, %r1, 4;\nmov.u32 %r13, tile_b;\nadd.u32 %r12, %r12, %r13;");
    ptx!(b, "// Four rows by a thread's upper bits, four columns by its lower ones.");
    ptx!(b, "shl.b32 %r14, %r9, 4;\nadd.u32 %r14, %r14, %r8;\nshl.b32 %r15, %r10, 4;\nadd.u32 %r15, %r15, %r13;");
    (0..16).for_each(|i| ptx!(b, "mov.f32 %f{}, 0f00000000;", 16 + i));
    ptx!(b, "mov.u32 %r16, 0;\nLOOP:");
    ptx!(b, "ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd4];\nld.global.v4.f32 {{%f5, %f6, %f7, %f8}}, [%rd6];");
    (0..4).for_each(|i| ptx!(b, "st.shared.f32 [%r7+{}], %f{};", 256 * i, 1 + i));
    ptx!(b, "st.shared.v4.f32 [%r12], {{%f5, %f6, %f7, %f8}};\nbar.sync 0;");
    for k in 0..16 {
        ptx!(b, "ld.shared.v4.f32 {{%f1, %f2, %f3, %f4}}, [%r14+{}];", 256 * k);
        ptx!(b, "ld.shared.v4.f32 {{%f5, %f6, %f7, %f8}}, [%r15+{}];", 256 * k);
        for i in 0..16 {
            ptx!(b, "fma.rn.f32 %f{0}, %f{1}, %f{2}, %f{0};", 16 + i, 1 + i / 4, 5 + i % 4);
        }
    }
    ptx!(b, "bar.sync 0;\nadd.s64 %rd4, %rd4, 64;\nadd.s64 %rd6, %rd6, {};", 16 * 4 * SIZE);
    ptx!(b, "add.u32 %r16, %r16, 1;\nsetp.lt.u32 %p1, %r16, {};\n@%p1 bra LOOP;", SIZE / 16);
    ptx!(b, "shl.b32 %r17, %r3, 6;\nshl.b32 %r18, %r9, 2;\nadd.u32 %r17, %r17, %r18;");
    ptx!(b, "mul.wide.u32 %rd8, %r17, {};\nadd.s64 %rd8, %rd3, %rd8;\nshl.b32 %r19, %r10, 2;", 4 * SIZE);
    ptx!(b, "add.u32 %r19, %r19, %r11;\nmul.wide.u32 %rd9, %r19, 4;\nadd.s64 %rd8, %rd8, %rd9;");
    for row in 0..4 {
        let f = 16 + 4 * row;
        let list = format!("%f{f}, %f{}, %f{}, %f{}", f + 1, f + 2, f + 3);
        ptx!(b, "st.global.v4.f32 [%rd8+{}], {{{list}}};", 4 * SIZE * row);
    }
    let mut random = Random(5);
    let (x, y) = (matrix(&mut random, SIZE * SIZE), matrix(&mut random, SIZE * SIZE));
    let tiles = ".shared .align 16 .b8 tile_a[4096];\n.shared .align 16 .b8 tile_b[4096];";
    let expected = product(SIZE, |row, k| x[row * SIZE + k], |k, column| y[k * SIZE + column]);
    let mut system = support::system();
    let pointers = [system.f32s("a", &x), system.f32s("b", &y), system.f32s("d", &vec![0.0; SIZE * SIZE])];
    let mut launch = Launch::new(1, 256);
    launch.grid = [SIZE as u32 / 64, SIZE as u32 / 64, 1];
    pointers.iter().for_each(|p| _ = launch.push(&p.0.to_le_bytes()));
    Workload {
        program: support::program(&entry(tiles, &b), "k"),
        system,
        launch,
        flops: 2.0 * SIZE.pow(3) as f64,
        expected: Some((pointers[2], expected.iter().flat_map(|x| x.to_le_bytes()).collect())),
    }
}

/// bf16: A (m, k) and B (n, k) by rows, tiles of 64 × 64 × 32 by `cp.async` and `ldmatrix`, four warps of 32 × 32.
pub(crate) fn fragments() -> Workload {
    const SIZE: usize = 256;
    // Rows of 80 bytes: eight of them lie in different banks.
    const PITCH: usize = 80;
    let mut b = String::from(
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [d];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n\
         // A row of a tile is four pieces of 16 bytes; a thread copies two of each tile.\n\
         shr.u32 %r4, %r1, 2;\nand.b32 %r5, %r1, 3;\nshl.b32 %r6, %r3, 6;\nadd.u32 %r6, %r6, %r4;\n\
         shl.b32 %r7, %r2, 6;\nadd.u32 %r7, %r7, %r4;\nmul.wide.u32 %rd6, %r5, 16;\n",
    );
    for (place, row, base) in [(4, 6, 1), (5, 7, 2)] {
        ptx!(b, "mul.wide.u32 %rd{place}, %r{row}, {};\nadd.s64 %rd{place}, %rd{base}, %rd{place};", 2 * SIZE);
        ptx!(b, "add.s64 %rd{place}, %rd{place}, %rd6;");
    }
    ptx!(b, "mov.u32 %r8, tile_a;\nmov.u32 %r9, tile_b;\nmul.lo.u32 %r10, %r4, {PITCH};\nshl.b32 %r11, %r5, 4;");
    ptx!(b, "add.u32 %r10, %r10, %r11;\nadd.u32 %r12, %r8, %r10;\nadd.u32 %r13, %r9, %r10;");
    ptx!(b, "// The warp's rows and columns; lanes address rows of fragments.");
    ptx!(b, "shr.u32 %r14, %r1, 5;\nand.b32 %r15, %r14, 1;\nshr.u32 %r16, %r14, 1;\nand.b32 %r17, %r1, 31;");
    ptx!(b, "shl.b32 %r15, %r15, 5;\nshl.b32 %r16, %r16, 5;\nand.b32 %r18, %r17, 15;\nshr.u32 %r19, %r17, 4;");
    ptx!(
        b,
        "add.u32 %r20, %r16, %r18;\nmul.lo.u32 %r20, %r20, {PITCH};\nshl.b32 %r21, %r19, 4;\nadd.u32 %r20, %r20, %r21;"
    );
    ptx!(b, "add.u32 %r20, %r20, %r8;\nadd.u32 %r22, %r15, %r18;\nmul.lo.u32 %r22, %r22, {PITCH};");
    ptx!(b, "add.u32 %r22, %r22, %r21;\nadd.u32 %r22, %r22, %r9;");
    (0..32).for_each(|i| ptx!(b, "mov.f32 %f{i}, 0f00000000;"));
    ptx!(b, "mov.u32 %r23, 0;\nLOOP:");
    for half in 0..2 {
        let (to, from) = (32 * PITCH * half, 2 * SIZE * 32 * half);
        ptx!(b, "cp.async.cg.shared.global [%r12+{to}], [%rd4+{from}], 16;");
        ptx!(b, "cp.async.cg.shared.global [%r13+{to}], [%rd5+{from}], 16;");
    }
    ptx!(b, "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;");
    for k in 0..2 {
        for half in 0..2 {
            let (r, at) = (32 + 4 * half, 16 * PITCH * half + 32 * k);
            let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
            ptx!(b, "{load} {{%r{r}, %r{}, %r{}, %r{}}}, [%r20+{at}];", r + 1, r + 2, r + 3);
            ptx!(b, "{load} {{%r{}, %r{}, %r{}, %r{}}}, [%r22+{at}];", r + 8, r + 9, r + 10, r + 11);
        }
        for m in 0..2 {
            for n in 0..4 {
                let f = 16 * m + 4 * n;
                let (a, c) = (32 + 4 * m, 40 + 4 * (n / 2) + n % 2);
                let d = format!("{{%f{f}, %f{}, %f{}, %f{}}}", f + 1, f + 2, f + 3);
                let a = format!("{{%r{a}, %r{}, %r{}, %r{}}}", a + 1, a + 2, a + 3);
                ptx!(b, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {d}, {a}, {{%r{c}, %r{}}}, {d};", c + 2);
            }
        }
    }
    ptx!(b, "bar.sync 0;\nadd.s64 %rd4, %rd4, 64;\nadd.s64 %rd5, %rd5, 64;");
    ptx!(b, "add.u32 %r23, %r23, 1;\nsetp.lt.u32 %p1, %r23, {};\n@%p1 bra LOOP;", SIZE / 32);
    ptx!(b, "shl.b32 %r24, %r3, 6;\nadd.u32 %r24, %r24, %r16;\nshr.u32 %r25, %r17, 2;\nadd.u32 %r24, %r24, %r25;");
    ptx!(b, "mul.wide.u32 %rd7, %r24, {};\nadd.s64 %rd7, %rd3, %rd7;\nshl.b32 %r26, %r2, 6;", 4 * SIZE);
    ptx!(b, "add.u32 %r26, %r26, %r15;\nand.b32 %r27, %r17, 3;\nshl.b32 %r27, %r27, 1;\nadd.u32 %r26, %r26, %r27;");
    ptx!(b, "mul.wide.u32 %rd8, %r26, 4;\nadd.s64 %rd7, %rd7, %rd8;");
    for (m, n, half) in (0..2).flat_map(|m| (0..4).flat_map(move |n| (0..2).map(move |half| (m, n, half)))) {
        let (f, at) = (16 * m + 4 * n + 2 * half, 4 * SIZE * (16 * m + 8 * half) + 32 * n);
        ptx!(b, "st.global.v2.f32 [%rd7+{at}], {{%f{f}, %f{}}};", f + 1);
    }
    let mut random = Random(5);
    let (x, y) = (matrix(&mut random, SIZE * SIZE), matrix(&mut random, SIZE * SIZE));
    let tiles = format!(".shared .align 16 .b8 tile_a[{0}];\n.shared .align 16 .b8 tile_b[{0}];", 64 * PITCH);
    let expected = product(SIZE, |row, k| x[row * SIZE + k], |k, column| y[column * SIZE + k]);
    let mut system = support::system();
    let bf16 = |x: &f32| convert::f32_to_bf16(*x).to_le_bytes();
    let pointers =
        [system.upload("a", &x, bf16), system.upload("b", &y, bf16), system.f32s("d", &vec![0.0; SIZE * SIZE])];
    let mut launch = Launch::new(1, 128);
    launch.grid = [SIZE as u32 / 64, SIZE as u32 / 64, 1];
    pointers.iter().for_each(|p| _ = launch.push(&p.0.to_le_bytes()));
    Workload {
        program: support::program(&entry(&tiles, &b), "k"),
        system,
        launch,
        flops: 2.0 * SIZE.pow(3) as f64,
        expected: Some((pointers[2], expected.iter().flat_map(|x| x.to_le_bytes()).collect())),
    }
}

/// bf16: a producer warpgroup with tensor copies, two consumers, tiles of 128 × 256 × 64.
pub(crate) fn warpgroup() -> Workload {
    let (m, n, k) = (512, 512, 1024);
    let Gemm { system, launch, d, expected, .. } = Gemm::new(m, n, k);
    let expected = expected.iter().flat_map(|x| convert::f32_to_bf16(*x).to_le_bytes()).collect();
    Workload {
        program: support::program(&support::gemm::ptx(), "gemm"),
        system,
        launch,
        flops: 2.0 * (m * n * k) as f64,
        expected: Some((d, expected)),
    }
}

/// A square product, row by row.
fn product(size: usize, a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let cell = |i: usize| (0..size).map(|k| a(i / size, k) * b(k, i % size)).sum();
    (0..size * size).map(cell).collect()
}

fn entry(shared: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<64>;\n\
         .reg .f32 %f<64>;\n.reg .b64 %rd<16>;\n{shared}\n{body}\nret;\n}}\n"
    )
}
