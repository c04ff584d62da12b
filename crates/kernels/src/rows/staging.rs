//! Rows in shared memory: staged once without a loop, or through rings of blocks that go over many.

use super::check::PORTABLE;
use super::plan::{BLOCK, RowPlan};
use warpsmith_dsl::{RowGroup, Tv};
use warpsmith_types::Chip;

/// How a block goes over rows in a loop, with others under way into shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingPlan {
    /// Tiles of rows that a group of threads has, under way or read. With one, there is no loop: memory has its copies, and
    /// registers are left to the threads.
    pub stages: usize,
    /// Groups of threads in a block, each with rows of its own.
    pub groups: usize,
    /// Blocks that a multiprocessor holds.
    pub resident: usize,
    /// Blocks that go over most of the rows; clusters of them are sure to run at once.
    pub blocks: usize,
    /// Blocks that the chip holds, were it not for how its multiprocessors are grouped.
    pub most_blocks: usize,
    /// Whether what goes with every row stays in registers.
    pub keeps: bool,
    /// Bytes of an element of all inputs.
    pub bytes: usize,
}

impl RingPlan {
    /// Tiles that each of the first blocks, or clusters of so many, goes over: seven eighths of all, together. The rest is
    /// for whoever is done first, a few at a time, since multiprocessors that share a way to memory with more others are
    /// slower. None where there are few.
    pub(crate) fn share(&self, cluster: usize, tiles: usize) -> usize {
        let most = (self.most_blocks / cluster).max(1);
        let share = tiles * 7 / (8 * most);
        if share < 2 * self.stages { 0 } else { share }
    }

    /// Tiles that each of the other blocks goes over.
    pub(crate) fn few(&self) -> usize {
        2 * self.stages
    }
}

/// Bytes of a row's inputs that a block mostly stages where clusters go as far.
pub(super) const STAGED: usize = 32 << 10;
/// Bytes that a thread of such a block has at most, where its body does with few registers.
const MOST_STAGED: usize = 256;

/// Accesses of a thread at most, where it has more than one input.
const MOST_VECTORS: usize = 28;

/// How rows are staged that threads read element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The longest row, in bytes, that no cluster larger than others stages.
    pub longest: usize,
    /// Accesses of a thread at most, where it has one input.
    pub most: usize,
    /// Accesses of a slice.
    pub slice: usize,
}

impl Narrow {
    /// What suits most bodies.
    pub const USUAL: Narrow = Narrow { longest: 2 * PORTABLE, most: 40, slice: 10 };
}

/// Registers of a thread that reads its part of a row in slices.
const SLICED: usize = 80;

/// Accesses to a block of 512 threads with eight each.
const MANY: usize = 4096;

/// What a ring is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ringed {
    /// Threads to a row, in each block of its cluster.
    pub threads: usize,
    /// Blocks that share a row.
    pub cluster: usize,
    /// Of an element of all inputs together.
    pub bytes: usize,
    /// Whether registers hold a row between its reductions; if not, it is read again from shared memory.
    pub holds: bool,
    /// Whether registers keep what goes with every row.
    pub keeps: bool,
    /// Blocks to a multiprocessor.
    pub resident: usize,
    /// Stages, if there is room for them.
    pub stages: usize,
}

/// How rows are staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// Threads to a block, at least.
    pub threads: usize,
    /// Blocks to a row, at least, where there are clusters.
    pub blocks: usize,
    /// Bytes of a row's inputs to a block, where clusters go as far.
    pub part: usize,
    /// Bytes of a row that are a thread's, at most.
    pub most: usize,
    /// Slices of a thread's part where it has 8 accesses or more, as far as they divide it: a power of two.
    pub long_slices: usize,
    /// Rows that threads read element by element.
    pub narrow: Narrow,
}

impl RowPlan {
    /// For rows that come through a ring: `threads_per_row` threads of each of `cluster` blocks share a row, whose inputs have
    /// so many bytes an element together; `None` where shared memory or registers do not hold it.
    pub fn ringed(dim: usize, vector: usize, tensors: usize, ring: Ringed, chip: &Chip) -> Option<RowPlan> {
        RowPlan::ringed_in(1, dim, vector, tensors, ring, chip)
    }

    /// The same with a multiple of so many accesses to a thread.
    fn ringed_in(
        slices: usize,
        dim: usize,
        vector: usize,
        tensors: usize,
        ring: Ringed,
        chip: &Chip,
    ) -> Option<RowPlan> {
        let Ringed { threads, cluster, bytes, holds, keeps, resident, stages: most } = ring;
        let runs = dim.div_ceil(vector).div_ceil(cluster);
        let vectors = runs.div_ceil(threads).next_multiple_of(slices);
        let groups = if threads <= 32 { BLOCK / 32 } else { 1 };
        let rows = (32 / threads).max(1);
        let tv = Tv::rows(rows, threads, vector, vectors).ok()?;
        let group = RowGroup { rows, threads_per_row: threads };
        let ring = RingPlan { stages: 0, groups, resident, blocks: 0, most_blocks: 0, keeps, bytes };
        let plan = RowPlan { group, tv, slice: None, dim, cluster, holds, tensors, ring: Some(ring) };
        // Each block keeps 1 KiB for itself on sm_90.
        let room = (chip.shared_per_multiprocessor as usize / resident - 1024).min(chip.shared_per_block as usize);
        let stage = plan.staged_columns() * bytes * rows * groups;
        let stages = (room.saturating_sub(1024) / stage).min(most);
        let most_blocks = chip.multiprocessors as usize * resident;
        // Multiprocessors that are left over in their group hold no cluster.
        let sure = if cluster == 1 { most_blocks } else { most_blocks * 7 / 8 };
        let blocks = (sure / cluster).max(1) * cluster;
        let no_block_is_empty = (cluster - 1) * plan.tile()[1] < dim;
        let kept = if keeps { plan.tv.values() } else { 0 };
        let held = if holds { plan.tv.values() * tensors } else { 0 };
        let registers = (kept + held + 24).min(255) * plan.threads() * resident;
        let fits = stages >= most.min(2)
            && plan.threads() <= 1024
            && plan.threads() * resident <= chip.threads_per_multiprocessor as usize
            && registers <= chip.registers_per_multiprocessor as usize
            && (kept + held) <= 160;
        let ring = RingPlan { stages, blocks, most_blocks, ..ring };
        (fits && no_block_is_empty && dim.is_multiple_of(vector)).then_some(RowPlan { ring: Some(ring), ..plan })
    }

    /// The same plan with so many slices; `None` where a thread's accesses are no multiple, or registers hold rows or vectors.
    pub fn sliced(self, slices: usize) -> Option<RowPlan> {
        let vectors = self.tv.values() / self.tv.vector();
        let staged = self.ring.is_some_and(|ring| ring.stages == 1 && !ring.keeps) && !self.holds;
        if slices == 0 || !vectors.is_multiple_of(slices) || !staged {
            return None;
        }
        let RowGroup { rows, threads_per_row } = self.group;
        let slice = Tv::rows(rows, threads_per_row, self.tv.vector(), vectors / slices).ok()?;
        Some(RowPlan { slice: (slices > 1).then_some(slice), ..self })
    }

    /// For rows that are copied into shared memory, each row's inputs once: `bytes` are those of an element of all of them, and
    /// the body holds `tensors`. Registers are then free for other rows' blocks. `None` where shared memory does not hold a row.
    pub fn staged(
        dim: usize,
        vector: usize,
        [bytes, tensors]: [usize; 2],
        by: Staging,
        chip: &Chip,
    ) -> Option<RowPlan> {
        // Narrow accesses are many as it is.
        let (row, part) = (dim * bytes, if vector == 1 { STAGED } else { by.part });
        // Much more than that to each of a cluster's blocks is worse than fewer clusters at once.
        let too_much = match vector {
            1 => row > by.narrow.longest,
            _ => row > (2 * part * chip.cluster as usize).min(PORTABLE),
        };
        // A little more is better than half as much.
        let blocks = row.div_ceil(part + part / 8).next_power_of_two().max(by.blocks);
        let larger = too_much.then_some(chip.largest_cluster);
        let mut clusters = larger.into_iter().chain([chip.cluster]).map(|most| blocks.min(most as usize));
        clusters.find_map(|cluster| RowPlan::staged_by(cluster, dim, vector, [bytes, tensors], by, chip))
    }

    /// The same by so many blocks.
    fn staged_by(
        cluster: usize,
        dim: usize,
        vector: usize,
        [bytes, tensors]: [usize; 2],
        by: Staging,
        chip: &Chip,
    ) -> Option<RowPlan> {
        let Staging { threads, part, most, long_slices, .. } = by;
        // Accesses of 32 bytes take more registers at once.
        let wide = chip.target.number >= 100;
        let runs = dim.div_ceil(vector).div_ceil(cluster);
        // Blocks of 1024 threads have too few.
        let most = if wide && runs <= MANY { most.min(MOST_STAGED / 2) } else { most };
        let most_vectors = (most / (vector * bytes)).clamp(1, if bytes > 2 { MOST_VECTORS } else { by.narrow.most });
        let least = threads.min(BLOCK);
        let each = |threads: &usize| runs.div_ceil(*threads);
        let mut all = (threads..=chip.threads_per_block as usize).step_by(32).filter(|t| each(t) <= most_vectors);
        // So many that slices are alike, if few have nothing to do and two blocks have registers enough.
        let alike = |t: &usize| each(t).is_multiple_of(long_slices) && each(t) * t * 8 <= runs * 9;
        let two = |t: &usize| t * 2 * SLICED <= chip.registers_per_multiprocessor as usize;
        let threads = all.clone().find(|t| long_slices > 2 && alike(t) && two(t)).or_else(|| all.next())?;
        // As few as do with as many accesses.
        let vectors = runs.div_ceil(threads);
        let even = dim == cluster * threads * vectors * vector;
        let slices = match vectors {
            _ if vector == 1 => vectors.div_ceil(by.narrow.slice),
            // Few threads with a few accesses each: half of them at once, and more blocks.
            6 | 10 if part < STAGED || bytes > 2 => 2,
            16 if long_slices > 2 && threads <= BLOCK && cluster == 1 => 2,
            8.. if long_slices > 2 && !even && vectors.is_multiple_of(2) => vectors / 2,
            4 | 8.. if long_slices > 1 => 1 << vectors.trailing_zeros().min(long_slices.trailing_zeros()),
            // Conditions take registers, too.
            8 if bytes == 2 && threads > if even { 512 } else { 224 } => 2,
            _ => 1,
        };
        let threads = runs.div_ceil(vectors.next_multiple_of(slices)).next_multiple_of(32).max(least);
        let one = bytes == 2;
        let shape = Shape { slices, vectors, threads, vector, cluster, tensors, one, wide, most, long_slices };
        let registers = shape.registers(dim.div_ceil(cluster * threads * vector) * vector * bytes);
        // A warp's rows share a block with others'.
        let block = if threads <= 32 { BLOCK } else { threads };
        let stage = dim.div_ceil(cluster * threads * vector) * block * vector * bytes + 2048;
        let by_memory = chip.shared_per_multiprocessor as usize / stage;
        let by_registers = chip.registers_per_multiprocessor as usize / (block * registers);
        let resident = by_memory.min(by_registers).max(1);
        let ring = Ringed { threads, cluster, bytes, holds: false, keeps: false, resident, stages: 1 };
        RowPlan::ringed_in(slices, dim, vector, tensors, ring, chip)?.sliced(slices)
    }
}

/// What the registers of a thread depend on.
struct Shape {
    slices: usize,
    /// Accesses.
    vectors: usize,
    threads: usize,
    vector: usize,
    cluster: usize,
    tensors: usize,
    /// Whether 16-bit floats of one input are staged.
    one: bool,
    wide: bool,
    most: usize,
    long_slices: usize,
}

impl Shape {
    /// What a thread that stages so many bytes needs without spilling, or does best with, as measured.
    fn registers(&self, bytes: usize) -> usize {
        let Shape { slices, vectors, threads, vector, cluster, tensors, one, wide, most, long_slices } = *self;
        let (many, alone) = (bytes > MOST_STAGED / 2, cluster == 1);
        let registers = match (slices, vectors, threads) {
            _ if vector == 1 && one && cluster > 8 && slices > 3 => 56,
            _ if vector == 1 && one => 38,
            _ if vector == 1 => 80,
            (4, 4, ..=32) => 72,
            (4, 4, _) => 64,
            (2, 16, _) | (4, 16, ..=224) if long_slices == 4 => 96,
            (4.., ..=16, _) => SLICED,
            // A lot goes with every row of such.
            _ if long_slices == 4 && vectors >= 8 => 40 + 18 * vectors / slices,
            (2.., 6, 225..) if !one => 80,
            (2.., ..) if !one => 64,
            (2.., 6, _) if alone => 80,
            (2.., 6, ..=288) => 56,
            (2.., 6, _) => 44,
            (2, 16, _) => 128,
            (2.., 10, _) if long_slices == 1 => 48,
            (2.., 10, _) => 72,
            (2.., ..) => 64,
            (.., ..=128) => 96,
            (.., ..=224) if tensors == 1 && many => 104,
            (_, ..=2, _) if tensors == 1 && one => 40,
            (_, ..=5, ..=224) if tensors == 1 && one => 64,
            (.., ..=224) if tensors == 1 => 88,
            (.., ..=256) if tensors == 1 => 80,
            (.., ..=288) if tensors == 1 && !many => 72,
            (.., ..=256) if many => 128,
            _ => 64,
        };
        let little = tensors == 1 && threads > 288 && slices == 1 && vectors > 2 && most < MOST_STAGED;
        let more = match wide {
            true if slices == 4 => 32,
            _ if wide || little => 16,
            _ => 0,
        };
        registers + more
    }
}
