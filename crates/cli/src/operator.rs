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
    /// Layer normalisation of rows.
    LayerNorm,
    /// Cross-entropy of rows of logits.
    CrossEntropy,
    /// The gradient of softmax.
    SoftmaxBackward,
    /// The gradient of RMS normalisation, of its input.
    RmsNormBackward,
    /// The gradient of layer normalisation, of its input.
    LayerNormBackward,
    /// The gradient of cross-entropy.
    CrossEntropyBackward,
}

impl RowOperator {
    /// All of them.
    pub(crate) const ALL: [RowOperator; 8] = [
        RowOperator::Softmax,
        RowOperator::RmsNorm,
        RowOperator::LayerNorm,
        RowOperator::CrossEntropy,
        RowOperator::SoftmaxBackward,
        RowOperator::RmsNormBackward,
        RowOperator::LayerNormBackward,
        RowOperator::CrossEntropyBackward,
    ];
}

fn all() -> impl Iterator<Item = Operator> {
    RowOperator::ALL.into_iter().map(Operator::Rows).chain([Operator::Gemm])
}

/// Their names.
pub(crate) fn names() -> Vec<&'static str> {
    all().map(Operator::name).collect()
}

/// The names of those that `run` checks the results of.
pub(crate) fn runnable() -> Vec<&'static str> {
    all().filter(|operator| operator.is_runnable()).map(Operator::name).collect()
}

/// Their names, and those of suites of them.
pub(crate) fn names_and_suites() -> Vec<&'static str> {
    names().into_iter().chain(crate::bench::SUITES.iter().map(|(name, _)| *name)).collect()
}

impl Operator {
    /// The operator of that name; `-` counts as `_`.
    pub(crate) fn named(name: &str) -> Result<Operator, Failure> {
        let wanted = name.replace('-', "_").to_lowercase();
        if let Some(operator) = all().find(|operator| operator.name() == wanted) {
            return Ok(operator);
        }
        let nearest = names().into_iter().map(|n| (distance(&wanted, n), n)).min();
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

    /// Whether `run` checks its result: it is no gradient.
    pub(crate) fn is_runnable(self) -> bool {
        use RowOperator::{CrossEntropy, LayerNorm, RmsNorm, Softmax};
        matches!(self, Operator::Gemm | Operator::Rows(Softmax | RmsNorm | LayerNorm | CrossEntropy))
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
            RowOperator::LayerNorm => "layer_norm",
            RowOperator::CrossEntropy => "cross_entropy",
            RowOperator::SoftmaxBackward => "softmax_backward",
            RowOperator::RmsNormBackward => "rms_norm_backward",
            RowOperator::LayerNormBackward => "layer_norm_backward",
            RowOperator::CrossEntropyBackward => "cross_entropy_backward",
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
            "there is no operator `attention`; there are softmax, rms_norm, layer_norm, cross_entropy, softmax_backward, \
             rms_norm_backward, layer_norm_backward, cross_entropy_backward, gemm"
        );
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
