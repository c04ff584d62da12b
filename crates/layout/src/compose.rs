//! Composition: a layout after a layout.

use crate::coalesce::{Flat, extensible};
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::{Basis, Step};
use crate::tiler::Tiler;
use crate::view::{LayoutBuilder, LayoutView};
use smallvec::SmallVec;

impl Layout {
    /// The layout `c -> self(inner(c))`, with modes that refine those of `inner`.
    ///
    /// Refused when no layout is that function, or when it is not provable that this one is. Past its end, the last
    /// mode of `self` goes on.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let a: Layout = "(4,6,8,10):(2,3,5,7)".parse()?;
    /// let b: Layout = "6:12".parse()?;
    /// assert_eq!(a.compose(&b)?.to_string(), "(2,3):(9,5)");
    /// let odd: Layout = "4:3".parse()?;
    /// assert!("(8,8):(8,1)".parse::<Layout>()?.compose(&odd).is_err());
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compose(&self, inner: &Layout) -> Result<Layout> {
        composition(self, inner).of("composition", &[self, inner])
    }

    /// Composition by mode: each mode of `self` after its entry of the tiler. Modes past the tiler are dropped.
    ///
    /// ```
    /// use warpsmith_layout::{Layout, Tiler};
    /// let a = Layout::new((9, 4), (4, 1))?;
    /// assert_eq!(a.compose_tiler(&Tiler::from((3, 2)))?.to_string(), "(3,2):(4,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn compose_tiler(&self, tiler: &Tiler) -> Result<Layout> {
        match tiler {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Size(n) => self.compose(&Layout::new(n.clone(), 1)?),
            Tiler::Layout(inner) => self.compose(inner),
            Tiler::Modes(modes) => {
                tiler.fits(self)?;
                let mut out = LayoutBuilder::new();
                out.tuple(|out| {
                    self.modes().zip(modes).try_for_each(|(mode, tiler)| {
                        out.layout(mode.compose_tiler(tiler)?);
                        Ok(())
                    })
                })?;
                Ok(out.finish())
            }
        }
    }
}

fn composition(outer: &Layout, inner: &Layout) -> Result<Layout> {
    compose_at(outer, inner, &Int::ZERO)
}

fn compose_at(outer: &Layout, inner: &Layout, start: &Int) -> Result<Layout> {
    let mut out = LayoutBuilder::new();
    compose_modes(outer, inner.view(), start, &mut SmallVec::new(), &mut out)?;
    Ok(out.finish())
}

/// The layout `c -> outer(start + inner(c)) - outer(start)`, where there is one, and `outer(start)`.
pub(crate) fn compose_from(outer: &Layout, inner: &Layout, start: &Int) -> Result<(Layout, Int)> {
    let layout = compose_at(outer, inner, start).of("composition", &[outer, inner])?;
    Ok((layout, outer.offset(start.clone())?))
}

/// What the inner layout's strides walk: all of the outer layout, or the mode that a basis names.
struct Part {
    basis: Basis,
    flat: Flat,
    /// The greatest index that the inner layout's modes so far, taken together, reach in each mode. As long as it stays
    /// inside, nothing carries into the next mode, and the outer layout is linear in the inner coordinates.
    reach: SmallVec<[Int; 8]>,
}

fn compose_modes(
    outer: &Layout,
    inner: LayoutView<'_>,
    start: &Int,
    parts: &mut SmallVec<[Part; 1]>,
    out: &mut LayoutBuilder,
) -> Result<()> {
    let Some((s, d)) = inner.as_leaf() else {
        return out.tuple(|out| inner.modes().try_for_each(|mode| compose_modes(outer, mode, start, parts, out)));
    };
    if d.is_zero() {
        out.view(inner);
        return Ok(());
    }
    let i = match parts.iter().position(|part| part.basis == d.basis) {
        Some(i) => i,
        None => {
            let walked = d.basis.path().iter().try_fold(outer.clone(), |l, mode| l.mode(usize::from(*mode)))?;
            let flat = extensible(&walked)?;
            let mut rest = start.clone();
            let mut reach = SmallVec::new();
            for (extent, _) in &flat {
                reach.push(rest.rem(extent)?);
                rest = rest.div(extent)?;
            }
            parts.push(Part { basis: d.basis, flat, reach });
            parts.len() - 1
        }
    };
    match parts.get_mut(i) {
        Some(Part { flat, reach, .. }) if !flat.is_empty() => walk(flat, s, &d.value, reach, out),
        _ => Err(LayoutError::Unsupported("an empty layout on the left".to_string())),
    }
}

fn decide(fact: Option<bool>, what: impl FnOnce() -> String) -> Result<bool> {
    fact.ok_or_else(|| LayoutError::Unknown(what()))
}

/// Walks one mode `size:step` of the inner layout through the modes of the outer one.
fn walk(flat: &Flat, size: &Int, step: &Int, reach: &mut [Int], to: &mut LayoutBuilder) -> Result<()> {
    if flat.len() == 1 {
        let stride = flat.first().map_or(Ok(Step::ZERO), |(_, d)| d.times(step))?;
        to.leaf(size.clone(), stride);
        return Ok(());
    }
    let (mut size, mut step) = (size.clone(), step.clone());
    let mut out = Flat::new();
    let last = flat.len() - 1;
    for (k, ((extent, stride), reach)) in flat.iter().zip(reach.iter_mut()).enumerate() {
        if k == last {
            if out.is_empty() || !size.is(1) {
                out.push((size.clone(), stride.times(&step)?));
            }
            break;
        }
        // The step jumps whole modes.
        if step.is_multiple_of(extent) == Some(true) {
            step = step.div(extent)?;
            continue;
        }
        if !decide(Int::ZERO.less_than(&step), || format!("whether {step} is positive"))? {
            return Err(LayoutError::Unsupported(format!("a negative stride, {step}, over several modes")));
        }
        if !decide(step.less_than(extent), || format!("whether {step} is a multiple of, or less than, {extent}"))? {
            return Err(LayoutError::StrideDivisibility {
                mode: k,
                stride: step.to_string(),
                extent: extent.to_string(),
            });
        }
        if size.is(1) {
            step = Int::ONE;
            continue;
        }
        let part = extent.ceil_div(&step)?;
        let taken = size.smaller(&part)?;
        if decide(size.is_multiple_of(&taken), || format!("whether {taken} divides {size}"))? {
            let left = size.div(&taken)?;
            let divides = extent.is_multiple_of(&step);
            if !left.is(1) && !decide(divides, || format!("whether {step} divides {extent}"))? {
                return Err(LayoutError::StrideDivisibility {
                    mode: k,
                    stride: step.to_string(),
                    extent: extent.to_string(),
                });
            }
            *reach = reach.add(&taken.add(&Int::Static(-1))?.mul(&step)?)?;
            if !decide(reach.less_than(extent), || format!("whether {reach} < {extent}"))? {
                return Err(LayoutError::Inadmissible {
                    mode: k,
                    reach: reach.to_string(),
                    extent: extent.to_string(),
                });
            }
            if !taken.is(1) {
                out.push((taken, stride.times(&step)?));
            }
            size = left;
            step = Int::ONE;
        } else {
            return Err(LayoutError::ShapeDivisibility { mode: k, size: size.to_string(), part: taken.to_string() });
        }
    }
    if out.len() == 1 {
        out.into_iter().for_each(|(s, d)| to.leaf(s, d));
    } else {
        to.open();
        out.into_iter().for_each(|(s, d)| to.leaf(s, d));
        to.close();
    }
    Ok(())
}
