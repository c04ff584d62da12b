//! Fewer modes for the same function.

use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use crate::tuple::View;
use smallvec::SmallVec;

/// Modes of a flat layout.
pub(crate) type Flat = SmallVec<[(Int, Step); 8]>;

/// Merges neighbours; keeps size-1 modes out. Read from the left, empty when all sizes are 1.
pub(crate) fn merge<'a>(leaves: impl Iterator<Item = (&'a Int, &'a Step)>) -> Result<Flat> {
    let mut out = Flat::new();
    for (s, d) in leaves {
        if !s.is(1) {
            push(&mut out, s, d)?;
        }
    }
    Ok(out)
}

fn push(out: &mut Flat, s: &Int, d: &Step) -> Result<()> {
    if let Some((size, step)) = out.last_mut()
        && step.times(size).is_ok_and(|end| end.equals(d) == Some(true))
    {
        *size = size.mul(s)?;
    } else {
        out.push((s.clone(), d.clone()));
    }
    Ok(())
}

/// The same function also past the end: the last mode keeps its stride even if its size is 1.
pub(crate) fn extensible(layout: &Layout) -> Result<Flat> {
    let mut leaves = layout.leaves();
    let Some((s, d)) = leaves.next_back() else { return Ok(Flat::new()) };
    let mut out = merge(leaves)?;
    // Any size does for the last mode, which nothing bounds; 2 is not dropped.
    push(&mut out, if s.is(1) { const { &Int::Static(2) } } else { s }, d)?;
    Ok(out)
}

/// A flat layout; one mode alone is no tuple.
pub(crate) fn from_flat(mut modes: Flat) -> Layout {
    match (modes.len(), modes.pop()) {
        (1, Some((s, d))) => Layout::leaf(s, d),
        (_, Some(last)) => Layout::flat(modes.into_iter().chain([last])),
        (_, None) => Layout::one(),
    }
}

impl Layout {
    /// The simplest flat layout that is the same function of a linear index.
    ///
    /// Modes of size 1 go, neighbours merge where the second goes on where the first ends. With run-time leaves, what
    /// is not known to merge stays apart.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l: Layout = "(2,(1,6)):(1,(6,2))".parse()?;
    /// assert_eq!(l.coalesce()?.to_string(), "12:1");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Result<Layout> {
        merge(self.leaves()).map(from_flat).of("coalesce", &[self])
    }
    /// Coalesces each mode that is a leaf of the profile, whatever that leaf is. Modes past the profile stay.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l: Layout = "(2,(1,6)):(1,(6,2))".parse()?;
    /// assert_eq!(l.coalesce_by((1, 1))?.to_string(), "(2,6):(1,2)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn coalesce_by(&self, profile: impl Into<IntTuple>) -> Result<Layout> {
        let profile = profile.into();
        at_terminals(self, profile.view(), &|mode| merge(mode.leaves()).map(from_flat))
            .of("coalesce", &[self, &profile])
    }
}

/// Applies an operation at the leaves of a profile.
pub(crate) fn at_terminals(
    layout: &Layout,
    profile: View<'_, Int>,
    operation: &dyn Fn(&Layout) -> Result<Layout>,
) -> Result<Layout> {
    if profile.is_leaf() {
        return operation(layout);
    }
    let (n, m) = (profile.rank(), layout.rank());
    if n > m {
        return Err(LayoutError::Rank { what: "a profile and its layout", left: n, right: m });
    }
    let mut profiles = profile.modes();
    let modes = layout.modes().map(|mode| match profiles.next() {
        Some(profile) => at_terminals(&mode, profile, operation),
        None => Ok(mode),
    });
    Ok(Layout::of(modes.collect::<Result<Vec<_>>>()?))
}
