//! `mbarrier`.

use super::{Decoder, Result};
use crate::lanes::{Compute, Fields, map1};
use crate::program::{Action, MbarrierKind, MbarrierOp, NONE};
use warpsmith_ptx::{Instruction, Operand, Type, Word};

impl Decoder<'_> {
    /// `cp.async.mbarrier.arrive`.
    pub(super) fn copies_arrive(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Async, Mbarrier, Arrive, Noinc, Shared, SharedCta])?;
        let place = self.address(i, self.operand(i, 0)?)?;
        self.emit(Action::Mbarrier(MbarrierOp {
            kind: MbarrierKind::CopiesArrive { counts: i.has(Noinc) },
            relaxed: false,
            scope: None,
            space: self.space(i),
            address_wide: place.wide,
            address: place.plane,
            offset: place.offset,
            d: NONE,
            operand: NONE,
        }));
        Ok(())
    }

    pub(super) fn mbarrier(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let words = [
            Init,
            Inval,
            Arrive,
            ArriveDrop,
            ExpectTx,
            CompleteTx,
            TestWait,
            TryWait,
            Parity,
            NoComplete,
            PendingCount,
            Shared,
            SharedCta,
            SharedCluster,
            Release,
            Acquire,
            Relaxed,
            Cta,
            Cluster,
        ];
        self.only(i, &words)?;
        if i.has(PendingCount) {
            let a = self.read(i, self.operand(i, 1)?, Type::B64)?;
            let d = self.write(i, self.operand(i, 0)?, Type::B32)?;
            let run: Compute = |r, f, m| map1::<u32, u64>(r, f, m, |state| (state & 0xf_ffff) as u32);
            self.compute(run, Fields { d, a, ..Fields::default() });
            return Ok(());
        }
        let expects = i.has(ExpectTx);
        let arrives = i.has(Arrive) || i.has(ArriveDrop);
        let waits = i.has(TestWait) || i.has(TryWait);
        let kind = if arrives {
            MbarrierKind::Arrive { expects, drops: i.has(ArriveDrop), completes: !i.has(NoComplete) }
        } else if waits {
            MbarrierKind::Wait { blocks: i.has(TryWait), parity: i.has(Parity) }
        } else if i.has(Init) {
            MbarrierKind::Init
        } else if i.has(Inval) {
            MbarrierKind::Inval
        } else if i.has(CompleteTx) {
            MbarrierKind::CompleteTx
        } else if expects {
            MbarrierKind::ExpectTx
        } else {
            return Err(self.malformed(i, "no operation"));
        };
        let first = usize::from(arrives || waits);
        let place = self.address(i, self.operand(i, first)?)?;
        let operand_type = if waits && !i.has(Parity) { Type::B64 } else { Type::B32 };
        let operand = match i.operands.get(first + 1) {
            Some(operand) => self.read(i, operand, operand_type)?,
            None if waits || expects || matches!(kind, MbarrierKind::Init | MbarrierKind::CompleteTx) => {
                return Err(self.malformed(i, format!("operand {} is missing", first + 2)));
            }
            None => NONE,
        };
        let d = match self.operand(i, 0)? {
            Operand::Sink if arrives => NONE,
            d if arrives => self.write(i, d, Type::B64)?,
            d if waits => self.write(i, d, Type::Pred)?,
            _ => NONE,
        };
        self.emit(Action::Mbarrier(MbarrierOp {
            kind,
            relaxed: i.has(Relaxed),
            scope: self.scope(i),
            space: self.space(i),
            address_wide: place.wide,
            address: place.plane,
            offset: place.offset,
            d,
            operand,
        }));
        Ok(())
    }
}
