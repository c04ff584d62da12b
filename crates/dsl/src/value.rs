//! Scalar handles: one Rust type each, `Copy`, with operators.
//!
//! None has `PartialEq` or `PartialOrd`: those give a Rust `bool`, and a run-time comparison is a [`Bool`].

use crate::bundle::Bundle;
use crate::trace::{Handle, emit};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use warpsmith_ir::{Binary, Comparison, Op, Type, Unary};

/// A scalar with a handle behind it.
pub trait Scalar: Copy + Bundle {
    /// Its type in the IR.
    const TYPE: Type;
    #[doc(hidden)]
    fn handle(self) -> Handle;
    #[doc(hidden)]
    fn from_handle(h: Handle) -> Self;
}

/// Scalars that reductions can work on.
pub trait Number: Scalar + Add<Output = Self> {
    /// The identity of [`max`](Number::max).
    fn lowest() -> Self;
    /// The identity of addition.
    fn zero() -> Self;
    /// The larger; a NaN gives way to a number.
    fn max(self, other: Self) -> Self;
}

macro_rules! scalar {
    ($($(#[$doc:meta])* $name:ident($ty:ident): $host:ty, $bits:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name { pub(crate) h: $crate::trace::Handle }

        impl $crate::value::Scalar for $name {
            const TYPE: warpsmith_ir::Type = warpsmith_ir::Type::$ty;
            fn handle(self) -> $crate::trace::Handle { self.h }
            fn from_handle(h: $crate::trace::Handle) -> Self { $name { h } }
        }

        impl $crate::bundle::Bundle for $name {
            fn map(&self, f: &mut dyn FnMut($crate::trace::Handle) -> $crate::trace::Handle) -> Self {
                $name { h: f(self.h) }
            }
        }

        impl From<$host> for $name {
            #[track_caller]
            fn from(x: $host) -> $name {
                let bits: fn($host) -> u64 = $bits;
                $name { h: $crate::trace::emit(warpsmith_ir::Op::Const(bits(x)), &[], warpsmith_ir::Type::$ty) }
            }
        }
    )*};
}
pub(crate) use scalar;

scalar! {
    /// A 32-bit run-time float. The constant of the same name is its [`DType`](crate::DType): types and values have
    /// separate namespaces.
    F32(F32): f32, |x| u64::from(x.to_bits());
    /// A 64-bit run-time float.
    F64(F64): f64, f64::to_bits;
    /// An unsigned 32-bit run-time integer; its Rust number is `usize`, of which the lower 32 bits count.
    U32(U32): usize, |x| x as u64 & 0xffff_ffff;
    /// A signed 32-bit run-time integer.
    I32(I32): i32, |x| u64::from(x as u32);
    /// An unsigned 64-bit run-time integer.
    U64(U64): u64, |x| x;
    /// A signed 64-bit run-time integer.
    I64(I64): i64, |x| x as u64;
    /// A run-time truth value: `&`, `|`, `^`, `!`; never a Rust `bool`.
    Bool(Bool): bool, u64::from;
}

/// `impl $trait<$rhs> for $lhs` for every pair, each side becoming a `$t` first. One host type a handle (`usize` for
/// `U32`): with two, the type of `x % 32` waits for integer fallback, and `(x % 32).lt(n)` does not compile (E0282).
macro_rules! operators {
    ($t:ident: $($op:ident $trait:ident $method:ident),*; $($lhs:ident $rhs:ident),*) => {
        $crate::value::operators!(@each $t ($($op $trait $method),*) $($lhs $rhs),*);
    };
    (@each $t:ident $ops:tt $($lhs:ident $rhs:ident),*) => { $($crate::value::operators!(@pair $t $ops $lhs $rhs);)* };
    (@pair $t:ident ($($op:ident $trait:ident $method:ident),*) $lhs:ident $rhs:ident) => {$(
        impl $trait<$rhs> for $lhs {
            type Output = $t;
            #[track_caller]
            fn $method(self, rhs: $rhs) -> $t {
                let (a, b) = ($t::from(self), $t::from(rhs));
                $t { h: emit(Op::Binary(Binary::$op), &[a.h, b.h], Type::$t) }
            }
        }
    )*};
}
pub(crate) use operators;
operators!(F64: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div; F64 F64, F64 f64, f64 F64);
operators!(F32: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div; F32 F32, F32 f32, f32 F32);
operators!(U32: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor, Shl Shl shl, Shr Shr shr; U32 U32, U32 usize, usize U32);
operators!(I32: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor; I32 I32, I32 i32, i32 I32);
operators!(U64: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor; U64 U64, U64 u64, u64 U64);
operators!(I64: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor; I64 I64, I64 i64, i64 I64);

macro_rules! shifts {
    ($($t:ident),*) => {$(
        impl<R: Into<U32>> Shl<R> for $t {
            type Output = $t;
            #[track_caller]
            fn shl(self, by: R) -> $t {
                $t { h: emit(Op::Binary(Binary::Shl), &[self.h, by.into().h], Type::$t) }
            }
        }
        impl<R: Into<U32>> Shr<R> for $t {
            type Output = $t;
            #[track_caller]
            fn shr(self, by: R) -> $t {
                $t { h: emit(Op::Binary(Binary::Shr), &[self.h, by.into().h], Type::$t) }
            }
        }
    )*};
}
shifts!(I32, U64, I64);
operators!(Bool: And BitAnd bitand, Or BitOr bitor, Xor BitXor bitxor; Bool Bool, Bool bool, bool Bool);

/// The six comparisons of each type.
macro_rules! comparisons {
    ($($t:ident),*) => {
        $crate::value::comparisons!(@each ($($t),*) (
            lt Lt "`self < rhs`, at run time.", le Le "`self ≤ rhs`, at run time.",
            gt Gt "`self > rhs`, at run time.", ge Ge "`self ≥ rhs`, at run time.",
            eq Eq "`self = rhs`, at run time.", ne Ne "`self ≠ rhs`, at run time."
        ));
    };
    (@each ($($t:ident),*) $methods:tt) => { $($crate::value::comparisons!(@one $t $methods);)* };
    (@one $t:ident ($($method:ident $op:ident $doc:literal),*)) => {
        impl $t {$(
            #[doc = $doc]
            #[track_caller]
            pub fn $method(self, rhs: impl Into<$t>) -> Bool {
                Bool { h: emit(Op::Compare(Comparison::$op), &[self.h, rhs.into().h], Type::Bool) }
            }
        )*}
    };
}
pub(crate) use comparisons;
comparisons!(F32, F64, U32, I32, U64, I64);

macro_rules! extremes {
    ($($t:ident),*) => {$(
        impl $t {
            /// The larger of both; for floats, a NaN gives way to a number.
            #[track_caller]
            pub fn max(self, rhs: impl Into<$t>) -> $t {
                $t { h: emit(Op::Binary(Binary::Max), &[self.h, rhs.into().h], Type::$t) }
            }
            /// The smaller of both; for floats, a NaN gives way to a number.
            #[track_caller]
            pub fn min(self, rhs: impl Into<$t>) -> $t {
                $t { h: emit(Op::Binary(Binary::Min), &[self.h, rhs.into().h], Type::$t) }
            }
        }
    )*};
}
pub(crate) use extremes;
extremes!(F32, F64, U32, I32, U64, I64);

impl Not for Bool {
    type Output = Bool;
    #[track_caller]
    fn not(self) -> Bool {
        Bool { h: emit(Op::Unary(Unary::Not), &[self.h], Type::Bool) }
    }
}

macro_rules! negation {
    ($($t:ident),*) => {$(
        impl Neg for $t {
            type Output = $t;
            #[track_caller]
            fn neg(self) -> $t {
                $t { h: emit(Op::Unary(Unary::Neg), &[self.h], Type::$t) }
            }
        }
    )*};
}
pub(crate) use negation;
negation!(F32, F64, I32, I64);

/// `log₂ e`: what turns a power of e into one of 2.
pub(crate) const LOG2_E: f32 = std::f32::consts::LOG2_E;

macro_rules! functions {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        impl F32 {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> F32 {
                F32 { h: emit(Op::Unary(Unary::$op), &[self.h], Type::F32) }
            }
        )*}
    };
}
functions! {
    /// 1/√x, approximate (`rsqrt.approx.ftz`: relative error below 2⁻²²·⁹; subnormals count as 0).
    rsqrt Rsqrt;
    /// √x, approximate (`sqrt.approx.ftz`).
    sqrt Sqrt;
    /// 1/x, approximate (`rcp.approx.ftz`: within 1 ulp).
    rcp Rcp;
    /// 2ˣ, approximate (`ex2.approx.ftz`: within 2 ulp over the full range).
    exp2 Exp2;
    /// log₂x, approximate (`lg2.approx.ftz`).
    log2 Log2;
    /// |x|.
    abs Abs;
}

impl F32 {
    /// eˣ as 2^(x·log₂e), approximate: relative error grows with |x|, about 2⁻²³·|x|.
    #[track_caller]
    pub fn exp(self) -> F32 {
        (self * LOG2_E).exp2()
    }

    /// `self · b + c`, rounded once.
    #[track_caller]
    pub fn mul_add(self, b: impl Into<F32>, c: impl Into<F32>) -> F32 {
        F32 { h: emit(Op::Fma, &[self.h, b.into().h, c.into().h], Type::F32) }
    }

    /// Its bits.
    #[track_caller]
    pub fn to_bits(self) -> U32 {
        U32 { h: emit(Op::Bitcast, &[self.h], Type::U32) }
    }

    /// The float of these bits.
    #[track_caller]
    pub fn from_bits(bits: U32) -> F32 {
        F32 { h: emit(Op::Bitcast, &[bits.h], Type::F32) }
    }
}

macro_rules! numbers {
    ($($t:ident $lowest:expr, $zero:expr;)*) => {$(
        impl Number for $t {
            #[track_caller]
            fn lowest() -> Self {
                $t::from($lowest)
            }
            #[track_caller]
            fn zero() -> Self {
                $t::from($zero)
            }
            #[track_caller]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
        }
    )*};
}
numbers! {
    F32 f32::NEG_INFINITY, 0.0;
    F64 f64::NEG_INFINITY, 0.0;
    U32 0, 0;
    I32 i32::MIN, 0;
    U64 0, 0;
    I64 i64::MIN, 0;
}
