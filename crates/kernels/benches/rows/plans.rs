//! The plans that are timed beside those that calls take.

use warpsmith_dsl::{RowGroup, Tv};
use warpsmith_kernels::rows::{Ringed, RowPlan};
use warpsmith_types::Chip;

/// Numbers of threads that share so many accesses, few of them idle.
fn thread_counts(runs: usize) -> Vec<usize> {
    let accesses = (1..=10).chain([12, 14, 16, 17, 20, 24, 28, 32, 33, 40, 48, 64]);
    let whole = |t: usize| if t > 32 { t.next_multiple_of(32) } else { t.next_power_of_two() };
    let mut all: Vec<usize> = accesses.map(|a| whole(runs.div_ceil(a))).filter(|t| *t <= 1024).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Rows that are read as often as they are needed, by narrow accesses.
pub(crate) fn streamed_plans(dim: usize, chip: &Chip) -> Vec<RowPlan> {
    let mut all = vec![];
    for threads in [256, 512, 1024] {
        for vectors in [4, 8, 16] {
            for cluster in
                [1, 2, 4, 8].into_iter().filter(|c| *c <= chip.cluster as usize && threads * vectors * c <= dim)
            {
                let Ok(tv) = Tv::rows(1, threads, 1, vectors) else { continue };
                let group = RowGroup { rows: 1, threads_per_row: threads };
                all.push(RowPlan { group, tv, slice: None, dim, cluster, holds: false, tensors: 1, ring: None });
            }
        }
    }
    all
}

/// The plan that a call takes, and others.
pub(crate) fn plans(
    dim: usize,
    vector: usize,
    held: usize,
    bytes: usize,
    weights: bool,
    reads_once: bool,
    chip: &Chip,
) -> Vec<RowPlan> {
    let mut all = vec![];
    let clusters =
        [1, 2, 4, 8, 16].into_iter().filter(|c| *c <= 8 || (*c <= chip.largest_cluster as usize && dim > 65_536));
    for cluster in clusters.clone() {
        let runs = dim.div_ceil(vector * cluster);
        for threads_per_row in thread_counts(runs) {
            let vectors = runs.div_ceil(threads_per_row);
            let values = vectors * vector * held;
            let few = threads_per_row < 32 && vectors * vector > 64;
            let blocks_of = if threads_per_row == 1024 { 64 } else { 128 };
            if values > blocks_of || few || (cluster > 1 && (threads_per_row < 128 || dim < 8192)) {
                continue;
            }
            for block in [128usize, 256] {
                let rows = (block / threads_per_row).max(1);
                if (block == 256 && rows == 1) || !block.is_multiple_of(threads_per_row) && rows > 1 {
                    continue;
                }
                let Ok(tv) = Tv::rows(rows, threads_per_row, vector, vectors) else { continue };
                let group = RowGroup { rows, threads_per_row };
                all.push(RowPlan { group, tv, slice: None, dim, cluster, holds: true, tensors: held, ring: None });
            }
        }
    }
    if std::env::var("PLANS").is_ok_and(|kinds| kinds == "held") {
        return all;
    }
    for cluster in clusters {
        for threads in thread_counts(dim.div_ceil(vector * cluster)) {
            if threads < 32 && dim.div_ceil(vector * threads) > 8 || (cluster > 1 && (threads < 128 || dim < 16384)) {
                continue;
            }
            if threads > dim.div_ceil(vector * cluster) {
                continue;
            }
            for resident in [1, 2, 3, 4, 5, 6, 8, 12, 16] {
                for (holds, keeps) in [(true, true), (true, false), (false, true), (false, false)] {
                    for stages in [1, 2, 3, 4, 8] {
                        if keeps && (!weights || stages == 1) || (stages == 1 && resident > 1 && threads < 32) {
                            continue;
                        }
                        if dim < 4096 && stages != 1 && stages != 8 {
                            continue;
                        }
                        let ring = Ringed { threads, cluster, bytes, holds, keeps, resident, stages };
                        let Some(plan) = RowPlan::ringed(dim, vector, held, ring, chip) else { continue };
                        if plan.ring.is_some_and(|r| r.stages != stages) {
                            continue;
                        }
                        // Enough under way, and not too few threads.
                        let under_way = plan.ring.map_or(0, |r| r.stages * r.groups * resident)
                            * plan.rows()
                            * plan.tile()[1].min(dim)
                            * bytes;
                        let warps = plan.threads() * resident / 32;
                        if under_way >= 40 << 10 && warps >= 8 {
                            all.push(plan);
                        }
                    }
                }
            }
        }
    }
    if reads_once {
        for threads in [128, 256, 512, 1024] {
            for vectors in [2, 4, 8] {
                for cluster in [1, 2, 4] {
                    if threads * vectors * vector * cluster > dim {
                        continue;
                    }
                    let Ok(tv) = Tv::rows(1, threads, vector, vectors) else { continue };
                    let group = RowGroup { rows: 1, threads_per_row: threads };
                    all.push(RowPlan { group, tv, slice: None, dim, cluster, holds: false, tensors: held, ring: None });
                }
            }
        }
    }
    all
}
