//! Who runs next.

use super::super::grid::SELDOM;
use super::super::launch::Schedule;
use super::super::random::Random;
use super::{Candidate, Setting};
use crate::memory::Owner;
use rustc_hash::{FxHashMap, FxHashSet};

/// Of so many turns of a fast device, one is for others.
const SHARED: u64 = 16;
/// Of so many turns, about one ends the precedence of who has it.
const CHANGE: u64 = 32;

/// Somebody who can run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub candidate: Candidate,
    pub owner: Owner,
    pub party: usize,
}

/// Picks by the schedule.
pub(super) struct Picker {
    schedule: Schedule,
    seed: u64,
    random: Random,
    turns: u64,
    /// Those of them that are for all, where one device is preferred.
    shared: u64,
    /// The device that is slow or fast.
    special: Owner,
    /// The precedence of each party; who has none yet draws it.
    precedence: FxHashMap<usize, u64>,
    /// The next precedence below all others.
    lowest: u64,
    /// Those that have waited in vain since somebody else did something: they are not preferred.
    tired: FxHashSet<usize>,
}

/// Precedences that are drawn lie above those that are lost.
const DRAWN: u64 = 1 << 32;

impl Picker {
    pub(super) fn new(setting: &Setting<'_>, random: Random) -> Picker {
        let mut owners: Vec<Owner> = setting.queues.iter().map(|q| q.owner).collect();
        owners.sort();
        owners.dedup();
        let seed = setting.options.seed;
        let special = owners.get((seed % owners.len().max(1) as u64) as usize).copied().unwrap_or_default();
        Picker {
            schedule: setting.options.schedule,
            seed,
            random,
            turns: 0,
            shared: 0,
            special,
            precedence: FxHashMap::default(),
            lowest: DRAWN,
            tired: FxHashSet::default(),
        }
    }

    pub(super) fn pick(&mut self, ready: &[Ready]) -> Option<Candidate> {
        self.turns += 1;
        let of_special = |special: bool| -> Vec<Ready> {
            let preferred = |r: &Ready| (r.owner == self.special) == special && !self.tired.contains(&r.party);
            ready.iter().copied().filter(preferred).collect()
        };
        let among = match self.schedule {
            Schedule::Adversarial => return self.first(ready),
            Schedule::SlowDevice if !self.turns.is_multiple_of(SELDOM) => of_special(false),
            Schedule::FastDevice if !self.turns.is_multiple_of(SHARED) => of_special(true),
            _ => vec![],
        };
        self.shared += u64::from(among.is_empty());
        // Each in turn: every sixteenth turn of four would always be the same one's.
        let turn = if among.is_empty() { self.shared } else { self.turns };
        let among = if among.is_empty() { ready } else { among.as_slice() };
        let place = match (self.schedule, self.seed) {
            (Schedule::RoundRobin, _) | (_, 0) => turn % among.len().max(1) as u64,
            _ => self.random.below(among.len() as u64),
        };
        let chosen = among.get(place as usize)?;
        if !self.tired.contains(&chosen.party) {
            self.tired.clear();
        }
        Some(chosen.candidate)
    }

    /// The one that comes first of all that can run.
    fn first(&mut self, ready: &[Ready]) -> Option<Candidate> {
        for r in ready {
            let random = &mut self.random;
            self.precedence.entry(r.party).or_insert_with(|| DRAWN + random.below(DRAWN));
        }
        let first = ready.iter().max_by_key(|r| self.precedence.get(&r.party).copied())?;
        if self.random.below(CHANGE) == 0 {
            self.yields(first.party);
        }
        Some(first.candidate)
    }

    /// Somebody waits in vain: others come first.
    pub(super) fn yields(&mut self, party: usize) {
        self.lowest = self.lowest.saturating_sub(1);
        self.precedence.insert(party, self.lowest);
        self.tired.insert(party);
    }
}
