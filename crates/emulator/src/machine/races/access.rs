//! Accesses of threads: noted, judged, told of.

use super::block::BlockRaces;
use super::clock::Clock;
use super::flags::Signal;
use super::order::Judge;
use super::parties::Parties;
use super::threads::{Hint, Poll, WarpClock, Why};
use super::words::Words;
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::lanes::{LANES, each};
use crate::machine::arrive::Actor;
use crate::machine::cell::resolve;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::memory::{Group, PAGE, SHARED_BASE, Shadow, Stretch, Touch};
use crate::program::{MbarrierOp, Scope, Semantics, Space};

/// What an instruction of a warp does to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed<'a> {
    pub warp: u32,
    pub mask: u32,
    pub pc: u32,
    pub kind: AccessKind,
    pub space: Space,
    pub addresses: &'a [u64; LANES],
    /// Bytes of each lane.
    pub bytes: u32,
    pub touch: Touch,
    /// For strong accesses.
    pub order: Semantics,
    /// Lanes of the warp that have not exited.
    pub live: u32,
    /// For ordinary stores, a hash of what the lanes store and where; else 0.
    pub value: u64,
}

/// A race: the earlier access, both lanes, and where.
pub(crate) type Race = (Group, u32, u32, u64);

/// Races of one instruction that are looked at.
const MOST: usize = 64;

/// Adds a race, unless the lane has one with the same instruction already.
pub(super) fn add(races: &mut Vec<Race>, group: &Group, old: u32, new: u32, at: u64) {
    let known = |(g, _, lane, _): &Race| *lane == new && g.pc == group.pc && g.touch == group.touch;
    if races.len() < MOST && !races.iter().any(known) {
        races.push((*group, old, new, at));
    }
}

impl Deed<'_> {
    pub(super) fn judge<'c>(&self, clock: &'c WarpClock, parties: Parties<'c>) -> Judge<'c> {
        Judge { clock, by: None, touch: self.touch, bytes: self.bytes as u8, value: self.value, parties }
    }
}

impl Core<'_> {
    /// Whether lanes read a flag once more that has not changed: nothing about it is new.
    pub(crate) fn polls_again(&self, peers: &mut Peers, d: &Deed<'_>) -> bool {
        let Some(clock) = peers.races.as_mut().and_then(|r| r.warps.get_mut(d.warp as usize)) else { return false };
        let address = d.addresses[d.mask.trailing_zeros() as usize % LANES];
        let uniform = each(d.mask).all(|lane| d.addresses[lane] == address);
        uniform && clock.polls_again(Poll { pc: d.pc, mask: d.mask, address, tick: 0 }, self.signals)
    }

    /// Notes an access of some lanes, and tells of races.
    pub(crate) fn note(&mut self, peers: &mut Peers, d: &Deed<'_>) {
        for (storage, race) in self.races_of(peers, d) {
            self.report_race(peers, d, storage, &race);
        }
    }

    /// Notes an access of some lanes, and gives its races.
    pub(crate) fn races_of(&mut self, peers: &mut Peers, d: &Deed<'_>) -> Vec<(Storage, Race)> {
        let words = self.blank.simd.run(
            #[inline(always)]
            || Words::of(d),
        );
        self.races_of_words(peers, d, words)
    }

    /// The same, where it is known how the lanes' words lie.
    pub(crate) fn races_of_words(
        &mut self,
        peers: &mut Peers,
        d: &Deed<'_>,
        words: Option<Words>,
    ) -> Vec<(Storage, Race)> {
        let mut races = vec![];
        if let Some(words) = &words {
            if self.note_own_shared(peers, d, words, &mut races) {
                return races.into_iter().map(|race| (Storage::Shared, race)).collect();
            }
            if self.note_page(peers, d, words, &mut races) {
                return races.into_iter().map(|race| (Storage::Global, race)).collect();
            }
        }
        let mut lanes = d.mask;
        let in_a_row = words.is_some_and(|w| w.in_a_row);
        let mut storage = Storage::Global;
        // Lanes whose bytes follow each other are one stretch.
        let mut page = (u64::MAX, 0);
        let mut tile = (usize::MAX, 0);
        while lanes != 0 {
            let first = lanes.trailing_zeros() as usize;
            let mut count = if in_a_row { LANES } else { 1 };
            while first + count < LANES
                && lanes >> (first + count) & 1 == 1
                && d.addresses[first + count] == d.addresses[first].wrapping_add(count as u64 * u64::from(d.bytes))
            {
                count += 1;
            }
            lanes &= !((((1u64 << count) - 1) << first) as u32);
            let (place, at) = resolve(d.space, d.addresses[first]);
            let stretch = (at, first as u32, count as u32 * d.bytes);
            match place {
                Storage::Global => self.note_global(peers, d, stretch, &mut page, &mut races),
                Storage::Shared => {
                    storage = Storage::Shared;
                    self.note_shared(peers, d, stretch, &mut tile, &mut races);
                }
                _ => {}
            }
        }
        races.into_iter().map(|race| (storage, race)).collect()
    }

    fn note_global(
        &mut self,
        peers: &Peers,
        d: &Deed<'_>,
        (address, lane, bytes): (u64, u32, u32),
        last: &mut (u64, u32),
        races: &mut Vec<Race>,
    ) {
        let Some(races_of) = &peers.races else { return };
        let Some(clock) = races_of.warps.get(d.warp as usize) else { return };
        let judge = d.judge(clock, self.parties);
        let memory = self.memory;
        let mut allocation = memory.get(self.recent);
        if !allocation.is_some_and(|a| address >= a.base && address < a.end()) {
            let Some(index) = memory.index(address) else { return };
            self.recent = index;
            allocation = memory.get(index);
        }
        let Some(allocation) = allocation else { return };
        let (mut at, mut done) = (address - allocation.base, 0);
        while done < bytes {
            let inside = at as usize % PAGE;
            let n = ((PAGE - inside) as u32).min(bytes - done);
            let page = if d.touch.writes { allocation.page_or_new(at) } else { allocation.page(at) };
            if let Some(page) = page
                && let Ok(mut shadow) = page.shadow.lock()
            {
                shadow.prepare(PAGE, self.launch);
                let start = allocation.base + at - inside as u64;
                if last.0 != start {
                    *last = (start, shadow.group(self.group(d, clock.block, clock.tick)));
                }
                let stretch =
                    Stretch { offset: inside as u32, bytes: n, lane: lane + done / d.bytes.max(1), stride: d.bytes };
                shadow.touch(last.1, stretch, &mut |g, a, b| judge.order(g, a, b), &mut |g, a, b, byte| {
                    add(races, g, a, b, start + u64::from(byte));
                });
            }
            at += u64::from(n);
            done += n;
        }
    }

    fn note_shared(
        &mut self,
        peers: &mut Peers,
        d: &Deed<'_>,
        (address, lane, bytes): (u64, u32, u32),
        last: &mut (usize, u32),
        races: &mut Vec<Race>,
    ) {
        let Some((rank, offset)) = peers.locate(address) else { return };
        if offset < SHARED_BASE {
            return;
        }
        self.check_started(peers, rank, d.warp, lane, d.pc);
        let parties = self.parties;
        peers.with_shadow(rank, offset..offset + bytes, |clock, shadow| {
            let Some(clock) = clock.get(d.warp as usize) else { return };
            let judge = d.judge(clock, parties);
            if last.0 != rank {
                *last = (rank, shadow.group(self.group(d, clock.block, clock.tick)));
            }
            let stretch = Stretch { offset, bytes, lane, stride: d.bytes };
            shadow.touch(last.1, stretch, &mut |g, a, b| judge.order(g, a, b), &mut |g, a, b, byte| {
                add(races, g, a, b, byte.into());
            });
        });
    }

    /// Reports a use of another block's shared memory by a lane that does not know whether the block has started.
    pub(super) fn check_started(&mut self, peers: &Peers, rank: usize, warp: u32, lane: u32, pc: u32) {
        if rank == peers.rank() {
            return;
        }
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(warp as usize)) else { return };
        if peers.blocks().get(rank).is_some_and(|b| !clock.known(lane).has_met(b.number)) {
            let detail =
                format!("nothing tells that block {rank} of the cluster has started: no cluster barrier comes before");
            self.report_threads(peers, warp, FindingKind::PeerNotStarted, pc, 1 << (lane & 31), detail);
        }
    }

    pub(super) fn group(&self, d: &Deed<'_>, block: u64, tick: u32) -> Group {
        Group {
            block,
            warp: d.warp as u16,
            warps: 1,
            bytes: d.bytes as u8,
            tick,
            pc: d.pc,
            touch: d.touch,
            lands: false,
            value: d.value,
        }
    }

    /// Strong accesses of some lanes: flags that are read and written.
    pub(crate) fn signal(&mut self, peers: &mut Peers, d: &Deed<'_>, reads: bool) {
        let Some(scope) = d.touch.strong else { return };
        self.signals += u64::from(d.touch.writes);
        let parties = self.parties;
        let live = d.live;
        for lane in each(d.mask) {
            let (storage, address) = resolve(d.space, d.addresses[lane]);
            let mut signal = Signal { address, lane: lane as u32, live, pc: d.pc, order: d.order, scope };
            let acting = peers.rank();
            let rank = match storage {
                Storage::Global => acting,
                Storage::Shared => match peers.locate(address) {
                    Some((rank, offset)) => {
                        signal.address = offset.into();
                        rank
                    }
                    None => continue,
                },
                _ => continue,
            };
            let mut flags = match storage {
                Storage::Global => std::mem::take(&mut self.flags),
                _ => peers.blocks_mut()[rank].races.as_mut().map(|r| std::mem::take(&mut r.flags)).unwrap_or_default(),
            };
            let own = peers.blocks_mut()[acting].races.as_mut();
            if let Some(clock) = own.and_then(|r| r.warps.get_mut(d.warp as usize)) {
                if reads {
                    flags.read(clock, signal, parties);
                }
                if d.touch.writes {
                    flags.write(clock, signal, reads);
                }
            }
            match storage {
                Storage::Global => self.flags = flags,
                _ => {
                    if let Some(r) = peers.blocks_mut()[rank].races.as_mut() {
                        r.flags = flags;
                    }
                }
            }
        }
        if d.touch.writes
            && let Some(clock) = peers.races.as_mut().and_then(|r| r.warps.get_mut(d.warp as usize))
        {
            clock.step();
        }
    }

    /// A lane arrives at an mbarrier, perhaps of another block.
    pub(crate) fn arrive_at(&mut self, peers: &mut Peers, (rank, offset): (usize, u32), who: Actor, op: &MbarrierOp) {
        let acting = peers.rank();
        if rank == acting {
            if let Some(races) = peers.races.as_mut().filter(|_| !op.relaxed) {
                races.arrive_at(offset, who.warp, 1 << who.lane);
            }
            return;
        }
        // To another block: an arrival that says it is for its own block makes nothing known there.
        let narrow = op.scope == Some(Scope::Cta);
        let block = peers.number;
        let mut known = Clock::default();
        if let Some(clock) = peers.races.as_mut().and_then(|r| r.warps.get_mut(who.warp as usize)) {
            clock.arrive(1 << who.lane, &mut known);
        }
        let Some(races) = peers.blocks_mut().get_mut(rank).and_then(|b| b.races.as_mut()) else { return };
        if narrow || op.relaxed {
            let why = if op.relaxed { Why::NoRelease } else { Why::WriteScope(Scope::Cta) };
            races.warps.iter_mut().for_each(|w| w.hint(Hint { block, why, write: who.pc, read: who.pc }));
            return;
        }
        races.arrive_from(offset, &known, (block, who.pc));
    }

    /// A fence of some lanes.
    pub(crate) fn fence(
        &mut self,
        peers: &mut Peers,
        warp: u32,
        (lanes, live): (u32, u32),
        order: Semantics,
        scope: Scope,
    ) {
        if let Some(clock) = peers.races.as_mut().and_then(|r| r.warps.get_mut(warp as usize)) {
            clock.fence(lanes, live, (order.acquires, order.releases), scope);
        }
    }
}

impl Peers {
    /// Whether a lane of the block that runs knows what a lane of a block of the cluster did up to some time.
    pub(crate) fn knows(&self, who: Actor, rank: usize, (warp, lane): (u32, u32), tick: u32) -> bool {
        let Some(clock) = self.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)) else { return true };
        if rank == self.rank() && warp == who.warp {
            return lane == who.lane || tick <= clock.knows_lane(who.lane, lane);
        }
        let block = self.blocks().get(rank).map_or(u64::MAX, |b| b.number);
        clock.known(who.lane).entry(block, warp as usize).is_some_and(|entry| tick <= entry.time(lane))
    }

    /// The clocks of the block that runs, and the history of a block's shared memory, where something is to be noted
    /// of some bytes.
    pub(super) fn with_shadow<R>(
        &mut self,
        rank: usize,
        bytes: std::ops::Range<u32>,
        work: impl FnOnce(&[super::threads::WarpClock], &mut Shadow) -> R,
    ) -> Option<R> {
        let acting = self.rank();
        let races = self.blocks_mut().get_mut(rank)?.races.as_mut()?;
        races.settle_within(bytes.start, bytes.end);
        if rank == acting {
            let BlockRaces { warps, shadow, .. } = &mut **races;
            return Some(work(warps, shadow));
        }
        let mut shadow = std::mem::take(&mut races.shadow);
        let result = self.blocks().get(acting)?.races.as_ref().map(|r| work(&r.warps, &mut shadow));
        if let Some(races) = self.blocks_mut().get_mut(rank).and_then(|b| b.races.as_mut()) {
            races.shadow = shadow;
        }
        result
    }
}
