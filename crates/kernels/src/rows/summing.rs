//! Rows that are summed over, besides what becomes of each.

use super::plan::BLOCK;
use super::{Ringed, RowPlan};
use warpsmith_types::Chip;

/// Bytes of the inputs of a row that comes soon enough without a ring.
const SHORT: usize = 1 << 10;
/// Values of a thread, and the most threads to a row that one block goes over, as measured on an H200: with a weight and its
/// sums, 16 values leave room for 512 threads to a multiprocessor, which is enough where a row is a warp's or two's; 8 leave
/// room for 1024.
const ALONE: [(usize, usize); 3] = [(16, 64), (8, 1024), (16, 1024)];
/// Threads of a multiprocessor.
const RESIDENT: usize = 1024;
/// Bytes of a row's inputs that a block of a cluster has where clusters go as far: three such blocks and two stages of each
/// fill shared memory.
const PART: usize = 32 << 10;
/// Bytes that a thread of such a block has, with two sums and with one. Few threads with much each, for a row waits for all
/// of its threads.
const MUCH: [usize; 2] = [128, 256];
/// The same of the largest clusters, of which multiprocessors hold one block each.
const LESS: [usize; 2] = [128, 192];
/// The longest row that a block holds beside its sums: 64 registers of both for each of 512 threads.
const HELD: usize = 8192;
/// Registers that a thread needs besides.
const OWN: usize = 32;
/// Blocks to a multiprocessor of short rows, without a ring.
const SHORT_BLOCKS: usize = 4;

/// What rows are summed over by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summing {
    /// Of an element of all inputs together.
    pub bytes: usize,
    /// Whether accesses have the 4 bytes that `cp.async` copies at least.
    pub copies: bool,
    /// Whether registers keep what goes with every row.
    pub keeps: bool,
}

impl RowPlan {
    /// For rows of two inputs that blocks, or clusters, go over many of, with sums over all of theirs in registers. Also says
    /// how many blocks, or clusters, a chip runs at once. `None` where neither shared memory nor registers hold a row.
    pub fn summing(dim: usize, vector: usize, by: Summing, chip: &Chip) -> Option<(RowPlan, usize)> {
        let multiprocessors = chip.multiprocessors as usize;
        if dim * by.bytes <= SHORT {
            let plan = RowPlan::in_block_of(dim, vector, 2, 2)?;
            return Some((plan, multiprocessors * SHORT_BLOCKS));
        }
        if let Some(mut plan) = RowPlan::summing_ring(dim, vector, by, chip) {
            let ring = plan.ring.as_mut()?;
            ring.most_blocks = ring.blocks;
            let parts = ring.blocks / plan.cluster;
            return Some((plan, parts));
        }
        let plan = RowPlan::in_block_of(dim, vector, 2, 4).filter(|_| dim <= HELD)?;
        let parts = multiprocessors * (RESIDENT / 2 / plan.threads()).max(1);
        Some((plan, parts))
    }

    fn summing_ring(dim: usize, vector: usize, by: Summing, chip: &Chip) -> Option<RowPlan> {
        let Summing { bytes, copies, keeps } = by;
        if !copies {
            return None;
        }
        // Two f32 rows of a warp or two leave room for too few threads.
        let ways = ALONE.into_iter().skip(usize::from(bytes > 4));
        let alone = ways.map(|(values, most)| (1, dim.div_ceil(values).next_power_of_two(), most));
        let portable = (dim * bytes).div_ceil(PART).next_power_of_two().min(chip.cluster as usize);
        let shared = |(cluster, much): (usize, usize)| {
            let runs = dim.div_ceil(vector).div_ceil(cluster);
            let few = (runs * vector * bytes).div_ceil(much);
            let few = if cluster > 8 { few } else { few.next_power_of_two() };
            // As few as do with as many accesses, so that the last block has its share too.
            let threads = runs.div_ceil(runs.div_ceil(few)).next_multiple_of(32).max(BLOCK);
            (cluster, threads, 512)
        };
        // Where those do not hold two stages, the largest.
        let largest = [chip.largest_cluster as usize].into_iter().filter(|c| *c > chip.cluster as usize);
        let shared = [(portable, MUCH[usize::from(keeps)])]
            .into_iter()
            .chain(largest.map(|c| (c, LESS[usize::from(keeps)])))
            .map(shared);
        let mut ways = alone.chain(shared).filter(|(_, threads, most)| threads <= most);
        ways.find_map(|(cluster, threads, _)| {
            let resident = (1..=RESIDENT / threads.max(BLOCK)).rev();
            let mut all = resident.flat_map(|resident| [(resident, true), (resident, false)]);
            // A warp's rows are small: many are to be under way.
            let (stages, least) = match threads {
                ..=64 => (8, 8),
                1024 => (2, 2),
                _ if cluster > 1 => (2, 2),
                _ => (8, 2),
            };
            all.find_map(|(resident, holds)| {
                let ring = Ringed { threads, cluster, bytes, holds, keeps, resident, stages };
                let plan = RowPlan::ringed(dim, vector, 2, ring, chip)?;
                // Both rows where they are held, and one sum and what is kept, or two sums.
                let each = if holds { 4 } else { 2 };
                let more = if keeps { 0 } else { plan.tv.values() + 8 };
                let registers = each * plan.tv.values() + OWN + more;
                // They are given by eights.
                let fits =
                    registers <= chip.registers_per_multiprocessor as usize / (plan.threads() * resident) / 8 * 8;
                (fits && plan.ring?.stages >= least).then_some(plan)
            })
        })
    }
}
