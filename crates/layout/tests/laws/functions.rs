//! The post-conditions of the operations.

use crate::arbitrary::{LARGEST, compact, injective, layout, samples, shape};
use proptest::prelude::*;
use warpsmith_layout::{
    ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Step, Swizzle, Tiler, crd2idx, crd2idx_colex, idx2crd,
    make_layout_tv,
};

type Law = Result<(), TestCaseError>;

/// A refusal is no failure of a law; the laws of what must not be refused use `must`.
macro_rules! or_refused {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(_) => return Ok(()),
        }
    };
}

fn must<T>(result: Result<T, LayoutError>) -> Result<T, TestCaseError> {
    result.map_err(|error| TestCaseError::fail(error.to_string()))
}

fn same_function(a: &Layout, b: &Layout, seed: u64) -> Law {
    prop_assert_eq!(must(a.size())?, must(b.size())?);
    for i in samples(must(a.size())?, seed) {
        prop_assert_eq!(must(a.at(i))?, must(b.at(i))?, "at {} of {} and {}", i, a, b);
    }
    Ok(())
}

proptest! {
    #[test]
    fn text_is_read_back(a in layout()) {
        prop_assert_eq!(must(a.to_string().parse::<Layout>())?, a);
    }

    #[test]
    fn indices_and_coordinates_invert_each_other(s in shape(), seed: u64) {
        for i in samples(must(s.size())?, seed) {
            let coord = must(idx2crd(i, s.clone()))?;
            prop_assert!(coord.is_congruent(&s));
            prop_assert_eq!(must(crd2idx_colex(Coord::from(&coord), s.clone()))?, Int::from(i));
            let compact = must(Layout::compact(s.clone()))?;
            prop_assert_eq!(must(crd2idx(Coord::from(&coord), s.clone(), compact.stride().clone()))?, Int::from(i));
        }
    }

    #[test]
    fn coalescing_keeps_the_function(a in layout(), seed: u64) {
        let c = must(a.coalesce())?;
        prop_assert!(c.depth() <= 1);
        prop_assert_eq!(must(c.coalesce())?, c.clone());
        same_function(&a, &c, seed)?;
        let profile = a.shape().modes().map(|_| IntTuple::from(1));
        let by_mode = must(a.coalesce_by(IntTuple::of(profile)))?;
        prop_assert_eq!(by_mode.rank(), a.rank());
        same_function(&a, &by_mode, seed)?;
    }

    #[test]
    fn filtering_keeps_what_is_reached(a in layout()) {
        let f = must(a.filter())?;
        let zeros = must(a.nullspace())?;
        prop_assert_eq!(must(f.cosize())?, must(a.cosize())?);
        prop_assert_eq!(must(f.size())? * must(zeros.size())?, must(a.size())?);
        for i in samples(must(zeros.size())?, 7) {
            prop_assert_eq!(must(a.at(must(zeros.at(i))?))?, 0);
        }
    }

    #[test]
    fn composition_is_function_composition(a in layout(), b in layout(), seed: u64) {
        let r = or_refused!(a.compose(&b));
        prop_assert_eq!(must(r.size())?, must(b.size())?);
        prop_assert!(must(b.shape().is_compatible(r.shape()))?);
        for i in samples(must(b.size())?, seed) {
            let inner = must(b.at(i))?;
            prop_assert_eq!(or_refused!(r.at(i)), or_refused!(a.at(inner)), "at {} of {} o {} = {}", i, a, b, r);
        }
    }

    #[test]
    fn composition_with_the_own_shape_is_never_refused(a in layout(), seed: u64) {
        let identity = must(Layout::compact(a.shape().clone()))?;
        same_function(&a, &must(a.compose(&identity))?, seed)?;
        let flat = must(Layout::compact(must(a.size())?))?;
        same_function(&a, &must(a.compose(&flat))?, seed)?;
    }

    #[test]
    fn composition_associates(a in compact(), seed: u64) {
        let b = must(Layout::compact(a.shape().clone()))?;
        let c = must(must(a.right_inverse())?.coalesce())?;
        let left = or_refused!(or_refused!(a.compose(&b)).compose(&c));
        let right = or_refused!(a.compose(&or_refused!(b.compose(&c))));
        same_function(&left, &right, seed)?;
    }

    #[test]
    fn complement_fills_the_holes(a in injective(), factor in 1i64..9, seed: u64) {
        let target = must(must(a.cosize())?.known())?;
        let Some(target) = target.checked_mul(factor).filter(|n| *n <= LARGEST) else { return Ok(()) };
        let c = or_refused!(a.complement(target));
        let both = Layout::of([must(a.filter())?, c.clone()]);
        prop_assert!(must(both.size())? >= target);
        // Nothing is reached twice, as a left inverse tells all coordinates apart.
        let back = must(both.left_inverse())?;
        for i in samples(must(both.size())?, seed) {
            prop_assert_eq!(must(back.at(must(both.at(i))?))?, i, "{} and {}", a, c);
        }
        for i in samples(must(c.size())? - 1, seed) {
            prop_assert!(must(c.at(i))? < must(c.at(i + 1))?);
        }
    }

    #[test]
    fn complement_of_an_overlap_is_refused(n in 2i64..50, m in 2i64..50, d in 1i64..50) {
        let d = 1 + d % (n - 1);
        let overlapping = must(Layout::new((n, m), (1, d)))?;
        let refusal = overlapping.complement(n * m);
        prop_assert!(matches!(
            refusal.as_ref().map_err(LayoutError::reason),
            Err(LayoutError::NotInjective { .. })
        ), "{:?}", refusal);
    }

    #[test]
    fn right_inverse_is_undone(a in layout(), seed: u64) {
        let r = must(a.right_inverse())?;
        for i in samples(must(r.size())?, seed) {
            prop_assert_eq!(must(a.at(must(r.at(i))?))?, i);
        }
    }

    #[test]
    fn compact_layouts_invert_on_both_sides(a in compact(), seed: u64) {
        let (l, r) = (must(a.left_inverse())?, must(a.right_inverse())?);
        prop_assert_eq!(must(r.size())?, must(a.size())?);
        for i in samples(must(a.size())?, seed) {
            prop_assert_eq!(must(l.at(must(a.at(i))?))?, i);
            prop_assert_eq!(must(a.at(must(r.at(i))?))?, i);
        }
    }

    #[test]
    fn left_inverse_undoes(a in layout(), seed: u64) {
        let l = or_refused!(a.left_inverse());
        for i in samples(must(a.size())?, seed) {
            let at = must(a.at(i))?;
            // Where modes overlap, an index may be too large for 64 bits.
            prop_assert_eq!(or_refused!(a.at(or_refused!(l.at(at)))), at, "{} and {}", a, l);
        }
    }

    #[test]
    fn what_is_common_is_side_by_side_in_both(a in layout(), b in layout(), seed: u64) {
        let (n, c) = or_refused!(a.max_common(&b));
        for i in samples(must(n.known())?, seed) {
            let at = must(c.at(i))?;
            prop_assert_eq!((must(a.at(at))?, must(b.at(at))?), (i, i), "{} of {} and {}", c, a, b);
        }
    }

    #[test]
    fn division_by_a_factor_of_each_mode_covers_all(a in layout(), picks in prop::collection::vec(0usize..4, 4), seed: u64) {
        // The first leaves of a mode, taken together, always divide it.
        let mut tilers = Vec::new();
        for (mode, pick) in a.modes().zip(picks) {
            let sizes: Vec<i64> = mode.shape().leaves().iter().filter_map(Int::value).collect();
            tilers.push(Tiler::from(sizes.iter().take(pick).product::<i64>()));
        }
        let tiler = Tiler::Modes(tilers);
        prop_assert!(must(a.shape().is_divided_by(&tiler))?);
        let d = must(a.logical_divide(&tiler))?;
        prop_assert_eq!(must(d.size())?, must(a.size())?);
        // Tile and rest in order are the mode again.
        same_function(&Layout::of(a.modes()), &d, seed)?;
        let zipped = must(a.zipped_divide(&tiler))?;
        prop_assert_eq!(zipped.rank(), 2);
        prop_assert_eq!(must(zipped.size())?, must(a.size())?);
        prop_assert_eq!(must(zipped.cosize())?, must(a.cosize())?);
        prop_assert_eq!(must(must(a.flat_divide(&tiler))?.size())?, must(a.size())?);
        prop_assert_eq!(must(must(a.tiled_divide(&tiler))?.size())?, must(a.size())?);
    }

    #[test]
    fn division_is_composition_with_tile_and_rest(a in layout(), t in injective(), seed: u64) {
        let d = or_refused!(a.logical_divide(&t));
        let (tile, n) = (must(d.mode(0))?, must(t.size())?);
        prop_assert_eq!(must(tile.size())?, n);
        for i in samples(n, seed) {
            prop_assert_eq!(or_refused!(tile.at(i)), or_refused!(a.at(must(t.at(i))?)));
        }
        prop_assert!(i128::from(must(must(d.mode(1))?.size())?) * i128::from(n) >= i128::from(must(a.size())?));
    }

    #[test]
    fn products_repeat_the_block(a in injective(), b in injective(), seed: u64) {
        let p = or_refused!(a.logical_product(&b));
        prop_assert_eq!(must(p.mode(0))?, a.clone());
        let back = or_refused!(p.left_inverse());
        for i in samples(or_refused!(p.size()), seed) {
            let at = or_refused!(p.at(i));
            prop_assert_eq!(must(back.at(at))?, i, "{} x {} = {}", a, b, p);
        }
        // Blocked and raked hold the same elements, arranged otherwise.
        let (blocked, raked) = (or_refused!(a.blocked_product(&b)), or_refused!(a.raked_product(&b)));
        prop_assert_eq!(must(blocked.size())?, must(p.size())?);
        prop_assert_eq!(must(blocked.cosize())?, must(raked.cosize())?);
    }

    #[test]
    fn casting_down_and_up_is_nothing(a in layout(), log in 0u32..5, seed: u64) {
        let n = 1i64 << log;
        let down = or_refused!(a.downcast(n));
        same_function(&a, &must(down.upcast(n))?, seed)?;
        prop_assert_eq!(must(a.recast(16, 16))?, a);
    }

    #[test]
    fn alignment_is_what_upcast_takes(a in layout()) {
        // Of what is reached: broadcast modes and modes of size 1 do not count.
        let f = must(a.filter())?;
        let n = must(a.max_alignment())?;
        prop_assume!(n > 0);
        prop_assert!(f.upcast(n).is_ok(), "{} by {}", f, n);
    }

    #[test]
    fn slices_add_up(a in layout(), seed: u64) {
        let size = must(a.size())?;
        for i in samples(size, seed) {
            let coord = must(idx2crd(i, a.shape().clone()))?;
            // Fix the leaves at even places, keep the others.
            let mut place = 0;
            let holes = coord.map(|c| {
                place += 1;
                if place % 2 == 0 { warpsmith_layout::Index::All } else { c.clone().into() }
            });
            let (kept, offset) = must(a.slice(holes.clone()))?;
            let left = must(a.dice(holes))?;
            prop_assert_eq!(must(kept.size())? * must(left.size())?, size);
            prop_assert!(must(offset.known())? <= must(a.at(i))?);
        }
    }

    #[test]
    fn thread_values_cover_the_tile_once(m in 1i64..9, n in 1i64..9, v in 1i64..5, w in 1i64..5, rows: bool) {
        let arrange = |m, n| if rows { Layout::row_major((m, n)) } else { Layout::compact((m, n)) };
        let (tile, tv) = must(make_layout_tv(&must(arrange(m, n))?, &must(arrange(v, w))?))?;
        let mut all = must(tv.table())?;
        all.sort_unstable();
        prop_assert_eq!(all, (0..must(tile.size())?).collect::<Vec<_>>());
    }

    #[test]
    fn swizzles_are_their_own_inverse(bits in 0u32..6, base in 0u32..8, more in 0i32..6, down: bool, x in 0i64..1 << 40) {
        let shift = (bits.cast_signed() + more) * if down { -1 } else { 1 };
        let swizzle = must(Swizzle::new(bits, base, shift))?;
        prop_assert_eq!(swizzle.apply(swizzle.apply(x)), x);
        prop_assert_eq!(must(swizzle.to_string().parse::<Swizzle>())?, swizzle);
        prop_assert!(must(swizzle.compose(swizzle))?.is_identity());
    }

    #[test]
    fn swizzled_layouts_are_undone(
        bits in 0u32..4, base in 0u32..4, more in 0i32..3, logs in prop::collection::vec(0u32..4, 1..4),
        strides in prop::collection::vec(prop_oneof![Just(0i64), (0u32..9).prop_map(|k| 1 << k)], 3), seed: u64
    ) {
        let shape = IntTuple::flat(logs.iter().map(|log| Int::from(1i64 << log)));
        let mut strides = strides.into_iter();
        let stride = shape.map(|_| Step::from(strides.next().unwrap_or(1)));
        let swizzle = must(Swizzle::new(bits, base, bits.cast_signed() + more))?;
        let a = ComposedLayout::new(swizzle, 0, must(Layout::new(shape, stride))?);
        if let Ok(l) = a.left_inverse() {
            for i in samples(must(a.size())?, seed) {
                let at = must(a.at(i))?;
                prop_assert_eq!(must(a.at(must(l.at(at))?))?, at, "{} undoes {} at {}", l, a, i);
            }
        }
        if let Ok(r) = a.right_inverse() {
            for i in samples(must(r.size())?, seed) {
                prop_assert_eq!(must(a.at(must(r.at(i))?))?, i, "{} is undone by {} at {}", r, a, i);
            }
        }
    }

    #[test]
    fn swizzles_recast_with_their_layouts(bits in 1u32..4, base in 3u32..6, log in 0u32..4, seed: u64) {
        let n = 1i64 << log;
        let tile = must(Layout::row_major((8, 256)))?;
        let narrow = ComposedLayout::new(must(Swizzle::new(bits, base, 3))?, 0, tile);
        let wide = must(narrow.upcast(n))?;
        for i in samples(must(wide.size())?, seed) {
            // A wide element starts where its first narrow one lies.
            let coord = must(idx2crd(i, wide.layout().shape().clone()))?;
            let column = must(coord.leaves().last().cloned().unwrap_or(Int::ZERO).known())? * n;
            let row = coord.leaves().first().cloned().unwrap_or(Int::ZERO);
            prop_assert_eq!(must(wide.at(i))? * n, must(narrow.at_coord((row, column)))?);
        }
    }
}
