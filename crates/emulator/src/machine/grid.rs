//! A launch from the outside: what is asked for, what came of it, and the order in which blocks run.

use super::cluster::{Cluster, Progress};
use super::core::{Core, Shape};
use super::watch::Watcher;
use crate::Error;
use crate::Manifest;
use crate::finding::{Finding, FindingKind, Findings};
use crate::memory::{Global, SHARED_BASE};
use crate::profile::Profile;
use crate::program::Program;
use crate::step::{Step, Watch};
use crate::tensor_map::TensorMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use warpsmith_types::Chip;

/// What to run a kernel with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Blocks of a cluster in each direction.
    pub cluster: [u32; 3],
    /// Bytes of shared memory beside what the kernel declares.
    pub dynamic_shared: u32,
    /// The parameter block: each parameter at its natural alignment, as [`Program::parameters`] says.
    pub parameters: Vec<u8>,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads, in one direction, without parameters.
    pub fn new(grid: u32, block: u32) -> Launch {
        Launch { grid: [grid, 1, 1], block: [block, 1, 1], cluster: [1, 1, 1], dynamic_shared: 0, parameters: vec![] }
    }

    /// Appends a parameter at its natural alignment, that of a tensor map 64: `.push(&x.to_le_bytes())`.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Launch {
        let most = if bytes.len() == TensorMap::BYTES { 64 } else { 16 };
        let align = bytes.len().next_power_of_two().clamp(1, most);
        self.parameters.resize(self.parameters.len().next_multiple_of(align), 0);
        self.parameters.extend_from_slice(bytes);
        self
    }
}

/// What the sanitizer looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Bounds and alignment. Without it, a bad access still does no harm; it is just not reported.
    pub memory: bool,
    /// Reads of what nothing wrote.
    pub init: bool,
    /// Order: data races, and ordinary stores that copies and products read without a `fence.proxy.async` between.
    pub races: bool,
}

impl Checks {
    /// Everything.
    pub const ALL: Checks = Checks { memory: true, init: true, races: true };
    /// Nothing.
    pub const NONE: Checks = Checks { memory: false, init: false, races: false };
}

impl Default for Checks {
    fn default() -> Checks {
        Checks::ALL
    }
}

/// Who runs when. Every schedule is one that the hardware may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// In order with seed 0, else at random.
    #[default]
    Seeded,
    /// One instruction of each warp, and of each block that waits for others, in turn.
    RoundRobin,
    /// One warp of each block, chosen by the seed, seldom runs while another can.
    SlowWarp,
    /// One cluster, chosen by the seed, seldom runs while another can, where blocks communicate.
    SlowBlock,
}

/// How to run a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What to look for.
    pub checks: Checks,
    /// Chooses the schedule; the same seed gives the same one. 0 runs warps and blocks in order.
    pub seed: u64,
    /// Which kind of schedule.
    pub schedule: Schedule,
    /// Whether lanes of a warp run one after the other until a `.sync` or an aligned instruction brings them together.
    pub lanes_apart: bool,
    /// Warp instructions after which the launch is given up.
    pub budget: Option<u64>,
    /// Threads to run blocks on, where blocks do not communicate; 0 for one a core.
    pub threads: usize,
    /// What to write down of the launch.
    pub watch: Watch,
}

/// What came of a launch.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Warp instructions that were executed.
    pub instructions: u64,
    /// What the sanitizer found; empty when the kernel is clean.
    pub findings: Vec<Finding>,
    /// What the kernel printed with `vprintf`, block after block where they run on several threads.
    pub printed: String,
    /// Whether the launch was given up: too many faults, or no budget left.
    pub stopped: bool,
    /// What each line did, where [`Watch::profile`] asks for it.
    pub profile: Option<Profile>,
    /// What the warp of [`Watch::warp`] did.
    pub steps: Vec<Step>,
}

impl Outcome {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Faults after which a launch is given up.
const TOO_MANY: u64 = 100_000;
/// Warp instructions that a block runs before the next one gets its turn, where blocks communicate.
const TURN: u64 = 50_000;

/// Of so many turns, one is for who is slow.
pub(super) const SELDOM: u64 = 64;

/// Blocks of the largest cluster, beyond the portable eight.
const LARGEST_CLUSTER: u64 = 16;

/// Whether the kernel and the chip allow the launch.
pub(crate) fn check(program: &Program, launch: &Launch, chip: &Chip) -> Result<(), Error> {
    let fail = |reason: String| Err(Error::Launch { kernel: program.name.clone(), reason });
    let product = |v: [u32; 3]| v.iter().map(|x| u64::from(*x)).product::<u64>();
    let threads = launch.block.iter().fold(1u64, |n, x| n.saturating_mul((*x).into()));
    if threads == 0 || product(launch.grid.map(|x| x.min(1))) == 0 || launch.cluster.contains(&0) {
        return fail(format!(
            "its grid {:?}, block {:?} or cluster {:?} is empty",
            launch.grid, launch.block, launch.cluster
        ));
    }
    if threads > chip.threads_per_block.into() || launch.block[2] > 64 {
        return fail(format!("{threads} threads a block, but the {} allows {}", chip.name, chip.threads_per_block));
    }
    if launch.grid[1] > 65535 || launch.grid[2] > 65535 || launch.grid[0] > i32::MAX as u32 {
        return fail(format!("its grid {:?} is too large", launch.grid));
    }
    let together = launch.cluster.iter().fold(1u64, |n, x| n.saturating_mul((*x).into()));
    if together > LARGEST_CLUSTER || launch.grid.iter().zip(launch.cluster).any(|(grid, cluster)| grid % cluster != 0) {
        return fail(format!("its grid {:?} can not be made of clusters of {:?} blocks", launch.grid, launch.cluster));
    }
    if let Some(required) = program.reqnctapercluster
        && required.map(|x| x.max(1)) != launch.cluster
    {
        return fail(format!("it requires clusters of {required:?} blocks, not {:?}", launch.cluster));
    }
    if let Some(required) = program.reqntid
        && required.map(|x| x.max(1)) != launch.block
    {
        return fail(format!("it requires blocks of {required:?} threads, not {:?}", launch.block));
    }
    if let Some(most) = program.maxntid
        && threads > most.iter().fold(1u64, |n, x| n.saturating_mul((*x).max(1).into()))
    {
        return fail(format!("it allows blocks of at most {most:?} threads, not {:?}", launch.block));
    }
    let shared = u64::from(program.dynamic_base - SHARED_BASE) + u64::from(launch.dynamic_shared);
    if shared > chip.shared_per_block.into() {
        return fail(format!(
            "{shared} bytes of shared memory a block, but the {} has {}",
            chip.name, chip.shared_per_block
        ));
    }
    if launch.parameters.len() < program.parameter_bytes as usize {
        return fail(format!(
            "its parameters take {} bytes, but {} are given",
            program.parameter_bytes,
            launch.parameters.len()
        ));
    }
    Ok(())
}

/// Runs a checked launch.
pub(crate) fn run(
    memory: &Global,
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
    let alone = program.communicates || shape.clusters() == 1 || threads == 1;
    let core = || Core::new(memory, program, launch, &shape, variables, manifest, options, alone);
    let (executed, findings, printed, stopped, watcher) = if alone {
        let mut core = core();
        if program.communicates {
            together(&mut core, chip, options);
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
    Outcome { instructions: executed, findings: findings.finish(), printed, stopped, profile, steps }
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
fn together(core: &mut Core<'_>, chip: &Chip, options: &Options) {
    let mut waiting = 0..core.shape.clusters();
    let mut resident: VecDeque<Cluster> = VecDeque::new();
    let mut spare: Vec<Cluster> = vec![];
    let mut random = Random::new(options.seed);
    let mut rounds = 0u64;
    let limit = (core.resident_blocks(chip) / u64::from(core.shape.cluster_blocks())).max(1);
    // A cluster joins only when those before it paused: few are in memory unless they wait for each other.
    loop {
        let turn = match (options.schedule, options.seed) {
            (Schedule::RoundRobin, _) => 1,
            (Schedule::SlowBlock, 0) => TURN / SELDOM,
            (_, 0) => TURN,
            _ => random.turn(12),
        };
        let slow = (options.schedule == Schedule::SlowBlock).then(|| options.seed % core.shape.clusters());
        let mut any = false;
        rounds += 1;
        for _ in 0..resident.len() {
            let Some(mut cluster) = resident.pop_front() else { break };
            if Some(cluster.number) == slow && !rounds.is_multiple_of(SELDOM) {
                resident.push_back(cluster);
                any = true;
                continue;
            }
            match cluster.run(core, turn) {
                Progress::Paused => resident.push_back(cluster),
                Progress::Done => spare.push(cluster),
            }
            any = true;
            if !go_on(core) {
                return;
            }
        }
        let joining = if options.seed == 0 { 1 } else { 1 + random.below(4) };
        for _ in 0..joining {
            if (resident.len() as u64) < limit
                && let Some(number) = waiting.next()
            {
                let cluster = match spare.pop() {
                    Some(mut cluster) => {
                        cluster.restart(core, number);
                        cluster
                    }
                    None => Cluster::new(core, number),
                };
                resident.push_back(cluster);
                any = true;
            }
        }
        if options.seed != 0 && resident.len() > 1 {
            resident.rotate_left(random.below(resident.len() as u64) as usize);
        }
        if !any {
            return;
        }
    }
}

/// A small generator for schedules (splitmix64): the same seed, the same schedule, on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The length of a turn, up to a power of two; as many short ones as long ones.
    pub(crate) fn turn(&mut self, most: u64) -> u64 {
        let power = self.below(most + 1);
        1 + self.below(1 << power)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// A launch that used up its budget.
pub(crate) const OVER_BUDGET: FindingKind = FindingKind::Budget;
