//! Tensors of any rank as rows: where their leading modes lie as one mode would, kernels take them as that.

use warpsmith::dsl::TensorArg;

/// Makes tensors of (…, dim) those of (rows, dim), and tensors of one number a row, of (…), those of (rows). Leaves all as they
/// are where one of them is none of that, or they differ in what is collapsed. Each comes with how many of its modes are a row's:
/// 1 or 0.
pub(crate) fn collapse(tensors: &mut [(Option<&mut TensorArg>, usize)]) {
    let given = || tensors.iter().filter_map(|(t, own)| t.as_deref().map(|t| (t, *own)));
    let Some((first, own)) = given().next() else { return };
    let Some(rank) = first.shape.len().checked_sub(own).filter(|rank| *rank != 1) else { return };
    let alike = |(t, own): (&TensorArg, usize)| t.shape.len() == rank + own && t.shape[..rank] == first.shape[..rank];
    if !given().all(|t| alike(t) && merged(t.0, rank).is_some()) {
        return;
    }
    for (t, _) in tensors {
        let Some(t) = t else { continue };
        if let Some((rows, stride)) = merged(t, rank) {
            t.shape.splice(..rank, [rows]);
            t.strides.splice(..rank, [stride]);
        }
    }
}

/// The first modes as one: its extent and stride, if they lie so.
fn merged(t: &TensorArg, modes: usize) -> Option<(usize, usize)> {
    let dense = t.shape.last().copied().unwrap_or(1).max(1);
    let all = t.shape.iter().zip(&t.strides).take(modes);
    if all.clone().any(|(n, _)| *n == 0) {
        return Some((0, dense));
    }
    let mut merged: Option<(usize, usize)> = None;
    for (n, stride) in all.rev().filter(|(n, _)| **n != 1) {
        merged = match merged {
            None => Some((*n, *stride)),
            Some((rows, inner)) if *stride == inner * rows => Some((rows * n, inner)),
            Some(_) => return None,
        };
    }
    Some(merged.unwrap_or((1, dense)))
}
