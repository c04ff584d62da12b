//! Launches that start before the one before them is over: `griddepcontrol`.

use super::core::Core;
use super::grid::Grid;
use super::interpret::Stop;
use super::peers::Peers;
use super::races::Clock;
use super::warp::{Group, State, Warp};
use crate::lanes::each;
use crate::program::{Action, Program};
use std::rc::Rc;

impl Warp {
    /// `griddepcontrol.wait`: until the launches before are over, and what they did is known.
    pub(super) fn wait_upstream(&self, core: &Core<'_>, peers: &mut Peers, group: &mut Group) -> Option<Stop> {
        if core.upstream.is_none() {
            group.pc += 1;
            return None;
        }
        let Some(clock) = &core.upstream_over else { return Some(Stop::Waiting(State::Upstream)) };
        if let Some(races) = &mut peers.races {
            races.acquire(self.index, group.mask, self.live, clock);
        }
        group.pc += 1;
        None
    }
}

impl Core<'_> {
    /// Lanes exit: what they know of other parties is known when the launch is over.
    pub(super) fn leaves(&mut self, peers: &Peers, warp: u32, lanes: u32) {
        if self.parties.0.len() < 2 {
            return;
        }
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(warp as usize)) else { return };
        each(lanes).for_each(|lane| clock.tell_others(lane as u32, self.party, &self.start, &mut self.left));
    }
}

impl Grid<'_> {
    /// The launch before is over.
    pub(super) fn upstream_is_over(&mut self, clock: &Rc<Clock>) {
        self.core.upstream_over = Some(Rc::clone(clock));
        self.resident.iter_mut().for_each(|cluster| cluster.upstream_is_over(clock));
    }

    /// Whether every block has let the next launch start, or has exited.
    pub(super) fn has_triggered(&self) -> bool {
        self.core.triggered >= self.core.shape.blocks
    }
}

impl Program {
    /// Whether it lets the next launch start before it is over.
    pub(crate) fn launches_dependents(&self) -> bool {
        self.code.iter().any(|i| matches!(i.action, Action::LaunchDependents))
    }
}
