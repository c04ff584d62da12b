//! Division by constants: each divisor against dividends where a wrong factor would show, at its multiples and next to
//! them, at the ends of the range, and at random.

mod support;

use support::machine;
use warpsmith_ir::{Access, Binary, Inst, Kernel, LocationId, Op, Param, Pass, Space, Type, verify};

/// `out[0] = x / d; out[1] = x % d`
fn kernel(ty: Type, divisor: u64) -> Kernel {
    let param = |name: &str, ty| Param::number(name, ty);
    let params = vec![param("out", Type::U64), param("x", ty)];
    let mut kernel = Kernel { name: "divide".into(), params, ..Kernel::default() };
    let [out, x, d, quotient, remainder] = [Type::U64, ty, ty, ty, ty].map(|t| kernel.value(t));
    let mut push = |op, args: &[_], result: Option<_>| {
        let results = result.into_iter().collect();
        kernel.body.push(Inst { op, args: args.iter().copied().collect(), results, location: LocationId::NONE });
    };
    push(Op::Param(0), &[], Some(out));
    push(Op::Param(1), &[], Some(x));
    push(Op::Const(divisor), &[], Some(d));
    push(Op::Binary(Binary::Div), &[x, d], Some(quotient));
    push(Op::Binary(Binary::Rem), &[x, d], Some(remainder));
    push(Op::Store { space: Space::Global, offset: 0, guarded: false, access: Access::PLAIN }, &[out, quotient], None);
    push(Op::Store { space: Space::Global, offset: 8, guarded: false, access: Access::PLAIN }, &[out, remainder], None);
    kernel
}

fn divisors(ty: Type) -> Vec<u64> {
    if ty.bits() == 16 {
        return (1..=0xffff).step_by(7).chain([2, 4, 16, 0x4000, 0x8000, 0xffff]).collect();
    }
    let mut all: Vec<u64> = (1..=130).chain([641, 1000, 2880, 5000, 32767, 65537, 1_000_003, 1 << 31]).collect();
    all.extend((5..ty.bits() - 1).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]));
    all.extend([ty.mask() >> 1, (ty.mask() >> 1) + 1]);
    if ty.bits() == 32 || ty.is_signed() {
        all.extend([ty.mask(), ty.mask() - 1]);
    }
    if ty.is_signed() {
        all.extend(all.clone().into_iter().map(|d| d.wrapping_neg() & ty.mask()));
    }
    all.retain(|&d| d & ty.mask() != 0);
    all.iter().map(|d| d & ty.mask()).collect()
}

fn check(ty: Type) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 32
    };
    for d in divisors(ty) {
        let before = kernel(ty, d);
        verify(&before).unwrap();
        let mut after = before.clone();
        Pass::Division.run(&mut after);
        verify(&after).unwrap();
        let divides = |i: &Inst| matches!(i.op, Op::Binary(Binary::Div | Binary::Rem));
        assert!(!after.body.iter().any(divides), "{ty} by {d} is still a division");
        let top = ty.mask() - ty.mask() % d;
        let signed_top = (ty.mask() >> 1) - (ty.mask() >> 1) % d;
        let multiples = (0..40).map(|i| d.wrapping_mul(if i < 20 { i } else { random() >> (i % 40) }));
        let places = multiples.chain([0, top, top.wrapping_sub(d), signed_top, ty.mask() >> 1, ty.mask()]);
        let near: Vec<u64> = places.flat_map(|m| [-1, 0, 1].map(|o| m.wrapping_add_signed(o))).collect();
        let away: Vec<u64> = (0..60).map(|i| random() >> (i % 48)).collect();
        for x in near.into_iter().chain(away) {
            let x = x & ty.mask();
            for x in [x, x.wrapping_neg() & ty.mask()] {
                let overflows = ty.is_signed() && d == ty.mask() && x == (ty.mask() >> 1) + 1;
                if !overflows {
                    let params = [0x1000, x];
                    assert_eq!(machine::run(&after, &params), machine::run(&before, &params), "{ty}: {x} by {d}");
                }
            }
        }
    }
}

#[test]
fn unsigned_16() {
    check(Type::U16);
}

#[test]
fn signed_16() {
    check(Type::I16);
}

#[test]
fn unsigned_32() {
    check(Type::U32);
}

#[test]
fn signed_32() {
    check(Type::I32);
}

#[test]
fn unsigned_64() {
    check(Type::U64);
}

#[test]
fn signed_64() {
    check(Type::I64);
}

/// Through the whole range in steps.
#[test]
fn dividends_of_all_sizes() {
    for d in [3u64, 7, 10, 641, 2880, 0x8000_0001] {
        let before = kernel(Type::U32, d);
        let mut after = before.clone();
        Pass::Division.run(&mut after);
        for x in (0..=u64::from(u32::MAX)).step_by(1_000_003) {
            assert_eq!(machine::run(&after, &[0x1000, x]), machine::run(&before, &[0x1000, x]), "{x} by {d}");
        }
    }
}
