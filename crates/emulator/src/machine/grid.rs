//! A launch that is run: the order in which its blocks do.

use super::cluster::{Cluster, Progress};
use super::core::{Core, Shape};
use super::launch::{Launch, Options, Outcome, Schedule};
use super::races::{Parties, Party, Work};
use super::random::Random;
use super::watch::Watcher;
use crate::Manifest;
use crate::finding::{FindingKind, Findings};
use crate::memory::View;
use crate::program::Program;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use warpsmith_types::Chip;

/// Faults after which a launch is given up.
const TOO_MANY: u64 = 100_000;
/// Warp instructions that a block runs before the next one gets its turn, where blocks communicate.
const TURN: u64 = 50_000;

/// Of so many turns, one is for who is slow.
pub(super) const SELDOM: u64 = 64;

/// Runs a checked launch that is alone.
pub(crate) fn run(
    (memory, name): (View<'_>, &str),
    chip: &Chip,
    program: &Program,
    launch: &Launch,
    variables: &[u64],
    manifest: Option<&Manifest>,
    options: &Options,
) -> Outcome {
    let shape = Shape::of(launch);
    let threads = match options.threads {
        0 => rayon::current_num_threads(),
        n => n,
    };
    let work = Work::Grid { program, shape: &shape };
    let parties = [Party { owner: memory.device(), name: name.into(), work }];
    let parties = Parties(&parties);
    let alone = program.communicates || shape.clusters() == 1 || threads == 1;
    let core = || Core::new(memory, program, launch, &shape, variables, manifest, options, alone, parties);
    let broken = core().overlaps();
    let (executed, findings, printed, stopped, watcher) = if alone {
        let mut core = core();
        if program.communicates {
            let mut grid = Grid::new(core, chip, options);
            while grid.turn(u64::MAX) != Step::Over {
                if grid.is_stuck() {
                    grid.deadlock();
                }
            }
            core = grid.core;
        } else {
            let mut storage = None;
            for number in 0..shape.clusters() {
                if !one(&mut core, &mut storage, number) {
                    break;
                }
            }
        }
        (core.executed, core.findings, core.printed, core.stopped, core.watcher)
    } else {
        spread(core, shape.clusters(), threads, options)
    };
    let printed = printed.into_iter().map(|(_, text)| text).collect();
    let (profile, steps) = watcher.map(|w| w.finish(program)).unwrap_or_default();
    let mut all = broken;
    all.extend(findings.finish());
    Outcome { instructions: executed, findings: all, printed, stopped, profile, steps }
}

/// Of several workers: instructions, findings, what each block printed, whether the launch was given up, what was seen.
type Results = (u64, Findings, Vec<(u64, String)>, bool, Option<Box<Watcher>>);

/// Clusters that do not communicate, on several threads.
fn spread<'a>(core: impl Fn() -> Core<'a> + Sync, clusters: u64, threads: usize, options: &Options) -> Results {
    let next = AtomicU64::new(0);
    let used = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let results = std::sync::Mutex::new(Results::default());
    // A few blocks at a time: fair when blocks differ, and the counter stays cold.
    let chunk = (clusters / (threads as u64 * 8)).clamp(1, 64);
    rayon::scope(|scope| {
        for _ in 0..(threads as u64).min(clusters) {
            scope.spawn(|_| {
                let mut core = core();
                let mut storage = None;
                'work: loop {
                    let first = next.fetch_add(chunk, Relaxed);
                    if first >= clusters {
                        break;
                    }
                    for number in first..(first + chunk).min(clusters) {
                        if stop.load(Relaxed) {
                            core.stopped = true;
                            break 'work;
                        }
                        let before = core.executed;
                        if options.budget.is_some() {
                            // What others used is gone for this worker, too.
                            core.elsewhere = used.load(Relaxed).saturating_sub(core.shared_use);
                        }
                        let go_on = one(&mut core, &mut storage, number);
                        let delta = core.executed - before;
                        core.shared_use += delta;
                        used.fetch_add(delta, Relaxed);
                        if !go_on {
                            stop.store(true, Relaxed);
                            break 'work;
                        }
                    }
                }
                if let Ok(mut results) = results.lock() {
                    results.0 += core.executed;
                    results.1.merge(core.findings);
                    results.2.extend(core.printed);
                    results.3 |= core.stopped;
                    match (&mut results.4, core.watcher) {
                        (Some(all), Some(watcher)) => all.merge(*watcher),
                        (all, watcher) => *all = all.take().or(watcher),
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.2.sort_by_key(|(block, _)| *block);
    results
}

/// One cluster to its end, in the storage of the one before. False when the launch is to stop.
fn one(core: &mut Core<'_>, storage: &mut Option<Cluster>, number: u64) -> bool {
    let cluster = match storage {
        Some(cluster) => {
            cluster.restart(core, number);
            cluster
        }
        None => storage.insert(Cluster::new(core, number)),
    };
    while cluster.run(core, u64::MAX) == Progress::Paused {}
    go_on(core)
}

fn go_on(core: &mut Core<'_>) -> bool {
    core.stopped |= core.findings.total > TOO_MANY;
    !core.stopped
}

/// Clusters that may wait for each other: as many at a time as the chip holds, each for a turn.
pub(crate) struct Grid<'a> {
    pub core: Core<'a>,
    /// Those that have not started.
    waiting: Range<u64>,
    pub(super) resident: VecDeque<Cluster>,
    spare: Vec<Cluster>,
    random: Random,
    rounds: u64,
    /// Clusters that the chip holds.
    pub limit: u64,
    pub(super) chip: &'static str,
    /// Whether all its clusters run at the same time.
    pub cooperative: bool,
    /// Of the residents, those that have not had their turn in this round; `None` before the first.
    left: Option<usize>,
    /// Instructions of a turn in this round.
    turn: u64,
    /// Whether any cluster has run, or only waited, in this round.
    any: bool,
    moved: bool,
    /// What [`Core::spins`] was when the grid was last looked at.
    looked: u64,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is more to do.
    Ran,
    /// All that are resident wait for the launch before.
    Blocked,
    /// All blocks have run, or the launch was given up.
    Over,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(core: Core<'a>, chip: &Chip, options: &Options) -> Grid<'a> {
        Grid {
            waiting: 0..core.shape.clusters(),
            resident: VecDeque::new(),
            spare: vec![],
            random: Random::new(options.seed),
            rounds: 0,
            limit: (core.shape.resident_blocks(core.program, chip) / u64::from(core.shape.cluster_blocks())).max(1),
            chip: chip.name,
            cooperative: false,
            left: None,
            turn: 0,
            any: false,
            moved: false,
            looked: 0,
            core,
        }
    }

    /// Clusters that run.
    pub(super) fn resident(&self) -> usize {
        self.resident.len()
    }

    /// Clusters that others have to leave room for.
    pub(super) fn claims(&self) -> u64 {
        if self.cooperative { self.core.shape.clusters() } else { self.resident.len() as u64 }
    }

    /// Clusters that have not started.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.end - self.waiting.start
    }

    /// One cluster runs for a turn; so many more than there are may become resident.
    pub(crate) fn turn(&mut self, room: u64) -> Step {
        if self.core.stopped {
            return Step::Over;
        }
        while self.left.is_none_or(|left| left == 0) {
            if self.left.is_some() {
                let (moved, joined) = (self.moved, self.join(room));
                if !self.any && !joined {
                    return if self.waiting.is_empty() { Step::Over } else { Step::Blocked };
                }
                if self.any && !moved && !joined {
                    self.start_round();
                    return Step::Blocked;
                }
            }
            self.start_round();
        }
        self.left = self.left.map(|left| left - 1);
        let Some(mut cluster) = self.resident.pop_front() else { return Step::Ran };
        self.any = true;
        let options = self.core.options;
        let slow = options.schedule == Schedule::SlowBlock
            && cluster.number == options.seed % self.core.shape.clusters()
            && !self.rounds.is_multiple_of(SELDOM);
        if slow {
            self.moved = true;
            self.resident.push_back(cluster);
            return Step::Ran;
        }
        let progress = cluster.run(&mut self.core, self.turn);
        self.moved |= progress != Progress::Blocked;
        match progress {
            Progress::Paused | Progress::Blocked => self.resident.push_back(cluster),
            Progress::Done => self.spare.push(cluster),
        }
        if go_on(&mut self.core) { Step::Ran } else { Step::Over }
    }

    /// Something has happened that its clusters may have waited for: that none moved in this round says nothing.
    pub(super) fn may_go_on(&mut self) {
        self.moved = true;
    }

    fn start_round(&mut self) {
        let options = self.core.options;
        self.turn = match (options.schedule, options.seed) {
            (Schedule::RoundRobin, _) => 1,
            (Schedule::SlowBlock, 0) => TURN / SELDOM,
            (_, 0) => TURN,
            _ => self.random.turn(12),
        };
        self.rounds += 1;
        (self.any, self.moved) = (false, false);
        self.left = Some(self.resident.len());
    }

    /// Clusters join when those before them have paused: few are in memory unless they wait for each other.
    fn join(&mut self, room: u64) -> bool {
        let seed = self.core.options.seed;
        let most = self.limit.min((self.resident.len() as u64).saturating_add(room));
        let joining = if seed == 0 { 1 } else { 1 + self.random.below(4) };
        let mut any = false;
        for _ in 0..joining {
            if (self.resident.len() as u64) < most
                && let Some(number) = self.waiting.next()
            {
                let cluster = match self.spare.pop() {
                    Some(mut cluster) => {
                        cluster.restart(&self.core, number);
                        cluster
                    }
                    None => Cluster::new(&self.core, number),
                };
                self.resident.push_back(cluster);
                any = true;
            }
        }
        if seed != 0 && self.resident.len() > 1 {
            self.resident.rotate_left(self.random.below(self.resident.len() as u64) as usize);
        }
        any
    }

    /// Ends all threads where they stand.
    pub(super) fn give_up(&mut self) {
        self.resident.clear();
        self.waiting = 0..0;
        (self.left, self.any) = (Some(0), false);
    }

    /// Whether all of it is resident that can be, and no thread of it can make anything happen.
    fn is_stuck(&mut self) -> bool {
        if self.core.spins == self.looked {
            return false;
        }
        self.looked = self.core.spins;
        let full = self.waiting.is_empty() || self.resident.len() as u64 >= self.limit;
        full && self.stuck_since().is_some_and(|(since, seen)| since < seen)
    }

    /// When the last of its threads began to wait or to poll in vain, and up to when all have done so.
    pub(super) fn stuck_since(&mut self) -> Option<(u64, u64)> {
        let mut all = (0, u64::MAX);
        for cluster in &mut self.resident {
            let (since, seen) = cluster.stuck_since(&mut self.core)?;
            all = (all.0.max(since), all.1.min(seen));
        }
        Some(all)
    }
}

/// A launch that used up its budget.
pub(crate) const OVER_BUDGET: FindingKind = FindingKind::Budget;
