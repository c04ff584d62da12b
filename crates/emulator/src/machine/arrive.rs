//! The instructions of `mbarrier`.

use super::core::Core;
use super::interpret::Stop;
use super::mbarrier::{Effect, MOST, Mbarrier};
use super::peers::Peers;
use super::races::{BlockRaces, Deed};
use super::span::addresses;
use super::warp::{Group, State, Warp};
use crate::finding::{AccessKind, FindingKind, MbarrierFault};
use crate::lanes::{LANES, each, put_predicate};
use crate::memory::{SHARED_BASE, SHARED_WINDOW, Touch};
use crate::program::{MbarrierKind, MbarrierOp, NONE, Scope, Semantics, Space};

/// Who does something to a barrier, for reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor {
    pub warp: u32,
    pub lane: u32,
    pub pc: u32,
}

impl Core<'_> {
    /// Reports a misused barrier.
    pub(super) fn report_mbarrier(&mut self, peers: &Peers, who: Actor, fault: MbarrierFault, detail: String) {
        let kind = FindingKind::Mbarrier(fault);
        self.report_threads(peers, who.warp, kind, who.pc, 1 << (who.lane & 31), detail);
    }

    /// The barrier of a block at an offset, or a report that there is none.
    pub(super) fn mbarrier<'p>(
        &mut self,
        peers: &'p mut Peers,
        (rank, offset): (usize, u32),
        who: Actor,
    ) -> Option<&'p mut Mbarrier> {
        let block = peers.blocks().get(rank)?;
        let place = self.shared_name(offset);
        if block.live == 0 {
            let detail = format!("block {rank} of the cluster has exited: its {place} is gone");
            self.report_threads(peers, who.warp, FindingKind::PeerExited, who.pc, 1 << (who.lane & 31), detail);
            return None;
        }
        let Some(barrier) = block.mbarriers.get(offset) else {
            let detail = format!("no `mbarrier.init` has made one of {place}");
            self.report_mbarrier(peers, who, MbarrierFault::NotInitialized, detail);
            return None;
        };
        if block.shared.get(offset as usize, 8) != barrier.bits() {
            let detail = format!("something else was stored to {place} since its last use");
            self.report_mbarrier(peers, who, MbarrierFault::Overwritten, detail);
        }
        peers.blocks_mut().get_mut(rank)?.mbarriers.get_mut(offset)
    }

    /// The phase of a barrier at which a copy is to count, or a report that there is none. The copy is of the async
    /// proxy, which sees what was initialised only after a fence of the thread that did it.
    pub(super) fn counting(&mut self, peers: &mut Peers, at: (usize, u32), who: Actor) -> Option<u64> {
        let barrier = self.mbarrier(peers, at, who)?;
        let (phase, maker, fenced) = (barrier.phase, barrier.made_by, barrier.fenced);
        if self.races && !fenced.is_some_and(|tick| peers.knows(who, at.0, maker, tick)) {
            let (warp, lane) = maker;
            let detail = format!(
                "{}: lane {lane} of warp {warp} of block {} of the cluster initialised it, and no `fence.mbarrier_init` \
                 or `fence.proxy.async` of it comes between",
                self.shared_name(at.1),
                at.0
            );
            self.report_mbarrier(peers, who, MbarrierFault::Unfenced, detail);
        }
        Some(phase)
    }

    /// Does something to a barrier, notes how it then looks, and reports what is wrong.
    pub(super) fn with_mbarrier(
        &mut self,
        peers: &mut Peers,
        at: (usize, u32),
        who: Actor,
        act: impl FnOnce(&mut Mbarrier) -> Effect,
    ) -> Option<u64> {
        let barrier = self.mbarrier(peers, at, who)?;
        let state = barrier.state();
        let effect = act(barrier);
        let bits = barrier.bits();
        let (rank, offset) = at;
        let block = peers.blocks_mut().get_mut(rank)?;
        block.shared.set(offset as usize, 8, bits);
        if effect.ended {
            block.mbarriers.ended.push(offset);
            if let Some(races) = &mut block.races {
                races.phase_ended(offset);
            }
        }
        if let Some((fault, detail)) = effect.fault {
            let detail = format!("{}: {detail}", self.shared_name(offset));
            self.report_mbarrier(peers, who, fault, detail);
        }
        let acting = peers.rank();
        for late in effect.late {
            let phase = match late.phase {
                -1 => "the phase before the first".into(),
                n => format!("phase {n}"),
            };
            let detail = format!(
                "{}: this thread had already waited for {phase}, and the barrier went on to phase {}",
                self.shared_name(offset),
                late.phase + 1
            );
            peers.turn_to(rank);
            let kind = FindingKind::Mbarrier(MbarrierFault::Phase);
            self.report_threads(peers, late.warp, kind, late.pc, late.lanes, detail);
            peers.turn_to(acting);
        }
        Some(state)
    }

    /// The block and offset of a barrier's address, or a report that it is no good.
    pub(super) fn place(&mut self, peers: &Peers, space: Space, address: u64, who: Actor) -> Option<(usize, u32)> {
        let address = if space == Space::Generic { address.wrapping_sub(SHARED_WINDOW) } else { address };
        let found = peers.locate(address).filter(|(rank, offset)| {
            let fits = *offset >= SHARED_BASE && *offset as usize + 8 <= peers.blocks()[*rank].shared.len();
            fits && offset.is_multiple_of(8)
        });
        if found.is_none() {
            let what = if address.is_multiple_of(8) { "is not in shared memory" } else { "is no multiple of 8" };
            let detail = format!("its address {address:#x} {what}");
            self.report_mbarrier(peers, who, MbarrierFault::NotInitialized, detail);
        }
        found
    }
}

/// Waits of a warp that have given up once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeouts(Vec<(u32, usize, u32, u64)>);

impl Timeouts {
    /// Whether it is the first time that this instruction waits for that phase.
    fn first(&mut self, pc: u32, rank: usize, offset: u32, phase: u64) -> bool {
        let wait = (pc, rank, offset, phase);
        if self.0.contains(&wait) {
            return false;
        }
        // More than a warp has lanes can not be under way.
        if self.0.len() >= 64 {
            self.0.remove(0);
        }
        self.0.push(wait);
        true
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Warp {
    pub(super) fn mbarrier(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        op: &MbarrierOp,
        group: &mut Group,
        active: u32,
    ) -> Option<Stop> {
        if let MbarrierKind::Wait { blocks, parity } = op.kind {
            return self.wait_mbarrier(core, peers, op, (blocks, parity), group, active);
        }
        if matches!(op.kind, MbarrierKind::CopiesArrive { .. }) {
            // They complete in time for the arrival, which comes at once.
            self.wait_copies(core, peers, active, None);
        }
        let addresses = addresses(&self.registers, op.address, op.address_wide, op.offset);
        self.note_mbarrier(core, peers, op, &addresses, group.pc, active);
        for lane in each(active) {
            let who = Actor { warp: self.index, lane: lane as u32, pc: group.pc };
            let n = if op.operand == NONE { 1 } else { self.registers.r32[op.operand as usize][lane] };
            let Some(at) = core.place(peers, op.space, addresses[lane], who) else { continue };
            if core.races && matches!(op.kind, MbarrierKind::Arrive { .. } | MbarrierKind::CopiesArrive { .. }) {
                core.arrive_at(peers, at, who, op);
            }
            let state = match op.kind {
                MbarrierKind::Init => {
                    init(core, peers, at, who, n);
                    None
                }
                MbarrierKind::Inval => {
                    if core.mbarrier(peers, at, who).is_some() {
                        peers.blocks_mut()[at.0].mbarriers.remove(at.1);
                        peers.blocks_mut()[at.0].shared.forget(at.1 as usize, 8);
                    }
                    None
                }
                MbarrierKind::CopiesArrive { counts } => {
                    core.with_mbarrier(peers, at, who, |b| if counts { b.arrive(1) } else { Effect::default() })
                }
                MbarrierKind::ExpectTx => core.with_mbarrier(peers, at, who, |b| b.expect(n)),
                MbarrierKind::CompleteTx => core.with_mbarrier(peers, at, who, |b| b.complete(n)),
                MbarrierKind::Arrive { expects, drops, completes } => core.with_mbarrier(peers, at, who, |b| {
                    let count = if expects { 1 } else { n };
                    // Expecting does not end the phase: this arrival is pending.
                    let before = if expects { b.expect(n) } else { Effect::default() };
                    let mut effect = if drops { b.arrive_drop(count) } else { b.arrive(count) };
                    effect.fault = effect.fault.or(before.fault);
                    effect.late.extend(before.late);
                    if !completes && effect.ended {
                        let text = "`.noComplete`, but the phase ends with it".to_string();
                        effect.fault = Some((MbarrierFault::Arrivals, text));
                    }
                    effect
                }),
                MbarrierKind::Wait { .. } => None,
            };
            if op.d != NONE {
                self.registers.r64[op.d as usize][lane] = state.unwrap_or_default();
            }
        }
        self.releases(peers);
        if let Some(races) = &mut peers.races {
            races.step(self.index);
        }
        group.pc += 1;
        None
    }

    /// Operations on an mbarrier are strong; making and unmaking one is a write that must be ordered to them.
    fn note_mbarrier(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        op: &MbarrierOp,
        addresses: &[u64; LANES],
        pc: u32,
        mask: u32,
    ) {
        if !core.races {
            return;
        }
        let makes = matches!(op.kind, MbarrierKind::Init | MbarrierKind::Inval);
        let touch =
            Touch { writes: makes, strong: (!makes).then_some(Scope::Cluster), constant: false, asynchronous: false };
        let kind = if makes { AccessKind::Store } else { AccessKind::Atomic };
        let (warp, live, space) = (self.index, self.live, op.space);
        let order = Semantics::default();
        core.note(peers, &Deed { warp, mask, pc, kind, space, addresses, bytes: 8, touch, order, live, value: 0 });
    }

    /// Fences the barriers that lanes have initialised for the async proxy.
    pub(super) fn fence_made(&self, peers: &mut Peers, active: u32) {
        if let Some(tick) = peers.races.as_ref().and_then(|r| r.warps.get(self.index as usize)).map(|w| w.tick) {
            peers.mbarriers.fence(self.index, active, tick);
        }
    }

    /// `fence.mbarrier_init`: for the cluster, and for the engines that count at the barriers.
    pub(super) fn fence_mbarriers(&self, core: &mut Core<'_>, peers: &mut Peers, active: u32) {
        self.fence_made(peers, active);
        let order = Semantics { acquires: false, releases: true };
        core.fence(peers, self.index, (active, self.live), order, Scope::Cluster);
    }

    /// `test_wait` and `try_wait`. The latter holds the lanes until their phase ends.
    fn wait_mbarrier(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        op: &MbarrierOp,
        (blocks, parity): (bool, bool),
        group: &mut Group,
        active: u32,
    ) -> Option<Stop> {
        let addresses = addresses(&self.registers, op.address, op.address_wide, op.offset);
        self.note_mbarrier(core, peers, op, &addresses, group.pc, active);
        // Lanes that wait for the first waiting lane's phase of its barrier, and those that need not.
        let (mut done, mut waiting, mut target) = (0u32, 0u32, None);
        let mut passed: Vec<((usize, u32), u32)> = vec![];
        for lane in each(active) {
            let who = Actor { warp: self.index, lane: lane as u32, pc: group.pc };
            let place = core.place(peers, op.space, addresses[lane], who);
            let found = place.and_then(|at| Some((at, core.mbarrier(peers, at, who)?)));
            let Some(((rank, offset), barrier)) = found else {
                // It would wait for ever; going on shows more.
                done |= 1 << lane;
                continue;
            };
            let ended = match parity {
                true => barrier.has_parity_ended(self.registers.r32[op.operand as usize][lane]),
                false => barrier.has_ended(self.registers.r64[op.operand as usize][lane]),
            };
            let at = (rank, offset, barrier.phase);
            if ended {
                done |= 1 << lane;
                match passed.iter_mut().find(|(at, _)| *at == (rank, offset)) {
                    Some((_, lanes)) => *lanes |= 1 << lane,
                    None => passed.push(((rank, offset), 1u32 << lane)),
                }
            } else if target.is_none_or(|t| t == at) {
                target = Some(at);
                waiting |= 1 << lane;
                barrier.wait();
            }
        }
        for ((rank, offset), lanes) in passed {
            if rank == peers.rank()
                && let Some(races) = &mut peers.races
            {
                races.see_phase(offset, op, (self.index, group.pc), lanes, self.live);
            }
            if let Some(barrier) = peers.blocks_mut().get_mut(rank).and_then(|b| b.mbarriers.get_mut(offset)) {
                barrier.pass(self.index, if parity { lanes } else { 0 }, group.pc, self.releases);
            }
        }
        put_predicate(&mut self.registers, op.d, active, done);
        if !blocks {
            group.pc += 1;
            if done == active {
                return None;
            }
            // Whoever polls is in no hurry.
            peers.polls = true;
            group.ran = core.executed;
            return Some(Stop::Ready);
        }
        let Some((rank, offset, phase)) = target else {
            group.pc += 1;
            return None;
        };
        // A wait may give up, and the hardware's does: the first time it does so here, too, to see whether the kernel
        // tries again.
        if self.timeouts.first(group.pc, rank, offset, phase) {
            group.pc += 1;
            group.ran = core.executed;
            return Some(Stop::Ready);
        }
        let state = State::Mbarrier { rank: rank as u8, offset, phase };
        let rest = group.mask & !(waiting | done | !active);
        if rest != 0 {
            // They wait for another barrier: the same instruction, on their own.
            self.groups.push(Group { pc: group.pc, mask: rest, state: State::Ready, ran: core.executed });
        }
        let free = group.mask & !(waiting | rest);
        if free != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: free, state: State::Ready, ran: core.executed });
        }
        group.mask = waiting;
        Some(Stop::Waiting(state))
    }

    /// Lets go of groups that wait for a phase of the block's own barrier that has ended; they know what it makes known.
    pub(super) fn phase_ended(
        &mut self,
        core: &Core<'_>,
        offset: u32,
        barrier: &mut Mbarrier,
        mut races: Option<&mut BlockRaces>,
    ) {
        let rank = self.rank as usize;
        for g in &mut self.groups {
            let State::Mbarrier { rank: at, offset: here, phase } = g.state else { continue };
            if usize::from(at) != rank || here != offset || phase >= barrier.phase {
                continue;
            }
            if let Some(op) = core.program.mbarrier_at(g.pc) {
                put_predicate(&mut self.registers, op.d, g.mask, u32::MAX);
                if let Some(races) = &mut races {
                    races.see_phase(offset, op, (self.index, g.pc), g.mask, self.live);
                }
                let by_parity = matches!(op.kind, MbarrierKind::Wait { parity: true, .. });
                barrier.pass(self.index, if by_parity { g.mask } else { 0 }, g.pc, self.releases);
            }
            g.state = State::Ready;
            g.pc += 1;
            self.hurry = 0;
        }
    }
}

fn init(core: &mut Core<'_>, peers: &mut Peers, (rank, offset): (usize, u32), who: Actor, count: u32) {
    if count == 0 || count > MOST {
        let detail = format!("{} for {count} arrivals; it must be 1 to {MOST}", core.shared_name(offset));
        core.report_mbarrier(peers, who, MbarrierFault::Count, detail);
    }
    let mut barrier = Mbarrier::new(count.clamp(1, MOST));
    barrier.made_by = (who.warp, who.lane);
    let bits = barrier.bits();
    let block = &mut peers.blocks_mut()[rank];
    block.shared.set(offset as usize, 8, bits);
    if let Some(old) = block.mbarriers.insert(offset, barrier) {
        let detail = format!(
            "{} is one already, in phase {}; `mbarrier.inval` must come first",
            core.shared_name(offset),
            old.phase
        );
        core.report_mbarrier(peers, who, MbarrierFault::Reinitialized, detail);
    }
}
