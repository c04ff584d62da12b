//! Integer arithmetic, bits, shifts.

use super::operands::File;
use super::{Decoder, Result};
use crate::arithmetic::integer::{self as int, Int, PermuteMode};
use crate::lanes::{Compute, Fields, map1, map2, map3};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

/// An operation with one form for each integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    AddSat,
    Sub,
    SubSat,
    MulLo,
    MulHi,
    Div,
    Rem,
    Min,
    Max,
    MinRelu,
    MaxRelu,
    Abs,
    Neg,
    Not,
    Cnot,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    MadLo,
    MadHi,
    MadHiSat,
    Sad,
    Popc,
    Clz,
    Brev,
}

fn of<T: Int>(op: Op) -> Compute {
    match op {
        Op::Add => |r, f, m| map2::<T, T, T>(r, f, m, T::add),
        Op::AddSat => |r, f, m| map2::<T, T, T>(r, f, m, T::add_saturating),
        Op::Sub => |r, f, m| map2::<T, T, T>(r, f, m, T::sub),
        Op::SubSat => |r, f, m| map2::<T, T, T>(r, f, m, T::sub_saturating),
        Op::MulLo => |r, f, m| map2::<T, T, T>(r, f, m, T::mul),
        Op::MulHi => |r, f, m| map2::<T, T, T>(r, f, m, T::mul_high),
        Op::Div => |r, f, m| map2::<T, T, T>(r, f, m, T::div),
        Op::Rem => |r, f, m| map2::<T, T, T>(r, f, m, T::rem),
        Op::Min => |r, f, m| map2::<T, T, T>(r, f, m, T::min),
        Op::Max => |r, f, m| map2::<T, T, T>(r, f, m, T::max),
        Op::MinRelu => |r, f, m| map2::<T, T, T>(r, f, m, |a, b| a.min(b).max(T::wrap(0))),
        Op::MaxRelu => |r, f, m| map2::<T, T, T>(r, f, m, |a, b| a.max(b).max(T::wrap(0))),
        Op::Abs => |r, f, m| map1::<T, T>(r, f, m, T::abs),
        Op::Neg => |r, f, m| map1::<T, T>(r, f, m, T::neg),
        Op::Not => |r, f, m| map1::<T, T>(r, f, m, T::not),
        Op::Cnot => |r, f, m| map1::<T, T>(r, f, m, |a| T::wrap(i128::from(a == T::wrap(0)))),
        Op::And => |r, f, m| map2::<T, T, T>(r, f, m, T::and),
        Op::Or => |r, f, m| map2::<T, T, T>(r, f, m, T::or),
        Op::Xor => |r, f, m| map2::<T, T, T>(r, f, m, T::xor),
        Op::Shl => |r, f, m| map2::<T, T, u32>(r, f, m, T::shl),
        Op::Shr => |r, f, m| map2::<T, T, u32>(r, f, m, T::shr),
        Op::MadLo => |r, f, m| map3::<T, T, T, T>(r, f, m, |a, b, c| a.mul(b).add(c)),
        Op::MadHi => |r, f, m| map3::<T, T, T, T>(r, f, m, |a, b, c| a.mul_high(b).add(c)),
        Op::MadHiSat => |r, f, m| map3::<T, T, T, T>(r, f, m, |a, b, c| a.mul_high(b).add_saturating(c)),
        Op::Sad => |r, f, m| map3::<T, T, T, T>(r, f, m, T::sad),
        // These three are only asked for on unsigned types, so that widening adds zeros.
        Op::Popc => |r, f, m| map1::<u32, T>(r, f, m, |a| a.wide().count_ones()),
        Op::Clz => |r, f, m| map1::<u32, T>(r, f, m, |a| (a.wide() as u128).leading_zeros() - (128 - T::BITS)),
        Op::Brev => {
            |r, f, m| map1::<T, T>(r, f, m, |a| T::wrap(((a.wide() as u128).reverse_bits() >> (128 - T::BITS)) as i128))
        }
    }
}

fn pick(op: Op, ty: Type) -> Option<Compute> {
    Some(match ty {
        Type::S16 => of::<i16>(op),
        Type::U16 | Type::B16 => of::<u16>(op),
        Type::S32 => of::<i32>(op),
        Type::U32 | Type::B32 => of::<u32>(op),
        Type::S64 => of::<i64>(op),
        Type::U64 | Type::B64 => of::<u64>(op),
        Type::S16x2 => of_pairs::<i16>(op)?,
        Type::U16x2 => of_pairs::<u16>(op)?,
        _ => return None,
    })
}

/// Whether it is one of the frequent instructions.
fn frequent(op: Op, ty: Type) -> Option<Quick> {
    Some(match (ty, op) {
        (Type::U32 | Type::S32, Op::Add) => Quick::Add32,
        (Type::U32 | Type::S32, Op::Sub) => Quick::Sub32,
        (Type::U32 | Type::S32, Op::MulLo) => Quick::Mul32,
        (Type::U32 | Type::S32, Op::MadLo) => Quick::Mad32,
        (Type::B32, Op::And) => Quick::And32,
        (Type::B32, Op::Or) => Quick::Or32,
        (Type::B32, Op::Xor) => Quick::Xor32,
        (Type::B32 | Type::U32, Op::Shl) => Quick::Shl32,
        (Type::B32 | Type::U32, Op::Shr) => Quick::ShrU32,
        (Type::S32, Op::Shr) => Quick::ShrS32,
        (Type::U64 | Type::S64, Op::Add) => Quick::Add64,
        (Type::U64 | Type::S64, Op::Sub) => Quick::Sub64,
        _ => return None,
    })
}

/// Two 16-bit integers in a register.
fn of_pairs<T: Int>(op: Op) -> Option<Compute> {
    fn pairs<T: Int>(a: u32, b: u32, op: impl Fn(T, T) -> T) -> u32 {
        let at = |x: u32, shift: u32| T::wrap((x >> shift).into());
        let half = |shift| op(at(a, shift), at(b, shift)).wide() as u16;
        u32::from(half(0)) | u32::from(half(16)) << 16
    }
    Some(match op {
        Op::Add => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| pairs::<T>(a, b, T::add)),
        Op::Min => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| pairs::<T>(a, b, T::min)),
        Op::Max => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| pairs::<T>(a, b, T::max)),
        Op::MinRelu => {
            |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| pairs::<T>(a, b, |a, b| a.min(b).max(T::wrap(0))))
        }
        Op::MaxRelu => {
            |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| pairs::<T>(a, b, |a, b| a.max(b).max(T::wrap(0))))
        }
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn integer(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::*;
        let sat = i.has(Word::Sat);
        let op = match i.opcode {
            Prmt | Shf | Lop3 | Bfe | Bfi | Bfind | Fns | Dp4a | Dp2a | Mul24 | Mad24 => return self.bits(i),
            And | Or | Xor | Not if i.types().next() == Some(Type::Pred) => return self.predicates(i),
            Mul | Mad if i.has(Word::Wide) => return self.mul_wide(i),
            Add if sat => Op::AddSat,
            Add => Op::Add,
            Sub if sat => Op::SubSat,
            Sub => Op::Sub,
            Mul if i.has(Word::Hi) => Op::MulHi,
            Mul => Op::MulLo,
            Mad if i.has(Word::Hi) && sat => Op::MadHiSat,
            Mad if i.has(Word::Hi) => Op::MadHi,
            Mad => Op::MadLo,
            Div => Op::Div,
            Rem => Op::Rem,
            Min if i.has(Word::Relu) => Op::MinRelu,
            Max if i.has(Word::Relu) => Op::MaxRelu,
            Min => Op::Min,
            Max => Op::Max,
            Abs => Op::Abs,
            Neg => Op::Neg,
            Sad => Op::Sad,
            Not => Op::Not,
            Cnot => Op::Cnot,
            And => Op::And,
            Or => Op::Or,
            Xor => Op::Xor,
            Shl => Op::Shl,
            Shr => Op::Shr,
            Popc => Op::Popc,
            Clz => Op::Clz,
            Brev => Op::Brev,
            _ => return Err(self.unsupported(i, "")),
        };
        let allowed: &[Word] = match op {
            Op::AddSat | Op::SubSat => &[Word::Sat],
            Op::MulLo | Op::MadLo => &[Word::Lo],
            Op::MulHi | Op::MadHi => &[Word::Hi],
            Op::MadHiSat => &[Word::Hi, Word::Sat],
            Op::MinRelu | Op::MaxRelu => &[Word::Relu],
            _ => &[],
        };
        self.only(i, allowed)?;
        let ty = self.ty(i)?;
        if i.types().count() > 1 {
            return Err(self.unsupported(i, "more than one type"));
        }
        let counts = matches!(op, Op::Popc | Op::Clz | Op::Brev);
        if counts && !matches!(ty, Type::B32 | Type::B64) {
            return Err(self.malformed(i, "its type is not .b32 or .b64"));
        }
        let run = pick(op, ty).ok_or_else(|| self.unsupported(i, ""))?;
        let result = if matches!(op, Op::Popc | Op::Clz) { Type::U32 } else { ty };
        let shift = matches!(op, Op::Shl | Op::Shr);
        let sources = match op {
            Op::Abs | Op::Neg | Op::Not | Op::Cnot | Op::Popc | Op::Clz | Op::Brev => 1,
            Op::MadLo | Op::MadHi | Op::MadHiSat | Op::Sad => 3,
            _ => 2,
        };
        let types = [ty, if shift { Type::U32 } else { ty }, ty];
        self.simple(i, run, result, &types[..sources], 0)?;
        self.quick(frequent(op, ty));
        Ok(())
    }

    /// An instruction whose operands are one result and up to three sources.
    pub(super) fn simple(
        &mut self,
        i: &Instruction,
        run: Compute,
        result: Type,
        sources: &[Type],
        aux: u16,
    ) -> Result<()> {
        if i.operands.len() != sources.len() + 1 {
            return Err(self.malformed(i, format!("{} operands are expected", sources.len() + 1)));
        }
        let mut planes = [0; 3];
        for (n, (plane, ty)) in planes.iter_mut().zip(sources).enumerate() {
            *plane = self.read(i, self.operand(i, n + 1)?, *ty)?;
        }
        let d = self.write(i, self.operand(i, 0)?, result)?;
        let [a, b, c] = planes;
        self.compute(run, Fields { d, e: 0, a, b, c, aux });
        Ok(())
    }

    /// A literal operand that selects a function.
    fn literal(&self, i: &Instruction, index: usize) -> Result<u16> {
        match self.operand(i, index)? {
            Operand::Immediate(warpsmith_ptx::Immediate::Integer(n)) => Ok(*n as u16),
            Operand::Immediate(warpsmith_ptx::Immediate::Unsigned(n)) => Ok(*n as u16),
            _ => Err(self.malformed(i, format!("operand {} must be a literal", index + 1))),
        }
    }

    fn bits(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.ty(i)?;
        let (b32, u32s) = (Type::B32, [Type::B32; 3]);
        let signed = ty.is_signed();
        match i.opcode {
            Opcode::Lop3 => {
                self.only(i, &[Word::And, Word::Or])?;
                let table = self.literal(i, 4)?;
                if i.has(Word::And) || i.has(Word::Or) {
                    return self.lop3_predicate(i, table);
                }
                if i.operands.len() != 5 {
                    return Err(self.malformed(i, "five operands are expected"));
                }
                let mut three = i.clone();
                three.operands.truncate(4);
                let run: Compute = match table {
                    0x80 => |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| a & b & c),
                    0xfe => |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| a | b | c),
                    0x96 => |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| a ^ b ^ c),
                    _ => |r, f, m| {
                        let table = f.aux;
                        map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::lop3(a, b, c, table));
                    },
                };
                self.simple(&three, run, b32, &u32s, table)
            }
            Opcode::Prmt => {
                use Word::*;
                self.only(i, &[F4e, B4e, Rc8, Ecl, Ecr, Rc16])?;
                let modes = [
                    (F4e, PermuteMode::F4e),
                    (B4e, PermuteMode::B4e),
                    (Rc8, PermuteMode::Rc8),
                    (Ecl, PermuteMode::Ecl),
                    (Ecr, PermuteMode::Ecr),
                    (Rc16, PermuteMode::Rc16),
                ];
                let Some((_, mode)) = modes.into_iter().find(|(word, _)| i.has(*word)) else {
                    let run: Compute = |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, int::permute);
                    return self.simple(i, run, b32, &u32s, 0);
                };
                let run: Compute = |r, f, m| {
                    let mode = MODES[f.aux as usize % MODES.len()];
                    map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::permute(a, b, int::permute_mode(mode, c)));
                };
                let aux = MODES.iter().position(|x| *x == mode).unwrap_or(0) as u16;
                self.simple(i, run, b32, &u32s, aux)
            }
            Opcode::Shf => {
                use Word::*;
                self.only(i, &[L, R, Clamp, Wrap])?;
                let run: Compute = match (i.has(L), i.has(Wrap)) {
                    (true, true) => |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| funnel(a, b, c & 31, true)),
                    (true, false) => {
                        |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| funnel(a, b, c.min(32), true))
                    }
                    (false, true) => {
                        |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| funnel(a, b, c & 31, false))
                    }
                    (false, false) => {
                        |r, f, m| map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| funnel(a, b, c.min(32), false))
                    }
                };
                self.simple(i, run, b32, &u32s, 0)
            }
            Opcode::Bfe => {
                self.only(i, &[])?;
                let run: Compute = match (File::of(ty), signed) {
                    (Some(File::R64), true) => {
                        |r, f, m| map3::<u64, u64, u32, u32>(r, f, m, |a, b, c| int::extract(a, b, c, 64, true))
                    }
                    (Some(File::R64), false) => {
                        |r, f, m| map3::<u64, u64, u32, u32>(r, f, m, |a, b, c| int::extract(a, b, c, 64, false))
                    }
                    (_, true) => |r, f, m| {
                        map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::extract(a.into(), b, c, 32, true) as u32)
                    },
                    (_, false) => |r, f, m| {
                        map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::extract(a.into(), b, c, 32, false) as u32)
                    },
                };
                self.simple(i, run, ty, &[ty, b32, b32], 0)
            }
            Opcode::Bfi => self.insert(i, ty),
            Opcode::Bfind => {
                self.only(i, &[Word::Shiftamt])?;
                let run: Compute = match (ty, i.has(Word::Shiftamt)) {
                    (Type::U32, false) => |r, f, m| map1::<u32, u32>(r, f, m, |a| int::find(a.into(), 32, false)),
                    (Type::U32, true) => |r, f, m| map1::<u32, u32>(r, f, m, |a| int::find(a.into(), 32, true)),
                    (Type::S32, false) => |r, f, m| map1::<u32, i32>(r, f, m, |a| int::find(a.into(), 32, false)),
                    (Type::S32, true) => |r, f, m| map1::<u32, i32>(r, f, m, |a| int::find(a.into(), 32, true)),
                    (Type::U64, false) => |r, f, m| map1::<u32, u64>(r, f, m, |a| int::find(a.into(), 64, false)),
                    (Type::U64, true) => |r, f, m| map1::<u32, u64>(r, f, m, |a| int::find(a.into(), 64, true)),
                    (Type::S64, false) => |r, f, m| map1::<u32, i64>(r, f, m, |a| int::find(a.into(), 64, false)),
                    (Type::S64, true) => |r, f, m| map1::<u32, i64>(r, f, m, |a| int::find(a.into(), 64, true)),
                    _ => return Err(self.unsupported(i, "")),
                };
                self.simple(i, run, Type::U32, &[ty], 0)
            }
            Opcode::Fns => {
                self.only(i, &[])?;
                let run: Compute = |r, f, m| map3::<u32, u32, u32, i32>(r, f, m, int::nth_set);
                self.simple(i, run, b32, &u32s, 0)
            }
            Opcode::Dp4a | Opcode::Dp2a => self.dot(i),
            _ => {
                self.only(i, &[Word::Lo, Word::Hi, Word::Sat])?;
                let sat = u16::from(i.has(Word::Sat)) << 3;
                let flags = u16::from(signed) | u16::from(i.has(Word::Hi)) << 1 | sat;
                let mad = i.opcode == Opcode::Mad24;
                let run: Compute = |r, f, m| {
                    let (signed, high) = (f.aux & 1 != 0, f.aux & 2 != 0);
                    let low24 =
                        |x: u32| if signed { i64::from(((x << 8) as i32) >> 8) } else { (x & 0xff_ffff).into() };
                    if f.aux & 4 == 0 {
                        map2::<u32, u32, u32>(r, f, m, |a, b| int::mul24(low24(a), low24(b), high));
                    } else {
                        map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| {
                            let product = int::mul24(low24(a), low24(b), high);
                            match f.aux & 8 {
                                0 => product.wrapping_add(c),
                                _ => (product as i32).saturating_add(c as i32) as u32,
                            }
                        });
                    }
                };
                self.simple(i, run, b32, &u32s[..if mad { 3 } else { 2 }], flags | u16::from(mad) << 2)
            }
        }
    }

    /// `bfi` has four sources; the length is folded into the field that other instructions use for a second result.
    fn insert(&mut self, i: &Instruction, ty: Type) -> Result<()> {
        self.only(i, &[])?;
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let b = self.read(i, self.operand(i, 2)?, ty)?;
        let c = self.read(i, self.operand(i, 3)?, Type::B32)?;
        let e = self.read(i, self.operand(i, 4)?, Type::B32)?;
        let d = self.write(i, self.operand(i, 0)?, ty)?;
        let run: Compute = match File::of(ty) {
            Some(File::R64) => |r, f, m| {
                let lengths = r.r32[f.e as usize];
                let (a, b, c) = (r.r64[f.a as usize], r.r64[f.b as usize], r.r32[f.c as usize]);
                let t = std::array::from_fn(|l| int::insert(a[l], b[l], c[l], lengths[l], 64));
                crate::lanes::put::<u64>(r, f.d, m, &t);
            },
            _ => |r, f, m| {
                let at = |n: u16| r.r32[n as usize];
                let (a, b, c, lengths) = (at(f.a), at(f.b), at(f.c), at(f.e));
                let t = std::array::from_fn(|l| int::insert(a[l].into(), b[l].into(), c[l], lengths[l], 32) as u32);
                crate::lanes::put::<u32>(r, f.d, m, &t);
            },
        };
        self.compute(run, Fields { d, e, a, b, c, aux: 0 });
        Ok(())
    }

    fn dot(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Lo, Word::Hi])?;
        let types: Vec<Type> = i.types().collect();
        let &[a, b] = types.as_slice() else { return Err(self.malformed(i, "two types are expected")) };
        let aux = u16::from(a.is_signed()) | u16::from(b.is_signed()) << 1 | u16::from(i.has(Word::Hi)) << 2;
        let run: Compute = match i.opcode {
            Opcode::Dp4a => |r, f, m| {
                let signed = (f.aux & 1 != 0, f.aux & 2 != 0);
                map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::dp4a(a, b, c, signed));
            },
            _ => |r, f, m| {
                let (signed, high) = ((f.aux & 1 != 0, f.aux & 2 != 0), f.aux & 4 != 0);
                map3::<u32, u32, u32, u32>(r, f, m, |a, b, c| int::dp2a(a, b, c, signed, high));
            },
        };
        self.simple(i, run, Type::B32, &[Type::B32; 3], aux)
    }
}

const MODES: [PermuteMode; 6] =
    [PermuteMode::F4e, PermuteMode::B4e, PermuteMode::Rc8, PermuteMode::Ecl, PermuteMode::Ecr, PermuteMode::Rc16];

/// `shf`: `b:a` shifted, its upper half for left and its lower half for right.
#[inline(always)]
fn funnel(a: u32, b: u32, by: u32, left: bool) -> u32 {
    let pair = u64::from(a) | u64::from(b) << 32;
    if left { ((pair << by) >> 32) as u32 } else { (pair >> by) as u32 }
}
