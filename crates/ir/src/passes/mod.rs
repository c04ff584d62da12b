//! Passes.
use crate::kernel::Kernel;

/// Optimises a kernel.
pub fn optimize(kernel: &mut Kernel) {
    let _ = kernel;
}
