//! Products of fragments by `mma.sync`.

use super::instruction::mma_of;
use super::register_tensor::RmemTensor;
use crate::machine::ptx;
use crate::trace::{helper, mistake};
use warpsmith_ir::RegisterId;
use warpsmith_layout::atom::TiledMma;
use warpsmith_layout::{Layout, LayoutError};

/// `sums += a · bᵀ` over all M, N and K that the fragments hold: (values, M, K), (values, N, K) and (values, M, N), as
/// [`make_fragment_a`](super::ThreadMma::make_fragment_a) and its siblings make them. A slice of A and B without the mode
/// K is one step of K.
#[track_caller]
pub fn gemm(mma: &TiledMma, sums: &RmemTensor, a: &RmemTensor, b: &RmemTensor) {
    let instruction = match mma_of(mma.atom()) {
        Ok(instruction) => instruction,
        Err(problem) => return mistake(problem, &[], "warpgroup instructions work through `WarpgroupMma`"),
    };
    for (name, fragment, dtype) in [("a", a, 0), ("b", b, 1), ("the sums", sums, 2)] {
        let expected = instruction.dtypes[dtype];
        if fragment.dtype() != expected {
            let message =
                format!("{name} of {} given to `{}`, which takes {expected}", fragment.dtype(), mma.atom().name);
            return mistake(message, &[], "make fragments by `make_fragment_a` and its siblings");
        }
    }
    let (a_parts, b_parts, c_parts) = match (grid(a), grid(b), grid(sums)) {
        (Some(a), Some(b), Some(c)) => (a, b, c),
        _ => {
            return mistake(
                "fragments that take words apart, or of more than three modes",
                &[],
                "slice by whole modes",
            );
        }
    };
    let atom = mma.atom();
    let values = |l: &Layout| l.mode(1).and_then(|m| m.size()).unwrap_or(0);
    let whole = [(a, &a_parts, &atom.a), (b, &b_parts, &atom.b), (sums, &c_parts, &atom.c)];
    for (fragment, parts, layout) in whole {
        if parts.values != values(layout) {
            let message =
                format!("`{}` takes {} values of a fragment {}", atom.name, values(layout), fragment.layout());
            return mistake(message, &[], "make fragments by `make_fragment_a` and its siblings");
        }
    }
    let fits = a_parts.rows == c_parts.rows && b_parts.rows == c_parts.columns && a_parts.columns == b_parts.columns;
    if !fits {
        let message = format!(
            "sums of {} × {} instructions from a of {} × {} and b of {} × {}",
            c_parts.rows, c_parts.columns, a_parts.rows, a_parts.columns, b_parts.rows, b_parts.columns
        );
        return mistake(message, &[], "a is (M, K), b is (N, K), the sums are (M, N)");
    }
    helper("gemm", || {
        for k in 0..a_parts.columns {
            for m in 0..a_parts.rows {
                for step in 0..b_parts.rows {
                    // There and back again: neighbours share a fragment of B too.
                    let n = if m % 2 == 0 { step } else { b_parts.rows - 1 - step };
                    let d = c_parts.words(m, n);
                    ptx(&*instruction.name)
                        .register_list(d)
                        .register_list(a_parts.words(m, k))
                        .register_list(b_parts.words(n, k))
                        .register_list(d)
                        .emit();
                }
            }
        }
    });
}

/// The registers of each instruction's part of a fragment.
struct Grid {
    values: i64,
    rows: usize,
    columns: usize,
    words: Vec<RegisterId>,
}

impl Grid {
    fn words(&self, row: usize, column: usize) -> &[RegisterId] {
        let each = self.words.len() / (self.rows * self.columns);
        let first = (row + self.rows * column) * each;
        &self.words[first..first + each]
    }
}

fn grid(fragment: &RmemTensor) -> Option<Grid> {
    let layout = fragment.layout();
    let extent = |mode: usize| -> Result<i64, LayoutError> {
        if mode < layout.rank() { layout.mode(mode)?.size() } else { Ok(1) }
    };
    let (values, rows, columns) = (extent(0).ok()?, extent(1).ok()?, extent(2).ok()?);
    let words = fragment.words()?;
    (layout.rank() <= 3 && words.len() as i64 % (rows * columns) == 0).then_some(Grid {
        values,
        rows: rows as usize,
        columns: columns as usize,
        words,
    })
}
