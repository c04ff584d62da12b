//! How blocks cover rows: plain data, chosen by a model of the chip.

use super::staging::{RingPlan, Ringed};
use std::fmt;
use warpsmith_dsl::{ArgumentError, RowGroup, Tv, U32, thread_idx};
use warpsmith_types::Chip;

/// The longest row that one block holds in registers, when it holds one tensor.
pub const LONGEST_ROW: usize = 49_152;

/// How blocks cover rows of one length: `threads_per_row` threads share a row, each owning `vectors` runs of `vector`
/// elements; `rows` rows share a block, and `cluster` blocks a row.
///
/// The choice follows from what limits such kernels, memory requests in flight, and from measurements on an H200
/// (`bench/results`):
/// - accesses are as wide as alignment allows, up to 128 bits;
/// - a thread has two of them at once, both issued before the first is used: with few registers a thread, many threads
///   fit a multiprocessor, and other rows load while one waits at its barrier;
/// - beyond 512 threads a row, more accesses a thread are better than more threads, up to eight;
/// - short rows share a block of 128 threads, or of 256 that do little with them, and rows that a warp holds need no shared
///   memory and no barrier;
/// - of short rows with a weight, warps go over many through rings, and keep it in registers;
/// - where more than a ninth of those threads would have nothing to do, a thread has up to three accesses more instead; narrow
///   accesses are more, so that as many bytes are under way;
/// - longer rows of 16-bit floats are staged: copied into shared memory, 16 or 32 KiB to a block of a cluster, and read there
///   twice, so that registers are left to other rows' blocks, and in slices where that leaves more; f32 rows have half the
///   elements to as many bytes, and are held by the fewest blocks of a cluster;
/// - where a lot goes with every row, as a weight and a bias of f32, shorter rows and those of f32 are staged too, by fewer
///   blocks: `cp.async` goes past the level-one cache, which then has room for the vectors;
/// - rows of which a multiprocessor would hold one block of a cluster of eight go to clusters of sixteen, where a chip has them;
/// - staged rows that begin anywhere are copied as they lie, 16 bytes at a time, and read element by element;
/// - with a weight, rows beyond that go through rings: clusters keep the weight in registers, which level two would
///   otherwise have to give for each row;
/// - a loss of uneven rows and of long ones, which is all that is wanted of them, is read online, tile by tile;
/// - blocks that also sum over rows go over many through rings, with the sums in registers;
/// - a row that no cluster holds is read twice: four accesses at once, a cluster's blocks taking tiles in turn.
///
/// It does not depend on the number of rows, so a row gives the same bits in any batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowPlan {
    /// The threads of a block that a row's reduction goes over, and rows in a block.
    pub group: RowGroup,
    /// Who owns what of a block's tile; its columns may overhang the row.
    pub tv: Tv,
    /// The same of a slice, where threads read their parts of staged rows slice by slice: with less at once they need fewer
    /// registers.
    pub slice: Option<Tv>,
    /// The length of a row.
    pub dim: usize,
    /// Blocks that share a row.
    pub cluster: usize,
    /// Whether all blocks of a row together hold it in registers; if not, they read it twice, from shared memory where it
    /// is there.
    pub holds: bool,
    /// How many row tensors the kernel holds at once.
    pub tensors: usize,
    /// How rows are in shared memory, where they are.
    pub ring: Option<RingPlan>,
}

/// Threads in a block of short rows.
pub(crate) const BLOCK: usize = 128;
/// Accesses of a thread, where a kernel asks for no others.
const FEW: usize = 2;
/// Threads of a row that do with so few.
const MANY_THREADS: usize = 512;
/// Accesses of a thread that its registers hold well.
const MOST: usize = 8;
/// Accesses at once of a thread that reads its row twice.
const STREAMED: usize = 4;

/// Values that a thread of a block of so many threads holds without spilling: 65,536 registers, of which each thread
/// needs 16 at least for itself.
pub(super) const fn most_values(threads: usize) -> usize {
    if threads > MANY_THREADS { 48 } else { 64 }
}

impl RowPlan {
    /// For rows of `dim` elements, accessed `vector` at a time (which divides `dim`), each held by one block.
    ///
    /// # Errors
    /// When the row is longer than [`LONGEST_ROW`] or empty.
    pub fn new(dim: usize, vector: usize) -> Result<RowPlan, ArgumentError> {
        RowPlan::with_threads(dim, vector, threads_for(dim, vector, 1, FEW))
    }

    /// The same with so many threads to a row: a power of two up to 32, or a multiple of 32 up to 1024.
    ///
    /// # Errors
    /// When the row is longer than [`LONGEST_ROW`] or empty, or the number of threads is none of these.
    pub fn with_threads(dim: usize, vector: usize, threads_per_row: usize) -> Result<RowPlan, ArgumentError> {
        let refuse = |name, expected: &str, got: usize| {
            Err(ArgumentError::Unexpected { name, expected: expected.into(), got: got.to_string() })
        };
        if dim == 0 || dim > LONGEST_ROW {
            return refuse("dim", "1 to 49152 elements in a row", dim);
        }
        if whole_threads(threads_per_row) != threads_per_row || threads_per_row > 1024 {
            return refuse(
                "threads_per_row",
                "a power of two up to 32, or a multiple of 32 up to 1024",
                threads_per_row,
            );
        }
        let vectors = dim.div_ceil(vector).div_ceil(threads_per_row);
        let plan = RowPlan::made(dim, vector, threads_per_row, vectors, 1, true, 1);
        plan.map_or_else(|| refuse("vector", "a divisor of the row's length", vector), Ok)
    }

    fn made(
        dim: usize,
        vector: usize,
        threads_per_row: usize,
        vectors: usize,
        cluster: usize,
        holds: bool,
        tensors: usize,
    ) -> Option<RowPlan> {
        let rows = if threads_per_row.is_power_of_two() { (BLOCK / threads_per_row).max(1) } else { 1 };
        let group = RowGroup { rows, threads_per_row };
        let tv = Tv::rows(rows, threads_per_row, vector, vectors).ok()?;
        (dim > 0 && dim.is_multiple_of(vector)).then_some(RowPlan {
            group,
            tv,
            slice: None,
            dim,
            cluster,
            holds,
            tensors,
            ring: None,
        })
    }

    /// For rows of which one block holds `tensors` at once; `None` where its registers do not.
    pub fn in_block(dim: usize, vector: usize, tensors: usize) -> Option<RowPlan> {
        RowPlan::in_block_of(dim, vector, tensors, FEW)
    }

    /// The same with about so many accesses to a thread.
    pub fn in_block_of(dim: usize, vector: usize, tensors: usize, accesses: usize) -> Option<RowPlan> {
        let threads = threads_for(dim, vector, tensors, accesses);
        let vectors = dim.div_ceil(vector).div_ceil(threads);
        let fits = vectors * vector * tensors <= most_values(threads);
        RowPlan::made(dim, vector, threads, vectors, 1, true, tensors).filter(|_| fits)
    }

    /// The same plan for blocks of so many threads, a power of two, where rows that one block holds share them.
    pub(super) fn shared_by(self, threads: usize) -> Option<RowPlan> {
        let RowGroup { rows, threads_per_row } = self.group;
        let more = threads / (rows * threads_per_row);
        if rows == 1 || more < 2 {
            return Some(self);
        }
        let (rows, vector) = (rows * more, self.tv.vector());
        let tv = Tv::rows(rows, threads_per_row, vector, self.tv.values() / vector).ok()?;
        Some(RowPlan { group: RowGroup { rows, threads_per_row }, tv, ..self })
    }

    /// For rows of which the fewest blocks of about so many `threads` hold `tensors` at once, or larger clusters of other
    /// blocks; `None` where the chip has no such clusters.
    pub fn in_cluster(dim: usize, vector: usize, tensors: usize, threads: usize, chip: &Chip) -> Option<RowPlan> {
        RowPlan::in_clusters(dim, vector, tensors, threads, chip).next()
    }

    /// All of them, in order.
    pub(super) fn in_clusters(
        dim: usize,
        vector: usize,
        tensors: usize,
        threads: usize,
        chip: &Chip,
    ) -> impl Iterator<Item = RowPlan> {
        let (portable, largest) = (chip.cluster as usize, chip.largest_cluster as usize);
        let preferred = [2, 4, 8].map(|c| (c, threads));
        let more = [(8, 512), (8, 1024)];
        // Fewer of those run at once.
        let of_16 = [threads, 512, 1024].map(|t| (16, t));
        let all = preferred.into_iter().chain(more).chain(of_16);
        let there = all.filter(move |(c, _)| *c <= if *c > 8 { largest } else { portable });
        there.filter_map(move |(cluster, threads)| RowPlan::with_cluster(dim, vector, tensors, cluster, threads))
    }

    /// The same with so many blocks of about so many threads each.
    pub fn with_cluster(dim: usize, vector: usize, tensors: usize, cluster: usize, threads: usize) -> Option<RowPlan> {
        let runs = dim.div_ceil(vector).div_ceil(cluster);
        let vectors = runs.div_ceil(threads);
        // As few threads as do with as many accesses, so that the last block has its share too.
        let threads = runs.div_ceil(vectors).next_multiple_of(32);
        let fits = vectors * vector * tensors <= most_values(threads);
        let plan = RowPlan::made(dim, vector, threads.max(BLOCK), vectors, cluster, true, tensors)?;
        // A tile without an element would lie outside of the tensor: nothing but its edge is looked for.
        let no_block_is_empty = (cluster - 1) * plan.tile()[1] < dim;
        (fits && no_block_is_empty && plan.threads() <= 1024).then_some(plan)
    }

    /// For rows of any length, read twice by a block, or by a cluster where the chip has them; `None` for rows of nothing.
    pub fn streamed(dim: usize, vector: usize, chip: &Chip) -> Option<RowPlan> {
        let runs = dim.div_ceil(vector);
        let threads = runs.div_ceil(STREAMED).next_power_of_two().clamp(BLOCK, MANY_THREADS);
        let tiles = runs.div_ceil(threads * STREAMED);
        let cluster = [8, 4, 2].into_iter().find(|c| *c <= tiles && *c <= chip.cluster as usize).unwrap_or(1);
        RowPlan::made(dim, vector, threads, STREAMED, cluster, false, 1)
    }

    /// For rows of 16-bit floats that are read once, tile by tile; `None` for rows of nothing.
    pub fn online(dim: usize, vector: usize, chip: &Chip) -> Option<RowPlan> {
        // Narrow accesses are to bring as much.
        let (threads, accesses) = if vector >= 8 { (BLOCK, STREAMED) } else { (2 * BLOCK, 2 * STREAMED) };
        // More to a row where it is longer, so that a few rows fill more of a chip.
        let cluster = [(4, 131_072), (2, 32_768)].into_iter().find(|(_, most)| dim > *most).map_or(1, |(c, _)| c);
        RowPlan::made(dim, vector, threads, accesses, cluster.min(chip.cluster as usize).max(1), false, 1)
    }

    /// This plan, and those with other numbers of threads or blocks that may be faster for rows of `dim` elements: a
    /// thread has one access at least, and what it holds fits its registers.
    pub fn others(&self, dim: usize) -> impl Iterator<Item = RowPlan> {
        let (vector, tensors, mine) = (self.tv.vector(), self.tensors, self.clone());
        let mut all = vec![];
        if self.holds && self.cluster == 1 {
            let threads = (0..=10).map(|i| 1 << i).filter(|t| *t == 1 || *t < 2 * dim.div_ceil(vector));
            let plans = threads.filter_map(|t| RowPlan::with_threads(dim, vector, t).ok());
            all.extend(plans.map(|p| RowPlan { tensors, ..p }).filter(|p| p.tv.values() * tensors <= 64));
        } else if self.holds {
            for cluster in [2, 4, 8, 16].into_iter().filter(|c| *c <= self.cluster.max(8)) {
                let threads = [128, 256, 512, 1024].into_iter();
                all.extend(threads.filter_map(|t| RowPlan::with_cluster(dim, vector, tensors, cluster, t)));
            }
        } else if let Some(RingPlan { bytes, stages: 1, .. }) = self.ring {
            // What a chip has that it was made for is not known here, but that it has this plan's clusters.
            for cluster in [1, 2, 4, 8, 16].into_iter().filter(|c| *c <= self.cluster) {
                for threads in [128, 256, 512] {
                    let ring = Ringed { threads, cluster, bytes, holds: false, keeps: false, resident: 1, stages: 1 };
                    all.extend(RowPlan::ringed(dim, vector, tensors, ring, &Chip::H200));
                }
            }
        }
        all.retain(|p| *p != mine);
        all.dedup();
        std::iter::once(self.clone()).chain(all)
    }

    /// Rows in a block.
    pub fn rows(&self) -> usize {
        self.group.rows
    }

    /// Threads in a block.
    pub fn threads(&self) -> usize {
        self.group.threads() * self.groups()
    }

    /// Groups of threads in a block that go over rows of their own.
    pub fn groups(&self) -> usize {
        self.ring.map_or(1, |ring| ring.groups)
    }

    /// Whether rows are read as often as they are asked for.
    pub fn is_streamed(&self) -> bool {
        !self.holds && self.ring.is_none()
    }

    /// Whether rows of elements of so many bytes, the fewest of all inputs, are staged as they lie in memory: threads read
    /// less at once than `cp.async` copies.
    pub(crate) fn is_shifted(&self, bytes: usize) -> bool {
        self.ring.is_some_and(|ring| ring.stages == 1) && self.tv.vector() * bytes < 4
    }

    /// The thread in its group.
    pub(crate) fn lane(&self) -> U32 {
        match self.groups() {
            1 => thread_idx().x,
            _ => thread_idx().x % self.group.threads(),
        }
    }

    /// Columns that a stage has room for: all that threads copy, those past the row as zeros.
    pub(crate) fn staged_columns(&self) -> usize {
        self.tile()[1]
    }

    /// Who owns what of what is read at once.
    pub(crate) fn at_once(&self) -> &Tv {
        self.slice.as_ref().unwrap_or(&self.tv)
    }

    /// Slices of a thread's part of a row.
    pub(crate) fn slices(&self) -> usize {
        self.tv.values() / self.at_once().values()
    }

    /// The columns that every block has of its part of a row.
    pub(crate) fn sure(&self) -> usize {
        if self.is_streamed() { 0 } else { self.dim.saturating_sub((self.cluster - 1) * self.tile()[1]) }
    }

    /// Rows and columns of a block's tile.
    pub fn tile(&self) -> [usize; 2] {
        self.tv.tile()
    }

    /// Tiles that a row has.
    pub fn tiles(&self) -> usize {
        self.dim.div_ceil(self.tile()[1])
    }

    /// Warps of a block that share a row.
    pub fn warps(&self) -> usize {
        self.group.threads_per_row.div_ceil(32)
    }

    /// Whether the last tile of a row overhangs it.
    pub fn overhangs(&self) -> bool {
        !self.dim.is_multiple_of(self.tile()[1])
    }

    /// Blocks for so many rows.
    pub fn blocks(&self, rows: usize) -> usize {
        let tiles = rows.div_ceil(self.rows() * self.groups());
        let Some(ring) = self.ring.filter(|ring| ring.stages > 1) else { return tiles * self.cluster };
        let (many, few) = (ring.blocks / self.cluster, ring.share(self.cluster, tiles));
        if few == 0 {
            return tiles.min(many) * self.cluster;
        }
        (many + (tiles - many * few).div_ceil(ring.few())) * self.cluster
    }

    /// Registers of a thread, as the model has it: what it holds, and 16 for addresses and sums.
    pub fn registers(&self) -> usize {
        let held = if self.holds { self.tv.values() * self.tensors } else { self.tv.values() };
        held + 16
    }
}

/// Threads to a row that one block holds, with about `few` accesses each: as many where at most a ninth of them have nothing
/// to do, or else fewer with up to three accesses more.
fn threads_for(dim: usize, vector: usize, tensors: usize, few: usize) -> usize {
    let runs = dim.div_ceil(vector).max(1);
    let by = |accesses: usize| whole_threads(runs.div_ceil(accesses)).min(MANY_THREADS);
    let slots = |accesses: &usize| by(*accesses) * accesses;
    let full = (few..=few + 3).find(|accesses| slots(accesses) * 8 <= runs * 9);
    let accesses = full.or((few..=few + 3).min_by_key(slots)).unwrap_or(few);
    let threads = by(accesses);
    let vectors = runs.div_ceil(threads);
    let crowded = vectors * tensors > MOST || vectors * vector * tensors > most_values(threads);
    if crowded && threads == MANY_THREADS { 1024 } else { threads }
}

/// At least so many threads that share a row: some of a warp, or warps.
const fn whole_threads(threads: usize) -> usize {
    if threads > 32 { threads.next_multiple_of(32) } else { threads.next_power_of_two() }
}

impl fmt::Display for RowPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowGroup { rows, threads_per_row } = self.group;
        let (vector, vectors) = (self.tv.vector(), self.tv.values() / self.tv.vector());
        let s = if rows == 1 { "" } else { "s" };
        write!(f, "{} threads and {rows} row{s} a block, {threads_per_row} threads a row, ", self.threads())?;
        write!(f, "{vectors} × {vector} elements a thread")?;
        if self.cluster > 1 {
            write!(f, ", {} blocks a row", self.cluster)?;
        }
        if self.is_streamed() {
            write!(f, ", read twice in {} tiles", self.tiles())?;
        }
        if self.slices() > 1 {
            write!(f, " in {} slices", self.slices())?;
        }
        if let Some(RingPlan { stages, groups, resident, keeps, .. }) = self.ring {
            write!(f, ", {stages} stage{}", if stages == 1 { "" } else { "s" })?;
            if groups > 1 {
                write!(f, " for each of {groups} groups")?;
            }
            write!(f, ", {resident} blocks a multiprocessor")?;
            if !self.holds {
                f.write_str(", read again from shared memory")?;
            }
            if keeps {
                f.write_str(", vectors kept")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_row_within_a_block() {
        for dim in (1..=LONGEST_ROW).step_by(97).chain([LONGEST_ROW]) {
            for vector in [1, 2, 4, 8].into_iter().filter(|v| dim % v == 0) {
                let p = RowPlan::new(dim, vector).unwrap();
                let [rows, columns] = p.tile();
                assert!(columns >= dim && rows == p.rows(), "{dim}: {p}");
                assert!(p.threads() <= 1024 && p.threads().is_multiple_of(32), "{dim}: {p}");
                assert!(whole_threads(p.group.threads_per_row) == p.group.threads_per_row && rows >= 1, "{dim}: {p}");
                assert!(p.tv.values() <= 64, "{dim}: registers of {p}");
                assert_eq!(RowPlan::in_block(dim, vector, 1), Some(p));
            }
        }
        assert!(RowPlan::new(LONGEST_ROW + 1, 1).is_err() && RowPlan::new(0, 1).is_err());
        assert!(RowPlan::with_threads(64, 1, 48).is_err());
        assert_eq!(RowPlan::in_block(LONGEST_ROW + 1, 1, 1), None);
    }

    #[test]
    fn every_length_has_a_plan_within_the_chips_limits() {
        let lengths = (1..1 << 20).step_by(4003).chain([50_257, 65_544, 70_000, 131_584, 151_936, 262_208, 1 << 20]);
        for dim in lengths {
            for chip in [Chip::A100, Chip::H200, Chip::RTX_5090] {
                for (vector, tensors) in [(1, 1), (4, 1), (8, 1), (1, 2), (8, 2)] {
                    if dim % vector != 0 {
                        continue;
                    }
                    let held = RowPlan::in_block(dim, vector, tensors);
                    let cluster = || RowPlan::in_cluster(dim, vector, tensors, 256, &chip);
                    let held = held.or_else(cluster);
                    assert!(dim > 262_144 / tensors || held.is_some() || chip.cluster < 8, "{dim} {tensors}");
                    for p in held.into_iter().chain(RowPlan::streamed(dim, vector, &chip)) {
                        let [_, columns] = p.tile();
                        assert!(p.threads() <= 1024 && p.threads().is_multiple_of(32), "{dim}: {p}");
                        assert!(p.cluster <= chip.largest_cluster as usize, "{dim}: {p}");
                        assert!(p.registers() * p.threads() <= 65_536, "{dim}: {} registers of {p}", p.registers());
                        // Each block of a row has a tile with an element in it; held, it has one tile.
                        assert!(p.tiles() >= p.cluster && (p.tiles() - 1) * columns < dim, "{dim}: {p}");
                        assert!(!p.holds || p.tiles() == p.cluster, "{dim}: {p}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_plans_cover_the_row_too() {
        for (dim, vector) in [(1, 1), (8, 8), (100, 4), (4096, 8), (LONGEST_ROW, 4)] {
            let model = RowPlan::new(dim, vector).unwrap();
            let all: Vec<RowPlan> = model.others(dim).collect();
            assert_eq!(all[0], model);
            for (i, p) in all.iter().enumerate() {
                assert!(p.tile()[1] >= dim && p.threads() <= 1024 && !all[..i].contains(p), "{dim}: {p}");
                // Half of the threads would not do with one access each.
                assert!(p.group.threads_per_row == 1 || p.group.threads_per_row / 2 * vector < dim, "{dim}: {p}");
            }
        }
        // 64 to 512 threads to a row, by 8 values at least and 64 at most each.
        assert_eq!(RowPlan::new(4096, 8).unwrap().others(4096).count(), 4);
        let shared = RowPlan::in_cluster(131_072, 8, 1, 256, &Chip::H200).unwrap();
        assert!(shared.others(131_072).count() > 2 && shared.others(131_072).all(|p| p.tiles() == p.cluster));
    }
}
