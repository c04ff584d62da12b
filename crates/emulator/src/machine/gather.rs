//! How lanes of a warp that have parted come together: `.sync` instructions, and aligned ones.

use super::block::Common;
use super::core::Core;
use super::interpret::Stop;
use super::peers::Peers;
use super::warp::{Group, State, Warp};
use crate::finding::FindingKind;
use crate::lanes::{FULL, LANES, each};
use crate::program::Action;

impl Warp {
    /// Waits until all lanes of the warp are at an aligned instruction; then the group is all of them.
    pub(super) fn gather_live(&mut self, group: &mut Group, active: u32) -> Option<Stop> {
        self.split(group, active);
        let state = State::Sync { members: FULL };
        let same = |g: &Group| g.pc == group.pc && g.state == state;
        let here = self.groups.iter().filter(|g| same(g)).fold(group.mask, |mask, g| mask | g.mask);
        if self.live & !here != 0 {
            return Some(Stop::Waiting(state));
        }
        let pc = group.pc;
        self.groups.retain(|g| !(g.pc == pc && g.state == state));
        group.mask = here;
        None
    }

    /// Waits until all members of a `.sync` instruction are there; then the group is all of them.
    pub(super) fn gather(
        &mut self,
        core: &mut Core<'_>,
        common: &Common,
        members: u16,
        group: &mut Group,
    ) -> Option<Stop> {
        let members = self.members(core, common, members, group);
        let state = State::Sync { members };
        let pc = group.pc;
        let same = |g: &Group| g.pc == pc && g.state == state;
        let here = self.groups.iter().filter(|g| same(g)).fold(group.mask, |mask, g| mask | g.mask);
        if members & self.live & !here != 0 {
            return Some(Stop::Waiting(state));
        }
        self.groups.retain(|g| !same(g));
        group.mask = here;
        None
    }

    /// Lanes have met at a `.sync` instruction: those that name each other.
    pub(super) fn meet(&self, peers: &mut Peers, members: u16, here: u32) {
        if peers.races.is_none() {
            return;
        }
        let masks = &self.registers.r32[members as usize];
        if masks.iter().fold(0, |differ, mask| differ | (mask ^ masks[0])) == 0 {
            return peers.meet(self.index, here, self.live);
        }
        let mut rest = here;
        while rest != 0 {
            let named = masks[rest.trailing_zeros() as usize % LANES];
            let alike = each(rest).filter(|lane| masks[*lane] == named).fold(0, |set, lane| set | 1 << lane);
            peers.meet(self.index, alike, self.live);
            rest &= !alike;
        }
    }

    /// The member mask of a `.sync` instruction, and a report when a lane is there that it does not name.
    pub(super) fn members(&mut self, core: &mut Core<'_>, common: &Common, register: u16, group: &Group) -> u32 {
        let masks = &self.registers.r32[register as usize];
        if group.mask == FULL && *masks == [FULL; LANES] {
            return FULL;
        }
        let outside = each(group.mask).filter(|lane| masks[*lane] >> lane & 1 == 0).fold(0, |m, lane| m | 1 << lane);
        let members = masks[group.mask.trailing_zeros() as usize % LANES];
        if outside != 0 {
            let detail = format!("the member mask is {members:#x}");
            core.report_threads(common, self.index, FindingKind::SyncMask, group.pc, outside, detail);
        }
        // Those that are here in spite of the mask take part.
        members | outside
    }
}

/// Whether all lanes of a warp must run an instruction together, beside those that gather by a mask.
pub(super) fn meets(action: &Action) -> bool {
    use Action::{CommitProducts, CopyMap, Product, SetMaxRegisters, WaitProducts};
    match action {
        Action::Barrier(b) => b.aligned,
        Action::ClusterBarrier { aligned, .. } => *aligned,
        Product(_) | CommitProducts | WaitProducts(_) | CopyMap { .. } | SetMaxRegisters { .. } => true,
        _ => false,
    }
}
