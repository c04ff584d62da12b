//! Arguments as the kernels take them: rows as (rows, heads, dim), what a row has one of as (rows, heads, 1), vectors as
//! (heads, dim). Where there are no heads there is one.

use crate::rows::check_dtype;
use warpsmith_dsl::{ArgumentError, TensorArg};

fn rank(name: &'static str, expected: usize, modes: &str, t: &TensorArg) -> ArgumentError {
    ArgumentError::Rank { name, expected, modes: modes.into(), shape: t.shape.clone() }
}

fn with_modes(t: &TensorArg, modes: &[(usize, usize)]) -> TensorArg {
    let (shape, strides) = modes.iter().copied().unzip();
    TensorArg { address: t.address, device: t.device, dtype: t.dtype, shape, strides, constant: t.constant }
}

/// Rows of (rows, dim) or (rows, heads, dim), of the shape of `like` where that is given.
pub(super) fn rows(name: &'static str, t: &TensorArg, like: Option<&TensorArg>) -> Result<TensorArg, ArgumentError> {
    check_dtype(name, t.dtype)?;
    let view = match (&t.shape[..], &t.strides[..]) {
        (&[m, n], &[s, u]) => with_modes(t, &[(m, s), (1, n), (n, u)]),
        (&[m, h, n], &[s, v, u]) => with_modes(t, &[(m, s), (h, v), (n, u)]),
        _ => return Err(rank(name, 2, "rows, dim", t)),
    };
    if view.dim(2) == 0 {
        let expected = "rows of at least 1 element".into();
        return Err(ArgumentError::Unexpected { name, expected, got: "0".into() });
    }
    if view.dim(2) > 1 && view.strides[2] != 1 {
        return Err(ArgumentError::InnerStride { name, extent: "dim", got: view.strides[2] });
    }
    for (mode, extent) in ["rows", "heads", "dim"].into_iter().enumerate() {
        let (got, expected) = (view.dim(mode), like.map_or(view.dim(mode), |x| x.dim(mode)));
        if got != expected {
            return Err(ArgumentError::Disagree { name, extent, got, other: "x", expected });
        }
    }
    Ok(view)
}

/// One a row: (rows) or (rows, heads), of any strides.
pub(super) fn one_a_row(name: &'static str, t: &TensorArg) -> Result<TensorArg, ArgumentError> {
    match (&t.shape[..], &t.strides[..]) {
        (&[m], &[s]) => Ok(with_modes(t, &[(m, s), (1, 1), (1, 1)])),
        (&[m, h], &[s, v]) => Ok(with_modes(t, &[(m, s), (h, v), (1, 1)])),
        _ => Err(rank(name, 1, "rows", t)),
    }
}

/// A vector for all heads, or one for each, to go with rows of `x`.
pub(super) fn vector(name: &'static str, t: &TensorArg, x: &TensorArg) -> Result<TensorArg, ArgumentError> {
    check_dtype(name, t.dtype)?;
    let view = match (&t.shape[..], &t.strides[..]) {
        (&[n], &[u]) => with_modes(t, &[(x.dim(1), 0), (n, u)]),
        (&[h, n], &[s, u]) => with_modes(t, &[(h, s), (n, u)]),
        _ => return Err(rank(name, 1, "dim", t)),
    };
    for (mode, extent) in ["heads", "dim"].into_iter().enumerate() {
        let (got, expected) = (view.dim(mode), x.dim(mode + 1));
        if got != expected {
            return Err(ArgumentError::Disagree { name, extent, got, other: "x", expected });
        }
    }
    Ok(view)
}

/// A vector that is written: one for all heads, or (heads, dim).
pub(super) fn gradient(name: &'static str, t: &TensorArg, x: &TensorArg) -> Result<TensorArg, ArgumentError> {
    let view = vector(name, t, x)?;
    Ok(if t.shape.len() == 1 { with_modes(t, &[(1, t.dim(0)), (t.dim(0), 1)]) } else { view })
}
