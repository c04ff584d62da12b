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
        // What leaves the loops of this block, with the place of each loop.
        let mut moved: Vec<(usize, Block)> = vec![];
        for (i, inst) in block.iter_mut().enumerate() {
            self.define(&inst.results, depth);
            let mut before = Block::new();
            match &mut inst.op {
                Op::For { index, body, .. } => {
                    self.define(&[*index], depth + 1);
                    self.repeat(body, depth, &mut before);
                }
                Op::Loop { body } => self.repeat(body, depth, &mut before),
                op => op.blocks_mut().for_each(|b| self.block(b, depth)),
            }
            if !before.is_empty() {
                moved.push((i, before));
            }
        }
        insert(block, moved);
    }

    /// A loop's body; what leaves it goes to `before`.
    fn repeat(&mut self, body: &mut Block, depth: u32, before: &mut Block) {
        self.block(body, depth + 1);
        before.extend(body.extract_if(.., |inst| {
            let moves = self.is_invariant(inst, depth);
            if moves {
                self.define(&inst.results, depth);
            }
            moves
        }));
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

/// Puts instructions before others, by their places.
fn insert(block: &mut Block, moved: Vec<(usize, Block)>) {
    if moved.is_empty() {
        return;
    }
    let more: usize = moved.iter().map(|(_, before)| before.len()).sum();
    let mut out = Block::with_capacity(block.len() + more);
    let mut moved = moved.into_iter().peekable();
    for (i, inst) in block.drain(..).enumerate() {
        if let Some((_, mut before)) = moved.next_if(|(at, _)| *at == i) {
            out.append(&mut before);
        }
        out.push(inst);
    }
    *block = out;
}
