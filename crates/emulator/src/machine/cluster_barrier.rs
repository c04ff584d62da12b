//! The barrier of a cluster: threads arrive, and later wait for all others' arrival.

use super::cluster::Cluster;
use super::core::Core;
use super::interpret::Stop;
use super::peers::Peers;
use super::warp::{Group, State, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, each};

/// The barrier.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Times that it was complete.
    pub round: u32,
    /// Threads that came since.
    pub arrived: u32,
}

/// What the lanes of a warp have done at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// Lanes that have arrived and not waited, and at which round.
    lanes: u32,
    rounds: [u32; LANES],
}

impl Warp {
    /// `barrier.cluster.arrive` and `.wait`.
    pub(super) fn cluster_barrier(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        (waits, aligned, relaxed): (bool, bool, bool),
        group: &mut Group,
    ) -> Option<Stop> {
        if aligned && group.mask != self.live {
            let detail = "the other lanes of its warp are elsewhere".to_string();
            core.report_threads(peers, self.index, FindingKind::BarrierDivergence, group.pc, group.mask, detail);
        }
        if !waits {
            self.releases(peers);
            peers.arrive_at_cluster(self.index, group.mask, relaxed);
        }
        let arrived = &mut self.cluster_arrived;
        if !waits {
            let twice = arrived.lanes & group.mask;
            if twice != 0 {
                let detail = "a second arrival at the cluster's barrier without a wait between".to_string();
                core.report_threads(peers, self.index, FindingKind::BarrierCount, group.pc, twice, detail);
            }
            for lane in each(group.mask & !twice) {
                arrived.rounds[lane] = peers.barrier.round;
                peers.barrier.arrived += 1;
            }
            arrived.lanes |= group.mask;
            group.pc += 1;
            return Some(Stop::Ready);
        }
        let absent = group.mask & !arrived.lanes;
        if absent != 0 {
            let detail = "a wait at the cluster's barrier without an arrival".to_string();
            core.report_threads(peers, self.index, FindingKind::BarrierCount, group.pc, absent, detail);
        }
        let round = peers.barrier.round;
        let open = each(group.mask & !absent).any(|lane| arrived.rounds[lane] == round);
        arrived.lanes &= !group.mask;
        if open {
            return Some(Stop::Waiting(State::Cluster { round }));
        }
        let clock = std::rc::Rc::clone(&peers.cluster_races.complete);
        if let Some(races) = &mut peers.races {
            races.acquire(self.index, group.mask, self.live, &clock);
        }
        group.pc += 1;
        None
    }

    /// Lanes exit: they count as having arrived, whether they did or not.
    pub(super) fn leave_cluster(&mut self, peers: &mut Peers, lanes: u32) {
        for lane in each(lanes & self.cluster_arrived.lanes) {
            if self.cluster_arrived.rounds[lane] == peers.barrier.round {
                peers.barrier.arrived = peers.barrier.arrived.saturating_sub(1);
            }
        }
        self.cluster_arrived.lanes &= !lanes;
    }
}

impl Cluster {
    /// Lets go of the threads at the cluster's barrier, when everybody has arrived.
    pub(super) fn release_cluster(&mut self) {
        let barrier = &mut self.peers.barrier;
        if barrier.arrived == 0 || barrier.arrived < self.peers.live() {
            return;
        }
        let barrier = &mut self.peers.barrier;
        barrier.round += 1;
        barrier.arrived = 0;
        let round = barrier.round;
        let clock = self.peers.cluster_races.round();
        for warp in &mut self.warps {
            for g in &mut warp.groups {
                if matches!(g.state, State::Cluster { round: r } if r < round) {
                    if let Some(races) = &mut self.peers.blocks_mut()[warp.rank as usize].races {
                        races.acquire(warp.index, g.mask, warp.live, &clock);
                    }
                    g.state = State::Ready;
                    g.pc += 1;
                    warp.hurry = 0;
                }
            }
        }
    }
}
