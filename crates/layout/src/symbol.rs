//! Run-time integers as expressions in a normal form, with what is known of their values.

use crate::error::{LayoutError, Result};
use crate::facts::{Facts, gcd};
use crate::int::{Int, overflow};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A run-time integer: a coefficient times a product of things known at run time.
///
/// ```
/// use warpsmith_layout::*;
/// let rows = Int::variable(0, Facts::size());
/// assert!(matches!(rows.add(&Int::ONE)?, Int::Dynamic(symbol) if symbol.to_string() == "[1+?0]"));
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Symbol(Arc<Product>);

#[derive(PartialEq, Eq, Hash)]
struct Product {
    coefficient: i64,
    // Sorted and never empty.
    factors: Vec<Factor>,
    facts: Facts,
}

/// What a product is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Factor {
    Variable(u32, Facts),
    // At least two terms with different factors, sorted; a static term is the first.
    Sum(Arc<[Int]>),
    // `up` only where the division is not known to be exact.
    Quotient { of: Int, by: Int, up: bool },
    Remainder { of: Int, by: Int },
}

impl Symbol {
    pub(crate) fn variable(id: u32, facts: Facts) -> Symbol {
        Symbol(Arc::new(Product { coefficient: 1, factors: vec![Factor::Variable(id, facts)], facts }))
    }

    /// What is known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let n = Int::variable(0, Facts::new(8, 8, 64));
    /// assert!(matches!(n, Int::Dynamic(symbol) if symbol.facts() == Facts::new(8, 8, 64)));
    /// ```
    pub fn facts(&self) -> Facts {
        self.0.facts
    }

    pub(crate) fn coefficient(&self) -> i64 {
        self.0.coefficient
    }

    pub(crate) fn factors(&self) -> &[Factor] {
        &self.0.factors
    }
}

impl Factor {
    pub(crate) fn facts(&self) -> Facts {
        match self {
            Factor::Variable(_, facts) => *facts,
            Factor::Sum(terms) => terms.iter().fold(Facts::of(0), |f, t| f.plus(t.facts())),
            Factor::Quotient { of, by, up } => of.facts().over(by.facts(), *up),
            Factor::Remainder { of, by } => of.facts().modulo(by.facts()),
        }
    }
}

fn make(mut coefficient: i64, mut factors: Vec<Factor>) -> Result<Int> {
    // An exact quotient times its divisor is what was divided.
    while let Some((i, inner, left)) = factors.iter().enumerate().find_map(|(i, f)| match f {
        Factor::Quotient { of, by: Int::Static(by), up: false }
            if coefficient != 0 && coefficient % by == 0 && of.facts().divisor % by == 0 =>
        {
            Some((i, of.clone(), coefficient / by))
        }
        _ => None,
    }) {
        factors.remove(i);
        coefficient = left;
        if factors.is_empty() {
            return inner.mul(&Int::Static(coefficient));
        }
        let (k, more) = parts(&inner);
        coefficient = coefficient.checked_mul(k).ok_or_else(|| overflow(&inner, "*", &Int::Static(left)))?;
        factors.extend_from_slice(more);
    }
    factors.sort_by(order_factors);
    if coefficient == 0 || factors.is_empty() {
        return Ok(Int::Static(coefficient));
    }
    // A static factor goes into a sum, so that equal sums look equal.
    if coefficient != 1
        && let [Factor::Sum(terms)] = factors.as_slice()
    {
        let k = Int::Static(coefficient);
        return terms.iter().try_fold(Int::ZERO, |s, t| s.add(&t.mul(&k)?));
    }
    let facts = factors.iter().fold(Facts::of(coefficient), |f, x| f.times(x.facts()));
    Ok(match facts.exact() {
        Some(value) => Int::Static(value),
        None => Int::Dynamic(Symbol(Arc::new(Product { coefficient, factors, facts }))),
    })
}

/// The order of the normal form: by form, not by value.
fn order(a: &Int, b: &Int) -> Ordering {
    match (a, b) {
        (Int::Static(a), Int::Static(b)) => a.cmp(b),
        (Int::Static(_), Int::Dynamic(_)) => Ordering::Less,
        (Int::Dynamic(_), Int::Static(_)) => Ordering::Greater,
        (Int::Dynamic(a), Int::Dynamic(b)) => {
            order_all(a.factors(), b.factors(), order_factors).then(a.coefficient().cmp(&b.coefficient()))
        }
    }
}

fn order_factors(a: &Factor, b: &Factor) -> Ordering {
    fn rank(f: &Factor) -> u8 {
        match f {
            Factor::Variable(..) => 0,
            Factor::Sum(_) => 1,
            Factor::Quotient { up, .. } => 2 + u8::from(*up),
            Factor::Remainder { .. } => 4,
        }
    }
    match (a, b) {
        (Factor::Variable(a, f), Factor::Variable(b, g)) => a.cmp(b).then(f.cmp(g)),
        (Factor::Sum(a), Factor::Sum(b)) => order_all(a, b, order),
        (
            Factor::Quotient { of: p, by: q, .. } | Factor::Remainder { of: p, by: q },
            Factor::Quotient { of: r, by: s, .. } | Factor::Remainder { of: r, by: s },
        ) => rank(a).cmp(&rank(b)).then_with(|| order(p, r)).then_with(|| order(q, s)),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn order_all<T>(a: &[T], b: &[T], order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let differ = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|o| o.is_ne());
    differ.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Coefficient and factors.
fn parts(x: &Int) -> (i64, &[Factor]) {
    match x {
        Int::Static(v) => (*v, &[]),
        Int::Dynamic(s) => (s.coefficient(), s.factors()),
    }
}

/// The terms of a sum; anything else is its own only term.
fn terms(x: &Int) -> &[Int] {
    match parts(x) {
        (1, [Factor::Sum(terms)]) => terms,
        _ => std::slice::from_ref(x),
    }
}

pub(crate) fn product(a: &Int, b: &Int) -> Result<Int> {
    let ((m, x), (n, y)) = (parts(a), parts(b));
    let coefficient = m.checked_mul(n).ok_or_else(|| overflow(a, "*", b))?;
    make(coefficient, x.iter().chain(y).cloned().collect())
}

pub(crate) fn sum(a: &Int, b: &Int) -> Result<Int> {
    let mut sum: Vec<(i64, Vec<Factor>)> = Vec::new();
    for term in terms(a).iter().chain(terms(b)) {
        let (k, factors) = parts(term);
        match sum.iter_mut().find(|(_, f)| f.as_slice() == factors) {
            Some((n, _)) => *n = n.checked_add(k).ok_or_else(|| overflow(a, "+", b))?,
            None => sum.push((k, factors.to_vec())),
        }
    }
    sum.retain(|(k, _)| *k != 0);
    let mut sum = sum.into_iter().map(|(k, f)| make(k, f)).collect::<Result<Vec<_>>>()?;
    match sum.len() {
        0 => Ok(Int::ZERO),
        1 => Ok(sum.swap_remove(0)),
        _ => {
            sum.sort_by(order);
            make(1, vec![Factor::Sum(sum.into())])
        }
    }
}

/// `a / b` where it is exact by form, whatever the values: all of `b`'s factors are in `a`.
fn cancel(a: &Int, b: &Int) -> Result<Option<Int>> {
    let ((m, x), (n, y)) = (parts(a), parts(b));
    let (Some(0), Some(quotient)) = (m.checked_rem(n), m.checked_div(n)) else { return Ok(None) };
    let mut left = x.to_vec();
    for factor in y {
        match left.iter().position(|f| f == factor) {
            Some(i) => drop(left.remove(i)),
            None => return Ok(None),
        }
    }
    make(quotient, left).map(Some)
}

/// Whether the form of `a` shows that `b` divides it.
pub(crate) fn cancels(a: &Int, b: &Symbol) -> bool {
    let b = Int::Dynamic(b.clone());
    terms(a).iter().all(|t| matches!(cancel(t, &b), Ok(Some(_))))
}

/// The terms that `b` divides, already divided, and the sum of the others.
fn split(a: &Int, b: &Int) -> Result<(Int, Int)> {
    let (mut whole, mut rest) = (Int::ZERO, Int::ZERO);
    for term in terms(a) {
        match cancel(term, b)? {
            Some(q) => whole = whole.add(&q)?,
            None => rest = rest.add(term)?,
        }
    }
    Ok((whole, rest))
}

fn positive(b: &Int) -> Result<()> {
    if b.facts().lower >= 1 {
        Ok(())
    } else {
        Err(LayoutError::Unknown(format!("whether the divisor {b} is positive")))
    }
}

pub(crate) fn quotient(a: &Int, b: &Int, up: bool) -> Result<Int> {
    positive(b)?;
    let (whole, rest) = split(a, b)?;
    let rest = if rest.is(0) { rest } else { indivisible_quotient(&rest, b, up)? };
    whole.add(&rest)
}

fn indivisible_quotient(a: &Int, b: &Int, up: bool) -> Result<Int> {
    // What both have in common does not change a quotient.
    let ((m, x), (n, y)) = (parts(a), parts(b));
    let g = gcd(m, n).max(1);
    let (mut x, mut y) = (x.to_vec(), y.to_vec());
    y.retain(|factor| match x.iter().position(|f| f == factor) {
        Some(i) => {
            x.remove(i);
            false
        }
        None => true,
    });
    let (of, by) = (make(m / g, x)?, make(n / g, y)?);
    if of.is_static() && by.is_static() {
        return if up { of.ceil_div(&by) } else { of.div(&by) };
    }
    // A quotient of a quotient is a quotient by the product.
    if let (1, [Factor::Quotient { of: inner, by: first, up: way }]) = parts(&of)
        && (*way == up || inner.is_multiple_of(first) == Some(true))
    {
        return quotient(inner, &first.mul(&by)?, up);
    }
    let exact = of.is_multiple_of(&by) == Some(true);
    make(1, vec![Factor::Quotient { of, by, up: up && !exact }])
}

pub(crate) fn remainder(a: &Int, b: &Int) -> Result<Int> {
    positive(b)?;
    let (_, rest) = split(a, b)?;
    if rest.is_multiple_of(b) == Some(true) {
        return Ok(Int::ZERO);
    }
    if rest.facts().lower >= 0 && rest.less_than(b) == Some(true) {
        return Ok(rest);
    }
    if rest.is_static() && b.is_static() {
        return rest.rem(b);
    }
    make(1, vec![Factor::Remainder { of: rest, by: b.clone() }])
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::Variable(id, _) => write!(f, "?{id}"),
            Factor::Sum(terms) => {
                f.write_str("[")?;
                for (i, term) in terms.iter().enumerate() {
                    write!(f, "{}{term}", if i == 0 { "" } else { "+" })?;
                }
                f.write_str("]")
            }
            Factor::Quotient { of, by, up: false } => write!(f, "[{of}/{by}]"),
            Factor::Quotient { of, by, up: true } => write!(f, "[{of}/^{by}]"),
            Factor::Remainder { of, by } => write!(f, "[{of}%{by}]"),
        }
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.coefficient != 1 {
            write!(f, "{}*", self.0.coefficient)?;
        }
        for (i, factor) in self.0.factors.iter().enumerate() {
            write!(f, "{}{factor}", if i == 0 { "" } else { "*" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
