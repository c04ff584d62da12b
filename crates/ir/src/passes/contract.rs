//! Contraction: a product that feeds one sum or difference, and nothing else, becomes an `fma`.
//!
//! It rounds once where the kernel rounded twice, so it changes results; where this happens is thus fixed here and not
//! left to `ptxas`. Of a sum of two products the left one is fused.

use super::rewrite::{Outcome, Rewriter, Rule, Scratch, rewrite};
use crate::kernel::{Block, Inst, Kernel, Value};
use crate::op::{Binary, Op, Unary};
use crate::types::Type;
use smallvec::smallvec;

/// Fuses the products of a verified kernel. Those that were fused are left behind, for [`Pass::Dead`](super::Pass::Dead).
pub(super) fn contract(kernel: &mut Kernel, scratch: &mut Scratch) {
    let mut uses = vec![0; kernel.values.len()];
    if !count(&kernel.body, &mut uses) {
        return;
    }
    rewrite(kernel, scratch, &mut Contract { uses });
}

/// Whether there is a product at all.
fn count(block: &Block, uses: &mut [u32]) -> bool {
    let mut products = false;
    for inst in block {
        inst.args.iter().for_each(|v| uses[v.0 as usize] += 1);
        products |= inst.op == Op::Binary(Binary::Mul);
        inst.op.blocks().for_each(|b| products |= count(b, uses));
    }
    products
}

struct Contract {
    /// How often each value of the original kernel is read.
    uses: Vec<u32>,
}

impl Contract {
    /// The factors of a product that only its reader needs.
    fn product(&self, rw: &Rewriter<'_>, v: Value) -> Option<(Value, Value)> {
        let once = self.uses.get(v.0 as usize) == Some(&1);
        rw.binary_operands(v, Binary::Mul).filter(|_| once)
    }
}

impl Rule for Contract {
    fn apply(&mut self, rw: &mut Rewriter<'_>, mut inst: Inst) -> Outcome {
        let op = match inst.op {
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => op,
            _ => return Outcome::Keep(inst),
        };
        let (left, right) = (inst.args[0], inst.args[1]);
        let ty = rw.type_of(left);
        if !matches!(ty, Type::F16 | Type::F32 | Type::F64) {
            return Outcome::Keep(inst);
        }
        let negative = |rw: &mut Rewriter<'_>, v| rw.compute(Op::Unary(Unary::Neg), &[v], ty);
        let args = if let Some((a, b)) = self.product(rw, left) {
            // a·b + c, or a·b + (−c)
            let c = if op == Binary::Sub { negative(rw, right) } else { right };
            [a, b, c]
        } else if let Some((a, b)) = self.product(rw, right) {
            // a·b + c, or (−a)·b + c
            let a = if op == Binary::Sub { negative(rw, a) } else { a };
            [a, b, left]
        } else {
            return Outcome::Keep(inst);
        };
        inst.op = Op::Fma;
        inst.args = smallvec![args[0], args[1], args[2]];
        Outcome::Keep(inst)
    }
}
