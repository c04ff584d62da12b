//! The bridge to a language: run-time integers become its values.

use crate::error::{LayoutError, Result};
use crate::facts::Facts;
use crate::int::Int;
use crate::symbol::Factor;

/// What a language offers to compute run-time integers with.
///
/// Each method also gets what is known of its result, so that narrow arithmetic can be used where it is safe.
///
/// ```
/// use warpsmith_layout::{Emit, Facts, Int};
/// /// Values are known after all: emitting is evaluating.
/// struct Values(Vec<i64>);
/// impl Emit for Values {
///     type Value = i64;
///     fn constant(&mut self, value: i64) -> i64 { value }
///     fn variable(&mut self, id: u32) -> i64 { self.0[id as usize] }
///     fn add(&mut self, a: i64, b: i64, _: Facts) -> i64 { a + b }
///     fn mul(&mut self, a: i64, b: i64, _: Facts) -> i64 { a * b }
///     fn div(&mut self, a: i64, b: i64, _: Facts) -> i64 { a / b }
///     fn rem(&mut self, a: i64, b: i64, _: Facts) -> i64 { a % b }
/// }
/// let n = Int::variable(0, Facts::size());
/// assert_eq!(n.ceil_div(&Int::from(4))?.emit(&mut Values(vec![10]))?, 3);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub trait Emit {
    /// A run-time integer of the language.
    type Value: Clone;

    /// A constant.
    fn constant(&mut self, value: i64) -> Self::Value;
    /// The integer that was named so in [`Int::variable`].
    fn variable(&mut self, id: u32) -> Self::Value;
    /// `a + b`.
    fn add(&mut self, a: Self::Value, b: Self::Value, facts: Facts) -> Self::Value;
    /// `a * b`.
    fn mul(&mut self, a: Self::Value, b: Self::Value, facts: Facts) -> Self::Value;
    /// `a / b`; `a` is never negative, `b` is positive.
    fn div(&mut self, a: Self::Value, b: Self::Value, facts: Facts) -> Self::Value;
    /// `a % b`; `a` is never negative, `b` is positive.
    fn rem(&mut self, a: Self::Value, b: Self::Value, facts: Facts) -> Self::Value;
}

impl Int {
    /// Writes this integer down in a language. Refused where a dividend may be negative.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// /// Writes text.
    /// struct Text;
    /// impl Emit for Text {
    ///     type Value = String;
    ///     fn constant(&mut self, value: i64) -> String { value.to_string() }
    ///     fn variable(&mut self, id: u32) -> String { format!("r{id}") }
    ///     fn add(&mut self, a: String, b: String, _: Facts) -> String { format!("({a} + {b})") }
    ///     fn mul(&mut self, a: String, b: String, _: Facts) -> String { format!("{a} * {b}") }
    ///     fn div(&mut self, a: String, b: String, _: Facts) -> String { format!("({a} / {b})") }
    ///     fn rem(&mut self, a: String, b: String, _: Facts) -> String { format!("({a} % {b})") }
    /// }
    /// let thread = Int::variable(0, Facts::index(32));
    /// assert_eq!(Layout::new(32, 8)?.offset(thread)?.emit(&mut Text)?, "r0 * 8");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn emit<E: Emit>(&self, to: &mut E) -> Result<E::Value> {
        let symbol = match self {
            Int::Static(v) => return Ok(to.constant(*v)),
            Int::Dynamic(symbol) => symbol,
        };
        let mut product: Option<(E::Value, Facts)> = None;
        for factor in symbol.factors() {
            let (value, facts) = (emit_factor(factor, to)?, factor.facts());
            product = Some(match product {
                None => (value, facts),
                Some((p, f)) => {
                    let facts = f.times(facts);
                    (to.mul(p, value, facts), facts)
                }
            });
        }
        let coefficient = symbol.coefficient();
        Ok(match product {
            Some((p, _)) if coefficient == 1 => p,
            Some((p, _)) => {
                let k = to.constant(coefficient);
                to.mul(p, k, symbol.facts())
            }
            None => to.constant(coefficient),
        })
    }
}

fn emit_factor<E: Emit>(factor: &Factor, to: &mut E) -> Result<E::Value> {
    let facts = factor.facts();
    match factor {
        Factor::Variable(id, _) => Ok(to.variable(*id)),
        Factor::Sum(terms) => {
            // The static term comes last, where address arithmetic folds it.
            let mut sum: Option<(E::Value, Facts)> = None;
            for term in terms.iter().rev() {
                let (value, f) = (term.emit(to)?, term.facts());
                sum = Some(match sum {
                    None => (value, f),
                    Some((s, g)) => {
                        let f = g.plus(f);
                        (to.add(s, value, f), f)
                    }
                });
            }
            Ok(sum.map_or_else(|| to.constant(0), |(s, _)| s))
        }
        Factor::Quotient { of, by, up } => {
            non_negative(of)?;
            // The rounding term goes in before the division.
            let of = if *up { of.add(&by.add(&Int::Static(-1))?)? } else { of.clone() };
            let (of, by) = (of.emit(to)?, by.emit(to)?);
            Ok(to.div(of, by, facts))
        }
        Factor::Remainder { of, by } => {
            non_negative(of)?;
            let (of, by) = (of.emit(to)?, by.emit(to)?);
            Ok(to.rem(of, by, facts))
        }
    }
}

fn non_negative(x: &Int) -> Result<()> {
    if x.facts().lower >= 0 { Ok(()) } else { Err(LayoutError::Unknown(format!("whether {x} is negative"))) }
}
