//! Forwarding through mutable registers.
//!
//! Where the last write of a register is known, a read of it is the value that was written, and a write of what is
//! there already goes. So a variable that is only updated in unrolled code costs nothing.

use crate::kernel::{Block, Kernel, Value};
use crate::op::Op;

/// Forwards values in a verified kernel.
/// Whether it found one.
pub(super) fn forward(kernel: &mut Kernel) -> bool {
    let mut forward = Forward { alias: (0..kernel.values.len() as u32).map(Value).collect(), found: false };
    let mut held = vec![None; kernel.registers.len()];
    forward.block(&mut kernel.body, &mut held);
    forward.found
}

struct Forward {
    /// What to read instead of each value.
    alias: Vec<Value>,
    /// Whether a read became a value.
    found: bool,
}

impl Forward {
    /// `held`: what each register is known to hold.
    fn block(&mut self, block: &mut Block, held: &mut [Option<Value>]) {
        block.retain_mut(|inst| {
            for v in &mut inst.args {
                *v = self.alias[v.0 as usize];
            }
            match inst.op {
                Op::Get(r) => match held[r.0 as usize] {
                    Some(v) => {
                        self.alias[inst.results[0].0 as usize] = v;
                        self.found = true;
                        return false;
                    }
                    None => held[r.0 as usize] = Some(inst.results[0]),
                },
                Op::Set(r) => {
                    let new = Some(inst.args[0]);
                    if std::mem::replace(&mut held[r.0 as usize], new) == new {
                        return false;
                    }
                }
                Op::Machine(ref machine) => machine.each_run(|run| held[run].fill(None)),
                _ => {}
            }
            let is_loop = matches!(inst.op, Op::For { .. } | Op::Loop { .. });
            let mut written = vec![];
            inst.op.blocks().for_each(|b| writes(b, &mut written));
            if is_loop {
                // The second time around they may hold something else.
                written.iter().for_each(|&r: &usize| held[r] = None);
            }
            for inner in inst.op.blocks_mut() {
                self.block(inner, &mut held.to_vec());
            }
            written.into_iter().for_each(|r| held[r] = None);
            true
        });
    }
}

/// The registers that a block writes.
fn writes(block: &Block, into: &mut Vec<usize>) {
    for inst in block {
        match &inst.op {
            Op::Set(r) => into.push(r.0 as usize),
            Op::Machine(machine) => machine.each_run(|run| into.extend(run)),
            _ => {}
        }
        inst.op.blocks().for_each(|b| writes(b, into));
    }
}
