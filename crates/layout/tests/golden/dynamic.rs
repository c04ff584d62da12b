//! C++ unit tests with run-time integers. The same function must come out with all integers static; with run-time ones,
//! the crate may refuse for want of a fact, and otherwise the answer must be that function for the values.

use crate::case::{Answer, Case, Outcome, Trouble};
use crate::post;
use std::cell::RefCell;
use warpsmith_layout::{Emit, Facts, Int, IntTuple, Layout, LayoutError, Step, Strides};

/// Emitting for known values is evaluating.
struct Values<'a>(&'a [i64]);

impl Emit for Values<'_> {
    type Value = Option<i64>;

    fn constant(&mut self, value: i64) -> Option<i64> {
        Some(value)
    }

    fn variable(&mut self, id: u32) -> Option<i64> {
        self.0.get(id as usize).copied()
    }

    fn add(&mut self, a: Option<i64>, b: Option<i64>, _: Facts) -> Option<i64> {
        a?.checked_add(b?)
    }

    fn mul(&mut self, a: Option<i64>, b: Option<i64>, _: Facts) -> Option<i64> {
        a?.checked_mul(b?)
    }

    fn div(&mut self, a: Option<i64>, b: Option<i64>, _: Facts) -> Option<i64> {
        a?.checked_div(b?)
    }

    fn rem(&mut self, a: Option<i64>, b: Option<i64>, _: Facts) -> Option<i64> {
        a?.checked_rem(b?)
    }
}

/// The operands of a case: its text where integers are static, and the values of those that are not.
struct Reader<'a> {
    case: &'a Case,
    opaque: bool,
    values: RefCell<Vec<i64>>,
}

impl Reader<'_> {
    /// Reads leaves left to right; `_` marks the static ones.
    fn leaf(&self, marks: &mut impl Iterator<Item = bool>, value: i64) -> Int {
        if marks.next().unwrap_or(true) || !self.opaque {
            return Int::from(value);
        }
        let mut values = self.values.borrow_mut();
        values.push(value);
        Int::variable(u32::try_from(values.len() - 1).unwrap_or(u32::MAX), Facts::size())
    }

    fn tuple(&self, field: &'static str, marks: &'static str) -> Answer<IntTuple> {
        let text = self.case.text(marks)?;
        let mut marks = marks_of(&text).into_iter();
        Ok(self.case.tuple(field)?.try_map(|v| Ok(self.leaf(&mut marks, v.known()?)))?)
    }

    fn layout(&self, field: &'static str, marks: &'static str) -> Answer<Layout> {
        let (layout, text) = (self.case.layout(field)?, self.case.text(marks)?);
        let mut marks = marks_of(&text).into_iter();
        let shape = layout.shape().try_map(|v| Ok(self.leaf(&mut marks, v.known()?)))?;
        let stride: Strides = layout.stride().try_map(|d| Ok(Step::from(self.leaf(&mut marks, d.value.known()?))))?;
        Ok(Layout::new(shape, stride)?)
    }
}

/// For each number of a text, whether a `_` stands before it.
fn marks_of(text: &str) -> Vec<bool> {
    let numbers = text.split(['(', ')', ',', ':']).filter(|part| !part.is_empty());
    numbers.map(|part| part.starts_with('_')).collect()
}

fn operate(reader: &Reader<'_>) -> Answer<Layout> {
    let case = reader.case;
    let a = reader.layout("a", "a_cute")?;
    Ok(match case.operation().as_str() {
        "coalesce" => a.coalesce()?,
        "complement" if case.has("cotarget") => a.complement(reader.tuple("cotarget", "cotarget_cute")?)?,
        "complement" => a.complement_own()?,
        "composition" => a.compose(&reader.layout("b", "b_cute")?)?,
        "right_inverse" => a.right_inverse()?,
        "logical_divide" => a.logical_divide(reader.layout("tiler", "tiler_cute")?)?,
        other => return crate::operations::unknown(other),
    })
}

/// The layout for the values.
fn settle(layout: &Layout, values: &[i64]) -> Answer<Layout> {
    let evaluate = |v: &Int| match v.emit(&mut Values(values))? {
        Some(v) => Ok(Int::from(v)),
        None => Err(LayoutError::Unknown(v.to_string())),
    };
    let shape = layout.shape().try_map(evaluate)?;
    let stride = layout.stride().try_map(|d| Ok(Step::from(evaluate(&d.value)?)))?;
    Ok(Layout::new(shape, stride)?)
}

pub(crate) fn run(case: &Case) -> Outcome {
    let check = |opaque: bool| -> Answer<bool> {
        let reader = Reader { case, opaque, values: RefCell::new(Vec::new()) };
        let answer = settle(&operate(&reader)?, &reader.values.borrow())?;
        // C++ inverts only what is static, and so less of it.
        if case.operation() == "right_inverse" {
            let (a, least) = (case.layout("a")?, case.layout("result")?.size()?);
            return Ok(post::composes_to_identity(&a, &answer)? && answer.size()? >= if opaque { 1 } else { least });
        }
        Ok(answer.coalesce()? == case.layout("result")?.coalesce()?)
    };
    let refusal_is_right = |error: &LayoutError| matches!(error.reason(), LayoutError::Unknown(_));
    match (check(false), check(true)) {
        (Ok(true), Ok(true)) => Outcome::Passed,
        (Ok(true), Err(Trouble::Refused(error))) if refusal_is_right(&error) => Outcome::Refused,
        (Ok(false), _) => Outcome::Failed("another function for static integers".to_string()),
        (_, Ok(false)) => Outcome::Failed("another function for run-time integers".to_string()),
        (Err(Trouble::Refused(error)), _) => Outcome::Failed(format!("refused for static integers: {error}")),
        (_, Err(Trouble::Refused(error))) => Outcome::Failed(format!("refused for run-time integers: {error}")),
        (Err(Trouble::Unreadable(why)), _) | (_, Err(Trouble::Unreadable(why))) => Outcome::Failed(why),
    }
}
