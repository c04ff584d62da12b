//! Folding: what is known while compiling is not computed at run time.
//!
//! Three things, each instruction looked at once with its operands already folded: an operation on constants is a
//! constant; an operation that PTX defines to give one of its operands, or a simpler operation, is that; a branch on a
//! constant is the block it takes. Constants move to the right of commutative operations, where the other rules expect
//! them.

mod control;
pub(super) mod floats;
mod integers;
mod logic;

use super::evaluate::{self, evaluate};
use super::rewrite::{Outcome, Rewriter, Rule, Scratch, rewrite};
use crate::kernel::{Inst, Kernel, Value};
use crate::op::{Binary, Op};
use crate::types::Type;
use smallvec::SmallVec;

/// Folds a verified kernel.
pub(super) fn fold(kernel: &mut Kernel, scratch: &mut Scratch) {
    rewrite(kernel, scratch, &mut Fold);
}

struct Fold;

/// What an operation comes to.
enum Change {
    /// This value.
    Is(Value),
    /// These bits.
    Constant(u64),
    /// This simpler operation.
    Becomes(Op, SmallVec<[Value; 3]>),
}

impl Change {
    fn becomes(op: Op, args: &[Value]) -> Change {
        Change::Becomes(op, SmallVec::from_slice(args))
    }
}

/// One simplification may enable another; each rule makes progress, so few rounds do.
const ROUNDS: usize = 8;

impl Rule for Fold {
    fn apply(&mut self, rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
        if !inst.op.is_pure() {
            return control::apply(rw, inst);
        }
        if inst.op == Op::Unpack {
            return unpack(rw, inst);
        }
        let [result] = inst.results[..] else { return Outcome::Keep(inst) };
        for _ in 0..ROUNDS {
            match change(rw, &inst.op, &inst.args, rw.type_of(result)) {
                None => break,
                Some(Change::Is(v)) => {
                    rw.replace(result, v);
                    return Outcome::Done;
                }
                Some(Change::Constant(bits)) => {
                    inst.op = Op::Const(bits & rw.type_of(result).mask());
                    inst.args.clear();
                    break;
                }
                Some(Change::Becomes(op, args)) => (inst.op, inst.args) = (op, args),
            }
        }
        Outcome::Keep(inst)
    }
}

fn change(rw: &mut Rewriter<'_>, op: &Op, args: &[Value], ty: Type) -> Option<Change> {
    if args.is_empty() {
        return None;
    }
    let constants: Option<SmallVec<[(Type, u64); 3]>> =
        args.iter().map(|&v| Some((rw.type_of(v), rw.constant(v)?))).collect();
    if let Some(bits) = constants.and_then(|c| evaluate(op, &c, ty)) {
        return Some(Change::Constant(bits));
    }
    match (op, args) {
        (Op::Binary(op), &[a, b]) => {
            let swaps = is_commutative(*op) && evaluate::swaps(rw.type_of(a), rw.constant(a));
            if swaps && rw.constant(b).is_none() {
                return Some(Change::becomes(Op::Binary(*op), &[b, a]));
            }
            if rw.type_of(a).is_float() { floats::binary(rw, *op, a, b) } else { integers::binary(rw, *op, a, b) }
        }
        (Op::Unary(op), &[a]) => integers::unary(rw, *op, a).or_else(|| logic::not(rw, *op, a)),
        (Op::Fma, &[a, b, c]) => floats::fma(rw, a, b, c),
        (Op::Compare(op), &[a, b]) => logic::compare(rw, *op, a, b),
        (Op::Select, &[c, a, b]) => logic::select(rw, c, a, b),
        (Op::Convert, &[a]) => integers::convert(rw, a, ty),
        (Op::Bitcast, &[a]) => integers::bitcast(rw, a, ty),
        _ => None,
    }
}

fn is_commutative(op: Binary) -> bool {
    use Binary::{Add, And, Max, Min, Mul, MulHi, MulWide, Or, Xor};
    matches!(op, Add | Mul | MulHi | MulWide | Min | Max | And | Or | Xor)
}

fn unpack(rw: &mut Rewriter<'_>, inst: Inst) -> Outcome {
    let (Some(bits), [low, high]) = (rw.constant(inst.args[0]), &inst.results[..]) else {
        return Outcome::Keep(inst);
    };
    for (&half, bits) in [low, high].into_iter().zip([bits, bits >> 16]) {
        let constant = rw.new_constant(rw.type_of(half), bits);
        rw.replace(half, constant);
    }
    Outcome::Done
}
