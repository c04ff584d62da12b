//! Scalars of 8 and 16 bits. 8-bit ones are moved, stored and converted; PTX has no arithmetic on them.

use crate::trace::emit;
use crate::value::{Bool, F32, Number, Scalar, U32, comparisons, extremes, negation, operators, scalar};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Rem, Sub};
use warpsmith_ir::{Binary, Comparison, Op, Type, Unary};
use warpsmith_types::convert;

scalar! {
    /// An unsigned 16-bit run-time integer.
    U16(U16): u16, u64::from;
    /// A signed 16-bit run-time integer.
    I16(I16): i16, |x| u64::from(x as u16);
    /// An unsigned byte: moved, stored, converted.
    U8(U8): u8, u64::from;
    /// A signed byte: moved, stored, converted.
    I8(I8): i8, |x| u64::from(x as u8);
    /// A binary16; its arithmetic rounds to nearest even after each operation. Its Rust number is rounded likewise.
    F16(F16): f32, |x| u64::from(convert::f32_to_f16(x));
    /// A bfloat16; its arithmetic rounds to nearest even after each operation. Its Rust number is rounded likewise.
    BF16(BF16): f32, |x| u64::from(convert::f32_to_bf16(x));
    /// An 8-bit float with 4 exponent and 3 mantissa bits: moved, stored, converted. Its Rust number is rounded to nearest
    /// even and clamped to ±448.
    E4M3(U8): f32, |x| u64::from(convert::f32_to_e4m3(x));
    /// An 8-bit float with 5 exponent and 2 mantissa bits: moved, stored, converted. Its Rust number is rounded to nearest
    /// even and clamped to ±57344.
    E5M2(U8): f32, |x| u64::from(convert::f32_to_e5m2(x));
    /// A power of two from 2⁻¹²⁷ to 2¹²⁷, or NaN, in 8 bits: the scale of MX formats. Its Rust number is rounded up.
    E8M0(U8): f32, |x| u64::from(convert::f32_to_e8m0(x, true));
}

operators!(F16: Add Add add, Sub Sub sub, Mul Mul mul; F16 F16, F16 f32, f32 F16);
operators!(BF16: Add Add add, Sub Sub sub, Mul Mul mul; BF16 BF16, BF16 f32, f32 BF16);
operators!(U16: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor; U16 U16, U16 u16, u16 U16);
operators!(I16: Add Add add, Sub Sub sub, Mul Mul mul, Div Div div, Rem Rem rem, And BitAnd bitand, Or BitOr bitor,
    Xor BitXor bitxor; I16 I16, I16 i16, i16 I16);
comparisons!(U16, I16, F16, BF16);
extremes!(U16, I16, F16, BF16);
negation!(I16, F16, BF16);

macro_rules! bits {
    ($($t:ident $bits:ident $ty:ident;)*) => {$(
        impl $t {
            /// Its bits.
            #[track_caller]
            pub fn to_bits(self) -> $bits {
                $bits { h: emit(Op::Bitcast, &[self.h], Type::$ty) }
            }

            /// The value of these bits.
            #[track_caller]
            pub fn from_bits(bits: $bits) -> $t {
                $t { h: emit(Op::Bitcast, &[bits.h], <$t as Scalar>::TYPE) }
            }
        }
    )*};
}
bits! {
    F16 U16 U16;
    BF16 U16 U16;
    I16 U16 U16;
    I8 U8 U8;
}

macro_rules! bytes {
    ($($t:ident),*) => {$(
        impl $t {
            /// Its bits.
            #[track_caller]
            pub fn to_bits(self) -> U8 {
                U8 { h: self.h }
            }

            /// The value of these bits.
            pub fn from_bits(bits: U8) -> $t {
                $t { h: bits.h }
            }
        }
    )*};
}
bytes!(E4M3, E5M2, E8M0);

macro_rules! halves {
    ($($t:ident),*) => {$(
        impl $t {
            /// `self · b + c`, rounded once.
            #[track_caller]
            pub fn mul_add(self, b: impl Into<$t>, c: impl Into<$t>) -> $t {
                $t { h: emit(Op::Fma, &[self.h, b.into().h, c.into().h], Type::$t) }
            }

            /// |x|.
            #[track_caller]
            pub fn abs(self) -> $t {
                $t { h: emit(Op::Unary(Unary::Abs), &[self.h], Type::$t) }
            }
        }

        impl Number for $t {
            #[track_caller]
            fn lowest() -> Self {
                $t::from(f32::NEG_INFINITY)
            }
            #[track_caller]
            fn zero() -> Self {
                $t::from(0.0)
            }
            #[track_caller]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
        }
    )*};
}
halves!(F16, BF16);

impl E8M0 {
    /// The power of two as a float, exactly; NaN for all ones.
    #[track_caller]
    pub fn f32(self) -> F32 {
        crate::trace::helper("E8M0::f32", || {
            let code = U32 { h: emit(Op::Convert, &[self.h], Type::U32) };
            // 2⁻¹²⁷ is a subnormal float, and all ones is NaN: the two codes that are not just an exponent.
            let bits = crate::flow::select(code.eq(0), U32::from(0x0040_0000), code << 23usize);
            F32::from_bits(crate::flow::select(code.eq(255), U32::from(0x7fff_ffff), bits))
        })
    }
}
