//! Whether every mutable register is written before it is read, on every way to the read.

use super::Verifier;
use crate::kernel::{Block, Inst, LocationId, RegisterId};
use crate::machine::{Machine, Slot};
use crate::op::Op;
use warpsmith_ptx::table::{Effect, Role};

impl Verifier<'_> {
    /// Checks a kernel that is right otherwise.
    pub(super) fn assigned(&mut self) {
        let mut exempt = vec![false; self.kernel.registers.len()];
        accumulators(&self.kernel.body, &mut exempt);
        if exempt.iter().all(|exempt| *exempt) {
            return;
        }
        let mut walk = Walk { breaks: vec![], reported: exempt, found: vec![] };
        walk.block(&self.kernel.body, &mut vec![false; self.kernel.registers.len()]);
        for (r, at) in walk.found {
            let message =
                format!("register ${} is read here, and on some way to this place nothing has written it", r.0);
            self.error(message, at).help = Some("write it before the branch or loop".into());
        }
    }
}

struct Walk {
    /// What is written wherever the innermost loops are left.
    breaks: Vec<Option<Vec<bool>>>,
    /// Registers that are not to be reported, or no more.
    reported: Vec<bool>,
    found: Vec<(RegisterId, LocationId)>,
}

/// Both ways have written it.
fn meet(a: &mut [bool], b: &[bool]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
}

impl Walk {
    fn block(&mut self, block: &Block, written: &mut Vec<bool>) {
        for inst in block {
            self.inst(inst, written);
        }
    }

    fn inst(&mut self, inst: &Inst, written: &mut Vec<bool>) {
        match &inst.op {
            Op::Get(r) => self.read(*r, inst.location, written),
            Op::Set(r) => write(*r, written),
            Op::If { then, otherwise, .. } => {
                let mut other = written.clone();
                self.block(then, written);
                self.block(otherwise, &mut other);
                meet(written, &other);
            }
            Op::For { body, .. } => {
                // It may not run at all.
                self.breaks.push(None);
                self.block(body, &mut written.clone());
                self.breaks.pop();
            }
            Op::Loop { body } => {
                self.breaks.push(None);
                self.block(body, written);
                // Nothing comes after a loop that is never left.
                if let Some(left) = self.breaks.pop().flatten() {
                    *written = left;
                }
            }
            Op::BreakIf => match self.breaks.last_mut() {
                Some(Some(left)) => meet(left, written),
                Some(none) => *none = Some(written.clone()),
                None => {}
            },
            Op::Machine(machine) if machine.has_registers() => self.machine(inst, machine, written),
            _ => {}
        }
    }

    fn read(&mut self, r: RegisterId, at: LocationId, written: &[bool]) {
        let i = r.0 as usize;
        if written.get(i) == Some(&false) && !self.reported[i] {
            self.reported[i] = true;
            self.found.push((r, at));
        }
    }

    fn machine(&mut self, inst: &Inst, machine: &Machine, written: &mut [bool]) {
        let mut settled = true;
        machine.each_run(|run| settled &= self.reported[run].iter().all(|r| *r));
        if settled {
            return;
        }
        let probe = machine.probe();
        let Ok((_, bound)) = machine.bind(&probe) else { return };
        let roles: Vec<Role> = bound.iter().map(|(form, _)| form.role).collect();
        let each = |role_is: fn(Role) -> bool, see: &mut dyn FnMut(RegisterId)| {
            for (slot, _) in machine.operands.iter().zip(&roles).filter(|(_, role)| role_is(**role)) {
                slot.each(&mut |s| {
                    if let Slot::Register(r) = s {
                        see(*r);
                    }
                });
            }
        };
        each(|role| role != Role::Result, &mut |r| self.read(r, inst.location, written));
        if machine.guard.is_none() {
            each(|role| role != Role::Source, &mut |r| write(r, written));
        }
    }
}

/// Registers of asynchronous products. The first of a chain does not read its accumulator; which one it is, its operands
/// say when it runs.
fn accumulators(block: &Block, found: &mut [bool]) {
    for inst in block {
        match &inst.op {
            Op::Machine(machine) if machine.effect() == Effect::Asynchronous => {
                machine.each_run(|run| {
                    found.get_mut(run).into_iter().for_each(|all| all.fill(true));
                });
            }
            op => op.blocks().for_each(|b| accumulators(b, found)),
        }
    }
}

fn write(r: RegisterId, written: &mut [bool]) {
    if let Some(w) = written.get_mut(r.0 as usize) {
        *w = true;
    }
}
