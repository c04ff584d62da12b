//! Passes: each a function over a verified kernel.
//!
//! | file | what |
//! |---|---|
//! | [`contract`] | a product that feeds one sum becomes an `fma` |
//! | [`fold`] | constants, identities, branches that are known |
//! | [`forward`] | a register read after it was set in the same block is the value that was set |
//! | [`division`] | division and remainder by constants become shifts and multiplications |
//! | [`address`] | constants leave addresses for the offsets of accesses |
//! | [`number`] | a value is computed once |
//! | [`dead`] | what nobody reads goes, registers included |
//!
//! Only [`contract`] changes a result, and it comes first: which products are fused depends on the kernel as it was
//! written, not on what the other passes made of it. All others keep every bit, signed zeros and NaNs included. What
//! may not be kept is not done: a NaN is never folded, because PTX leaves its payload open or makes it canonical.

pub mod address;
pub mod contract;
pub mod dead;
pub mod division;
mod evaluate;
pub mod fold;
pub mod forward;
pub mod number;
mod rewrite;

pub use address::address;
pub use contract::contract;
pub use dead::dead;
pub use division::division;
pub use fold::fold;
pub use forward::forward;
pub use number::number;

use crate::kernel::Kernel;
use crate::verify::verify;

/// All passes, in an order in which each profits from the one before. A kernel that does not [`verify`] is left alone.
pub fn optimize(kernel: &mut Kernel) {
    if verify(kernel).is_err() {
        return;
    }
    // Dead uses would keep a product from being fused.
    dead(kernel);
    contract(kernel);
    forward(kernel);
    fold(kernel);
    division(kernel);
    fold(kernel);
    address(kernel);
    number(kernel);
    dead(kernel);
}
