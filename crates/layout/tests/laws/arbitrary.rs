//! Random shapes and layouts.

use proptest::collection::vec;
use proptest::prelude::*;
use warpsmith_layout::{IntTuple, Layout, Step, Tuple};

pub(crate) const LARGEST: i64 = 1 << 60;

/// A shape of at most 2^60 elements.
pub(crate) fn shape() -> impl Strategy<Value = IntTuple> {
    let size = prop_oneof![4 => 1i64..=8, 2 => Just(16), 1 => Just(12), 1 => Just(1 << 10), 1 => Just((1 << 15) - 1)];
    let leaf = size.prop_map(IntTuple::from);
    let tree = leaf.prop_recursive(2, 10, 3, |inner| vec(inner, 1..=3).prop_map(Tuple::of));
    vec(tree, 1..=4)
        .prop_map(|modes| {
            if modes.len() == 1 { modes.into_iter().next().unwrap_or_else(|| 1.into()) } else { Tuple::of(modes) }
        })
        .prop_filter("at most 2^60 elements", |shape| shape.size().is_ok_and(|n| n <= LARGEST))
}

/// What becomes of each leaf: its place in memory, a gap below it, whether its stride is 0.
fn fates(gaps: std::ops::RangeInclusive<i64>, zeros: bool) -> impl Strategy<Value = Vec<(u32, i64, bool)>> {
    let zero = if zeros { prop::bool::weighted(0.15).boxed() } else { Just(false).boxed() };
    vec((any::<u32>(), gaps, zero), 40)
}

fn lay_out(shape: IntTuple, fates: &[(u32, i64, bool)]) -> Option<Layout> {
    let sizes: Vec<i64> = shape.leaves().iter().map(|s| s.value()).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&i| fates.get(i).map(|f| f.0));
    let mut steps = vec![0; sizes.len()];
    let mut below = 1i64;
    for i in order {
        let (_, gap, zero) = fates.get(i).copied()?;
        if !zero {
            below = below.checked_mul(gap)?;
            *steps.get_mut(i)? = below;
            below = below.checked_mul(*sizes.get(i)?).filter(|n| *n <= LARGEST)?;
        }
    }
    let mut steps = steps.into_iter();
    let stride = shape.map(|_| Step::from(steps.next().unwrap_or(0)));
    Layout::new(shape, stride).ok()
}

/// A layout that reaches no element twice, its modes in any order in memory, perhaps with gaps.
pub(crate) fn injective() -> impl Strategy<Value = Layout> {
    (shape(), fates(1..=3, false)).prop_filter_map("fits 2^60", |(shape, fates)| lay_out(shape, &fates))
}

/// A layout without gaps, its modes in any order in memory.
pub(crate) fn compact() -> impl Strategy<Value = Layout> {
    (shape(), fates(1..=1, false)).prop_filter_map("fits 2^60", |(shape, fates)| lay_out(shape, &fates))
}

/// Any layout with strides of at least 0: perhaps with gaps, broadcast modes and overlaps.
pub(crate) fn layout() -> impl Strategy<Value = Layout> {
    let ordered = (shape(), fates(1..=3, true)).prop_filter_map("fits 2^60", |(s, fates)| lay_out(s, &fates));
    let strides = vec(prop_oneof![Just(0i64), 1..=12i64, Just(64), Just(1000)], 40);
    let any = (shape(), strides).prop_filter_map("a layout", |(shape, strides)| {
        let mut strides = strides.into_iter();
        let stride = shape.map(|_| Step::from(strides.next().unwrap_or(0)));
        Layout::new(shape, stride).ok()
    });
    prop_oneof![3 => ordered, 1 => any]
}

/// Indices below `n`: the ends, and some between.
pub(crate) fn samples(n: i64, seed: u64) -> Vec<i64> {
    if n < 1 {
        return Vec::new();
    }
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 2).cast_signed().rem_euclid(n.max(1))
    };
    let small = (0..n.min(8)).chain((n - 4).max(0)..n);
    let mut all: Vec<i64> = small.collect();
    all.extend((0..24).map(|_| next()));
    all
}
