//! Kernels that stream rows, and loops of nothing but arithmetic.

use super::{Workload, support};
use support::Buffers;
use warpsmith_emulator::Launch;

/// Rows, and elements of a row.
const ROWS: u32 = 512;
const COLUMNS: u32 = 4096;

fn workload(ptx: &str) -> Workload {
    let mut system = support::system();
    let values: Vec<u16> = (0..ROWS * COLUMNS).map(|i| 0x3f80 + (i % 251) as u16).collect();
    let x = system.upload("x", &values, |x| x.to_le_bytes());
    let y = system.allocate(2 * values.len(), "y").expect("there is room");
    let mut launch = Launch::new(ROWS, 256);
    launch.push(&x.0.to_le_bytes()).push(&y.0.to_le_bytes());
    Workload { program: support::program(ptx, "k"), system, launch, flops: 0.0, expected: None }
}

pub(crate) fn fma() -> Workload {
    workload(&alu(false))
}

pub(crate) fn integer() -> Workload {
    workload(&alu(true))
}

pub(crate) fn rms_norm() -> Workload {
    workload(&norm())
}

pub(crate) fn softmax() -> Workload {
    workload(&exponentials())
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n\
         .reg .pred %p<16>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .b64 %rd<32>;\n\
         .shared .align 16 .b8 partial[128];\n{body}\nret;\n}}\n"
    )
}

/// 16 dependent chains, a counter and a branch.
fn alu(integer: bool) -> String {
    let mut body =
        String::from("mov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f2, 0f3F800001;\nmov.u32 %r2, 0;\n");
    for i in 10..26 {
        body += &format!("mov.f32 %f{i}, %f1;\nmov.u32 %r{i}, %r1;\n");
    }
    body += "LOOP:\n";
    for i in 10..26 {
        body += &match (integer, i % 4) {
            (false, _) => format!("fma.rn.f32 %f{i}, %f1, %f2, %f{i};\n"),
            (true, 0) => format!("mad.lo.u32 %r{i}, %r{i}, %r1, %r2;\n"),
            (true, 1) => format!("add.u32 %r{i}, %r{i}, %r1;\n"),
            (true, 2) => format!("xor.b32 %r{i}, %r{i}, %r1;\n"),
            (true, _) => format!("shl.b32 %r{i}, %r{i}, 1;\n"),
        };
    }
    body += "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra LOOP;\n";
    kernel(&body)
}

/// A row a block: 16 bytes a load, two passes over registers, a block reduction through shuffles and shared memory.
fn norm() -> String {
    let mut b = String::from(
        "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         mul.wide.u32 %rd3, %r2, 8192;\nmul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd5, %rd3, %rd4;\n\
         add.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd2, %rd5;\nmov.f32 %f1, 0f00000000;\n",
    );
    for half in 0..2 {
        let r = 10 + 4 * half;
        b += &format!("ld.global.v4.b32 {{%r{}, %r{}, %r{}, %r{}}}, [%rd6+{}];\n", r, r + 1, r + 2, r + 3, 4096 * half);
    }
    for i in 0..8 {
        b += &format!(
            "shl.b32 %r40, %r{0}, 16;\nmov.b32 %f{1}, %r40;\nand.b32 %r41, %r{0}, 0xffff0000;\nmov.b32 %f{2}, %r41;\n\
             fma.rn.f32 %f1, %f{1}, %f{1}, %f1;\nfma.rn.f32 %f1, %f{2}, %f{2}, %f1;\n",
            10 + i,
            10 + 2 * i,
            11 + 2 * i
        );
    }
    b += &butterfly();
    b += "shr.u32 %r3, %r1, 5;\nand.b32 %r4, %r1, 31;\nshl.b32 %r5, %r3, 2;\nmov.u32 %r6, partial;\nadd.u32 %r7, %r6, %r5;\n\
          setp.eq.u32 %p1, %r4, 0;\n@%p1 st.shared.f32 [%r7], %f1;\nbar.sync 0;\nand.b32 %r8, %r4, 7;\nshl.b32 %r8, %r8, 2;\n\
          add.u32 %r8, %r6, %r8;\nld.shared.f32 %f1, [%r8];\n";
    for step in [4, 2, 1] {
        b += &format!("shfl.sync.bfly.b32 %f2, %f1, {step}, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n");
    }
    b += "fma.rn.f32 %f1, %f1, 0f39800000, 0f358637BD;\nrsqrt.approx.ftz.f32 %f3, %f1;\n";
    for half in 0..2 {
        for i in 0..4 {
            let n = 8 * half + 2 * i;
            b += &format!(
                "mul.rn.f32 %f40, %f{0}, %f3;\nmul.rn.f32 %f41, %f{1}, %f3;\ncvt.rn.bf16x2.f32 %r{2}, %f41, %f40;\n",
                10 + n,
                11 + n,
                20 + i
            );
        }
        b += &format!("st.global.v4.b32 [%rd7+{}], {{%r20, %r21, %r22, %r23}};\n", 4096 * half);
    }
    kernel(&b)
}

fn butterfly() -> String {
    let step = |n: u32| format!("shfl.sync.bfly.b32 %f2, %f1, {n}, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n");
    [16, 8, 4, 2, 1].map(step).concat()
}

/// Exponentials and 16-bit accesses.
fn exponentials() -> String {
    let mut b = String::from(
        "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         mul.wide.u32 %rd3, %r2, 8192;\nmul.wide.u32 %rd4, %r1, 2;\nadd.s64 %rd5, %rd3, %rd4;\n\
         add.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd2, %rd5;\nmov.f32 %f1, 0f00000000;\n",
    );
    for i in 0..16 {
        b += &format!(
            "ld.global.b16 %h1, [%rd6+{0}];\ncvt.f32.bf16 %f3, %h1;\nmul.rn.f32 %f3, %f3, 0f3FB8AA3B;\n\
             ex2.approx.ftz.f32 %f{1}, %f3;\nadd.rn.f32 %f1, %f1, %f{1};\n",
            512 * i,
            10 + i
        );
    }
    b += &butterfly();
    b += "rcp.approx.ftz.f32 %f3, %f1;\n";
    for i in 0..16 {
        b += &format!(
            "mul.rn.f32 %f4, %f{1}, %f3;\ncvt.rn.bf16.f32 %h1, %f4;\nst.global.b16 [%rd7+{0}], %h1;\n",
            512 * i,
            10 + i
        );
    }
    kernel(&b)
}
