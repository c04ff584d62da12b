//! Division and remainder of integers by constants. `ptxas` reduces none, not even by 8.
//!
//! A power of two becomes a shift or a mask. Any other divisor becomes a multiplication by a scaled reciprocal, whose
//! error is too small to reach the quotient (Granlund and Montgomery, "Division by invariant integers using
//! multiplication", 1994). A remainder is what the quotient leaves.

use super::evaluate::integer;
use super::rewrite::{Outcome, Rewriter, Rule, Scratch, rewrite};
use crate::kernel::{Block, Inst, Kernel, Value};
use crate::op::{Binary, Op, Unary};
use crate::types::Type;

/// Replaces the divisions of a verified kernel whose divisor is known. Whether there was one.
pub(super) fn division(kernel: &mut Kernel, scratch: &mut Scratch) -> bool {
    let mut constants = vec![false; kernel.values.len()];
    let found = divides(&kernel.body, &mut constants);
    if found {
        rewrite(kernel, scratch, &mut Division);
    }
    found
}

/// Whether something is divided by a constant. Definitions come before uses, so one walk knows.
fn divides(block: &Block, constants: &mut [bool]) -> bool {
    block.iter().any(|inst| {
        match &inst.op {
            Op::Const(_) => inst.results.iter().for_each(|v| constants[v.0 as usize] = true),
            Op::Binary(Binary::Div | Binary::Rem) => return inst.args.get(1).is_some_and(|v| constants[v.0 as usize]),
            _ => {}
        }
        inst.op.blocks().any(|inner| divides(inner, constants))
    })
}

struct Division;

impl Rule for Division {
    fn apply(&mut self, rw: &mut Rewriter<'_>, inst: Inst) -> Outcome {
        let remainder = match inst.op {
            Op::Binary(Binary::Div) => false,
            Op::Binary(Binary::Rem) => true,
            _ => return Outcome::Keep(inst),
        };
        let (x, divisor) = (inst.args[0], inst.args[1]);
        let ty = rw.type_of(x);
        let Some(bits) = rw.constant(divisor).filter(|_| ty.is_integer()) else {
            return Outcome::Keep(inst);
        };
        let result = match remainder {
            true if !ty.is_signed() && bits.is_power_of_two() => {
                Some(rw.binary_constant(Binary::And, x, bits.wrapping_sub(1)))
            }
            true => quotient(rw, x, ty, bits).map(|q| {
                let product = rw.binary(Binary::Mul, q, divisor);
                rw.binary(Binary::Sub, x, product)
            }),
            false => quotient(rw, x, ty, bits),
        };
        match result {
            Some(v) => {
                rw.replace(inst.results[0], v);
                Outcome::Done
            }
            None => Outcome::Keep(inst),
        }
    }
}

fn quotient(rw: &mut Rewriter<'_>, x: Value, ty: Type, bits: u64) -> Option<Value> {
    match integer(ty, bits) {
        0 => None,
        1 => Some(x),
        -1 => Some(rw.compute(Op::Unary(Unary::Neg), &[x], ty)),
        d if ty.is_signed() && d.unsigned_abs().is_power_of_two() => Some(signed_power(rw, x, ty, d)),
        d if ty.is_signed() => Some(signed(rw, x, ty, d)),
        _ if bits.is_power_of_two() => Some(rw.binary_constant(Binary::Shr, x, bits.trailing_zeros().into())),
        _ => unsigned(rw, x, ty, bits),
    }
}

fn unsigned(rw: &mut Rewriter<'_>, x: Value, ty: Type, d: u64) -> Option<Value> {
    let magic = UnsignedMagic::new(d, ty.bits())?;
    let high = rw.binary_constant(Binary::MulHi, x, magic.factor);
    if !magic.add {
        return Some(shift(rw, high, magic.shift));
    }
    // The factor has one bit more than fits: (x + high) / 2, without its carry.
    let rest = rw.binary(Binary::Sub, x, high);
    let half = rw.binary_constant(Binary::Shr, rest, 1);
    let sum = rw.binary(Binary::Add, half, high);
    Some(shift(rw, sum, magic.shift - 1))
}

fn shift(rw: &mut Rewriter<'_>, x: Value, by: u32) -> Value {
    if by == 0 { x } else { rw.binary_constant(Binary::Shr, x, by.into()) }
}

/// A shift rounds down; adding `d − 1` to negative numbers first makes it round to zero.
fn signed_power(rw: &mut Rewriter<'_>, x: Value, ty: Type, d: i128) -> Value {
    let k = d.unsigned_abs().trailing_zeros();
    let unsigned = match ty {
        Type::I16 => Type::U16,
        Type::I32 => Type::U32,
        _ => Type::U64,
    };
    let sign = rw.binary_constant(Binary::Shr, x, u64::from(ty.bits()) - 1);
    let sign = rw.compute(Op::Bitcast, &[sign], unsigned);
    let bias = rw.binary_constant(Binary::Shr, sign, u64::from(ty.bits() - k));
    let bias = rw.compute(Op::Bitcast, &[bias], ty);
    let sum = rw.binary(Binary::Add, x, bias);
    let q = rw.binary_constant(Binary::Shr, sum, k.into());
    if d < 0 { rw.compute(Op::Unary(Unary::Neg), &[q], ty) } else { q }
}

fn signed(rw: &mut Rewriter<'_>, x: Value, ty: Type, d: i128) -> Value {
    let magic = SignedMagic::new(d, ty.bits());
    let mut q = rw.binary_constant(Binary::MulHi, x, magic.factor as u64);
    // The factor was meant to have the divisor's sign; if it wrapped, the difference is once x.
    let wrapped = integer(ty, magic.factor as u64 & ty.mask());
    if d > 0 && wrapped < 0 {
        q = rw.binary(Binary::Add, q, x);
    } else if d < 0 && wrapped > 0 {
        q = rw.binary(Binary::Sub, q, x);
    }
    let q = shift(rw, q, magic.shift);
    // Rounded down so far: one more where it is negative.
    let sign = rw.binary_constant(Binary::Shr, q, u64::from(ty.bits()) - 1);
    rw.binary(Binary::Sub, q, sign)
}

/// x / d = (x · m) >> (bits + shift), where m is `factor`, or `factor + 2^bits` with `add`.
struct UnsignedMagic {
    factor: u64,
    shift: u32,
    add: bool,
}

impl UnsignedMagic {
    /// `None` where the arithmetic here would not fit: 64-bit divisors above 2⁶³.
    fn new(d: u64, bits: u32) -> Option<UnsignedMagic> {
        let d = u128::from(d);
        // ⌈log₂ d⌉
        let log = d.next_power_of_two().trailing_zeros();
        if bits + log > 127 {
            return None;
        }
        let factor = |shift: u32| (1u128 << (bits + shift)).div_ceil(d);
        // m · d may exceed 2^(bits + shift) by at most 2^shift; the first shift that does and fits is the cheapest.
        let fits = |&shift: &u32| {
            let m = factor(shift);
            m >> bits == 0 && m * d - (1 << (bits + shift)) <= 1 << shift
        };
        Some(match (0..=log).find(fits) {
            Some(shift) => UnsignedMagic { factor: factor(shift) as u64, shift, add: false },
            None => UnsignedMagic { factor: (factor(log) - (1 << bits)) as u64, shift: log, add: true },
        })
    }
}

/// x / d = ⌊x · factor / 2^(bits + shift)⌋, plus one where that is negative.
struct SignedMagic {
    factor: i128,
    shift: u32,
}

impl SignedMagic {
    /// For |d| ≥ 3 (Warren, "Hacker's Delight", 10-1).
    fn new(d: i128, bits: u32) -> SignedMagic {
        let divisor = d.unsigned_abs();
        let limit = (1u128 << (bits - 1)) + u128::from(d < 0);
        let limit = limit - 1 - limit % divisor;
        let missing = |p: u32| divisor - (1u128 << p) % divisor;
        let p = (bits..2 * bits - 1).find(|&p| 1 << p > limit * missing(p)).unwrap_or(2 * bits - 1);
        let factor = (((1u128 << p) + missing(p)) / divisor) as i128;
        SignedMagic { factor: if d < 0 { -factor } else { factor }, shift: p - bits }
    }
}
