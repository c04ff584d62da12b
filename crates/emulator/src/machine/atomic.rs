//! Atomics and reductions. Where they reach memory that blocks share, one worker runs all blocks, so that each is
//! simply done, lane after lane.

use super::cell::{Intent, Request, cell, resolve};
use super::core::Core;
use super::peers::Peers;
use super::races::Deed;
use super::span::addresses;
use super::warp::Warp;
use crate::arithmetic::float::{Float, canonical, extreme, with_nan_of};
use crate::arithmetic::half::{Half, packed2};
use crate::finding::{AccessKind, Storage};
use crate::lanes::{BF16, F16, LANES, each};
use crate::memory::{POISON_WORD, Touch};
use crate::program::{Atomic, AtomicOp, AtomicType, NONE, Scope, Semantics, Space, VectorAtomic};

impl Warp {
    pub(super) fn atomic(&mut self, core: &mut Core<'_>, common: &mut Peers, a: &Atomic, mask: u32, pc: u32) {
        let bytes = a.ty.bytes();
        let addresses = addresses(&self.registers, a.address, a.address_wide, a.offset);
        let wide = bytes == 8;
        let alone = core.alone;
        let (mut failed, mut changed) = (0, false);
        for lane in each(mask) {
            let operand = |this: &Warp, n: u16| match (n, wide) {
                (NONE, _) => 0,
                (n, true) => this.registers.r64[n as usize][lane],
                (n, false) => this.registers.r32[n as usize][lane].into(),
            };
            let (b, c) = (operand(self, a.b), operand(self, a.c));
            let request =
                Request { kind: AccessKind::Atomic, space: a.space, address: addresses[lane], bytes, lane, pc };
            let old = match cell((self.index, &mut self.local), core, common, &request, Intent::Update) {
                Some(mut cell) => {
                    let old = cell.get(0, bytes);
                    let new = apply_in(resolve(a.space, addresses[lane]).0, a.op, a.ty, old, b, c);
                    failed |= u32::from(a.op == AtomicOp::Cas && !swaps(a.ty, old, b)) << lane;
                    changed |= new != old;
                    cell.set(0, bytes, new, alone);
                    old
                }
                None => u64::from(POISON_WORD) << 32 | u64::from(POISON_WORD),
            };
            if a.d != NONE {
                match wide {
                    true => self.registers.r64[a.d as usize][lane] = old,
                    false => self.registers.r32[a.d as usize][lane] = old as u32,
                }
            }
        }
        if core.races {
            self.note_atomic(core, common, (a.space, a.order, a.scope), (mask, failed, pc), &addresses, bytes);
        }
        self.stores += u64::from(changed);
        if !changed {
            self.polled(core, (pc, addresses[mask.trailing_zeros() as usize % LANES], bytes));
        }
    }
}

/// Whether a comparison holds, so that `cas` stores its new value.
fn swaps(ty: AtomicType, old: u64, b: u64) -> bool {
    let bits = 8 * ty.bytes() as u32;
    (old ^ b) << (64 - bits) == 0
}

impl Warp {
    /// Looks for races of an atomic, and notes what it makes known.
    fn note_atomic(
        &self,
        core: &mut Core<'_>,
        common: &mut Peers,
        (space, order, scope): (Space, Semantics, Scope),
        (mask, failed, pc): (u32, u32, u32),
        addresses: &[u64; LANES],
        bytes: usize,
    ) {
        // A `cas` that fails only reads.
        for (mask, writes) in [(mask & !failed, true), (failed, false)] {
            if mask == 0 {
                continue;
            }
            let touch = Touch { writes, strong: Some(scope), constant: false, asynchronous: false };
            let (warp, live, bytes, kind) = (self.index, self.live, bytes as u32, AccessKind::Atomic);
            let deed = Deed { warp, mask, pc, kind, space, addresses, bytes, touch, order, live, value: 0 };
            if !writes && core.polls_again(common, &deed) {
                continue;
            }
            core.note(common, &deed);
            core.signal(common, &deed, true);
        }
    }

    pub(super) fn vector_atomic(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        a: &VectorAtomic,
        mask: u32,
        pc: u32,
    ) {
        self.stores += 1;
        let (width, alone) = (a.ty.bytes(), core.alone);
        let bytes = width * a.b.len();
        let addresses = addresses(&self.registers, a.address.plane, a.address.wide, a.address.offset);
        let mut failed = 0;
        for lane in each(mask) {
            let register = |this: &Warp, n: u16| match width {
                8 => this.registers.r64[n as usize][lane],
                _ => this.registers.r32[n as usize][lane].into(),
            };
            let b: Vec<u64> = a.b.iter().map(|n| register(self, *n)).collect();
            let c: Vec<u64> = a.c.iter().map(|n| register(self, *n)).collect();
            let request =
                Request { kind: AccessKind::Atomic, space: a.space, address: addresses[lane], bytes, lane, pc };
            let mut old = vec![u64::from(POISON_WORD) << 32 | u64::from(POISON_WORD); a.b.len()];
            if let Some(mut cell) = cell((self.index, &mut self.local), core, common, &request, Intent::Update) {
                old.iter_mut().enumerate().for_each(|(e, x)| *x = cell.get(e * width, width));
                let swaps = a.op == AtomicOp::Exch || old == b;
                failed |= u32::from(a.whole && !swaps) << lane;
                for (e, x) in old.iter().enumerate() {
                    let new = match (a.whole, a.op) {
                        (true, AtomicOp::Cas) => swaps.then(|| c[e]),
                        (true, _) => Some(b[e]),
                        (false, _) => Some(apply_in(resolve(a.space, addresses[lane]).0, a.op, a.ty, *x, b[e], 0)),
                    };
                    if let Some(new) = new {
                        cell.set(e * width, width, new, alone);
                    }
                }
            }
            for (d, x) in a.d.iter().zip(old).filter(|(d, _)| **d != NONE) {
                match width {
                    8 => self.registers.r64[*d as usize][lane] = x,
                    _ => self.registers.r32[*d as usize][lane] = x as u32,
                }
            }
        }
        if core.races {
            let how = (a.space, a.order, a.scope);
            // One of 128 bits is one; a vector is its elements, in no order.
            let (count, bytes) = if a.whole { (1, bytes) } else { (a.b.len(), width) };
            for e in 0..count as u64 {
                let places = addresses.map(|place| place + e * bytes as u64);
                self.note_atomic(core, common, how, (mask, failed, pc), &places, bytes);
            }
        }
    }
}

/// The new value, where it lies: sums of floats in global memory are another unit's, which flushes subnormals of f32 and
/// leaves NaNs of f64 as they are.
fn apply_in(storage: Storage, op: AtomicOp, ty: AtomicType, old: u64, b: u64, c: u64) -> u64 {
    match (op, ty) {
        (AtomicOp::Add, AtomicType::F32) if storage == Storage::Global => {
            let [x, y] = [old, b].map(|bits| f32::from_bits(bits as u32).flush());
            canonical((x + y).flush()).to_bits().into()
        }
        (AtomicOp::Add, AtomicType::F64) if storage == Storage::Global => {
            [b, old].into_iter().find(|bits| f64::from_bits(*bits).is_nan()).unwrap_or_else(|| apply(op, ty, old, b, c))
        }
        _ => apply(op, ty, old, b, c),
    }
}

/// The new value.
pub(super) fn apply(op: AtomicOp, ty: AtomicType, old: u64, b: u64, c: u64) -> u64 {
    let (x, y) = (old as u32, b as u32);
    match (op, ty) {
        (AtomicOp::Exch, _) => b,
        (AtomicOp::Cas, AtomicType::U64 | AtomicType::S64) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (AtomicOp::Cas, AtomicType::U16) => {
            if old as u16 == b as u16 {
                c & 0xffff
            } else {
                old
            }
        }
        (AtomicOp::Cas, _) => {
            if x == y {
                c
            } else {
                old
            }
        }
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b,
        (AtomicOp::Xor, _) => old ^ b,
        (AtomicOp::Inc, _) => (if x >= y { 0 } else { x + 1 }).into(),
        (AtomicOp::Dec, _) => (if x == 0 || x > y { y } else { x - 1 }).into(),
        (AtomicOp::Min | AtomicOp::Max, AtomicType::F16) => {
            half::<F16>(x, y, |a, b| extreme(a, b, op == AtomicOp::Max))
        }
        (AtomicOp::Min | AtomicOp::Max, AtomicType::BF16) => {
            half::<BF16>(x, y, |a, b| extreme(a, b, op == AtomicOp::Max))
        }
        (AtomicOp::Min | AtomicOp::Max, AtomicType::F16x2) => {
            packed2::<F16>(x, y, |a, b| extreme(a, b, op == AtomicOp::Max)).into()
        }
        (AtomicOp::Min | AtomicOp::Max, AtomicType::BF16x2) => {
            packed2::<BF16>(x, y, |a, b| extreme(a, b, op == AtomicOp::Max)).into()
        }
        (_, AtomicType::F32) => canonical(f32::from_bits(x) + f32::from_bits(y)).to_bits().into(),
        (_, AtomicType::F64) => {
            let (x, y) = (f64::from_bits(old), f64::from_bits(b));
            with_nan_of(x + y, [x, y]).to_bits()
        }
        (_, AtomicType::F16) => half::<F16>(x, y, Half::add),
        (_, AtomicType::BF16) => half::<BF16>(x, y, Half::add),
        (_, AtomicType::F16x2) => packed2::<F16>(x, y, Half::add).into(),
        (_, AtomicType::BF16x2) => packed2::<BF16>(x, y, Half::add).into(),
        (AtomicOp::Add, AtomicType::U64 | AtomicType::S64) => old.wrapping_add(b),
        (AtomicOp::Add, _) => x.wrapping_add(y).into(),
        (AtomicOp::Min, AtomicType::S32) => ((x as i32).min(y as i32) as u32).into(),
        (AtomicOp::Max, AtomicType::S32) => ((x as i32).max(y as i32) as u32).into(),
        (AtomicOp::Min, AtomicType::S64) => (old as i64).min(b as i64) as u64,
        (AtomicOp::Max, AtomicType::S64) => (old as i64).max(b as i64) as u64,
        (AtomicOp::Min, AtomicType::U64) => old.min(b),
        (AtomicOp::Max, AtomicType::U64) => old.max(b),
        (AtomicOp::Min, _) => x.min(y).into(),
        (AtomicOp::Max, _) => x.max(y).into(),
    }
}

fn half<H: Half>(x: u32, y: u32, op: impl Fn(H, H) -> H) -> u64 {
    let result = op(H::from_bits(x as u16), H::from_bits(y as u16));
    (if Float::is_nan(result) { H::nan() } else { result }).bits().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_values() {
        use AtomicOp::*;
        use AtomicType::*;
        assert_eq!(apply(Add, U32, u32::MAX.into(), 2, 0), 1);
        assert_eq!((apply(Inc, U32, 3, 3, 0), apply(Inc, U32, 2, 3, 0)), (0, 3));
        assert_eq!((apply(Dec, U32, 0, 3, 0), apply(Dec, U32, 7, 3, 0), apply(Dec, U32, 2, 3, 0)), (3, 3, 1));
        assert_eq!((apply(Cas, U32, 5, 5, 9), apply(Cas, U32, 5, 6, 9)), (9, 5));
        assert_eq!((apply(Min, S32, u32::MAX.into(), 0, 0), apply(Min, U32, u32::MAX.into(), 0, 0)), (0xffff_ffff, 0));
        assert_eq!(apply(Max, S64, u64::MAX, 0, 0), 0);
        assert_eq!(apply(Add, F32, 1f32.to_bits().into(), 2f32.to_bits().into(), 0), 3f32.to_bits().into());
        assert_eq!(apply(Add, BF16x2, 0x3f80_4000, 0x3f80_3f80, 0), 0x4000_4040);
        assert_eq!(apply(Exch, U64, 1, 2, 0), 2);
        assert_eq!(apply(Max, BF16x2, 0x3f80_4000, 0x4000_3f80, 0), 0x4000_4000);
        assert_eq!(apply(Min, F16, 0xbc00, 0x7e00, 0), 0xbc00);
    }
}
