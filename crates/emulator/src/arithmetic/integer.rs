//! Integer arithmetic and bit manipulation.

use crate::lanes::Value;

/// An integer type of PTX.
pub(crate) trait Int: Value + Ord + 'static {
    const BITS: u32;
    fn wide(self) -> i128;
    fn wrap(x: i128) -> Self;
    fn least() -> Self;
    fn greatest() -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn add_saturating(self, b: Self) -> Self;
    fn sub_saturating(self, b: Self) -> Self;
    /// Division by zero gives all ones, as the hardware does where PTX says nothing.
    fn div(self, b: Self) -> Self;
    /// The remainder by zero is all ones.
    fn rem(self, b: Self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn not(self) -> Self;
    /// Shift amounts are clamped to the width.
    fn shl(self, by: u32) -> Self;
    /// Signed types shift their sign in.
    fn shr(self, by: u32) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;

    /// The upper half of the product.
    #[inline(always)]
    fn mul_high(self, b: Self) -> Self {
        Self::wrap((self.wide().wrapping_mul(b.wide())) >> Self::BITS)
    }
    /// |a − b| + c
    #[inline(always)]
    fn sad(self, b: Self, c: Self) -> Self {
        (if self < b { b.sub(self) } else { self.sub(b) }).add(c)
    }
    /// The value clamped to this type's range.
    #[inline(always)]
    fn saturate(x: i128) -> Self {
        Self::wrap(x.clamp(Self::least().wide(), Self::greatest().wide()))
    }
}

macro_rules! ints {
    ($($ty:ident),*) => {$(
        impl Int for $ty {
            const BITS: u32 = $ty::BITS;
            #[inline(always)] fn wide(self) -> i128 { self as i128 }
            #[inline(always)] fn wrap(x: i128) -> $ty { x as $ty }
            #[inline(always)] fn least() -> $ty { $ty::MIN }
            #[inline(always)] fn greatest() -> $ty { $ty::MAX }
            #[inline(always)] fn add(self, b: $ty) -> $ty { self.wrapping_add(b) }
            #[inline(always)] fn sub(self, b: $ty) -> $ty { self.wrapping_sub(b) }
            #[inline(always)] fn mul(self, b: $ty) -> $ty { self.wrapping_mul(b) }
            #[inline(always)] fn add_saturating(self, b: $ty) -> $ty { self.saturating_add(b) }
            #[inline(always)] fn sub_saturating(self, b: $ty) -> $ty { self.saturating_sub(b) }
            #[inline(always)] fn div(self, b: $ty) -> $ty { if b == 0 { !0 } else { self.wrapping_div(b) } }
            #[inline(always)] fn rem(self, b: $ty) -> $ty { if b == 0 { !0 } else { self.wrapping_rem(b) } }
            #[inline(always)] fn and(self, b: $ty) -> $ty { self & b }
            #[inline(always)] fn or(self, b: $ty) -> $ty { self | b }
            #[inline(always)] fn xor(self, b: $ty) -> $ty { self ^ b }
            #[inline(always)] fn not(self) -> $ty { !self }
            #[inline(always)] fn shl(self, by: u32) -> $ty { if by < $ty::BITS { self << by } else { 0 } }
            #[inline(always)] fn shr(self, by: u32) -> $ty {
                // All but the sign shifted out, then the rest: the same as the clamped shift, for both kinds of types.
                if by < $ty::BITS { self >> by } else { self >> ($ty::BITS - 1) >> 1 }
            }
            #[inline(always)] fn neg(self) -> $ty { self.wrapping_neg() }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> $ty { if self < 0 { self.wrapping_neg() } else { self } }
        }
    )*};
}
ints!(i8, i16, i32, i64, u8, u16, u32, u64);

/// A 24-bit product: its low or high 32 of 48 bits.
pub(crate) fn mul24(a: i64, b: i64, high: bool) -> u32 {
    let product = a.wrapping_mul(b);
    (if high { product >> 16 } else { product }) as u32
}

/// Of position and length, 32-bit fields have the low 8 bits; those of 64 bits have all, as hardware has it.
#[inline(always)]
fn field_of(position: u32, length: u32, bits: u32) -> (u32, u32) {
    if bits == 32 { (position & 0xff, length & 0xff) } else { (position, length) }
}

/// `bfe`: `length` bits from `position`, extended by their top bit when `signed`.
#[inline(always)]
pub(crate) fn extract(a: u64, position: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (position, length) = field_of(position, length, bits);
    let a = if signed && bits == 32 { a as i32 as i64 as u64 } else { a };
    if length == 0 {
        return 0;
    }
    // PTX: the sign bit is the highest extracted one, or the operand's own when the field passes its end.
    let top = position.saturating_add(length - 1).min(bits - 1);
    let sign = signed && (a >> top) & 1 == 1;
    let field = if position < bits { (a & low(bits)) >> position } else { 0 };
    let kept = length.min(bits.saturating_sub(position));
    let value = field & low(kept);
    if sign { value | !low(kept) } else { value }
}

/// `bfi`: the low `length` bits of `a` put into `b` at `position`.
#[inline(always)]
pub(crate) fn insert(a: u64, b: u64, position: u32, length: u32, bits: u32) -> u64 {
    let (position, length) = field_of(position, length, bits);
    if position >= bits {
        return b;
    }
    let mask = low(length.min(bits - position)) << position;
    (b & !mask) | ((a << position) & mask)
}

/// The lowest `n` bits set.
#[inline(always)]
pub(crate) fn low(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// `bfind`: the position of the most significant bit that is not the sign, or all ones.
pub(crate) fn find(a: i128, bits: u32, amount: bool) -> u32 {
    let magnitude = (if a < 0 { !a } else { a }) as u128;
    match magnitude {
        0 => u32::MAX,
        m if amount => bits - 1 - m.ilog2(),
        m => m.ilog2(),
    }
}

/// `fns`: the position of the n-th set bit from `base`, or all ones.
pub(crate) fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if base >= 32 {
        return u32::MAX;
    }
    let (mut left, step): (u32, i32) = match offset {
        0 => return if mask >> base & 1 == 1 { base } else { u32::MAX },
        n if n > 0 => (n as u32, 1),
        n => (n.unsigned_abs(), -1),
    };
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// `prmt` without a mode: four bytes chosen from eight.
#[inline(always)]
pub(crate) fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    let mut result = 0;
    for i in 0..4 {
        let selector = selectors >> (4 * i);
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        // The fourth bit asks for the byte's sign, eight times.
        let byte = if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result |= u32::from(byte) << (8 * i);
    }
    result
}

/// The selectors of `prmt`'s modes, by the low two bits of its third operand.
pub(crate) fn permute_mode(mode: PermuteMode, c: u32) -> u32 {
    let table: [u32; 4] = match mode {
        PermuteMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
        PermuteMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
        PermuteMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
        PermuteMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
        PermuteMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
        PermuteMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
    };
    table[c as usize & 3]
}

/// A mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermuteMode {
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// `lop3`: any function of three inputs, by its truth table.
#[inline(always)]
pub(crate) fn lop3(a: u32, b: u32, c: u32, table: u16) -> u32 {
    let pick = |bit: u16, x: u32| if table & (1 << bit) != 0 { x } else { 0 };
    pick(0, !a & !b & !c)
        | pick(1, !a & !b & c)
        | pick(2, !a & b & !c)
        | pick(3, !a & b & c)
        | pick(4, a & !b & !c)
        | pick(5, a & !b & c)
        | pick(6, a & b & !c)
        | pick(7, a & b & c)
}

/// `dp4a`: the dot product of four bytes, added to `c`.
pub(crate) fn dp4a(a: u32, b: u32, c: u32, signed: (bool, bool)) -> u32 {
    let byte = |x: u32, i: u32, signed: bool| {
        let x = (x >> (8 * i)) as u8;
        if signed { i32::from(x as i8) } else { i32::from(x) }
    };
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, signed.0) * byte(b, i, signed.1)) as u32))
}

/// `dp2a`: the dot product of two half words of `a` and two bytes of `b`, added to `c`.
pub(crate) fn dp2a(a: u32, b: u32, c: u32, signed: (bool, bool), high: bool) -> u32 {
    let half = |i: u32| {
        let x = (a >> (16 * i)) as u16;
        if signed.0 { i32::from(x as i16) } else { i32::from(x) }
    };
    let byte = |i: u32| {
        let x = (b >> (8 * i + if high { 16 } else { 0 })) as u8;
        if signed.1 { i32::from(x as i8) } else { i32::from(x) }
    };
    (0..2).fold(c, |sum, i| sum.wrapping_add(half(i).wrapping_mul(byte(i)) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_clamp() {
        assert_eq!((Int::shl(1u32, 31), Int::shl(1u32, 32), Int::shl(1u32, u32::MAX)), (1 << 31, 0, 0));
        assert_eq!((Int::shr(-8i32, 1), Int::shr(-8i32, 32), Int::shr(8u32, 32), Int::shr(-1i16, 99)), (-4, -1, 0, -1));
        assert_eq!((Int::shr(u64::MAX, 63), Int::shr(u64::MAX, 64), Int::shr(i64::MIN, 200)), (1, 0, -1));
    }

    #[test]
    fn division_by_zero_gives_all_ones() {
        assert_eq!((Int::div(7u32, 0), Int::div(7i32, 0), Int::rem(7i32, 0)), (u32::MAX, -1, -1));
        assert_eq!((Int::div(i32::MIN, -1), Int::rem(i32::MIN, -1)), (i32::MIN, 0));
        assert_eq!((Int::div(-7i32, 2), Int::rem(-7i32, 2)), (-3, -1));
    }

    #[test]
    fn high_products() {
        assert_eq!(Int::mul_high(u32::MAX, u32::MAX), 0xffff_fffe);
        assert_eq!(Int::mul_high(-1i32, 2), -1);
        assert_eq!(Int::mul_high(u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!(Int::mul_high(i64::MIN, i64::MIN), 1 << 62);
    }

    #[test]
    fn fields() {
        assert_eq!(extract(0xabcd_1234, 8, 8, 32, false), 0x12);
        assert_eq!(extract(0x0000_8000, 8, 8, 32, true) as u32, 0xffff_ff80);
        assert_eq!(extract(0x8000_0000, 24, 16, 32, true) as u32, 0xffff_ff80);
        assert_eq!(extract(0x8000_0000, 40, 8, 32, true) as u32, u32::MAX);
        assert_eq!(extract(0x8000_0000, 40, 8, 32, false), 0);
        assert_eq!(extract(1 << 63, 63, 1, 64, true), u64::MAX);
        assert_eq!(extract(123, 3, 0, 32, true), 0);
        assert_eq!(insert(0xff, 0, 28, 8, 32), 0xf000_0000);
        assert_eq!(insert(0xff, 0x1234, 40, 8, 32), 0x1234);
        assert_eq!(insert(0x5, 0xffff_ffff, 4, 4, 32), 0xffff_ff5f);
    }

    #[test]
    fn searches() {
        assert_eq!((find(0, 32, false), find(1, 32, false), find(1, 32, true)), (u32::MAX, 0, 31));
        assert_eq!((find(-1, 32, false), find(-2, 32, false), find(0xffff_ffff, 32, false)), (u32::MAX, 0, 31));
        assert_eq!((nth_set(0b1011, 0, 3), nth_set(0b1011, 3, -2), nth_set(0b1011, 2, 0)), (3, 1, u32::MAX));
    }

    #[test]
    fn bytes_are_permuted() {
        assert_eq!(permute(0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(permute(0x0000_0080, 0, 0x8888), 0xffff_ffff);
        assert_eq!(permute(0x3322_1100, 0x7766_5544, permute_mode(PermuteMode::F4e, 1)), 0x4433_2211);
        assert_eq!(permute(0x3322_1100, 0, permute_mode(PermuteMode::Rc16, 1)), 0x3322_3322);
    }

    #[test]
    fn truth_tables() {
        let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
        assert_eq!(lop3(a, b, c, 0xf0), a);
        assert_eq!(lop3(a, b, c, 0x80), a & b & c);
        assert_eq!(lop3(a, b, c, 0x96), a ^ b ^ c);
        assert_eq!(lop3(a, b, c, 0xca), (a & b) | (!a & c));
    }

    #[test]
    fn dot_products() {
        assert_eq!(dp4a(0xff01_0203, 0x0101_0101, 10, (true, true)), 10 + 3 + 2 + 1 - 1);
        assert_eq!(dp4a(0xff01_0203, 0x0101_0101, 10, (false, false)), 10 + 3 + 2 + 1 + 255);
        assert_eq!(dp2a(0xffff_0002, 0x0403_0201, 0, (true, false), false), 0);
        assert_eq!(dp2a(0x0001_0002, 0x0403_0201, 0, (true, false), true), 10);
    }
}
