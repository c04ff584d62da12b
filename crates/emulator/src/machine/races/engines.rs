//! Copies and products that go on beside the threads: what they touch is under way until it is waited for.

use super::access::{Race, add};
use super::order::Judge;
use crate::finding::{AccessKind, Storage};
use crate::machine::arrive::Actor;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::memory::{Group, PAGE, Stretch, Touch};
use std::sync::PoisonError;

/// An access that is under way: a block of the cluster, and the number of the access in its shared memory's history.
pub(crate) type Mark = (usize, u32);

const WRITES: Touch = Touch { writes: true, strong: None, constant: false, asynchronous: true };
const READS: Touch = Touch { writes: false, strong: None, constant: false, asynchronous: true };

impl Core<'_> {
    /// A copy to shared memory of a block starts, counted at a barrier of it.
    pub(crate) fn mark_landing(
        &mut self,
        peers: &mut Peers,
        who: Actor,
        rank: usize,
        (offset, bytes): (u32, u32),
        barrier: u32,
    ) -> Option<Mark> {
        let block = peers.blocks().get(rank)?.number;
        let races = peers.blocks_mut().get_mut(rank)?.races.as_mut()?;
        races.copies = true;
        let (warp, lane) = races.channel(barrier);
        let group = Group {
            block,
            warp,
            warps: 1,
            bytes: 16,
            tick: Group::PENDING,
            pc: who.pc,
            touch: WRITES,
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
        let parties = self.parties;
        let mut races: Vec<Race> = vec![];
        let number = peers.with_shadow(rank, |clocks, shadow| {
            let clock = clocks.get(who.warp as usize)?;
            let judge =
                Judge { clock, by: Some(who.lane), touch: group.touch, bytes: 16, value: 0, parties };
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
    pub(crate) fn landed(&mut self, peers: &mut Peers, mark: Option<Mark>, barrier: u32) {
        let Some((rank, number)) = mark else { return };
        let Some(block) = peers.blocks_mut().get_mut(rank) else { return };
        let at = block.number;
        if let Some(races) = block.races.as_mut() {
            let tick = races.channel_done(barrier, at);
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

    /// A copy reads or writes global memory, for the lane that started it.
    pub(crate) fn note_line(&mut self, peers: &mut Peers, who: Actor, address: u64, bytes: usize, writes: bool) {
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)) else { return };
        let touch = if writes { WRITES } else { READS };
        let judge = Judge { clock, by: Some(who.lane), touch, bytes: 16, value: 0, parties: self.parties };
        let (block, warp) = (clock.block, clock.warp);
        let group =
            Group { block, warp, warps: 1, bytes: 16, tick: clock.tick, pc: who.pc, touch, lands: false, value: 0 };
        let mut races: Vec<Race> = vec![];
        let Some(allocation) = self.memory.find(address) else { return };
        let (mut at, mut done) = (address - allocation.base, 0);
        while done < bytes {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(bytes - done);
            if let Some(page) = allocation.page(at) {
                let mut shadow = page.shadow.lock().unwrap_or_else(PoisonError::into_inner);
                shadow.prepare(PAGE, self.launch);
                let start = allocation.base + at - inside as u64;
                let number = shadow.group(group);
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

    fn report_engine(&mut self, peers: &mut Peers, who: Actor, storage: Storage, touch: Touch, races: &[Race]) {
        for race in races {
            self.report_race_of(peers, (who.warp, who.pc, AccessKind::Copy, 16, touch), storage, race);
        }
    }
}
