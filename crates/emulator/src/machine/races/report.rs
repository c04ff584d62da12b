//! From a race to a finding: both accesses, and what is missing between them.

use super::access::{Deed, Race};
use super::parties::{Party, Work, base_of, party_of};
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::lanes::LANES;
use crate::machine::cell::Request;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::memory::{Group, Touch};
use crate::program::{Action, Space};

impl Core<'_> {
    #[cold]
    pub(crate) fn report_race(&mut self, peers: &Peers, d: &Deed<'_>, storage: Storage, race: &Race) {
        self.report_race_of(peers, (d.warp, d.pc, d.kind, d.bytes, d.touch), storage, race);
    }

    #[cold]
    pub(super) fn report_race_of(
        &mut self,
        peers: &Peers,
        (warp, pc, access, bytes, touch): (u32, u32, AccessKind, u32, Touch),
        storage: Storage,
        (old, old_lane, lane, at): &Race,
    ) {
        let kind = if touch.constant && old.touch.writes || old.touch.constant && touch.writes {
            FindingKind::ConstantLoad
        } else {
            FindingKind::Race
        };
        let lane = *lane as usize % LANES;
        let parties = self.parties;
        let other = (self.program_of(old), old.pc);
        let Some(mut finding) = self.race_finding(peers, warp, kind, pc, lane, other) else { return };
        let space = if storage == Storage::Global { Space::Global } else { Space::Shared };
        let request = Request { kind: access, space, address: *at, bytes: bytes as usize, lane, pc };
        self.describe(&mut finding, peers, &request, storage);
        let other = parties.other(old, *old_lane, self.party);
        let missing = self.missing(peers, warp, (pc, touch), old, (*old_lane, lane as u32));
        let lead = if finding.detail.is_empty() { String::new() } else { format!("{}; ", finding.detail) };
        finding.detail = format!("{lead}{missing}");
        finding.notes.insert(0, (other.in_words(), other.location.clone()));
        finding.other = Some(other);
        self.findings.add(finding);
    }

    /// Two lanes of one store write different values to one place.
    #[cold]
    pub(crate) fn report_collision(&mut self, peers: &Peers, d: &Deed<'_>, (first, second): (usize, usize)) {
        let clock = peers.races.as_ref().and_then(|r| r.warps.get(d.warp as usize));
        let (block, tick) = (peers.number, clock.map_or(0, |w| w.tick));
        let old = Group {
            block,
            warp: d.warp as u16,
            warps: 1,
            bytes: d.bytes as u8,
            tick,
            pc: d.pc,
            touch: d.touch,
            lands: false,
            value: 0,
        };
        let (storage, at) = crate::machine::cell::resolve(d.space, d.addresses[second]);
        if matches!(storage, Storage::Shared | Storage::Global) {
            self.report_race(peers, d, storage, &(old, first as u32, second as u32, at));
        }
    }

    /// Tells programs apart of which instructions are named.
    pub(super) fn program_of(&self, old: &Group) -> u64 {
        let program = self.parties.program(old.block);
        program.map_or(1 + party_of(old.block) as u64, |p| if p.id == self.program.id { 0 } else { !p.id })
    }

    pub(super) fn line(&self, pc: u32) -> String {
        self.parties.line(base_of(self.party), pc)
    }

    /// What would have ordered the two, where the other is of another party.
    fn missing_between(&self, other: u64) -> String {
        let kernel = |party: usize| matches!(self.parties.0.get(party), Some(Party { work: Work::Grid { .. }, .. }));
        let (old, here) = (party_of(other), self.party);
        let owner = |party: usize| self.parties.0.get(party).map(|p| p.owner);
        match () {
            () if self.upstream == Some(old) => {
                "no `griddepcontrol.wait` comes before it, so that the launch before may still run".into()
            }
            () if kernel(old) && kernel(here) && owner(old) == owner(here) => {
                "nothing orders the two launches: no event, and no flag".into()
            }
            () if kernel(old) && kernel(here) => {
                "nothing orders the two launches, which are on different devices".into()
            }
            () => "nothing orders the two".into(),
        }
    }

    /// What would have ordered the two.
    fn missing(
        &self,
        peers: &Peers,
        warp: u32,
        (pc, touch): (u32, Touch),
        old: &Group,
        (old_lane, lane): (u32, u32),
    ) -> String {
        if touch.constant || old.touch.constant {
            return match self.upstream == Some(party_of(old.block)) {
                true => "memory that a kernel reads through `.nc` must not change from its start on, and this launch starts \
                         before the one before is over, whatever it waits for"
                    .into(),
                false => "memory that a kernel reads through `.nc` must not change while it runs".into(),
            };
        }
        let clock = peers.races.as_ref().and_then(|r| r.warps.get(warp as usize));
        let knows_of_start = clock.is_some_and(|clock| clock.knows_of_start(old, old_lane, lane));
        // What a copy reads, it may read until a thread waits, however early it was done here.
        if old.tick == Group::PENDING || old.touch.asynchronous && !old.touch.writes && old.warps == 1 {
            let program = self.parties.program(old.block);
            let line = self.parties.line(old.block, old.pc);
            return match program.and_then(|p| p.code.get(old.pc as usize)).map(|i| i.action) {
                Some(Action::Bulk(_) | Action::WriteAsync(_)) if old.lands => {
                    format!("the copy of {line} is under way: no wait for its mbarrier comes between")
                }
                Some(Action::Bulk(_)) if old.touch.writes && knows_of_start => self.parties.not_waited(old),
                Some(Action::Bulk(_)) if old.touch.writes => {
                    format!("the copy of {line} is under way: no `cp.async.bulk.wait_group` comes between")
                }
                Some(Action::Bulk(_)) => {
                    format!("the copy of {line} may still read it: no `cp.async.bulk.wait_group` comes between")
                }
                _ => format!("the copy of {line} is under way: no `cp.async.wait_group` comes between"),
            };
        }
        // What this thread knows of the other lies between the start and the wait.
        if knows_of_start {
            return self.parties.not_waited(old);
        }
        let here = peers.number;
        let (a, b) = (self.parties.line(old.block, old.pc), self.line(pc));
        if touch.strong.is_some() && old.touch.strong.is_some() {
            return format!("the accesses of {a} and {b} are strong, but their scopes or sizes do not fit each other");
        }
        if old.block == here && u32::from(old.warp) == warp && old.warps == 1 {
            return format!(
                "no `.sync` instruction that names lanes {old_lane} and {lane} of warp {warp} comes between"
            );
        }
        // What this warp saw of flags, or another of its block that it has met.
        let warps = peers.races.iter().flat_map(|r| r.warps.get(warp as usize).into_iter().chain(&r.warps));
        let mut hints = warps.flat_map(|w| w.hints.iter().rev());
        let hint = hints.find(|h| h.block == old.block || old.block != here);
        if let Some(h) = hint {
            return self.parties.why(h, here);
        }
        if party_of(old.block) != self.party {
            return self.missing_between(old.block);
        }
        if usize::from(old.warp) >= self.shape.warps() as usize {
            return format!("the copy of {a} has landed, but this thread has not waited for its mbarrier");
        }
        if old.block == here {
            return format!("no barrier comes between {a} and {b}");
        }
        if self.parties.includes(crate::program::Scope::Cluster, old.block, here) {
            return format!("no barrier of the cluster comes between {a} and {b}");
        }
        "nothing orders the two blocks".into()
    }
}
