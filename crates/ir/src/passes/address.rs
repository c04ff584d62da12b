//! Addresses: constants leave them for the offset of the access.
//!
//! `[(base + 64) + i]` and `[base + (i + 16) · 4]` become `[(base + i) + 64]` and `[(base + i · 4) + 64]`, so that the
//! accesses of an unrolled loop share one register. `ptxas` does so only for sums that end in the constant.
//!
//! A sum of 32 bits that is widened may have wrapped before: `[base + wide(i + 16) · 4]` becomes
//! `[(base + wide(i) · 4) + 64]` where the numbers are known to be too small for that.

use super::bounds::Counters;
use super::rewrite::{Outcome, Rewriter, Rule, Scratch, rewrite};
use crate::kernel::{Block, Inst, Kernel, Value};
use crate::op::{Binary, Op};
use crate::types::Type;

/// Folds constants of a verified kernel into offsets. What computed them is left behind, for
/// [`Pass::Dead`](super::Pass::Dead); bases that became equal are for [`Pass::Number`](super::Pass::Number) to merge.
pub(super) fn address(kernel: &mut Kernel, scratch: &mut Scratch) {
    if computes(&kernel.body, &mut vec![false; kernel.values.len()]) {
        rewrite(kernel, scratch, &mut Address::default());
    }
}

/// Whether an access has an address that is computed as [`Part`] knows; `sums` are the values so computed.
fn computes(block: &Block, sums: &mut [bool]) -> bool {
    block.iter().any(|inst| {
        match inst.op {
            Op::Load { .. } | Op::Store { .. } => return sums[inst.args[0].0 as usize],
            Op::Binary(Binary::Add | Binary::Mul | Binary::Shl | Binary::MulWide) | Op::Convert => {
                inst.results.iter().for_each(|v| sums[v.0 as usize] = true);
            }
            _ => {}
        }
        inst.op.blocks().any(|b| computes(b, sums))
    })
}

/// How far into an address to look.
const MAX_DEPTH: u32 = 12;

#[derive(Default)]
struct Address {
    counters: Counters,
}

impl Rule for Address {
    fn apply(&mut self, rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
        if let Op::For { index, .. } = inst.op
            && let Some(end) = rw.constant(inst.args[1])
        {
            self.counters.learn(index, end);
        }
        let (Op::Load { offset, .. } | Op::Store { offset, .. }) = inst.op else { return Outcome::Keep(inst) };
        let moved = inst.moved();
        let Some(&element) = moved.first() else { return Outcome::Keep(inst) };
        let width = i64::from(rw.type_of(element).bytes()) * moved.len() as i64;
        let base = inst.args[0];
        let constant = match rw.type_of(base) {
            Type::U64 => self.constant_part(rw, base, 0) as i64,
            // Shared addresses: 32 bits, of which an offset below zero has the upper half.
            _ => i64::from(self.constant_part(rw, base, 0) as u32 as i32),
        };
        // The offset must stay a multiple of the width: the rest of the address alone need not be aligned.
        let sum = i64::from(offset).checked_add(constant).filter(|sum| constant != 0 && sum % width == 0);
        let Some(sum) = sum.and_then(|sum| i32::try_from(sum).ok()) else { return Outcome::Keep(inst) };
        inst.args[0] = self.variable_part(rw, base, 0);
        if let Op::Load { offset, .. } | Op::Store { offset, .. } = &mut inst.op {
            *offset = sum;
        }
        Outcome::Keep(inst)
    }
}

/// A sum or a scaling that an address may be made of; not one of constants alone, which has no variable part.
enum Part {
    Sum(Value, Value),
    Times(Value, Value, Binary, u64),
    /// Of fewer bits, and nothing in it wraps: times a constant, or as it is.
    Widened(Value, Option<(Value, u64)>),
    Other,
}

impl Address {
    fn part(&self, rw: &Rewriter<'_>, v: Value, depth: u32) -> Part {
        if depth > MAX_DEPTH {
            return Part::Other;
        }
        let constant = |v| rw.constant(v).is_some();
        if let Some((a, b)) = rw.binary_operands(v, Binary::Add).filter(|&(a, b)| !(constant(a) && constant(b))) {
            return Part::Sum(a, b);
        }
        for op in [Binary::Mul, Binary::Shl] {
            if let Some((a, b)) = rw.binary_operands(v, op).filter(|&(a, _)| !constant(a))
                && let Some(bits) = rw.constant(b)
            {
                let factor = if op == Binary::Mul { bits } else { 1u64.checked_shl(bits as u32).unwrap_or(0) };
                return Part::Times(a, b, op, factor);
            }
        }
        let exact = |a: Value| !constant(a) && self.counters.most(rw, a).is_some();
        match rw.definition(v).map(|d| (&d.op, &d.args[..])) {
            Some((Op::Binary(Binary::MulWide), &[a, b])) if exact(a) => match rw.constant(b) {
                Some(factor) => Part::Widened(a, Some((b, factor))),
                None => Part::Other,
            },
            Some((Op::Convert, &[a])) if rw.type_of(a).bits() < rw.type_of(v).bits() && exact(a) => {
                Part::Widened(a, None)
            }
            _ => Part::Other,
        }
    }

    /// The constant summand of an address, modulo its width.
    fn constant_part(&self, rw: &Rewriter<'_>, v: Value, depth: u32) -> u64 {
        if let Some(bits) = rw.constant(v) {
            // A bare constant is a base, not an offset.
            return if depth == 0 { 0 } else { bits };
        }
        let of = |v| self.constant_part(rw, v, depth + 1);
        match self.part(rw, v, depth) {
            Part::Sum(a, b) => of(a).wrapping_add(of(b)),
            Part::Times(a, _, _, factor) => of(a).wrapping_mul(factor),
            Part::Widened(a, by) => (of(a) & rw.type_of(a).mask()).wrapping_mul(by.map_or(1, |(_, factor)| factor)),
            Part::Other => 0,
        }
    }

    /// The address without it.
    fn variable_part(&self, rw: &mut Rewriter<'_>, v: Value, depth: u32) -> Value {
        if self.constant_part(rw, v, depth) == 0 {
            return v;
        }
        match self.part(rw, v, depth) {
            Part::Sum(a, b) if rw.constant(b).is_some() => self.variable_part(rw, a, depth + 1),
            Part::Sum(a, b) if rw.constant(a).is_some() => self.variable_part(rw, b, depth + 1),
            Part::Sum(a, b) => {
                let (a, b) = (self.variable_part(rw, a, depth + 1), self.variable_part(rw, b, depth + 1));
                rw.binary(Binary::Add, a, b)
            }
            Part::Times(a, by, op, _) => {
                let a = self.variable_part(rw, a, depth + 1);
                rw.binary(op, a, by)
            }
            Part::Widened(a, by) => {
                let (a, ty) = (self.variable_part(rw, a, depth + 1), rw.type_of(v));
                match by {
                    Some((by, _)) => rw.compute(Op::Binary(Binary::MulWide), &[a, by], ty),
                    None => rw.compute(Op::Convert, &[a], ty),
                }
            }
            Part::Other => v,
        }
    }
}
