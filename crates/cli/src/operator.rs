//! Operators by name.

use crate::failure::Failure;

/// What can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// Softmax over rows.
    Softmax,
    /// RMS normalisation of rows.
    RmsNorm,
}

const ALL: [(&str, Operator); 2] = [("softmax", Operator::Softmax), ("rms_norm", Operator::RmsNorm)];

/// Their names.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
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

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operator::Softmax => "softmax",
            Operator::RmsNorm => "rms_norm",
        }
    }
}

/// Levenshtein's edit distance.
fn distance(a: &str, b: &str) -> usize {
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
        assert_eq!(Operator::named("rms-norm").unwrap(), Operator::RmsNorm);
        assert_eq!(
            Operator::named("sofmax").unwrap_err().to_string(),
            "there is no operator `sofmax`; did you mean `softmax`?"
        );
        assert_eq!(
            Operator::named("attention").unwrap_err().to_string(),
            "there is no operator `attention`; there are softmax, rms_norm"
        );
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
