//! Run-time offsets, with the bits that they may set: what decides how a swizzle meets a constant.

use crate::dim::Dim;
use crate::trace::{Loc, with};
use crate::value::U32;
use warpsmith_ir::{Binary, Op, Type};
use warpsmith_layout::{Emit, Facts, Int, LayoutError};

/// An integer below 2³² as the trace has it, and a mask of the bits that may be set in it.
#[derive(Clone, Copy)]
pub(crate) struct Offset {
    pub(crate) value: Dim,
    pub(crate) bits: u64,
}

impl Offset {
    pub(crate) const ZERO: Offset = Offset { value: Dim::Static(0), bits: 0 };

    /// A number known now.
    pub(crate) fn known(n: i64) -> Offset {
        Offset { value: Dim::Static(n), bits: n as u64 }
    }

    /// A run-time number below `extent`.
    pub(crate) fn below(value: U32, extent: i64) -> Offset {
        Offset { value: value.into(), bits: up_to(extent - 1) }
    }

    /// A power of two that divides it; 0 for zero.
    pub(crate) fn power_of_two(self) -> i64 {
        if self.bits == 0 { 0 } else { 1 << self.bits.trailing_zeros().min(40) }
    }

    /// The sum, as if by the author's call at `at`.
    pub(crate) fn plus(self, other: Offset, at: Loc) -> Offset {
        match (self.value, other.value) {
            (Dim::Static(0), _) => other,
            (_, Dim::Static(0)) => self,
            (Dim::Static(a), Dim::Static(b)) => Offset::known(a + b),
            _ => Offset { value: record(Binary::Add, self.value, other.value, at), bits: sum(self.bits, other.bits) },
        }
    }
}

/// A mask of all numbers up to `n`.
fn up_to(n: i64) -> u64 {
    if n <= 0 { 0 } else { u64::MAX >> n.leading_zeros() }
}

/// The bits that a sum may set: those of both where they have none in common, else all from the lowest to the carry's.
fn sum(a: u64, b: u64) -> u64 {
    if a & b == 0 {
        return a | b;
    }
    let all = up_to(a.saturating_add(b).min(i64::MAX as u64) as i64);
    all & !((1 << (a | b).trailing_zeros()) - 1)
}

fn record(op: Binary, a: Dim, b: Dim, at: Loc) -> Dim {
    let value = with(|t| {
        let [a, b] = [a, b].map(|d| match d {
            Dim::Static(n) => t.record(Op::Const(n as u64 & 0xffff_ffff), &[], &[Type::U32], at)[0],
            Dim::Dynamic { value, .. } => value.h,
        });
        t.record(Op::Binary(op), &[a, b], &[Type::U32], at)[0]
    });
    Dim::Dynamic { value: U32 { h: value }, divisor: 1 }
}

/// Writes a layout's expression down as run-time arithmetic, as if by the author's call at `at`.
pub(crate) struct Writer<'a> {
    /// The variables of the expression, in the order of their numbers.
    pub(crate) variables: &'a [Offset],
    pub(crate) at: Loc,
}

impl Writer<'_> {
    fn binary(&self, op: Binary, a: Offset, b: Offset, bits: u64, facts: Facts) -> Offset {
        let mut value = record(op, a.value, b.value, self.at);
        let bits = if facts.lower >= 0 { bits & up_to(facts.upper) } else { u64::MAX };
        if let Dim::Dynamic { divisor, .. } = &mut value {
            *divisor = facts.divisor.max(1);
        }
        Offset { value, bits }
    }
}

impl Emit for Writer<'_> {
    type Value = Offset;

    fn constant(&mut self, value: i64) -> Offset {
        Offset::known(value)
    }

    fn variable(&mut self, id: u32) -> Offset {
        self.variables.get(id as usize).copied().unwrap_or(Offset::ZERO)
    }

    fn add(&mut self, a: Offset, b: Offset, facts: Facts) -> Offset {
        self.binary(Binary::Add, a, b, sum(a.bits, b.bits), facts)
    }

    fn mul(&mut self, a: Offset, b: Offset, facts: Facts) -> Offset {
        let low = a.bits.trailing_zeros() + b.bits.trailing_zeros();
        let bits = match b.value {
            Dim::Static(n) if n > 0 && (n as u64).is_power_of_two() => a.bits << n.trailing_zeros(),
            _ => u64::MAX.checked_shl(low).unwrap_or(0),
        };
        self.binary(Binary::Mul, a, b, bits, facts)
    }

    fn div(&mut self, a: Offset, b: Offset, facts: Facts) -> Offset {
        let bits = match b.value {
            Dim::Static(n) if n > 0 && (n as u64).is_power_of_two() => a.bits >> n.trailing_zeros(),
            _ => u64::MAX,
        };
        self.binary(Binary::Div, a, b, bits, facts)
    }

    fn rem(&mut self, a: Offset, b: Offset, facts: Facts) -> Offset {
        let bits = match b.value {
            Dim::Static(n) if n > 0 && (n as u64).is_power_of_two() => a.bits & (n as u64 - 1),
            _ => u64::MAX,
        };
        self.binary(Binary::Rem, a, b, bits, facts)
    }
}

/// An expression of a layout as a run-time offset.
pub(crate) fn write(x: &Int, variables: &[Offset], at: Loc) -> Result<Offset, LayoutError> {
    x.emit(&mut Writer { variables, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry() {
        assert_eq!(sum(0b1100, 0b0011), 0b1111);
        assert_eq!(sum(0b1100, 0b0100), 0b1_1100);
        assert_eq!(up_to(0), 0);
        assert_eq!(up_to(8), 0b1111);
    }
}
