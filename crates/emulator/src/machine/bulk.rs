//! Bulk copies: how threads start them and wait for them.

use super::agents::{Agent, Combine, Counter, Job};
use super::arrive::Actor;
use super::boxes::Boxes;
use super::complete::{complete, read_source, report};
use super::core::Core;
use super::peers::Peers;
use super::races::{LineMark, Mark};
use super::span::addresses;
use super::warp::Warp;
use crate::finding::FindingKind;
use crate::lanes::{LANES, each};
use crate::memory::{PARAM_WINDOW, SHARED_BASE, SHARED_WINDOW};
use crate::program::{Address, AtomicOp, AtomicType, Bulk, BulkKind, NONE, Space};
use crate::tensor_map::TensorMap;
use warpsmith_types::DType;

impl Warp {
    /// `cp.async.bulk`, `cp.reduce.async.bulk`.
    pub(super) fn bulk(&mut self, core: &mut Core<'_>, peers: &mut Peers, b: &Bulk, active: u32, pc: u32) {
        for lane in each(active) {
            let who = Actor { warp: self.index, lane: lane as u32, pc };
            let Some(job) = self.job(core, peers, b, who, lane) else { continue };
            if let Some(watcher) = &mut core.watcher {
                match &job {
                    Job::Load { from, .. } => watcher.copy(pc, from, false),
                    Job::Store { to, .. } => watcher.copy(pc, to, true),
                    Job::Send { .. } | Job::Write { .. } => {}
                }
            }
            if let Job::Load { from, to, counters } = &job {
                for counter in counters {
                    peers.blocks_mut()[counter.rank].lands(*to, from.bytes(), pc);
                }
            }
            let group = self.bulk_groups[lane];
            let rank = peers.rank();
            let (marks, source, lines) = if core.races { mark(core, peers, who, &job) } else { Default::default() };
            let (warp, lane) = (self.index, lane as u32);
            peers.agents.pending.push(Agent { rank, warp, lane, pc, group, job, marks, source, lines });
        }
    }

    /// `cp.async.bulk.commit_group`.
    pub(super) fn commit_bulk(&mut self, active: u32) {
        each(active).for_each(|lane| self.bulk_groups[lane] += 1);
    }

    /// `cp.async.bulk.wait_group`: completes all but the last `left` groups of each lane, or just reads their sources.
    pub(super) fn wait_bulk(&mut self, core: &mut Core<'_>, peers: &mut Peers, left: u32, reads: bool, active: u32) {
        let (rank, warp, groups) = (peers.rank(), self.index, self.bulk_groups);
        let due = |a: &Agent| {
            let lane = a.lane as usize % LANES;
            let mine = a.rank == rank && a.warp == warp && active >> lane & 1 == 1;
            mine && matches!(a.job, Job::Store { .. }) && a.group < groups[lane].saturating_sub(left)
        };
        for mut agent in peers.agents.take_all(due) {
            if reads {
                read_source(core, peers, &mut agent);
                peers.agents.pending.push(agent);
            } else {
                complete(core, peers, agent);
            }
        }
        for mut e in std::mem::take(&mut peers.agents.early) {
            let lane = e.lane as usize % LANES;
            let mine = (e.rank, e.warp) == (rank, warp) && active >> lane & 1 == 1;
            if mine && e.group < groups[lane].saturating_sub(left) {
                core.waited(peers, e.source.take(), warp);
                if !reads {
                    core.waited_lines(peers, &std::mem::take(&mut e.lines), (rank, warp));
                }
            }
            if e.source.is_some() || !e.lines.is_empty() {
                peers.agents.early.push(e);
            }
        }
    }

    /// `st.async`, `red.async`: a value and its bytes' count go to a block of the cluster.
    pub(super) fn write_async(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        w: &crate::program::WriteAsync,
        active: u32,
        pc: u32,
    ) {
        for lane in each(active) {
            let who = Actor { warp: self.index, lane: lane as u32, pc };
            let list = core.program.lists.get(w.list as usize..(w.list + u32::from(w.count)) as usize);
            let width = usize::from(w.width);
            let mut data = vec![];
            for register in list.unwrap_or_default() {
                let value = match width {
                    8 => self.registers.r64[*register as usize][lane],
                    _ => self.registers.r32[*register as usize][lane].into(),
                };
                data.extend_from_slice(&value.to_le_bytes()[..width]);
            }
            let bytes = data.len() as u32;
            let Some((rank, to)) = self.shared_place(core, peers, w.to, who, bytes, bytes) else { continue };
            let Some(counter) = self.counter(core, peers, w.barrier, who, lane) else { continue };
            if counter.rank != rank {
                let detail =
                    format!("the value goes to block {rank} of the cluster, its barrier is block {}'s", counter.rank);
                core.report_threads(peers, who.warp, FindingKind::Cluster, pc, 1 << lane, detail);
                continue;
            }
            if w.combine.is_none() {
                peers.blocks_mut()[rank].lands(to, bytes, pc);
            }
            let job = Job::Write { data, to, combine: w.combine, counter };
            let rank = peers.rank();
            let group = self.bulk_groups[lane];
            let (marks, source, lines) = if core.races { mark(core, peers, who, &job) } else { Default::default() };
            let (warp, lane) = (self.index, lane as u32);
            peers.agents.pending.push(Agent { rank, warp, lane, pc, group, job, marks, source, lines });
        }
    }

    fn address_of(&self, a: Address, lane: usize) -> u64 {
        addresses(&self.registers, a.plane, a.wide, a.offset)[lane]
    }

    /// What a lane asks for, or a report that it can not be.
    fn job(&self, core: &mut Core<'_>, peers: &mut Peers, b: &Bulk, who: Actor, lane: usize) -> Option<Job> {
        match b.kind {
            BulkKind::Load => {
                let from = self.boxes(core, peers, b, who, lane)?;
                let align = if b.tensor { 128 } else { 16 };
                let (rank, to) = self.shared_place(core, peers, b.shared, who, from.bytes(), align)?;
                let counter = self.counter(core, peers, b.barrier, who, lane)?;
                let counters = if b.mask == NONE {
                    vec![Counter { rank: counter.rank, ..counter }]
                } else {
                    let mask = self.registers.r32[b.mask as usize][lane] & 0xffff;
                    self.multicast(core, peers, mask, counter, who)?
                };
                if b.mask == NONE && counter.rank != rank {
                    let detail = format!(
                        "the copy goes to block {rank} of the cluster, its barrier is block {}'s",
                        counter.rank
                    );
                    core.report_threads(peers, who.warp, FindingKind::Cluster, who.pc, 1 << lane, detail);
                    return None;
                }
                Some(Job::Load { from, to, counters })
            }
            BulkKind::Store(combine) => {
                let to = self.boxes(core, peers, b, who, lane)?;
                let align = if b.tensor { 128 } else { 16 };
                let (_, from) = self.shared_place(core, peers, b.shared, who, to.bytes(), align)?;
                let combine = match (combine, &to) {
                    (Some((op, _)), Boxes::Tensor { map, .. }) => {
                        let Some(combine) = combination(op, map.dtype) else {
                            let detail = format!("no such reduction of elements of type {}", map.dtype.name());
                            core.report_threads(peers, who.warp, FindingKind::TensorMap, who.pc, 1 << lane, detail);
                            return None;
                        };
                        Some(combine)
                    }
                    (combine, _) => combine,
                };
                Some(Job::Store { from, to, combine, data: None })
            }
            BulkKind::Send(combine) => {
                let bytes = self.size(core, peers, b, who, lane)?;
                let (_, from) = self.shared_place(core, peers, b.shared, who, bytes, 16)?;
                let (rank, to) = self.shared_place(core, peers, b.global, who, bytes, 16)?;
                let counter = self.counter(core, peers, b.barrier, who, lane)?;
                if counter.rank != rank {
                    let detail = format!(
                        "the copy goes to block {rank} of the cluster, its barrier is block {}'s",
                        counter.rank
                    );
                    core.report_threads(peers, who.warp, FindingKind::Cluster, who.pc, 1 << lane, detail);
                    return None;
                }
                if combine.is_none() {
                    peers.blocks_mut()[rank].lands(to, bytes, who.pc);
                }
                Some(Job::Send { from, bytes, to, combine, counter: Counter { rank, ..counter } })
            }
        }
    }

    /// The same barrier in every block that a mask names.
    fn multicast(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        mask: u32,
        counter: Counter,
        who: Actor,
    ) -> Option<Vec<Counter>> {
        if mask == 0 || mask >> peers.blocks().len() != 0 {
            let detail = format!("the multicast mask {mask:#x}, in a cluster of {} blocks", peers.blocks().len());
            core.report_threads(peers, who.warp, FindingKind::Cluster, who.pc, 1 << who.lane, detail);
            return None;
        }
        let mut counters = vec![];
        for rank in each(mask) {
            let phase = core.counting(peers, (rank, counter.offset), who)?;
            counters.push(Counter { rank, offset: counter.offset, phase });
        }
        Some(counters)
    }

    /// The barrier that a copy counts its bytes at.
    fn counter(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        barrier: Address,
        who: Actor,
        lane: usize,
    ) -> Option<Counter> {
        let (rank, offset) = core.place(peers, Space::Shared, strip(self.address_of(barrier, lane)), who)?;
        let phase = core.counting(peers, (rank, offset), who)?;
        Some(Counter { rank, offset, phase })
    }

    /// A stretch of shared memory of some block, or a report that it is none.
    fn shared_place(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        a: Address,
        who: Actor,
        bytes: u32,
        align: u32,
    ) -> Option<(usize, u32)> {
        let address = strip(self.address_of(a, who.lane as usize));
        let size = |rank: usize| peers.blocks()[rank].shared.len() as u64;
        let fits = |(rank, offset): &(usize, u32)| {
            *offset >= SHARED_BASE && u64::from(*offset) + u64::from(bytes) <= size(*rank)
        };
        let Some((rank, offset)) = peers.locate(address).filter(fits) else {
            report(core, peers, who, Space::Shared, address, bytes as usize, FindingKind::OutOfBounds);
            return None;
        };
        if !offset.is_multiple_of(align.max(1)) {
            report(core, peers, who, Space::Shared, offset.into(), align as usize, FindingKind::Misaligned);
            return None;
        }
        if peers.blocks()[rank].live == 0 {
            let detail = format!("block {rank} of the cluster has exited");
            core.report_threads(peers, who.warp, FindingKind::PeerExited, who.pc, 1 << who.lane, detail);
            return None;
        }
        Some((rank, offset))
    }

    /// The size of a copy that is no tensor's.
    fn size(&self, core: &mut Core<'_>, peers: &Peers, b: &Bulk, who: Actor, lane: usize) -> Option<u32> {
        let bytes = self.registers.r32[b.size as usize][lane];
        if bytes == 0 || !bytes.is_multiple_of(16) {
            let detail = format!("{bytes} bytes; a bulk copy moves a multiple of 16");
            core.report_threads(peers, who.warp, FindingKind::TensorMap, who.pc, 1 << lane, detail);
            return None;
        }
        Some(bytes)
    }

    /// The global side of a copy.
    fn boxes(&self, core: &mut Core<'_>, peers: &mut Peers, b: &Bulk, who: Actor, lane: usize) -> Option<Boxes> {
        let address = self.address_of(b.global, lane);
        if !b.tensor {
            let bytes = self.size(core, peers, b, who, lane)?;
            let inside = core.memory.find(address).filter(|a| u64::from(bytes) <= a.end() - address);
            if inside.is_none() {
                report(core, peers, who, Space::Global, address, bytes as usize, FindingKind::OutOfBounds);
                return None;
            }
            if !address.is_multiple_of(16) {
                report(core, peers, who, Space::Global, address, 16, FindingKind::Misaligned);
                return None;
            }
            return Some(Boxes::Line { address, bytes });
        }
        let coordinates = core.program.lists.get(b.list as usize..(b.list + u32::from(b.rank)) as usize);
        let mut at = [0i32; 5];
        for (to, plane) in at.iter_mut().zip(coordinates.unwrap_or_default()) {
            *to = self.registers.r32[*plane as usize][lane] as i32;
        }
        let (name, record) = record(core, address);
        let problem = match record.as_deref().map(TensorMap::decode) {
            Some(Ok(map)) if map.rank == usize::from(b.rank) => {
                core.check_map(peers, address, who);
                return Some(Boxes::Tensor { map: Box::new(map), at });
            }
            Some(Ok(map)) => format!("a tensor of rank {}, copied as one of rank {}", map.rank, b.rank),
            Some(Err(error)) => error.to_string(),
            None => "nothing is there".into(),
        };
        let detail = format!("{name}: {problem}");
        core.report_threads(peers, who.warp, FindingKind::TensorMap, who.pc, 1 << lane, detail);
        None
    }
}

/// Notes what a copy touches from now on.
fn mark(core: &mut Core<'_>, peers: &mut Peers, who: Actor, job: &Job) -> (Vec<Mark>, Option<Mark>, Vec<LineMark>) {
    let landing = |core: &mut Core<'_>, peers: &mut Peers, to, counter: &Counter, combine: Option<Combine>| {
        let combines = combine.map(|(_, ty)| ty.bytes() as u8);
        core.mark_landing(peers, who, counter.rank, to, (counter.offset, combines))
    };
    match job {
        Job::Load { from, to, counters } => {
            from.rows(|row| {
                let address = row.global.wrapping_add(row.inside.start as u64);
                core.note_bulk_line(peers, who, address, row.inside.len());
                true
            });
            (counters.iter().filter_map(|c| landing(core, peers, (*to, from.bytes()), c, None)).collect(), None, vec![])
        }
        Job::Send { from, bytes, to, counter, combine } => {
            let source = core.mark_source(peers, who, *from, *bytes);
            (landing(core, peers, (*to, *bytes), counter, *combine).into_iter().collect(), source, vec![])
        }
        Job::Store { from, to, combine, .. } => {
            let combines = combine.map(|(_, ty)| ty.bytes() as u8);
            let mut lines = vec![];
            to.rows(|row| {
                let address = row.global.wrapping_add(row.inside.start as u64);
                core.mark_line(peers, who, (address, row.inside.len()), combines, &mut lines);
                true
            });
            (vec![], core.mark_source(peers, who, *from, to.bytes()), lines)
        }
        Job::Write { data, to, counter, combine } => {
            (landing(core, peers, (*to, data.len() as u32), counter, *combine).into_iter().collect(), None, vec![])
        }
    }
}

/// A reduction with the type that a tensor map gives its elements.
fn combination(op: AtomicOp, dtype: DType) -> Option<Combine> {
    let bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
    let ty = match dtype {
        DType::U32 => AtomicType::U32,
        DType::I32 => AtomicType::S32,
        DType::U64 => AtomicType::U64,
        DType::I64 => AtomicType::S64,
        DType::F32 if op == AtomicOp::Add => AtomicType::F32,
        DType::F64 if op == AtomicOp::Add => AtomicType::F64,
        DType::F16 if matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max) => AtomicType::F16,
        DType::BF16 if matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max) => AtomicType::BF16,
        _ => return None,
    };
    (!bits || !dtype.is_float()).then_some((op, ty))
}

/// A generic or shared address as one of shared memory.
fn strip(address: u64) -> u64 {
    if address >= SHARED_WINDOW && address - SHARED_WINDOW < crate::memory::WINDOW {
        address - SHARED_WINDOW
    } else {
        address
    }
}

/// The 128 bytes that an address of a tensor map leads to, with what they are called. Small addresses are those of
/// parameters that `mov` took and no `cvta` made generic.
fn record(core: &Core<'_>, address: u64) -> (String, Option<Vec<u8>>) {
    let offset = address.checked_sub(PARAM_WINDOW).unwrap_or(address);
    if offset < core.parameters.len() as u64 {
        let at = offset as usize;
        let parameter = core.program.parameters.iter().find(|p| (p.offset..p.offset + p.bytes).contains(&(at as u32)));
        let name = parameter.map_or_else(|| format!("parameter offset {at}"), |p| format!("parameter `{}`", p.name));
        let end = (at + TensorMap::BYTES).min(core.parameters.len());
        return (name, Some((at..end).map(|i| core.parameters.get(i, 1) as u8).collect()));
    }
    let mut bytes = vec![0; TensorMap::BYTES];
    let found = core.memory.copy_out(address, &mut bytes);
    (format!("address {address:#x}"), found.map(|_| bytes))
}
