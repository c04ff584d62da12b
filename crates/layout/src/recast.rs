//! Layouts of the same memory in elements of another width.

use crate::error::{Context, LayoutError, Result};
use crate::facts::gcd;
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;

impl Layout {
    /// The layout in elements `n` times as wide.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((8, 64), (64, 1))?.upcast(2)?.to_string(), "(8,32):(32,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn upcast(&self, n: i64) -> Result<Layout> {
        self.leaf_by_leaf(n, wider).of("upcast", &[self, &n])
    }

    /// The layout in elements of which `n` make one of the old ones. Some stride must be 1.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((8, 64), (64, 1))?.downcast(2)?.to_string(), "(8,128):(128,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn downcast(&self, n: i64) -> Result<Layout> {
        let cast = || {
            if !self.leaves().any(|(_, d)| d.as_int().is_some_and(|d| d.is(1))) {
                return Err(LayoutError::Unsupported("no stride is 1, so no elements are neighbours".to_string()));
            }
            self.leaf_by_leaf(n, narrower)
        };
        cast().of("downcast", &[self, &n])
    }

    /// The layout of elements of `old` bits as one of elements of `new` bits.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((8, 64), (64, 1))?.recast(16, 128)?.to_string(), "(8,8):(8,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn recast(&self, old: i64, new: i64) -> Result<Layout> {
        let (up, down) = ratio(old, new)?;
        let wide = if up == 1 { self.clone() } else { self.upcast(up)? };
        if down == 1 { Ok(wide) } else { wide.downcast(down) }
    }

    /// The greatest `n` by which [`upcast`](Layout::upcast) is exact: how many elements may move as one.
    ///
    /// Run-time sizes count as 1 and run-time strides as what is known to divide them.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((8, 12), (1, 8))?.max_alignment()?, 96);
    /// assert_eq!(Layout::new((8, 12), (1, 20))?.max_alignment()?, 4);
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn max_alignment(&self) -> Result<i64> {
        let alignment = || {
            let filtered = self.filter()?;
            let mut todo = Vec::new();
            for (s, d) in filtered.leaves() {
                todo.push((s.value(), d.int()?.clone()));
            }
            let mut end = 1i64;
            while let Some(i) = todo.iter().position(|(s, d)| s.is_some() && d.is(end)) {
                let (s, _) = todo.swap_remove(i);
                let s = s.unwrap_or(1);
                end = end.checked_mul(s).ok_or_else(|| crate::int::overflow(&end.into(), "*", &s.into()))?;
            }
            let all = todo.iter().fold(end, |n, (_, d)| gcd(n, d.facts().divisor));
            // Where modes overlap, one that was counted may still not keep the alignment.
            let keeps = |n: i64, d: i64| n == 0 || d == 0 || n % d == 0 || d % n == 0;
            Ok(filtered.leaves().fold(all, |n, (_, d)| {
                let d = d.value.facts().divisor;
                if keeps(n, d) { n } else { gcd(n, d) }
            }))
        };
        alignment().of("max alignment", &[self])
    }

    fn leaf_by_leaf(&self, n: i64, cast: impl Fn(&Int, &Int, &Int) -> Result<(Int, Int)>) -> Result<Layout> {
        if n < 1 {
            return Err(LayoutError::NotPositive(n.to_string()));
        }
        let n = Int::Static(n);
        let mut steps = Vec::new();
        let mut strides = self.stride().leaves().iter();
        let shape = self.shape().try_map(|s| {
            let d = strides.next().unwrap_or(&Step::ZERO);
            if d.is_zero() || n.is(1) {
                steps.push(d.clone());
                return Ok(s.clone());
            }
            let (s, value) = cast(s, d.int()?, &n)?;
            steps.push(Step::from(value));
            Ok(s)
        })?;
        let stride = shape.with_leaves(steps).ok_or_else(|| LayoutError::Unsupported(format!("strides of {shape}")))?;
        Layout::new(shape, stride)
    }
}

/// The reduced fraction `new / old`.
pub(crate) fn ratio(old: i64, new: i64) -> Result<(i64, i64)> {
    match [old, new].into_iter().find(|bits| *bits < 1) {
        Some(bits) => Err(LayoutError::NotPositive(bits.to_string())),
        None => {
            let common = gcd(old, new).max(1);
            Ok((new / common, old / common))
        }
    }
}

fn wider(s: &Int, d: &Int, n: &Int) -> Result<(Int, Int)> {
    let step = d.abs()?;
    match (step.is_multiple_of(n), n.is_multiple_of(&step)) {
        (Some(true), _) => Ok((s.clone(), d.div(n)?)),
        (_, Some(true)) => {
            let sign = if d.facts().lower > 0 { 1 } else { -1 };
            Ok((s.ceil_div(&n.div(&step)?)?, Int::Static(sign)))
        }
        (Some(false), Some(false)) => Err(LayoutError::Indivisible(d.to_string(), n.to_string())),
        _ => Err(LayoutError::Unknown(format!("whether one of {d} and {n} divides the other"))),
    }
}

fn narrower(s: &Int, d: &Int, n: &Int) -> Result<(Int, Int)> {
    if d.is(1) || d.is(-1) { Ok((s.mul(n)?, d.clone())) } else { Ok((s.clone(), d.mul(n)?)) }
}
