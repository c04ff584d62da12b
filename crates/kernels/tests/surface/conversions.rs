//! Conversions: every pair of numbers, every rounding, packed ones.

use crate::harness::{Case, Host, floats, unary, words};
use half::{bf16, f16};
use warpsmith_dsl::prelude::*;
use warpsmith_kernels::random::Random;
use warpsmith_types::convert;

/// Integers to integers and floats, by Rust's `as`, which truncates, wraps and rounds as the language does.
macro_rules! numbers {
    ($all:ident; $($a:ident $ha:ty => $($method:ident $b:ident $hb:ty),*;)*) => {$($(
        $all.push(unary::<$a, $b, $ha, $hb>(
            concat!(stringify!($a), " to ", stringify!($b)),
            words::<$ha>(32),
            |x: $a| x.$method(),
            |x| x as $hb,
        ));
    )*)*};
}

fn f16_of(x: f64) -> u16 {
    f16::from_f64(x).to_bits()
}

fn bf16_of(x: f64) -> u16 {
    bf16::from_f64(x).to_bits()
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    numbers! { all;
        U8 u8 => i8 I8 i8, u16 U16 u16, i16 I16 i16, u32 U32 u32, i32 I32 i32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        I8 i8 => u8 U8 u8, u16 U16 u16, i16 I16 i16, u32 U32 u32, i32 I32 i32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        U16 u16 => u8 U8 u8, i8 I8 i8, i16 I16 i16, u32 U32 u32, i32 I32 i32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        I16 i16 => u8 U8 u8, i8 I8 i8, u16 U16 u16, u32 U32 u32, i32 I32 i32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        U32 u32 => u8 U8 u8, i8 I8 i8, u16 U16 u16, i16 I16 i16, i32 I32 i32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        I32 i32 => u8 U8 u8, i8 I8 i8, u16 U16 u16, i16 I16 i16, u32 U32 u32, u64 U64 u64, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        U64 u64 => u8 U8 u8, i8 I8 i8, u16 U16 u16, i16 I16 i16, u32 U32 u32, i32 I32 i32, i64 I64 i64, f32 F32 f32, f64 F64 f64;
        I64 i64 => u8 U8 u8, i8 I8 i8, u16 U16 u16, i16 I16 i16, u32 U32 u32, i32 I32 i32, u64 U64 u64, f32 F32 f32, f64 F64 f64;
    }
    all.extend(from_floats());
    all.extend(halves());
    all.extend(rounded());
    all.extend(packed());
    all
}

/// Floats to integers are Rust's `as`, but for NaN: 0 from 32 bits to 32 or fewer, else the sign's bit alone.
macro_rules! truncated {
    ($all:ident; $($a:ident $ha:ty => [$($method:ident $b:ident $hb:ty, $nan:expr);*];)*) => {$($(
        $all.push(unary::<$a, $b, $ha, $hb>(
            concat!(stringify!($a), " to ", stringify!($b)),
            words::<$ha>(32),
            |x: $a| x.$method(),
            |x| if x.is_nan() { $nan } else { x as $hb },
        ));
    )*)*};
}

fn from_floats() -> Vec<Case> {
    let mut all = vec![];
    truncated! { all;
        F32 f32 => [u8 U8 u8, 0; i8 I8 i8, 0; u16 U16 u16, 0; i16 I16 i16, 0; u32 U32 u32, 0; i32 I32 i32, 0;
            u64 U64 u64, 1 << 63; i64 I64 i64, i64::MIN];
    }
    truncated! { all;
        F64 f64 => [u8 U8 u8, 128; i8 I8 i8, i8::MIN; u16 U16 u16, 1 << 15; i16 I16 i16, i16::MIN; u32 U32 u32, 1 << 31;
            i32 I32 i32, i32::MIN; u64 U64 u64, 1 << 63; i64 I64 i64, i64::MIN];
    }
    all.extend([
        unary::<F32, F64, f32, f64>("F32 to F64", words::<f32>(32), |x| x.f64(), f64::from),
        unary::<F64, F32, f64, f32>("F64 to F32", words::<f64>(32), |x| x.f32(), |x| x as f32),
    ]);
    all
}

/// A NaN of binary64 keeps its sign and the upper part of its payload.
fn narrowed<T: Element + 'static>(name: &str, f: fn(F64) -> T, right: fn(f64) -> u16) -> Case {
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x);
        a.y.at::<T>((i,)).store(f(a.x.at::<F64>((i,)).load()));
    };
    let said = String::from(name);
    let values = |random: &mut Random| {
        let mut bytes = words::<f64>(30)(random);
        // NaNs that say something, one of them signalling.
        bytes.extend([0x7ff5_2345_6789_abcd_u64, 0xfffa_9000_0000_0001].iter().flat_map(|bits| bits.to_le_bytes()));
        bytes
    };
    Case::new(name, DType::F64, (T::DTYPE, 32), values, body, move |x, y| {
        for (x, y) in f64::read(x).into_iter().zip(u16::read(y)) {
            assert!(y == right(x), "{said} of {:#x} ({x:?}): {y:#x} and not {:#x}", x.to_bits(), right(x));
        }
    })
}

fn halves() -> Vec<Case> {
    let nan = |bits: u16, nan: bool| if nan { 0x7fff } else { bits };
    vec![
        unary::<F32, F16, f32, u16>("F32 to F16", floats(32), |x| x.f16(), move |x| nan(f16_of(x.into()), x.is_nan())),
        unary::<F32, BF16, f32, u16>(
            "F32 to BF16",
            floats(32),
            |x| x.bf16(),
            move |x| nan(bf16_of(x.into()), x.is_nan()),
        ),
        unary::<F16, F32, u16, f32>("F16 to F32", words::<u16>(32), |x| x.f32(), |x| f16::from_bits(x).to_f32()),
        unary::<BF16, F32, u16, f32>("BF16 to F32", words::<u16>(32), |x| x.f32(), |x| bf16::from_bits(x).to_f32()),
        unary::<F16, F64, u16, f64>("F16 to F64", words::<u16>(32), |x| x.f64(), |x| f16::from_bits(x).to_f64()),
        unary::<BF16, F64, u16, f64>("BF16 to F64", words::<u16>(32), |x| x.f64(), |x| bf16::from_bits(x).to_f64()),
        narrowed::<F16>("F64 to F16", |x| x.f16(), f16_of),
        narrowed::<BF16>("F64 to BF16", |x| x.bf16(), bf16_of).on(|t| t.number >= 90),
        unary::<F16, BF16, u16, u16>(
            "F16 to BF16",
            words::<u16>(32),
            |x| x.bf16(),
            move |x| {
                let x = f16::from_bits(x).to_f32();
                nan(bf16_of(x.into()), x.is_nan())
            },
        ),
        unary::<BF16, F16, u16, u16>(
            "BF16 to F16",
            words::<u16>(32),
            |x| x.f16(),
            move |x| {
                let x = bf16::from_bits(x).to_f32();
                nan(f16_of(x.into()), x.is_nan())
            },
        ),
        unary::<F16, I32, u16, i32>("F16 to I32", words::<u16>(32), |x| x.i32(), |x| f16::from_bits(x).to_f32() as i32),
        unary::<BF16, U64, u16, u64>(
            "BF16 to U64",
            words::<u16>(32),
            |x| x.u64(),
            |x| match bf16::from_bits(x).to_f32() {
                x if x.is_nan() => 1 << 63,
                x => x as u64,
            },
        ),
        unary::<F16, U8, u16, u8>("F16 to U8", words::<u16>(32), |x| x.u8(), |x| f16::from_bits(x).to_f32() as u8),
        unary::<I32, F16, i32, u16>("I32 to F16", words::<i32>(32), |x| x.f16(), |x| f16_of(x.into())),
        unary::<I8, BF16, i8, u16>("I8 to BF16", words::<i8>(32), |x| x.bf16(), |x| bf16_of(x.into())),
        unary::<U32, BF16, u32, u16>("U32 to BF16", words::<u32>(32), |x| x.bf16(), |x| bf16_of(x.into()))
            .on(|t| t.number >= 90),
        unary::<F16, U16, u16, u16>("F16 bits", words::<u16>(32), |x| x.to_bits(), |x| x),
        unary::<U16, BF16, u16, u16>("BF16 of bits", words::<u16>(32), BF16::from_bits, |x| x),
    ]
}

/// Towards zero, in a format of so many mantissa bits, of an ordinary number: the rest cut off.
fn cut(x: f32, mantissa: u32) -> f32 {
    f32::from_bits(x.to_bits() & !((1 << (23 - mantissa)) - 1))
}

fn ordinary(count: usize) -> impl Fn(&mut warpsmith_kernels::random::Random) -> Vec<u8> + Send + Sync + 'static {
    move |r| f32::write(&(0..count).map(|_| (r.uniform() * 100.0 - 50.0) as f32).collect::<Vec<_>>())
}

/// The neighbour of what was cut off, away from zero, unless nothing was.
fn away(x: f32, mantissa: u32) -> f32 {
    let low = cut(x, mantissa);
    if low == x { x } else { f32::from_bits(low.to_bits() + (1 << (23 - mantissa))) }
}

fn rounded() -> Vec<Case> {
    use Rounding::{Down, NearestEven, Up, Zero};
    let toward = |r: Rounding, x: f32, m: u32| match (r, x > 0.0) {
        (Zero, _) | (Down, true) | (Up, false) => cut(x, m),
        _ => away(x, m),
    };
    let mut all = vec![];
    for r in [Zero, Down, Up] {
        all.push(unary::<F32, F16, f32, u16>(
            format!("F32 to F16 {r:?}"),
            ordinary(32),
            move |x| x.rounding(r).f16(),
            move |x| f16::from_f32(toward(r, x, 10)).to_bits(),
        ));
        all.push(unary::<F32, BF16, f32, u16>(
            format!("F32 to BF16 {r:?}"),
            ordinary(32),
            move |x| x.rounding(r).bf16(),
            move |x| bf16::from_f32(toward(r, x, 7)).to_bits(),
        ));
        let narrow = move |x: f64| {
            let near = x as f32;
            let (below, above) = (f64::from(near) < x, f64::from(near) > x);
            match (r, x > 0.0) {
                (Zero, true) | (Down, _) if above => near.next_down(),
                (Zero, false) | (Up, _) if below => near.next_up(),
                _ => near,
            }
        };
        let doubles = |r: &mut warpsmith_kernels::random::Random| {
            f64::write(&(0..32).map(|_| r.uniform() * 1e3 - 5e2).collect::<Vec<_>>())
        };
        all.push(unary::<F64, F32, f64, f32>(
            format!("F64 to F32 {r:?}"),
            doubles,
            move |x| x.rounding(r).f32(),
            narrow,
        ));
        all.push(unary::<F32, I32, f32, i32>(
            format!("F32 to I32 {r:?}"),
            ordinary(32),
            move |x| x.rounding(r).i32(),
            {
                move |x| match r {
                    Down => x.floor() as i32,
                    Up => x.ceil() as i32,
                    _ => x as i32,
                }
            },
        ));
        all.push(unary::<U32, F32, u32, f32>(
            format!("U32 to F32 {r:?}"),
            words::<u32>(32),
            move |x| x.rounding(r).f32(),
            {
                move |x| match r {
                    Up if f64::from(x as f32) < x.into() => (x as f32).next_up(),
                    Zero | Down if f64::from(x as f32) > x.into() => (x as f32).next_down(),
                    _ => x as f32,
                }
            },
        ));
    }
    all.extend([
        unary::<F32, I32, f32, i32>(
            "F32 to I32 NearestEven",
            ordinary(32),
            |x| x.rounding(NearestEven).i32(),
            |x| x.round_ties_even() as i32,
        ),
        unary::<F32, F16, f32, u16>(
            "F32 to F16 clamped",
            floats(32),
            |x| x.clamped().f16(),
            |x| match x {
                x if x.is_nan() => 0x7fff,
                x => f16::from_f32(x.clamp(-65504.0, 65504.0)).to_bits(),
            },
        ),
        unary::<F32, BF16, f32, u16>(
            "F32 to BF16 relu",
            floats(32),
            |x| x.rounding(NearestEven).relu().bf16(),
            |x| match x {
                x if x.is_nan() => 0x7fff,
                x if x <= 0.0 => 0,
                x => bf16::from_f32(x).to_bits(),
            },
        ),
        unary::<F32, F16, f32, u16>(
            "F32 to F16 Zero relu",
            ordinary(32),
            |x| x.rounding(Zero).relu().f16(),
            |x| f16::from_f32(cut(x, 10).max(0.0)).to_bits(),
        ),
        unary::<I32, I8, i32, i8>(
            "I32 to I8 clamped",
            words::<i32>(32),
            |x| x.clamped().i8(),
            |x| x.clamp(-128, 127) as i8,
        ),
        unary::<I32, U16, i32, u16>(
            "I32 to U16 clamped",
            words::<i32>(32),
            |x| x.clamped().u16(),
            |x| x.clamp(0, 65535) as u16,
        ),
        unary::<F32, F32, f32, f32>(
            "F32 to tf32",
            ordinary(32),
            |x| x.tf32(),
            |x| {
                // Half of the last kept place, away from zero, is added, and the rest cut off.
                cut(f32::from_bits(x.to_bits() + (1 << 12)), 10)
            },
        ),
        unary::<F32, F32, f32, f32>(
            "F32 to tf32 Zero relu",
            ordinary(32),
            |x| x.rounding(Zero).relu().tf32(),
            |x| cut(x, 10).max(0.0),
        )
        .on(|t| t.number >= 90),
        unary::<F32, F32, f32, f32>(
            "F32 to tf32 clamped",
            ordinary(32),
            |x| x.rounding(Rounding::NearestAway).clamped().tf32(),
            |x| cut(f32::from_bits(x.to_bits() + (1 << 12)), 10),
        ),
    ]);
    all
}

/// Two floats into one element of `B`.
fn pairs<B: Element>(
    name: &str,
    f: impl Fn(F32, F32) -> B + Send + Sync + 'static,
    expected: impl Fn(f32, f32) -> Vec<u8> + Send + Sync + 'static,
) -> Case {
    let said = String::from(name);
    let body = move |a: &CaseParams| {
        let i = Dim::from(thread_idx().x);
        let [low, high] = a.x.at::<F32>((i * 2,)).load_vector();
        a.y.at::<B>((i * B::COUNT,)).store(f(low, high));
    };
    let check = move |x: &[u8], y: &[u8]| {
        let width = B::TYPE.bytes() as usize;
        for (x, y) in f32::read(x).chunks(2).zip(y.chunks(width)) {
            assert_eq!(y, expected(x[0], x[1]), "{said} of {x:?}");
        }
    };
    Case::new(name, DType::F32, (B::DTYPE, 32 * B::COUNT), floats(64), body, check)
}

use crate::harness::CaseParams;

fn packed() -> Vec<Case> {
    let each = |f: fn(f32) -> u8| move |a: f32, b: f32| vec![f(a), f(b)];
    let up = |x: f32| convert::f32_to_e8m0(x, true);
    let down = |x: f32| convert::f32_to_e8m0(x, false);
    let halves = |f: fn(f32) -> u16| move |a: f32, b: f32| u16::write(&[f(a), f(b)]);
    let fp8 = |t: Target| t.number >= 89;
    vec![
        pairs::<F16x2>("pair to f16x2", |a, b| pair(a, b).f16x2(), halves(convert::f32_to_f16)),
        pairs::<BF16x2>("pair to bf16x2", |a, b| pair(a, b).bf16x2(), halves(convert::f32_to_bf16)),
        pairs::<BF16x2>(
            "pair to bf16x2 relu clamped",
            |a, b| pair(a, b).relu().clamped().bf16x2(),
            |a, b| {
                let one =
                    |x: f32| if x.is_nan() { 0x7fff } else { convert::f32_to_bf16(x.clamp(0.0, 3.3895314e38).abs()) };
                u16::write(&[one(a), one(b)])
            },
        ),
        pairs::<E4M3x2>("pair to e4m3x2", |a, b| pair(a, b).e4m3x2(), each(convert::f32_to_e4m3)).on(fp8),
        pairs::<E5M2x2>("pair to e5m2x2", |a, b| pair(a, b).e5m2x2(), each(convert::f32_to_e5m2)).on(fp8),
        pairs::<E2M1x2>(
            "pair to e2m1x2",
            |a, b| pair(a, b).e2m1x2(),
            |a, b| vec![convert::f32_to_e2m1(a) | convert::f32_to_e2m1(b) << 4],
        ),
        pairs::<E8M0x2>("pair to e8m0x2 Up", |a, b| pair(a, b).rounding(Rounding::Up).clamped().e8m0x2(), each(up)),
        pairs::<E8M0x2>(
            "pair to e8m0x2 Zero",
            |a, b| pair(a, b).rounding(Rounding::Zero).clamped().e8m0x2(),
            each(down),
        ),
        unary::<F32, E4M3, f32, u8>("F32 to E4M3", floats(32), |x| x.e4m3(), convert::f32_to_e4m3).on(fp8),
        unary::<F32, E5M2, f32, u8>("F32 to E5M2", floats(32), |x| x.e5m2(), convert::f32_to_e5m2).on(fp8),
        unary::<E4M3, F32, u8, f32>("E4M3 to F32", words::<u8>(32), |x| x.f32(), convert::e4m3_to_f32).on(fp8),
        unary::<E5M2, F32, u8, f32>("E5M2 to F32", words::<u8>(32), |x| x.f32(), convert::e5m2_to_f32).on(fp8),
        unary::<E8M0, F32, u8, f32>("E8M0 to F32", words::<u8>(32), |x| x.f32(), convert::e8m0_to_f32),
        unary::<E2M1x2, F16x2, u8, u32>(
            "E2M1x2 to F16x2",
            words::<u8>(32),
            |x| x.f16x2(),
            |x| {
                let [a, b] = [x, x >> 4].map(|c| u32::from(f16::from_f32(convert::e2m1_to_f32(c)).to_bits()));
                a | b << 16
            },
        ),
        unary::<E4M3x2, F16x2, u16, u32>(
            "E4M3x2 to F16x2",
            words::<u16>(32),
            |x| x.f16x2(),
            |x| {
                let [a, b] = x.to_le_bytes().map(|c| u32::from(convert::f32_to_f16(convert::e4m3_to_f32(c))));
                a | b << 16
            },
        )
        .on(fp8),
        unary::<F16x2, E5M2x2, u32, u16>(
            "F16x2 to E5M2x2",
            words::<u32>(32),
            |x| x.e5m2x2(),
            |x| {
                let [a, b] = [x as u16, (x >> 16) as u16].map(|h| convert::f32_to_e5m2(f16::from_bits(h).to_f32()));
                u16::from_le_bytes([a, b])
            },
        )
        .on(fp8),
        unary::<E8M0x2, BF16x2, u16, u32>(
            "E8M0x2 to BF16x2",
            words::<u16>(32),
            |x| x.bf16x2(),
            |x| {
                let [a, b] = x.to_le_bytes().map(|c| u32::from(convert::f32_to_bf16(convert::e8m0_to_f32(c))));
                a | b << 16
            },
        ),
        unary::<F16x2, F16, u32, u16>("F16x2 high", words::<u32>(32), |x| x.high(), |x| (x >> 16) as u16),
        unary::<BF16x2, F32, u32, f32>(
            "BF16x2 floats",
            words::<u32>(32),
            |x| x.floats()[1],
            |x| f32::from_bits(x & 0xffff_0000),
        ),
    ]
}
