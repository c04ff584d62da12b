//! Arithmetic, bits and mathematics.

use crate::harness::{Case, CaseParams, Host, floats, unary, words};
use half::{bf16, f16};
use warpsmith_dsl::prelude::*;

/// A function of two neighbours.
fn binary<A: Element, B: Element, HA: Host, HB: Host + PartialEq>(
    name: impl Into<String>,
    fill: impl Fn(&mut warpsmith_kernels::random::Random) -> Vec<u8> + Send + Sync + 'static,
    f: impl Fn(A, A) -> B + Send + Sync + 'static,
    expected: impl Fn(HA, HA) -> HB + Send + Sync + 'static,
) -> Case {
    let name: String = name.into();
    let said = name.clone();
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x);
        let [p, q] = [0, 1].map(|k| a.x.at::<A>(((i * 2 + k) * A::COUNT,)).load());
        a.y.at::<B>((i * B::COUNT,)).store(f(p, q));
    };
    let check = move |x: &[u8], y: &[u8]| {
        for (x, y) in HA::read(x).chunks(2).zip(HB::read(y)) {
            let right = expected(x[0], x[1]);
            let same = HB::write(&[right]) == HB::write(&[y]) || right != right && y != y;
            assert!(same, "{said} of {x:?}: {y:?} and not {right:?}");
        }
    };
    Case::new(name, A::DTYPE, (B::DTYPE, 32 * B::COUNT), fill, body, check)
}

macro_rules! integers {
    ($all:ident; $($t:ident $h:ty;)*) => {$(
        integers!(@op $all $t $h; "add" |a, b| a + b, wrapping_add; "sub" |a, b| a - b, wrapping_sub;
            "mul" |a, b| a * b, wrapping_mul;);
        integers!(@plain $all $t $h; "and" |a, b| a & b; "or" |a, b| a | b; "xor" |a, b| a ^ b;);
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " div"), words::<$h>(64),
            |a: $t, b: $t| a / (b | 1), |a: $h, b: $h| a.wrapping_div(b | 1)));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " rem"), words::<$h>(64),
            |a: $t, b: $t| a % (b | 1), |a: $h, b: $h| a.wrapping_rem(b | 1)));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " min"), words::<$h>(64), |a: $t, b| a.min(b), |a: $h, b| a.min(b)));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " max"), words::<$h>(64), |a: $t, b| a.max(b), |a: $h, b| a.max(b)));
        $all.push(binary::<$t, U32, $h, u32>(concat!(stringify!($t), " compare"), words::<$h>(64), |a: $t, b: $t| {
            let bit = |c: Bool, n: usize| select(c, U32::from(n), 0);
            bit(a.lt(b), 1) | bit(a.le(b), 2) | bit(a.gt(b), 4) | bit(a.ge(b), 8) | bit(a.eq(b), 16) | bit(a.ne(b), 32)
        }, |a: $h, b: $h| compare(a.partial_cmp(&b))));
    )*};
    (@op $all:ident $t:ident $h:ty; $($name:literal |$a:ident, $b:ident| $e:expr, $host:ident;)*) => {$(
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " ", $name), words::<$h>(64),
            |$a: $t, $b: $t| $e, |a: $h, b: $h| a.$host(b)));
    )*};
    (@plain $all:ident $t:ident $h:ty; $($name:literal |$a:ident, $b:ident| $e:expr;)*) => {$(
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " ", $name), words::<$h>(64),
            |$a: $t, $b: $t| $e, |$a: $h, $b: $h| $e));
    )*};
}

fn compare(order: Option<std::cmp::Ordering>) -> u32 {
    use std::cmp::Ordering::*;
    match order {
        Some(Less) => 1 | 2 | 32,
        Some(Equal) => 2 | 8 | 16,
        Some(Greater) => 4 | 8 | 32,
        None => 32,
    }
}

macro_rules! floating {
    ($all:ident; $($t:ident $h:ty, $fill:expr, $to:expr, $from:expr;)*) => {$(
        floating!(@op $all $t $h, $fill, $to, $from; "add" |a, b| a + b; "sub" |a, b| a - b; "mul" |a, b| a * b;
);
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " min"), $fill, |a: $t, b: $t| a.min(b), |a: $h, b: $h| {
            $from(least($to(a), $to(b)) as _)
        }));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " max"), $fill, |a: $t, b: $t| a.max(b), |a: $h, b: $h| {
            $from(greatest($to(a), $to(b)) as _)
        }));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " neg abs"), $fill, |a: $t, b: $t| (-a).abs() - b, |a: $h, b: $h| {
            $from((-$to(a)).abs() - $to(b))
        }));
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " fma"), $fill, |a: $t, b: $t| a.mul_add(b, 1.5), |a: $h, b: $h| {
            $from($to(a).mul_add($to(b), 1.5))
        }));
        $all.push(binary::<$t, U32, $h, u32>(concat!(stringify!($t), " compare"), $fill, |a: $t, b: $t| {
            let bit = |c: Bool, n: usize| select(c, U32::from(n), 0);
            bit(a.lt(b), 1) | bit(a.le(b), 2) | bit(a.gt(b), 4) | bit(a.ge(b), 8) | bit(a.eq(b), 16) | bit(a.ne(b), 32)
        }, |a: $h, b: $h| compare($to(a).partial_cmp(&$to(b)))));
    )*};
    (@op $all:ident $t:ident $h:ty, $fill:expr, $to:expr, $from:expr; $($name:literal |$a:ident, $b:ident| $e:expr;)*) => {$(
        $all.push(binary::<$t, $t, $h, $h>(concat!(stringify!($t), " ", $name), $fill,
            |$a: $t, $b: $t| $e, |a: $h, b: $h| { let ($a, $b) = ($to(a), $to(b)); $from($e) }));
    )*};
}

/// As PTX says: −0 is below +0, and NaN gives way.
fn least<T: Into<f64> + Copy>(a: T, b: T) -> f64 {
    let (a, b) = (a.into(), b.into());
    if a == b && b.is_sign_negative() { b } else { a.min(b) }
}

fn greatest<T: Into<f64> + Copy>(a: T, b: T) -> f64 {
    let (a, b) = (a.into(), b.into());
    if a == b && b.is_sign_positive() { b } else { a.max(b) }
}

/// Sums and products of halves in binary64 are exact, so that rounding once is right.
fn f16_from(x: f64) -> u16 {
    if x.is_nan() { 0x7fff } else { f16::from_f64(x).to_bits() }
}
fn bf16_from(x: f64) -> u16 {
    if x.is_nan() { 0x7fff } else { bf16::from_f64(x).to_bits() }
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    integers! { all; U16 u16; I16 i16; U32 u32; I32 i32; U64 u64; I64 i64; }
    let doubles = |r: &mut warpsmith_kernels::random::Random| {
        f64::write(&(0..64).map(|_| r.uniform() * 20.0 - 10.0).collect::<Vec<_>>())
    };
    let halves = |r: &mut warpsmith_kernels::random::Random| {
        u16::write(&(0..64).map(|_| f16_from(r.uniform() * 20.0 - 10.0)).collect::<Vec<_>>())
    };
    let brains = |r: &mut warpsmith_kernels::random::Random| {
        u16::write(&(0..64).map(|_| bf16_from(r.uniform() * 20.0 - 10.0)).collect::<Vec<_>>())
    };
    floating! { all;
        F32 f32, floats(64), |x: f32| x, |x: f32| x;
        F64 f64, doubles, |x: f64| x, |x: f64| x;
        F16 u16, halves, |x: u16| f16::from_bits(x).to_f64(), f16_from;
        BF16 u16, brains, |x: u16| bf16::from_bits(x).to_f64(), bf16_from;
    }
    all.extend(exact(doubles));
    all.extend(approximate());
    all.extend(packed());
    all.extend(bits());
    all
}

fn exact(doubles: fn(&mut warpsmith_kernels::random::Random) -> Vec<u8>) -> Vec<Case> {
    vec![
        binary::<F32, F32, f32, f32>("F32 div", floats(64), |a, b| a / b, |a, b| a / b),
        binary::<F64, F64, f64, f64>("F64 div", doubles, |a, b| a / b, |a, b| a / b),
        binary::<F64, F64, f64, f64>(
            "F64 sqrt rcp",
            doubles,
            |a, b| a.abs().sqrt_exact() * b.rcp_exact(),
            |a, b| a.abs().sqrt() * (1.0 / b),
        ),
        binary::<F32, F32, f32, f32>(
            "F32 rcp sqrt exact",
            floats(64),
            |a, b| a.rcp_exact() + b.abs().sqrt_exact(),
            |a, b| 1.0 / a + b.abs().sqrt(),
        ),
        binary::<F32, F32, f32, f32>(
            "F32 max_nan copysign",
            floats(64),
            |a, b| a.max_nan(b).copysign(b),
            |a, b| {
                if a.is_nan() || b.is_nan() { f32::NAN } else { (greatest(a, b) as f32).copysign(b) }
            },
        ),
        binary::<F32, F32, f32, f32>(
            "F32 min_nan",
            floats(64),
            |a, b| a.min_nan(b),
            |a, b| {
                if a.is_nan() || b.is_nan() { f32::NAN } else { least(a, b) as f32 }
            },
        ),
        unary::<F32, F32, f32, f32>("F32 round", floats(32), |x| x.round(), f32::round_ties_even),
        unary::<F32, F32, f32, f32>("F32 trunc", floats(32), |x| x.trunc(), f32::trunc),
        unary::<F32, F32, f32, f32>("F32 floor", floats(32), |x| x.floor(), f32::floor),
        unary::<F32, F32, f32, f32>("F32 ceil", floats(32), |x| x.ceil(), f32::ceil),
        unary::<F32, F32, f32, f32>(
            "F32 saturate",
            floats(32),
            |x| x.saturate(),
            |x| {
                if x.is_nan() || x <= 0.0 { 0.0 } else { x.min(1.0) }
            },
        ),
        unary::<F32, U32, f32, u32>("F32 bits", floats(32), |x| F32::from_bits(x.to_bits()).to_bits(), f32::to_bits),
        unary::<F32, F32, f32, f32>(
            "F32 add Zero",
            floats(32),
            |x| x.rounding(Rounding::Zero).add(0.1),
            |x| {
                let exact = f64::from(x) + f64::from(0.1f32);
                let near = exact as f32;
                if f64::from(near).abs() > exact.abs() && near.is_finite() {
                    f32::from_bits(near.to_bits() - 1)
                } else {
                    near
                }
            },
        ),
        unary::<F32, F32, f32, f32>(
            "F32 mul Up",
            floats(32),
            |x| x.rounding(Rounding::Up).mul(1.1),
            |x| {
                let exact = f64::from(x) * f64::from(1.1f32);
                let near = exact as f32;
                if f64::from(near) < exact { near.next_up() } else { near }
            },
        ),
        unary::<F32, F32, f32, f32>(
            "F32 roundings",
            floats(32),
            |x| {
                let r = x.abs().rounding(Rounding::NearestEven);
                r.sqrt() + r.mul_add(2.0, 1.0) - r.sub(3.0) + (r.div(3.0) - r.rcp())
            },
            |x| {
                let x = x.abs();
                x.sqrt() + x.mul_add(2.0, 1.0) - (x - 3.0) + (x / 3.0 - 1.0 / x)
            },
        ),
    ]
}

/// Within a bound of relative error, ordinary arguments.
fn near(name: &'static str, bound: f64, f: fn(F32) -> F32, expected: fn(f64) -> f64) -> Case {
    let fill = |r: &mut warpsmith_kernels::random::Random| {
        f32::write(&(0..32).map(|_| (r.uniform() * 6.0 + 0.1) as f32).collect::<Vec<_>>())
    };
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x);
        a.y.at::<F32>((i,)).store(f(a.x.at::<F32>((i,)).load()));
    };
    let check = move |x: &[u8], y: &[u8]| {
        for (x, y) in f32::read(x).into_iter().zip(f32::read(y)) {
            let right = expected(f64::from(x));
            // Near a zero of the function the error is absolute.
            let error = ((f64::from(y) - right) / right.abs().max(0.1)).abs();
            assert!(error < bound, "{name} of {x}: {y} and not {right}");
        }
    };
    Case::new(name, DType::F32, (DType::F32, 32), fill, body, check)
}

fn approximate() -> Vec<Case> {
    vec![
        near("rsqrt", 4e-7, F32::rsqrt, |x| 1.0 / x.sqrt()),
        near("sqrt", 4e-7, F32::sqrt, f64::sqrt),
        near("rcp", 4e-7, F32::rcp, |x| 1.0 / x),
        near("exp2", 4e-7, F32::exp2, f64::exp2),
        near("log2", 2e-6, F32::log2, f64::log2),
        near("exp", 2e-6, F32::exp, f64::exp),
        near("log", 2e-6, F32::log, f64::ln),
        near("tanh", 2e-3, F32::tanh, f64::tanh),
        near("sin", 2e-3, F32::sin, f64::sin),
        near("cos", 2e-3, F32::cos, f64::cos),
        near("sigmoid", 1e-6, F32::sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        near("silu", 1e-6, F32::silu, |x| x / (1.0 + (-x).exp())),
        near("gelu", 2e-6, F32::gelu, |x| 0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044715 * x * x * x)).tanh())),
        near("exp precise", 3e-7, F32::exp_precise, f64::exp),
        near("exp2 precise", 3e-7, F32::exp2_precise, f64::exp2),
        near("log precise", 3e-7, F32::log_precise, f64::ln),
        near("log2 precise", 3e-7, F32::log2_precise, f64::log2),
        near("tanh precise", 4e-7, F32::tanh_precise, f64::tanh),
        near("rsqrt precise", 2e-7, F32::rsqrt_precise, |x| 1.0 / x.sqrt()),
        near("div approximate", 4e-7, |x| x.div_approximate(3.0), |x| x / 3.0),
    ]
}

fn packed() -> Vec<Case> {
    let f16s = |r: &mut warpsmith_kernels::random::Random| {
        u16::write(&(0..128).map(|_| f16_from(r.uniform() * 20.0 - 10.0)).collect::<Vec<_>>())
    };
    let bf16s = |r: &mut warpsmith_kernels::random::Random| {
        u16::write(&(0..128).map(|_| bf16_from(r.uniform() * 20.0 - 10.0)).collect::<Vec<_>>())
    };
    let h = |f: fn(f64, f64) -> f64| {
        move |a: u32, b: u32| {
            let one = |a: u16, b: u16| u32::from(f16_from(f(f16::from_bits(a).to_f64(), f16::from_bits(b).to_f64())));
            one(a as u16, b as u16) | one((a >> 16) as u16, (b >> 16) as u16) << 16
        }
    };
    let b = |f: fn(f64, f64) -> f64| {
        move |x: u32, y: u32| {
            let one =
                |a: u16, b: u16| u32::from(bf16_from(f(bf16::from_bits(a).to_f64(), bf16::from_bits(b).to_f64())));
            one(x as u16, y as u16) | one((x >> 16) as u16, (y >> 16) as u16) << 16
        }
    };
    type H = F16x2;
    type B = BF16x2;
    let loose = |name: &'static str, f: fn(F16x2) -> F16x2, expected: fn(f64) -> f64| {
        let body = move |a: &CaseParams| {
            let i = Dim::from(thread_idx().x) * 2;
            a.y.at::<F16x2>((i,)).store(f(a.x.at::<F16x2>((i,)).load()));
        };
        let check = move |x: &[u8], y: &[u8]| {
            for (x, y) in u16::read(x).into_iter().zip(u16::read(y)) {
                let (x, y) = (f16::from_bits(x).to_f64(), f16::from_bits(y).to_f64());
                let right = expected(x);
                assert!((y - right).abs() <= 2e-3 * right.abs().max(1e-2), "{name} of {x}: {y} and not {right}");
            }
        };
        let fill = |r: &mut warpsmith_kernels::random::Random| {
            u16::write(&(0..64).map(|_| f16_from(r.uniform() * 4.0 - 2.0)).collect::<Vec<_>>())
        };
        Case::new(name, DType::F16, (DType::F16, 64), fill, body, check)
    };
    vec![
        binary::<H, H, u32, u32>("F16x2 add", f16s, |x, y| x + y, h(|x, y| x + y)),
        binary::<H, H, u32, u32>("F16x2 sub", f16s, |x, y| x - y, h(|x, y| x - y)),
        binary::<H, H, u32, u32>("F16x2 mul", f16s, |x, y| x * y, h(|x, y| x * y)),
        binary::<H, H, u32, u32>("F16x2 fma", f16s, |x, y| x.mul_add(y, 1.5), h(|x, y| x * y + 1.5)),
        binary::<H, H, u32, u32>(
            "F16x2 fma relu",
            f16s,
            |x, y| x.mul_add_relu(y, 1.5),
            h(|x, y| (x * y + 1.5).max(0.0)),
        ),
        binary::<H, H, u32, u32>("F16x2 max", f16s, |x, y| x.max(y), h(f64::max)),
        binary::<H, H, u32, u32>("F16x2 min_nan", f16s, |x, y| x.min_nan(y), h(f64::min)),
        binary::<H, H, u32, u32>("F16x2 neg abs", f16s, |x, y| -(x.abs()) + y, h(|x, y| y - x.abs())),
        binary::<H, H, u32, u32>("F16x2 new", f16s, |x, y| F16x2::new(x.high(), y.low()), |x, y| x >> 16 | y << 16),
        binary::<B, B, u32, u32>("BF16x2 add", bf16s, |x, y| x + y, b(|x, y| x + y)),
        binary::<B, B, u32, u32>("BF16x2 sub", bf16s, |x, y| x - y, b(|x, y| x - y)),
        binary::<B, B, u32, u32>("BF16x2 mul", bf16s, |x, y| x * y, b(|x, y| x * y)),
        binary::<B, B, u32, u32>("BF16x2 fma", bf16s, |x, y| x.mul_add(y, 1.5), b(|x, y| x * y + 1.5)),
        binary::<B, B, u32, u32>("BF16x2 max_nan", bf16s, |x, y| x.max_nan(y), b(f64::max)),
        binary::<B, B, u32, u32>("BF16x2 min", bf16s, |x, y| x.min(y), b(f64::min)),
        binary::<B, B, u32, u32>("BF16x2 neg", bf16s, |x, y| -x + y, b(|x, y| y - x)),
        loose("F16x2 exp2", F16x2::exp2, f64::exp2),
        loose("F16x2 tanh", F16x2::tanh, f64::tanh),
    ]
}

fn bits() -> Vec<Case> {
    let w = words::<u32>;
    vec![
        unary::<U32, U32, u32, u32>("count_ones", w(32), |x| x.count_ones(), u32::count_ones),
        unary::<U32, U32, u32, u32>("leading_zeros", w(32), |x| x.leading_zeros(), u32::leading_zeros),
        unary::<U32, U32, u32, u32>("reverse_bits", w(32), |x| x.reverse_bits(), u32::reverse_bits),
        unary::<U32, U32, u32, u32>(
            "highest_bit",
            w(32),
            |x| x.highest_bit(),
            |x| x.checked_ilog2().unwrap_or(u32::MAX),
        ),
        unary::<U64, U32, u64, u32>("count_ones 64", words::<u64>(32), |x| x.count_ones(), u64::count_ones),
        unary::<U64, U32, u64, u32>("leading_zeros 64", words::<u64>(32), |x| x.leading_zeros(), u64::leading_zeros),
        unary::<U64, U64, u64, u64>("reverse_bits 64", words::<u64>(32), |x| x.reverse_bits(), u64::reverse_bits),
        unary::<U32, U32, u32, u32>("shifts", w(32), |x| (x << 3usize) ^ (x >> 5usize), |x| x << 3 ^ x >> 5),
        unary::<I32, I32, i32, i32>(
            "signed shifts",
            words::<i32>(32),
            |x| (x << 3usize) ^ (x >> 5usize),
            |x| x << 3 ^ x >> 5,
        ),
        unary::<U64, U64, u64, u64>(
            "shifts 64",
            words::<u64>(32),
            |x| (x << 3usize) ^ (x >> 45usize),
            |x| x << 3 ^ x >> 45,
        ),
        unary::<I64, I64, i64, i64>(
            "signed shifts 64",
            words::<i64>(32),
            |x| (x << 3usize) ^ (x >> 45usize),
            |x| x << 3 ^ x >> 45,
        ),
        unary::<U32, U32, u32, u32>("extract_bits", w(32), |x| x.extract_bits(5, 9), |x| x >> 5 & 0x1ff),
        unary::<I32, I32, i32, i32>(
            "extract_bits signed",
            words::<i32>(32),
            |x| x.extract_bits(5, 9),
            |x| x << 18 >> 23,
        ),
        binary::<U32, U32, u32, u32>(
            "insert_bits",
            w(64),
            |x, y| x.insert_bits(y, 4, 8),
            |x, y| x & !0xff0 | (y & 0xff) << 4,
        ),
        binary::<U32, U32, u32, u32>(
            "permute_bytes",
            w(64),
            |x, y| x.permute_bytes(y, 0x7250),
            |x, y| {
                let all = [x.to_le_bytes(), y.to_le_bytes()].concat();
                u32::from_le_bytes([all[0], all[5], all[2], all[7]])
            },
        ),
        binary::<U32, U32, u32, u32>(
            "funnel_shift_left",
            w(64),
            |x, y| x.funnel_shift_left(y, 7),
            |x, y| x << 7 | y >> 25,
        ),
        binary::<U32, U32, u32, u32>(
            "funnel_shift_right",
            w(64),
            |x, y| x.funnel_shift_right(y, 7),
            |x, y| x >> 7 | y << 25,
        ),
        binary::<U32, U32, u32, u32>(
            "dot4",
            w(64),
            |x, y| x.dot4(y, U32::from(5)),
            |x, y| {
                let pairs = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
                pairs.map(|(a, b)| u32::from(a) * u32::from(b)).sum::<u32>() + 5
            },
        ),
        binary::<I32, I32, i32, i32>(
            "dot4 signed",
            words::<i32>(64),
            |x, y| x.dot4(y, I32::from(5)),
            |x, y| {
                let pairs = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
                pairs.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum::<i32>() + 5
            },
        ),
        binary::<U32, U32, u32, u32>(
            "mul_high",
            w(64),
            |x, y| x.mul_high(y),
            |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32,
        ),
        binary::<U32, U64, u32, u64>("mul_wide", w(64), |x, y| x.mul_wide(y), |x, y| u64::from(x) * u64::from(y)),
        binary::<I32, I32, i32, i32>("add_clamped", words::<i32>(64), |x, y| x.add_clamped(y), i32::saturating_add),
        unary::<U32, U32, u32, u32>("invert", w(32), |x| !x, |x| !x),
        unary::<U64, U64, u64, u64>("invert 64", words::<u64>(32), |x| !x, |x| !x),
        unary::<I32, U32, i32, u32>("as_u32", words::<i32>(32), |x| x.as_u32(), |x| x as u32),
        unary::<F64, U64, f64, u64>("F64 bits", words::<f64>(32), |x| x.to_bits(), f64::to_bits),
        unary::<I32, I32, i32, i32>("I32 abs", words::<i32>(32), |x| x.abs(), i32::wrapping_abs),
        unary::<U32, U32, u32, u32>(
            "logic3",
            w(32),
            |x| x.logic3(U32::from(0xff00), U32::from(0x0ff0), 0x96),
            |x| x ^ 0xff00 ^ 0x0ff0,
        ),
    ]
}
