//! What is known of a run-time integer: a divisor and bounds.

/// A divisor and bounds that always hold. `i64::MIN` and `i64::MAX` stand for no bound.
///
/// ```
/// use warpsmith_layout::Facts;
/// let f = Facts::new(8, 1, 100);
/// assert_eq!((f.divisor, f.lower, f.upper), (8, 8, 96)); // the bounds are tightened
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Facts {
    /// The value is a multiple of this; 0 only for the value 0.
    pub divisor: i64,
    /// The value is at least this.
    pub lower: i64,
    /// The value is at most this.
    pub upper: i64,
}

impl Facts {
    /// These facts. A divisor below 1 counts as 1.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let facts = Facts::new(8, 8, 4096);
    /// assert_eq!((facts.divisor, facts.lower, facts.upper), (8, 8, 4096));
    /// ```
    pub fn new(divisor: i64, lower: i64, upper: i64) -> Facts {
        let divisor = divisor.max(1);
        let up = lower.checked_add(divisor - 1).map_or(lower, |v| v.div_euclid(divisor).saturating_mul(divisor));
        let down = upper.div_euclid(divisor).saturating_mul(divisor);
        // Bounds that contradict the divisor are the caller's to answer for; they are kept as they came.
        if up <= down { Facts { divisor, lower: up, upper: down } } else { Facts { divisor, lower, upper } }
    }

    /// A size of which nothing else is known: at least 1.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Facts::size().lower, 1);
    /// ```
    pub fn size() -> Facts {
        Facts::new(1, 1, i64::MAX)
    }

    /// An index into `extent` elements.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Facts::index(32).upper, 31);
    /// ```
    pub fn index(extent: i64) -> Facts {
        Facts::new(1, 0, extent.saturating_sub(1).max(0))
    }

    /// What is known of a static integer: all.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Facts::of(12).exact(), Some(12));
    /// ```
    pub fn of(value: i64) -> Facts {
        Facts { divisor: value.checked_abs().unwrap_or(1), lower: value, upper: value }
    }

    /// The value, where the bounds meet.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Facts::new(1, 0, 5).exact(), None);
    /// ```
    pub fn exact(self) -> Option<i64> {
        (self.lower == self.upper).then_some(self.lower)
    }

    pub(crate) fn plus(self, other: Facts) -> Facts {
        Facts {
            divisor: gcd(self.divisor, other.divisor),
            lower: self.lower.saturating_add(other.lower),
            upper: self.upper.saturating_add(other.upper),
        }
    }

    pub(crate) fn times(self, other: Facts) -> Facts {
        let ends = [
            product(self.lower, other.lower),
            product(self.lower, other.upper),
            product(self.upper, other.lower),
            product(self.upper, other.upper),
        ];
        Facts {
            divisor: self.divisor.checked_mul(other.divisor).unwrap_or(self.divisor.max(other.divisor)),
            lower: ends.into_iter().min().unwrap_or(i64::MIN),
            upper: ends.into_iter().max().unwrap_or(i64::MAX),
        }
    }

    /// The quotient by something positive.
    pub(crate) fn over(self, by: Facts, up: bool) -> Facts {
        let divisor = match by.exact() {
            Some(k) if k > 0 && self.divisor % k == 0 => (self.divisor / k).max(1),
            _ => 1,
        };
        let low = by.lower.max(1);
        let high = by.upper.max(1);
        let quotient = |x: i64, y: i64| {
            let q = x.div_euclid(y);
            if up && x.rem_euclid(y) != 0 { q + 1 } else { q }
        };
        let ends = [quotient(self.lower, low), quotient(self.lower, high)];
        let tops = [quotient(self.upper, low), quotient(self.upper, high)];
        // An end that stands for no bound stays so.
        let lower = if self.lower == i64::MIN { i64::MIN } else { ends[0].min(ends[1]) };
        let upper = if self.upper == i64::MAX { i64::MAX } else { tops[0].max(tops[1]) };
        Facts { divisor, lower, upper }
    }

    /// The remainder of a division by something positive that rounds down.
    pub(crate) fn modulo(self, by: Facts) -> Facts {
        let upper = by.upper.saturating_sub(1);
        let upper = if self.lower >= 0 { upper.min(self.upper) } else { upper };
        Facts { divisor: gcd(self.divisor, by.divisor).max(1), lower: 0, upper }
    }
}

fn product(a: i64, b: i64) -> i64 {
    a.saturating_mul(b)
}

/// The greatest common divisor, never negative; 0 with 0.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(i64::MAX)
}
