//! Lists as text.

use super::{Norm, Wanted};
use crate::norm::Kind;
use std::collections::BTreeMap;
use warpsmith_dsl::DType;

/// A line that says nothing, or not what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CatalogueError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

const OPERATORS: &str = "softmax, rms_norm, layer_norm, cross_entropy, softmax_backward, rms_norm_backward, \
                         layer_norm_backward, cross_entropy_backward, gemm";

/// More values than these of one extent are a mistake.
const MOST: usize = 4096;

/// Reads a list.
///
/// # Errors
/// The first line that is not right.
pub fn parse(text: &str) -> Result<Vec<Wanted>, CatalogueError> {
    let mut all = vec![];
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            all.push(Line::read(line).map_err(|problem| CatalogueError { line: i + 1, problem })?);
        }
    }
    Ok(all)
}

/// What a line says, by key; each is taken once.
struct Line<'a> {
    operator: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Result<Wanted, String> {
        let mut words = text.split_whitespace();
        let mut line = Line { operator: words.next().unwrap_or(""), values: BTreeMap::new() };
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(format!("expected key=value, got `{word}`"));
            };
            if line.values.insert(key, value).is_some() {
                return Err(format!("`{key}` is given twice"));
            }
        }
        let wanted = match line.operator.replace('-', "_").as_str() {
            "softmax" => {
                let input = line.dtype("dtype", None)?;
                let (output, dims) = (line.dtype("output", Some(input))?, line.extents("dim")?);
                Wanted::Softmax { input, output, dims, in_place: line.flag("in_place")? }
            }
            "rms_norm" => line.norm(Kind::Rms)?,
            "layer_norm" => line.norm(Kind::Layer)?,
            "cross_entropy" => Wanted::CrossEntropy {
                input: line.dtype("dtype", None)?,
                target: line.dtype("target", Some(DType::I64))?,
                lse: line.flag("lse")?,
                gradient: line.flag("gradient")?,
                dims: line.extents("dim")?,
            },
            "softmax_backward" => {
                Wanted::SoftmaxBackward { dtype: line.dtype("dtype", None)?, dims: line.extents("dim")? }
            }
            "rms_norm_backward" => line.norm_backward(Kind::Rms)?,
            "layer_norm_backward" => line.norm_backward(Kind::Layer)?,
            "cross_entropy_backward" => Wanted::CrossEntropyBackward {
                dtype: line.dtype("dtype", None)?,
                target: line.dtype("target", Some(DType::I64))?,
                dims: line.extents("dim")?,
            },
            "gemm" => {
                let dtype = line.dtype("dtype", None)?;
                let [m, n, k] = [line.extents("m")?, line.extents("n")?, line.extents("k")?];
                Wanted::Gemm { dtype, m, n, k }
            }
            other => return Err(format!("there is no operator `{other}`; there are {OPERATORS}")),
        };
        match line.values.keys().next() {
            Some(key) => Err(format!("{} has no `{key}`", line.operator)),
            None => Ok(wanted),
        }
    }

    /// A normalisation: of RMS, without what only [`Norm`] has, the plain one.
    fn norm(&mut self, kind: Kind) -> Result<Wanted, String> {
        let input = self.dtype("dtype", None)?;
        let weight = self.optional("weight", Some(input))?;
        let of_bias = if kind == Kind::Layer { Some(input) } else { None };
        let (bias, residual) = (self.optional("bias", of_bias)?, self.optional("residual", None)?);
        let (statistics, constant) = (self.flag("statistics")?, self.flag("constant")?);
        let (output, dims) = (self.dtype("output", Some(input))?, self.extents("dim")?);
        Ok(if kind == Kind::Rms && bias.is_none() && residual.is_none() && !statistics {
            Wanted::RmsNorm { input, output, weight, dims, in_place: self.flag("in_place")?, constant }
        } else {
            Wanted::Norm(Norm { kind, input, output, weight, bias, residual, statistics, constant, dims })
        })
    }

    fn norm_backward(&mut self, kind: Kind) -> Result<Wanted, String> {
        let dtype = self.dtype("dtype", None)?;
        let weight = self.optional("weight", Some(dtype))?;
        let (sums, constant) = (self.flag("sums")?, self.flag("constant")?);
        Ok(Wanted::NormBackward { kind, dtype, weight, sums, constant, dims: self.extents("dim")? })
    }

    /// The dtype of what may be left out by `none`.
    fn optional(&mut self, key: &'a str, default: Option<DType>) -> Result<Option<DType>, String> {
        match self.values.get(key) {
            Some(&"none") => {
                self.values.remove(key);
                Ok(None)
            }
            None => Ok(default),
            Some(_) => self.dtype(key, default).map(Some),
        }
    }

    fn dtype(&mut self, key: &str, default: Option<DType>) -> Result<DType, String> {
        match (self.values.remove(key), default) {
            (Some(name), _) => name.parse().map_err(|e| format!("`{key}`: {e}")),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("{} needs `{key}`", self.operator)),
        }
    }

    fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.values.remove(key) {
            None | Some("no") => Ok(false),
            Some("yes") => Ok(true),
            Some(got) => Err(format!("`{key}`: expected yes or no, got `{got}`")),
        }
    }

    fn extents(&mut self, key: &str) -> Result<Vec<usize>, String> {
        let text = self.values.remove(key).ok_or_else(|| format!("{} needs `{key}`", self.operator))?;
        let expected = || {
            format!(
                "`{key}`: expected numbers like 4096, 1024..8192:1024 or 128..4096*2 with commas between, got `{text}`"
            )
        };
        let mut all = vec![];
        for part in text.split(',') {
            all.extend(range(part).ok_or_else(expected)?);
            if all.len() > MOST {
                return Err(format!("`{key}`: more than {MOST} values"));
            }
        }
        Ok(all)
    }
}

/// `4096`, `1024..8192:1024`, `128..4096*2`; the end is included when it is met. `None` when it is none of these.
fn range(text: &str) -> Option<Vec<usize>> {
    let Some((from, rest)) = text.split_once("..") else { return Some(vec![text.parse().ok()?]) };
    let from: usize = from.parse().ok()?;
    // The next is the one before, multiplied and added to.
    let (to, by, step) = match (rest.split_once(':'), rest.split_once('*')) {
        (Some((to, step)), None) => (to, 1, step.parse().ok().filter(|s| *s > 0)?),
        (None, Some((to, by))) => (to, by.parse().ok().filter(|b| *b > 1)?, 0),
        _ => return None,
    };
    let to: usize = to.parse().ok().filter(|to| from > 0 && from <= *to)?;
    let next = |n: &usize| n.checked_mul(by)?.checked_add(step);
    Some(std::iter::successors(Some(from), next).take_while(|n| *n <= to).take(MOST + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let list = "# ours\nrms-norm dtype=bf16 dim=4096,5120 weight=none\n\nsoftmax dtype=f32 dim=128..512*2 in_place=yes # rows\n\
                    gemm dtype=f16 m=1..7:2 n=8 k=64";
        assert_eq!(
            parse(list).unwrap(),
            [
                Wanted::RmsNorm {
                    input: DType::BF16,
                    output: DType::BF16,
                    weight: None,
                    dims: vec![4096, 5120],
                    in_place: false,
                    constant: false
                },
                Wanted::Softmax { input: DType::F32, output: DType::F32, dims: vec![128, 256, 512], in_place: true },
                Wanted::Gemm { dtype: DType::F16, m: vec![1, 3, 5, 7], n: vec![8], k: vec![64] },
            ]
        );
    }

    #[test]
    fn what_goes_with_a_normalisation_is_read() {
        let read = |text: &str| parse(text).unwrap().remove(0);
        let plain = Norm {
            kind: Kind::Layer,
            input: DType::BF16,
            output: DType::BF16,
            weight: Some(DType::BF16),
            bias: Some(DType::BF16),
            residual: None,
            statistics: false,
            constant: false,
            dims: vec![64],
        };
        assert_eq!(read("layer_norm dtype=bf16 dim=64"), Wanted::Norm(plain.clone()));
        let more = Norm { weight: Some(DType::F32), bias: None, statistics: true, constant: true, ..plain.clone() };
        let text = "layer-norm dtype=bf16 dim=64 weight=f32 bias=none statistics=yes constant=yes";
        assert_eq!(read(text), Wanted::Norm(more));
        let more = Norm { kind: Kind::Rms, bias: None, residual: Some(DType::F32), ..plain };
        assert_eq!(read("rms_norm dtype=bf16 dim=64 residual=f32"), Wanted::Norm(more));
        let (kind, dtype, weight, dims) = (Kind::Rms, DType::F16, None, vec![8]);
        let gradient = Wanted::NormBackward { kind, dtype, weight, sums: true, constant: false, dims };
        assert_eq!(read("rms_norm_backward dtype=f16 dim=8 weight=none sums=yes"), gradient);
    }

    #[test]
    fn every_operator_has_requests() {
        use crate::catalogue::requests;
        let list = "softmax dtype=f32 dim=64\nrms_norm dtype=f32 dim=64 constant=yes\nrms_norm dtype=f32 dim=64 residual=bf16\n\
                    layer_norm dtype=f32 dim=64 statistics=yes\ncross_entropy dtype=f32 dim=64 lse=yes gradient=yes\n\
                    softmax_backward dtype=f32 dim=64\nrms_norm_backward dtype=f32 dim=64 sums=yes\n\
                    layer_norm_backward dtype=f32 dim=64\ncross_entropy_backward dtype=f32 dim=64 target=i32\n\
                    gemm dtype=bf16 m=64 n=64 k=64";
        let wanted = parse(list).unwrap();
        let named: Vec<&str> = wanted.iter().map(Wanted::operator).collect();
        assert!(OPERATORS.split(", ").all(|operator| named.contains(&operator)), "{named:?}");
        let all = requests(&wanted, &warpsmith_types::Chip::H200).unwrap();
        // The weight's gradient is summed by a launch of its own.
        assert_eq!(all.len(), wanted.len() + 1);
        for request in &all {
            request.compile(warpsmith_types::Target::SM_90A).unwrap();
        }
    }

    #[test]
    fn mistakes_name_line_and_key() {
        let said = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(said("\nattention"), format!("line 2: there is no operator `attention`; there are {OPERATORS}"));
        assert_eq!(said("softmax dim=8"), "line 1: softmax needs `dtype`");
        assert_eq!(said("softmax dtype=bf16"), "line 1: softmax needs `dim`");
        assert_eq!(said("softmax dtype=bf16 dim=8 eps=1"), "line 1: softmax has no `eps`");
        assert_eq!(said("softmax dtype=bf16 dim=8 dim=9"), "line 1: `dim` is given twice");
        assert_eq!(said("softmax dtype=bf16 8"), "line 1: expected key=value, got `8`");
        assert_eq!(
            said("softmax dtype=bf16 dim=8 in_place=maybe"),
            "line 1: `in_place`: expected yes or no, got `maybe`"
        );
        assert_eq!(said("softmax dtype=bf16 dim=1..5000:1"), "line 1: `dim`: more than 4096 values");
        for nonsense in ["", "x", "8..", "8..16", "8..16:0", "8..16*1", "9..8:1", "0..8:1", "-1"] {
            let said = said(&format!("softmax dtype=bf16 dim={nonsense}"));
            assert!(said.starts_with("line 1: `dim`: expected numbers like 4096"), "{said}");
        }
        assert!(said("softmax dtype=b16 dim=8").starts_with("line 1: `dtype`: "));
    }
}
