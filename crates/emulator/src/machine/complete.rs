//! The completion of agents: bytes move, and are counted.

use super::agents::{Agent, Combine, Counter, Early, Job};
use super::arrive::Actor;
use super::atomic::apply;
use super::boxes::{Boxes, LONGEST};
use super::cell::Request;
use super::core::Core;
use super::mbarrier::plural;
use super::peers::Peers;
use crate::finding::{AccessKind, FindingKind, MbarrierFault, Storage};
use crate::program::Space;

/// Completes an agent.
pub(super) fn complete(core: &mut Core<'_>, peers: &mut Peers, agent: Agent) {
    core.ended = core.now();
    let acting = peers.rank();
    peers.turn_to(agent.rank);
    let who = Actor { warp: agent.warp, lane: agent.lane, pc: agent.pc };
    match (&agent.job, agent.source) {
        (Job::Store { .. }, source) => {
            let Agent { rank, warp, lane, group, .. } = agent;
            peers.agents.early.push(Early { rank, warp, lane, group, source, lines: agent.lines });
        }
        (_, source) => core.waited(peers, source, agent.warp),
    }
    for mark in &agent.marks {
        let counter = match &agent.job {
            Job::Load { counters, .. } => counters.iter().find(|c| c.rank == mark.0).map(|c| c.offset),
            Job::Send { counter, .. } | Job::Write { counter, .. } => Some(counter.offset),
            Job::Store { .. } => None,
        };
        core.landed(peers, *mark, counter.unwrap_or_default(), agent.pc);
    }
    match agent.job {
        Job::Load { from, to, counters } => load(core, peers, who, &from, to, &counters),
        Job::Store { from, to, combine, data } => {
            let data = data.unwrap_or_else(|| read(core, peers, who, from, &to));
            write(core, peers, who, &to, &data, combine);
        }
        Job::Send { from, bytes, to, combine, counter } => {
            let mut data = vec![0; bytes as usize];
            let written = peers.shared.copy_out(from as usize, &mut data);
            let unfenced =
                (from..from + bytes).step_by(16).find_map(|at| Some((at, peers.shared.unfenced_by(at as usize)?)));
            if let Some((place, writer)) = unfenced {
                core.report_unfenced(peers, who.warp, (who.pc, who.lane), AccessKind::Copy, place, writer);
            }
            if !written {
                report(core, peers, who, Space::Shared, from.into(), bytes as usize, uninitialised());
            }
            land(core, peers, who, &data, to, combine, counter);
        }
        Job::Write { data, to, combine, counter } => land(core, peers, who, &data, to, combine, counter),
    }
    peers.turn_to(acting);
}

/// Reads what a store copies, once nobody may change it any more: `wait_group.read`.
pub(super) fn read_source(core: &mut Core<'_>, peers: &mut Peers, agent: &mut Agent) {
    let who = Actor { warp: agent.warp, lane: agent.lane, pc: agent.pc };
    let acting = peers.rank();
    peers.turn_to(agent.rank);
    core.waited(peers, agent.source.take(), agent.warp);
    if let Job::Store { from, to, data, .. } = &mut agent.job
        && data.is_none()
    {
        *data = Some(read(core, peers, who, *from, to));
    }
    peers.turn_to(acting);
}

fn uninitialised() -> FindingKind {
    FindingKind::UninitializedRead(Storage::Shared)
}

/// Reports a bad stretch of memory of a copy.
pub(super) fn report(
    core: &mut Core<'_>,
    peers: &Peers,
    who: Actor,
    space: Space,
    address: u64,
    bytes: usize,
    kind: FindingKind,
) {
    let storage = if space == Space::Shared { Storage::Shared } else { Storage::Global };
    let request = Request { kind: AccessKind::Copy, space, address, bytes, lane: who.lane as usize & 31, pc: who.pc };
    core.report_access(peers, who.warp, &request, storage, kind);
}

fn load(core: &mut Core<'_>, peers: &mut Peers, who: Actor, from: &Boxes, to: u32, counters: &[Counter]) {
    let mut buffer = [0u8; LONGEST];
    let swizzle = from.swizzle();
    from.rows(|row| {
        let data = &mut buffer[..row.bytes];
        from.fill(data);
        let mut written = true;
        if !row.inside.is_empty() {
            let address = row.global.wrapping_add(row.inside.start as u64);
            let inside = &mut data[row.inside.clone()];
            match core.memory.copy_out(address, inside) {
                Some(all) => written = all,
                None => {
                    report(core, peers, who, Space::Global, address, inside.len(), FindingKind::OutOfBounds);
                    written = false;
                }
            }
        }
        for counter in counters {
            let block = &mut peers.blocks_mut()[counter.rank];
            let mut at = to + row.shared;
            for chunk in data.chunks(16) {
                block.shared.copy_in(swizzle.apply(at) as usize, chunk, written);
                at += chunk.len() as u32;
            }
        }
        true
    });
    for counter in counters {
        if let Some(block) = peers.blocks_mut().get_mut(counter.rank) {
            block.landed(to, from.bytes(), who.pc);
        }
        count(core, peers, who, *counter, from.bytes());
    }
}

/// Counts bytes at a barrier.
fn count(core: &mut Core<'_>, peers: &mut Peers, who: Actor, counter: Counter, bytes: u32) {
    let at = (counter.rank, counter.offset);
    let mut now = counter.phase;
    let counted = core.with_mbarrier(peers, at, who, |b| {
        now = b.phase;
        b.complete(bytes)
    });
    if counted.is_some() && now != counter.phase {
        let detail = format!(
            "{}: {} of a copy that started in phase {} come in phase {now}; phase {} expected fewer bytes than were copied",
            core.shared_name(counter.offset),
            plural(bytes.into(), "byte"),
            counter.phase,
            counter.phase
        );
        core.report_mbarrier(peers, who, MbarrierFault::Bytes, detail);
    }
}

/// Bytes come to a block of the cluster.
fn land(
    core: &mut Core<'_>,
    peers: &mut Peers,
    who: Actor,
    data: &[u8],
    to: u32,
    combine: Option<Combine>,
    counter: Counter,
) {
    let Some(block) = peers.blocks_mut().get_mut(counter.rank) else { return };
    if block.live > 0 {
        match combine {
            None => block.shared.copy_in(to as usize, data, true),
            Some((op, ty)) => {
                let mut all = true;
                for (i, element) in data.chunks_exact(ty.bytes()).enumerate() {
                    let at = to as usize + i * ty.bytes();
                    all &= block.shared.written(at, ty.bytes());
                    let old = block.shared.get(at, ty.bytes());
                    block.shared.set(at, ty.bytes(), apply(op, ty, old, value(element), 0));
                }
                if !all {
                    report(core, peers, who, Space::Shared, to.into(), data.len(), uninitialised());
                }
            }
        }
    }
    if let Some(block) = peers.blocks_mut().get_mut(counter.rank) {
        block.landed(to, data.len() as u32, who.pc);
    }
    count(core, peers, who, counter, data.len() as u32);
}

fn value(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b))
}

/// What a store copies from shared memory, row after row.
fn read(core: &mut Core<'_>, peers: &mut Peers, who: Actor, from: u32, to: &Boxes) -> Vec<u8> {
    let mut data = vec![0; to.bytes() as usize];
    let swizzle = to.swizzle();
    let (mut unwritten, mut unfenced) = (None, None);
    let mut at = from;
    for chunk in data.chunks_mut(16) {
        let place = swizzle.apply(at);
        if !peers.shared.copy_out(place as usize, chunk) {
            unwritten = unwritten.or(Some(place));
        }
        unfenced = unfenced.or_else(|| Some((place, peers.shared.unfenced_by(place as usize)?)));
        at += chunk.len() as u32;
    }
    if let Some(place) = unwritten {
        report(core, peers, who, Space::Shared, place.into(), 16, uninitialised());
    }
    if let Some((place, writer)) = unfenced {
        core.report_unfenced(peers, who.warp, (who.pc, who.lane), AccessKind::Copy, place, writer);
    }
    data
}

/// Writes what was read to global memory.
fn write(core: &mut Core<'_>, peers: &mut Peers, who: Actor, to: &Boxes, data: &[u8], combine: Option<Combine>) {
    let alone = core.alone;
    to.rows(|row| {
        if row.inside.is_empty() {
            return true;
        }
        let start = row.shared as usize;
        let Some(data) = data.get(start + row.inside.start..start + row.inside.end) else { return false };
        let address = row.global.wrapping_add(row.inside.start as u64);
        let mut combined = [0; LONGEST];
        let data = match combine {
            None => data,
            Some((op, ty)) => {
                let old = &mut combined[..data.len()];
                let written = core.memory.copy_out(address, old);
                if written == Some(false) {
                    let kind = FindingKind::UninitializedRead(Storage::Global);
                    report(core, peers, who, Space::Global, address, data.len(), kind);
                }
                for (old, new) in old.chunks_exact_mut(ty.bytes()).zip(data.chunks_exact(ty.bytes())) {
                    let result = apply(op, ty, value(old), value(new), 0).to_le_bytes();
                    old.copy_from_slice(&result[..ty.bytes()]);
                }
                &*old
            }
        };
        if !core.memory.copy_in(address, data, alone) {
            report(core, peers, who, Space::Global, address, data.len(), FindingKind::OutOfBounds);
        }
        true
    });
}
