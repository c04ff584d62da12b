//! How kernels over rows are launched.

use super::RowPlan;
use warpsmith_dsl::{Launch, TensorArg};

/// Blocks for so many rows, of so many heads each.
///
/// With PDL, so that the blocks are there when the launch before ends; they wait for it before they touch anything. Not so
/// where there are `constants` that the caller does not promise to be: loaded by what they then would need, they cost more
/// than that gains (RMSNorm takes up to a quarter longer when it loads its weight without `.nc`).
pub(crate) fn launch(plan: &RowPlan, [rows, heads]: [usize; 2], constants: &[Option<&TensorArg>]) -> Launch {
    let launch = Launch::grid_3d([plan.blocks(rows), heads, 1]).block(plan.threads()).cluster(plan.cluster);
    let launch = Launch { min_blocks: plan.ring.map(|ring| ring.resident), ..launch };
    if constants.iter().flatten().all(|t| t.constant) { launch.pdl() } else { launch }
}
