//! `mma`, `ldmatrix`, `stmatrix`, `movmatrix` against the host.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, kernel, launch, program, run, system};
use warpsmith_types::convert::{f32_to_bf16, f32_to_f16};

/// Bits of a small integer.
fn bits(element: &str, x: i32) -> u32 {
    match element {
        "f16" => f32_to_f16(x as f32).into(),
        "bf16" => f32_to_bf16(x as f32).into(),
        "tf32" => (x as f32).to_bits(),
        "e5m2" => (f32_to_f16(x as f32) >> 8).into(),
        "e4m3" if x == 0 => 0,
        "e4m3" => {
            let bits = (x as f32).abs().to_bits();
            (u32::from(x < 0) << 7) | (((bits >> 23) - 120) << 3) | (bits >> 20 & 7)
        }
        _ => x as u32 & 0xff,
    }
}

fn product(shape: &str, types: &str, (m, k): (usize, usize), bytes: usize) {
    let element = types.split('.').nth(1).unwrap();
    let (half, integer) = (types.starts_with("f16"), types.starts_with("s32"));
    let mut random = Random(k as u64);
    let low = if element == "u8" { 0 } else { 3 };
    let mut matrix = |n: usize| -> Vec<i32> { (0..n).map(|_| random.below(7) as i32 - low).collect() };
    let (a, b, c) = (matrix(m * k), matrix(8 * k), matrix(m * 8));
    let each = 4 / bytes;
    let steps = k / (4 * each);
    let halves = m / 8;
    let pack = |values: &[i32]| values.iter().enumerate().fold(0, |x, (i, v)| x | bits(element, *v) << (8 * bytes * i));
    let mut words = vec![];
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for r in 0..halves * steps {
            let (row, first) = (g + 8 * (r % halves), (t + 4 * (r / halves)) * each);
            words.push(pack(&a[row * k + first..row * k + first + each]));
        }
        for r in 0..steps {
            let first = (t + 4 * r) * each;
            words.push(pack(&b[g * k + first..g * k + first + each]));
        }
        for r in 0..halves {
            let at = (g + 8 * r) * 8 + 2 * t;
            let number = |x: i32| if integer { x as u32 } else { (x as f32).to_bits() };
            if half {
                words.push(u32::from(f32_to_f16(c[at] as f32)) | u32::from(f32_to_f16(c[at + 1] as f32)) << 16);
            } else {
                words.extend([number(c[at]), number(c[at + 1])]);
            }
        }
    }
    let (na, nb, nc) = (halves * steps, steps, if half { halves } else { 2 * halves });
    let total = na + nb + nc;
    let kind = if half {
        "b32"
    } else if integer {
        "s32"
    } else {
        "f32"
    };
    let load: String = (0..total)
        .map(|i| {
            let register = if i < na + nb { format!("%x{i}") } else { format!("%c{}", i - na - nb) };
            format!("ld.global.b32 {register}, [%rd1+{}];\n", 4 * i)
        })
        .collect();
    let names = |prefix: &str, from: usize, n: usize| {
        (from..from + n).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ")
    };
    let store: String = (0..nc).map(|i| format!("st.global.b32 [%rd2+{}], %d{i};\n", 4 * i)).collect();
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        "",
        &format!(
            ".reg .b32 %x<16>;\n.reg .{kind} %c<8>, %d<8>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
             mov.u32 %r1, %tid.x;\nmad.wide.u32 %rd1, %r1, {}, %rd1;\nmad.wide.u32 %rd2, %r1, {}, %rd2;\n{load}\
             mma.sync.aligned.{shape}.row.col.{types} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n{store}",
            4 * total,
            4 * nc,
            names("%d", 0, nc),
            names("%x", 0, na),
            names("%x", na, nb),
            names("%c", 0, nc)
        ),
    )
    .replace(".version 8.0", ".version 8.7");
    let mut s = system();
    let input = s.u32s("in", &words);
    let out = s.allocate(4 * 32 * nc, "out").unwrap();
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(input), P(out)])));
    let got = s.read_u32s(out, 32 * nc);
    for lane in 0..32 {
        for r in 0..2 * halves {
            let (row, column) = (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2);
            let sum: i32 = (0..k).map(|i| a[row * k + i] * b[column * k + i]).sum::<i32>() + c[row * 8 + column];
            let x = if half { got[lane * nc + r / 2] >> (16 * (r % 2)) & 0xffff } else { got[lane * nc + r] };
            let y = if half {
                f32_to_f16(sum as f32).into()
            } else if integer {
                sum as u32
            } else {
                (sum as f32).to_bits()
            };
            assert_eq!(x, y, "{shape} {types}: row {row}, column {column}");
        }
    }
}

#[test]
fn products() {
    product("m16n8k8", "f32.f16.f16.f32", (16, 8), 2);
    product("m16n8k16", "f32.f16.f16.f32", (16, 16), 2);
    product("m16n8k16", "f16.f16.f16.f16", (16, 16), 2);
    product("m16n8k8", "f32.bf16.bf16.f32", (16, 8), 2);
    product("m16n8k16", "f32.bf16.bf16.f32", (16, 16), 2);
    product("m16n8k4", "f32.tf32.tf32.f32", (16, 4), 4);
    product("m16n8k8", "f32.tf32.tf32.f32", (16, 8), 4);
    product("m8n8k16", "s32.s8.s8.s32", (8, 16), 1);
    product("m16n8k16", "s32.u8.u8.s32", (16, 16), 1);
    product("m16n8k32", "s32.s8.s8.s32", (16, 32), 1);
    product("m16n8k32", "f32.e4m3.e4m3.f32", (16, 32), 1);
    product("m16n8k32", "f32.e5m2.e5m2.f32", (16, 32), 1);
}

#[test]
fn matrices_go_through_shared_memory() {
    // Stored as they are or transposed, loaded as they are or transposed, transposed in registers: 4 matrices.
    for (store, load, moves) in
        [("", "", false), (".trans", ".trans", false), ("", ".trans", true), (".trans", "", true)]
    {
        let back = if moves {
            (0..4).map(|i| format!("movmatrix.sync.aligned.m8n8.trans.b16 %r{0}, %r{0};\n", 20 + i)).collect()
        } else {
            String::new()
        };
        let text = kernel(
            ".param .u64 in, .param .u64 out",
            ".shared .align 16 .b8 tile[512];",
            &format!(
                "
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd1, %r1, 16, %rd1;
        mad.wide.u32 %rd2, %r1, 16, %rd2;
        mov.u32 %r2, tile;
        mad.lo.u32 %r3, %r1, 16, %r2;
        ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd1];
        stmatrix.sync.aligned.m8n8.x4{store}.shared.b16 [%r3], {{%r10, %r11, %r12, %r13}};
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4{load}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r3];
        {back}
        st.global.v4.b32 [%rd2], {{%r20, %r21, %r22, %r23}};"
            ),
        );
        let mut s = system();
        let mut random = Random(3);
        let values: Vec<u32> = (0..128).map(|_| random.next()).collect();
        let (x, out) = (s.u32s("in", &values), s.allocate(512, "out").unwrap());
        assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(x), P(out)])));
        assert_eq!(s.read_u32s(out, 128), values, "{store} {load} {moves}");
    }
}

#[test]
fn rows_of_a_fragment() {
    // ldmatrix gives lane l row l / 4, and the pair of columns 2 (l % 4).
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        ".shared .align 16 .b8 tile[128];",
        "
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd1, %r1, 4, %rd1;
        mad.wide.u32 %rd2, %r1, 4, %rd2;
        mov.u32 %r2, tile;
        mad.lo.u32 %r3, %r1, 4, %r2;
        ld.global.b32 %r10, [%rd1];
        st.shared.b32 [%r3], %r10;
        bar.sync 0;
        and.b32 %r4, %r1, 7;
        mad.lo.u32 %r5, %r4, 16, %r2;
        ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r20}, [%r5];
        st.global.b32 [%rd2], %r20;",
    );
    let mut s = system();
    let values: Vec<u32> = (0..32).map(|i| (2 * i) | (2 * i + 1) << 16).collect();
    let (x, out) = (s.u32s("in", &values), s.allocate(128, "out").unwrap());
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(x), P(out)])));
    let expected: Vec<u32> = (0..32).map(|l| (16 * (l % 4) + l / 4) | (16 * (l % 4) + 8 + l / 4) << 16).collect();
    assert_eq!(s.read_u32s(out, 32), expected);
}
