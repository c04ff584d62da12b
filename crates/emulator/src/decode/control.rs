//! Branches, exits, barriers, and what needs nothing done.

use super::{Decoder, Result};
use crate::program::{Action, Address, Barrier, BarrierKind, NONE, Scope, Semantics};
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn control(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::*;
        match i.opcode {
            Bra => {
                self.only(i, &[Word::Uni])?;
                let Operand::Label(label) = self.operand(i, 0)? else {
                    return Err(self.malformed(i, "a label is expected"));
                };
                self.emit(Action::Branch { target: self.first_label + label.0 });
            }
            BrxIdx => self.table(i)?,
            Ret if self.is_function() => self.emit(Action::Return),
            Exit | Ret => self.emit(Action::Exit),
            Trap | Brkpt => self.emit(Action::Trap),
            Barrier if i.has(Word::Cluster) => self.cluster_barrier(i)?,
            Bar | Barrier => self.barrier(i)?,
            Setmaxnreg => {
                let count = self.number(i, 0)?;
                self.emit(Action::SetMaxRegisters { count });
            }
            Nanosleep => self.emit(Action::Yield),
            Fence | Membar => {
                // A fence beyond the cluster is there for other blocks to see.
                if i.has(Word::Proxy) && i.has(Word::Async) {
                    let shared = !i.has(Word::Global);
                    let global = ![Word::SharedCta, Word::SharedCluster].iter().any(|w| i.has(*w));
                    self.emit(Action::ProxyFence { shared, global });
                    return Ok(());
                }
                self.communicates |= [Word::Gpu, Word::Sys, Word::Gl].iter().any(|w| i.has(*w));
                if i.has(Word::MbarrierInit) {
                    self.emit(Action::MbarrierFence);
                    return Ok(());
                }
                if i.has(Word::TensormapGeneric) && i.has(Word::Acquire) {
                    let place = self.address(i, self.operand(i, 0)?)?;
                    let address = Address { plane: place.plane, wide: place.wide, offset: place.offset };
                    self.emit(Action::AcquireMap { address, scope: self.scope(i).unwrap_or(Scope::Gpu) });
                    return Ok(());
                }
                if i.has(Word::Proxy) {
                    self.emit(Action::Nop);
                    return Ok(());
                }
                let scope = self.scope(i).unwrap_or(if i.has(Word::Gl) { Scope::Gpu } else { Scope::Sys });
                let one = self.semantics(i);
                let named = one.acquires || one.releases;
                // `membar` and a fence that does not say are both.
                let order = if named { one } else { Semantics { acquires: true, releases: true } };
                self.emit(Action::Fence { order, scope });
            }
            Createpolicy => {
                let zero = self.constant64(crate::program::Constant::Value(0))?;
                let d = self.write(i, self.operand(i, 0)?, Type::B64)?;
                let fields = crate::lanes::Fields { d, a: zero, ..Default::default() };
                self.compute(|r, f, m| crate::lanes::map1::<u64, u64>(r, f, m, |a| a), fields);
            }
            Griddepcontrol => {
                self.emit(if i.has(Word::Wait) { Action::WaitUpstream } else { Action::LaunchDependents })
            }
            // Hints.
            _ => self.emit(Action::Nop),
        }
        Ok(())
    }

    fn table(&mut self, i: &Instruction) -> Result<()> {
        let index = self.read(i, self.operand(i, 0)?, Type::U32)?;
        let Operand::Vector(targets) = self.operand(i, 1)? else {
            return Err(self.unsupported(i, "a table that is not listed"));
        };
        let start = self.lists.len() as u32;
        for target in targets.iter() {
            let Operand::Label(label) = target else { return Err(self.malformed(i, "a label is expected")) };
            self.lists.push(self.first_label + label.0);
        }
        self.emit(Action::Table { index, start, count: targets.len() as u32 });
        Ok(())
    }

    fn barrier(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Sync, Arrive, Warp, Cta, Aligned, Red, Popc, And, Or])?;
        if i.has(Warp) {
            let members = self.read(i, self.operand(i, 0)?, Type::B32)?;
            self.emit(Action::WarpBarrier { members });
            return Ok(());
        }
        let kind = match (i.has(Sync), i.has(Arrive), i.has(Red)) {
            (true, false, false) => BarrierKind::Sync,
            (false, true, false) => BarrierKind::Arrive,
            (false, false, true) if i.has(Popc) => BarrierKind::Popc,
            (false, false, true) if i.has(And) => BarrierKind::And,
            (false, false, true) if i.has(Or) => BarrierKind::Or,
            _ => return Err(self.unsupported(i, "")),
        };
        let reduces = matches!(kind, BarrierKind::Popc | BarrierKind::And | BarrierKind::Or);
        let first = usize::from(reduces);
        let id = self.read(i, self.operand(i, first)?, Type::U32)?;
        let rest = i.operands.get(first + 1..).unwrap_or_default();
        let (count, predicate) = match (reduces, rest) {
            (true, [count, p]) => (Some(count), Some(p)),
            (true, [p]) => (None, Some(p)),
            (false, [count]) => (Some(count), None),
            (false, []) => (None, None),
            _ => return Err(self.malformed(i, "the wrong number of operands")),
        };
        let count = match count {
            Some(operand) => self.read(i, operand, Type::U32)?,
            None if kind == BarrierKind::Arrive => return Err(self.malformed(i, "the thread count is missing")),
            None => NONE,
        };
        let p = match predicate {
            Some(operand) => self.read(i, operand, Type::Pred)?,
            None => NONE,
        };
        let d = match kind {
            BarrierKind::Popc => self.write(i, self.operand(i, 0)?, Type::U32)?,
            BarrierKind::And | BarrierKind::Or => self.write(i, self.operand(i, 0)?, Type::Pred)?,
            _ => NONE,
        };
        // `bar` is `barrier.aligned` by another name.
        let aligned = i.opcode == Opcode::Bar || i.has(Aligned);
        self.emit(Action::Barrier(Barrier { kind, id, count, aligned, d, p }));
        Ok(())
    }
}
