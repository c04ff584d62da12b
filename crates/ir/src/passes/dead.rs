//! Dead code: what nobody reads, and what has no other effect, goes.
//!
//! Three steps. A write of a register goes when it is overwritten before it is read; the registers' uses then say
//! which are never read at all; the rest is marked from what has an effect. A `for` without effects goes, for it ends;
//! a `loop` stays.

use crate::kernel::{Block, Inst, Kernel, RegisterId};
use crate::machine::Machine;
use crate::op::Op;
use rustc_hash::FxHashSet;

/// Removes dead code from a verified kernel. Values keep their numbers.
pub(super) fn dead(kernel: &mut Kernel) {
    overwritten(&mut kernel.body);
    let mut marker = Marker {
        nodes: vec![],
        defined_by: vec![None; kernel.values.len()],
        sets: vec![vec![]; kernel.registers.len()],
    };
    marker.collect(&kernel.body, None);
    let live = marker.mark();
    sweep(&mut kernel.body, &live, &mut 0);
}

/// Removes writes that another write of the same block makes unseen.
fn overwritten(block: &mut Block) {
    let mut coming = FxHashSet::default();
    let mut keep = vec![true; block.len()];
    for (i, inst) in block.iter_mut().enumerate().rev() {
        match inst.op {
            Op::Set(r) => keep[i] = coming.insert(r),
            Op::Get(r) => {
                coming.remove(&r);
            }
            Op::Machine(ref machine) => forget(machine, &mut coming),
            // What comes after the loop, or next in it, may read anything.
            Op::BreakIf | Op::ContinueIf => coming.clear(),
            _ => {}
        }
        for inner in inst.op.blocks_mut() {
            overwritten(inner);
            reads(inner, &mut coming);
        }
    }
    let mut keep = keep.into_iter();
    block.retain(|_| keep.next().unwrap_or(true));
}

/// Takes away the registers that a block may read before they are written again.
fn reads(block: &Block, coming: &mut FxHashSet<RegisterId>) {
    for inst in block {
        match inst.op {
            Op::Get(r) => {
                coming.remove(&r);
            }
            Op::Machine(ref machine) => forget(machine, coming),
            Op::BreakIf | Op::ContinueIf => coming.clear(),
            _ => {}
        }
        inst.op.blocks().for_each(|b| reads(b, coming));
    }
}

/// Takes away the registers that an instruction may read.
fn forget(machine: &Machine, coming: &mut FxHashSet<RegisterId>) {
    if !coming.is_empty() {
        machine.each_register(|r| {
            coming.remove(&r);
        });
    }
}

/// An instruction, numbered in program order.
struct Node<'k> {
    inst: &'k Inst,
    /// The instruction whose block it is in.
    around: Option<usize>,
    /// `break_if`s and `continue_if`s of it.
    breaks: Vec<usize>,
}

struct Marker<'k> {
    nodes: Vec<Node<'k>>,
    /// The node of each value.
    defined_by: Vec<Option<usize>>,
    /// The writes of each register.
    sets: Vec<Vec<usize>>,
}

impl<'k> Marker<'k> {
    fn collect(&mut self, block: &'k Block, around: Option<usize>) {
        for inst in block {
            let id = self.nodes.len();
            self.nodes.push(Node { inst, around, breaks: vec![] });
            for v in &inst.results {
                self.defined_by[v.0 as usize] = Some(id);
            }
            match inst.op {
                Op::For { index, .. } => self.defined_by[index.0 as usize] = Some(id),
                Op::Set(r) => self.sets[r.0 as usize].push(id),
                Op::BreakIf | Op::ContinueIf => {
                    if let Some(left) = self.innermost_loop(id) {
                        self.nodes[left].breaks.push(id);
                    }
                }
                _ => {}
            }
            for inner in inst.op.blocks() {
                self.collect(inner, Some(id));
            }
        }
    }

    fn innermost_loop(&self, mut id: usize) -> Option<usize> {
        loop {
            id = self.nodes[id].around?;
            if matches!(self.nodes[id].inst.op, Op::For { .. } | Op::Loop { .. }) {
                return Some(id);
            }
        }
    }

    /// Which instructions matter.
    fn mark(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        let mut work: Vec<usize> = (0..self.nodes.len()).filter(|&id| has_effect(&self.nodes[id].inst.op)).collect();
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut live[id], true) {
                continue;
            }
            let node = &self.nodes[id];
            work.extend(node.around);
            work.extend(&node.breaks);
            work.extend(node.inst.args.iter().filter_map(|v| self.defined_by[v.0 as usize]));
            match &node.inst.op {
                Op::Get(r) => work.extend(&self.sets[r.0 as usize]),
                Op::Machine(m) => m.each_run(|run| {
                    for sets in &self.sets[run] {
                        work.extend(sets.iter().filter(|set| !live[**set]));
                    }
                }),
                _ => {}
            }
        }
        live
    }
}

/// Whether it matters though nobody reads it. Blocks matter by what is in them, writes of registers by their reads.
fn has_effect(op: &Op) -> bool {
    !(op.is_removable() || matches!(op, Op::Set(_) | Op::If { .. } | Op::For { .. } | Op::BreakIf | Op::ContinueIf))
}

/// Keeps the live; `next` is the number of the next instruction in program order.
fn sweep(block: &mut Block, live: &[bool], next: &mut usize) {
    block.retain_mut(|inst| {
        let keep = live.get(*next).copied().unwrap_or(true);
        *next += 1;
        inst.op.blocks_mut().for_each(|inner| sweep(inner, live, next));
        keep
    });
}
