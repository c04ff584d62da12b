//! Matrix elements as numbers to multiply.

use crate::program::Element;
use warpsmith_types::convert;

impl Element {
    /// Bytes of one.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Element::F16 | Element::BF16 => 2,
            Element::TF32 => 4,
            Element::E4M3 | Element::E5M2 | Element::S8 | Element::U8 => 1,
        }
    }

    /// The number that bits stand for. Every element is one of f32's, integers too.
    #[inline(always)]
    pub(crate) fn number(self, bits: u32) -> f32 {
        match self {
            Element::F16 => convert::f16_to_f32(bits as u16),
            Element::BF16 => convert::bf16_to_f32(bits as u16),
            // The low 13 bits do not count.
            Element::TF32 => f32::from_bits(bits & !0x1fff),
            Element::E4M3 => e4m3(bits as u8),
            Element::E5M2 => convert::f16_to_f32((bits as u16) << 8),
            Element::S8 => f32::from(bits as i8),
            Element::U8 => f32::from(bits as u8),
        }
    }

    /// The elements of a word, lowest first.
    #[inline(always)]
    pub(crate) fn unpack(self, word: u32, out: &mut [f32]) {
        let bits = 8 * self.bytes() as u32;
        for (i, x) in out.iter_mut().enumerate() {
            *x = self.number(word >> (i as u32 * bits) & (u32::MAX >> (32 - bits)));
        }
    }
}

/// 4 exponent bits of bias 7, no infinities.
fn e4m3(bits: u8) -> f32 {
    let sign = u32::from(bits >> 7) << 31;
    let (exponent, mantissa) = (u32::from(bits >> 3 & 15), u32::from(bits & 7));
    match (exponent, mantissa) {
        (15, 7) => f32::from_bits(sign | 0x7fc0_0000),
        (0, m) => f32::from_bits((m as f32 / 512.0).to_bits() | sign),
        (e, m) => f32::from_bits(sign | (e + 120) << 23 | m << 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bit_floats() {
        let e4m3 = |bits| Element::E4M3.number(bits);
        assert_eq!([e4m3(0x38), e4m3(0x7e), e4m3(0x01), e4m3(0xc0)], [1.0, 448.0, 1.0 / 512.0, -2.0]);
        assert!(e4m3(0xff).is_nan());
        let e5m2 = |bits| Element::E5M2.number(bits);
        assert_eq!([e5m2(0x3c), e5m2(0x7b), e5m2(0x01)], [1.0, 57344.0, 1.0 / 65536.0]);
        assert!(e5m2(0x7d).is_nan() && e5m2(0x7c).is_infinite());
    }

    #[test]
    fn words_hold_elements_lowest_first() {
        let mut four = [0.0; 4];
        Element::S8.unpack(0xff80_0201, &mut four);
        assert_eq!(four, [1.0, 2.0, -128.0, -1.0]);
        let mut two = [0.0; 2];
        Element::BF16.unpack(0x4000_3f80, &mut two);
        assert_eq!(two, [1.0, 2.0]);
    }
}
