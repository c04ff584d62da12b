//! Operators by name.

use crate::failure::Failure;

/// What the library computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// Something over rows.
    Rows(RowOperator),
    /// Matrix product.
    Gemm,
}

/// What can be run on a (rows, dim) tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOperator {
    /// Softmax over rows.
    Softmax,
    /// RMS normalisation of rows.
    RmsNorm,
}

const ALL: [(&str, Operator); 3] = [
    ("softmax", Operator::Rows(RowOperator::Softmax)),
    ("rms_norm", Operator::Rows(RowOperator::RmsNorm)),
    ("gemm", Operator::Gemm),
];

/// Their names.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// Their names, and those of suites of them.
pub(crate) fn names_and_suites() -> Vec<&'static str> {
    names().into_iter().chain(crate::bench::SUITES.iter().map(|(name, _)| *name)).collect()
}

impl Operator {
    /// The operator of that name; `-` counts as `_`.
    pub(crate) fn named(name: &str) -> Result<Operator, Failure> {
        let wanted = name.replace('-', "_").to_lowercase();
        if let Some((_, op)) = ALL.iter().find(|(n, _)| *n == wanted) {
            return Ok(*op);
        }
        let nearest = ALL.iter().map(|(n, _)| (distance(&wanted, n), *n)).min();
        let near = nearest.filter(|(d, n)| *d <= n.len().div_ceil(2)).map(|(_, n)| n);
        Err(Failure::UnknownOperator { name: name.into(), nearest: near })
    }
}

impl Operator {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operator::Rows(operator) => operator.name(),
            Operator::Gemm => "gemm",
        }
    }

    /// How its shape is typed.
    pub(crate) fn extents(self) -> &'static str {
        match self {
            Operator::Rows(_) => "ROWSxDIM",
            Operator::Gemm => "MxNxK",
        }
    }
}

impl RowOperator {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RowOperator::Softmax => "softmax",
            RowOperator::RmsNorm => "rms_norm",
        }
    }
}

/// Levenshtein's edit distance.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_or_suggested() {
        assert_eq!(Operator::named("rms-norm").unwrap(), Operator::Rows(RowOperator::RmsNorm));
        assert_eq!(
            Operator::named("sofmax").unwrap_err().to_string(),
            "there is no operator `sofmax`; did you mean `softmax`?"
        );
        assert_eq!(
            Operator::named("attention").unwrap_err().to_string(),
            "there is no operator `attention`; there are softmax, rms_norm, gemm"
        );
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
