//! Operands become planes of the register files: registers, immediates, special registers and addresses alike.

use super::layout::Home;
use super::{Decoder, Register, Result};
use crate::lanes::{Compute, Fields, put_predicate};
use crate::program::{Action, Constant, Guard};
use warpsmith_ptx::{Address, Base, Immediate, Instruction, Operand, RegisterId, SpecialRegister, Symbol, Type};

/// Where a declared register lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Plane(Register),
    /// The two halves of 128 bits, the low one first.
    Halves(u16, u16),
    /// A type that the machine has no plane for.
    Unsupported(Type),
}

/// Which planes values of a type lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    R32,
    R64,
    P,
}

impl File {
    pub(crate) fn of(ty: Type) -> Option<File> {
        match ty {
            Type::Pred => Some(File::P),
            ty if ty.bits() <= 32 => Some(File::R32),
            ty if ty.bits() == 64 => Some(File::R64),
            _ => None,
        }
    }
}

/// An address: its base's plane, and bytes to add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub plane: u16,
    pub wide: bool,
    pub offset: i32,
}

impl Decoder<'_> {
    /// A fresh register for values of a type.
    pub(super) fn slot(&mut self, ty: Type) -> Result<Slot> {
        Ok(match File::of(ty) {
            Some(file) => Slot::Plane(self.fresh(file)?),
            None if ty.bits() == 128 => match (self.fresh(File::R64)?, self.fresh(File::R64)?) {
                (Register::R64(low), Register::R64(high)) => Slot::Halves(low, high),
                _ => Slot::Unsupported(ty),
            },
            None => Slot::Unsupported(ty),
        })
    }

    pub(super) fn fresh(&mut self, file: File) -> Result<Register> {
        let count = match file {
            File::R32 => &mut self.counts.r32,
            File::R64 => &mut self.counts.r64,
            File::P => &mut self.counts.p,
        };
        let index = u16::try_from(*count).ok().filter(|i| *i < u16::MAX);
        *count += 1;
        let kernel = || self.function.name.clone();
        let index = index.ok_or_else(|| crate::DecodeError::TooLarge { kernel: kernel(), what: "registers" })?;
        Ok(match file {
            File::R32 => Register::R32(index),
            File::R64 => Register::R64(index),
            File::P => Register::P(index),
        })
    }

    fn register(&self, i: &Instruction, id: RegisterId) -> Result<Register> {
        match self.slots.get(id.0 as usize) {
            Some(Slot::Plane(r)) => Ok(*r),
            Some(Slot::Halves(..)) => Err(self.malformed(i, "a register of 128 bits does not fit")),
            Some(Slot::Unsupported(ty)) => Err(self.unsupported(i, &format!("registers of type .{ty}"))),
            None => Err(self.malformed(i, "a register that is not declared")),
        }
    }

    /// A register in whatever file it is, noted as read.
    pub(super) fn any_register(&mut self, i: &Instruction, id: RegisterId) -> Result<Register> {
        let register = self.register(i, id)?;
        self.reads.push(register);
        Ok(register)
    }

    /// A predicate register, noted as read.
    pub(super) fn predicate_register(&mut self, i: &Instruction, id: RegisterId) -> Result<u16> {
        match self.any_register(i, id)? {
            Register::P(index) => Ok(index),
            _ => Err(self.malformed(i, "a predicate is expected")),
        }
    }

    /// The plane that an operand of this type is read from.
    pub(super) fn read(&mut self, i: &Instruction, operand: &Operand, ty: Type) -> Result<u16> {
        let file = File::of(ty).ok_or_else(|| self.unsupported(i, &format!("operands of type .{ty}")))?;
        match operand {
            Operand::Register(id) => match (self.any_register(i, *id)?, file) {
                (Register::R32(index), File::R32)
                | (Register::R64(index), File::R64)
                | (Register::P(index), File::P) => Ok(index),
                // A wider register than the type: its low half.
                (Register::R64(index), File::R32) => self.low_half(index),
                _ => Err(self.malformed(i, format!("a register does not fit the type .{ty}"))),
            },
            Operand::Immediate(value) => self.immediate(i, *value, ty),
            Operand::Special(special) if file == File::R32 => self.special(i, *special),
            Operand::Symbol(symbol, offset) => self.symbol(i, *symbol, *offset, file),
            Operand::Not(id) if file == File::P => {
                let index = self.predicate_register(i, *id)?;
                self.negated(index)
            }
            _ => Err(self.malformed(i, format!("an operand is not a value of type .{ty}"))),
        }
    }

    /// The plane that a result of this type goes to.
    pub(super) fn write(&mut self, i: &Instruction, operand: &Operand, ty: Type) -> Result<u16> {
        let file = File::of(ty).ok_or_else(|| self.unsupported(i, &format!("results of type .{ty}")))?;
        match operand {
            Operand::Register(id) => {
                let register = self.register(i, *id)?;
                let index = match (register, file) {
                    (Register::R32(n), File::R32) | (Register::R64(n), File::R64) | (Register::P(n), File::P) => n,
                    _ => return Err(self.malformed(i, format!("the result does not fit the type .{ty}"))),
                };
                self.writes.push(register);
                Ok(index)
            }
            Operand::Sink => self.sink(file),
            _ => Err(self.malformed(i, "the result is not a register")),
        }
    }

    /// The planes of a register of 128 bits, the low half first.
    pub(super) fn halves(&mut self, i: &Instruction, operand: &Operand, writes: bool) -> Result<[u16; 2]> {
        let Operand::Register(id) = operand else {
            return Err(self.malformed(i, "a register of 128 bits is expected"));
        };
        let Some(Slot::Halves(low, high)) = self.slots.get(id.0 as usize).copied() else {
            return Err(self.malformed(i, "a register of 128 bits is expected"));
        };
        let noted = if writes { &mut self.writes } else { &mut self.reads };
        noted.extend([Register::R64(low), Register::R64(high)]);
        Ok([low, high])
    }

    /// The plane of a result, with whether it is a 64-bit one, whatever its width.
    pub(super) fn write_any(&mut self, i: &Instruction, operand: &Operand, ty: Type) -> Result<(u16, bool)> {
        if let Operand::Register(id) = operand {
            let register = self.register(i, *id)?;
            self.writes.push(register);
            return match register {
                Register::R32(index) if ty.bits() <= 32 => Ok((index, false)),
                Register::R64(index) => Ok((index, true)),
                _ => Err(self.malformed(i, format!("a register does not fit the type .{ty}"))),
            };
        }
        Ok((self.write(i, operand, ty)?, ty.bits() == 64))
    }

    /// A register for a result that nobody wants.
    pub(super) fn sink(&mut self, file: File) -> Result<u16> {
        if let Some(index) = self.sinks[file as usize] {
            return Ok(index);
        }
        let index = match self.fresh(file)? {
            Register::R32(n) | Register::R64(n) | Register::P(n) => n,
        };
        self.sinks[file as usize] = Some(index);
        Ok(index)
    }

    pub(super) fn constant32(&mut self, value: u32) -> Result<u16> {
        if let Some(index) = self.constants32.get(&value) {
            return Ok(*index);
        }
        let Register::R32(index) = self.fresh(File::R32)? else { return Ok(0) };
        self.constants32.insert(value, index);
        Ok(index)
    }

    pub(super) fn constant64(&mut self, value: Constant) -> Result<u16> {
        if let Some(index) = self.constants64.get(&value) {
            return Ok(*index);
        }
        let Register::R64(index) = self.fresh(File::R64)? else { return Ok(0) };
        self.constants64.insert(value, index);
        Ok(index)
    }

    /// A predicate that is always the same.
    pub(super) fn fixed_predicate(&mut self, value: bool) -> Result<u16> {
        if let Some(index) = self.fixed[usize::from(value)] {
            return Ok(index);
        }
        let Register::P(index) = self.fresh(File::P)? else { return Ok(0) };
        self.fixed[usize::from(value)] = Some(index);
        Ok(index)
    }

    fn immediate(&mut self, i: &Instruction, value: Immediate, ty: Type) -> Result<u16> {
        let float = matches!(ty, Type::F16 | Type::BF16 | Type::F32 | Type::F64 | Type::TF32);
        let bits = match (value, ty) {
            (Immediate::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Immediate::F64(bits), Type::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
            (Immediate::F32(bits), ty) if ty.bits() == 32 => bits.into(),
            (Immediate::F64(bits), ty) if ty.bits() == 64 => bits,
            (Immediate::F32(_) | Immediate::F64(_), _) => return Err(self.malformed(i, "a float where none fits")),
            (Immediate::Integer(_) | Immediate::Unsigned(_), _) if float => {
                return Err(self.malformed(i, format!("an integer as an operand of type .{ty}")));
            }
            (Immediate::Integer(n), _) => n as u64,
            (Immediate::Unsigned(n), _) => n,
        };
        match File::of(ty) {
            Some(File::R64) => self.constant64(Constant::Value(bits)),
            Some(File::P) => self.fixed_predicate(bits != 0),
            _ => self.constant32(bits as u32),
        }
    }

    /// The value of a literal by the 32-bit register that holds it.
    pub(super) fn known(&self, plane: u16) -> Option<u32> {
        self.constants32.iter().find(|(_, index)| **index == plane).map(|(value, _)| *value)
    }

    pub(super) fn special(&mut self, i: &Instruction, special: SpecialRegister) -> Result<u16> {
        use SpecialRegister::*;
        match special {
            TidX | TidY | TidZ | NtidX | NtidY | NtidZ | CtaidX | CtaidY | CtaidZ | NctaidX | NctaidY | NctaidZ => {}
            LaneId | WarpId | NwarpId | SmId | NsmId | GridId => {}
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => {}
            ClusterIdX | ClusterIdY | ClusterIdZ | NclusterIdX | NclusterIdY | NclusterIdZ => {}
            ClusterCtaidX | ClusterCtaidY | ClusterCtaidZ | ClusterNctaidX | ClusterNctaidY | ClusterNctaidZ => {}
            ClusterCtaRank | ClusterNctaRank | DynamicSmemSize | TotalSmemSize => {}
            // Clocks run: `mov` reads them, an instruction of its own.
            _ => return Err(self.unsupported(i, &format!("`%{special}`"))),
        }
        if let Some(index) = self.specials.get(&special) {
            return Ok(*index);
        }
        let Register::R32(index) = self.fresh(File::R32)? else { return Ok(0) };
        self.specials.insert(special, index);
        Ok(index)
    }

    /// A symbol's address as a value.
    fn symbol(&mut self, i: &Instruction, symbol: Symbol, offset: i64, file: File) -> Result<u16> {
        let home = self.layout.home(self.current, symbol).ok_or_else(|| self.malformed(i, "an unknown symbol"))?;
        match (home, file) {
            (Home::Global(n), File::R64) => self.constant64(Constant::Variable(n, offset)),
            (Home::Global(_), _) => Err(self.malformed(i, "the address of a global variable is a 64-bit value")),
            (Home::Shared(base) | Home::Local(base) | Home::Param(base), file) => {
                let value = i64::from(base).wrapping_add(offset);
                match file {
                    File::R32 => self.constant32(value as u32),
                    File::R64 => self.constant64(Constant::Value(value as u64)),
                    File::P => Err(self.malformed(i, "an address as a predicate")),
                }
            }
        }
    }

    /// A memory operand.
    pub(super) fn address(&mut self, i: &Instruction, operand: &Operand) -> Result<Place> {
        let Operand::Address(Address { base, offset, coordinates }) = operand else {
            return Err(self.malformed(i, "an address is expected"));
        };
        if !coordinates.is_empty() {
            return Err(self.unsupported(i, "tensor coordinates"));
        }
        match base {
            Base::Register(id) => {
                let offset =
                    i32::try_from(*offset).map_err(|_| self.malformed(i, "the offset does not fit 32 bits"))?;
                match self.any_register(i, *id)? {
                    Register::R32(plane) => Ok(Place { plane, wide: false, offset }),
                    Register::R64(plane) => Ok(Place { plane, wide: true, offset }),
                    Register::P(_) => Err(self.malformed(i, "a predicate as an address")),
                }
            }
            Base::Symbol(symbol) => {
                let plane = self.symbol(i, *symbol, *offset, File::R64)?;
                Ok(Place { plane, wide: true, offset: 0 })
            }
            Base::Absolute => {
                let plane = self.constant64(Constant::Value(*offset as u64))?;
                Ok(Place { plane, wide: true, offset: 0 })
            }
        }
    }

    /// Emits a helper instruction of its own, ahead of the one being decoded and without its guard.
    pub(super) fn before(&mut self, run: Compute, fields: Fields, reads: Register, writes: Register) {
        let (guard, outer_reads, outer_writes) =
            (self.guard, std::mem::take(&mut self.reads), std::mem::take(&mut self.writes));
        self.guard = Guard::ALWAYS;
        self.reads.push(reads);
        self.writes.push(writes);
        self.emit(Action::Compute { run, fields });
        // What the helper copies, an uninitialised value too, is judged where it is used.
        if let Some(step) = self.flow.last_mut() {
            step.copies = true;
        }
        (self.guard, self.reads, self.writes) = (guard, outer_reads, outer_writes);
        self.reads.retain(|r| *r != reads);
        self.reads.push(writes);
    }

    fn negated(&mut self, index: u16) -> Result<u16> {
        let temporary = self.fresh(File::P)?;
        let Register::P(d) = temporary else { return Ok(index) };
        let run: Compute = |r, f, m| {
            let bits = !r.p[f.a as usize];
            put_predicate(r, f.d, m, bits);
        };
        self.before(run, Fields { d, a: index, ..Fields::default() }, Register::P(index), temporary);
        Ok(d)
    }

    fn low_half(&mut self, index: u16) -> Result<u16> {
        let temporary = self.fresh(File::R32)?;
        let Register::R32(d) = temporary else { return Ok(index) };
        let run: Compute = |r, f, m| crate::lanes::map1::<u32, u64>(r, f, m, |a| a as u32);
        self.before(run, Fields { d, a: index, ..Fields::default() }, Register::R64(index), temporary);
        Ok(d)
    }
}
