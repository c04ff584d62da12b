//! Integer products of twice the width.

use super::{Decoder, Result};
use crate::lanes::{Compute, map2, map3};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Type, Word};

/// `mul.wide` and `mad.wide`: the product has twice the width.
fn wide(ty: Type, mad: bool) -> Option<(Compute, Type)> {
    Some(match (ty, mad) {
        (Type::U16, false) => (|r, f, m| map2::<u32, u16, u16>(r, f, m, |a, b| u32::from(a) * u32::from(b)), Type::U32),
        (Type::S16, false) => (|r, f, m| map2::<i32, i16, i16>(r, f, m, |a, b| i32::from(a) * i32::from(b)), Type::S32),
        (Type::U32, false) => (|r, f, m| map2::<u64, u32, u32>(r, f, m, |a, b| u64::from(a) * u64::from(b)), Type::U64),
        (Type::S32, false) => (|r, f, m| map2::<i64, i32, i32>(r, f, m, |a, b| i64::from(a) * i64::from(b)), Type::S64),
        (Type::U16, true) => (
            |r, f, m| map3::<u32, u16, u16, u32>(r, f, m, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c)),
            Type::U32,
        ),
        (Type::S16, true) => (
            |r, f, m| map3::<i32, i16, i16, i32>(r, f, m, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c)),
            Type::S32,
        ),
        (Type::U32, true) => (
            |r, f, m| map3::<u64, u32, u32, u64>(r, f, m, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c)),
            Type::U64,
        ),
        (Type::S32, true) => (
            |r, f, m| map3::<i64, i32, i32, i64>(r, f, m, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c)),
            Type::S64,
        ),
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn mul_wide(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Wide])?;
        let ty = self.ty(i)?;
        let mad = i.opcode == Opcode::Mad;
        let (run, result) = wide(ty, mad).ok_or_else(|| self.unsupported(i, ""))?;
        let types = [ty, ty, result];
        self.simple(i, run, result, &types[..if mad { 3 } else { 2 }], 0)?;
        self.quick(match (ty, mad) {
            (Type::U32, false) => Some(Quick::MulWideU32),
            (Type::S32, false) => Some(Quick::MulWideS32),
            (Type::U32, true) => Some(Quick::MadWideU32),
            (Type::S32, true) => Some(Quick::MadWideS32),
            _ => None,
        });
        Ok(())
    }
}
