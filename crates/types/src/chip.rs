//! Chips as data: what plans and the emulator need to know of them.

use crate::target::Target;

/// A GPU's limits and sizes. From NVIDIA's tuning guides and the CUDA programming guide's table of compute capabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// The product's name.
    pub name: &'static str,
    /// The instruction set to compile for.
    pub target: Target,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Threads resident on one multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks resident on one multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Threads in a block.
    pub threads_per_block: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory of one multiprocessor that blocks can use, in bytes.
    pub shared_per_multiprocessor: u32,
    /// Shared memory that one block can ask for, in bytes.
    pub shared_per_block: u32,
    /// Blocks in a cluster without opting into non-portable sizes (1: no clusters).
    pub cluster: u32,
    /// Blocks in a cluster that opts into the chip's own size. Fewer such clusters find room on a chip at once.
    pub largest_cluster: u32,
    /// Level-two cache, in bytes.
    pub l2: u64,
    /// Datasheet memory bandwidth in bytes a second.
    pub bandwidth: u64,
}

impl Chip {
    /// NVIDIA A100, 80 GB SXM.
    pub const A100: Chip = Chip {
        name: "A100",
        target: Target::SM_80,
        multiprocessors: 108,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        threads_per_block: 1024,
        registers_per_multiprocessor: 65536,
        shared_per_multiprocessor: 164 * 1024,
        shared_per_block: 163 * 1024,
        cluster: 1,
        largest_cluster: 1,
        l2: 40 << 20,
        bandwidth: 2_039_000_000_000,
    };
    /// NVIDIA H100 SXM.
    pub const H100: Chip = Chip { name: "H100", bandwidth: 3_352_000_000_000, l2: 50 << 20, ..Chip::H200 };
    /// NVIDIA H200 SXM.
    pub const H200: Chip = Chip {
        name: "H200",
        target: Target::SM_90A,
        multiprocessors: 132,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        threads_per_block: 1024,
        registers_per_multiprocessor: 65536,
        shared_per_multiprocessor: 228 * 1024,
        shared_per_block: 227 * 1024,
        cluster: 8,
        largest_cluster: 16,
        l2: 60 << 20,
        bandwidth: 4_800_000_000_000,
    };
    /// NVIDIA B200.
    pub const B200: Chip = Chip {
        name: "B200",
        target: Target::SM_100A,
        multiprocessors: 148,
        l2: 126 << 20,
        bandwidth: 8_000_000_000_000,
        ..Chip::H200
    };

    /// NVIDIA B300.
    pub const B300: Chip = Chip { name: "B300", target: Target::SM_103A, ..Chip::B200 };
    /// NVIDIA GeForce RTX 4090.
    pub const RTX_4090: Chip = Chip {
        name: "RTX 4090",
        target: Target::SM_89,
        multiprocessors: 128,
        threads_per_multiprocessor: 1536,
        blocks_per_multiprocessor: 24,
        threads_per_block: 1024,
        registers_per_multiprocessor: 65536,
        shared_per_multiprocessor: 100 * 1024,
        shared_per_block: 99 * 1024,
        cluster: 1,
        largest_cluster: 1,
        l2: 72 << 20,
        bandwidth: 1_008_000_000_000,
    };
    /// NVIDIA GeForce RTX 5090.
    pub const RTX_5090: Chip = Chip {
        name: "RTX 5090",
        target: Target::SM_120A,
        multiprocessors: 170,
        cluster: 8,
        largest_cluster: 8,
        l2: 96 << 20,
        bandwidth: 1_792_000_000_000,
        ..Chip::RTX_4090
    };

    /// The chips known by name.
    pub const ALL: [Chip; 7] =
        [Chip::A100, Chip::H100, Chip::H200, Chip::B200, Chip::B300, Chip::RTX_4090, Chip::RTX_5090];

    /// The chip of that name, in any case and with or without spaces: `RTX 5090`, `rtx5090`.
    pub fn by_name(name: &str) -> Option<Chip> {
        let plain = |name: &str| name.replace([' ', '-', '_'], "").to_ascii_lowercase();
        Chip::ALL.into_iter().find(|c| plain(c.name) == plain(name))
    }

    /// A chip that a target is for; of several the latest.
    pub fn of_target(target: Target) -> Option<Chip> {
        Chip::ALL.into_iter().rfind(|c| c.target == target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found() {
        for chip in Chip::ALL {
            assert_eq!(Chip::by_name(chip.name), Some(chip));
            assert_eq!(Chip::of_target(chip.target).map(|c| c.target), Some(chip.target));
        }
        assert_eq!(Chip::by_name("rtx5090"), Some(Chip::RTX_5090));
        assert_eq!(Chip::of_target(Target::SM_90A), Some(Chip::H200));
        assert_eq!(Chip::by_name("TPU"), None);
    }
}
