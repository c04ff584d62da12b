//! `mov` in all its forms, `cvta`, `isspacep`, and the mask makers.

use super::operands::File;
use super::{Decoder, Register, Result};
use crate::arithmetic::integer::low;
use crate::lanes::{Compute, Fields, map1, map2, put_predicate, test1};
use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
use crate::program::{Action, Constant, GlobalVariable};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Opcode, Operand, SpecialRegister, Type, Word};

impl Decoder<'_> {
    pub(super) fn moves(&mut self, i: &Instruction) -> Result<()> {
        match i.opcode {
            Opcode::Mov => self.mov(i),
            Opcode::Cvta => self.cvta(i),
            Opcode::Isspacep => self.isspacep(i),
            _ => self.masks(i),
        }
    }

    fn mov(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[])?;
        let ty = self.ty(i)?;
        if ty == Type::B128 {
            return self.mov128(i);
        }
        match (self.operand(i, 0)?, self.operand(i, 1)?) {
            (Operand::Vector(parts), source) => self.unpack(i, parts, source, ty),
            (d, Operand::Vector(parts)) => self.pack(i, d, parts, ty),
            (d, Operand::Special(special)) => self.mov_special(i, d, *special, ty),
            (d, source) => {
                let a = self.read(i, source, ty)?;
                let d = self.write(i, d, ty)?;
                self.copy(ty, d, a);
                Ok(())
            }
        }
    }

    /// `mov.b128`: halves are registers of 64 bits already.
    fn mov128(&mut self, i: &Instruction) -> Result<()> {
        let from = match self.operand(i, 1)? {
            Operand::Vector(parts) if parts.len() == 2 => {
                [self.read(i, &parts[0], Type::B64)?, self.read(i, &parts[1], Type::B64)?]
            }
            register => self.halves(i, register, false)?,
        };
        let to = match self.operand(i, 0)? {
            Operand::Vector(parts) if parts.len() == 2 => {
                [self.write(i, &parts[0], Type::B64)?, self.write(i, &parts[1], Type::B64)?]
            }
            register => self.halves(i, register, true)?,
        };
        // One instruction, as one half of the result may be the other half's source.
        let run: Compute = |r, f, m| {
            let (low, high) = (r.r64[f.a as usize], r.r64[f.b as usize]);
            crate::lanes::put(r, f.d, m, &low);
            crate::lanes::put(r, f.e, m, &high);
        };
        self.compute(run, Fields { d: to[0], e: to[1], a: from[0], b: from[1], ..Fields::default() });
        Ok(())
    }

    fn mov_special(&mut self, i: &Instruction, d: &Operand, special: SpecialRegister, ty: Type) -> Result<()> {
        use SpecialRegister::*;
        match special {
            Clock | Clock64 | GlobalTimer | GlobalTimerLo | GlobalTimerHi | ClockHi => {
                let d = self.write(i, d, ty)?;
                self.emit(Action::Clock { d, wide: ty.bits() == 64 });
            }
            EnvReg1 | EnvReg2 => {
                let a = self.grid_workspace()?;
                let d = self.write(i, d, ty)?;
                let run: Compute = match special {
                    EnvReg1 => |r, f, m| map1::<u32, u64>(r, f, m, |a| (a >> 32) as u32),
                    _ => |r, f, m| map1::<u32, u64>(r, f, m, |a| a as u32),
                };
                self.compute(run, Fields { d, a, ..Fields::default() });
            }
            _ => {
                let a = self.special(i, special)?;
                let (d, wide) = self.write_any(i, d, ty)?;
                let run: Compute = match wide {
                    true => |r, f, m| map1::<u64, u32>(r, f, m, |a| a.into()),
                    false => |r, f, m| map1::<u32, u32>(r, f, m, |a| a),
                };
                self.compute(run, Fields { d, a, ..Fields::default() });
            }
        }
        Ok(())
    }

    /// The address of what cooperative groups keep for a grid, its size and the barrier's counter; nvcc's code finds it
    /// in `%envreg1` and `%envreg2`.
    fn grid_workspace(&mut self) -> Result<u16> {
        const NAME: &str = "the grid's workspace";
        let globals = &mut self.layout.globals;
        let known = globals.iter().position(|v| v.name == NAME);
        let place = known.unwrap_or_else(|| {
            globals.push(GlobalVariable { name: NAME.into(), init: vec![0; 8] });
            globals.len() - 1
        });
        self.constant64(Constant::Variable(place as u32, 0))
    }

    /// A plain copy. An uninitialised source makes an uninitialised copy and no report yet.
    fn copy(&mut self, ty: Type, d: u16, a: u16) {
        let run: Compute = match File::of(ty) {
            Some(File::P) => |r, f, m| {
                let bits = r.p[f.a as usize];
                put_predicate(r, f.d, m, bits);
            },
            Some(File::R64) => |r, f, m| map1::<u64, u64>(r, f, m, |a| a),
            _ => |r, f, m| map1::<u32, u32>(r, f, m, |a| a),
        };
        self.compute(run, Fields { d, a, ..Fields::default() });
        if let Some(step) = self.flow.last_mut() {
            step.copies = true;
        }
        self.quick(match File::of(ty) {
            Some(File::P) => None,
            Some(File::R64) => Some(Quick::Copy64),
            _ => Some(Quick::Copy32),
        });
    }

    /// The type of one of `count` parts of a vector that makes up a value of type `ty`.
    fn part(&self, i: &Instruction, ty: Type, count: usize) -> Result<Type> {
        Ok(match (ty.bits(), count) {
            (64, 2) => Type::B32,
            (64, 4) | (32, 2) => Type::B16,
            (32, 4) | (16, 2) => Type::B8,
            _ => return Err(self.unsupported(i, &format!("{count} parts of a .{ty}"))),
        })
    }

    /// `mov.b64 d, {a, b}`: the first part is the lowest.
    fn pack(&mut self, i: &Instruction, d: &Operand, parts: &[Operand], ty: Type) -> Result<()> {
        let part = self.part(i, ty, parts.len())?;
        let mut planes = vec![];
        for p in parts {
            planes.push(self.read(i, p, part)?);
        }
        let d = self.write(i, d, ty)?;
        let join: Compute = match part {
            Type::B16 => |r, f, m| map2::<u32, u16, u16>(r, f, m, |a, b| u32::from(a) | u32::from(b) << 16),
            Type::B8 => |r, f, m| map2::<u32, u8, u8>(r, f, m, |a, b| u32::from(a) | u32::from(b) << 8),
            _ => |r, f, m| map2::<u64, u32, u32>(r, f, m, |a, b| u64::from(a) | u64::from(b) << 32),
        };
        if let [a, b] = planes[..] {
            self.compute(join, Fields { d, a, b, ..Fields::default() });
            self.quick((part == Type::B16).then_some(Quick::Pack16));
            return Ok(());
        }
        let [a, b, c, e] = planes[..] else { return Err(self.malformed(i, "a vector of the wrong length")) };
        let writes = std::mem::take(&mut self.writes);
        let (low, high) = (self.fresh(File::R32)?, self.fresh(File::R32)?);
        let (Register::R32(l), Register::R32(h)) = (low, high) else { return Ok(()) };
        self.compute(join, Fields { d: l, a, b, ..Fields::default() });
        self.compute(join, Fields { d: h, a: c, b: e, ..Fields::default() });
        self.writes = writes;
        let last: Compute = match part {
            Type::B16 => |r, f, m| map2::<u64, u32, u32>(r, f, m, |a, b| u64::from(a) | u64::from(b) << 32),
            _ => |r, f, m| map2::<u32, u16, u16>(r, f, m, |a, b| u32::from(a) | u32::from(b) << 16),
        };
        self.compute(last, Fields { d, a: l, b: h, ..Fields::default() });
        Ok(())
    }

    /// `mov.b64 {d, e}, a`.
    fn unpack(&mut self, i: &Instruction, parts: &[Operand], source: &Operand, ty: Type) -> Result<()> {
        let part = self.part(i, ty, parts.len())?;
        let a = self.read(i, source, ty)?;
        let reads = self.reads.clone();
        for (p, n) in parts.iter().zip(0u16..) {
            if *p == Operand::Sink {
                continue;
            }
            self.reads = reads.clone();
            let d = self.write(i, p, part)?;
            let run: Compute = match (ty.bits(), part) {
                (64, Type::B32) => |r, f, m| map1::<u32, u64>(r, f, m, |a| (a >> f.aux) as u32),
                (64, _) => |r, f, m| map1::<u16, u64>(r, f, m, |a| (a >> f.aux) as u16),
                (_, Type::B16) => |r, f, m| map1::<u16, u32>(r, f, m, |a| (a >> f.aux) as u16),
                _ => |r, f, m| map1::<u8, u32>(r, f, m, |a| (a >> f.aux) as u8),
            };
            self.compute(run, Fields { d, a, aux: n * part.bits() as u16, ..Fields::default() });
            self.quick((ty.bits() == 32 && part == Type::B16).then_some(Quick::Unpack16));
        }
        Ok(())
    }

    /// Shared, local and parameter addresses are offsets; generic ones add their window's base.
    fn cvta(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[To, Global, Shared, SharedCta, SharedCluster, Local, Const, Param, ParamEntry])?;
        let ty = self.ty(i)?;
        if ty.bits() != 64 {
            return Err(self.unsupported(i, "32-bit addressing"));
        }
        let base = if i.has(Shared) || i.has(SharedCta) || i.has(SharedCluster) {
            SHARED_WINDOW
        } else if i.has(Local) {
            LOCAL_WINDOW
        } else if i.has(Param) || i.has(ParamEntry) {
            PARAM_WINDOW
        } else {
            0
        };
        let a = self.read(i, self.operand(i, 1)?, ty)?;
        let b = self.constant64(Constant::Value(base))?;
        let d = self.write(i, self.operand(i, 0)?, ty)?;
        let run: Compute = match i.has(To) {
            true => |r, f, m| map2::<u64, u64, u64>(r, f, m, u64::wrapping_sub),
            false => |r, f, m| map2::<u64, u64, u64>(r, f, m, u64::wrapping_add),
        };
        self.compute(run, Fields { d, a, b, ..Fields::default() });
        Ok(())
    }

    fn isspacep(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(i, &[Global, Shared, SharedCta, SharedCluster, Local, Const, Param, ParamEntry])?;
        let a = self.read(i, self.operand(i, 1)?, Type::B64)?;
        let d = self.write(i, self.operand(i, 0)?, Type::Pred)?;
        fn within(r: &crate::lanes::Registers, f: &Fields, base: u64) -> u32 {
            test1::<u64>(r, f, |a| a.wrapping_sub(base) < WINDOW)
        }
        let run: Compute = if i.has(Shared) || i.has(SharedCta) || i.has(SharedCluster) {
            |r, f, m| put_predicate(r, f.d, m, within(r, f, SHARED_WINDOW))
        } else if i.has(Local) {
            |r, f, m| put_predicate(r, f.d, m, within(r, f, LOCAL_WINDOW))
        } else if i.has(Param) || i.has(ParamEntry) {
            |r, f, m| put_predicate(r, f.d, m, within(r, f, PARAM_WINDOW))
        } else if i.has(Global) {
            |r, f, m| {
                let windows = [SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW].map(|w| within(r, f, w));
                put_predicate(r, f.d, m, !(windows[0] | windows[1] | windows[2]));
            }
        } else {
            return Err(self.unsupported(i, "constants lie in the global space here"));
        };
        self.compute(run, Fields { d, a, ..Fields::default() });
        Ok(())
    }

    /// `szext` and `bmsk`.
    fn masks(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[Word::Clamp, Word::Wrap])?;
        let ty = self.ty(i)?;
        let a = self.read(i, self.operand(i, 1)?, Type::B32)?;
        let b = self.read(i, self.operand(i, 2)?, Type::B32)?;
        let d = self.write(i, self.operand(i, 0)?, Type::B32)?;
        let run: Compute = match (i.opcode, i.has(Word::Clamp), ty) {
            (Opcode::Bmsk, true, _) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| mask(a.min(32), b.min(32))),
            (Opcode::Bmsk, false, _) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| mask(a & 31, b & 31)),
            (_, true, Type::S32) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| extend(a, b.min(32), true)),
            (_, false, Type::S32) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| extend(a, b & 31, true)),
            (_, true, _) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| extend(a, b.min(32), false)),
            (_, false, _) => |r, f, m| map2::<u32, u32, u32>(r, f, m, |a, b| extend(a, b & 31, false)),
        };
        self.compute(run, Fields { d, a, b, ..Fields::default() });
        Ok(())
    }
}

/// `bmsk`: `width` ones from `position`.
fn mask(position: u32, width: u32) -> u32 {
    (low(width) << position) as u32
}

/// `szext`: the low `width` bits, extended.
fn extend(a: u32, width: u32, signed: bool) -> u32 {
    match width {
        0 => 0,
        32.. => a,
        n if signed => (((a << (32 - n)) as i32) >> (32 - n)) as u32,
        n => a & low(n) as u32,
    }
}
