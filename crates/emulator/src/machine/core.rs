//! What a worker carries from block to block: the program, the memory, the findings.

use super::launch::{Launch, Options};
use super::multiply::Panels;
use super::races::{Clock, Flags, Maps, Parties};
use super::space::Space;
use super::watch::Watcher;
use crate::Manifest;
use crate::finding::Findings;
use crate::lanes::{LANES, Registers};
use crate::memory::{Flat, SHARED_BASE, View};
use crate::program::{Constant, Program};
use crate::simd::Simd;
use std::rc::Rc;
use warpsmith_ptx::SpecialRegister;
use warpsmith_types::Chip;

/// The extents of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub blocks: u64,
    pub threads: u32,
    pub dynamic_shared: u32,
}

impl Shape {
    pub(crate) fn of(launch: &Launch) -> Shape {
        Shape {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            blocks: launch.grid.iter().map(|x| u64::from(*x)).product(),
            threads: launch.block.iter().product(),
            dynamic_shared: launch.dynamic_shared,
        }
    }

    pub(crate) fn warps(&self) -> u32 {
        self.threads.div_ceil(LANES as u32)
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters of the grid.
    pub(crate) fn clusters(&self) -> u64 {
        self.blocks / u64::from(self.cluster_blocks())
    }

    /// The index of a block by the number of its cluster and its rank in it.
    pub(crate) fn block_index(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let grid = std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis]);
        let (outer, inner) = (index(cluster, grid), index(rank.into(), self.cluster));
        std::array::from_fn(|axis| outer[axis] * self.cluster[axis] + inner[axis])
    }

    /// The number of a block in the grid.
    pub(crate) fn block_number(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [width, height, _] = self.grid.map(u64::from);
        (u64::from(z) * height + u64::from(y)) * width + u64::from(x)
    }

    /// Bytes of a block's shared memory, with what comes before its start.
    fn shared_bytes(&self, program: &Program) -> usize {
        if self.dynamic_shared > 0 {
            program.dynamic_base as usize + self.dynamic_shared as usize
        } else {
            program.static_shared_bytes() as usize + SHARED_BASE as usize
        }
    }

    /// How many blocks the chip runs at the same time.
    pub(crate) fn resident_blocks(&self, program: &Program, chip: &Chip) -> u64 {
        let each = Space::of(chip).holds(self.needs(program)).max(1);
        u64::from(each) * u64::from(chip.multiprocessors)
    }

    /// What a block takes of a multiprocessor.
    pub(crate) fn needs(&self, program: &Program) -> Space {
        let shared = (self.shared_bytes(program) as u32).max(1);
        Space { threads: self.threads.next_multiple_of(LANES as u32), blocks: 1, shared }
    }

    /// The index of a thread by its number in the block.
    pub(crate) fn thread_index(&self, number: u32) -> [u32; 3] {
        index(number.into(), self.block)
    }
}

/// The index of the element with that number, first axis fastest.
fn index(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(u64::from);
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}

/// A worker.
pub(crate) struct Core<'a> {
    pub program: &'a Program,
    pub memory: View<'a>,
    pub shape: &'a Shape,
    pub manifest: Option<&'a Manifest>,
    pub parameters: Flat,
    pub options: &'a Options,
    /// Whether no other worker runs blocks of this launch.
    pub alone: bool,
    pub findings: Findings,
    /// What blocks have printed, by their numbers.
    pub printed: Vec<(u64, String)>,
    /// Warp instructions so far.
    pub executed: u64,
    /// Warp instructions of other workers when there is a budget, of other launches of the run.
    pub elsewhere: u64,
    /// Of this worker's instructions, those that the others know of.
    pub shared_use: u64,
    /// Set when the launch is to be given up.
    pub stopped: bool,
    /// The allocation that the last global access was in: the next one mostly is, too.
    pub recent: usize,
    /// Registers of a warp before its first instruction, but for what depends on its place.
    pub blank: Registers,
    /// Whether races are looked for.
    pub races: bool,
    /// Whether anybody in the run has bulk copies from global memory, so that fences for them matter.
    pub proxies: bool,
    /// The number of the launch in the system.
    pub launch: u64,
    /// Who takes part in the run, and which of them this launch is.
    pub parties: Parties<'a>,
    pub party: usize,
    /// What is known to be over when the launch starts.
    pub start: Rc<Clock>,
    /// The launch before, if it need not be over when this one starts.
    pub upstream: Option<usize>,
    /// Strong writes so far: a flag that is polled has not changed while this has not.
    pub signals: u64,
    /// How often a warp was found polling in vain.
    pub spins: u64,
    /// When last a thread exited or an engine did something: who is gone may have been what others waited for.
    pub ended: u64,
    /// Blocks that have let the next launch start, or have exited.
    pub triggered: u64,
    /// What is known when that is over.
    pub upstream_over: Option<Rc<Clock>>,
    /// What threads that have exited knew of other parties; kept where there are any.
    pub left: Clock,
    /// Flags in global memory.
    pub flags: Flags,
    /// Tensor maps that the kernel has written.
    pub maps: Maps,
    /// Room for matrix operands.
    pub panels: Panels,
    /// Writes down what runs, where that is asked for.
    pub watcher: Option<Box<Watcher>>,
    seed: u64,
}

impl<'a> Core<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        memory: View<'a>,
        program: &'a Program,
        launch: &Launch,
        shape: &'a Shape,
        variables: &[u64],
        manifest: Option<&'a Manifest>,
        options: &'a Options,
        alone: bool,
        parties: Parties<'a>,
    ) -> Core<'a> {
        let mut blank = Registers {
            r32: vec![[0xcbcb_cbcb; LANES]; program.counts.r32],
            r64: vec![[0xcbcb_cbcb_cbcb_cbcb; LANES]; program.counts.r64],
            p: vec![0; program.counts.p],
            simd: Simd::detect(),
        };
        for (index, value) in &program.constants32 {
            blank.r32[*index as usize] = [*value; LANES];
        }
        for (index, value) in &program.constants64 {
            let value = match value {
                Constant::Value(value) => *value,
                Constant::Variable(n, offset) => {
                    variables.get(*n as usize).copied().unwrap_or_default().wrapping_add_signed(*offset)
                }
            };
            blank.r64[*index as usize] = [value; LANES];
        }
        for (index, value) in &program.predicates {
            blank.p[*index as usize] = if *value { u32::MAX } else { 0 };
        }
        Core {
            program,
            memory,
            shape,
            manifest,
            parameters: Flat::of(&launch.parameters),
            options,
            alone,
            findings: Findings::default(),
            printed: vec![],
            executed: 0,
            elsewhere: 0,
            shared_use: 0,
            stopped: false,
            recent: usize::MAX,
            blank,
            races: options.checks.races,
            proxies: options.checks.races && parties.load_in_bulk(),
            launch: memory.all().launches(),
            parties,
            party: 0,
            start: Rc::default(),
            upstream: None,
            signals: 0,
            spins: 0,
            ended: 0,
            triggered: 0,
            upstream_over: None,
            left: Clock::default(),
            flags: Flags::default(),
            maps: Maps::default(),
            panels: Panels::default(),
            watcher: Watcher::new(options.watch, program),
            seed: options.seed,
        }
    }

    /// Warp instructions so far, those of others included.
    pub(crate) fn now(&self) -> u64 {
        self.executed + self.elsewhere
    }

    /// Warp instructions that the budget still allows.
    pub(crate) fn allowance(&self) -> u64 {
        match self.options.budget {
            Some(budget) => budget.saturating_sub(self.executed + self.elsewhere),
            None => u64::MAX,
        }
    }

    /// A different seed for each block, the same in every run.
    pub(crate) fn seed(&self, block: u64) -> u64 {
        if self.seed == 0 { 0 } else { self.seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// Bytes of a block's shared memory, with what comes before its start.
    pub(crate) fn shared_bytes(&self) -> usize {
        self.shape.shared_bytes(self.program)
    }

    /// The value of a special register that is the same for a whole block, or `None` when it differs by lane.
    pub(crate) fn uniform(&self, special: SpecialRegister, block: [u32; 3], rank: u32, warp: u32) -> Option<u32> {
        use SpecialRegister::*;
        let s = self.shape;
        Some(match special {
            NtidX => s.block[0],
            NtidY => s.block[1],
            NtidZ => s.block[2],
            CtaidX => block[0],
            CtaidY => block[1],
            CtaidZ => block[2],
            ClusterIdX => block[0] / s.cluster[0],
            ClusterIdY => block[1] / s.cluster[1],
            ClusterIdZ => block[2] / s.cluster[2],
            ClusterCtaidX => block[0] % s.cluster[0],
            ClusterCtaidY => block[1] % s.cluster[1],
            ClusterCtaidZ => block[2] % s.cluster[2],
            ClusterCtaRank => rank,
            NctaidX => s.grid[0],
            NctaidY => s.grid[1],
            NctaidZ => s.grid[2],
            NclusterIdX => s.grid[0] / s.cluster[0],
            NclusterIdY => s.grid[1] / s.cluster[1],
            NclusterIdZ => s.grid[2] / s.cluster[2],
            WarpId => warp,
            NwarpId => s.warps(),
            ClusterNctaidX => s.cluster[0],
            ClusterNctaidY => s.cluster[1],
            ClusterNctaidZ => s.cluster[2],
            ClusterNctaRank => s.cluster_blocks(),
            NsmId => 1,
            DynamicSmemSize => s.dynamic_shared,
            TotalSmemSize => self.shared_bytes() as u32 - SHARED_BASE,
            IsExplicitCluster => (s.cluster_blocks() > 1).into(),
            GridId => (self.launch + self.party as u64) as u32,
            SmId => 0,
            _ => return None,
        })
    }

    /// The values of a special register that differs by lane.
    pub(crate) fn by_lane(&self, special: SpecialRegister, warp: u32) -> [u32; LANES] {
        use SpecialRegister::*;
        std::array::from_fn(|lane| {
            let bit = 1u32 << lane;
            let tid = |axis: usize| self.shape.thread_index(warp * LANES as u32 + lane as u32)[axis];
            match special {
                TidX => tid(0),
                TidY => tid(1),
                TidZ => tid(2),
                LaneId => lane as u32,
                LanemaskEq => bit,
                LanemaskLt => bit - 1,
                LanemaskLe => bit | (bit - 1),
                LanemaskGt => !(bit | (bit - 1)),
                LanemaskGe => !(bit - 1),
                _ => 0,
            }
        })
    }
}
