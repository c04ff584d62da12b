//! Bit work on integers.

use crate::machine::ptx;
use crate::trace::emit;
use crate::value::{I32, I64, U32, U64};
use std::ops::Not;
use warpsmith_ir::{Binary, Op, Type, Unary};

macro_rules! unary {
    ($t:ident; $($(#[$doc:meta])* $method:ident $text:literal $result:ident;)*) => {
        impl $t {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> $result {
                $result { h: ptx($text).result(Type::$result).arg(self.h).value() }
            }
        )*}
    };
}
unary! {
    U64;
    /// How many bits are set.
    count_ones "popc.b64" U32;
    /// How many bits are clear above the highest set one; 64 for 0.
    leading_zeros "clz.b64" U32;
    /// The bits in reverse.
    reverse_bits "brev.b64" U64;
    /// Where the highest set bit is; all ones for 0.
    highest_bit "bfind.u64" U32;
}
unary! {
    U32;
    /// How many bits are set.
    count_ones "popc.b32" U32;
    /// How many bits are clear above the highest set one; 32 for 0.
    leading_zeros "clz.b32" U32;
    /// The bits in reverse.
    reverse_bits "brev.b32" U32;
    /// Where the highest set bit is; all ones for 0.
    highest_bit "bfind.u32" U32;
}

impl U32 {
    /// `length` bits from bit `start` on.
    #[track_caller]
    pub fn extract_bits(self, start: impl Into<U32>, length: impl Into<U32>) -> U32 {
        let (start, length) = (start.into(), length.into());
        U32 { h: ptx("bfe.u32").result(Type::U32).arg(self.h).arg(start.h).arg(length.h).value() }
    }

    /// The same with the lowest `length` bits of `bits` in place of those from bit `start` on.
    #[track_caller]
    pub fn insert_bits(self, bits: U32, start: impl Into<U32>, length: impl Into<U32>) -> U32 {
        let (start, length) = (start.into(), length.into());
        U32 { h: ptx("bfi.b32").result(Type::U32).arg(bits.h).arg(self.h).arg(start.h).arg(length.h).value() }
    }

    /// Four bytes of the eight of `self` (0 to 3) and `high` (4 to 7), chosen by the selector's four nibbles (`prmt`).
    #[track_caller]
    pub fn permute_bytes(self, high: U32, selector: impl Into<U32>) -> U32 {
        let selector = selector.into();
        U32 { h: ptx("prmt.b32").result(Type::U32).arg(self.h).arg(high.h).arg(selector.h).value() }
    }

    /// The upper half of (`self` above `low`) shifted left by `by` modulo 32.
    #[track_caller]
    pub fn funnel_shift_left(self, low: U32, by: impl Into<U32>) -> U32 {
        let by = by.into();
        U32 { h: ptx("shf.l.wrap.b32").result(Type::U32).arg(low.h).arg(self.h).arg(by.h).value() }
    }

    /// The lower half of (`high` above `self`) shifted right by `by` modulo 32.
    #[track_caller]
    pub fn funnel_shift_right(self, high: U32, by: impl Into<U32>) -> U32 {
        let by = by.into();
        U32 { h: ptx("shf.r.wrap.b32").result(Type::U32).arg(self.h).arg(high.h).arg(by.h).value() }
    }

    /// `sum` and the four products of unsigned bytes (`dp4a`).
    #[track_caller]
    pub fn dot4(self, other: U32, sum: U32) -> U32 {
        U32 { h: ptx("dp4a.u32.u32").result(Type::U32).arg(self.h).arg(other.h).arg(sum.h).value() }
    }

    /// The upper half of the 64-bit product.
    #[track_caller]
    pub fn mul_high(self, other: impl Into<U32>) -> U32 {
        U32 { h: emit(Op::Binary(Binary::MulHi), &[self.h, other.into().h], Type::U32) }
    }

    /// The whole product.
    #[track_caller]
    pub fn mul_wide(self, other: impl Into<U32>) -> U64 {
        U64 { h: emit(Op::Binary(Binary::MulWide), &[self.h, other.into().h], Type::U64) }
    }

    /// Any function of three bits, by its table: bit `4a + 2b + c` is the result for bits a, b, c (`lop3`).
    #[track_caller]
    pub fn logic3(self, b: U32, c: U32, table: u8) -> U32 {
        let function = ptx("lop3.b32").result(Type::U32).arg(self.h).arg(b.h).arg(c.h);
        U32 { h: function.number(table.into()).value() }
    }

    /// The same bits, signed.
    #[track_caller]
    pub fn as_i32(self) -> I32 {
        I32 { h: emit(Op::Bitcast, &[self.h], Type::I32) }
    }
}

impl I32 {
    /// The same bits, unsigned.
    #[track_caller]
    pub fn as_u32(self) -> U32 {
        U32 { h: emit(Op::Bitcast, &[self.h], Type::U32) }
    }

    /// `sum` and the four products of signed bytes (`dp4a`).
    #[track_caller]
    pub fn dot4(self, other: I32, sum: I32) -> I32 {
        I32 { h: ptx("dp4a.s32.s32").result(Type::I32).arg(self.h).arg(other.h).arg(sum.h).value() }
    }

    /// The sum, clamped to the range (`add.sat`).
    #[track_caller]
    pub fn add_clamped(self, other: impl Into<I32>) -> I32 {
        let other = other.into();
        I32 { h: ptx("add.sat.s32").result(Type::I32).arg(self.h).arg(other.h).value() }
    }

    /// The upper half of the 64-bit product.
    #[track_caller]
    pub fn mul_high(self, other: impl Into<I32>) -> I32 {
        I32 { h: emit(Op::Binary(Binary::MulHi), &[self.h, other.into().h], Type::I32) }
    }

    /// The whole product.
    #[track_caller]
    pub fn mul_wide(self, other: impl Into<I32>) -> I64 {
        I64 { h: emit(Op::Binary(Binary::MulWide), &[self.h, other.into().h], Type::I64) }
    }

    /// `length` bits from bit `start` on, with the highest of them as the sign.
    #[track_caller]
    pub fn extract_bits(self, start: impl Into<U32>, length: impl Into<U32>) -> I32 {
        let (start, length) = (start.into(), length.into());
        I32 { h: ptx("bfe.s32").result(Type::I32).arg(self.h).arg(start.h).arg(length.h).value() }
    }

    /// |x|; the least number stays.
    #[track_caller]
    pub fn abs(self) -> I32 {
        I32 { h: ptx("abs.s32").result(Type::I32).arg(self.h).value() }
    }
}

macro_rules! inverted {
    ($($t:ident),*) => {$(
        impl Not for $t {
            type Output = $t;
            #[track_caller]
            fn not(self) -> $t {
                $t { h: emit(Op::Unary(Unary::Not), &[self.h], Type::$t) }
            }
        }
    )*};
}
inverted!(U32, I32, U64, I64);
