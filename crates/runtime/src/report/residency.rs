//! How many blocks of a kernel a multiprocessor holds at one time.

use super::compile::CompileReport;
use std::fmt;
use warpsmith_types::Chip;

/// Blocks that are resident on one multiprocessor, and what keeps more from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Residency {
    /// Blocks.
    pub blocks: u32,
    /// Warps of these, of those that the multiprocessor can hold.
    pub warps: (u32, u32),
    /// What is used up first.
    pub limit: Limit,
}

/// What a multiprocessor runs out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Threads.
    Threads,
    /// Slots for blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

/// Registers are given to a warp in units of so many (CUDA's occupancy calculator, compute capabilities 8.0 to 12.0).
const REGISTER_UNIT: u32 = 256;
/// Warps are given registers in groups of so many: one to each quarter of a multiprocessor.
const WARP_GROUP: u32 = 4;
/// Shared memory is given out in units of so many bytes.
const SHARED_UNIT: u32 = 128;
/// Shared memory that the system takes for each block, in bytes.
const SHARED_RESERVED: u32 = 1024;

impl CompileReport {
    /// How many blocks of `threads` threads with so much dynamic shared memory a multiprocessor of the chip holds; `None`
    /// when the registers are not known, or not one block fits.
    pub fn residency(&self, chip: &Chip, threads: u32, dynamic_shared: u32) -> Option<Residency> {
        let warps = threads.div_ceil(32).max(1);
        let of_warp = (32 * self.registers?).next_multiple_of(REGISTER_UNIT).max(REGISTER_UNIT);
        let with_registers = chip.registers_per_multiprocessor / of_warp / WARP_GROUP * WARP_GROUP;
        let shared = (self.shared.saturating_add(dynamic_shared)).saturating_add(SHARED_RESERVED);
        let shared = shared.checked_next_multiple_of(SHARED_UNIT)?;
        let limits = [
            (chip.threads_per_multiprocessor / 32 / warps, Limit::Threads),
            (chip.blocks_per_multiprocessor, Limit::Blocks),
            (with_registers / warps, Limit::Registers),
            (chip.shared_per_multiprocessor / shared, Limit::Shared),
        ];
        let (blocks, limit) = limits.into_iter().min()?;
        let warps = (blocks * warps, chip.threads_per_multiprocessor / 32);
        (blocks > 0).then_some(Residency { blocks, warps, limit })
    }
}

impl fmt::Display for Residency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warps, of) = self.warps;
        let limit = match self.limit {
            Limit::Threads => "threads",
            Limit::Blocks => "slots for blocks",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
        };
        let s = if self.blocks == 1 { "" } else { "s" };
        write!(f, "{} block{s} a multiprocessor, {warps} of {of} warps; limited by {limit}", self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_thing_decides() {
        // As CUDA's occupancy calculator has it.
        let on = |chip: &Chip, registers, shared, threads, dynamic| {
            let report = CompileReport { registers: Some(registers), shared, ..CompileReport::default() };
            report.residency(chip, threads, dynamic).map(|r| (r.blocks, r.warps.0, r.limit))
        };
        assert_eq!(on(&Chip::H200, 32, 0, 256, 0), Some((8, 64, Limit::Threads)));
        assert_eq!(on(&Chip::H200, 16, 0, 32, 0), Some((32, 32, Limit::Blocks)));
        // 3072 registers a warp: 21 fit, 20 are given out.
        assert_eq!(on(&Chip::H200, 96, 0, 128, 0), Some((5, 20, Limit::Registers)));
        assert_eq!(on(&Chip::H200, 168, 0, 384, 214_016), Some((1, 12, Limit::Registers)));
        assert_eq!(on(&Chip::H200, 32, 48 * 1024, 128, 0), Some((4, 16, Limit::Shared)));
        assert_eq!(on(&Chip::RTX_5090, 32, 0, 256, 0), Some((6, 48, Limit::Threads)));
        assert_eq!(on(&Chip::A100, 255, 0, 512, 0), None);
        assert_eq!(CompileReport::default().residency(&Chip::H200, 32, 0), None);
        let report = CompileReport { registers: Some(96), ..CompileReport::default() };
        assert_eq!(
            report.residency(&Chip::H200, 128, 0).unwrap().to_string(),
            "5 blocks a multiprocessor, 20 of 64 warps; limited by registers"
        );
    }
}
