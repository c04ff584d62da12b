//! Addresses and barriers of a cluster.

use super::operands::File;
use super::{Decoder, Result};
use crate::lanes::{Compute, Fields, map2};
use crate::machine::{mapped, rank_of};
use crate::program::Action;
use warpsmith_ptx::{Instruction, Opcode, SpecialRegister, Type, Word};

impl Decoder<'_> {
    /// `mapa`, `getctarank`. A generic address of shared memory differs from the other only in its high half.
    pub(super) fn cluster_address(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::SharedCluster])?;
        let ty = self.ty(i)?;
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let wide = File::of(ty) == Some(File::R64);
        if i.opcode == Opcode::Mapa {
            let b = self.read(i, self.operand(i, 2)?, Type::B32)?;
            let d = self.write(i, self.operand(i, 0)?, ty)?;
            let run: Compute = match wide {
                true => |r, f, m| {
                    map2::<u64, u64, u32>(r, f, m, |a, b| (a >> 32) << 32 | u64::from(mapped(a as u32, b)));
                },
                false => |r, f, m| map2::<u32, u32, u32>(r, f, m, mapped),
            };
            self.compute(run, Fields { d, a, b, ..Fields::default() });
            return Ok(());
        }
        let b = self.special(i, SpecialRegister::ClusterCtaRank)?;
        let d = self.write(i, self.operand(i, 0)?, Type::B32)?;
        let run: Compute = match wide {
            true => |r, f, m| map2::<u32, u64, u32>(r, f, m, |a, own| rank_of(a as u32).unwrap_or(own)),
            false => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, own| rank_of(a).unwrap_or(own)),
        };
        self.compute(run, Fields { d, a, b, ..Fields::default() });
        Ok(())
    }

    /// `barrier.cluster`.
    pub(super) fn cluster_barrier(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Cluster, Arrive, Wait, Release, Relaxed, Acquire, Aligned])?;
        self.emit(Action::ClusterBarrier { waits: i.has(Wait), aligned: i.has(Aligned), relaxed: i.has(Relaxed) });
        Ok(())
    }
}
