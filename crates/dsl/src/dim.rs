//! Extents and strides: Rust numbers where they are known when the kernel is traced, run-time values where not.

use crate::cast::Cast;
use crate::trace::emit;
use crate::value::{Scalar, U32, U64};
use std::ops::{Add, Div, Mul, Rem};
use warpsmith_ir::{Binary, Op, Type};

/// An integer that is a Rust number, or a run-time value of which a divisor is known.
#[derive(Clone, Copy)]
pub enum Dim {
    /// Known now.
    Static(i64),
    /// Known when the kernel runs.
    Dynamic {
        /// The value; extents and coordinates fit 31 bits.
        value: U32,
        /// A number that divides the value for sure.
        divisor: i64,
    },
}

impl Dim {
    /// The number, when it is known now.
    pub fn known(self) -> Option<i64> {
        if let Dim::Static(n) = self { Some(n) } else { None }
    }

    /// A number that divides it for sure; 0 for the number 0, which everything divides.
    pub fn divisor(self) -> i64 {
        match self {
            Dim::Static(n) => n,
            Dim::Dynamic { divisor, .. } => divisor,
        }
    }

    /// Whether `n` divides it for sure.
    pub fn is_multiple_of(self, n: i64) -> bool {
        n != 0 && self.divisor() % n == 0
    }

    /// How many tiles of `by` cover it.
    #[track_caller]
    pub fn div_ceil(self, by: impl Into<Dim>) -> Dim {
        let by = by.into();
        (self + by + -1) / by
    }

    /// `self < other`, or the Rust answer when both are known.
    #[track_caller]
    pub(crate) fn below(self, other: Dim) -> Result<crate::value::Bool, bool> {
        match (self, other) {
            (Dim::Static(a), Dim::Static(b)) => Err(a < b),
            _ => Ok(U32::from(self).lt(U32::from(other))),
        }
    }
}

/// The greatest common divisor; `gcd(0, n) = n`.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

macro_rules! dim_from {
    ($($t:ident),*) => {$(
        impl From<$t> for Dim { fn from(x: $t) -> Dim { Dim::Static(x as i64) } }
    )*};
}
dim_from!(i64, i32, u32, usize);

impl From<U32> for Dim {
    fn from(value: U32) -> Dim {
        Dim::Dynamic { value, divisor: 1 }
    }
}

impl From<Dim> for U32 {
    #[track_caller]
    fn from(d: Dim) -> U32 {
        match d {
            Dim::Static(n) => U32::from(n as usize),
            Dim::Dynamic { value, .. } => value,
        }
    }
}

/// Folds what it can; what it must emit carries the divisor on.
macro_rules! dim_ops {
    ($($trait:ident $method:ident $op:tt |$a:ident, $b:ident| $known:expr, $same:expr, $div:expr);*) => {$(
        impl<R: Into<Dim>> $trait<R> for Dim {
            type Output = Dim;
            #[track_caller]
            fn $method(self, rhs: R) -> Dim {
                let ($a, $b) = (self, rhs.into());
                if let (Dim::Static($a), Dim::Static($b)) = ($a, $b)
                    && let Some(n) = $known
                {
                    return Dim::Static(n);
                }
                if let Some(d) = $same { return d; }
                let value = emit(Op::Binary(Binary::$trait), &[U32::from($a).h, U32::from($b).h], Type::U32);
                Dim::Dynamic { value: U32 { h: value }, divisor: $div }
            }
        }
        impl $trait<Dim> for usize {
            type Output = Dim;
            #[track_caller]
            fn $method(self, rhs: Dim) -> Dim { Dim::from(self) $op rhs }
        }
        impl $trait<Dim> for U32 {
            type Output = Dim;
            #[track_caller]
            fn $method(self, rhs: Dim) -> Dim { Dim::from(self) $op rhs }
        }
    )*};
}
dim_ops! {
    Add add + |a, b| a.checked_add(b),
        match (a.known(), b.known()) { (Some(0), _) => Some(b), (_, Some(0)) => Some(a), _ => None },
        gcd(a.divisor(), b.divisor());
    Mul mul * |a, b| a.checked_mul(b),
        match (a.known(), b.known()) {
            (Some(0), _) | (_, Some(0)) => Some(Dim::Static(0)), (Some(1), _) => Some(b), (_, Some(1)) => Some(a), _ => None,
        },
        a.divisor().saturating_mul(b.divisor());
    Div div / |a, b| a.checked_div(b),
        (b.known() == Some(1)).then_some(a),
        b.known().filter(|n| a.is_multiple_of(*n)).map_or(1, |n| a.divisor() / n);
    Rem rem % |a, b| a.checked_rem(b),
        b.known().filter(|n| a.is_multiple_of(*n)).map(|_| Dim::Static(0)),
        gcd(a.divisor(), b.divisor())
}

/// How far apart neighbours of a mode are, in elements.
#[derive(Clone, Copy)]
pub enum Stride {
    /// Known now.
    Static(i64),
    /// Known when the kernel runs, below 2³¹.
    Narrow {
        /// The value.
        value: U32,
        /// A number that divides the value for sure.
        divisor: i64,
    },
    /// Known when the kernel runs, of any size.
    Wide {
        /// The value.
        value: U64,
        /// A number that divides the value for sure.
        divisor: i64,
    },
}

impl Stride {
    /// The number, when it is known now.
    pub fn known(self) -> Option<i64> {
        if let Stride::Static(n) = self { Some(n) } else { None }
    }

    /// A number that divides it for sure; 0 for 0.
    pub fn divisor(self) -> i64 {
        match self {
            Stride::Static(n) => n,
            Stride::Narrow { divisor, .. } | Stride::Wide { divisor, .. } => divisor,
        }
    }

    /// `count · self` elements of `bytes` each, in bytes; `None` when that is zero. 32-bit operands meet in one wide
    /// multiplication, so nothing wraps.
    #[track_caller]
    pub(crate) fn span(self, count: Dim, bytes: usize) -> Option<U64> {
        if count.known() == Some(0) {
            return None;
        }
        match self {
            Stride::Static(0) => None,
            Stride::Static(n) => {
                let scale = n * bytes as i64;
                match count.known() {
                    Some(c) => Some(U64::from((c * scale) as u64)),
                    None if (0..1 << 32).contains(&scale) => Some(wide(count.into(), U32::from(scale as usize))),
                    None => Some(U32::from(count).u64() * scale as u64),
                }
            }
            Stride::Narrow { value, .. } => Some(wide(count.into(), value) * bytes as u64),
            Stride::Wide { value, .. } => Some(U32::from(count).u64() * value * bytes as u64),
        }
    }
}

/// The whole product of two 32-bit numbers.
#[track_caller]
fn wide(a: U32, b: U32) -> U64 {
    U64::from_handle(emit(Op::Binary(Binary::MulWide), &[a.h, b.h], Type::U64))
}
