//! What is measured: an operator, or a suite of cases.

use crate::case::Case;
use crate::failure::Failure;
use crate::operator::{Operator, RowOperator};
use std::str::FromStr;
use warpsmith_types::DType;

/// Suites by name, and the operators in them.
pub(crate) const SUITES: [(&str, &[Operator]); 2] = [
    ("rows", &[Operator::Rows(RowOperator::Softmax), Operator::Rows(RowOperator::RmsNorm)]),
    ("all", &[Operator::Rows(RowOperator::Softmax), Operator::Rows(RowOperator::RmsNorm), Operator::Gemm]),
];

/// Lengths of rows in the suites.
const DIMS: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 49_152];
/// Elements of the suites' row tensors, as far as [`MOST_ROWS`] allows: large enough that no cache holds them.
const ELEMENTS: usize = 1 << 29;
const MOST_ROWS: usize = 32_768;
/// Rows on the emulator, whose counts are the same for each.
const EMULATED_ROWS: usize = 32;

/// Extents of the suites' matrix products.
const GEMMS: [[usize; 3]; 5] =
    [[2048, 2048, 8192], [4096, 4096, 4096], [8192, 8192, 1024], [8192, 8192, 8192], [16_384, 4096, 4096]];
const EMULATED_GEMMS: [[usize; 3]; 3] = [[128, 256, 64], [256, 256, 256], [512, 512, 128]];

/// What of a case can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanChoice {
    /// Threads to a row.
    pub(crate) threads_per_row: usize,
}

impl FromStr for PlanChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PlanChoice, String> {
        let number = text.strip_prefix("threads_per_row=").unwrap_or(text);
        match number.parse() {
            Ok(threads_per_row) => Ok(PlanChoice { threads_per_row }),
            Err(_) => Err(format!("`{text}` is no plan; expected threads_per_row=N, like threads_per_row=64")),
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
    let plans: Vec<Option<usize>> = match plans {
        [] => vec![None],
        some => some.iter().map(|p| Some(p.threads_per_row)).collect(),
    };
    let mut all = vec![];
    for operator in operators {
        let shapes = if shapes.is_empty() { usual(operator, emulated) } else { shapes.to_vec() };
        for dtype in dtypes {
            for shape in &shapes {
                for plan in &plans {
                    all.push(Case::new(operator, *dtype, shape, *plan)?);
                }
            }
        }
    }
    Ok(all)
}

fn usual(operator: Operator, emulated: bool) -> Vec<Vec<usize>> {
    match operator {
        Operator::Rows(_) => {
            DIMS.iter().map(|dim| vec![if emulated { EMULATED_ROWS } else { rows(*dim) }, *dim]).collect()
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
        assert_eq!(all("rows", &[]).unwrap().len(), 2 * DIMS.len());
        assert_eq!(all("all", &[]).unwrap().len(), 2 * DIMS.len() + GEMMS.len());
        let two = [PlanChoice { threads_per_row: 64 }, PlanChoice { threads_per_row: 128 }];
        assert_eq!(all("softmax", &two).unwrap().len(), 2 * DIMS.len());
        assert!(all("gemm", &two).is_err());
        assert_eq!((rows(256), rows(16_384), rows(32_768), rows(49_152)), (32_768, 32_768, 16_384, 8192));
        assert_eq!("threads_per_row=64".parse(), Ok(PlanChoice { threads_per_row: 64 }));
        assert_eq!("128".parse(), Ok(PlanChoice { threads_per_row: 128 }));
        assert!("threads=x".parse::<PlanChoice>().is_err());
    }
}
