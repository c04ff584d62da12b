//! The inner loop: runs a group of lanes until it meets another one, waits, exits, or its turn is over.

use super::block::Common;
use super::core::Core;
use super::gather::meets;
use super::peers::Peers;
use super::warp::{Group, PATIENCE, State, Warp};
use crate::finding::FindingKind;
use crate::lanes::{FULL, LANES, each, put};
use crate::program::{Action, Instruction, MbarrierKind, NONE};

/// What an access that may be waiting for another thread costs of a turn: a spinning group gives way early.
const STRONG: u64 = 200;

/// Why a group stopped.
pub(super) enum Stop {
    /// It goes on later, from `pc`.
    Ready,
    /// It waits.
    Waiting(State),
    /// Its lanes have exited, or were handed to another group.
    Gone,
}

impl Warp {
    /// Runs for about so many instructions, or until no lane can run.
    pub(crate) fn run(&mut self, core: &mut Core<'_>, common: &mut Peers, turn: u64) {
        let mut end = core.executed.saturating_add(turn);
        let spins = core.spins;
        while core.executed < end && core.spins == spins {
            let Some((group, limit)) = self.pick(core.options.lanes_apart) else { break };
            let strong = self.run_group(core, common, group, limit, end);
            end = end.saturating_sub(strong);
        }
    }

    /// Gives what its strong accesses cost of the turn, beside the instructions that it executed.
    fn run_group(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        mut group: Group,
        mut limit: u32,
        end: u64,
    ) -> u64 {
        let start = core.executed;
        let mut end = if self.groups.is_empty() { end } else { end.min(start + PATIENCE) };
        let (mut strong, spins) = (0, core.spins);
        let program = core.program;
        let code = program.code.as_slice();
        let quick = self.registers.simd.fuses() && core.watcher.is_none();
        let mut executed = start;
        let mut pc = group.pc;
        let mut mask = group.mask;
        let stop = loop {
            if pc >= limit && executed > start || executed >= end {
                break Stop::Ready;
            }
            let Some(i) = code.get(pc as usize) else { break Stop::Gone };
            if i.straight > 0 && mask == FULL && quick && !self.products.busy {
                let most = u64::from(limit.saturating_sub(pc).max(1)).min(end - executed);
                let count = u64::from(i.straight).min(most);
                let run = &code[pc as usize..pc as usize + count as usize];
                for _ in 0..crate::quick::run(&mut self.registers, run) {
                    common.meet(self.index, mask, self.live);
                }
                pc += count as u32;
                executed += count;
                continue;
            }
            executed += 1;
            let active = match i.guard.register {
                NONE => mask,
                p => {
                    let p = self.registers.p[p as usize];
                    mask & if i.guard.negated { !p } else { p }
                }
            };
            if core.watcher.is_some() {
                self.watch(core, common.index, pc, mask, active);
            }
            if i.checked && core.options.checks.init {
                self.check_registers(core, common, pc, mask, active);
            }
            if self.products.busy && !matches!(i.action, Action::Product(_)) {
                self.check_owned(core, common, pc, active);
            }
            match &i.action {
                Action::Compute { run, fields } => {
                    if active != 0 {
                        run(&mut self.registers, fields, active);
                    }
                    pc += 1;
                }
                Action::Load(access) => {
                    if active != 0 {
                        self.load(core, common, access, active, pc);
                    }
                    if access.strong {
                        strong += STRONG;
                        // Who polls in vain gives the rest of the turn away.
                        end = if core.spins == spins { end.saturating_sub(STRONG) } else { 0 };
                    } else if core.spins != spins {
                        end = 0;
                    }
                    pc += 1;
                }
                Action::Store(access) => {
                    if active != 0 {
                        self.store(core, common, access, active, pc);
                    }
                    pc += 1;
                }
                Action::Branch { target } => {
                    let stay = mask & !active;
                    if active == mask {
                        pc = *target;
                    } else if active == 0 {
                        pc += 1;
                    } else {
                        // Whoever is behind goes on; the others wait to be met.
                        let (here, there) = ((pc + 1, stay), (*target, active));
                        let (behind, ahead) = if here.0 <= there.0 { (here, there) } else { (there, here) };
                        self.groups.push(Group { pc: ahead.0, mask: ahead.1, state: State::Ready, ran: executed });
                        limit = limit.min(ahead.0);
                        (pc, mask) = behind;
                    }
                }
                Action::Nop => pc += 1,
                _ => {
                    // What is rare, or may end the run.
                    if matches!(i.action, Action::Atomic(_) | Action::VectorAtomic(_) | Action::Multimem(_)) {
                        strong += STRONG;
                        end = end.saturating_sub(STRONG);
                    }
                    core.executed = executed;
                    group.pc = pc;
                    group.mask = mask;
                    if core.options.lanes_apart && active != 0 && meets(&i.action) {
                        if let Some(stop) = self.gather_live(&mut group, active) {
                            break stop;
                        }
                        mask = group.mask;
                    }
                    let active = if core.options.lanes_apart && active != 0 { mask } else { active };
                    if let Some(stop) = self.special(core, common, i, &mut group, active) {
                        pc = group.pc;
                        mask = group.mask;
                        break stop;
                    }
                    pc = group.pc;
                    mask = group.mask;
                    limit = self.limit(limit);
                    if core.options.lanes_apart && mask.count_ones() > 1 {
                        // They part again; the one that goes on is picked like any other.
                        break Stop::Ready;
                    }
                }
            }
        };
        core.executed = executed;
        let used = executed - start + strong;
        self.worked += used;
        self.rested = core.now();
        self.hurry = if self.groups.iter().any(|g| g.state == State::Ready) { self.hurry + used } else { 0 };
        let state = match stop {
            Stop::Ready => State::Ready,
            Stop::Waiting(state) => state,
            Stop::Gone => return strong,
        };
        let waiting = Group { pc, mask, state, ran: executed };
        match self.groups.iter_mut().find(|g| g.pc == pc && g.state == state && state != State::Ready) {
            Some(g) => g.mask |= mask,
            None => self.groups.push(waiting),
        }
        strong
    }

    /// The first instruction of another group that can run.
    fn limit(&self, limit: u32) -> u32 {
        self.groups.iter().filter(|g| g.state == State::Ready).map(|g| g.pc).fold(limit, u32::min)
    }

    /// Lanes that do not take part in a waiting instruction go on without the others.
    pub(super) fn split(&mut self, group: &mut Group, active: u32) {
        let rest = group.mask & !active;
        if rest != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: rest, state: State::Ready, ran: group.ran });
            group.mask = active;
        }
    }

    /// Lanes that name other members than the first, and not it, meet on their own: they come to the instruction anew.
    fn part(&mut self, group: &mut Group, members: u16) {
        let masks = &self.registers.r32[members as usize];
        let named = masks[group.mask.trailing_zeros() as usize % LANES];
        let rest = group.mask & !named;
        if rest != 0 && rest != group.mask && each(rest).all(|lane| masks[lane] & named == 0) {
            self.groups.push(Group { mask: rest, ..*group });
            group.mask &= named;
        }
    }

    fn special(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        i: &Instruction,
        group: &mut Group,
        active: u32,
    ) -> Option<Stop> {
        if active == 0 {
            group.pc += 1;
            return None;
        }
        match i.action {
            Action::Sync { run, fields, members } => {
                self.split(group, active);
                self.part(group, members);
                if let Some(stop) = self.gather(core, common, members, group) {
                    return Some(stop);
                }
                self.meet(common, members, group.mask);
                run(&mut self.registers, &fields, group.mask);
                group.pc += 1;
            }
            Action::WarpBarrier { members: register } => {
                self.split(group, active);
                self.part(group, register);
                let members = self.members(core, common, register, group);
                let state = State::WarpBarrier { members };
                let here = self.groups.iter().filter(|g| g.state == state).fold(group.mask, |mask, g| mask | g.mask);
                if members & self.live & !here != 0 {
                    return Some(Stop::Waiting(state));
                }
                for g in self.groups.iter_mut().filter(|g| g.state == state) {
                    g.state = State::Ready;
                    g.pc += 1;
                }
                self.meet(common, register, here);
                group.pc += 1;
                return Some(Stop::Ready);
            }
            Action::Barrier(b) => {
                self.split(group, active);
                return self.barrier(core, common, &b, group);
            }
            Action::Mbarrier(op) => {
                self.stores += u64::from(!matches!(op.kind, MbarrierKind::Wait { .. }));
                return self.mbarrier(core, common, &op, group, active);
            }
            Action::Fragments { index, members } => {
                self.split(group, active);
                if let Some(stop) = self.gather(core, common, members, group) {
                    return Some(stop);
                }
                common.meet(self.index, group.mask, self.live);
                if let Some(f) = core.program.fragments.get(index as usize) {
                    self.fragments(core, common, f, group.pc);
                }
                group.pc += 1;
            }
            Action::Product(index) => self.start_product(core, common, index, group, active),
            Action::ProxyFence { shared, global } => {
                if shared {
                    self.fence_proxy(common);
                    self.fence_made(common, active);
                }
                if global {
                    core.fence_proxy(common, self.index, (active, self.live));
                }
                group.pc += 1;
            }
            Action::MbarrierFence => {
                self.fence_mbarriers(core, common, active);
                group.pc += 1;
            }
            Action::Fence { order, scope } => {
                core.fence(common, self.index, (active, self.live), order, scope);
                group.pc += 1;
            }
            Action::ClusterBarrier { waits, aligned, relaxed } => {
                self.split(group, active);
                return self.cluster_barrier(core, common, (waits, aligned, relaxed), group);
            }
            Action::CommitProducts => {
                self.commit_products();
                group.pc += 1;
            }
            Action::WaitProducts(left) => {
                self.split(group, active);
                return self.wait_products(left, group);
            }
            Action::LaunchDependents => {
                core.triggered += u64::from(!std::mem::replace(&mut common.triggered, true));
                group.pc += 1;
            }
            Action::WaitUpstream => {
                self.split(group, active);
                return self.wait_upstream(core, common, group);
            }
            Action::Bulk(index) => {
                self.stores += 1;
                if let Some(b) = core.program.bulk.get(index as usize) {
                    self.bulk(core, common, b, active, group.pc);
                }
                group.pc += 1;
            }
            Action::WriteAsync(w) => {
                self.stores += 1;
                self.write_async(core, common, &w, active, group.pc);
                group.pc += 1;
            }
            Action::ChangeMap(change) => {
                self.change_map(core, common, &change, active, group.pc);
                group.pc += 1;
            }
            Action::CopyMap { to, from, scope } => {
                self.split(group, active);
                self.copy_map(core, common, (to, from, scope), active, group.pc);
                group.pc += 1;
            }
            Action::AcquireMap { address, scope } => {
                self.acquire_map(core, common, (address, scope), active, group.pc);
                group.pc += 1;
            }
            Action::CommitBulk => {
                self.commit_bulk(active);
                group.pc += 1;
            }
            Action::WaitBulk { left, reads } => {
                self.wait_bulk(core, common, left, reads, active);
                group.pc += 1;
            }
            Action::SetMaxRegisters { count } => {
                if !(24..=256).contains(&count) || count % 8 != 0 {
                    let detail = format!("{count} registers; it must be a multiple of 8 from 24 to 256");
                    core.report_threads(common, self.index, FindingKind::RegisterCount, group.pc, active, detail);
                }
                group.pc += 1;
            }
            Action::Atomic(a) => {
                self.atomic(core, common, &a, active, group.pc);
                group.pc += 1;
            }
            Action::VectorAtomic(index) => {
                if let Some(a) = core.program.vectors.get(index as usize) {
                    self.vector_atomic(core, common, a, active, group.pc);
                }
                group.pc += 1;
            }
            Action::Multimem(index) => {
                if let Some(m) = core.program.multimems.get(index as usize) {
                    self.multimem(core, common, m, active, group.pc);
                }
                group.pc += 1;
            }
            Action::CopyAsync(c) => {
                self.copy_async(core, common, &c, active, group.pc);
                group.pc += 1;
            }
            Action::Commit => {
                self.copies.commit(active);
                group.pc += 1;
            }
            Action::WaitGroup(pending) => {
                self.wait_copies(core, common, active, pending);
                group.pc += 1;
            }
            Action::Table { index, start, count } => {
                let index = self.registers.r32[index as usize];
                let (pc, mask) = (group.pc, group.mask);
                let table = core.program.lists.get(start as usize..(start + count) as usize).unwrap_or_default();
                let mut to =
                    |pc: u32, lane: usize| match self.groups.iter_mut().find(|g| g.pc == pc && g.state == State::Ready)
                    {
                        Some(g) => g.mask |= 1 << lane,
                        None => self.groups.push(Group { pc, mask: 1 << lane, state: State::Ready, ran: group.ran }),
                    };
                for lane in each(mask) {
                    // An index beyond the table is undefined; the last entry is as good as any.
                    let entry = table.get(index[lane] as usize).or(table.last());
                    to(if active >> lane & 1 == 1 { entry.copied().unwrap_or(pc + 1) } else { pc + 1 }, lane);
                }
                return Some(Stop::Gone);
            }
            Action::Exit | Action::Trap => {
                if matches!(i.action, Action::Trap) {
                    core.report_threads(common, self.index, FindingKind::Trap, group.pc, active, String::new());
                }
                if let stop @ Stop::Gone = self.exit_lanes(core, common, group, active) {
                    return Some(stop);
                }
            }
            Action::Call { target, site } => return self.call(core, common, (target, site), group, active),
            Action::Return => return Some(self.ret(core, group, active)),
            Action::Yield => {
                // Others first: as if this group had run for long.
                group.pc += 1;
                group.ran = core.executed;
                self.hurry += PATIENCE + 1;
                return Some(Stop::Ready);
            }
            Action::Clock { d, wide } => {
                let now = core.executed;
                if wide {
                    put(&mut self.registers, d, active, &[now; LANES]);
                } else {
                    put(&mut self.registers, d, active, &[now as u32; LANES]);
                }
                group.pc += 1;
            }
            Action::Compute { .. }
            | Action::Load(_)
            | Action::Store(_)
            | Action::Branch { .. }
            | Action::ProductFence
            | Action::Nop => {
                group.pc += 1;
            }
        }
        None
    }

    /// Ends lanes; `Gone` when none is left of the group.
    pub(super) fn exit_lanes(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        group: &mut Group,
        active: u32,
    ) -> Stop {
        self.wait_copies(core, common, active, None);
        common.live -= active.count_ones();
        self.leave_cluster(common, active);
        core.leaves(common, self.index, active);
        core.ended = core.now();
        let met = self.exited(active);
        if met != 0 {
            common.meet(self.index, met, self.live);
        }
        group.mask &= !active;
        group.pc += 1;
        if group.mask == 0 { Stop::Gone } else { Stop::Ready }
    }

    /// Reports reads of registers that the lane never wrote, and notes what it writes.
    fn check_registers(&mut self, core: &mut Core<'_>, common: &Common, pc: u32, mask: u32, active: u32) {
        let program = core.program;
        let Some(uses) = program.uses.get(pc as usize) else { return };
        let guard = program.code[pc as usize].guard.register;
        let predicates = (program.counts.r32 + program.counts.r64) as u32;
        let mut written = u32::MAX;
        for read in &uses.reads {
            // The guard is read by every lane, the operands by the active ones.
            let readers = if guard != NONE && *read == predicates + u32::from(guard) { mask } else { active };
            let here = self.written[*read as usize];
            written &= here;
            let bad = readers & !here;
            if bad != 0 && !uses.copies {
                let name = program.names.get(*read as usize).map_or("", String::as_str);
                let detail = format!("`{name}` was never written on this thread's way here");
                core.report_register(common, self.index, pc, bad, detail);
                // Said once is enough for each lane.
                self.written[*read as usize] |= bad;
            }
        }
        for write in &uses.writes {
            let w = &mut self.written[*write as usize];
            *w = if uses.copies { (*w & !active) | (written & active) } else { *w | active };
        }
    }
}
