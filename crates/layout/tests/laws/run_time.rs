//! Layouts with run-time leaves: what comes out must be right for all values that the facts allow.

use crate::arbitrary::{injective, layout, samples};
use proptest::prelude::*;
use warpsmith_layout::{Emit, Facts, Int, IntTuple, Layout, LayoutError, Step};

/// Emitting for known values is evaluating; none on overflow.
struct Values(Vec<i64>);

impl Emit for Values {
    type Value = Option<i64>;

    fn constant(&mut self, value: i64) -> Option<i64> {
        Some(value)
    }

    fn variable(&mut self, id: u32) -> Option<i64> {
        self.0.get(id as usize).copied()
    }

    fn add(&mut self, a: Option<i64>, b: Option<i64>, facts: Facts) -> Option<i64> {
        within(a?.checked_add(b?)?, facts)
    }

    fn mul(&mut self, a: Option<i64>, b: Option<i64>, facts: Facts) -> Option<i64> {
        within(a?.checked_mul(b?)?, facts)
    }

    fn div(&mut self, a: Option<i64>, b: Option<i64>, facts: Facts) -> Option<i64> {
        assert!(a? >= 0 && b? > 0, "a division with an unknown sign was emitted");
        within(a? / b?, facts)
    }

    fn rem(&mut self, a: Option<i64>, b: Option<i64>, facts: Facts) -> Option<i64> {
        assert!(a? >= 0 && b? > 0, "a remainder with an unknown sign was emitted");
        within(a? % b?, facts)
    }
}

fn within(value: i64, facts: Facts) -> Option<i64> {
    let divides = value == 0 || value.checked_rem(facts.divisor) == Some(0);
    assert!(facts.lower <= value && value <= facts.upper && divides, "{value} breaks {facts:?}");
    Some(value)
}

/// How much is known of a leaf.
#[derive(Debug, Clone, Copy)]
enum Known {
    All,
    Nothing,
    Divisor,
    Bounds,
}

fn known() -> impl Strategy<Value = Vec<Known>> {
    let each = prop_oneof![
        4 => Just(Known::All),
        1 => Just(Known::Nothing),
        2 => Just(Known::Divisor),
        2 => Just(Known::Bounds)
    ];
    prop::collection::vec(each, 80)
}

/// Replaces leaves by variables.
struct Veil {
    known: std::vec::IntoIter<Known>,
    values: Vec<i64>,
}

impl Veil {
    fn new(known: Vec<Known>) -> Veil {
        Veil { known: known.into_iter(), values: Vec::new() }
    }

    fn int(&mut self, value: &Int) -> Int {
        let Some(v) = value.value().filter(|v| *v > 0) else { return value.clone() };
        let facts = match self.known.next() {
            None | Some(Known::All) => return value.clone(),
            Some(Known::Nothing) => Facts::size(),
            Some(Known::Divisor) => Facts::new(v & v.wrapping_neg(), 1, i64::MAX),
            Some(Known::Bounds) => Facts::new(1, (v / 2).max(1), v.saturating_mul(2)),
        };
        self.values.push(v);
        Int::variable(u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX), facts)
    }

    fn layout(&mut self, layout: &Layout) -> Result<Layout, LayoutError> {
        let shape = layout.shape().map(|s| self.int(s));
        Layout::new(shape, layout.stride().map(|d| Step::from(self.int(&d.value))))
    }

    fn values(self) -> Values {
        Values(self.values)
    }
}

/// The layout for the values; none where a value does not fit.
fn settle(layout: &Layout, values: &mut Values) -> Option<Layout> {
    let shape = layout.shape().try_map(|s| Ok(s.emit(values)?.map(Int::from))).ok()?;
    let stride = layout.stride().try_map(|d| Ok(d.value.emit(values)?.map(Step::from))).ok()?;
    let all = |present: bool| present.then_some(());
    all(shape.leaves().iter().all(Option::is_some) && stride.leaves().iter().all(Option::is_some))?;
    let shape: IntTuple = shape.map(|s| s.clone().unwrap_or(Int::ONE));
    Layout::new(shape, stride.map(|d| d.clone().unwrap_or(Step::ZERO))).ok()
}

/// Both are the same function where the statically known one is defined.
fn agree(dynamic: Option<Layout>, fixed: &Layout, seed: u64) -> Result<(), TestCaseError> {
    let Some(dynamic) = dynamic else { return Ok(()) };
    let size = fixed.size().map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(dynamic.size().ok(), Some(size), "{} and {}", dynamic, fixed);
    for i in samples(size, seed) {
        prop_assert_eq!(dynamic.at(i).ok(), fixed.at(i).ok(), "at {} of {} and {}", i, dynamic, fixed);
    }
    Ok(())
}

proptest! {
    #[test]
    fn coalescing(a in layout(), known in known(), seed: u64) {
        let mut veil = Veil::new(known);
        let Ok(opaque) = veil.layout(&a) else { return Ok(()) };
        let Ok(c) = opaque.coalesce() else { return Ok(()) };
        agree(settle(&c, &mut veil.values()), &a, seed)?;
    }

    #[test]
    fn composition(a in layout(), b in layout(), known in known(), seed: u64) {
        let mut veil = Veil::new(known);
        let (Ok(x), Ok(y)) = (veil.layout(&a), veil.layout(&b)) else { return Ok(()) };
        let Ok(r) = x.compose(&y) else { return Ok(()) };
        let Some(r) = settle(&r, &mut veil.values()) else { return Ok(()) };
        prop_assert_eq!(r.size().ok(), b.size().ok());
        for i in samples(b.size().unwrap_or(1), seed) {
            let wanted = b.at(i).and_then(|at| a.at(at));
            if let Ok(wanted) = wanted {
                prop_assert_eq!(r.at(i).ok(), Some(wanted), "at {} of {} o {}", i, a, b);
            }
        }
    }

    #[test]
    fn division_by_static_tiles(m in 1i64..5000, n in 1i64..5000, d in 1i64..5000, t in 1i64..200, u in 1i64..200, known in known()) {
        let a = Layout::new((m, n), (d, 1)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut veil = Veil::new(known);
        let Ok(opaque) = veil.layout(&a) else { return Ok(()) };
        // A matrix of run-time extents can always be cut.
        let cut = opaque.zipped_divide((t, u)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let fixed = a.zipped_divide((t, u)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        agree(settle(&cut, &mut veil.values()), &fixed, 3)?;
    }

    #[test]
    fn complement(a in injective(), known in known(), factor in 1i64..5, seed: u64) {
        let Some(target) = a.cosize().ok().and_then(|n| n.value()).and_then(|n| n.checked_mul(factor)) else { return Ok(()) };
        let mut veil = Veil::new(known);
        let (Ok(opaque), target_now) = (veil.layout(&a), veil.int(&target.into())) else { return Ok(()) };
        let Ok(c) = opaque.complement(target_now) else { return Ok(()) };
        let (Some(c), Ok(filtered)) = (settle(&c, &mut veil.values()), a.filter()) else { return Ok(()) };
        // What is opaque may come out larger than needed, but it fills the holes, and reaches nothing twice.
        let both = Layout::of([filtered, c]);
        let size = both.size().map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(size >= target, "{} for {}", both, target);
        let back = both.left_inverse().map_err(|e| TestCaseError::fail(e.to_string()))?;
        for i in samples(size, seed) {
            prop_assert_eq!(both.at(i).and_then(|at| back.at(at)).ok(), Some(i), "{}", both);
        }
    }

    #[test]
    fn inverses(a in layout(), known in known(), seed: u64) {
        let mut veil = Veil::new(known);
        let Ok(opaque) = veil.layout(&a) else { return Ok(()) };
        let (right, left) = (opaque.right_inverse().ok(), opaque.left_inverse().ok());
        let mut values = veil.values();
        if let Some(r) = right.and_then(|r| settle(&r, &mut values)) {
            for i in samples(r.size().unwrap_or(1), seed) {
                prop_assert_eq!(r.at(i).and_then(|at| a.at(at)).ok(), Some(i), "{} inverts {}", r, a);
            }
        }
        if let Some(l) = left.and_then(|l| settle(&l, &mut values)) {
            for i in samples(a.size().unwrap_or(1), seed) {
                let at = a.at(i).map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(l.at(at).and_then(|j| a.at(j)).ok(), Some(at), "{} inverts {}", l, a);
            }
        }
    }

    #[test]
    fn offsets_of_run_time_coordinates(a in layout(), known in known(), seed: u64) {
        let size = a.size().map_err(|e| TestCaseError::fail(e.to_string()))?;
        for i in samples(size, seed) {
            let mut veil = Veil::new(known.clone());
            let Ok(opaque) = veil.layout(&a) else { return Ok(()) };
            veil.values.push(i);
            let id = u32::try_from(veil.values.len() - 1).unwrap_or(u32::MAX);
            let index = Int::variable(id, Facts::index(size));
            let Ok(offset) = opaque.offset(index) else { return Ok(()) };
            let said = offset.emit(&mut veil.values()).map_err(|e| TestCaseError::fail(e.to_string()))?;
            if let Some(said) = said {
                prop_assert_eq!(Some(said), a.at(i).ok(), "at {} of {}", i, a);
            }
        }
    }

    #[test]
    fn arithmetic(x in 0i64..1000, y in 1i64..1000, k in 1i64..50, m in 1i64..50, f in known()) {
        let mut veil = Veil::new(f);
        let (a, b) = (veil.int(&x.into()), veil.int(&y.into()));
        let (k_int, m_int) = (Int::from(k), Int::from(m));
        let compute = || -> Result<Vec<(Int, i64)>, LayoutError> {
            let sum = a.mul(&k_int)?.add(&b)?;
            let value = x * k + y;
            Ok(vec![
                (sum.clone(), value),
                (sum.div(&k_int)?, value.div_euclid(k)),
                (sum.rem(&k_int)?, value.rem_euclid(k)),
                (sum.ceil_div(&m_int)?, (value + m - 1).div_euclid(m)),
                (sum.div(&m_int)?.div(&k_int)?, value.div_euclid(m).div_euclid(k)),
                (sum.ceil_div(&b)?, (value + y - 1).div_euclid(y)),
                (sum.rem(&b)?, value.rem_euclid(y)),
                (a.mul(&b)?.ceil_div(&b.mul(&m_int)?)?, (x + m - 1).div_euclid(m)),
                (a.ceil_div(&k_int)?.mul(&k_int)?, (x + k - 1).div_euclid(k) * k),
            ])
        };
        let all = compute().map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut values = veil.values();
        for (i, (said, wanted)) in all.into_iter().enumerate() {
            let said = said.emit(&mut values).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(said, Some(wanted), "expression {}", i);
        }
    }
}
