//! How kernels over rows are launched.

use super::RowPlan;
use warpsmith_dsl::{Launch, TensorArg};

/// Threads of a block that are few, and values of each that are many.
const FEW_THREADS: usize = 128;
const MANY_VALUES: usize = 40;

/// Blocks for so many rows, of so many heads each.
///
/// With PDL, so that the blocks are there when the launch before ends; they wait for it before they touch anything. Not so
/// where there are `constants` that the caller does not promise to be: loaded by what they then would need, they cost more
/// than that gains (RMSNorm takes up to a quarter longer when it loads its weight without `.nc`).
pub(crate) fn launch(plan: &RowPlan, [rows, heads]: [usize; 2], constants: &[Option<&TensorArg>]) -> Launch {
    let launch = Launch::grid_3d([plan.blocks(rows), heads, 1]).block(plan.threads()).cluster(plan.cluster);
    // Few threads that hold much: the assembler would make room for more of them, and spill.
    let few = plan.holds && plan.cluster == 1 && plan.threads() <= FEW_THREADS && plan.tv.values() >= MANY_VALUES;
    let min_blocks = plan.ring.map(|ring| ring.resident).or(few.then_some(1));
    let launch = Launch { min_blocks, ..launch };
    if constants.iter().flatten().all(|t| t.constant) { launch.pdl() } else { launch }
}
