//! Complement: what a layout leaves out.

use crate::coalesce::{Flat, from_flat, merge};
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::shape::ceil_div_by;
use crate::step::Step;
use smallvec::SmallVec;

impl Layout {
    /// The layout of the holes: ordered, and disjoint from `self` but for 0, so that both together fill `cotarget`.
    ///
    /// A tuple as cotarget is divided mode by mode. Refused when `self` is not injective, and when the holes are not
    /// enough to fill the cotarget, or reach past it.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new(4, 2)?.complement(24)?.to_string(), "(2,3):(1,8)");
    /// assert!(Layout::new((2, 2), (1, 1))?.complement(8).is_err());
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn complement(&self, cotarget: impl Into<IntTuple>) -> Result<Layout> {
        let cotarget = cotarget.into();
        let checked = || {
            let filtered = self.filter()?;
            let holes = complement(&filtered, &cotarget)?;
            check(&filtered, &cotarget, &holes)?;
            Ok(holes)
        };
        checked().of("complement", &[self, &cotarget])
    }

    /// The complement where a tuple as cotarget may come out too large, as a division by a tile that does not fit has
    /// it, or copies may leave holes.
    pub(crate) fn loose_complement(&self, cotarget: impl Into<IntTuple>) -> Result<Layout> {
        let cotarget = cotarget.into();
        complement(&self.filter()?, &cotarget).of("complement", &[self, &cotarget])
    }

    /// The complement up to the layout's own greatest offset.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Layout::new((4, 2), (1, 8))?.complement_own()?.to_string(), "2:4");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn complement_own(&self) -> Result<Layout> {
        let filtered = self.filter().of("complement", &[self])?;
        let cotarget = filtered.cosize().of("complement", &[self])?;
        complement(&filtered, &cotarget.into()).of("complement", &[self])
    }
}

fn complement(filtered: &Layout, cotarget: &IntTuple) -> Result<Layout> {
    let mut todo: SmallVec<[(&Int, &Int); 8]> = SmallVec::new();
    for (s, d) in filtered.leaves() {
        if !d.is_zero() {
            todo.push((s, d.int()?));
        }
    }
    let mut out = Flat::new();
    let mut end = Int::ONE;
    let mut place = 0;
    while !todo.is_empty() {
        let (s, d) = todo.swap_remove(least(&todo)?);
        if d.facts().lower <= 0 {
            let what = if d.facts().upper <= 0 { "negative" } else { "possibly negative" };
            return Err(LayoutError::Unsupported(format!("the complement of a {what} stride, {d}")));
        }
        match end.at_most(d) {
            Some(true) => {}
            Some(false) => {
                return Err(LayoutError::NotInjective { mode: place, stride: d.to_string(), extent: end.to_string() });
            }
            None => return Err(LayoutError::Unknown(format!("whether {end} <= {d}"))),
        }
        if d.is_multiple_of(&end).is_none() {
            return Err(LayoutError::Unknown(format!("whether {end} divides {d}")));
        }
        out.push((d.div(&end)?, Step::from(end)));
        end = s.mul(d)?;
        place += 1;
    }
    let rest = match cotarget.as_leaf() {
        Some(n) => n.ceil_div(&end)?,
        None => ceil_div_by(cotarget, &end)?.extent()?,
    };
    out.push((rest, Step::from(end)));
    merge(out.iter().map(|(s, d)| (s, d))).map(from_flat)
}

/// Holes that are filled leave nothing of the cotarget out, and reach past it only as far as one layout does.
fn check(filtered: &Layout, cotarget: &IntTuple, holes: &Layout) -> Result<()> {
    if !filtered.is_static() || !holes.is_static() || cotarget.leaves().iter().any(|s| !s.is_static()) {
        return Ok(());
    }
    let target = cotarget.extent()?;
    let extent = filtered.cosize()?;
    let enough = target.at_most(&holes.cosize()?.add(&extent)?.add(&Int::Static(-1))?);
    let inside = holes.cosize()?.at_most(&target.ceil_div(&extent)?.mul(&extent)?);
    if enough == Some(true) && inside == Some(true) {
        return Ok(());
    }
    Err(LayoutError::Unsupported(format!("{holes} and {filtered} together do not fill {cotarget}")))
}

/// The mode with the least stride.
fn least(modes: &[(&Int, &Int)]) -> Result<usize> {
    let mut best = 0;
    for (i, (_, d)) in modes.iter().enumerate().skip(1) {
        let Some((_, least)) = modes.get(best) else { break };
        match d.less_than(least) {
            Some(true) => best = i,
            Some(false) => {}
            None => return Err(LayoutError::Unknown(format!("whether {d} < {least}"))),
        }
    }
    Ok(best)
}
