//! Inverses, and what two layouts have in common.

use crate::coalesce::{Flat, extensible, from_flat};
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use smallvec::SmallVec;

/// A coalesced mode: size, stride, and the number of coordinates below it.
type Mode = (Int, Int, Int);

/// The coalesced modes with plain strides, each with its place.
fn modes(layout: &Layout) -> Result<SmallVec<[Mode; 8]>> {
    let mut below = Int::ONE;
    let mut out = SmallVec::new();
    for (s, d) in layout.coalesce()?.leaves() {
        out.push((s.clone(), d.int()?.clone(), below.clone()));
        below = below.mul(s)?;
    }
    Ok(out)
}

impl Layout {
    /// The largest layout found that `self` undoes: `self(r(i)) == i` for all `i` below its size.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((8, 4), (4, 1))?.right_inverse()?.to_string(), "(4,8):(8,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn right_inverse(&self) -> Result<Layout> {
        let inverse = || {
            let mut todo = modes(self)?;
            let mut end = Int::ONE;
            let mut out = Flat::new();
            while let Some(i) = todo.iter().position(|(_, d, _)| d.equals(&end) == Some(true)) {
                let (s, d, place) = todo.remove(i);
                end = s.mul(&d)?;
                out.push((s, Step::from(place)));
            }
            from_flat(out).coalesce()
        };
        inverse().of("right inverse", &[self])
    }

    /// A layout that undoes `self`: `l(self(i)) == i` where `self` is injective, and `self(l(self(i))) == self(i)`
    /// where only stride-0 modes keep it from being so. Each stride must be a multiple of the one below.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2), (1, 16))?.left_inverse()?.to_string(), "(16,2):(1,4)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn left_inverse(&self) -> Result<Layout> {
        left_inverse(self).of("left inverse", &[self])
    }

    /// How many elements, from the first on, lie side by side in both layouts, and the layout of their coordinates.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let (n, at) = Layout::new((4, 8), (1, 4))?.max_common(&Layout::new((4, 8), (1, 16))?)?;
    /// assert_eq!((n.to_string(), at.to_string()), ("4".into(), "4:1".into()));
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn max_common(&self, other: &Layout) -> Result<(Int, Layout)> {
        let common = || {
            let inverse = other.right_inverse()?;
            let first = self.compose(&inverse)?.coalesce()?;
            let first = first.modes().next().unwrap_or_else(Layout::one);
            match (first.shape().as_leaf(), first.stride().as_leaf()) {
                (Some(n), Some(d)) if d.as_int().is_some_and(|d| d.is(1)) => Ok((n.clone(), inverse.compose(&first)?)),
                _ => Ok((Int::ONE, Layout::one())),
            }
        };
        common().of("max common vector", &[self, other])
    }
}

fn left_inverse(layout: &Layout) -> Result<Layout> {
    let all = modes(layout)?;
    // The last mode goes on past its end, unless one of size 1 comes after it.
    let goes_on = extensible(layout)?.len() == all.len();
    let last = all.last().filter(|_| goes_on).map(|(_, _, place)| place.clone());
    let mut todo: SmallVec<[Mode; 8]> = all.into_iter().filter(|(_, d, _)| !d.is(0)).collect();
    if todo.is_empty() {
        return layout.coalesce();
    }
    let mut sorted: SmallVec<[Mode; 8]> = SmallVec::new();
    while !todo.is_empty() {
        let mut best = 0;
        for (i, (_, d, _)) in todo.iter().enumerate().skip(1) {
            if let Some((_, least, _)) = todo.get(best)
                && d.less_than(least).ok_or_else(|| LayoutError::Unknown(format!("whether {d} < {least}")))?
            {
                best = i;
            }
        }
        sorted.push(todo.remove(best));
    }
    let mut out = Flat::new();
    let (mut below, mut place, mut carry) = (Int::ONE, Int::ZERO, Int::ZERO);
    for (k, (s, d, p)) in sorted.iter().enumerate() {
        if d.facts().lower <= 0 {
            return Err(LayoutError::Unsupported(format!("the left inverse of a stride that may be negative, {d}")));
        }
        match d.is_multiple_of(&below) {
            Some(true) => out.push((d.div(&below)?, Step::from(place))),
            Some(false) => return Err(LayoutError::Indivisible(d.to_string(), below.to_string())),
            None => return Err(LayoutError::Unknown(format!("whether {below} divides {d}"))),
        }
        // An offset in units of this stride is cut off where the next stride starts; what overlaps is carried there.
        let most = s.add(&Int::Static(-1))?.add(&carry)?;
        let reached = match sorted.get(k + 1) {
            Some((_, next, _)) => {
                let ratio = next.div(d)?;
                carry = most.div(&ratio)?;
                most.smaller(&ratio.add(&Int::Static(-1))?)?
            }
            None => most,
        };
        // The inverse must stay inside this mode; only past the last one the layout goes on.
        let inside = reached.less_than(s);
        if inside != Some(true) && last.as_ref() != Some(p) {
            return Err(match inside {
                None => LayoutError::Unknown(format!("whether {reached} < {s}")),
                _ => LayoutError::NotInjective { mode: k, stride: d.to_string(), extent: s.mul(d)?.to_string() },
            });
        }
        (below, place) = (d.clone(), p.clone());
        if k + 1 == sorted.len() {
            out.push((s.clone(), Step::from(place.clone())));
        }
    }
    from_flat(out).coalesce()
}
