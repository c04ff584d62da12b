//! Registers that are written and never read: right, and suspicious.

use crate::kernel::{Block, Kernel, LocationId, RegisterId};
use crate::op::Op;
use warpsmith_types::Diagnostic;

/// What is suspicious of a kernel as its author wrote it, before the passes: mutable registers that nothing reads, each
/// at the first place that writes it. What helpers keep for themselves is not told of.
pub fn warnings(kernel: &Kernel) -> Vec<Diagnostic> {
    let mut uses = Uses { written: vec![None; kernel.registers.len()], read: vec![false; kernel.registers.len()] };
    uses.block(&kernel.body);
    let unread = uses.written.into_iter().zip(uses.read).filter_map(|(at, read)| at.filter(|_| !read));
    let own = unread.filter_map(|at| kernel.location(at)).filter(|at| at.inlined_at.is_none());
    own.map(|at| {
        Diagnostic::warning("this register is written, and nothing reads it")
            .at(at.clone())
            .help("read it with `get`, or leave it out")
    })
    .collect()
}

struct Uses {
    /// Where each register is written first.
    written: Vec<Option<LocationId>>,
    read: Vec<bool>,
}

impl Uses {
    fn block(&mut self, block: &Block) {
        for inst in block {
            match &inst.op {
                Op::Get(r) => self.see(*r),
                Op::Set(r) => {
                    if let Some(first) = self.written.get_mut(r.0 as usize) {
                        first.get_or_insert(inst.location);
                    }
                }
                // An instruction may read what it names.
                Op::Machine(machine) => machine.each_run(|run| {
                    self.read.get_mut(run).into_iter().for_each(|all| all.fill(true));
                }),
                op => op.blocks().for_each(|b| self.block(b)),
            }
        }
    }

    fn see(&mut self, r: RegisterId) {
        if let Some(read) = self.read.get_mut(r.0 as usize) {
            *read = true;
        }
    }
}
