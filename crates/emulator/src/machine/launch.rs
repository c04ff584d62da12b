//! What is asked for, what came of it, and whether a launch can be.

use super::core::Shape;
use super::races::MOST_BLOCKS;
use crate::Error;
use crate::finding::Finding;
use crate::memory::SHARED_BASE;
use crate::profile::Profile;
use crate::program::Program;
use crate::step::{Step, Watch};
use crate::tensor_map::TensorMap;
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
    /// Whether all blocks must run at the same time, as a barrier of the grid needs: more than fit are refused.
    pub cooperative: bool,
    /// Whether it may start when all blocks of the launch before it in the stream have run
    /// `griddepcontrol.launch_dependents` or exited; `griddepcontrol.wait` then waits for its end.
    pub dependent: bool,
    /// The parameter block: each parameter at its natural alignment, as [`Program::parameters`] says.
    pub parameters: Vec<u8>,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads, in one direction, without parameters.
    pub fn new(grid: u32, block: u32) -> Launch {
        Launch {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            cluster: [1, 1, 1],
            dynamic_shared: 0,
            cooperative: false,
            dependent: false,
            parameters: vec![],
        }
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
    /// One device, chosen by the seed, or the host seldom runs while another can.
    SlowDevice,
    /// One device, chosen by the seed, runs whenever it can.
    FastDevice,
    /// Launches, copies and the host have an order of precedence that the seed chooses, and changes a few times:
    /// whoever can run and comes first does.
    Adversarial,
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
    let blocks = product(launch.grid);
    if launch.grid[1] > 65535 || launch.grid[2] > 65535 || launch.grid[0] > i32::MAX as u32 || blocks > MOST_BLOCKS {
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
    let most = Shape::of(launch).resident_blocks(program, chip) / together * together;
    if launch.cooperative && blocks > most {
        return fail(format!(
            "it is cooperative and has {blocks} blocks, but the {} runs at most {most} of them at the same time",
            chip.name
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
