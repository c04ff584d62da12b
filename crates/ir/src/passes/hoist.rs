//! Loop-invariant motion: what a loop computes from values outside of it is computed once, before it.
//!
//! Only what computes moves, and it may: nothing in PTX traps. Inner loops come first, so that a computation leaves as
//! many loops as it can. Branches keep what is in them, for it may be rare; truth values stay where they are, because
//! predicate registers are few.

use crate::kernel::{Block, Inst, Kernel, Value};
use crate::op::Op;
use crate::types::Type;

/// Moves computations out of the loops of a verified kernel.
pub(super) fn hoist(kernel: &mut Kernel) {
    let mut body = std::mem::take(&mut kernel.body);
    let mut hoist = Hoist { types: &kernel.values, depths: vec![0; kernel.values.len()] };
    hoist.block(&mut body, 0);
    kernel.body = body;
}

struct Hoist<'k> {
    types: &'k [Type],
    /// How many loops are around the definition of each value.
    depths: Vec<u32>,
}

impl Hoist<'_> {
    fn block(&mut self, block: &mut Block, depth: u32) {
        let mut out = Block::with_capacity(block.len());
        for mut inst in block.drain(..) {
            self.define(&inst.results, depth);
            match &mut inst.op {
                Op::For { index, body, .. } => {
                    self.define(&[*index], depth + 1);
                    self.repeat(body, depth, &mut out);
                }
                Op::Loop { body } => self.repeat(body, depth, &mut out),
                op => op.blocks_mut().for_each(|b| self.block(b, depth)),
            }
            out.push(inst);
        }
        *block = out;
    }

    /// A loop's body; what leaves it goes to `before`.
    fn repeat(&mut self, body: &mut Block, depth: u32, before: &mut Block) {
        self.block(body, depth + 1);
        for inst in std::mem::take(body) {
            if self.is_invariant(&inst, depth) {
                self.define(&inst.results, depth);
                before.push(inst);
            } else {
                body.push(inst);
            }
        }
    }

    fn is_invariant(&self, inst: &Inst, depth: u32) -> bool {
        let number = |v: &Value| self.types.get(v.0 as usize) != Some(&Type::Bool);
        let outside = |v: &Value| self.depths.get(v.0 as usize).is_some_and(|d| *d <= depth);
        // A constant is no instruction.
        let moves = matches!(inst.op, Op::Const(_)) || inst.results.iter().all(number);
        moves && inst.op.is_pure() && inst.args.iter().all(outside)
    }

    fn define(&mut self, values: &[Value], depth: u32) {
        for v in values {
            if let Some(place) = self.depths.get_mut(v.0 as usize) {
                *place = depth;
            }
        }
    }
}
