//! Conversions that a target has no instruction for, by ordinary ones, bit for bit the same.

use crate::flow::select;
use crate::trace::helper;
use crate::value::{F32, U32};

/// The four bits of the e2m1 nearest to x (ties to even, clamped, NaN gives 6), in the low bits.
#[track_caller]
pub(crate) fn e2m1(x: F32) -> U32 {
    helper("e2m1", || {
        // Where the code goes up by one: halfway between neighbours, the tie going to the even one.
        const STEPS: [(f32, bool); 7] =
            [(0.25, false), (0.75, true), (1.25, false), (1.75, true), (2.5, false), (3.5, true), (5.0, false)];
        let magnitude = x.abs();
        let mut code = U32::from(0);
        for (i, (at, with)) in STEPS.into_iter().enumerate() {
            let above = if with { magnitude.ge(at) } else { magnitude.gt(at) };
            code = select(above, U32::from(i + 1), code);
        }
        let signed = code | ((x.to_bits() >> 28usize) & 8);
        select(x.eq(x), signed, 7)
    })
}

/// The eight bits of a power of two at most |x| (or, `up`, at least), in the low bits.
#[track_caller]
pub(crate) fn e8m0(x: F32, up: bool, clamped: bool) -> U32 {
    helper("e8m0", || {
        let bits = x.to_bits() & 0x7fff_ffff;
        let mut code = bits >> 23usize;
        if up {
            // 2⁻¹²⁷ is the subnormal 0x0040_0000, and code 0 stands for it: what is no more than that stays there.
            let fraction = (bits & 0x007f_ffff).ne(0) & bits.gt(0x0040_0000) & bits.lt(0x7f80_0000);
            code = code + select(fraction, U32::from(1), 0);
        }
        if clamped {
            let number = bits.le(0x7f80_0000);
            code = select(number, code.min(254), code);
        }
        code
    })
}
