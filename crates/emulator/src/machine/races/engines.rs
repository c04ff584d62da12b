//! Copies and products that go on beside the threads: what they touch is under way until it is waited for.

use super::access::{Race, add};
use super::order::Judge;
use crate::finding::{AccessKind, Storage};
use crate::machine::arrive::Actor;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::memory::{Group, PAGE, Stretch, Touch};
use crate::program::Scope;
use std::sync::PoisonError;

/// An access that is under way: a block of the cluster, and the number of the access in its shared memory's history.
pub(crate) type Mark = (usize, u32);

/// The same in global memory: where a page starts, and the number in its history.
pub(crate) type LineMark = (u64, u32);

const WRITES: Touch = Touch { writes: true, strong: None, constant: false, asynchronous: true };
pub(super) const READS: Touch = Touch { writes: false, strong: None, constant: false, asynchronous: true };

impl Core<'_> {
    /// A copy to shared memory of a block starts, counted at a barrier of it. `combines` is the size of its elements, when
    /// it combines them with what is there: such copies may meet.
    pub(crate) fn mark_landing(
        &mut self,
        peers: &mut Peers,
        who: Actor,
        rank: usize,
        (offset, bytes): (u32, u32),
        (barrier, combines): (u32, Option<u8>),
    ) -> Option<Mark> {
        let block = peers.blocks().get(rank)?.number;
        let races = peers.blocks_mut().get_mut(rank)?.races.as_mut()?;
        races.copies = true;
        let (warp, lane) = races.channel(barrier);
        let group = Group {
            block,
            warp,
            warps: 1,
            bytes: combines.unwrap_or(16),
            tick: Group::PENDING,
            pc: who.pc,
            touch: Touch { strong: combines.map(|_| Scope::Cluster), ..WRITES },
            lands: true,
            value: 0,
        };
        self.mark(peers, who, rank, group, &[Stretch { offset, bytes, lane, stride: 0 }])
    }

    /// A copy from the block's own shared memory starts.
    pub(crate) fn mark_source(&mut self, peers: &mut Peers, who: Actor, offset: u32, bytes: u32) -> Option<Mark> {
        let rank = peers.rank();
        let (block, warp) = (peers.number, who.warp as u16);
        peers.races.as_mut()?.copies = true;
        let group = Group {
            block,
            warp,
            warps: 1,
            bytes: 16,
            tick: Group::PENDING,
            pc: who.pc,
            touch: READS,
            lands: false,
            value: 0,
        };
        self.mark(peers, who, rank, group, &[Stretch { offset, bytes, lane: who.lane, stride: 0 }])
    }

    /// A copy of `cp.async` starts: the lane's own write, at the time of its wait.
    pub(crate) fn mark_copy(&mut self, peers: &mut Peers, who: Actor, offset: u32, bytes: u32) -> Option<Mark> {
        let rank = peers.rank();
        let (block, warp) = (peers.number, who.warp as u16);
        let group = Group {
            block,
            warp,
            warps: 1,
            bytes: 16,
            tick: Group::PENDING,
            pc: who.pc,
            touch: WRITES,
            lands: false,
            value: 0,
        };
        self.mark(peers, who, rank, group, &[Stretch { offset, bytes, lane: who.lane, stride: 0 }])
    }

    /// A product of a warpgroup reads these stretches.
    pub(crate) fn note_product(&mut self, peers: &mut Peers, who: Actor, stretches: &[Stretch]) {
        let rank = peers.rank();
        let Some(tick) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)).map(|w| w.tick) else {
            return;
        };
        let (block, warp) = (peers.number, who.warp as u16);
        let group = Group { block, warp, warps: 4, bytes: 16, tick, pc: who.pc, touch: READS, lands: false, value: 0 };
        self.mark(peers, who, rank, group, stretches);
    }

    fn mark(
        &mut self,
        peers: &mut Peers,
        who: Actor,
        rank: usize,
        group: Group,
        stretches: &[Stretch],
    ) -> Option<Mark> {
        self.check_started(peers, rank, who.warp, who.lane, who.pc);
        let parties = self.parties;
        let mut races: Vec<Race> = vec![];
        let start = stretches.iter().map(|s| s.offset).min()?;
        let end = stretches.iter().map(|s| s.offset + s.bytes).max()?;
        let number = peers.with_shadow(rank, start..end, |clocks, shadow| {
            let clock = clocks.get(who.warp as usize)?;
            let judge = Judge { clock, by: Some(who.lane), touch: group.touch, bytes: group.bytes, value: 0, parties };
            let number = shadow.group(group);
            for stretch in stretches {
                shadow.touch(number, *stretch, &mut |g, a, b| judge.order(g, a, b), &mut |g, a, _, byte| {
                    add(&mut races, g, a, who.lane, byte.into());
                });
            }
            Some(number)
        })??;
        self.report_engine(peers, who, Storage::Shared, group.touch, &races);
        Some((rank, number))
    }

    /// A copy has landed: whoever sees the barrier's phase end knows of it.
    pub(crate) fn landed(&mut self, peers: &mut Peers, (rank, number): Mark, barrier: u32, pc: u32) {
        let starter = (peers.rank() != rank).then_some((peers.number, pc));
        let Some(block) = peers.blocks_mut().get_mut(rank) else { return };
        let at = block.number;
        if let Some(races) = block.races.as_mut() {
            let tick = races.channel_done(barrier, at, starter);
            races.shadow.complete(number, tick);
        }
    }

    /// A thread has waited for what it started.
    pub(crate) fn waited(&mut self, peers: &mut Peers, mark: Option<Mark>, warp: u32) {
        let Some((rank, number)) = mark else { return };
        if let Some(races) = peers.blocks_mut().get_mut(rank).and_then(|b| b.races.as_mut())
            && let Some(tick) = races.warps.get(warp as usize).map(|w| w.tick)
        {
            races.shadow.complete(number, tick);
        }
    }

    /// A copy of `cp.async` reads global memory, for the lane that started it.
    pub(crate) fn note_line(&mut self, peers: &mut Peers, who: Actor, address: u64, bytes: usize) {
        let Some(tick) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)).map(|w| w.tick) else {
            return;
        };
        self.note_lines(peers, who, (address, bytes), (READS, 16, tick), &mut vec![]);
    }

    /// A bulk copy does, through the async proxy.
    pub(crate) fn note_bulk_line(&mut self, peers: &mut Peers, who: Actor, address: u64, bytes: usize) {
        self.note_line(peers, who, address, bytes);
        if self.proxies {
            self.check_proxy(peers, who, address, bytes);
        }
    }

    /// A copy to global memory starts: the lane's own write, at the time of its wait. `combines` is the size of its
    /// elements, when it combines them with what is there.
    pub(crate) fn mark_line(
        &mut self,
        peers: &mut Peers,
        who: Actor,
        line: (u64, usize),
        combines: Option<u8>,
        marks: &mut Vec<LineMark>,
    ) {
        let touch = Touch { strong: combines.map(|_| Scope::Gpu), ..WRITES };
        self.note_lines(peers, who, line, (touch, combines.unwrap_or(16), Group::PENDING), marks);
    }

    /// Notes what an engine does to a line of global memory, with a mark for each of its pages that has none yet.
    fn note_lines(
        &mut self,
        peers: &mut Peers,
        who: Actor,
        (address, bytes): (u64, usize),
        (touch, size, tick): (Touch, u8, u32),
        marks: &mut Vec<LineMark>,
    ) {
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)) else { return };
        let judge = Judge { clock, by: Some(who.lane), touch, bytes: size, value: 0, parties: self.parties };
        let (block, warp) = (clock.block, clock.warp);
        let value = if touch.writes { clock.tick.into() } else { 0 };
        let group = Group { block, warp, warps: 1, bytes: size, tick, pc: who.pc, touch, lands: false, value };
        let mut races: Vec<Race> = vec![];
        let Some(allocation) = self.memory.find(address) else { return };
        let (mut at, mut done) = (address - allocation.base, 0);
        while done < bytes {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(bytes - done);
            let page = if touch.writes { allocation.page_or_new(at) } else { allocation.page(at) };
            if let Some(page) = page {
                let mut shadow = page.shadow.lock().unwrap_or_else(PoisonError::into_inner);
                shadow.prepare(PAGE, self.launch);
                let start = allocation.base + at - inside as u64;
                let number = match marks.iter().rev().find(|m| m.0 == start) {
                    Some((_, number)) => *number,
                    None => {
                        let number = shadow.group(group);
                        marks.push((start, number));
                        number
                    }
                };
                let stretch = Stretch { offset: inside as u32, bytes: n as u32, lane: who.lane, stride: 0 };
                shadow.touch(number, stretch, &mut |g, a, b| judge.order(g, a, b), &mut |g, a, _, byte| {
                    add(&mut races, g, a, who.lane, start + u64::from(byte));
                });
            }
            at += n as u64;
            done += n;
        }
        self.report_engine(peers, who, Storage::Global, touch, &races);
    }

    /// What a thread of a block wrote to global memory by copies is done, as of now.
    pub(crate) fn waited_lines(&mut self, peers: &Peers, lines: &[LineMark], (rank, warp): (usize, u32)) {
        let races = peers.blocks().get(rank).and_then(|b| b.races.as_ref());
        let Some(tick) = races.and_then(|r| r.warps.get(warp as usize)).map(|w| w.tick) else { return };
        for (start, number) in lines {
            let Some(allocation) = self.memory.find(*start) else { continue };
            if let Some(page) = allocation.page(start - allocation.base) {
                page.shadow.lock().unwrap_or_else(PoisonError::into_inner).complete(*number, tick);
            }
        }
    }

    fn report_engine(&mut self, peers: &mut Peers, who: Actor, storage: Storage, touch: Touch, races: &[Race]) {
        for race in races {
            self.report_race_of(peers, (who.warp, who.pc, AccessKind::Copy, 16, touch), storage, race);
        }
    }
}
