//! `ld`, `st`, `atom`, `red`, `cp.async`.

use super::layout::Home;
use super::operands::{File, Place};
use super::{Decoder, Register, Result};
use crate::lanes::{Fields, map2};
use crate::program::{
    Access, Action, Atomic, AtomicOp, AtomicType, Constant, CopyAsync, NONE, Scope, Semantics, Space,
};
use warpsmith_ptx::{Base, Immediate, Instruction, Opcode, Operand, Type, Word};

/// Cache hints, scopes and orders that are words only: one scheduler makes every access strong.
const HINTS: [Word; 33] = {
    use Word::*;
    [
        Weak,
        Volatile,
        Relaxed,
        Acquire,
        Release,
        AcqRel,
        Sc,
        Mmio,
        Cta,
        Cluster,
        Gpu,
        Sys,
        Nc,
        Ca,
        Cg,
        Cs,
        Lu,
        Cv,
        Wb,
        Wt,
        L1EvictNormal,
        L1EvictUnchanged,
        L1EvictFirst,
        L1EvictLast,
        L1NoAllocate,
        L2EvictFirst,
        L2EvictLast,
        L2EvictNormal,
        L2CacheHint,
        L2Prefetch64,
        L2Prefetch128,
        L2Prefetch256,
        Noftz,
    ]
};

const SPACES: [Word; 10] = {
    use Word::*;
    [Global, Shared, SharedCta, SharedCluster, Local, Const, Param, ParamEntry, ParamFunc, Generic]
};

impl Decoder<'_> {
    pub(super) fn memory(&mut self, i: &Instruction) -> Result<()> {
        match i.opcode {
            Opcode::Cp => self.copy_async(i),
            Opcode::St | Opcode::Red if i.has(Word::Async) => self.write_async(i),
            Opcode::Atom | Opcode::Red => self.atomic(i),
            _ => self.access(i),
        }
    }

    pub(super) fn space(&self, i: &Instruction) -> Space {
        use Word::*;
        let has = |words: &[Word]| words.iter().any(|w| i.has(*w));
        if has(&[Shared, SharedCta, SharedCluster]) {
            Space::Shared
        } else if has(&[Global, Const]) {
            Space::Global
        } else if has(&[Local]) {
            Space::Local
        } else if has(&[Param, ParamEntry, ParamFunc]) {
            Space::Param
        } else {
            Space::Generic
        }
    }

    /// The same, where parameters of functions, and what calls pass, lie in local memory.
    fn space_of(&self, i: &Instruction, address: usize) -> Space {
        let space = self.space(i);
        let Some(Operand::Address(a)) = i.operands.get(address) else { return space };
        let local = match a.base {
            Base::Symbol(symbol) => matches!(self.layout.home(self.current, symbol), Some(Home::Local(_))),
            _ => self.is_function(),
        };
        if space == Space::Param && local { Space::Local } else { space }
    }

    /// Whether other threads may be meant to see or change what this instruction touches.
    fn strong(&self, i: &Instruction) -> bool {
        use Word::*;
        [Volatile, Relaxed, Acquire, Release, AcqRel, Sc, Mmio, Cv].iter().any(|w| i.has(*w))
    }

    /// Whom an instruction is for, where it says.
    pub(super) fn scope(&self, i: &Instruction) -> Option<Scope> {
        use Word::*;
        let scopes = [(Cta, Scope::Cta), (Cluster, Scope::Cluster), (Gpu, Scope::Gpu), (Sys, Scope::Sys)];
        scopes.into_iter().find(|(word, _)| i.has(*word)).map(|(_, scope)| scope)
    }

    /// What it orders.
    pub(super) fn semantics(&self, i: &Instruction) -> Semantics {
        let both = i.has(Word::AcqRel) || i.has(Word::Sc);
        Semantics { acquires: both || i.has(Word::Acquire), releases: both || i.has(Word::Release) }
    }

    fn access(&mut self, i: &Instruction) -> Result<()> {
        let mut allowed = vec![Word::V2, Word::V4, Word::V8];
        allowed.extend(HINTS);
        allowed.extend(SPACES);
        self.only(i, &allowed)?;
        let load = i.opcode != Opcode::St;
        let ty = self.ty(i)?;
        if ty == Type::Pred || i.types().count() > 1 {
            return Err(self.unsupported(i, ""));
        }
        let space = self.space_of(i, usize::from(load));
        if !load && (space == Space::Param || i.has(Word::Const)) {
            return Err(self.unsupported(i, "a store to memory that kernels only read"));
        }
        let count = [(Word::V2, 2), (Word::V4, 4), (Word::V8, 8)];
        let count = count.into_iter().find(|(word, _)| i.has(*word)).map_or(1, |(_, n)| n);
        if usize::from(count) * ty.bytes() as usize > 32 {
            return Err(self.unsupported(i, "more than 32 bytes a thread"));
        }
        let (data, address) = if load { (0, 1) } else { (1, 0) };
        let place = self.address(i, self.operand(i, address)?)?;
        let data = self.operand(i, data)?;
        if ty.bits() == 128 {
            let planes = self.halves(i, data, load)?;
            let list = self.lists.len() as u32;
            self.lists.extend(planes.map(u32::from));
            return self.emit_access(i, space, Type::B64, (2, list, true), place);
        }
        let elements = match (data, count) {
            (Operand::Vector(elements), n) if elements.len() == usize::from(n) => &elements[..],
            (Operand::Vector(_), _) => return Err(self.malformed(i, "the vector's length does not fit")),
            (single, 1) => std::slice::from_ref(single),
            _ => return Err(self.malformed(i, "a vector is expected")),
        };
        let list = self.lists.len() as u32;
        let mut wide = None;
        for element in elements {
            let (plane, is_wide) = if load { self.write_any(i, element, ty)? } else { self.read_any(i, element, ty)? };
            if wide.is_some_and(|w| w != is_wide) {
                return Err(self.unsupported(i, "registers of different widths"));
            }
            wide = Some(is_wide);
            self.lists.push(plane.into());
        }
        self.emit_access(i, space, ty, (count, list, wide.unwrap_or(false)), place)
    }

    fn emit_access(
        &mut self,
        i: &Instruction,
        space: Space,
        ty: Type,
        (count, list, wide): (u8, u32, bool),
        place: Place,
    ) -> Result<()> {
        let strong = self.strong(i);
        let store = i.opcode == Opcode::St;
        let literal = match i.operands.get(usize::from(!store)) {
            Some(Operand::Address(address)) => !matches!(address.base, Base::Register(_)),
            _ => false,
        };
        self.communicates |= strong && matches!(space, Space::Global | Space::Generic);
        let access = Access {
            space,
            width: ty.bytes() as u8,
            count,
            signed: ty.is_signed(),
            strong,
            order: self.semantics(i),
            // What is volatile is relaxed, for everybody.
            scope: self.scope(i).unwrap_or(Scope::Sys),
            constant: i.has(Word::Nc),
            padding: self.space(i) == Space::Param && self.ty(i)? == Type::B8,
            wide,
            address_wide: place.wide,
            literal,
            address: place.plane,
            offset: place.offset,
            list,
        };
        self.emit(if store { Action::Store(access) } else { Action::Load(access) });
        Ok(())
    }

    /// The plane that is stored from, with whether it is a 64-bit one, whatever its width.
    fn read_any(&mut self, i: &Instruction, operand: &Operand, ty: Type) -> Result<(u16, bool)> {
        if let Operand::Register(id) = operand {
            match self.any_register(i, *id)? {
                Register::R32(n) if ty.bits() <= 32 => return Ok((n, false)),
                Register::R64(n) => return Ok((n, true)),
                _ => return Err(self.malformed(i, format!("a register does not fit the type .{ty}"))),
            }
        }
        // A literal has no width of its own; floats of 16 bits come as their bits.
        let as_bits = match ty {
            Type::F16 | Type::BF16 => Type::B16,
            ty => ty,
        };
        Ok((self.read(i, operand, as_bits)?, ty.bits() == 64))
    }

    fn atomic(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let operations = [
            (Add, AtomicOp::Add),
            (Min, AtomicOp::Min),
            (Max, AtomicOp::Max),
            (Inc, AtomicOp::Inc),
            (Dec, AtomicOp::Dec),
            (And, AtomicOp::And),
            (Or, AtomicOp::Or),
            (Xor, AtomicOp::Xor),
            (Exch, AtomicOp::Exch),
            (Cas, AtomicOp::Cas),
        ];
        let mut allowed: Vec<Word> = operations.iter().map(|(word, _)| *word).collect();
        allowed.extend([V2, V4, V8]);
        allowed.extend(HINTS);
        allowed.extend(SPACES);
        self.only(i, &allowed)?;
        let op = operations.into_iter().find(|(word, _)| i.has(*word)).map(|(_, op)| op);
        let op = op.ok_or_else(|| self.malformed(i, "no operation"))?;
        let ty = self.ty(i)?;
        let space = self.space(i);
        if matches!(space, Space::Param | Space::Local) || i.has(Const) {
            return Err(self.unsupported(i, "its state space"));
        }
        if [V2, V4, V8].iter().any(|word| i.has(*word)) || ty == Type::B128 {
            return self.vector_atomic(i, op, ty, space);
        }
        let kind = match (ty, op) {
            (Type::B16 | Type::U16, AtomicOp::Cas) => AtomicType::U16,
            (Type::F16, AtomicOp::Add) => AtomicType::F16,
            (Type::BF16, AtomicOp::Add) => AtomicType::BF16,
            (Type::F16x2, AtomicOp::Add) => AtomicType::F16x2,
            (Type::BF16x2, AtomicOp::Add) => AtomicType::BF16x2,
            (Type::F32, AtomicOp::Add) => AtomicType::F32,
            (Type::F64, AtomicOp::Add) => AtomicType::F64,
            (Type::S32, _) => AtomicType::S32,
            (Type::U32 | Type::B32, _) => AtomicType::U32,
            (Type::S64, _) => AtomicType::S64,
            (Type::U64 | Type::B64, _) if !matches!(op, AtomicOp::Inc | AtomicOp::Dec) => AtomicType::U64,
            _ => return Err(self.unsupported(i, "")),
        };
        let red = i.opcode == Opcode::Red;
        if red && matches!(op, AtomicOp::Cas | AtomicOp::Exch) {
            return Err(self.malformed(i, "a reduction that returns a value"));
        }
        let first = usize::from(!red);
        let place = self.address(i, self.operand(i, first)?)?;
        let b = self.read(i, self.operand(i, first + 1)?, ty)?;
        let c = if op == AtomicOp::Cas { self.read(i, self.operand(i, first + 2)?, ty)? } else { NONE };
        let d = match (red, self.operand(i, 0)?) {
            (true, _) | (_, Operand::Sink) => NONE,
            (_, d) => self.write(i, d, ty)?,
        };
        self.communicates |= space != Space::Shared;
        self.emit(Action::Atomic(Atomic {
            order: self.semantics(i),
            scope: self.scope(i).unwrap_or(Scope::Gpu),
            space,
            op,
            ty: kind,
            address_wide: place.wide,
            address: place.plane,
            offset: place.offset,
            d,
            b,
            c,
        }));
        Ok(())
    }

    fn copy_async(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        if i.has(Bulk) {
            return self.bulk(i);
        }
        if i.has(Mbarrier) && i.has(Arrive) {
            return self.copies_arrive(i);
        }
        if !i.has(Async) || i.has(Mbarrier) || i.has(Reduce) {
            return Err(self.unsupported(i, ""));
        }
        if i.has(CommitGroup) {
            self.emit(Action::Commit);
            return Ok(());
        }
        if i.has(WaitAll) {
            self.emit(Action::WaitGroup(None));
            return Ok(());
        }
        if i.has(WaitGroup) {
            let pending = self.number(i, 0)?;
            self.emit(Action::WaitGroup(Some(pending)));
            return Ok(());
        }
        let allowed =
            [Async, Ca, Cg, Shared, SharedCta, Global, L2CacheHint, L2Prefetch64, L2Prefetch128, L2Prefetch256];
        self.only(i, &allowed)?;
        let mut to = self.address(i, self.operand(i, 0)?)?;
        let from = self.address(i, self.operand(i, 1)?)?;
        if i16::try_from(to.offset).is_err() {
            to = self.summed(to)?;
        }
        let bytes = self.number(i, 2)?;
        if !matches!(bytes, 4 | 8 | 16) {
            return Err(self.malformed(i, "its size is not 4, 8 or 16"));
        }
        if !from.wide {
            return Err(self.unsupported(i, "a 32-bit global address"));
        }
        let to_offset = i16::try_from(to.offset).map_err(|_| self.unsupported(i, "an offset beyond 16 bits"))?;
        let (mut size, mut ignore) = (NONE, NONE);
        let last = if i.has(L2CacheHint) { i.operands.len().saturating_sub(1) } else { i.operands.len() };
        for operand in i.operands.get(3..last).unwrap_or_default() {
            match operand {
                Operand::Register(id) => match self.any_register(i, *id)? {
                    Register::P(p) => ignore = p,
                    Register::R32(r) => size = r,
                    Register::R64(_) => return Err(self.malformed(i, "a 64-bit size")),
                },
                Operand::Not(_) => ignore = self.read(i, operand, Type::Pred)?,
                operand => size = self.read(i, operand, Type::U32)?,
            }
        }
        self.emit(Action::CopyAsync(CopyAsync {
            bytes: bytes as u8,
            to_wide: to.wide,
            to: to.plane,
            to_offset,
            from: from.plane,
            from_offset: from.offset,
            size,
            ignore,
        }));
        Ok(())
    }

    /// The same address without an offset, in a register of its own.
    fn summed(&mut self, place: Place) -> Result<Place> {
        let reads = std::mem::take(&mut self.reads);
        let plane = if place.wide {
            let Register::R64(d) = self.fresh(File::R64)? else { return Ok(place) };
            let b = self.constant64(Constant::Value(i64::from(place.offset) as u64))?;
            self.compute(
                |r, f, m| map2::<u64, u64, u64>(r, f, m, u64::wrapping_add),
                Fields { d, a: place.plane, b, ..Fields::default() },
            );
            d
        } else {
            let Register::R32(d) = self.fresh(File::R32)? else { return Ok(place) };
            let b = self.constant32(place.offset as u32)?;
            self.compute(
                |r, f, m| map2::<u32, u32, u32>(r, f, m, u32::wrapping_add),
                Fields { d, a: place.plane, b, ..Fields::default() },
            );
            d
        };
        self.reads = reads;
        Ok(Place { plane, wide: place.wide, offset: 0 })
    }

    /// A literal count.
    pub(super) fn number(&self, i: &Instruction, index: usize) -> Result<u32> {
        let value = match self.operand(i, index)? {
            Operand::Immediate(Immediate::Integer(n)) => u32::try_from(*n).ok(),
            Operand::Immediate(Immediate::Unsigned(n)) => u32::try_from(*n).ok(),
            _ => None,
        };
        value.ok_or_else(|| self.malformed(i, format!("operand {} must be a literal", index + 1)))
    }
}
