//! Post-conditions, element by element.

use crate::case::{Answer, Case};
use std::collections::HashSet;
use warpsmith_layout::{ComposedLayout, Coord, Index, IntTuple, Layout, LayoutError, Swizzle, Tiler, idx2crd};

pub(crate) type Check = dyn Fn(&Layout, &Layout, &Layout) -> Result<bool, LayoutError>;

/// `r(i) == a(b(i))`.
pub(crate) fn composition(a: &Layout, b: &Layout, r: &Layout) -> Result<bool, LayoutError> {
    Ok(b.size()? == r.size()? && all(b.size()?, |i| Ok(r.at(i)? == a.at(b.at(i)?)?))?)
}

/// `a(r(i)) == i`.
pub(crate) fn composes_to_identity(a: &Layout, r: &Layout) -> Result<bool, LayoutError> {
    all(r.size()?, |i| Ok(a.at(r.at(i)?)? == i))
}

/// `a(r(a(i))) == a(i)`.
pub(crate) fn left_inverse(a: &Layout, r: &Layout) -> Result<bool, LayoutError> {
    all(a.size()?, |i| Ok(a.at(r.at(a.at(i)?)?)? == a.at(i)?))
}

/// Ordered, disjoint from `a`, and both together fill the cotarget, up to one more `a`.
pub(crate) fn complement(a: &Layout, cotarget: &IntTuple, r: &Layout) -> Result<bool, LayoutError> {
    let (a, cotarget) = (a.filter()?, cotarget.size()?);
    let ordered = all(r.size()? - 1, |i| Ok(r.at(i)? < r.at(i + 1)?))?;
    let both = a.append(r).flatten();
    let extent = a.cosize()?.known()?;
    let room = (cotarget + extent - 1) / extent * extent;
    let enough = both.cosize()?.known()? >= cotarget;
    Ok(ordered && both.is_injective()? && enough && r.cosize()?.known()? <= room)
}

/// `r(i, j) == a(t(i) + c(j))`, for the complement `c` of the tile.
pub(crate) fn divide(a: &Layout, t: &Layout, r: &Layout) -> Result<bool, LayoutError> {
    let c = complement_of(t, a)?;
    let (n, m) = (t.size()?, c.size()?);
    Ok(r.size()? == n * m && all(n * m, |k| Ok(r.at(k)? == a.at(t.at(k % n)? + c.at(k / n)?)?))?)
}

/// The complement that a division uses: the modes past the tile of the layout divided as a whole.
fn complement_of(t: &Layout, a: &Layout) -> Result<Layout, LayoutError> {
    Layout::compact(a.coalesce()?.shape())?.logical_divide(t)?.mode(1)
}

/// All copies are there; if block and tiling are injective, no two elements coincide.
pub(crate) fn product(a: &Layout, t: &Layout, r: &Layout) -> Result<bool, LayoutError> {
    let apart = !(a.is_injective()? && t.is_injective()?) || r.is_injective()?;
    Ok(r.size()? == a.size()? * t.size()? && apart)
}

pub(crate) fn by_mode(a: &Layout, tiler: &Tiler, r: &Layout, check: &Check) -> Result<bool, LayoutError> {
    match tiler {
        Tiler::Keep => Ok(a == r),
        Tiler::Size(n) => check(a, &Layout::compact(n.clone())?, r),
        Tiler::Layout(tile) => check(a, tile, r),
        Tiler::Modes(tilers) => a
            .modes()
            .zip(tilers)
            .zip(r.modes())
            .try_fold(true, |holds, ((a, tiler), r)| Ok(holds && by_mode(&a, tiler, &r, check)?)),
    }
}

pub(crate) fn same_elements(a: &Layout, b: &Layout) -> Result<bool, LayoutError> {
    let (mut a, mut b) = (a.table()?, b.table()?);
    a.sort_unstable();
    b.sort_unstable();
    Ok(a == b)
}

/// Whether a local tile has the elements that the definition says.
pub(crate) fn local_tile(case: &Case, result: &Layout, start: i64) -> Answer<bool> {
    let (a, tiler, coord) = (case.layout("a")?, case.tiler("tiler")?, case.coord("crd")?);
    let Tiler::Modes(tilers) = tiler else { return Ok(true) };
    // A linear index counts the tiles mode by mode.
    let coord = match coord.as_leaf().and_then(Index::at) {
        Some(index) => {
            let mut counts = Vec::new();
            for (k, mode) in a.modes().enumerate() {
                let tile = match tilers.get(k) {
                    Some(Tiler::Size(n)) => Layout::compact(n.clone())?,
                    Some(Tiler::Layout(tile)) => tile.clone(),
                    _ => Layout::one(),
                };
                counts.push(complement_of(&tile, &Layout::compact(mode.extent()?)?)?.size()?);
            }
            Coord::from(idx2crd(index.clone(), counts.as_slice())?)
        }
        None => coord,
    };
    // All offsets that the tile reaches, mode by mode: a set of sums.
    let mut reached = vec![0];
    for (k, mode) in a.modes().enumerate() {
        let tile = match tilers.get(k) {
            Some(Tiler::Size(n)) => Layout::compact(n.clone())?,
            Some(Tiler::Layout(tile)) => tile.clone(),
            _ => Layout::one(),
        };
        let rest = complement_of(&tile, &Layout::compact(mode.extent()?)?)?;
        let rests = match coord.modes().nth(k).and_then(|c| c.as_leaf().cloned()).and_then(|c| c.at().cloned()) {
            Some(at) => vec![rest.at(at.known()?)?],
            None => rest.table()?,
        };
        let tiles = tile.table()?;
        let mut sums = Vec::new();
        for base in &reached {
            for t in &tiles {
                for r in &rests {
                    sums.push(base + mode.at(t + r)?);
                }
            }
        }
        reached = sums;
    }
    let mut said: Vec<i64> = result.table()?.into_iter().map(|offset| start + offset).collect();
    reached.sort_unstable();
    said.sort_unstable();
    Ok(reached == said)
}

/// Whether `r` undoes the swizzled layout of the case, on the side that it says.
pub(crate) fn swizzle_inverse(case: &Case, r: &ComposedLayout) -> Answer<bool> {
    let number = |field| Ok::<_, crate::case::Trouble>(u32::try_from(case.int(field)?).unwrap_or(u32::MAX));
    let shift = i32::try_from(case.int("s")?).unwrap_or(i32::MAX);
    let f = ComposedLayout::new(Swizzle::new(number("b")?, number("m")?, shift)?, 0, case.layout("a")?);
    Ok(match case.text("kind")?.as_str() {
        "right" => all(r.size()?, |i| Ok(f.at(r.at(i)?)? == i))?,
        _ => all(f.size()?, |i| Ok(f.at(r.at(f.at(i)?)?)? == f.at(i)?))?,
    })
}

fn all(n: i64, holds: impl Fn(i64) -> Result<bool, LayoutError>) -> Result<bool, LayoutError> {
    (0..n).try_fold(true, |so_far, i| Ok(so_far && holds(i)?))
}

/// The elements of a layout, as a set.
pub(crate) trait Injective {
    fn is_injective(&self) -> Result<bool, LayoutError>;
}

impl Injective for Layout {
    fn is_injective(&self) -> Result<bool, LayoutError> {
        let table = self.table()?;
        let distinct: HashSet<i64> = table.iter().copied().collect();
        Ok(distinct.len() == table.len())
    }
}
