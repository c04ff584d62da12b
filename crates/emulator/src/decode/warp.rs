//! Instructions in which the lanes of a warp read each other's registers.

use super::{Decoder, Result};
use crate::arithmetic::float::{canonical, extreme, extreme_nan};
use crate::lanes::{Compute, Fields, LANES, Registers, each, put, put_predicate};
use crate::program::{Action, NONE};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn warp(&mut self, i: &Instruction) -> Result<()> {
        match i.opcode {
            Opcode::Activemask => {
                let d = self.write(i, self.operand(i, 0)?, Type::B32)?;
                self.compute(|r, f, m| put::<u32>(r, f.d, m, &[m; LANES]), Fields { d, ..Fields::default() });
                Ok(())
            }
            _ if !i.has(Word::Sync) => Err(self.unsupported(i, "without `.sync`")),
            Opcode::Shfl => self.shuffle(i),
            Opcode::Vote => self.vote(i),
            Opcode::Match => self.matches(i),
            Opcode::Redux => self.reduce(i),
            _ => self.elect(i),
        }
    }

    /// Two results, of which either may be missing.
    fn pair(&mut self, i: &Instruction, first: Type) -> Result<(u16, u16)> {
        let one = |this: &mut Self, operand: &Operand, ty: Type| match operand {
            Operand::Sink => Ok(NONE),
            operand => this.write(i, operand, ty),
        };
        match self.operand(i, 0)? {
            Operand::Pair(d, p) => Ok((one(self, d, first)?, one(self, p, Type::Pred)?)),
            d => Ok((one(self, d, first)?, NONE)),
        }
    }

    fn sync(&mut self, run: Compute, fields: Fields, members: u16) {
        self.emit(Action::Sync { run, fields, members });
    }

    fn shuffle(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Sync, Up, Down, Bfly, Idx])?;
        let a = self.read(i, self.operand(i, 1)?, Type::B32)?;
        let b = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let c = self.read(i, self.operand(i, 3)?, Type::B32)?;
        let members = self.read(i, self.operand(i, 4)?, Type::B32)?;
        let (d, e) = self.pair(i, Type::B32)?;
        let run: Compute = if i.has(Up) {
            |r, f, m| shuffle(r, f, m, |lane, b, _, max| (lane - b, lane - b >= max))
        } else if i.has(Down) {
            |r, f, m| shuffle(r, f, m, |lane, b, _, max| (lane + b, lane + b <= max))
        } else if i.has(Bfly) {
            |r, f, m| shuffle(r, f, m, |lane, b, _, max| (lane ^ b, lane ^ b <= max))
        } else if i.has(Idx) {
            |r, f, m| shuffle(r, f, m, |_, b, (low, mask), max| (low | (b & !mask), low | (b & !mask) <= max))
        } else {
            return Err(self.malformed(i, "no mode"));
        };
        self.sync(run, Fields { d, e, a, b, c, aux: 0 }, members);
        // Between all lanes: the bound is the last, and there are no segments.
        let whole = self.known(c).is_some_and(|c| c & 0x1f1f == 31);
        if i.has(Bfly) && whole && d != NONE && e == NONE {
            self.quick(match self.known(b) {
                Some(1) => Some(Quick::Butterfly1),
                Some(2) => Some(Quick::Butterfly2),
                Some(4) => Some(Quick::Butterfly4),
                Some(8) => Some(Quick::Butterfly8),
                Some(16) => Some(Quick::Butterfly16),
                _ => None,
            });
        }
        Ok(())
    }

    fn vote(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Sync, All, Any, Uni, Ballot])?;
        let a = self.read(i, self.operand(i, 1)?, Type::Pred)?;
        let members = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let result = if i.has(Ballot) { Type::B32 } else { Type::Pred };
        let d = self.write(i, self.operand(i, 0)?, result)?;
        let run: Compute = if i.has(Ballot) {
            |r, f, m| {
                let bits = r.p[f.a as usize] & m;
                put::<u32>(r, f.d, m, &[bits; LANES]);
            }
        } else if i.has(All) {
            |r, f, m| vote(r, f, m, |bits, mask| bits == mask)
        } else if i.has(Any) {
            |r, f, m| vote(r, f, m, |bits, _| bits != 0)
        } else {
            |r, f, m| vote(r, f, m, |bits, mask| bits == 0 || bits == mask)
        };
        self.sync(run, Fields { d, a, ..Fields::default() }, members);
        Ok(())
    }

    fn matches(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Sync, All, Any])?;
        let ty = self.ty(i)?;
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let members = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let (d, e) = self.pair(i, Type::B32)?;
        fn values(r: &Registers, f: &Fields) -> [u64; LANES] {
            if f.aux == 64 { r.r64[f.a as usize] } else { r.r32[f.a as usize].map(u64::from) }
        }
        let run: Compute = match i.has(All) {
            true => |r, f, m| {
                let values = values(r, f);
                let mut lanes = each(m).map(|l| values[l]);
                let first = lanes.next();
                let same = lanes.all(|v| Some(v) == first);
                if f.d != NONE {
                    put::<u32>(r, f.d, m, &[if same { m } else { 0 }; LANES]);
                }
                if f.e != NONE {
                    put_predicate(r, f.e, m, if same { m } else { 0 });
                }
            },
            false => |r, f, m| {
                let values = values(r, f);
                let t = std::array::from_fn(|l| each(m).filter(|k| values[*k] == values[l]).fold(0, |s, k| s | 1 << k));
                if f.d != NONE {
                    put::<u32>(r, f.d, m, &t);
                }
            },
        };
        self.sync(run, Fields { d, e, a, b: 0, c: 0, aux: ty.bits() as u16 }, members);
        Ok(())
    }

    fn reduce(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Sync, Add, Min, Max, And, Or, Xor, Abs, Nan])?;
        let ty = self.ty(i)?;
        if ty == Type::F32 && (i.has(Min) || i.has(Max)) {
            return self.reduce_floats(i);
        }
        if i.has(Abs) || i.has(Nan) {
            return Err(self.unsupported(i, ""));
        }
        if !matches!(ty, Type::U32 | Type::S32 | Type::B32) {
            return Err(self.unsupported(i, ""));
        }
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let members = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let d = self.write(i, self.operand(i, 0)?, ty)?;
        let run: Compute = match (i.has(Add), i.has(Min), i.has(Max), i.has(And), i.has(Or)) {
            (true, ..) => |r, f, m| reduce(r, f, m, u32::wrapping_add),
            (_, true, ..) if ty == Type::S32 => |r, f, m| reduce(r, f, m, |a, b| (a as i32).min(b as i32) as u32),
            (_, _, true, ..) if ty == Type::S32 => |r, f, m| reduce(r, f, m, |a, b| (a as i32).max(b as i32) as u32),
            (_, true, ..) => |r, f, m| reduce(r, f, m, u32::min),
            (_, _, true, ..) => |r, f, m| reduce(r, f, m, u32::max),
            (_, _, _, true, _) => |r, f, m| reduce(r, f, m, |a, b| a & b),
            (_, _, _, _, true) => |r, f, m| reduce(r, f, m, |a, b| a | b),
            _ => |r, f, m| reduce(r, f, m, |a, b| a ^ b),
        };
        self.sync(run, Fields { d, a, ..Fields::default() }, members);
        Ok(())
    }

    fn reduce_floats(&mut self, i: &Instruction) -> Result<()> {
        let a = self.read(i, self.operand(i, 1)?, Type::F32)?;
        let members = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let d = self.write(i, self.operand(i, 0)?, Type::F32)?;
        let aux = u16::from(i.has(Word::Max)) | u16::from(i.has(Word::Abs)) << 1 | u16::from(i.has(Word::Nan)) << 2;
        let run: Compute = |r, f, m| {
            let aux = f.aux;
            let value = |bits: u32| f32::from_bits(if aux & 2 != 0 { bits & 0x7fff_ffff } else { bits });
            reduce(r, f, m, |a, b| {
                let (a, b) = (value(a), value(b));
                let pick = if aux & 4 != 0 { extreme_nan } else { extreme };
                pick(a, b, aux & 1 != 0).to_bits()
            });
            if m.count_ones() == 1 {
                let only = value(r.r32[f.a as usize][m.trailing_zeros() as usize]);
                put(r, f.d, m, &[canonical(only).to_bits(); LANES]);
            }
        };
        self.sync(run, Fields { d, a, aux, ..Fields::default() }, members);
        Ok(())
    }

    /// `elect.sync d|p, membermask`: the lowest member.
    fn elect(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Sync])?;
        let members = self.read(i, self.operand(i, 1)?, Type::B32)?;
        let (d, e) = self.pair(i, Type::B32)?;
        let run: Compute = |r, f, m| {
            if f.d != NONE {
                put::<u32>(r, f.d, m, &[m.trailing_zeros(); LANES]);
            }
            if f.e != NONE {
                put_predicate(r, f.e, m, m & m.wrapping_neg());
            }
        };
        self.sync(run, Fields { d, e, ..Fields::default() }, members);
        Ok(())
    }
}

/// `shfl`: `source(lane, b, (segment's first lane, segment mask), bound)` gives a lane and whether it is in range.
#[inline(always)]
fn shuffle(r: &mut Registers, f: &Fields, mask: u32, source: impl Fn(i32, i32, (i32, i32), i32) -> (i32, bool)) {
    let (t, inside) = r.simd.run(
        #[inline(always)]
        || {
            let (a, b, c) = (&r.r32[f.a as usize], &r.r32[f.b as usize], &r.r32[f.c as usize]);
            let mut t = [0; LANES];
            let mut inside = 0;
            for lane in 0..LANES {
                let (clamp, segment) = ((c[lane] & 31) as i32, (c[lane] >> 8 & 31) as i32);
                let first = lane as i32 & segment;
                let bound = first | (clamp & !segment);
                let (from, valid) = source(lane as i32, (b[lane] & 31) as i32, (first, segment), bound);
                t[lane] = a[if valid { (from & 31) as usize } else { lane }];
                inside |= u32::from(valid) << lane;
            }
            (t, inside)
        },
    );
    if f.d != NONE {
        put(r, f.d, mask, &t);
    }
    if f.e != NONE {
        put_predicate(r, f.e, mask, inside);
    }
}

fn vote(r: &mut Registers, f: &Fields, mask: u32, op: impl Fn(u32, u32) -> bool) {
    let verdict = op(r.p[f.a as usize] & mask, mask);
    put_predicate(r, f.d, mask, if verdict { u32::MAX } else { 0 });
}

fn reduce(r: &mut Registers, f: &Fields, mask: u32, op: impl Fn(u32, u32) -> u32) {
    let a = &r.r32[f.a as usize];
    let result = each(mask).map(|l| a[l]).reduce(op).unwrap_or_default();
    put(r, f.d, mask, &[result; LANES]);
}
