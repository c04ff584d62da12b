//! How large an unsigned number can get, so that a sum is known not to wrap before it is widened.

use super::rewrite::Rewriter;
use crate::kernel::Value;
use crate::op::{Binary, Op, Special};
use crate::types::Type;
use rustc_hash::FxHashMap;

/// Operations that are looked at for one number.
const MAX_OPERATIONS: u32 = 32;

/// What is known of the counters of loops: each stays below its loop's end.
#[derive(Default)]
pub(super) struct Counters {
    ends: FxHashMap<Value, u64>,
}

impl Counters {
    /// Learns that a counter stays below a number.
    pub(super) fn learn(&mut self, index: Value, end: u64) {
        self.ends.insert(index, end);
    }

    /// The most that an unsigned number can be, where nothing on the way to it wraps; `None` where something may.
    pub(super) fn most(&self, rw: &Rewriter<'_>, v: Value) -> Option<u64> {
        self.bound(rw, v, &mut MAX_OPERATIONS.clone())
    }

    fn bound(&self, rw: &Rewriter<'_>, v: Value, budget: &mut u32) -> Option<u64> {
        *budget = budget.checked_sub(1)?;
        let ty = rw.type_of(v);
        if !matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64) {
            return None;
        }
        if let Some(end) = self.ends.get(&v) {
            return Some(end.saturating_sub(1));
        }
        // What nobody knows may be anything of its type, and has not wrapped.
        let Some(definition) = rw.definition(v) else { return Some(ty.mask()) };
        let (op, args) = (definition.op.clone(), definition.args.clone());
        let right = args.get(1).and_then(|&b| rw.constant(b));
        let mut of = |i: usize| self.bound(rw, args[i], budget);
        let bound = match op {
            Op::Const(bits) => bits,
            Op::Special(special) => special_most(rw, special).unwrap_or(ty.mask()),
            Op::Binary(Binary::Add) => of(0)?.checked_add(of(1)?)?,
            Op::Binary(Binary::Mul | Binary::MulWide) => of(0)?.checked_mul(of(1)?)?,
            Op::Binary(Binary::Shl) => of(0)?.checked_mul(1u64.checked_shl(right? as u32)?)?,
            Op::Binary(Binary::Shr) => of(0)?.checked_shr(right? as u32).unwrap_or(0),
            Op::Binary(Binary::Div) if right.is_some_and(|n| n > 0) => of(0)? / right?,
            Op::Binary(Binary::Rem) if right.is_some_and(|n| n > 0) => of(0)?.min(right? - 1),
            Op::Binary(Binary::And) if right.is_some() => of(0).unwrap_or(ty.mask()).min(right?),
            Op::Binary(Binary::Min) => of(0)?.min(of(1)?),
            Op::Binary(Binary::Max) => of(0)?.max(of(1)?),
            Op::Select => of(1)?.max(of(2)?),
            Op::Convert => of(0)?,
            Op::Param(_) => ty.mask(),
            _ => return None,
        };
        (bound <= ty.mask()).then_some(bound)
    }
}

/// The most of a hardware value.
fn special_most(rw: &Rewriter<'_>, special: Special) -> Option<u64> {
    let block = rw.block();
    let side = |i: usize, most: u64| Some(block.map_or(most, |b| u64::from(b[i])) - 1);
    match special {
        Special::ThreadX => side(0, 1024),
        Special::ThreadY => side(1, 1024),
        Special::ThreadZ => side(2, 64),
        Special::Lane => Some(31),
        Special::ClusterRank => Some(15),
        // As launches allow.
        Special::BlockX => Some((1 << 31) - 2),
        Special::BlockY | Special::BlockZ => Some(65_534),
        _ => None,
    }
}
