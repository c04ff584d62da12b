//! Conversions and arithmetic with a rounding of one's own, and packing of two numbers in a register.

use crate::cast::Cast;
use crate::machine::ptx;
use crate::narrow::{BF16, F16, I8, I16, U8, U16};
use crate::options::target;
use crate::packed::{BF16x2, E2M1x2, E4M3x2, E5M2x2, E8M0x2, F16x2};
use crate::software;
use crate::value::{F32, F64, I32, I64, Scalar, U32, U64};
use warpsmith_ir::Type;

/// How what does not fit is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, ties to even (`.rn`).
    NearestEven,
    /// To the nearest, ties away from zero (`.rna`); to tf32 only.
    NearestAway,
    /// Towards zero (`.rz`).
    Zero,
    /// Towards minus infinity (`.rm`).
    Down,
    /// Towards plus infinity (`.rp`).
    Up,
}

impl Rounding {
    const fn name(self) -> &'static str {
        match self {
            Rounding::NearestEven => "rn",
            Rounding::NearestAway => "rna",
            Rounding::Zero => "rz",
            Rounding::Down => "rm",
            Rounding::Up => "rp",
        }
    }
}

/// A number that is about to be converted, or computed with, in a rounding. Which combinations exist is PTX's table's to
/// say; what does not is an error at its line.
#[derive(Clone, Copy)]
#[must_use]
pub struct Rounded<T> {
    value: T,
    how: How,
}

#[derive(Clone, Copy)]
struct How {
    rounding: Rounding,
    clamped: bool,
    relu: bool,
}

impl How {
    fn words(self, rounding: &str) -> String {
        let relu = if self.relu { ".relu" } else { "" };
        let finite = if self.clamped { ".satfinite" } else { "" };
        format!(".{rounding}{relu}{finite}")
    }
}

impl<T: Cast> Rounded<T> {
    pub(crate) fn new(value: T, rounding: Rounding) -> Self {
        Rounded { value, how: How { rounding, clamped: false, relu: false } }
    }

    /// Clamped to what the result can hold: integers to the range, floats to the finite numbers (`.sat`, `.satfinite`).
    pub fn clamped(mut self) -> Self {
        self.how.clamped = true;
        self
    }

    /// What is below zero becomes zero, NaN too (`.relu`); to 16-bit floats and tf32.
    pub fn relu(mut self) -> Self {
        self.how.relu = true;
        self
    }

    #[track_caller]
    fn cvt<B: Scalar>(self, to: &str) -> B {
        let (from_float, to_float) = (T::TYPE.is_float(), B::TYPE.is_float() || to == "tf32");
        let rounding = self.how.rounding.name();
        let words = match (from_float, to_float) {
            (false, false) => String::from(if self.how.clamped { ".sat" } else { "" }),
            (false, true) => format!(".{rounding}"),
            // Float to integer clamps anyway.
            (true, false) => format!(".{rounding}i"),
            // Widening is exact.
            (true, true) if B::TYPE.bits() > T::TYPE.bits() && to != "tf32" => String::new(),
            // The one place where PTX has the words the other way round.
            (true, true) if to == "tf32" && self.how.relu && self.how.clamped => format!(".{rounding}.satfinite.relu"),
            (true, true) => self.how.words(rounding),
        };
        let name = format!("cvt{words}.{to}.{}", T::PTX);
        B::from_handle(ptx(name).result(B::TYPE).arg(self.value.handle()).value())
    }
}

macro_rules! destinations {
    ($($(#[$doc:meta])* $name:ident $t:ident $ptx:literal;)*) => {
        impl<T: Cast> Rounded<T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> $t {
                self.cvt($ptx)
            }
        )*}
    };
}
destinations! {
    /// To an unsigned byte.
    u8 U8 "u8";
    /// To a signed byte.
    i8 I8 "s8";
    /// To an unsigned 16-bit integer.
    u16 U16 "u16";
    /// To a signed 16-bit integer.
    i16 I16 "s16";
    /// To an unsigned 32-bit integer.
    u32 U32 "u32";
    /// To a signed 32-bit integer.
    i32 I32 "s32";
    /// To an unsigned 64-bit integer.
    u64 U64 "u64";
    /// To a signed 64-bit integer.
    i64 I64 "s64";
    /// To a binary16.
    f16 F16 "f16";
    /// To a bfloat16.
    bf16 BF16 "bf16";
    /// To a binary32.
    f32 F32 "f32";
    /// To a binary64.
    f64 F64 "f64";
}

impl Rounded<F32> {
    /// To tf32: a float of which 10 mantissa bits count, as tensor cores read it.
    #[track_caller]
    pub fn tf32(self) -> F32 {
        let bits: U32 = self.cvt("tf32");
        F32::from_bits(bits)
    }
}

impl F32 {
    /// To tf32, ties away from zero (`cvt.rna.tf32`): a float of which 10 mantissa bits count, as tensor cores read it.
    #[track_caller]
    pub fn tf32(self) -> F32 {
        Rounded::new(self, Rounding::NearestAway).tf32()
    }
}

macro_rules! arithmetic {
    ($($t:ident $ptx:literal;)*) => {$(
        arithmetic!(@binary $t $ptx;
            /// The sum.
            add; /// The difference.
            sub; /// The product.
            mul; /// The quotient.
            div;);
        arithmetic!(@unary $t $ptx; /// √x.
            sqrt; /// 1/x.
            rcp;);
        impl Rounded<$t> {
            /// `self · b + c`, rounded once.
            #[track_caller]
            pub fn mul_add(self, b: impl Into<$t>, c: impl Into<$t>) -> $t {
                let (b, c) = (b.into(), c.into());
                let name = format!(concat!("fma.{}.", $ptx), self.how.rounding.name());
                $t { h: ptx(name).result(Type::$t).arg(self.value.h).arg(b.h).arg(c.h).value() }
            }
        }
    )*};
    (@binary $t:ident $ptx:literal; $($(#[$doc:meta])* $name:ident;)*) => {
        impl Rounded<$t> {$(
            $(#[$doc])*
            #[allow(clippy::should_implement_trait)]
            #[track_caller]
            pub fn $name(self, b: impl Into<$t>) -> $t {
                let b = b.into();
                let name = format!(concat!(stringify!($name), ".{}.", $ptx), self.how.rounding.name());
                $t { h: ptx(name).result(Type::$t).arg(self.value.h).arg(b.h).value() }
            }
        )*}
    };
    (@unary $t:ident $ptx:literal; $($(#[$doc:meta])* $name:ident;)*) => {
        impl Rounded<$t> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> $t {
                let name = format!(concat!(stringify!($name), ".{}.", $ptx), self.how.rounding.name());
                $t { h: ptx(name).result(Type::$t).arg(self.value.h).value() }
            }
        )*}
    };
}
arithmetic! { F32 "f32"; F64 "f64"; }

/// Two floats that are about to share a register: `pair(low, high).bf16x2()`.
#[derive(Clone, Copy)]
#[must_use]
pub struct Pair {
    low: F32,
    high: F32,
    how: How,
}

/// Two floats, to be narrowed together: one instruction where PTX has it.
#[track_caller]
pub fn pair(low: impl Into<F32>, high: impl Into<F32>) -> Pair {
    let how = How { rounding: Rounding::NearestEven, clamped: false, relu: false };
    Pair { low: low.into(), high: high.into(), how }
}

impl Pair {
    /// With this rounding instead of to nearest even.
    pub fn rounding(mut self, rounding: Rounding) -> Pair {
        self.how.rounding = rounding;
        self
    }

    /// Clamped to the finite numbers. 8-bit and smaller floats always are.
    pub fn clamped(mut self) -> Pair {
        self.how.clamped = true;
        self
    }

    /// What is below zero becomes zero, NaN too.
    pub fn relu(mut self) -> Pair {
        self.how.relu = true;
        self
    }

    #[track_caller]
    fn cvt<B: Scalar>(self, to: &str) -> B {
        let name = format!("cvt{}.{to}.f32", self.how.words(self.how.rounding.name()));
        B::from_handle(ptx(name).result(B::TYPE).arg(self.high.h).arg(self.low.h).value())
    }

    /// As two binary16.
    #[track_caller]
    pub fn f16x2(self) -> F16x2 {
        self.cvt("f16x2")
    }

    /// As two bfloat16.
    #[track_caller]
    pub fn bf16x2(self) -> BF16x2 {
        self.cvt("bf16x2")
    }

    /// As two e4m3, clamped to ±448; NaN stays (sm_89).
    #[track_caller]
    pub fn e4m3x2(self) -> E4M3x2 {
        self.clamped().cvt("e4m3x2")
    }

    /// As two e5m2, clamped to ±57344; NaN stays (sm_89).
    #[track_caller]
    pub fn e5m2x2(self) -> E5M2x2 {
        self.clamped().cvt("e5m2x2")
    }

    /// As two e2m1 in a byte, clamped to ±6; NaN gives 6. One instruction on Blackwell, a dozen a number before.
    #[track_caller]
    pub fn e2m1x2(self) -> E2M1x2 {
        if target().has_block_formats() {
            // An 8-bit register does not exist: the instruction writes the low byte of one, which the conversion keeps.
            let byte: E2M1x2 = self.clamped().cvt("e2m1x2");
            return byte;
        }
        let relu = self.how.relu;
        let [low, high] = [self.low, self.high].map(|x| software::e2m1(if relu { x.max(0.0) } else { x }));
        E2M1x2::from_bits((low | (high << 4usize)).u8())
    }

    /// As two powers of two, of the magnitudes: rounded down with [`Rounding::Zero`], up with [`Rounding::Up`]; what is
    /// too large is clamped when asked to, else NaN. One instruction on Blackwell.
    #[track_caller]
    pub fn e8m0x2(self) -> E8M0x2 {
        if target().has_block_formats() {
            return self.cvt("ue8m0x2");
        }
        let up = self.how.rounding == Rounding::Up;
        let [low, high] = [self.low, self.high].map(|x| software::e8m0(x, up, self.how.clamped));
        E8M0x2::from_bits((low | (high << 8usize)).u16())
    }
}
