//! More functions on floats. Fast and exact are told apart by name: what is not called `_exact` and not a rounding is
//! approximate (`.approx.ftz`), with the error stated.

use crate::machine::{Ptx, ptx};
use crate::trace::emit;
use crate::value::{F32, F64, LOG2_E, U64};
use warpsmith_ir::{Op, Type, Unary};

impl F32 {
    #[track_caller]
    fn machine(self, instruction: Ptx) -> F32 {
        F32 { h: instruction.result(Type::F32).arg(self.h).value() }
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $method:ident $text:literal;)*) => {
        impl F32 {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> F32 {
                self.machine(ptx($text))
            }
        )*}
    };
}
functions! {
    /// tanh x (`tanh.approx`: relative error below 2⁻¹¹).
    tanh "tanh.approx.f32";
    /// sin x (`sin.approx.ftz`: absolute error below 2⁻²⁰·⁹ for |x| ≤ π).
    sin "sin.approx.ftz.f32";
    /// cos x (`cos.approx.ftz`: absolute error below 2⁻²⁰·⁹ for |x| ≤ π).
    cos "cos.approx.ftz.f32";
    /// 1/x, correctly rounded.
    rcp_exact "rcp.rn.f32";
    /// √x, correctly rounded.
    sqrt_exact "sqrt.rn.f32";
    /// The nearest integer, ties to even.
    round "cvt.rni.f32.f32";
    /// The nearest integer towards zero.
    trunc "cvt.rzi.f32.f32";
    /// The nearest integer below.
    floor "cvt.rmi.f32.f32";
    /// The nearest integer above.
    ceil "cvt.rpi.f32.f32";
    /// Clamped to 0 … 1; NaN gives 0.
    saturate "cvt.sat.f32.f32";
}

impl F64 {
    /// √x, correctly rounded.
    #[track_caller]
    pub fn sqrt_exact(self) -> F64 {
        F64 { h: emit(Op::Unary(Unary::Sqrt), &[self.h], Type::F64) }
    }

    /// 1/x, correctly rounded.
    #[track_caller]
    pub fn rcp_exact(self) -> F64 {
        F64 { h: emit(Op::Unary(Unary::Rcp), &[self.h], Type::F64) }
    }

    /// |x|.
    #[track_caller]
    pub fn abs(self) -> F64 {
        F64 { h: emit(Op::Unary(Unary::Abs), &[self.h], Type::F64) }
    }

    /// `self · b + c`, rounded once.
    #[track_caller]
    pub fn mul_add(self, b: impl Into<F64>, c: impl Into<F64>) -> F64 {
        F64 { h: emit(Op::Fma, &[self.h, b.into().h, c.into().h], Type::F64) }
    }

    /// Its bits.
    #[track_caller]
    pub fn to_bits(self) -> U64 {
        U64 { h: emit(Op::Bitcast, &[self.h], Type::U64) }
    }

    /// The float of these bits.
    #[track_caller]
    pub fn from_bits(bits: U64) -> F64 {
        F64 { h: emit(Op::Bitcast, &[bits.h], Type::F64) }
    }
}

impl F32 {
    /// The quotient, approximate: within 2.5 ulp for normal numbers and |b| below 2¹²⁶ (`div.full`).
    #[track_caller]
    pub fn div_approximate(self, b: impl Into<F32>) -> F32 {
        let b = b.into();
        F32 { h: ptx("div.full.f32").result(Type::F32).arg(self.h).arg(b.h).value() }
    }

    /// The larger of both; a NaN stays.
    #[track_caller]
    pub fn max_nan(self, rhs: impl Into<F32>) -> F32 {
        let rhs = rhs.into();
        F32 { h: ptx("max.NaN.f32").result(Type::F32).arg(self.h).arg(rhs.h).value() }
    }

    /// The smaller of both; a NaN stays.
    #[track_caller]
    pub fn min_nan(self, rhs: impl Into<F32>) -> F32 {
        let rhs = rhs.into();
        F32 { h: ptx("min.NaN.f32").result(Type::F32).arg(self.h).arg(rhs.h).value() }
    }

    /// |x| with the sign of `sign`.
    #[track_caller]
    pub fn copysign(self, sign: impl Into<F32>) -> F32 {
        let sign = sign.into();
        F32 { h: ptx("copysign.f32").result(Type::F32).arg(sign.h).arg(self.h).value() }
    }

    /// The natural logarithm as `log2(x) · ln 2`, approximate.
    #[track_caller]
    pub fn log(self) -> F32 {
        self.log2() * std::f32::consts::LN_2
    }

    /// `1 / (1 + e⁻ˣ)`, approximate: a few ulp.
    #[track_caller]
    pub fn sigmoid(self) -> F32 {
        ((self * -LOG2_E).exp2() + 1.0).rcp()
    }

    /// `x · sigmoid(x)`, approximate.
    #[track_caller]
    pub fn silu(self) -> F32 {
        self * self.sigmoid()
    }

    /// The tanh form of GELU, `x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`, with the tanh as
    /// `1 − 2 / (e²ᶻ + 1)`: within a few ulp of the formula where that does not cancel.
    #[track_caller]
    pub fn gelu(self) -> F32 {
        let inner = (self * self * self * 0.044_715 + self) * (2.0 * 0.797_884_6 * LOG2_E);
        self - self * (inner.exp2() + 1.0).rcp()
    }
}
