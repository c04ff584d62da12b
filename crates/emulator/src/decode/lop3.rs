//! `lop3` with a predicate beside its result.

use super::operands::File;
use super::{Decoder, Result};
use crate::arithmetic::integer as int;
use crate::lanes::{Compute, Fields, map1, map3};
use warpsmith_ptx::{Instruction, Operand, Type, Word};

impl Decoder<'_> {
    /// `lop3.or.b32 d|p, a, b, c, table, q`: `p` says whether the result is not zero, combined with `q`.
    pub(super) fn lop3_predicate(&mut self, i: &Instruction, table: u16) -> Result<()> {
        let (Operand::Pair(d, p), q) = (self.operand(i, 0)?, self.operand(i, 5)?) else {
            return Err(self.malformed(i, "two results are expected"));
        };
        let a = self.read(i, self.operand(i, 1)?, Type::B32)?;
        let b = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let c = self.read(i, self.operand(i, 3)?, Type::B32)?;
        let reads = self.reads.clone();
        let result = self.fresh(File::R32)?;
        let super::Register::R32(t) = result else { return Ok(()) };
        let run: Compute = |r, f, m| {
            let table = f.aux;
            map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::lop3(a, b, c, table));
        };
        self.writes.push(result);
        self.compute(run, Fields { d: t, e: 0, a, b, c, aux: table });
        self.reads = reads;
        let q = self.read(i, q, Type::Pred)?;
        self.reads.push(result);
        let p = self.result_or_none(i, p)?;
        let d = self.result_or_none_of(i, d, Type::B32)?;
        let run: Compute = |r, f, m| {
            let q = r.p[f.c as usize];
            let nonzero = crate::lanes::test1::<u32>(r, f, |a| a != 0);
            if f.e != crate::program::NONE {
                crate::lanes::put_predicate(r, f.e, m, if f.aux == 0 { nonzero | q } else { nonzero & q });
            }
            if f.d != crate::program::NONE {
                map1::<u32, u32>(r, f, m, |a| a);
            }
        };
        self.compute(run, Fields { d, e: p, a: t, b: 0, c: q, aux: i.has(Word::And).into() });
        Ok(())
    }
}
