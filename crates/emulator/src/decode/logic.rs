//! Comparison, selection, and logic on predicates.

use super::operands::File;
use super::{Decoder, Result};
use crate::arithmetic::float::Float;
use crate::arithmetic::integer::Int;
use crate::lanes::{BF16, Compute, F16, Fields, Raw, Registers, Value, put, put_predicate, spread, test2};
use crate::program::NONE;
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Operand, Type, Word};

/// A comparison; the unordered ones are true when an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

const COMPARES: [(Word, Compare); 18] = [
    (Word::Eq, Compare::Eq),
    (Word::Ne, Compare::Ne),
    (Word::Lt, Compare::Lt),
    (Word::Le, Compare::Le),
    (Word::Gt, Compare::Gt),
    (Word::Ge, Compare::Ge),
    // The unsigned spellings; the type says what is compared.
    (Word::Lo, Compare::Lt),
    (Word::Ls, Compare::Le),
    (Word::Hi, Compare::Gt),
    (Word::Hs, Compare::Ge),
    (Word::Equ, Compare::Equ),
    (Word::Neu, Compare::Neu),
    (Word::Ltu, Compare::Ltu),
    (Word::Leu, Compare::Leu),
    (Word::Gtu, Compare::Gtu),
    (Word::Geu, Compare::Geu),
    (Word::Num, Compare::Num),
    (Word::NanCompare, Compare::Nan),
];

impl Compare {
    /// The comparison that an instruction names.
    pub(super) fn of(i: &Instruction) -> Option<Compare> {
        COMPARES.into_iter().find(|(word, _)| i.has(*word)).map(|(_, c)| c)
    }

    pub(super) fn words() -> [Word; 18] {
        COMPARES.map(|(word, _)| word)
    }

    /// A number below 16 for it.
    pub(super) fn number(self) -> u16 {
        NUMBERED.iter().position(|c| *c == self).unwrap_or_default() as u16
    }

    pub(super) fn numbered(n: u16) -> Compare {
        NUMBERED[usize::from(n) % NUMBERED.len()]
    }

    /// Whether it holds of two floats.
    pub(super) fn holds(self, a: f32, b: f32) -> bool {
        let order = a.partial_cmp(&b);
        let unordered = order.is_none();
        match self {
            Compare::Eq => order.is_some_and(|o| o.is_eq()),
            Compare::Ne => order.is_some_and(|o| o.is_ne()),
            Compare::Lt => order.is_some_and(|o| o.is_lt()),
            Compare::Le => order.is_some_and(|o| o.is_le()),
            Compare::Gt => order.is_some_and(|o| o.is_gt()),
            Compare::Ge => order.is_some_and(|o| o.is_ge()),
            Compare::Equ => unordered || a == b,
            Compare::Neu => a != b,
            Compare::Ltu => unordered || a < b,
            Compare::Leu => unordered || a <= b,
            Compare::Gtu => unordered || a > b,
            Compare::Geu => unordered || a >= b,
            Compare::Num => !unordered,
            Compare::Nan => unordered,
        }
    }
}

const NUMBERED: [Compare; 14] = [
    Compare::Eq,
    Compare::Ne,
    Compare::Lt,
    Compare::Le,
    Compare::Gt,
    Compare::Ge,
    Compare::Equ,
    Compare::Neu,
    Compare::Ltu,
    Compare::Leu,
    Compare::Gtu,
    Compare::Geu,
    Compare::Num,
    Compare::Nan,
];

/// Combines the comparison with the predicate `c` as `aux` says, and writes both results.
#[inline(always)]
fn finish(r: &mut Registers, f: &Fields, mask: u32, bits: u32) {
    let c = r.p[f.c as usize];
    let (p, q) = match f.aux & 3 {
        1 => (bits & c, !bits & c),
        2 => (bits | c, !bits | c),
        3 => (bits ^ c, !bits ^ c),
        _ => (bits, !bits),
    };
    if f.d != NONE {
        put_predicate(r, f.d, mask, p);
    }
    if f.e != NONE {
        put_predicate(r, f.e, mask, q);
    }
}

/// The same for `set`, whose result is all ones or 1.0 in a register.
#[inline(always)]
fn finish_set(r: &mut Registers, f: &Fields, mask: u32, bits: u32) {
    let c = r.p[f.c as usize];
    let bits = match f.aux & 3 {
        1 => bits & c,
        2 => bits | c,
        3 => bits ^ c,
        _ => bits,
    };
    let one = if f.aux & 4 != 0 { 1f32.to_bits() } else { u32::MAX };
    let t = spread(bits).map(|all| all & one);
    put(r, f.d, mask, &t);
}

macro_rules! compare {
    ($compare:expr, $set:expr, $ty:ty, { $($name:ident: |$a:ident, $b:ident| $e:expr;)* }) => {
        match ($compare, $set) {
            $((Compare::$name, false) => |r: &mut Registers, f: &Fields, m: u32| {
                let bits = test2::<$ty>(r, f, |$a, $b| $e);
                finish(r, f, m, bits);
            },
            (Compare::$name, true) => |r: &mut Registers, f: &Fields, m: u32| {
                let bits = test2::<$ty>(r, f, |$a, $b| $e);
                finish_set(r, f, m, bits);
            },)*
            #[allow(unreachable_patterns)]
            _ => return None,
        }
    };
}

fn compare_ints<T: Int>(compare: Compare, set: bool) -> Option<Compute> {
    Some(compare!(compare, set, T, {
        Eq: |a, b| a == b;
        Ne: |a, b| a != b;
        Lt: |a, b| a < b;
        Le: |a, b| a <= b;
        Gt: |a, b| a > b;
        Ge: |a, b| a >= b;
    }))
}

fn compare_floats<T: Value + PartialOrd>(compare: Compare, set: bool) -> Option<Compute> {
    Some(compare!(compare, set, T, {
        Eq: |a, b| a == b;
        Ne: |a, b| a.partial_cmp(&b).is_some_and(|o| o.is_ne());
        Lt: |a, b| a < b;
        Le: |a, b| a <= b;
        Gt: |a, b| a > b;
        Ge: |a, b| a >= b;
        Equ: |a, b| a.partial_cmp(&b).is_none_or(|o| o.is_eq());
        Neu: |a, b| a != b;
        Ltu: |a, b| a.partial_cmp(&b).is_none_or(|o| o.is_lt());
        Leu: |a, b| a.partial_cmp(&b).is_none_or(|o| o.is_le());
        Gtu: |a, b| a.partial_cmp(&b).is_none_or(|o| o.is_gt());
        Geu: |a, b| a.partial_cmp(&b).is_none_or(|o| o.is_ge());
        Num: |a, b| a.partial_cmp(&b).is_some();
        Nan: |a, b| a.partial_cmp(&b).is_none();
    }))
}

/// An f32 whose subnormals compare as zero.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Flushed(f32);

impl Value for Flushed {
    type Raw = u32;
    #[inline(always)]
    fn from_raw(raw: u32) -> Flushed {
        Flushed(f32::from_bits(raw).flush())
    }
    #[inline(always)]
    fn to_raw(self) -> u32 {
        self.0.to_bits()
    }
}

fn pick(compare: Compare, ty: Type, ftz: bool, set: bool) -> Option<Compute> {
    match ty {
        Type::S16 => compare_ints::<i16>(compare, set),
        Type::U16 | Type::B16 => compare_ints::<u16>(compare, set),
        Type::S32 => compare_ints::<i32>(compare, set),
        Type::U32 | Type::B32 => compare_ints::<u32>(compare, set),
        Type::S64 => compare_ints::<i64>(compare, set),
        Type::U64 | Type::B64 => compare_ints::<u64>(compare, set),
        Type::F16 if !ftz => compare_floats::<F16>(compare, set),
        Type::BF16 if !ftz => compare_floats::<BF16>(compare, set),
        Type::F32 if ftz => compare_floats::<Flushed>(compare, set),
        Type::F32 => compare_floats::<f32>(compare, set),
        Type::F64 => compare_floats::<f64>(compare, set),
        _ => None,
    }
}

/// Whether a comparison is one of the frequent instructions.
fn frequent(compare: Compare, ty: Type) -> Option<Quick> {
    let signed = match ty {
        Type::S32 => true,
        Type::U32 | Type::B32 => false,
        _ => return None,
    };
    Some(match (compare, signed) {
        (Compare::Eq, _) => Quick::EqualU32,
        (Compare::Ne, _) => Quick::UnequalU32,
        (Compare::Lt, false) => Quick::LessU32,
        (Compare::Le, false) => Quick::LessOrEqualU32,
        (Compare::Gt, false) => Quick::GreaterU32,
        (Compare::Ge, false) => Quick::GreaterOrEqualU32,
        (Compare::Lt, true) => Quick::LessS32,
        (Compare::Le, true) => Quick::LessOrEqualS32,
        (Compare::Gt, true) => Quick::GreaterS32,
        (Compare::Ge, true) => Quick::GreaterOrEqualS32,
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn comparison(&mut self, i: &Instruction) -> Result<()> {
        match i.opcode {
            Opcode::Set | Opcode::Setp if Decoder::compares_halves(i) => self.half_comparison(i),
            Opcode::Selp => self.selp(i),
            Opcode::Slct => self.slct(i),
            Opcode::Set => {
                let types: Vec<Type> = i.types().collect();
                let &[to, from] = types.as_slice() else { return Err(self.malformed(i, "two types are expected")) };
                if !matches!(to, Type::U32 | Type::S32 | Type::F32) {
                    return Err(self.unsupported(i, ""));
                }
                let d = self.write(i, self.operand(i, 0)?, to)?;
                let flag = if to == Type::F32 { 4 } else { 0 };
                self.compare(i, from, (d, NONE), true, flag)
            }
            _ => {
                let ty = self.ty(i)?;
                let pair = match self.operand(i, 0)? {
                    Operand::Pair(p, q) => (self.result_or_none(i, p)?, self.result_or_none(i, q)?),
                    p => (self.result_or_none(i, p)?, NONE),
                };
                self.compare(i, ty, pair, false, 0)
            }
        }
    }

    pub(super) fn result_or_none(&mut self, i: &Instruction, operand: &Operand) -> Result<u16> {
        self.result_or_none_of(i, operand, Type::Pred)
    }

    pub(super) fn result_or_none_of(&mut self, i: &Instruction, operand: &Operand, ty: Type) -> Result<u16> {
        match operand {
            Operand::Sink => Ok(NONE),
            operand => self.write(i, operand, ty),
        }
    }

    fn compare(&mut self, i: &Instruction, ty: Type, (d, e): (u16, u16), set: bool, flags: u16) -> Result<()> {
        let mut allowed = vec![Word::Ftz, Word::And, Word::Or, Word::Xor];
        allowed.extend(COMPARES.map(|(word, _)| word));
        self.only(i, &allowed)?;
        let compare = Compare::of(i).ok_or_else(|| self.malformed(i, "no comparison"))?;
        let run = pick(compare, ty, i.has(Word::Ftz), set).ok_or_else(|| self.unsupported(i, ""))?;
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let b = self.read(i, self.operand(i, 2)?, ty)?;
        let combine = [(Word::And, 1), (Word::Or, 2), (Word::Xor, 3)];
        let combine = combine.into_iter().find(|(word, _)| i.has(*word)).map_or(0, |(_, n)| n);
        let c = match combine {
            0 => self.fixed_predicate(false)?,
            _ => self.read(i, self.operand(i, 3)?, Type::Pred)?,
        };
        if i.operands.len() != if combine == 0 { 3 } else { 4 } {
            return Err(self.malformed(i, "the wrong number of operands"));
        }
        self.compute(run, Fields { d, e, a, b, c, aux: combine | flags });
        let alone = !set && combine == 0 && d != NONE && e == NONE;
        self.quick(if alone { frequent(compare, ty) } else { None });
        Ok(())
    }

    fn selp(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[])?;
        let ty = self.ty(i)?;
        let run: Compute = match File::of(ty) {
            Some(File::R64) => select::<u64>,
            Some(File::R32) => select::<u32>,
            _ => return Err(self.unsupported(i, "")),
        };
        self.simple(i, run, ty, &[ty, ty, Type::Pred], 0)?;
        self.quick((File::of(ty) == Some(File::R32)).then_some(Quick::Select32));
        Ok(())
    }

    /// `slct`: `a` where `c` is not negative.
    fn slct(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Ftz])?;
        let types: Vec<Type> = i.types().collect();
        let &[ty, by] = types.as_slice() else { return Err(self.malformed(i, "two types are expected")) };
        let run: Compute = match (File::of(ty), by, i.has(Word::Ftz)) {
            (Some(File::R32), Type::S32, _) => |r, f, m| slct::<u32, i32>(r, f, m, |c| c >= 0),
            (Some(File::R64), Type::S32, _) => |r, f, m| slct::<u64, i32>(r, f, m, |c| c >= 0),
            (Some(File::R32), Type::F32, true) => |r, f, m| slct::<u32, f32>(r, f, m, |c| c.flush() >= 0.0),
            (Some(File::R64), Type::F32, true) => |r, f, m| slct::<u64, f32>(r, f, m, |c| c.flush() >= 0.0),
            (Some(File::R32), Type::F32, false) => |r, f, m| slct::<u32, f32>(r, f, m, |c| c >= 0.0),
            (Some(File::R64), Type::F32, false) => |r, f, m| slct::<u64, f32>(r, f, m, |c| c >= 0.0),
            _ => return Err(self.unsupported(i, "")),
        };
        self.simple(i, run, ty, &[ty, ty, by], 0)
    }

    /// `and.pred` and its kin.
    pub(super) fn predicates(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[])?;
        let run: Compute = match i.opcode {
            Opcode::And => |r, f, m| logic(r, f, m, |a, b| a & b),
            Opcode::Or => |r, f, m| logic(r, f, m, |a, b| a | b),
            Opcode::Xor => |r, f, m| logic(r, f, m, |a, b| a ^ b),
            _ => {
                let run: Compute = |r, f, m| logic(r, f, m, |a, _| !a);
                return self.simple(i, run, Type::Pred, &[Type::Pred], 0);
            }
        };
        self.simple(i, run, Type::Pred, &[Type::Pred; 2], 0)
    }
}

fn logic(r: &mut Registers, f: &Fields, mask: u32, op: impl Fn(u32, u32) -> u32) {
    let bits = op(r.p[f.a as usize], r.p[f.b as usize]);
    put_predicate(r, f.d, mask, bits);
}

fn select<R: Raw>(r: &mut Registers, f: &Fields, mask: u32) {
    let lanes = spread(r.p[f.c as usize]);
    let (a, b) = (R::plane(r, f.a), R::plane(r, f.b));
    let t = std::array::from_fn(|l| R::blend(lanes[l], a[l], b[l]));
    put::<R>(r, f.d, mask, &t);
}

fn slct<R: Raw, C: Value>(r: &mut Registers, f: &Fields, mask: u32, first: impl Fn(C) -> bool) {
    let (a, b, c) = (R::plane(r, f.a), R::plane(r, f.b), C::Raw::plane(r, f.c));
    let t = std::array::from_fn(|l| if first(C::from_raw(c[l])) { a[l] } else { b[l] });
    put::<R>(r, f.d, mask, &t);
}
