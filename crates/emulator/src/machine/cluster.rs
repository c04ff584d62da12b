//! A cluster of blocks, mostly one: its warps, and the turns that they take.

use super::block::Common;
use super::cluster_barrier::ClusterBarrier;
use super::complete::complete;
use super::core::Core;
use super::grid::SELDOM;
use super::launch::Schedule;
use super::peers::Peers;
use super::races::{Clock, ClusterRaces};
use super::random::Random;
use super::warp::{State, Warp};
use std::rc::Rc;

/// How far a cluster came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All its threads have exited, or it was given up.
    Done,
    /// Its turn is over.
    Paused,
    /// It waits for the launch before.
    Blocked,
}

/// A cluster that runs.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub peers: Peers,
    /// The warps of the first block, then those of the second.
    pub warps: Vec<Warp>,
    /// Its number in the grid.
    pub number: u64,
    /// The warp whose turn it is.
    next: usize,
    picks: u64,
    random: Option<Random>,
}

/// Instructions that a warp runs before the next one gets its turn, unless it waits earlier.
const TURN: u64 = 20_000;

impl Cluster {
    pub(crate) fn new(core: &Core<'_>, number: u64) -> Cluster {
        let blocks = core.shape.cluster_blocks();
        let warps = core.shape.warps();
        let mut cluster = Cluster {
            peers: Peers::new(Common::new(core), (1..blocks).map(|_| Common::new(core))),
            warps: (0..blocks * warps).map(|n| Warp::new(core, n / warps, n % warps)).collect(),
            number,
            next: 0,
            picks: 0,
            random: None,
        };
        cluster.restart(core, number);
        cluster
    }

    /// Makes it another cluster of the grid, in the same storage.
    pub(crate) fn restart(&mut self, core: &Core<'_>, number: u64) {
        for (rank, block) in self.peers.blocks_mut().iter_mut().enumerate() {
            block.restart(core, core.shape.block_index(number, rank as u32));
        }
        for warp in &mut self.warps {
            warp.restart(core, core.shape.block_index(number, warp.rank));
        }
        self.peers.agents.pending.clear();
        self.peers.agents.early.clear();
        self.peers.barrier = ClusterBarrier::default();
        self.peers.cluster_races = ClusterRaces::default();
        self.number = number;
        self.next = 0;
        let seed = core.seed(number);
        self.random = (seed != 0).then(|| Random::new(seed));
    }

    /// Runs for about so many instructions.
    pub(crate) fn run(&mut self, core: &mut Core<'_>, turn: u64) -> Progress {
        let end = core.executed.saturating_add(turn);
        let mut idle = 0;
        while self.peers.live() > 0 {
            let allowance = core.allowance();
            if allowance == 0 {
                self.over_budget(core);
                return Progress::Done;
            }
            if core.executed >= end {
                return Progress::Paused;
            }
            let count = self.warps.len();
            if core.options.schedule == Schedule::SlowWarp && self.is_slow(core) {
                self.next = (self.next + 1) % count;
                continue;
            }
            let warp = &mut self.warps[self.next];
            self.next = (self.next + 1) % count;
            if !warp.is_ready() {
                idle += 1;
                if idle == count {
                    if let Some(agent) = self.peers.agents.next() {
                        complete(core, &mut self.peers, agent);
                        self.end_phases(core);
                        idle = 0;
                        continue;
                    }
                    if self.waits_upstream() {
                        return Progress::Blocked;
                    }
                    self.deadlock(core);
                    return Progress::Done;
                }
                continue;
            }
            idle = 0;
            let turn = match &mut self.random {
                _ if core.options.schedule == Schedule::RoundRobin => 1,
                Some(random) => {
                    // Some other warp next; each still gets its turn within a few rounds.
                    self.next = (self.next + random.below(count as u64) as usize) % count;
                    random.turn(9)
                }
                None => TURN,
            };
            let spins = core.spins;
            self.peers.turn_to(warp.rank as usize);
            warp.run(core, &mut self.peers, turn.min(allowance).min(end - core.executed));
            self.release(core);
            self.release_cluster();
            if !core.program.products.is_empty() {
                self.complete_products(core);
            }
            if self.peers.live == 0 {
                self.block_exits(core);
            }
            self.work(core);
            if core.spins != spins && self.warps.iter().all(|w| !w.is_ready() || w.spin.is_vain()) {
                return Progress::Paused;
            }
        }
        // What is left writes what it has read to global memory.
        while let Some(agent) = self.peers.agents.take(0) {
            complete(core, &mut self.peers, agent);
        }
        for e in std::mem::take(&mut self.peers.agents.early) {
            core.waited_lines(&self.peers, &e.lines, (e.rank, e.warp));
        }
        Progress::Done
    }

    /// Whether it is the turn of the slow warp, and another can run.
    fn is_slow(&mut self, core: &Core<'_>) -> bool {
        let slow = (core.options.seed % u64::from(core.shape.warps())) as u32;
        let mine = self.warps[self.next].index == slow;
        self.picks += u64::from(mine);
        mine && !self.picks.is_multiple_of(SELDOM) && self.warps.iter().any(|w| w.index != slow && w.is_ready())
    }

    /// Completes a copy early: when the seed says so, or a thread looks for it without waiting.
    fn work(&mut self, core: &mut Core<'_>) {
        let polls = std::mem::take(&mut self.peers.polls);
        let count = self.peers.agents.pending.len() as u64;
        if count == 0 {
            return;
        }
        let agent = match &mut self.random {
            Some(random) => {
                let now = polls || random.below(4) == 0;
                if now { self.peers.agents.take(random.below(count) as usize) } else { None }
            }
            None if polls => self.peers.agents.next(),
            None => None,
        };
        if let Some(agent) = agent {
            complete(core, &mut self.peers, agent);
            self.end_phases(core);
        }
    }

    /// The last thread of a block has exited: its shared memory is gone, and with it what copies were to do there.
    fn block_exits(&mut self, core: &mut Core<'_>) {
        let rank = self.peers.rank();
        core.triggered += u64::from(!std::mem::replace(&mut self.peers.triggered, true));
        for agent in self.peers.agents.take_all(|a| a.job.uses(a.rank, rank)) {
            core.report_exit(&self.peers, &agent);
        }
        core.check_exit(&mut self.peers);
    }

    /// Whether some thread waits for the launch before.
    fn waits_upstream(&self) -> bool {
        self.warps.iter().any(|w| w.groups.iter().any(|g| g.state == State::Upstream))
    }

    /// The launch before is over: lets go of those who wait for it.
    pub(super) fn upstream_is_over(&mut self, clock: &Rc<Clock>) {
        for warp in &mut self.warps {
            let waiting = warp.groups.iter_mut().filter(|g| g.state == State::Upstream);
            for g in waiting {
                if let Some(races) = &mut self.peers.blocks_mut()[warp.rank as usize].races {
                    races.acquire(warp.index, g.mask, warp.live, clock);
                }
                g.state = State::Ready;
                g.pc += 1;
            }
        }
    }

    /// Ends all threads where they stand.
    pub(super) fn give_up(&mut self) {
        self.peers.blocks_mut().iter_mut().for_each(|b| b.live = 0);
    }

    /// Lets go of the threads at barriers of the block that ran, where those are complete.
    fn release(&mut self, core: &mut Core<'_>) {
        let rank = self.peers.rank() as u32;
        for id in self.peers.barriers.complete(self.peers.live) {
            self.check_release(core, id);
            let mut met = 0;
            let clock = self.peers.races.as_mut().map(|r| r.complete(id));
            for warp in self.warps.iter_mut().filter(|w| w.rank == rank) {
                let mut any = false;
                for g in &mut warp.groups {
                    if g.state == (State::Barrier { id }) {
                        self.peers.barriers.deliver(core.program, id, g, &mut warp.registers);
                        if let (Some(clock), Some(races)) = (&clock, &mut self.peers.races) {
                            races.acquire(warp.index, g.mask, warp.live, clock);
                            races.meet(warp.index, g.mask, warp.live);
                        }
                        met += g.mask.count_ones();
                        g.state = State::Ready;
                        g.pc += 1;
                        any = true;
                    }
                }
                if any {
                    warp.hurry = 0;
                }
            }
            self.peers.barriers.reset(id);
            // Those that only arrived have gone on, and those that left were not met.
            if met == core.shape.threads
                && self.peers.blocks().len() == 1
                && let Some(races) = &mut self.peers.races
            {
                races.all_met();
            }
        }
        self.end_phases(core);
    }

    /// Lets go of the threads that wait for phases of mbarriers that have ended.
    pub(super) fn end_phases(&mut self, core: &Core<'_>) {
        for rank in 0..self.peers.blocks().len() {
            let Common { mbarriers, races, .. } = &mut self.peers.blocks_mut()[rank];
            for offset in std::mem::take(&mut mbarriers.ended) {
                let Some(barrier) = mbarriers.get_mut(offset) else { continue };
                for warp in self.warps.iter_mut().filter(|w| w.rank as usize == rank) {
                    warp.phase_ended(core, offset, barrier, races.as_deref_mut());
                }
            }
        }
    }
}
