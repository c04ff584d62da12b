//! A block: its warps, its shared memory, its barriers, and the turns that the warps take.

use super::barrier::Barriers;
use super::core::Core;
use super::grid::Random;
use super::warp::{State, Warp};
use crate::memory::Flat;

/// How far a block came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All its threads have exited, or it was given up.
    Done,
    /// Its turn is over.
    Paused,
}

/// What the warps of a block share.
#[derive(Debug)]
pub(crate) struct Common {
    pub number: u64,
    pub index: [u32; 3],
    pub shared: Flat,
    pub barriers: Barriers,
    /// Threads that have not exited.
    pub live: u32,
}

/// A block that runs.
#[derive(Debug)]
pub(crate) struct Block {
    pub common: Common,
    pub warps: Vec<Warp>,
    /// The warp whose turn it is.
    next: usize,
    random: Option<Random>,
}

/// Instructions that a warp runs before the next one gets its turn, unless it waits earlier.
const TURN: u64 = 20_000;

impl Block {
    pub(crate) fn new(core: &Core<'_>, number: u64) -> Block {
        let common = Common {
            number,
            index: [0; 3],
            shared: Flat::new(core.shared_bytes()),
            barriers: Barriers::default(),
            live: 0,
        };
        let warps = (0..core.shape.warps()).map(|index| Warp::new(core, index)).collect();
        let mut block = Block { common, warps, next: 0, random: None };
        block.restart(core, number);
        block
    }

    /// Makes it another block of the grid, in the same storage.
    pub(crate) fn restart(&mut self, core: &Core<'_>, number: u64) {
        let common = &mut self.common;
        common.number = number;
        common.index = core.shape.block_index(number);
        common.shared.clear();
        common.barriers = Barriers::default();
        common.live = core.shape.threads;
        for warp in &mut self.warps {
            warp.restart(core, common.index);
        }
        self.next = 0;
        let seed = core.seed(number);
        self.random = (seed != 0).then(|| Random::new(seed));
    }

    /// Runs for about so many instructions.
    pub(crate) fn run(&mut self, core: &mut Core<'_>, turn: u64) -> Progress {
        let end = core.executed.saturating_add(turn);
        let mut idle = 0;
        while self.common.live > 0 {
            let allowance = core.allowance();
            if allowance == 0 {
                self.over_budget(core);
                return Progress::Done;
            }
            if core.executed >= end {
                return Progress::Paused;
            }
            let count = self.warps.len();
            let warp = &mut self.warps[self.next];
            self.next = (self.next + 1) % count;
            if !warp.is_ready() {
                idle += 1;
                if idle == count {
                    self.deadlock(core);
                    return Progress::Done;
                }
                continue;
            }
            idle = 0;
            let turn = match &mut self.random {
                Some(random) => {
                    // Some other warp next; each still gets its turn within a few rounds.
                    self.next = (self.next + random.below(count as u64) as usize) % count;
                    1 + random.below(500)
                }
                None => TURN,
            };
            warp.run(core, &mut self.common, turn.min(allowance).min(end - core.executed));
            self.release(core);
        }
        Progress::Done
    }

    /// Lets go of the threads at barriers that are complete.
    fn release(&mut self, core: &mut Core<'_>) {
        for id in self.common.barriers.complete(self.common.live) {
            self.check_release(core, id);
            for warp in &mut self.warps {
                let mut any = false;
                for g in &mut warp.groups {
                    if g.state == (State::Barrier { id }) {
                        self.common.barriers.deliver(core.program, id, g, &mut warp.registers);
                        g.state = State::Ready;
                        g.pc += 1;
                        any = true;
                    }
                }
                if any {
                    warp.hurry = 0;
                }
            }
            self.common.barriers.reset(id);
        }
    }
}
