//! Instructions by family, each on random and special operands, against the same computation written out here.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, kernel, launch, program, run, system};
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

const SPECIAL: [u32; 20] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_8000,
    0x3f00_0000,
    0x4b00_0001,
    0x7f7f_ffff,
];

/// Operands: every pair of special values, then random ones.
fn operands() -> Vec<[u32; 3]> {
    let mut random = Random(11);
    let mut all = vec![];
    for a in SPECIAL {
        for b in SPECIAL {
            all.push([a, b, SPECIAL[random.below(20) as usize]]);
        }
    }
    for _ in 0..624 {
        all.push([random.next(), random.next(), random.next()]);
    }
    all
}

/// Runs `body`, which reads %r1, %r2, %r3 and the 64-bit %rd1, %rd2, %rd3 (made of two of them each) and leaves its
/// result in %rd9, for each set of operands.
fn results(body: &str) -> Vec<([u32; 3], u64)> {
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        "",
        &format!(
            "
        mov.u32 %r40, %tid.x;
        mov.u32 %r41, %ctaid.x;
        mad.lo.u32 %r40, %r41, 128, %r40;
        ld.param.u64 %rd20, [in];
        ld.param.u64 %rd21, [out];
        mad.wide.u32 %rd20, %r40, 12, %rd20;
        mad.wide.u32 %rd21, %r40, 8, %rd21;
        ld.global.u32 %r1, [%rd20];
        ld.global.u32 %r2, [%rd20+4];
        ld.global.u32 %r3, [%rd20+8];
        mov.b32 %f1, %r1;
        mov.b32 %f2, %r2;
        mov.b32 %f3, %r3;
        mov.b64 %rd1, {{%r1, %r2}};
        mov.b64 %rd2, {{%r2, %r3}};
        mov.b64 %rd3, {{%r3, %r1}};
        cvt.u16.u32 %h1, %r1;
        cvt.u16.u32 %h2, %r2;
        cvt.u16.u32 %h3, %r3;
        {body}
        st.global.u64 [%rd21], %rd9;"
        ),
    );
    let operands = operands();
    let mut s = system();
    let flat: Vec<u32> = operands.iter().flatten().copied().collect();
    let (x, out) = (s.u32s("in", &flat), s.u32s("out", &vec![0; 2 * operands.len()]));
    assert_eq!(operands.len() % 128, 0);
    let launch = launch([operands.len() as u32 / 128, 1, 1], [128, 1, 1], &[P(x), P(out)]);
    assert_clean(&run(&mut s, &program(&text, "k"), &launch));
    let words = s.read_u32s(out, 2 * operands.len());
    operands.into_iter().zip(words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32)).collect()
}

#[track_caller]
fn check(body: &str, want: impl Fn(u32, u32, u32) -> u64) {
    for ([a, b, c], got) in results(body) {
        let want = want(a, b, c);
        assert_eq!(got, want, "{body} on {a:#x}, {b:#x}, {c:#x}: {got:#x}, not {want:#x}");
    }
}

/// A 32-bit result in %r9.
#[track_caller]
fn check32(instruction: &str, want: impl Fn(u32, u32, u32) -> u32) {
    check(&format!("{instruction}\ncvt.u64.u32 %rd9, %r9;"), |a, b, c| want(a, b, c).into());
}

/// A 16-bit result in %h9.
#[track_caller]
fn check16(instruction: &str, want: impl Fn(u16, u16, u16) -> u16) {
    check(&format!("{instruction}\ncvt.u64.u16 %rd9, %h9;"), |a, b, c| want(a as u16, b as u16, c as u16).into());
}

/// A float result in %f9; any NaN must be the canonical one.
#[track_caller]
fn check_f32(instruction: &str, want: impl Fn(f32, f32, f32) -> f32) {
    check(&format!("{instruction}\nmov.b32 %r9, %f9;\ncvt.u64.u32 %rd9, %r9;"), |a, b, c| {
        let x = want(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        (if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }).into()
    });
}

fn wide(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[test]
fn integer_32() {
    check32("add.u32 %r9, %r1, %r2;", |a, b, _| a.wrapping_add(b));
    check32("add.sat.s32 %r9, %r1, %r2;", |a, b, _| {
        (i64::from(a as i32) + i64::from(b as i32)).clamp(i32::MIN.into(), i32::MAX.into()) as u32
    });
    check32("sub.sat.s32 %r9, %r1, %r2;", |a, b, _| {
        (i64::from(a as i32) - i64::from(b as i32)).clamp(i32::MIN.into(), i32::MAX.into()) as u32
    });
    check32("mul.lo.s32 %r9, %r1, %r2;", |a, b, _| a.wrapping_mul(b));
    check32("mul.hi.s32 %r9, %r1, %r2;", |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check32("mul.hi.u32 %r9, %r1, %r2;", |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check32("mad.lo.u32 %r9, %r1, %r2, %r3;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check32("mad.hi.u32 %r9, %r1, %r2, %r3;", |a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c));
    check32("div.u32 %r9, %r1, %r2;", |a, b, _| a.checked_div(b).unwrap_or(u32::MAX));
    check32(
        "div.s32 %r9, %r1, %r2;",
        |a, b, _| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 },
    );
    check32(
        "rem.s32 %r9, %r1, %r2;",
        |a, b, _| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 },
    );
    check32("min.s32 %r9, %r1, %r2;", |a, b, _| (a as i32).min(b as i32) as u32);
    check32("max.u32 %r9, %r1, %r2;", |a, b, _| a.max(b));
    check32("abs.s32 %r9, %r1;", |a, _, _| (a as i32).unsigned_abs());
    check32("neg.s32 %r9, %r1;", |a, _, _| a.wrapping_neg());
    check32("sad.u32 %r9, %r1, %r2, %r3;", |a, b, c| a.abs_diff(b).wrapping_add(c));
    check32("mul24.lo.u32 %r9, %r1, %r2;", |a, b, _| (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32);
    check32("mul24.hi.s32 %r9, %r1, %r2;", |a, b, _| {
        let low = |x: u32| i64::from((x << 8) as i32 >> 8);
        ((low(a) * low(b)) >> 16) as u32
    });
}

#[test]
fn integer_16_and_64() {
    check16("add.u16 %h9, %h1, %h2;", u16_op(u16::wrapping_add));
    check16("mul.lo.s16 %h9, %h1, %h2;", u16_op(u16::wrapping_mul));
    check16("min.s16 %h9, %h1, %h2;", |a, b, _| (a as i16).min(b as i16) as u16);
    check("shr.s16 %h9, %h1, %r2;\ncvt.u64.u16 %rd9, %h9;", |a, b, _| u64::from(((a as i16) >> b.min(15)) as u16));
    check32("mul.wide.s16 %r9, %h1, %h2;", |a, b, _| (i32::from(a as i16) * i32::from(b as i16)) as u32);
    check("mul.wide.s32 %rd9, %r1, %r2;", |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    check("mad.wide.u32 %rd9, %r1, %r2, %rd3;", |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(wide(c, a)));
    check("add.s64 %rd9, %rd1, %rd2;", |a, b, c| wide(a, b).wrapping_add(wide(b, c)));
    check("mul.lo.s64 %rd9, %rd1, %rd2;", |a, b, c| wide(a, b).wrapping_mul(wide(b, c)));
    check("mul.hi.u64 %rd9, %rd1, %rd2;", |a, b, c| ((u128::from(wide(a, b)) * u128::from(wide(b, c))) >> 64) as u64);
    check("div.s64 %rd9, %rd1, %rd2;", |a, b, c| match wide(b, c) as i64 {
        0 => u64::MAX,
        d => (wide(a, b) as i64).wrapping_div(d) as u64,
    });
    check("shr.s64 %rd9, %rd1, %r3;", |a, b, c| ((wide(a, b) as i64) >> c.min(63)) as u64);
    check("shl.b64 %rd9, %rd1, %r3;", |a, b, c| wide(a, b).checked_shl(c).unwrap_or(0));
    check("max.s64 %rd9, %rd1, %rd2;", |a, b, c| (wide(a, b) as i64).max(wide(b, c) as i64) as u64);
}

fn u16_op(op: impl Fn(u16, u16) -> u16) -> impl Fn(u16, u16, u16) -> u16 {
    move |a, b, _| op(a, b)
}

#[test]
fn bits() {
    check32("shl.b32 %r9, %r1, %r2;", |a, b, _| a.checked_shl(b).unwrap_or(0));
    check32("shr.u32 %r9, %r1, %r2;", |a, b, _| a.checked_shr(b).unwrap_or(0));
    check32("shr.s32 %r9, %r1, %r2;", |a, b, _| ((a as i32) >> b.min(31)) as u32);
    check32("shf.l.wrap.b32 %r9, %r1, %r2, %r3;", |a, b, c| (wide(a, b) << (c & 31) >> 32) as u32);
    check32("shf.r.clamp.b32 %r9, %r1, %r2, %r3;", |a, b, c| (wide(a, b) >> c.min(32)) as u32);
    check32("and.b32 %r9, %r1, %r2;", |a, b, _| a & b);
    check32("not.b32 %r9, %r1;", |a, _, _| !a);
    check32("cnot.b32 %r9, %r1;", |a, _, _| u32::from(a == 0));
    check32("popc.b32 %r9, %r1;", |a, _, _| a.count_ones());
    check32("popc.b64 %r9, %rd1;", |a, b, _| a.count_ones() + b.count_ones());
    check32("clz.b32 %r9, %r1;", |a, _, _| a.leading_zeros());
    check32("clz.b64 %r9, %rd1;", |a, b, _| wide(a, b).leading_zeros());
    check32("brev.b32 %r9, %r1;", |a, _, _| a.reverse_bits());
    check32("lop3.b32 %r9, %r1, %r2, %r3, 0x1b;", |a, b, c| {
        (0..32).fold(0, |r, i| {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
            r | (0x1b >> index & 1) << i
        })
    });
    check32("prmt.b32 %r9, %r1, %r2, %r3;", |a, b, c| {
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        u32::from_le_bytes(std::array::from_fn(|i| {
            let s = c >> (4 * i);
            let byte = bytes[s as usize & 7];
            if s & 8 == 0 {
                byte
            } else if byte & 0x80 != 0 {
                0xff
            } else {
                0
            }
        }))
    });
    let field = |signed: bool| {
        move |a: u32, b: u32, c: u32| {
            let (pos, len) = (b & 0xff, c & 0xff);
            let sign = if signed && len > 0 { a >> (pos + len - 1).min(31) & 1 } else { 0 };
            (0..32).fold(0, |r, i| r | (if i < len && pos + i <= 31 { a >> (pos + i) & 1 } else { sign }) << i)
        }
    };
    check32("bfe.u32 %r9, %r1, %r2, %r3;", field(false));
    check32("bfe.s32 %r9, %r1, %r2, %r3;", field(true));
    check32("bfi.b32 %r9, %r1, %r2, %r3, 7;", |a, b, c| {
        let pos = c & 0xff;
        (0..7).filter(|i| pos + i <= 31).fold(b, |r, i| (r & !(1 << (pos + i))) | (a >> i & 1) << (pos + i))
    });
    check32("bfind.u32 %r9, %r1;", |a, _, _| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() });
    check32("bfind.shiftamt.s32 %r9, %r1;", |a, _, _| {
        let x = if (a as i32) < 0 { !a } else { a };
        if x == 0 { u32::MAX } else { x.leading_zeros() }
    });
}

#[test]
fn float_32() {
    check_f32("add.rn.f32 %f9, %f1, %f2;", |a, b, _| a + b);
    check_f32("sub.f32 %f9, %f1, %f2;", |a, b, _| a - b);
    check_f32("mul.rn.f32 %f9, %f1, %f2;", |a, b, _| a * b);
    check_f32("fma.rn.f32 %f9, %f1, %f2, %f3;", f32::mul_add);
    check_f32("div.rn.f32 %f9, %f1, %f2;", |a, b, _| a / b);
    check_f32("sqrt.rn.f32 %f9, %f1;", |a, _, _| a.sqrt());
    check_f32("rcp.rn.f32 %f9, %f1;", |a, _, _| 1.0 / a);
    let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    check_f32("mul.rn.ftz.f32 %f9, %f1, %f2;", move |a, b, _| flush(flush(a) * flush(b)));
    check_f32(
        "add.sat.f32 %f9, %f1, %f2;",
        |a, b, _| if (a + b).is_nan() { 0.0 } else { (a + b).clamp(0.0, 1.0) + 0.0 },
    );
    check_f32("min.f32 %f9, %f1, %f2;", |a, b, _| match (a.is_nan(), b.is_nan()) {
        (false, false) if a == b => f32::from_bits(a.to_bits() | b.to_bits()),
        _ => a.min(b),
    });
    check_f32("max.NaN.f32 %f9, %f1, %f2;", |a, b, _| match (a.is_nan(), b.is_nan()) {
        (false, false) if a == b => f32::from_bits(a.to_bits() & b.to_bits()),
        (false, false) => a.max(b),
        _ => f32::NAN,
    });
    check_f32("neg.f32 %f9, %f1;", |a, _, _| -a);
    check_f32("abs.f32 %f9, %f1;", |a, _, _| a.abs());
    check32("copysign.f32 %f9, %f1, %f2;\nmov.b32 %r9, %f9;", |a, b, _| a & 0x8000_0000 | b & 0x7fff_ffff);
}

#[test]
fn float_32_directed() {
    // The exact product is an f64, so that the neighbours of its nearest float enclose it.
    let directed = |x: f64, up: bool| {
        let near = x as f32;
        if near.is_nan() {
            return near;
        }
        let wide = f64::from(near);
        match up {
            true if wide < x => near.next_up(),
            false if wide > x => near.next_down(),
            _ => near,
        }
    };
    check_f32("mul.rp.f32 %f9, %f1, %f2;", move |a, b, _| directed(f64::from(a) * f64::from(b), true));
    check_f32("mul.rm.f32 %f9, %f1, %f2;", move |a, b, _| directed(f64::from(a) * f64::from(b), false));
    check_f32("mul.rz.f32 %f9, %f1, %f2;", move |a, b, _| {
        let x = f64::from(a) * f64::from(b);
        directed(x, x < 0.0)
    });
}

#[test]
fn float_64() {
    let f = |a, b| f64::from_bits(wide(a, b));
    let one = |body: &str, want: &dyn Fn(f64, f64, f64) -> f64| {
        let body =
            format!("mov.b64 %fd1, %rd1;\nmov.b64 %fd2, %rd2;\nmov.b64 %fd3, %rd3;\n{body}\nmov.b64 %rd9, %fd9;");
        for ([a, b, c], got) in results(&body) {
            let want = want(f(a, b), f(b, c), f(c, a));
            let got = f64::from_bits(got);
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{body} on {a:#x} {b:#x} {c:#x}"
            );
        }
    };
    one("add.rn.f64 %fd9, %fd1, %fd2;", &|a, b, _| a + b);
    one("mul.rn.f64 %fd9, %fd1, %fd2;", &|a, b, _| a * b);
    one("fma.rn.f64 %fd9, %fd1, %fd2, %fd3;", &|a, b, c| a.mul_add(b, c));
    one("div.rn.f64 %fd9, %fd1, %fd2;", &|a, b, _| a / b);
    one("sqrt.rn.f64 %fd9, %fd1;", &|a, _, _| a.sqrt());
}

#[test]
fn approximations_are_within_their_bounds() {
    let near = |instruction: &str, ulps: u32, want: &dyn Fn(f64) -> f64| {
        for ([a, ..], got) in results(&format!("{instruction}\nmov.b32 %r9, %f9;\ncvt.u64.u32 %rd9, %r9;")) {
            let got = f32::from_bits(got as u32);
            let want = want(f32::from_bits(a).into()) as f32;
            let close = got.to_bits().abs_diff(want.to_bits()) <= ulps;
            assert!(close || (got.is_nan() && want.is_nan()), "{instruction} on {a:#x}: {got:e} not {want:e}");
        }
    };
    near("ex2.approx.f32 %f9, %f1;", 1, &|x| x.exp2());
    near("lg2.approx.f32 %f9, %f1;", 1, &|x| x.log2());
    near("rsqrt.approx.f32 %f9, %f1;", 1, &|x| 1.0 / x.sqrt());
    near("rcp.approx.f32 %f9, %f1;", 1, &|x| 1.0 / x);
    near("sqrt.approx.f32 %f9, %f1;", 1, &|x| x.sqrt());
    near("tanh.approx.f32 %f9, %f1;", 1, &|x| x.tanh());
}

#[test]
fn halves() {
    let nan16 = |x: u16, is_nan: bool| if is_nan { 0x7fff } else { x };
    let f16 = |x: f32| nan16(f32_to_f16(x), x.is_nan());
    let bf16 = |x: f32| nan16(f32_to_bf16(x), x.is_nan());
    check16("add.rn.f16 %h9, %h1, %h2;", move |a, b, _| f16(f16_to_f32(a) + f16_to_f32(b)));
    check16("mul.rn.f16 %h9, %h1, %h2;", move |a, b, _| f16(f16_to_f32(a) * f16_to_f32(b)));
    check16("sub.rn.bf16 %h9, %h1, %h2;", move |a, b, _| bf16(bf16_to_f32(a) - bf16_to_f32(b)));
    check16("neg.bf16 %h9, %h1;", move |a, _, _| bf16(-bf16_to_f32(a)));
    check32("add.rn.f16x2 %r9, %r1, %r2;", move |a, b, _| {
        let half = |s: u32| u32::from(f16(f16_to_f32((a >> s) as u16) + f16_to_f32((b >> s) as u16))) << s;
        half(0) | half(16)
    });
    check32("max.bf16x2 %r9, %r1, %r2;", move |a, b, _| {
        let half = |s: u32| {
            let (x, y) = ((a >> s) as u16, (b >> s) as u16);
            let (fx, fy) = (bf16_to_f32(x), bf16_to_f32(y));
            let pick = match (fx.is_nan(), fy.is_nan()) {
                (true, true) => 0x7fff,
                (true, false) => y,
                (false, true) => x,
                _ if fx == fy => x & y,
                _ => {
                    if fx > fy {
                        x
                    } else {
                        y
                    }
                }
            };
            u32::from(pick) << s
        };
        half(0) | half(16)
    });
}

#[test]
fn conversions() {
    check("cvt.s64.s32 %rd9, %r1;", |a, _, _| i64::from(a as i32) as u64);
    check("cvt.u64.u16 %rd9, %h1;", |a, _, _| u64::from(a as u16));
    check32("cvt.s32.s8 %r9, %r1;", |a, _, _| i32::from(a as i8) as u32);
    check32("cvt.u32.u64 %r9, %rd1;", |a, _, _| a);
    check32("cvt.sat.u8.s32 %r9, %r1;", |a, _, _| (a as i32).clamp(0, 255) as u32);
    check32("cvt.sat.s16.u32 %r9, %r1;", |a, _, _| a.min(0x7fff));
    check_f32("cvt.rn.f32.s32 %f9, %r1;", |a, _, _| a.to_bits() as i32 as f32);
    check_f32("cvt.rn.f32.u64 %f9, %rd1;", |a, b, _| wide(a.to_bits(), b.to_bits()) as f32);
    check_f32("cvt.rz.f32.u32 %f9, %r1;", |a, _, _| {
        let (x, near) = (a.to_bits(), a.to_bits() as f32);
        if f64::from(near) > f64::from(x) { near.next_down() } else { near }
    });
    check32("cvt.rni.s32.f32 %r9, %f1;", |a, _, _| f32::from_bits(a).round_ties_even() as i32 as u32);
    check32("cvt.rzi.u32.f32 %r9, %f1;", |a, _, _| f32::from_bits(a) as u32);
    check32("cvt.rmi.s32.f32 %r9, %f1;", |a, _, _| f32::from_bits(a).floor() as i32 as u32);
    check("cvt.rpi.s64.f32 %rd9, %f1;", |a, _, _| match f32::from_bits(a) {
        x if x.is_nan() => 1 << 63,
        x => x.ceil() as i64 as u64,
    });
    check_f32("cvt.rni.f32.f32 %f9, %f1;", |a, _, _| a.round_ties_even());
    check("cvt.rn.bf16.f32 %h9, %f1;\ncvt.u64.u16 %rd9, %h9;", |a, _, _| f32_to_bf16(f32::from_bits(a)).into());
    check("cvt.rn.f16.f32 %h9, %f1;\ncvt.u64.u16 %rd9, %h9;", |a, _, _| f32_to_f16(f32::from_bits(a)).into());
    check_f32("cvt.f32.f16 %f9, %h1;", |a, _, _| f16_to_f32(a.to_bits() as u16));
    check32("cvt.f32.bf16 %f9, %h1;\nmov.b32 %r9, %f9;", |a, _, _| a << 16);
    check32("cvt.rn.bf16x2.f32 %r9, %f1, %f2;", |a, b, _| {
        u32::from(f32_to_bf16(f32::from_bits(a))) << 16 | u32::from(f32_to_bf16(f32::from_bits(b)))
    });
    check32("cvt.rn.f16x2.f32 %r9, %f1, %f2;", |a, b, _| {
        u32::from(f32_to_f16(f32::from_bits(a))) << 16 | u32::from(f32_to_f16(f32::from_bits(b)))
    });
}

#[test]
fn comparisons_and_selection() {
    let select = |compare: &str| format!("setp.{compare} %p1, %r1, %r2;\nselp.u32 %r9, %r1, %r3, %p1;");
    let pick = |yes: bool, a: u32, c: u32| if yes { a } else { c };
    check32(&select("lt.s32"), |a, b, c| pick((a as i32) < b as i32, a, c));
    check32(&select("lo.u32"), |a, b, c| pick(a < b, a, c));
    check32(&select("ne.b32"), |a, b, c| pick(a != b, a, c));
    let select = |compare: &str| format!("setp.{compare} %p1, %f1, %f2;\nselp.u32 %r9, %r1, %r3, %p1;");
    let f = f32::from_bits;
    check32(&select("lt.f32"), |a, b, c| pick(f(a) < f(b), a, c));
    check32(&select("ne.f32"), |a, b, c| pick(f(a) < f(b) || f(a) > f(b), a, c));
    check32(&select("neu.f32"), |a, b, c| pick(f(a) != f(b), a, c));
    check32(&select("geu.f32"), |a, b, c| pick(f(a) >= f(b) || f(a).is_nan() || f(b).is_nan(), a, c));
    check32(&select("num.f32"), |a, b, c| pick(!f(a).is_nan() && !f(b).is_nan(), a, c));
    let both = "setp.gt.s32 %p3, %r3, 0;\nsetp.lt.and.u32 %p1|%p2, %r1, %r2, %p3;\nselp.u32 %r4, 1, 0, %p1;\n\
                selp.u32 %r5, 2, 0, %p2;\nor.b32 %r9, %r4, %r5;";
    check32(both, |a, b, c| {
        let c = c as i32 > 0;
        u32::from(a < b && c) | u32::from(a >= b && c) << 1
    });
    let not = "setp.gt.s32 %p3, %r3, 0;\nsetp.eq.xor.u32 %p1, %r1, %r2, !%p3;\nselp.u32 %r9, 1, 0, %p1;";
    check32(not, |a, b, c| u32::from((a == b) != (c as i32 <= 0)));
    check32("set.lt.u32.s32 %r9, %r1, %r2;", |a, b, _| if (a as i32) < b as i32 { u32::MAX } else { 0 });
    check_f32("set.gt.f32.f32 %f9, %f1, %f2;", |a, b, _| if a > b { 1.0 } else { 0.0 });
    check32("slct.u32.s32 %r9, %r1, %r2, %r3;", |a, b, c| if c as i32 >= 0 { a } else { b });
}

#[test]
fn moves() {
    check("mov.b64 {%r4, %r5}, %rd1;\nmov.b64 %rd9, {%r5, %r4};", |a, b, _| wide(b, a));
    check32("mov.b32 {%h4, %h5}, %r1;\nmov.b32 %r9, {%h5, %h4};", |a, _, _| a.rotate_left(16));
    check("mov.b64 {%h4, %h5, %h6, %h7}, %rd1;\nmov.b64 %rd9, {%h7, %h6, %h5, %h4};", |a, b, _| {
        wide(b.rotate_left(16), a.rotate_left(16))
    });
}

#[test]
fn shuffles() {
    let lanes = |body: &str| {
        let text = kernel(
            ".param .u64 out",
            "",
            &format!(
                "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n\
                 add.u32 %r2, %r1, 100;\n{body}\nselp.u32 %r4, 1000, 0, %p1;\nadd.u32 %r3, %r3, %r4;\n\
                 st.global.u32 [%rd2], %r3;"
            ),
        );
        let mut s = system();
        let out = s.u32s("out", &[0; 32]);
        assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(out)])));
        s.read_u32s(out, 32)
    };
    let want = |f: &dyn Fn(u32) -> Option<u32>| -> Vec<u32> {
        (0..32).map(|l| f(l).map_or(l + 100, |from| from + 1100)).collect()
    };
    assert_eq!(lanes("shfl.sync.up.b32 %r3|%p1, %r2, 3, 0, -1;"), want(&|l| l.checked_sub(3)));
    assert_eq!(lanes("shfl.sync.down.b32 %r3|%p1, %r2, 5, 31, -1;"), want(&|l| (l + 5 < 32).then_some(l + 5)));
    assert_eq!(lanes("shfl.sync.bfly.b32 %r3|%p1, %r2, 16, 31, -1;"), want(&|l| Some(l ^ 16)));
    // Segments of eight lanes: c = (32 - 8) << 8 | 7.
    assert_eq!(lanes("shfl.sync.idx.b32 %r3|%p1, %r2, 2, 6175, -1;"), want(&|l| Some(l & 24 | 2)));
    assert_eq!(lanes("shfl.sync.down.b32 %r3|%p1, %r2, 1, 6151, -1;"), want(&|l| (l % 8 != 7).then_some(l + 1)));
    let up = want(&|l| if l % 8 >= 1 { Some(l - 1) } else { None });
    assert_eq!(lanes("shfl.sync.up.b32 %r3|%p1, %r2, 1, 6144, -1;"), up);
}
