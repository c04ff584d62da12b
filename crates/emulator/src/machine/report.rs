//! From what went wrong to a [`Finding`] that says so.

use super::agents::{Agent, Job};
use super::block::Common;
use super::cell::Request;
use super::cluster::Cluster;
use super::core::Core;
use super::peers::Peers;
use super::warp::{State, Warp};
use crate::finding::{AccessKind, Finding, FindingKind, Storage};
use crate::lanes::{LANES, each};
use crate::memory::{Place, SHARED_BASE};
use crate::program::Action;
use warpsmith_types::Location;

impl Core<'_> {
    /// A finding without particulars, or `None` when it is known already and has been counted.
    pub(super) fn finding(
        &mut self,
        common: &Common,
        warp: u32,
        kind: FindingKind,
        pc: u32,
        lane: usize,
    ) -> Option<Finding> {
        self.race_finding(common, warp, kind, pc, lane, (0, 0))
    }

    /// Who it is that runs, where that needs to be said.
    pub(super) fn agent(&self) -> Option<String> {
        let party = self.parties.0.get(self.party)?;
        (!party.name.is_empty()).then(|| party.name.clone())
    }

    /// The same, of two instructions.
    pub(super) fn race_finding(
        &mut self,
        common: &Common,
        warp: u32,
        kind: FindingKind,
        pc: u32,
        lane: usize,
        other: (u64, u32),
    ) -> Option<Finding> {
        let location = self.program.location(pc as usize);
        if self.findings.again(kind, location, (pc, other), common.number) {
            return None;
        }
        Some(Finding {
            kind,
            kernel: self.program.name.clone(),
            block: common.index,
            thread: self.shape.thread_index(warp * LANES as u32 + lane as u32),
            access: None,
            storage: None,
            address: None,
            bytes: 0,
            tensor: None,
            detail: String::new(),
            other: None,
            notes: vec![],
            location: location.cloned(),
            ptx_line: self.program.origins.get(pc as usize).map_or(0, |o| o.line),
            count: 1,
            pc,
            other_place: other,
            agent: self.agent(),
            by_thread: true,
            block_number: common.number,
        })
    }

    /// One lane's bad access.
    #[cold]
    pub(super) fn report_access(
        &mut self,
        common: &Common,
        warp: u32,
        q: &Request,
        storage: Storage,
        kind: FindingKind,
    ) {
        let wanted = match kind {
            FindingKind::UninitializedRead(_) => self.options.checks.init,
            _ => self.options.checks.memory,
        };
        if !wanted {
            return;
        }
        let place = (storage == Storage::Global).then(|| self.memory.place(q.address));
        let kind = match (&place, kind) {
            (Some(Place::Freed { .. }), FindingKind::OutOfBounds) => FindingKind::UseAfterFree,
            (Some(Place::Inside { .. }), FindingKind::OutOfBounds) if self.is_elsewhere(q.address) => {
                FindingKind::NotMapped
            }
            (Some(Place::Multicast { .. }), FindingKind::OutOfBounds) => FindingKind::Multicast,
            _ => kind,
        };
        let Some(mut finding) = self.finding(common, warp, kind, q.pc, q.lane) else { return };
        self.describe_place(&mut finding, q, storage, place, common);
        self.findings.add(finding);
    }

    /// Whether an address is in memory that this device has not mapped.
    fn is_elsewhere(&self, address: u64) -> bool {
        self.memory.find(address).is_none() && self.memory.all().find(address).is_some()
    }

    /// Says which memory an access concerns.
    pub(super) fn describe(&self, finding: &mut Finding, common: &Common, q: &Request, storage: Storage) {
        let place = (storage == Storage::Global).then(|| self.memory.place(q.address));
        self.describe_place(finding, q, storage, place, common);
    }

    fn describe_place(
        &self,
        finding: &mut Finding,
        q: &Request,
        storage: Storage,
        place: Option<Place>,
        common: &Common,
    ) {
        let (_, at) = super::cell::resolve(q.space, q.address);
        finding.access = Some(q.kind);
        finding.storage = Some(storage);
        finding.bytes = q.bytes as u32;
        finding.address = Some(at);
        match place {
            Some(place) => self.describe_global(finding, q, &place),
            None => self.describe_local(finding, q, storage, at, common),
        }
    }

    fn describe_global(&self, finding: &mut Finding, q: &Request, place: &Place) {
        let base = match place {
            Place::Inside { base, .. } | Place::After { base, .. } | Place::Before { base, .. } => Some(*base),
            Place::Freed { .. } | Place::Multicast { .. } | Place::Wild => None,
        };
        let tensor = base.and_then(|base| self.manifest?.tensor(q.address, base));
        finding.detail = match place {
            Place::Wild => "no allocation is near".into(),
            Place::Inside { name, base, offset } if finding.kind == FindingKind::OutOfBounds => {
                let size = self.memory.find(*base).map_or(0, |a| a.bytes);
                let over = offset + q.bytes as u64 - size;
                let s = if over == 1 { "" } else { "s" };
                format!("the last {over} byte{s} are past the end of `{name}` ({size} bytes)")
            }
            Place::Inside { base, .. } if finding.kind == FindingKind::NotMapped => {
                let owner = self.memory.all().find(*base).map_or_else(String::new, |a| a.owner.to_string());
                let here = self.memory.device();
                format!("{}, which is memory of {owner} and not mapped on {here}", place.in_words(""))
            }
            Place::Inside { .. } if finding.kind == FindingKind::Multicast => {
                format!("{}, which is no multicast memory", place.in_words(""))
            }
            Place::Multicast { .. } if finding.kind == FindingKind::Misaligned => place.in_words(""),
            Place::Multicast { .. } => {
                format!("{}; only `multimem` instructions may use it", place.in_words(""))
            }
            place => place.in_words(""),
        };
        if finding.kind == FindingKind::Misaligned {
            finding.detail += &format!("; the access needs a multiple of {}", q.bytes);
        }
        finding.tensor = tensor;
    }

    fn describe_local(&self, finding: &mut Finding, q: &Request, storage: Storage, at: u64, common: &Common) {
        let size = match storage {
            Storage::Shared => common.shared.len() as u64 - u64::from(SHARED_BASE),
            Storage::Local => self.program.local_bytes.into(),
            _ => self.parameters.len() as u64,
        };
        let start = if storage == Storage::Shared { u64::from(SHARED_BASE) } else { 0 };
        // People count from the start of the block's own shared memory.
        finding.address = Some(at.wrapping_sub(start));
        let offset = at.wrapping_sub(start);
        finding.detail = match finding.kind {
            FindingKind::OutOfBounds if at < start => format!("before the start of {storage} memory"),
            FindingKind::OutOfBounds if storage == Storage::Parameter && offset < size => {
                "parameters can not be written".into()
            }
            FindingKind::OutOfBounds => format!("the kernel has {size} bytes of {storage} memory"),
            FindingKind::Misaligned => format!("the access needs a multiple of {}", q.bytes),
            _ => String::new(),
        };
        if storage != Storage::Shared {
            return;
        }
        finding.tensor = u32::try_from(offset).ok().and_then(|offset| self.manifest?.tile(offset));
        let variable = self.program.shared.iter().filter(|v| u64::from(v.offset) <= at).max_by_key(|v| v.offset);
        if let Some(v) = variable
            && at >= start
            && !(finding.kind == FindingKind::OutOfBounds && at >= start + size + 4096)
        {
            let inside = at - u64::from(v.offset);
            let dynamic = self.shape.dynamic_shared > 0 && at >= self.program.dynamic_base.into();
            let place = match inside.checked_sub(v.bytes.into()) {
                _ if dynamic => self.shared_name(at as u32),
                None => format!("`{}` + {inside}", v.name),
                Some(0) => format!("at the very end of `{}` ({} bytes)", v.name, v.bytes),
                Some(past) => format!("{past} bytes past the end of `{}` ({} bytes)", v.name, v.bytes),
            };
            finding.detail = if finding.detail.is_empty() { place } else { format!("{place}; {}", finding.detail) };
        }
        let landing = common.landing.iter().find(|(from, to, _)| (u64::from(*from)..u64::from(*to)).contains(&at));
        if let Some((_, _, pc)) = landing
            && matches!(finding.kind, FindingKind::UninitializedRead(_))
        {
            let line = self.program.origins.get(*pc as usize).map_or(0, |o| o.line);
            let place = if line > 0 { format!(" (line {line} of the PTX)") } else { String::new() };
            let lead = if finding.detail.is_empty() { "" } else { "; " };
            finding.detail += &format!("{lead}a copy to it{place} is not complete");
            finding.notes.extend(self.program.location(*pc as usize).map(|at| ("the copy".into(), Some(at.clone()))));
        }
    }

    /// A read through the async proxy of what a warp stored without a fence.
    #[cold]
    pub(super) fn report_unfenced(
        &mut self,
        common: &Common,
        warp: u32,
        (pc, lane): (u32, u32),
        access: AccessKind,
        address: u32,
        writer: u32,
    ) {
        let Some(mut finding) = self.finding(common, warp, FindingKind::ProxyFence, pc, lane as usize) else { return };
        (finding.access, finding.storage) = (Some(access), Some(Storage::Shared));
        finding.detail = format!(
            "{} was stored by warp {writer}, and no `fence.proxy.async` came between",
            self.shared_name(address)
        );
        self.findings.add(finding);
    }

    /// A fault of some lanes at an instruction.
    #[cold]
    pub(super) fn report_threads(
        &mut self,
        common: &Common,
        warp: u32,
        kind: FindingKind,
        pc: u32,
        lanes: u32,
        detail: String,
    ) {
        for lane in each(lanes) {
            if let Some(mut finding) = self.finding(common, warp, kind, pc, lane) {
                finding.detail = detail.clone();
                self.findings.add(finding);
            }
        }
    }

    /// A register that lanes read and never wrote.
    #[cold]
    pub(super) fn report_register(&mut self, common: &Common, warp: u32, pc: u32, lanes: u32, detail: String) {
        let kind = FindingKind::UninitializedRead(Storage::Register);
        self.report_threads(common, warp, kind, pc, lanes, detail);
    }
}

impl Core<'_> {
    /// A place in shared memory: "`full` + 8".
    pub(super) fn shared_name(&self, offset: u32) -> String {
        let variable = self.program.shared.iter().find(|v| (v.offset..v.offset + v.bytes).contains(&offset));
        match variable {
            Some(v) if v.offset == offset => format!("`{}`", v.name),
            Some(v) => format!("`{}` + {}", v.name, offset - v.offset),
            None if offset >= self.program.dynamic_base => {
                format!("dynamic shared memory + {}", offset - self.program.dynamic_base)
            }
            None => format!("shared memory + {}", offset.wrapping_sub(SHARED_BASE)),
        }
    }
}

impl Core<'_> {
    /// A block has exited that a copy still reads or writes.
    #[cold]
    pub(super) fn report_exit(&mut self, peers: &Peers, agent: &Agent) {
        let Some(mut finding) =
            self.finding(peers, agent.warp, FindingKind::ExitInFlight, agent.pc, agent.lane as usize)
        else {
            return;
        };
        finding.access = Some(AccessKind::Copy);
        finding.detail = match agent.job {
            Job::Load { .. } if agent.rank == peers.rank() => "nobody has waited for this copy",
            Job::Store { .. } => "nobody has waited until this copy had read its source",
            _ => "a block of the cluster has exited that this copy reads or writes",
        }
        .into();
        self.findings.add(finding);
    }
}

impl Cluster {
    /// No lane can run, and some have not exited.
    #[cold]
    pub(super) fn deadlock(&mut self, core: &mut Core<'_>) {
        let waiting: Vec<_> = self.warps.iter().flat_map(|w| w.groups.iter().map(move |g| (w, *g))).collect();
        let Some((warp, group)) = waiting.first().copied() else { return };
        let lane = group.mask.trailing_zeros() as usize % LANES;
        // Lanes of one warp held apart by a barrier that wants them together: say that, it is the cause.
        let divided = self.warps.iter().find_map(|w| {
            let aligned = w
                .groups
                .iter()
                .find(|g| matches!(g.state, State::Barrier { .. }) && is_aligned(core, g.pc) && g.mask != w.live)?;
            Some((w, *aligned))
        });
        let notes: Vec<_> = waiting.iter().take(MOST).map(|(w, g)| self.waits(core, w, g)).collect();
        let more = waiting.len().saturating_sub(MOST);
        let (rank, warp, kind, pc, lane) = match divided {
            Some((w, g)) => {
                (w.rank, w.index, FindingKind::BarrierDivergence, g.pc, g.mask.trailing_zeros() as usize % LANES)
            }
            None => (warp.rank, warp.index, FindingKind::Deadlock, group.pc, lane),
        };
        let rank = rank as usize;
        self.peers.turn_to(rank);
        if let Some(mut finding) = core.finding(&self.peers, warp, kind, pc, lane) {
            finding.detail = match kind {
                FindingKind::Deadlock => "no thread of the block can go on".into(),
                _ => "the other lanes of its warp wait elsewhere, and no thread of the block can go on".into(),
            };
            finding.notes = notes;
            if more > 0 {
                finding.notes.push((format!("and {more} more groups of threads"), None));
            }
            core.findings.add(finding);
        }
        self.give_up();
    }

    /// "warp 1, lanes 0-15: at `bar.sync 0`, where 16 of 64 threads have arrived".
    pub(super) fn waits(&self, core: &Core<'_>, warp: &Warp, group: &super::warp::Group) -> (String, Option<Location>) {
        let what = match group.state {
            State::Ready if warp.spin.is_vain() => format!("for another value of {}", core.polls(&warp.spin)),
            State::Ready => "ready".into(),
            State::Upstream => "at `griddepcontrol.wait`, for the launch before".into(),
            State::Sync { members } => {
                let missing = members & warp.live & !group.mask;
                format!("at a `.sync` instruction, for {} of the same warp", lanes(missing))
            }
            State::WarpBarrier { members } => {
                let missing = members & warp.live & !group.mask;
                format!("at `bar.warp.sync`, for {} of the same warp", lanes(missing))
            }
            State::Barrier { id } => {
                let Some(block) = self.peers.blocks().get(warp.rank as usize) else { return Default::default() };
                let b = block.barriers.state[id as usize & 15];
                let expected = b.expected.unwrap_or(block.live);
                format!("at barrier {id}, where {} of {expected} threads have arrived", b.arrived)
            }
            State::Cluster { .. } => format!(
                "at the cluster's barrier, where {} of {} threads have arrived",
                self.peers.barrier.arrived,
                self.peers.live()
            ),
            State::Products { .. } => "for a `wgmma` that not all warps of the warpgroup have started".into(),
            State::Mbarrier { rank, offset, phase } => {
                let barrier = self.peers.blocks().get(usize::from(rank)).and_then(|b| b.mbarriers.get(offset));
                let missing = barrier.map_or("its `mbarrier.init`".into(), |b| b.missing());
                format!("for phase {phase} of the mbarrier {}, which lacks {missing}", core.shared_name(offset))
            }
        };
        let pc = if warp.spin.is_vain() && group.state == State::Ready { warp.spin.at.0 } else { group.pc };
        let line = core.program.origins.get(pc as usize).map_or(0, |o| o.line);
        let line = if line > 0 { format!(" (line {line} of the PTX)") } else { String::new() };
        let text = format!(
            "{}warp {}, {} wait{} {what}{line}",
            if self.peers.blocks().len() > 1 { format!("block {} of the cluster, ", warp.rank) } else { String::new() },
            warp.index,
            lanes(group.mask),
            if group.mask.count_ones() == 1 { "s" } else { "" }
        );
        (text, core.program.location(pc as usize).cloned())
    }

    /// The budget is used up.
    #[cold]
    pub(super) fn over_budget(&mut self, core: &mut Core<'_>) {
        let waiting: Vec<_> = self.warps.iter().flat_map(|w| w.groups.iter().map(move |g| (w, *g))).collect();
        let first = waiting.iter().find(|(_, g)| g.state == State::Ready).or(waiting.first());
        if let Some((warp, group)) = first.copied() {
            let lane = group.mask.trailing_zeros() as usize % LANES;
            let finding = core.finding(&self.peers, warp.index, super::grid::OVER_BUDGET, group.pc, lane);
            if let Some(mut finding) = finding {
                let budget = core.options.budget.unwrap_or_default();
                finding.detail = format!("still here after {budget} warp instructions of the launch");
                core.findings.add(finding);
            }
        }
        core.stopped = true;
        self.give_up();
    }

    /// A barrier is complete: have the lanes of each warp come to it together?
    pub(super) fn check_release(&mut self, core: &mut Core<'_>, id: u8) {
        let rank = self.peers.rank() as u32;
        for warp in self.warps.iter().filter(|w| w.rank == rank) {
            let mut here = warp.groups.iter().filter(|g| g.state == State::Barrier { id });
            let Some(first) = here.next() else { continue };
            if !is_aligned(core, first.pc) || first.mask == warp.live {
                continue;
            }
            let lane = first.mask.trailing_zeros() as usize % LANES;
            let Some(mut finding) =
                core.finding(&self.peers, warp.index, FindingKind::BarrierDivergence, first.pc, lane)
            else {
                continue;
            };
            finding.detail = format!("{} of warp {} come here without the others", lanes(first.mask), warp.index);
            for g in warp.groups.iter().filter(|g| g.pc != first.pc) {
                let place = core.program.location(g.pc as usize).cloned();
                let line = core.program.origins.get(g.pc as usize).map_or(0, |o| o.line);
                let text = match line {
                    0 => format!("{} are at another instruction", lanes(g.mask)),
                    line => format!("{} are at line {line} of the PTX", lanes(g.mask)),
                };
                finding.notes.push((text, place));
            }
            core.findings.add(finding);
        }
    }
}

/// Waiting groups that a report lists.
const MOST: usize = 8;

fn is_aligned(core: &Core<'_>, pc: u32) -> bool {
    matches!(core.program.code.get(pc as usize).map(|i| i.action), Some(Action::Barrier(b)) if b.aligned)
}

/// "lanes 0-3, 8".
fn lanes(mask: u32) -> String {
    let mut parts = vec![];
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let length = (rest >> first).trailing_ones();
        parts.push(match length {
            1 => first.to_string(),
            n => format!("{first}-{}", first + n - 1),
        });
        rest &= !(((1u64 << length) - 1) << first) as u32;
    }
    format!("lane{} {}", if mask.count_ones() == 1 { "" } else { "s" }, parts.join(", "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lanes_in_words() {
        assert_eq!(super::lanes(0x10f), "lanes 0-3, 8");
        assert_eq!(super::lanes(1 << 31), "lane 31");
        assert_eq!(super::lanes(u32::MAX), "lanes 0-31");
    }
}
