//! The sixteen barriers of a block.

use super::core::Core;
use super::interpret::Stop;
use super::peers::Peers;
use super::warp::{Group, State, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, Registers, each, put, put_predicate};
use crate::program::{Action, Barrier, BarrierKind, NONE, Program};

/// Threads at a barrier, since it was last complete.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// How many came.
    pub arrived: u32,
    /// How many must; `None` for all that have not exited.
    pub expected: Option<u32>,
    /// Of them, those whose predicate was true.
    pub true_predicates: u32,
}

/// The barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers {
    pub state: [Arrivals; 16],
    in_use: u16,
}

impl Barriers {
    /// Counts threads in. False when they expect another number of threads than those before.
    pub(crate) fn arrive(&mut self, id: u8, threads: u32, expected: Option<u32>, true_predicates: u32) -> bool {
        let b = &mut self.state[id as usize & 15];
        let first = b.arrived == 0;
        let agree = first || b.expected == expected;
        if first {
            b.expected = expected;
        }
        b.arrived += threads;
        b.true_predicates += true_predicates;
        self.in_use |= 1 << (id & 15);
        agree
    }

    /// The barriers that everybody has come to.
    pub(crate) fn complete(&self, live: u32) -> impl Iterator<Item = u8> + use<> {
        let mut complete = 0;
        for id in each(self.in_use.into()) {
            let b = &self.state[id & 15];
            complete |= u32::from(b.arrived > 0 && b.arrived >= b.expected.unwrap_or(live)) << id;
        }
        each(complete).map(|id| id as u8)
    }

    /// Gives a released group the result of a reduction.
    pub(crate) fn deliver(&self, program: &Program, id: u8, group: &Group, registers: &mut Registers) {
        let Some(Action::Barrier(b)) = program.code.get(group.pc as usize).map(|i| i.action) else { return };
        let state = &self.state[id as usize & 15];
        let verdict = |yes: bool| if yes { u32::MAX } else { 0 };
        match b.kind {
            BarrierKind::Sync | BarrierKind::Arrive => {}
            BarrierKind::Popc => put(registers, b.d, group.mask, &[state.true_predicates; LANES]),
            BarrierKind::And => {
                put_predicate(registers, b.d, group.mask, verdict(state.true_predicates == state.arrived));
            }
            BarrierKind::Or => put_predicate(registers, b.d, group.mask, verdict(state.true_predicates > 0)),
        }
    }

    pub(crate) fn reset(&mut self, id: u8) {
        self.state[id as usize & 15] = Arrivals::default();
        self.in_use &= !(1 << (id & 15));
    }
}

impl Warp {
    /// Threads come to a barrier of the block.
    pub(super) fn barrier(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        b: &Barrier,
        group: &mut Group,
    ) -> Option<Stop> {
        self.releases(common);
        let lane = group.mask.trailing_zeros() as usize % LANES;
        let id = self.registers.r32[b.id as usize][lane];
        let expected = (b.count != NONE).then(|| self.registers.r32[b.count as usize][lane]);
        let mut complaint = String::new();
        if id > 15 {
            complaint = format!("there is no barrier {id}");
        } else if let Some(n) = expected
            && (n == 0 || n % 32 != 0 || n > core.shape.threads.next_multiple_of(32))
        {
            complaint = format!("barrier {id} for {n} threads, in a block of {}", core.shape.threads);
        }
        let id = (id & 15) as u8;
        if let Some(races) = &mut common.races {
            races.arrive(id, self.index, group.mask);
        }
        let threads = group.mask.count_ones();
        let trues = if b.p == NONE { 0 } else { (self.registers.p[b.p as usize] & group.mask).count_ones() };
        // The last warp of a block may have fewer lanes than its share of the count.
        let missing = if group.mask == self.live && expected.is_some() { LANES as u32 - threads } else { 0 };
        let before = common.barriers.state[id as usize].expected;
        if !common.barriers.arrive(id, threads + missing, expected, trues) {
            let number = |n: Option<u32>| n.map_or("all".into(), |n| n.to_string());
            complaint =
                format!("barrier {id} for {} threads, but others wait there for {}", number(expected), number(before));
        }
        if !complaint.is_empty() {
            core.report_threads(common, self.index, FindingKind::BarrierCount, group.pc, group.mask, complaint);
        }
        if b.kind == BarrierKind::Arrive {
            group.pc += 1;
            // Whoever waits for this arrival may go on at once.
            return Some(Stop::Ready);
        }
        Some(Stop::Waiting(State::Barrier { id }))
    }
}
