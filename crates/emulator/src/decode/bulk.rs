//! `cp.async.bulk` with its tensor forms and reductions, `st.async`, `red.async`.

use super::{Decoder, Result};
use crate::program::{self, Action, AtomicOp, AtomicType, BulkKind, NONE, WriteAsync};
use warpsmith_ptx::{Address, Instruction, Operand, Type, Word};

const NOWHERE: program::Address = program::Address { plane: 0, wide: false, offset: 0 };

impl Decoder<'_> {
    pub(super) fn bulk(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        if i.has(CommitGroup) {
            self.emit(Action::CommitBulk);
            return Ok(());
        }
        if i.has(WaitGroup) {
            let left = self.number(i, 0)?;
            self.emit(Action::WaitBulk { left, reads: i.has(Read) });
            return Ok(());
        }
        if i.has(Prefetch) {
            self.emit(Action::Nop);
            return Ok(());
        }
        self.only(
            i,
            &[
                Async,
                Reduce,
                Bulk,
                Tensor,
                D1,
                D2,
                D3,
                D4,
                D5,
                SharedCluster,
                SharedCta,
                Global,
                Tile,
                MbarrierCompleteTxBytes,
                BulkGroup,
                MulticastCluster,
                L2CacheHint,
                Add,
                Min,
                Max,
                Inc,
                Dec,
                And,
                Or,
                Xor,
                Noftz,
            ],
        )?;
        let tensor = i.has(Tensor);
        let combine = if i.has(Reduce) { Some(self.combination(i, tensor)?) } else { None };
        let counts = i.has(MbarrierCompleteTxBytes);
        let kind = match (counts, i.has(Global)) {
            (true, true) => BulkKind::Load,
            (true, false) => BulkKind::Send(combine),
            (false, _) => BulkKind::Store(combine),
        };
        let (to, from) = (self.operand(i, 0)?.clone(), self.operand(i, 1)?.clone());
        let (shared, global) = match kind {
            BulkKind::Load => (to, from),
            BulkKind::Store(_) | BulkKind::Send(_) => (from, to),
        };
        let (global, coordinates) = self.tensor_address(i, &global)?;
        let (shared, _) = self.tensor_address(i, &shared)?;
        let rank = coordinates.len() as u8;
        let named = [(D1, 1), (D2, 2), (D3, 3), (D4, 4), (D5, 5)].into_iter().find(|(word, _)| i.has(*word));
        if rank != named.map_or(0, |(_, n)| n) || tensor == (rank == 0) {
            return Err(self.malformed(i, format!("{rank} coordinates")));
        }
        let list = self.lists.len() as u32;
        self.lists.extend(coordinates);
        let mut next = 2;
        let mut take = || {
            next += 1;
            next - 1
        };
        let size = if tensor { NONE } else { self.read(i, self.operand(i, take())?, Type::U32)? };
        let barrier = if counts { self.tensor_address(i, self.operand(i, take())?)?.0 } else { NOWHERE };
        let mask = if i.has(MulticastCluster) { self.read(i, self.operand(i, take())?, Type::U16)? } else { NONE };
        // Reductions meet in global memory.
        self.communicates |= combine.is_some() && matches!(kind, BulkKind::Store(_));
        let index = self.bulk.len() as u32;
        self.bulk.push(program::Bulk { kind, tensor, rank, list, shared, global, barrier, size, mask });
        self.emit(Action::Bulk(index));
        Ok(())
    }

    pub(super) fn write_async(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        self.only(
            i,
            &[
                Async,
                Relaxed,
                Cluster,
                SharedCluster,
                MbarrierCompleteTxBytes,
                V2,
                V4,
                Add,
                Min,
                Max,
                Inc,
                Dec,
                And,
                Or,
                Xor,
            ],
        )?;
        let ty = self.ty(i)?;
        let reduces = i.opcode == warpsmith_ptx::Opcode::Red;
        let combine = if reduces { Some(self.combination(i, false)?) } else { None };
        let to = self.tensor_address(i, self.operand(i, 0)?)?.0;
        let data = self.operand(i, 1)?;
        let elements = match data {
            Operand::Vector(elements) => &elements[..],
            single => std::slice::from_ref(single),
        };
        let list = self.lists.len() as u32;
        let mut planes = vec![];
        for element in elements {
            planes.push(self.read(i, element, ty)?.into());
        }
        let count = planes.len() as u8;
        self.lists.extend::<Vec<u32>>(planes);
        let barrier = self.tensor_address(i, self.operand(i, 2)?)?.0;
        self.emit(Action::WriteAsync(WriteAsync { to, barrier, width: ty.bytes() as u8, count, list, combine }));
        Ok(())
    }

    /// The reduction of a copy. That of a tensor has its type in the map, which is only known when it runs; the few
    /// that differ by it are refused.
    fn combination(&self, i: &Instruction, tensor: bool) -> Result<(AtomicOp, AtomicType)> {
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
        ];
        let op = operations.into_iter().find(|(word, _)| i.has(*word)).map(|(_, op)| op);
        let op = op.ok_or_else(|| self.malformed(i, "no operation"))?;
        if tensor {
            return Ok((op, AtomicType::U32));
        }
        let ty = match (self.ty(i)?, op) {
            (Type::S32, _) => AtomicType::S32,
            (Type::U32 | Type::B32, _) => AtomicType::U32,
            (Type::S64, _) => AtomicType::S64,
            (Type::U64 | Type::B64, _) => AtomicType::U64,
            (Type::F16, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max) => AtomicType::F16,
            (Type::BF16, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max) => AtomicType::BF16,
            (Type::F32, AtomicOp::Add) => AtomicType::F32,
            (Type::F64, AtomicOp::Add) => AtomicType::F64,
            _ => return Err(self.unsupported(i, "")),
        };
        Ok((op, ty))
    }

    /// An address, and the coordinates that follow it.
    fn tensor_address(&mut self, i: &Instruction, operand: &Operand) -> Result<(program::Address, Vec<u32>)> {
        let Operand::Address(address) = operand else { return Err(self.malformed(i, "an address is expected")) };
        let plain = Operand::Address(Address { coordinates: vec![], ..address.clone() });
        let place = self.address(i, &plain)?;
        let mut coordinates = vec![];
        for coordinate in &address.coordinates {
            coordinates.push(self.read(i, coordinate, Type::S32)?.into());
        }
        Ok((program::Address { plane: place.plane, wide: place.wide, offset: place.offset }, coordinates))
    }
}
