//! Arguments of kernels over rows: what is right, and how wide an access may be.

use super::plan::most_values;
use super::{Ringed, RowPlan, Staging};
use crate::gate::Refusal;
use warpsmith_dsl::{ArgumentError, DType, Target, TensorArg};
use warpsmith_types::Chip;

/// Bytes that one access can move on every supported chip.
const ACCESS_BYTES: usize = 16;

/// Bytes of a row from which on a thread has more accesses.
const LONG: usize = 8 << 10;
/// Rows of a multiple of so many are shared evenly: what their threads do depends on no condition, which takes registers.
pub(crate) const EVEN: usize = 16_384;
/// Bytes of a row that clusters of 8 hold well: with more to a block, a multiprocessor has too few. What is longer is for
/// larger clusters, where a chip has them.
pub(crate) const PORTABLE: usize = 512 << 10;
/// The most accesses of a thread that are narrower.
const NARROW: usize = 16;

/// Elements in one access of row-wise (rows, dim) tensors and (dim) vectors: the most, up to 128 bits of the widest
/// dtype, that lengths, strides and addresses of all of them allow.
pub fn vector(tensors: &[&TensorArg]) -> usize {
    let widest = tensors.iter().map(|t| t.dtype.bytes()).max().unwrap_or(1);
    let fits = |width: usize| {
        tensors.iter().all(|t| {
            let last = t.shape.len().saturating_sub(1);
            t.dim(last).is_multiple_of(width)
                && t.strides.iter().take(last).all(|s| s.is_multiple_of(width))
                && t.address.is_multiple_of((width * t.dtype.bytes()) as u64)
        })
    };
    let mut width = ACCESS_BYTES / widest;
    while width > 1 && !fits(width) {
        width /= 2;
    }
    width.max(1)
}

/// Checks (rows, dim) tensors of one shape, and returns `dim`.
pub(crate) fn check(tensors: &[(&'static str, &TensorArg)]) -> Result<usize, ArgumentError> {
    let mut dim = None;
    for &(name, t) in tensors {
        if t.shape.len() != 2 {
            let (modes, shape) = ("rows, dim".into(), t.shape.clone());
            return Err(ArgumentError::Rank { name, expected: 2, modes, shape });
        }
        check_dtype(name, t.dtype)?;
        let (got, other) = (t.dim(1), tensors[0].0);
        let expected = *dim.get_or_insert(got);
        if got != expected {
            return Err(ArgumentError::Disagree { name, extent: "dim", got, other, expected });
        }
        if got == 0 {
            let expected = "rows of at least 1 element".into();
            return Err(ArgumentError::Unexpected { name, expected, got: got.to_string() });
        }
        if got > 1 && t.strides.last() != Some(&1) {
            let got = t.strides.last().copied().unwrap_or(0);
            return Err(ArgumentError::InnerStride { name, extent: "dim", got });
        }
    }
    Ok(dim.unwrap_or(0))
}

/// Checks a (dim) vector that goes with rows of `dim`.
pub(crate) fn check_vector(name: &'static str, t: &TensorArg, dim: usize) -> Result<(), ArgumentError> {
    if t.shape.len() != 1 {
        return Err(ArgumentError::Rank { name, expected: 1, modes: "dim".into(), shape: t.shape.clone() });
    }
    check_dtype(name, t.dtype)?;
    if t.dim(0) != dim {
        let (got, expected) = (t.dim(0), dim);
        return Err(ArgumentError::Disagree { name, extent: "dim", got, other: "x", expected });
    }
    Ok(())
}

pub(crate) fn check_dtype(name: &'static str, dtype: DType) -> Result<(), ArgumentError> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(()),
        other => {
            let expected = "elements of f32, f16 or bf16".into();
            Err(ArgumentError::Unexpected { name, expected, got: other.to_string() })
        }
    }
}

/// How a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Once, and held by a block.
    Block,
    /// Once, tile by tile.
    Online,
    /// Once, into shared memory, by a block or a cluster.
    Staged,
    /// Once, by blocks that go over many rows and keep what goes with each.
    Ring,
    /// The same by warps, each of them or a half over short rows of its own.
    Warps,
    /// Once, and held by the blocks of a cluster.
    Cluster,
    /// Twice.
    Streamed,
}

/// What a kernel's body needs, and what suits it, as measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// How many of the row tensors it holds at once.
    pub(crate) tensors: usize,
    /// The most threads to a block: those of 1024 leave each 64 registers, which only the plainest bodies do with.
    pub(crate) threads: usize,
    /// Tensors that come by rows.
    pub(crate) inputs: usize,
    /// Threads of a block that rows share.
    pub(crate) block: usize,
    /// Accesses of a thread: of rows shorter than 8 KiB, and of others.
    pub(crate) accesses: [usize; 2],
    /// The longest row of 16-bit floats, in bytes, that a block rather holds than stages.
    pub(crate) held: usize,
    /// The longest row of f32, in bytes, that blocks rather hold than stage.
    pub(crate) held_wide: usize,
    /// How rows are staged.
    pub(crate) staging: Staging,
    /// Threads to a block of a cluster that holds a row, as long as clusters go as far.
    pub(crate) cluster: usize,
    /// Whether a body that writes no row reads one once.
    pub(crate) once: bool,
}

/// The plan of a kernel that reads rows in one form.
pub(crate) fn form(form: Form, rows: &[&TensorArg], room: Room, chip: &Chip) -> Result<RowPlan, Refusal> {
    let Some(x) = rows.first() else { return Err(Refusal::RowLength { argument: "x", most: 0, got: 0 }) };
    let (dim, vector, Room { tensors, threads, .. }) = (x.dim(x.shape.len().saturating_sub(1)), vector(rows), room);
    let widths = || rows.iter().map(|t| t.dtype.bytes());
    let (widest, narrowest) = (widths().max().unwrap_or(4), widths().min().unwrap_or(2));
    let too_long = |most: usize| Refusal::RowLength { argument: "x", most, got: dim };
    // Rows of f32 have half the elements to a byte, and registers enough, but where multiprocessors would hold one block.
    let long = (room.held_wide + 1..=2 * PORTABLE).contains(&(dim * widest));
    let long = long && (dim * widest <= PORTABLE || chip.largest_cluster > chip.cluster);
    let stages = widest == 2 || (long && room.inputs == 1);
    let held = if widest == 2 { room.held } else { room.held_wide };
    let longest = |blocks: usize| blocks * threads.min(1024) * most_values(threads) / tensors.max(1);
    let (plan, most) = match form {
        Form::Block if dim * widest > held => return Err(too_long(held / widest)),
        Form::Block => {
            let few = room.accesses[usize::from(dim * widest >= LONG)];
            // Narrow accesses are to bring as much, as far as registers go.
            let few = (few * ACCESS_BYTES / (vector * widest)).min(few.max(NARROW));
            (RowPlan::in_block_of(dim, vector, tensors, few).and_then(|p| p.shared_by(room.block)), longest(1))
        }
        Form::Staged if !stages => {
            let bytes = narrowest * vector;
            return Err(Refusal::Accesses { argument: "x", expected: "16-bit floats", bytes });
        }
        Form::Ring | Form::Warps if vector * narrowest < 4 => {
            let bytes = narrowest * vector;
            return Err(Refusal::Accesses { argument: "x", expected: "at least 4 bytes", bytes });
        }
        Form::Online if !room.once || rows.len() > 1 => return Err(Refusal::Again { argument: "x" }),
        Form::Online if dim * widest <= room.held => {
            return Err(Refusal::Short { argument: "x", least: room.held / widest + 1, got: dim });
        }
        Form::Online if widest != 2 && dim * widest <= PORTABLE => {
            let bytes = narrowest * vector;
            return Err(Refusal::Accesses { argument: "x", expected: "16-bit floats", bytes });
        }
        Form::Online if dim * widest <= PORTABLE / 2 && dim.is_multiple_of(EVEN) => {
            return Err(Refusal::Even { argument: "x", factor: EVEN, got: dim });
        }
        Form::Online => (RowPlan::online(dim, vector, chip), usize::MAX),
        Form::Staged => {
            let inputs = room.inputs * widest;
            (
                RowPlan::staged(dim, vector, [inputs, tensors], room.staging, chip),
                chip.shared_per_block as usize / inputs,
            )
        }
        Form::Ring => {
            let bytes = room.inputs * widest;
            let all = |cluster: u32| [(2, 512), (1, 512), (1, 1024)].map(|(resident, most)| (cluster, resident, most));
            let made = |(cluster, resident, most): (u32, usize, usize)| {
                // As few threads as do with as many accesses, so that the last block has its share too.
                let cluster = cluster.max(1) as usize;
                let runs = dim.div_ceil(vector).div_ceil(cluster);
                let threads = runs.div_ceil(runs.div_ceil(most)).next_multiple_of(32);
                let ring = Ringed { threads, cluster, bytes, holds: true, keeps: true, resident, stages: 2 };
                let again = Ringed { holds: false, ..ring };
                [ring, again].into_iter().find_map(|ring| RowPlan::ringed(dim, vector, tensors, ring, chip))
            };
            // Narrow accesses are better held by smaller ones.
            let larger = (vector > 1).then_some(chip.largest_cluster);
            let plan = [chip.cluster].into_iter().chain(larger).flat_map(all).find_map(made);
            (plan, chip.shared_per_block as usize * chip.largest_cluster as usize / bytes / 2)
        }
        Form::Warps if dim <= 16 * vector => {
            return Err(Refusal::Short { argument: "x", least: 16 * vector + 1, got: dim });
        }
        Form::Warps => {
            let threads = dim.div_ceil(vector * 2).next_power_of_two();
            let bytes = room.inputs * widest;
            let resident = if threads < 32 { 4 } else { 6 };
            let ring = Ringed { threads, cluster: 1, bytes, holds: true, keeps: true, resident, stages: 8 };
            let plan = RowPlan::ringed(dim, vector, tensors, ring, chip);
            (plan.filter(|_| threads <= 32), 64 * vector)
        }
        Form::Cluster if chip.cluster < 2 => {
            return Err(Refusal::Target { needed: Target::SM_90A, got: chip.target });
        }
        Form::Cluster => {
            let mut all = RowPlan::in_clusters(dim, vector, tensors, room.cluster, chip);
            (all.find(|p| p.threads() <= threads), longest(chip.largest_cluster as usize))
        }
        Form::Streamed => (RowPlan::streamed(dim, vector, chip), usize::MAX),
    };
    let plan = plan.filter(|p| p.threads() <= threads || p.ring.is_some());
    plan.ok_or(too_long(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_as_wide_as_alignment_proves() {
        let t = |address, columns, stride| TensorArg {
            strides: vec![stride, 1],
            ..TensorArg::new(address, warpsmith_dsl::DeviceId(0), DType::BF16, &[4, columns])
        };
        assert_eq!(vector(&[&t(256, 4096, 4096)]), 8);
        assert_eq!(vector(&[&t(256, 4100, 4100)]), 4);
        assert_eq!(vector(&[&t(258, 4096, 4096)]), 1);
        assert_eq!(vector(&[&t(256, 4096, 4098)]), 2);
        let wide = TensorArg::new(256, warpsmith_dsl::DeviceId(0), DType::F32, &[4096]);
        assert_eq!(vector(&[&t(256, 4096, 4096), &wide]), 4);
    }
}
