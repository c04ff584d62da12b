//! What a launch looks like, and the limits it is held to before a device sees it.

use crate::error::Error;
use crate::report::CompileReport;
use std::ops::RangeInclusive;
use warpsmith_ptx::{Function, Module, StateSpace, Variable};
use warpsmith_types::{Chip, Target};

/// How many blocks of how many threads, and how they are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks, along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; all ones for none.
    pub cluster: [u32; 3],
    /// Shared memory of a block beyond what the kernel declares, in bytes.
    pub dynamic_shared: u32,
    /// Programmatic dependent launch: may begin before the launch before it on the stream has ended; the kernel waits
    /// itself (`griddepcontrol.wait`).
    pub pdl: bool,
    /// Cooperative launch: all blocks run at once, or the launch is refused.
    pub cooperative: bool,
    /// Whose blocks start first when several kernels wait for room: from −5, the most urgent, to 0.
    pub priority: i32,
}

impl LaunchShape {
    /// A plain launch.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchShape {
        LaunchShape { grid, block, cluster: [1; 3], dynamic_shared: 0, pdl: false, cooperative: false, priority: 0 }
    }

    /// In clusters of so many blocks.
    pub const fn cluster(mut self, cluster: [u32; 3]) -> LaunchShape {
        self.cluster = cluster;
        self
    }

    /// With so much dynamic shared memory, in bytes.
    pub const fn dynamic_shared(mut self, bytes: u32) -> LaunchShape {
        self.dynamic_shared = bytes;
        self
    }

    /// With all blocks running at once.
    pub const fn cooperative(mut self) -> LaunchShape {
        self.cooperative = true;
        self
    }

    /// Before kernels of a higher number, of those that wait for room: −5 to 0.
    pub const fn priority(mut self, priority: i32) -> LaunchShape {
        self.priority = priority;
        self
    }

    /// With programmatic dependent launch.
    pub const fn pdl(mut self) -> LaunchShape {
        self.pdl = true;
        self
    }
}

/// Priorities of launches, the most urgent first (`cuCtxGetStreamPriorityRange` says so of every supported chip).
const PRIORITIES: RangeInclusive<i32> = -5..=0;
/// The largest grid (CUDA programming guide, compute capabilities).
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// The largest extents of a block; their product has a limit of its own.
const BLOCK: [u32; 3] = [1024, 1024, 64];
/// The most parameter bytes of a kernel on any chip.
const PARAMETERS: usize = 32764;

/// What a kernel itself wants of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelLimits {
    /// Bytes of its parameters, when known.
    pub(super) parameters: Option<usize>,
    /// Where each parameter begins in the packed bytes; empty when not known.
    pub(super) offsets: Vec<u32>,
    /// Shared memory that it declares, in bytes.
    pub(super) shared: u32,
    /// The largest block.
    pub(super) threads: Option<u32>,
    /// Registers of a thread, when known.
    pub(super) registers: Option<u32>,
    /// The one block shape that it can run with.
    pub(super) block: Option<[u32; 3]>,
    /// The one cluster shape that it can run with.
    pub(super) cluster: Option<[u32; 3]>,
}

impl KernelLimits {
    /// As the PTX says.
    pub(super) fn of(module: &Module, kernel: &Function) -> KernelLimits {
        let (mut parameters, mut offsets) = (0, vec![]);
        for p in &kernel.parameters {
            let start = align(parameters, u64::from(p.align));
            offsets.push(start as u32);
            parameters = start + p.count * u64::from(p.ty.bytes());
        }
        let product = |[x, y, z]: [u32; 3]| x.saturating_mul(y).saturating_mul(z);
        KernelLimits {
            parameters: Some(parameters as usize),
            offsets,
            shared: shared(module.variables.iter().chain(&kernel.variables)),
            threads: kernel.directives.maxntid.map(product),
            registers: None,
            block: kernel.directives.reqntid,
            cluster: kernel.directives.reqnctapercluster,
        }
    }

    /// Refuses what chip or kernel can not take; gives the bytes of the parameters to hand over.
    pub(super) fn check(
        &self,
        kernel: &str,
        chip: &Chip,
        shape: &LaunchShape,
        parameters: usize,
    ) -> Result<usize, Error> {
        let refuse = |argument, expected: String, got: String| {
            Err(Error::Launch { kernel: kernel.into(), argument, expected, got })
        };
        let axes = [
            ("grid.x", shape.grid[0], GRID[0]),
            ("grid.y", shape.grid[1], GRID[1]),
            ("grid.z", shape.grid[2], GRID[2]),
            ("block.x", shape.block[0], BLOCK[0]),
            ("block.y", shape.block[1], BLOCK[1]),
            ("block.z", shape.block[2], BLOCK[2]),
        ];
        for (argument, got, most) in axes {
            if got == 0 || got > most {
                return refuse(argument, format!("1 to {most}"), got.to_string());
            }
        }

        let threads: u32 = shape.block.iter().product();
        let most = self.threads.map_or(chip.threads_per_block, |t| t.min(chip.threads_per_block));
        if threads > most {
            let whose = if most < chip.threads_per_block { "this kernel" } else { chip.name };
            return refuse("block", format!("at most {most} threads on {whose}"), times(shape.block));
        }
        if let Some(block) = self.block
            && block != shape.block
        {
            return refuse("block", format!("{}, as the kernel requires", times(block)), times(shape.block));
        }

        let blocks = shape.cluster.iter().map(|&c| u64::from(c)).product::<u64>();
        if blocks == 0 || blocks > u64::from(chip.largest_cluster) {
            let expected = match chip.largest_cluster {
                0 | 1 => format!("1 x 1 x 1, since {} has no clusters", chip.name),
                most => format!("1 to {most} blocks on {}", chip.name),
            };
            return refuse("cluster", expected, times(shape.cluster));
        }
        for (argument, grid, cluster) in [
            ("grid.x", shape.grid[0], shape.cluster[0]),
            ("grid.y", shape.grid[1], shape.cluster[1]),
            ("grid.z", shape.grid[2], shape.cluster[2]),
        ] {
            if grid % cluster != 0 {
                return refuse(argument, format!("a multiple of the cluster's {cluster}"), grid.to_string());
            }
        }
        if let Some(cluster) = self.cluster
            && cluster != shape.cluster
        {
            return refuse("cluster", format!("{}, as the kernel requires", times(cluster)), times(shape.cluster));
        }

        let room = chip.shared_per_block.saturating_sub(self.shared);
        if shape.dynamic_shared > room {
            let expected = match self.shared {
                0 => format!("at most {room} bytes on {}", chip.name),
                s => format!("at most {room} bytes on {}, beside the kernel's own {s}", chip.name),
            };
            return refuse("dynamic_shared", expected, shape.dynamic_shared.to_string());
        }

        if !PRIORITIES.contains(&shape.priority) {
            let expected = format!("{} to {}", PRIORITIES.start(), PRIORITIES.end());
            return refuse("priority", expected, shape.priority.to_string());
        }
        if shape.cooperative {
            let grid: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
            let most = self.resident(chip, threads, shape.dynamic_shared);
            if grid > most {
                let expected = format!("at most {most} blocks, as many as run at once on {}", chip.name);
                return refuse("cooperative grid", expected, times(shape.grid));
            }
        }

        match self.parameters {
            // A C struct may end with padding, which the kernel does not have.
            Some(own) if parameters < own || parameters as u64 > align(own as u64, 16) => {
                refuse("parameters", format!("{own} bytes"), parameters.to_string())
            }
            None if parameters > PARAMETERS => {
                refuse("parameters", format!("at most {PARAMETERS} bytes"), parameters.to_string())
            }
            own => Ok(own.unwrap_or(parameters)),
        }
    }
}

impl KernelLimits {
    /// Blocks that run at once. Where registers are not known, they are no limit.
    fn resident(&self, chip: &Chip, threads: u32, dynamic_shared: u32) -> u64 {
        let registers = Some(self.registers.unwrap_or(1));
        let report = CompileReport { registers, shared: self.shared, ..CompileReport::default() };
        let blocks = report.residency(chip, threads, dynamic_shared).map_or(0, |r| r.blocks);
        u64::from(blocks) * u64::from(chip.multiprocessors)
    }
}

/// Refuses PTX for a later chip, or for the features of another one.
pub(super) fn ptx_runs_on(chip: &Chip, target: Target, entry: &str) -> Result<(), Error> {
    if chip.target.has(target) {
        Ok(())
    } else {
        Err(Error::Target { entry: entry.into(), target, device: chip.target })
    }
}

/// Bytes of the shared variables that have a size of their own, laid out in order.
fn shared<'a>(variables: impl Iterator<Item = &'a Variable>) -> u32 {
    let end = variables
        .filter(|v| matches!(v.space, StateSpace::Shared | StateSpace::SharedCta))
        .fold(0, |end, v| align(end, u64::from(v.align)) + v.bytes());
    u32::try_from(end).unwrap_or(u32::MAX)
}

fn align(n: u64, to: u64) -> u64 {
    n.next_multiple_of(to.max(1))
}

fn times([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(limits: &KernelLimits, chip: &Chip, shape: LaunchShape, parameters: usize) -> String {
        match limits.check("k", chip, &shape, parameters) {
            Ok(_) => "accepted".into(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn a_launch_is_held_to_the_chip() {
        let any = KernelLimits::default();
        let plain = LaunchShape::new([4, 1, 1], [128, 1, 1]);
        let said = |shape| refusal(&any, &Chip::H200, shape, 0);
        assert_eq!(said(plain), "accepted");
        assert_eq!(
            said(LaunchShape { grid: [0, 1, 1], ..plain }),
            "launch of `k`: grid.x is 0; expected 1 to 2147483647"
        );
        assert_eq!(
            said(LaunchShape { grid: [1, 65536, 1], ..plain }),
            "launch of `k`: grid.y is 65536; expected 1 to 65535"
        );
        assert_eq!(said(LaunchShape { block: [1, 1, 65], ..plain }), "launch of `k`: block.z is 65; expected 1 to 64");
        assert_eq!(
            said(LaunchShape { block: [1024, 2, 1], ..plain }),
            "launch of `k`: block is 1024 x 2 x 1; expected at most 1024 threads on H200"
        );
        assert_eq!(
            said(plain.cluster([32, 1, 1])),
            "launch of `k`: cluster is 32 x 1 x 1; expected 1 to 16 blocks on H200"
        );
        assert_eq!(
            said(plain.cluster([8, 1, 1])),
            "launch of `k`: grid.x is 4; expected a multiple of the cluster's 8"
        );
        assert_eq!(
            said(plain.dynamic_shared(232_449)),
            "launch of `k`: dynamic_shared is 232449; expected at most 232448 bytes on H200"
        );
        assert_eq!(
            refusal(&any, &Chip::A100, plain.cluster([2, 1, 1]), 0),
            "launch of `k`: cluster is 2 x 1 x 1; expected 1 x 1 x 1, since A100 has no clusters"
        );
        assert_eq!(said(plain.priority(-5)), "accepted");
        assert_eq!(said(plain.priority(-6)), "launch of `k`: priority is -6; expected -5 to 0");
        assert_eq!(said(plain.priority(1)), "launch of `k`: priority is 1; expected -5 to 0");
        assert_eq!(
            refusal(&any, &Chip::H200, plain, 32_765),
            "launch of `k`: parameters is 32765; expected at most 32764 bytes"
        );
    }

    #[test]
    fn a_cooperative_grid_fits_the_chip() {
        // 16 blocks of 128 threads on each of 132 multiprocessors; 4 where they take 48 KiB, 5 with 96 registers.
        let plain = LaunchShape::new([2112, 1, 1], [128, 1, 1]).cooperative();
        let said = |limits: &KernelLimits, shape| refusal(limits, &Chip::H200, shape, 0);
        let any = KernelLimits::default();
        assert_eq!(said(&any, plain), "accepted");
        let more = LaunchShape { grid: [2113, 1, 1], ..plain };
        assert_eq!(
            said(&any, more),
            "launch of `k`: cooperative grid is 2113 x 1 x 1; expected at most 2112 blocks, as many as run at once on H200"
        );
        assert_eq!(said(&any, LaunchShape { cooperative: false, ..more }), "accepted");
        assert_eq!(said(&any, LaunchShape { grid: [132, 4, 1], ..plain }.dynamic_shared(48 << 10)), "accepted");
        assert!(
            said(&any, LaunchShape { grid: [132, 5, 1], ..plain }.dynamic_shared(48 << 10)).contains("at most 528")
        );
        let limits = KernelLimits { registers: Some(96), ..any };
        assert_eq!(said(&limits, LaunchShape { grid: [660, 1, 1], ..plain }), "accepted");
        assert!(said(&limits, LaunchShape { grid: [661, 1, 1], ..plain }).contains("at most 660 blocks"));
    }

    #[test]
    fn a_launch_is_held_to_the_kernel() {
        let limits = KernelLimits {
            parameters: Some(28),
            offsets: vec![],
            shared: 1024,
            threads: Some(256),
            registers: None,
            block: Some([128, 1, 1]),
            cluster: Some([2, 1, 1]),
        };
        let right = LaunchShape::new([4, 1, 1], [128, 1, 1]).cluster([2, 1, 1]);
        let said = |shape, parameters| refusal(&limits, &Chip::H200, shape, parameters);
        assert_eq!(limits.check("k", &Chip::H200, &right, 32).ok(), Some(28));
        assert_eq!(said(right, 24), "launch of `k`: parameters is 24; expected 28 bytes");
        assert_eq!(said(right, 33), "launch of `k`: parameters is 33; expected 28 bytes");
        assert_eq!(
            said(LaunchShape { block: [512, 1, 1], ..right }, 28),
            "launch of `k`: block is 512 x 1 x 1; expected at most 256 threads on this kernel"
        );
        assert_eq!(
            said(LaunchShape { block: [64, 1, 1], ..right }, 28),
            "launch of `k`: block is 64 x 1 x 1; expected 128 x 1 x 1, as the kernel requires"
        );
        assert_eq!(
            said(right.cluster([1; 3]), 28),
            "launch of `k`: cluster is 1 x 1 x 1; expected 2 x 1 x 1, as the kernel requires"
        );
        assert_eq!(
            said(right.dynamic_shared(231_425), 28),
            "launch of `k`: dynamic_shared is 231425; expected at most 231424 bytes on H200, beside the kernel's own 1024"
        );
    }
}
