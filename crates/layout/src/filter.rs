//! Stride-0 modes: removing them, and listing them.

use crate::coalesce::{Flat, at_terminals, from_flat, merge};
use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use crate::tuple::{Tuple, View};

impl Layout {
    /// Every stride-0 leaf gets size 1; profile and strides stay.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((2, 24), (0, 1))?.filter_zeros().to_string(), "(1,24):(0,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn filter_zeros(&self) -> Layout {
        let mut strides = self.stride().leaves().iter();
        let shape = self.shape().map(|s| if strides.next().is_some_and(Step::is_zero) { Int::ONE } else { s.clone() });
        Layout::from_parts(shape, self.stride().clone())
    }

    /// The layout without its stride-0 modes, coalesced.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((2, 4, 8), (0, 1, 4))?.filter()?.to_string(), "32:1");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn filter(&self) -> Result<Layout> {
        merge(self.leaves().filter(|(_, d)| !d.is_zero())).map(from_flat).of("filter", &[self])
    }

    /// The linear coordinates that stride-0 modes map to 0.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((7, 5, 16), (3, 1, 0))?.nullspace()?.to_string(), "16:35");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn nullspace(&self) -> Result<Layout> {
        let (mut modes, mut below) = (Flat::new(), Int::ONE);
        for (s, d) in self.leaves() {
            if d.is_zero() {
                modes.push((s.clone(), if s.is(1) { Step::ZERO } else { Step::from(below.clone()) }));
            }
            below = below.mul(s).of("nullspace", &[self])?;
        }
        Ok(from_flat(modes))
    }
    /// Every leaf gets size 1 where the profile has a 0; a 0 may stand for a whole mode.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((2, (4, 8)), (1, (2, 8)))?.filter_zeros_by((1, 0))?.to_string(), "(2,(1,1)):(1,(2,8))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn filter_zeros_by(&self, profile: impl Into<IntTuple>) -> Result<Layout> {
        let profile = profile.into();
        let shape = zeros_to_ones(self.shape().view(), profile.view()).of("filter zeros", &[self, &profile])?;
        Ok(Layout::from_parts(shape, self.stride().clone()))
    }

    /// Filters each mode that is a leaf of the profile. Modes past the profile stay.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((2, (4, 8)), (0, (0, 8)))?.filter_by((1, 1))?.to_string(), "(1,8):(0,8)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn filter_by(&self, profile: impl Into<IntTuple>) -> Result<Layout> {
        let profile = profile.into();
        at_terminals(self, profile.view(), &Layout::filter).of("filter", &[self, &profile])
    }
}

fn zeros_to_ones(shape: View<'_, Int>, profile: View<'_, Int>) -> Result<IntTuple> {
    match profile.as_leaf() {
        Some(p) if p.is(0) => Ok(shape.to_tuple().map(|_| Int::ONE)),
        Some(_) => Ok(shape.to_tuple()),
        None if shape.is_leaf() || shape.rank() != profile.rank() => {
            Err(LayoutError::NotCongruent { left: shape.to_string(), right: profile.to_string() })
        }
        None => {
            let modes = shape.modes().zip(profile.modes()).map(|(s, p)| zeros_to_ones(s, p));
            Ok(Tuple::of(modes.collect::<Result<Vec<_>>>()?))
        }
    }
}
