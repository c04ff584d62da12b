//! Passes: each a function over a verified kernel.
//!
//! Only [`Pass::Contract`] changes a result, and it comes first: which products are fused depends on the kernel as it
//! was written, not on what the other passes made of it. All others keep every bit, signed zeros and NaNs included.
//! What may not be kept is not done: a NaN is never folded, because PTX leaves its payload open or makes it canonical.

mod address;
mod bounds;
mod contract;
mod dead;
mod division;
mod evaluate;
mod fold;
mod forward;
mod hoist;
mod number;
mod rewrite;
mod strength;
mod unroll;

use crate::kernel::Kernel;
use crate::verify::verify;
use rewrite::Scratch;

/// A pass. What a pass leaves without readers stays until [`Pass::Dead`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// A product that feeds one sum, and nothing else, becomes an `fma`.
    Contract,
    /// A `for` does as many bodies in a trip as its author asks for.
    Unroll,
    /// Constants, identities, and branches that are known.
    Fold,
    /// A read of a register whose last write is known is the value that was written.
    Forward,
    /// Division and remainder by constants become shifts and multiplications.
    Division,
    /// Constants leave addresses for the offsets of accesses.
    Address,
    /// A value is computed once.
    Number,
    /// What a loop computes from values outside of it is computed before it.
    Hoist,
    /// An address that grows with a loop's index is added to.
    Strength,
    /// What nobody reads goes, registers included.
    Dead,
}

impl Pass {
    /// Every pass.
    pub const ALL: [Pass; 10] = [
        Pass::Contract,
        Pass::Unroll,
        Pass::Fold,
        Pass::Forward,
        Pass::Division,
        Pass::Address,
        Pass::Number,
        Pass::Hoist,
        Pass::Strength,
        Pass::Dead,
    ];

    /// The order of [`optimize`], in which each profits from those before.
    pub const ORDER: &'static [Pass] = &[
        // Dead readers would keep a product from being fused.
        Pass::Dead,
        Pass::Contract,
        Pass::Unroll,
        // What is written again and again, as in unrolled code, is looked at once from here on.
        Pass::Number,
        Pass::Forward,
        // Most divisors are constants as written, so that one folding sees what comes of them.
        Pass::Division,
        Pass::Fold,
        // Branches and loops that are gone no longer hide what registers hold.
        Pass::Forward,
        Pass::Division,
        Pass::Fold,
        Pass::Address,
        Pass::Number,
        // What is left in a loop after this depends on it.
        Pass::Hoist,
        Pass::Strength,
        // Where a loop starts is often known.
        Pass::Fold,
        Pass::Dead,
    ];

    /// The name, as tests and tools spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::Contract => "contract",
            Pass::Unroll => "unroll",
            Pass::Fold => "fold",
            Pass::Forward => "forward",
            Pass::Division => "division",
            Pass::Address => "address",
            Pass::Number => "number",
            Pass::Hoist => "hoist",
            Pass::Strength => "strength",
            Pass::Dead => "dead",
        }
    }

    /// The pass of that name.
    pub fn from_name(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Runs it. A kernel that does not [`verify`] is left alone.
    pub fn run(self, kernel: &mut Kernel) {
        if verify(kernel).is_ok() {
            self.apply(kernel, &mut Scratch::default());
        }
    }

    /// Runs it on a kernel that is known to be valid, which it stays. Whether [`Pass::Fold`] may find more after it.
    fn apply(self, kernel: &mut Kernel, scratch: &mut Scratch) -> bool {
        match self {
            Pass::Contract => contract::contract(kernel, scratch),
            Pass::Unroll => unroll::unroll(kernel),
            Pass::Fold => fold::fold(kernel, scratch),
            Pass::Forward => return forward::forward(kernel),
            Pass::Division => return division::division(kernel, scratch),
            Pass::Address => address::address(kernel, scratch),
            Pass::Number => number::number(kernel, scratch),
            Pass::Hoist => hoist::hoist(kernel),
            Pass::Strength => return strength::strength(kernel),
            Pass::Dead => dead::dead(kernel),
        }
        matches!(self, Pass::Contract | Pass::Unroll)
    }
}

/// All passes, in [`Pass::ORDER`]. A kernel that does not [`verify`] is left alone.
pub fn optimize(kernel: &mut Kernel) {
    if verify(kernel).is_ok() {
        optimize_verified(kernel);
    }
}

pub(crate) fn optimize_verified(kernel: &mut Kernel) {
    // Folding looks at every instruction: again only where a pass has left something to find.
    let (mut unfolded, mut scratch) = (true, Scratch::default());
    for pass in Pass::ORDER {
        match pass {
            Pass::Fold if !unfolded => {}
            Pass::Fold => {
                pass.apply(kernel, &mut scratch);
                unfolded = false;
            }
            pass => unfolded |= pass.apply(kernel, &mut scratch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    #[test]
    fn an_invalid_kernel_is_left_alone() {
        let kernel = parse("kernel k() {\n  unused %1: u32\n  %0: u32 = add %1, %77\n  set $3, %0\n}").unwrap();
        let mut after = kernel.clone();
        Pass::ALL.iter().for_each(|pass| pass.run(&mut after));
        optimize(&mut after);
        assert_eq!(after, kernel);
    }

    #[test]
    fn names_are_known() {
        for pass in Pass::ALL {
            assert_eq!(Pass::from_name(pass.name()), Some(pass));
            assert!(Pass::ORDER.contains(&pass));
        }
        assert_eq!(Pass::from_name("inline"), None);
    }
}
