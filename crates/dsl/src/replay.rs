//! Two recordings of one body, compared: what differs depends on how often a run-time loop is traced.

use crate::trace::Handle;
use rustc_hash::FxHashMap;
use warpsmith_ir::machine::Slot;
use warpsmith_ir::{Block, Inst, Op, RegisterId};

/// How values and registers of one recording are called in the other.
#[derive(Default)]
struct Names {
    values: FxHashMap<u32, u32>,
    registers: FxHashMap<u32, u32>,
}

impl Names {
    fn same_register(&mut self, p: RegisterId, q: RegisterId) -> bool {
        *self.registers.entry(q.0).or_insert(p.0) == p.0
    }

    fn same_op(&mut self, p: &Op, q: &Op) -> bool {
        match (p, q) {
            (Op::Get(p), Op::Get(q)) | (Op::Set(p), Op::Set(q)) => self.same_register(*p, *q),
            (Op::If { .. }, Op::If { .. }) | (Op::Loop { .. }, Op::Loop { .. }) => true,
            (Op::For { index: p, .. }, Op::For { index: q, .. }) => {
                self.values.insert(q.0, p.0);
                true
            }
            (Op::Machine(p), Op::Machine(q)) => {
                (p.opcode, &p.modifiers, p.guard, p.operands.len())
                    == (q.opcode, &q.modifiers, q.guard, q.operands.len())
                    && p.operands.iter().zip(&q.operands).all(|(p, q)| self.same_slot(p, q))
            }
            _ => p == q,
        }
    }

    fn same_slot(&mut self, p: &Slot, q: &Slot) -> bool {
        match (p, q) {
            (Slot::Register(p), Slot::Register(q)) => self.same_register(*p, *q),
            (Slot::Vector(_) | Slot::Registers(..), Slot::Vector(_) | Slot::Registers(..)) => {
                let (p, q) = (p.parts(), q.parts());
                p.len() == q.len() && p.iter().zip(&*q).all(|(p, q)| self.same_slot(p, q))
            }
            _ => p == q,
        }
    }
}

/// Compares two recordings of one body; gives the first instructions that differ. A loop's counter has a name in each.
pub(crate) fn difference<'a>(
    a: &'a Block,
    b: &'a Block,
    counters: Option<(Handle, Handle)>,
) -> Option<(Option<&'a Inst>, Option<&'a Inst>)> {
    fn walk<'a>(a: &'a Block, b: &'a Block, names: &mut Names) -> Option<(Option<&'a Inst>, Option<&'a Inst>)> {
        for i in 0..a.len().max(b.len()) {
            let (Some(x), Some(y)) = (a.get(i), b.get(i)) else { return Some((a.get(i), b.get(i))) };
            let same = x.args.len() == y.args.len()
                && x.results.len() == y.results.len()
                && x.args.iter().zip(&y.args).all(|(p, q)| names.values.get(&q.0).unwrap_or(&q.0) == &p.0)
                && names.same_op(&x.op, &y.op);
            if !same {
                return Some((Some(x), Some(y)));
            }
            for (p, q) in x.op.blocks().zip(y.op.blocks()) {
                if let Some(d) = walk(p, q, names) {
                    return Some(d);
                }
            }
            for (p, q) in x.results.iter().zip(&y.results) {
                names.values.insert(q.0, p.0);
            }
        }
        None
    }
    let mut names = Names::default();
    if let Some((p, q)) = counters {
        names.values.insert(q.id, p.id);
    }
    walk(a, b, &mut names)
}
