//! Conversions between numbers.

use crate::narrow::{BF16, E4M3, E5M2, F16, I8, I16, U8, U16};
use crate::rounding::{Rounded, Rounding, pair};
use crate::trace::emit;
use crate::value::{F32, F64, I32, I64, Scalar, U32, U64};
use warpsmith_ir::{Op, Type};

/// Numbers, each of which converts to every other.
///
/// | from | to | how |
/// |---|---|---|
/// | integer | wider integer | the same number |
/// | integer | narrower integer | the lowest bits |
/// | integer | float | rounded to nearest even |
/// | float | integer | truncated towards zero, clamped to the range (`cvt.rzi`). NaN gives 0; where 64 bits are involved, the highest bit alone |
/// | float | float | rounded to nearest even; overflow gives infinity |
///
/// Another rounding, clamping: [`rounding`](Cast::rounding), [`clamped`](Cast::clamped).
pub trait Cast: Scalar {
    /// As PTX names it in a conversion.
    #[doc(hidden)]
    const PTX: &'static str;

    /// The same, with a rounding of one's own: `x.rounding(Rounding::Zero).bf16()`.
    fn rounding(self, rounding: Rounding) -> Rounded<Self> {
        Rounded::new(self, rounding)
    }

    /// The same, clamped: an integer to the narrower integer's range, a float to the narrower float's finite numbers.
    fn clamped(self) -> Rounded<Self> {
        Rounded::new(self, Rounding::NearestEven).clamped()
    }

    /// To an unsigned byte.
    #[track_caller]
    fn u8(self) -> U8 {
        convert(self)
    }
    /// To a signed byte.
    #[track_caller]
    fn i8(self) -> I8 {
        convert(self)
    }
    /// To an unsigned 16-bit integer.
    #[track_caller]
    fn u16(self) -> U16 {
        convert(self)
    }
    /// To a signed 16-bit integer.
    #[track_caller]
    fn i16(self) -> I16 {
        convert(self)
    }
    /// To an unsigned 32-bit integer.
    #[track_caller]
    fn u32(self) -> U32 {
        convert(self)
    }
    /// To a signed 32-bit integer.
    #[track_caller]
    fn i32(self) -> I32 {
        convert(self)
    }
    /// To an unsigned 64-bit integer.
    #[track_caller]
    fn u64(self) -> U64 {
        convert(self)
    }
    /// To a signed 64-bit integer.
    #[track_caller]
    fn i64(self) -> I64 {
        convert(self)
    }
    /// To a binary16.
    #[track_caller]
    fn f16(self) -> F16 {
        convert(self)
    }
    /// To a bfloat16.
    #[track_caller]
    fn bf16(self) -> BF16 {
        convert(self)
    }
    /// To a binary32.
    #[track_caller]
    fn f32(self) -> F32 {
        convert(self)
    }
    /// To a binary64.
    #[track_caller]
    fn f64(self) -> F64 {
        convert(self)
    }
}

#[track_caller]
fn convert<A: Scalar, B: Scalar>(x: A) -> B {
    if A::TYPE == B::TYPE {
        return B::from_handle(x.handle());
    }
    B::from_handle(emit(Op::Convert, &[x.handle()], B::TYPE))
}

macro_rules! casts {
    ($($t:ident $ptx:literal;)*) => {$(
        impl Cast for $t {
            const PTX: &'static str = $ptx;
        }
    )*};
}
casts! {
    U8 "u8"; I8 "s8"; U16 "u16"; I16 "s16"; U32 "u32"; I32 "s32"; U64 "u64"; I64 "s64";
    F16 "f16"; BF16 "bf16"; F32 "f32"; F64 "f64";
}

/// 8-bit floats convert in pairs; one alone is half of a pair.
macro_rules! eighths {
    ($($t:ident $pair:ident $from:ident;)*) => {$(
        impl F32 {
            /// To an 8-bit float: nearest even, clamped to the finite numbers; NaN stays (sm_89).
            #[track_caller]
            pub fn $from(self) -> $t {
                pair(self, F32::from(0.0)).$pair().low()
            }
        }

        impl $t {
            /// As a float, exactly (sm_89).
            #[track_caller]
            pub fn f32(self) -> F32 {
                let bits = emit(Op::Convert, &[self.h], Type::U16);
                crate::packed::eighths::widen(U16 { h: bits }, stringify!($pair)).low().f32()
            }
        }
    )*};
}
eighths! {
    E4M3 e4m3x2 e4m3;
    E5M2 e5m2x2 e5m2;
}
