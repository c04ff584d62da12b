//! What is measured: an operator, or a suite of cases.

use crate::case::Case;
use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
use std::str::FromStr;
use warpsmith::dsl::{DeviceId, TensorArg};
use warpsmith::kernels::rows::{RowPlan, vector};
use warpsmith_types::DType;

/// Suites by name, and the operators in them.
pub(crate) const SUITES: [(&str, &[Operator]); 3] = [("rows", &ROWS), ("gradients", &GRADIENTS), ("all", &ALL)];

const ROWS: [Operator; 4] = [
    Operator::Rows(RowOperator::Softmax),
    Operator::Rows(RowOperator::RmsNorm),
    Operator::Rows(RowOperator::LayerNorm),
    Operator::Rows(RowOperator::CrossEntropy),
];
const GRADIENTS: [Operator; 4] = [
    Operator::Rows(RowOperator::SoftmaxBackward),
    Operator::Rows(RowOperator::RmsNormBackward),
    Operator::Rows(RowOperator::LayerNormBackward),
    Operator::Rows(RowOperator::CrossEntropyBackward),
];
const ALL: [Operator; 9] =
    [ROWS[0], ROWS[1], ROWS[2], ROWS[3], GRADIENTS[0], GRADIENTS[1], GRADIENTS[2], GRADIENTS[3], Operator::Gemm];

/// Lengths of rows in the suites.
const DIMS: [usize; 12] = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 49_152, 65_536, 131_072, 262_144];
/// Elements of the suites' row tensors, as far as [`MOST_ROWS`] allows: large enough that no cache holds them.
const ELEMENTS: usize = 1 << 29;
const MOST_ROWS: usize = 32_768;
/// On the emulator, where each row counts the same: elements, rows, and columns at most.
const EMULATED: [usize; 3] = [1 << 17, 32, 65_536];

/// Extents of the suites' matrix products.
const GEMMS: [[usize; 3]; 5] =
    [[2048, 2048, 8192], [4096, 4096, 4096], [8192, 8192, 1024], [8192, 8192, 8192], [16_384, 4096, 4096]];
const EMULATED_GEMMS: [[usize; 3]; 3] = [[128, 256, 64], [256, 256, 256], [512, 512, 128]];

/// What of a case can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanChoice {
    /// So many threads to a row.
    ThreadsPerRow(usize),
    /// Every plan that may be fast, the operator's own first.
    All,
}

impl FromStr for PlanChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PlanChoice, String> {
        let number = text.strip_prefix("threads_per_row=").unwrap_or(text);
        match (text, number.parse()) {
            ("all", _) => Ok(PlanChoice::All),
            (_, Ok(threads)) => Ok(PlanChoice::ThreadsPerRow(threads)),
            (_, Err(_)) => {
                Err(format!("`{text}` is no plan; expected threads_per_row=N, like threads_per_row=64, or all"))
            }
        }
    }
}

/// The cases of an operator or a suite, with the shapes, dtypes and plans that were asked for.
pub(super) fn cases(
    name: &str,
    shapes: &[Vec<usize>],
    dtypes: &[DType],
    plans: &[PlanChoice],
    emulated: bool,
) -> Result<Vec<Case>, Failure> {
    let suite = SUITES.iter().find(|(suite, _)| *suite == name);
    let operators = match suite {
        Some((_, operators)) => operators.to_vec(),
        None => vec![Operator::named(name).map_err(|failure| match failure {
            Failure::UnknownOperator { name, nearest: None } => Failure::Option(format!(
                "there is no operator or suite `{name}`; there are {}, {}",
                crate::operator::names().join(", "),
                SUITES.map(|(suite, _)| suite).join(", ")
            )),
            other => other,
        })?],
    };
    let mut all = vec![];
    for operator in operators {
        let shapes = if shapes.is_empty() { usual(operator, emulated) } else { shapes.to_vec() };
        for dtype in dtypes {
            for shape in &shapes {
                let own = Case::new(operator, *dtype, shape, None)?;
                for threads in threads_per_row(&own, plans)? {
                    all.push(Case::new(operator, *dtype, shape, threads)?);
                }
            }
        }
    }
    Ok(all)
}

/// The choices for a case; `None` is the operator's own.
fn threads_per_row(case: &Case, plans: &[PlanChoice]) -> Result<Vec<Option<usize>>, Failure> {
    let mut chosen = vec![];
    for plan in plans {
        match plan {
            PlanChoice::ThreadsPerRow(threads) => chosen.push(Some(*threads)),
            PlanChoice::All if matches!(case.operator, Operator::Rows(_)) => {
                let dim = case.shape.last().copied().unwrap_or(0);
                let vector = vector(&[&TensorArg::new(0, DeviceId(0), case.dtype, &case.shape)]);
                // The operator's own, and those by which a block holds such a row, where there are any.
                chosen.push(None);
                let held = RowPlan::new(dim, vector).into_iter().flat_map(|plan| plan.others(dim).collect::<Vec<_>>());
                chosen.extend(held.map(|plan| Some(plan.group.threads_per_row)));
            }
            PlanChoice::All => chosen.push(None),
        }
    }
    Ok(if plans.is_empty() { vec![None] } else { chosen })
}

fn usual(operator: Operator, emulated: bool) -> Vec<Vec<usize>> {
    match operator {
        Operator::Rows(_) => {
            let [elements, most, longest] = EMULATED;
            let dims = DIMS.iter().filter(|dim| !emulated || **dim <= longest);
            let emulated_rows = |dim: usize| (elements / dim).clamp(2, most);
            dims.map(|dim| vec![if emulated { emulated_rows(*dim) } else { rows(*dim) }, *dim]).collect()
        }
        Operator::Gemm if emulated => EMULATED_GEMMS.iter().map(|shape| shape.to_vec()).collect(),
        Operator::Gemm => GEMMS.iter().map(|shape| shape.to_vec()).collect(),
    }
}

/// A power of two, so that no tensor passes [`ELEMENTS`].
fn rows(dim: usize) -> usize {
    let fits = ELEMENTS / dim;
    MOST_ROWS.min(1 << fits.checked_ilog2().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_made_of_cases() {
        let all = |name: &str, plans: &[PlanChoice]| cases(name, &[], &[DType::BF16], plans, false);
        assert_eq!(all("rows", &[]).unwrap().len(), 4 * DIMS.len());
        assert_eq!(all("gradients", &[]).unwrap().len(), 4 * DIMS.len());
        assert_eq!(all("all", &[]).unwrap().len(), 8 * DIMS.len() + GEMMS.len());
        let two = [PlanChoice::ThreadsPerRow(64), PlanChoice::ThreadsPerRow(128)];
        assert_eq!(all("softmax", &two).unwrap().len(), 2 * DIMS.len());
        assert_eq!(all("softmax_backward", &two).unwrap().len(), 2 * DIMS.len());
        assert!(all("gemm", &two).is_err());
        assert_eq!(all("gemm", &[PlanChoice::All]).unwrap(), all("gemm", &[]).unwrap());
        let every = cases("softmax", &[vec![4, 1000]], &[DType::F32], &[PlanChoice::All], true).unwrap();
        let threads: Vec<_> = every.iter().filter_map(|case| case.threads_per_row).collect();
        // The operator's own, and then those of a block: 1000 are 250 accesses of four, two for each of 128 threads.
        assert!(
            every[0].threads_per_row.is_none() && threads.len() + 1 == every.len() && threads.len() > 3,
            "{threads:?}"
        );
        assert_eq!(threads[0], 128);
        assert!(threads.iter().all(|t| t.is_power_of_two()) && !threads[1..].contains(&128), "{threads:?}");
        assert_eq!((rows(256), rows(16_384), rows(32_768), rows(49_152)), (32_768, 32_768, 16_384, 8192));
        assert_eq!("threads_per_row=64".parse(), Ok(PlanChoice::ThreadsPerRow(64)));
        assert_eq!("128".parse(), Ok(PlanChoice::ThreadsPerRow(128)));
        assert_eq!("all".parse(), Ok(PlanChoice::All));
        assert!("threads=x".parse::<PlanChoice>().is_err());
    }
}
