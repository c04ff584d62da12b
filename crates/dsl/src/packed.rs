//! Two or more numbers in a register, computed with at once.

use crate::machine::ptx;
use crate::narrow::{BF16, E4M3, E5M2, E8M0, F16, U8, U16};
use crate::options::target;
use crate::rounding::{Rounding, pair};
use crate::trace::{emit, with};
use crate::value::{F32, U32, U64, scalar};
use std::ops::{Add, Mul, Neg, Sub};
use std::panic::Location;
use warpsmith_ir::{Op, Type};
use warpsmith_types::convert;

scalar! {
    /// Two binary16. Its Rust number stands in both halves.
    F16x2(U32): f32, |x| twice(convert::f32_to_f16(x));
    /// Two bfloat16. Its Rust number stands in both halves.
    BF16x2(U32): f32, |x| twice(convert::f32_to_bf16(x));
    /// Two e4m3. Its Rust number stands in both halves.
    E4M3x2(U16): f32, |x| 0x101 * u64::from(convert::f32_to_e4m3(x));
    /// Two e5m2. Its Rust number stands in both halves.
    E5M2x2(U16): f32, |x| 0x101 * u64::from(convert::f32_to_e5m2(x));
    /// Two 4-bit floats with 2 exponent and 1 mantissa bits, in a byte. Its Rust number stands in both halves.
    E2M1x2(U8): f32, |x| 0x11 * u64::from(convert::f32_to_e2m1(x));
    /// Two powers of two. Its Rust number, rounded up, stands in both halves.
    E8M0x2(U16): f32, |x| 0x101 * u64::from(convert::f32_to_e8m0(x, true));
    /// Two binary32, in a 64-bit register (arithmetic on both at once: sm_100). Its Rust number stands in both halves.
    F32x2(U64): f32, |x| u64::from(x.to_bits()) << 32 | u64::from(x.to_bits());
}

fn twice(bits: u16) -> u64 {
    u64::from(bits) << 16 | u64::from(bits)
}

macro_rules! bits {
    ($($t:ident $bits:ident;)*) => {$(
        impl $t {
            /// Its bits, the low number in the low ones.
            pub fn to_bits(self) -> $bits {
                $bits { h: self.h }
            }

            /// The numbers of these bits.
            pub fn from_bits(bits: $bits) -> $t {
                $t { h: bits.h }
            }
        }
    )*};
}
bits! { F16x2 U32; BF16x2 U32; E4M3x2 U16; E5M2x2 U16; E2M1x2 U8; E8M0x2 U16; F32x2 U64; }

macro_rules! halves {
    ($($t:ident $one:ident $ptx:literal;)*) => {$(
        impl $t {
            /// Of two numbers.
            #[track_caller]
            pub fn new(low: impl Into<$one>, high: impl Into<$one>) -> $t {
                let h = ptx("mov.b32").result(Type::U32).args(&[low.into().h, high.into().h]).value();
                $t { h }
            }

            /// Both numbers: low, high.
            #[track_caller]
            pub fn split(self) -> [$one; 2] {
                let at = Location::caller();
                let halves = with(|t| t.record(Op::Unpack, &[self.h], &[Type::U16, Type::U16], at));
                [0, 1].map(|i| $one::from_bits(U16 { h: halves[i] }))
            }

            /// The low number.
            #[track_caller]
            pub fn low(self) -> $one {
                self.split()[0]
            }

            /// The high number.
            #[track_caller]
            pub fn high(self) -> $one {
                self.split()[1]
            }

            /// `self · b + c`, each rounded once.
            #[track_caller]
            pub fn mul_add(self, b: impl Into<$t>, c: impl Into<$t>) -> $t {
                let (b, c) = (b.into(), c.into());
                $t { h: ptx(concat!("fma.rn.", $ptx)).result(Type::U32).arg(self.h).arg(b.h).arg(c.h).value() }
            }

            /// `self · b + c`, each rounded once; what is below zero, or NaN, gives zero.
            #[track_caller]
            pub fn mul_add_relu(self, b: impl Into<$t>, c: impl Into<$t>) -> $t {
                let (b, c) = (b.into(), c.into());
                $t { h: ptx(concat!("fma.rn.relu.", $ptx)).result(Type::U32).arg(self.h).arg(b.h).arg(c.h).value() }
            }
        }

        halves!(@binary $t $ptx;
            /// The larger of each; a NaN gives way to a number.
            max "max."; /// The smaller of each; a NaN gives way to a number.
            min "min."; /// The larger of each; a NaN stays.
            max_nan "max.NaN."; /// The smaller of each; a NaN stays.
            min_nan "min.NaN.";);
        halves!(@unary $t $ptx; /// |x| of each.
            abs "abs."; /// tanh of each, approximate (`tanh.approx`).
            tanh "tanh.approx.";);

        impl Neg for $t {
            type Output = $t;
            #[track_caller]
            fn neg(self) -> $t {
                $t { h: ptx(concat!("neg.", $ptx)).result(Type::U32).arg(self.h).value() }
            }
        }
    )*};
    (@binary $t:ident $ptx:literal; $($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        impl $t {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, b: impl Into<$t>) -> $t {
                let b = b.into();
                $t { h: ptx(concat!($text, $ptx)).result(Type::U32).arg(self.h).arg(b.h).value() }
            }
        )*}
    };
    (@unary $t:ident $ptx:literal; $($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        impl $t {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> $t {
                $t { h: ptx(concat!($text, $ptx)).result(Type::U32).arg(self.h).value() }
            }
        )*}
    };
}
halves! { F16x2 F16 "f16x2"; BF16x2 BF16 "bf16x2"; }

impl F16x2 {
    /// 2ˣ of each, approximate (`ex2.approx.f16x2`).
    #[track_caller]
    pub fn exp2(self) -> F16x2 {
        F16x2 { h: ptx("ex2.approx.f16x2").result(Type::U32).arg(self.h).value() }
    }
}

impl BF16x2 {
    /// 2ˣ of each, approximate (`ex2.approx.ftz.bf16x2`, sm_90).
    #[track_caller]
    pub fn exp2(self) -> BF16x2 {
        BF16x2 { h: ptx("ex2.approx.ftz.bf16x2").result(Type::U32).arg(self.h).value() }
    }

    /// Both as floats, exactly: a shift and a mask.
    #[track_caller]
    pub fn floats(self) -> [F32; 2] {
        let bits = self.to_bits();
        [bits << 16usize, bits & 0xffff_0000].map(F32::from_bits)
    }
}

impl F16x2 {
    /// Both as floats, exactly.
    #[track_caller]
    pub fn floats(self) -> [F32; 2] {
        use crate::cast::Cast;
        let [low, high] = self.split();
        [low.f32(), high.f32()]
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $name:literal |$a:ident, $b:ident| $fused:expr;)*) => {$(
        impl<R: Into<F16x2>> $trait<R> for F16x2 {
            type Output = F16x2;
            #[track_caller]
            fn $method(self, rhs: R) -> F16x2 {
                let rhs = rhs.into();
                F16x2 { h: ptx(concat!($name, ".rn.f16x2")).result(Type::U32).arg(self.h).arg(rhs.h).value() }
            }
        }

        impl<R: Into<BF16x2>> $trait<R> for BF16x2 {
            type Output = BF16x2;
            #[track_caller]
            fn $method(self, rhs: R) -> BF16x2 {
                let ($a, $b) = (self, rhs.into());
                // Before Hopper a bfloat16 has only the fused form; these operands make it round the same.
                if target().number < 90 {
                    return $fused;
                }
                BF16x2 { h: ptx(concat!($name, ".rn.bf16x2")).result(Type::U32).arg($a.h).arg($b.h).value() }
            }
        }

        impl<R: Into<F32x2>> $trait<R> for F32x2 {
            type Output = F32x2;
            #[track_caller]
            fn $method(self, rhs: R) -> F32x2 {
                let ($a, $b) = (self, rhs.into());
                if target().number >= 100 {
                    return F32x2 { h: ptx(concat!($name, ".rn.f32x2")).result(Type::U64).arg($a.h).arg($b.h).value() };
                }
                let ([al, ah], [bl, bh]) = ($a.split(), $b.split());
                F32x2::new($trait::$method(al, bl), $trait::$method(ah, bh))
            }
        }
    )*};
}
arithmetic! {
    Add add "add" |a, b| a.mul_add(1.0, b);
    Sub sub "sub" |a, b| b.mul_add(-1.0, a);
    Mul mul "mul" |a, b| a.mul_add(b, -0.0);
}

impl F32x2 {
    /// Of two floats.
    #[track_caller]
    pub fn new(low: impl Into<F32>, high: impl Into<F32>) -> F32x2 {
        F32x2 { h: ptx("mov.b64").result(Type::U64).args(&[bits(low.into()), bits(high.into())]).value() }
    }

    /// Both floats: low, high.
    #[track_caller]
    pub fn split(self) -> [F32; 2] {
        let words = ptx("mov.b64").results(&[Type::U32, Type::U32]).arg(self.h).emit();
        [0, 1].map(|i| F32::from_bits(U32 { h: words[i] }))
    }

    /// `self · b + c`, each rounded once; one instruction from sm_100 on.
    #[track_caller]
    pub fn mul_add(self, b: impl Into<F32x2>, c: impl Into<F32x2>) -> F32x2 {
        let (b, c) = (b.into(), c.into());
        if target().number >= 100 {
            return F32x2 { h: ptx("fma.rn.f32x2").result(Type::U64).arg(self.h).arg(b.h).arg(c.h).value() };
        }
        let ([al, ah], [bl, bh], [cl, ch]) = (self.split(), b.split(), c.split());
        F32x2::new(al.mul_add(bl, cl), ah.mul_add(bh, ch))
    }
}

#[track_caller]
fn bits(x: F32) -> crate::trace::Handle {
    x.to_bits().h
}

pub(crate) mod eighths {
    use super::{F16x2, U16, ptx};
    use warpsmith_ir::Type;

    /// Two 8-bit floats as binary16, exactly.
    #[track_caller]
    pub(crate) fn widen(pair: U16, format: &str) -> F16x2 {
        F16x2 { h: ptx(format!("cvt.rn.f16x2.{format}")).result(Type::U32).arg(pair.h).value() }
    }
}

macro_rules! eighths {
    ($($t:ident $one:ident $ptx:literal $narrow:ident;)*) => {$(
        impl $t {
            /// The low number.
            #[track_caller]
            pub fn low(self) -> $one {
                $one { h: emit(Op::Convert, &[self.h], Type::U8) }
            }

            /// The high number.
            #[track_caller]
            pub fn high(self) -> $one {
                let up = emit(Op::Convert, &[self.h], Type::U32);
                $one { h: emit(Op::Convert, &[(U32 { h: up } >> 8usize).h], Type::U8) }
            }

            /// Both as binary16, exactly (sm_89).
            #[track_caller]
            pub fn f16x2(self) -> F16x2 {
                eighths::widen(self.to_bits(), $ptx)
            }
        }

        impl F16x2 {
            /// Both as 8-bit floats, rounded to nearest even, clamped; NaN stays (sm_89).
            #[track_caller]
            pub fn $narrow(self) -> $t {
                $t { h: ptx(concat!("cvt.rn.satfinite.", $ptx, ".f16x2")).result(Type::U16).arg(self.h).value() }
            }
        }
    )*};
}
eighths! {
    E4M3x2 E4M3 "e4m3x2" e4m3x2;
    E5M2x2 E5M2 "e5m2x2" e5m2x2;
}

impl E8M0x2 {
    /// The low power.
    #[track_caller]
    pub fn low(self) -> E8M0 {
        E8M0 { h: emit(Op::Convert, &[self.h], Type::U8) }
    }

    /// The high power.
    #[track_caller]
    pub fn high(self) -> E8M0 {
        let up = emit(Op::Convert, &[self.h], Type::U32);
        E8M0 { h: emit(Op::Convert, &[(U32 { h: up } >> 8usize).h], Type::U8) }
    }

    /// Both as bfloat16, exactly. One instruction on Blackwell.
    #[track_caller]
    pub fn bf16x2(self) -> BF16x2 {
        if target().has_block_formats() {
            return BF16x2 { h: ptx("cvt.rn.bf16x2.ue8m0x2").result(Type::U32).arg(self.h).value() };
        }
        // Exact: a power of two is a bfloat16, and rounding towards zero keeps NaN.
        let [low, high] = [self.low(), self.high()].map(E8M0::f32);
        pair(low, high).rounding(Rounding::Zero).bf16x2()
    }
}

impl E2M1x2 {
    /// Both as binary16, exactly. One instruction on Blackwell, a byte permutation before.
    #[track_caller]
    pub fn f16x2(self) -> F16x2 {
        if target().has_block_formats() {
            return F16x2 { h: ptx("cvt.rn.f16x2.e2m1x2").result(Type::U32).arg(self.h).value() };
        }
        crate::trace::helper("E2M1x2::f16x2", || {
            let code = U32 { h: emit(Op::Convert, &[self.h], Type::U32) };
            // The high bytes of the eight magnitudes as binary16; their low bytes are 0, as is byte 0.
            let (small, large) = (U32::from(0x3e3c_3800), U32::from(0x4644_4240));
            let selector = ((code & 7) << 4usize) | ((code & 0x70) << 8usize);
            let magnitudes = small.permute_bytes(large, selector);
            let signs = ((code & 8) << 12usize) | ((code & 0x80) << 24usize);
            F16x2::from_bits(magnitudes | signs)
        })
    }
}

impl From<[F16; 2]> for F16x2 {
    #[track_caller]
    fn from([low, high]: [F16; 2]) -> F16x2 {
        F16x2::new(low, high)
    }
}

impl From<[BF16; 2]> for BF16x2 {
    #[track_caller]
    fn from([low, high]: [BF16; 2]) -> BF16x2 {
        BF16x2::new(low, high)
    }
}
