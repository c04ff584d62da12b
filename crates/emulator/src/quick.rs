//! The instructions that kernels spend their time in, one after the other without a call for each.
//!
//! Each of them has a function of its own like every other; what is here gives the same results where all lanes take
//! part, compiled into one loop.

#![allow(clippy::needless_range_loop)]

use crate::arithmetic::approximate as approx;
use crate::arithmetic::float::{canonical, extreme, finish, flush_in};
use crate::arithmetic::integer::Int;
use crate::lanes::{BF16, F16, FULL, Fields, LANES, Raw, Registers, Value, ballot, spread};
use crate::program::{Action, Instruction};
use warpsmith_types::convert;

/// An instruction of the loop, or [`Quick::Call`] for one that is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quick {
    /// By its function.
    #[default]
    Call,
    Copy32,
    Copy64,
    AddF32,
    SubF32,
    MulF32,
    FmaF32,
    MinF32,
    MaxF32,
    Ex2F32,
    AddF32x2,
    MulF32x2,
    FmaF32x2,
    Add32,
    Sub32,
    Mul32,
    Mad32,
    And32,
    Or32,
    Xor32,
    Shl32,
    ShrU32,
    ShrS32,
    Add64,
    Sub64,
    MulWideU32,
    MulWideS32,
    MadWideU32,
    MadWideS32,
    WidenU32,
    WidenS32,
    F32ToBF16,
    F32ToBF16x2,
    BF16ToF32,
    F32ToF16,
    F16ToF32,
    Pack16,
    Unpack16,
    Select32,
    EqualU32,
    UnequalU32,
    LessU32,
    LessOrEqualU32,
    GreaterU32,
    GreaterOrEqualU32,
    LessS32,
    LessOrEqualS32,
    GreaterS32,
    GreaterOrEqualS32,
    Butterfly1,
    Butterfly2,
    Butterfly4,
    Butterfly8,
    Butterfly16,
}

/// Runs instructions that only compute, or move values between all lanes, without guards, for all lanes. Gives how often
/// the lanes have met.
#[inline(never)]
pub(crate) fn run(r: &mut Registers, code: &[Instruction]) -> u32 {
    let simd = r.simd;
    simd.run(
        #[inline(always)]
        || {
            let mut meets = 0;
            for i in code {
                step(r, i, &mut meets);
            }
            meets
        },
    )
}

#[inline(always)]
fn step(r: &mut Registers, i: &Instruction, meets: &mut u32) {
    let (Action::Compute { run, fields: f } | Action::Sync { run, fields: f, .. }) = &i.action else { return };
    match i.quick {
        Quick::Call => {
            run(r, f, FULL);
            *meets += u32::from(matches!(i.action, Action::Sync { .. }));
        }
        Quick::Copy32 => one::<u32, u32>(r, f, |a| a),
        Quick::Copy64 => one::<u64, u64>(r, f, |a| a),
        Quick::AddF32 => two::<f32, f32, f32>(r, f, |a, b| canonical(a + b)),
        Quick::SubF32 => two::<f32, f32, f32>(r, f, |a, b| canonical(a - b)),
        Quick::MulF32 => two::<f32, f32, f32>(r, f, |a, b| canonical(a * b)),
        Quick::FmaF32 => three::<f32, f32, f32, f32>(r, f, |a, b, c| canonical(a.mul_add(b, c))),
        Quick::MinF32 => two::<f32, f32, f32>(r, f, |a, b| extreme(a, b, false)),
        Quick::MaxF32 => two::<f32, f32, f32>(r, f, |a, b| extreme(a, b, true)),
        Quick::Ex2F32 => one::<f32, f32>(r, f, |a| finish(f.aux, approx::ex2(flush_in(f.aux, a)))),
        Quick::AddF32x2 => two::<u64, u64, u64>(r, f, |a, b| halves([a, b, 0], |a, b, _| a + b)),
        Quick::MulF32x2 => two::<u64, u64, u64>(r, f, |a, b| halves([a, b, 0], |a, b, _| a * b)),
        Quick::FmaF32x2 => three::<u64, u64, u64, u64>(r, f, |a, b, c| halves([a, b, c], f32::mul_add)),
        Quick::Add32 => two::<u32, u32, u32>(r, f, u32::wrapping_add),
        Quick::Sub32 => two::<u32, u32, u32>(r, f, u32::wrapping_sub),
        Quick::Mul32 => two::<u32, u32, u32>(r, f, u32::wrapping_mul),
        Quick::Mad32 => three::<u32, u32, u32, u32>(r, f, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Quick::And32 => two::<u32, u32, u32>(r, f, |a, b| a & b),
        Quick::Or32 => two::<u32, u32, u32>(r, f, |a, b| a | b),
        Quick::Xor32 => two::<u32, u32, u32>(r, f, |a, b| a ^ b),
        Quick::Shl32 => two::<u32, u32, u32>(r, f, Int::shl),
        Quick::ShrU32 => two::<u32, u32, u32>(r, f, Int::shr),
        Quick::ShrS32 => two::<i32, i32, u32>(r, f, Int::shr),
        Quick::Add64 => two::<u64, u64, u64>(r, f, u64::wrapping_add),
        Quick::Sub64 => two::<u64, u64, u64>(r, f, u64::wrapping_sub),
        Quick::MulWideU32 => two::<u64, u32, u32>(r, f, |a, b| u64::from(a) * u64::from(b)),
        Quick::MulWideS32 => two::<i64, i32, i32>(r, f, |a, b| i64::from(a) * i64::from(b)),
        Quick::MadWideU32 => {
            three::<u64, u32, u32, u64>(r, f, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c));
        }
        Quick::MadWideS32 => {
            three::<i64, i32, i32, i64>(r, f, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c));
        }
        Quick::WidenU32 => one::<u64, u32>(r, f, u64::from),
        Quick::WidenS32 => one::<i64, i32>(r, f, i64::from),
        Quick::F32ToBF16 => one::<BF16, f32>(r, f, |a| BF16(convert::f32_to_bf16(a))),
        Quick::F32ToBF16x2 => two::<u32, f32, f32>(r, f, |a, b| {
            u32::from(convert::f32_to_bf16(a)) << 16 | u32::from(convert::f32_to_bf16(b))
        }),
        Quick::BF16ToF32 => one::<f32, BF16>(r, f, BF16::f32),
        Quick::F32ToF16 => one::<F16, f32>(r, f, |a| F16(convert::f32_to_f16(a))),
        Quick::F16ToF32 => one::<f32, F16>(r, f, |a| canonical(a.f32())),
        Quick::Pack16 => two::<u32, u16, u16>(r, f, |a, b| u32::from(a) | u32::from(b) << 16),
        Quick::Unpack16 => one::<u16, u32>(r, f, |a| (a >> f.aux) as u16),
        Quick::Select32 => {
            let lanes = spread(r.p[f.c as usize]);
            let (a, b) = (u32::plane(r, f.a), u32::plane(r, f.b));
            let mut t = [0; LANES];
            for l in 0..LANES {
                t[l] = u32::blend(lanes[l], a[l], b[l]);
            }
            *u32::plane_mut(r, f.d) = t;
        }
        Quick::EqualU32 => compare::<u32>(r, f, |a, b| a == b),
        Quick::UnequalU32 => compare::<u32>(r, f, |a, b| a != b),
        Quick::LessU32 => compare::<u32>(r, f, |a, b| a < b),
        Quick::LessOrEqualU32 => compare::<u32>(r, f, |a, b| a <= b),
        Quick::GreaterU32 => compare::<u32>(r, f, |a, b| a > b),
        Quick::GreaterOrEqualU32 => compare::<u32>(r, f, |a, b| a >= b),
        Quick::LessS32 => compare::<i32>(r, f, |a, b| a < b),
        Quick::LessOrEqualS32 => compare::<i32>(r, f, |a, b| a <= b),
        Quick::GreaterS32 => compare::<i32>(r, f, |a, b| a > b),
        Quick::GreaterOrEqualS32 => compare::<i32>(r, f, |a, b| a >= b),
        Quick::Butterfly1 => butterfly::<1>(r, f, meets),
        Quick::Butterfly2 => butterfly::<2>(r, f, meets),
        Quick::Butterfly4 => butterfly::<4>(r, f, meets),
        Quick::Butterfly8 => butterfly::<8>(r, f, meets),
        Quick::Butterfly16 => butterfly::<16>(r, f, meets),
    }
}

#[inline(always)]
fn one<D: Value, A: Value>(r: &mut Registers, f: &Fields, op: impl Fn(A) -> D) {
    let mut t = [D::Raw::default(); LANES];
    let a = A::Raw::plane(r, f.a);
    for l in 0..LANES {
        t[l] = op(A::from_raw(a[l])).to_raw();
    }
    *D::Raw::plane_mut(r, f.d) = t;
}

#[inline(always)]
fn two<D: Value, A: Value, B: Value>(r: &mut Registers, f: &Fields, op: impl Fn(A, B) -> D) {
    let mut t = [D::Raw::default(); LANES];
    let (a, b) = (A::Raw::plane(r, f.a), B::Raw::plane(r, f.b));
    for l in 0..LANES {
        t[l] = op(A::from_raw(a[l]), B::from_raw(b[l])).to_raw();
    }
    *D::Raw::plane_mut(r, f.d) = t;
}

#[inline(always)]
fn three<D: Value, A: Value, B: Value, C: Value>(r: &mut Registers, f: &Fields, op: impl Fn(A, B, C) -> D) {
    let mut t = [D::Raw::default(); LANES];
    let (a, b, c) = (A::Raw::plane(r, f.a), B::Raw::plane(r, f.b), C::Raw::plane(r, f.c));
    for l in 0..LANES {
        t[l] = op(A::from_raw(a[l]), B::from_raw(b[l]), C::from_raw(c[l])).to_raw();
    }
    *D::Raw::plane_mut(r, f.d) = t;
}

#[inline(always)]
fn compare<A: Value>(r: &mut Registers, f: &Fields, op: impl Fn(A, A) -> bool) {
    let (a, b) = (A::Raw::plane(r, f.a), A::Raw::plane(r, f.b));
    r.p[f.d as usize] = ballot(|l| op(A::from_raw(a[l]), A::from_raw(b[l])));
}

/// Each lane reads the one whose number differs by `N`.
#[inline(always)]
fn butterfly<const N: usize>(r: &mut Registers, f: &Fields, meets: &mut u32) {
    let mut t = [0; LANES];
    let a = u32::plane(r, f.a);
    for l in 0..LANES {
        t[l] = a[l ^ N];
    }
    *u32::plane_mut(r, f.d) = t;
    *meets += 1;
}

/// Two f32 in 64 bits.
#[inline(always)]
fn halves(x: [u64; 3], op: impl Fn(f32, f32, f32) -> f32) -> u64 {
    let half = |shift: u32| {
        let [a, b, c] = x.map(|x| f32::from_bits((x >> shift) as u32));
        u64::from(canonical(op(a, b, c)).to_bits()) << shift
    };
    half(0) | half(32)
}
