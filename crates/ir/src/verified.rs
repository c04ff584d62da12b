//! A kernel that is known to be right, so that it is checked once on its way to PTX.

use crate::kernel::Kernel;
use crate::lower::{LowerError, LowerOptions, lower_verified};
use crate::passes;
use crate::verify::verify;
use warpsmith_ptx::Module;
use warpsmith_types::Report;

/// A verified kernel. Passes keep it one; builds with debug assertions check that, too.
///
/// ```
/// use warpsmith_ir::{LowerOptions, Verified, text::parse};
/// use warpsmith_types::Target;
///
/// let mut kernel = Verified::new(parse("kernel meet() {\n  barrier\n}")?)?;
/// kernel.optimize();
/// let module = kernel.lower(&LowerOptions::new(Target::SM_90A))?;
/// assert!(module.to_string().contains("bar.sync 0;"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    kernel: Kernel,
}

impl Verified {
    /// Verifies a kernel.
    ///
    /// # Errors
    /// What is wrong with it, all at once.
    pub fn new(kernel: Kernel) -> Result<Verified, Report> {
        verify(&kernel)?;
        Ok(Verified { kernel })
    }

    /// All passes, in [`Pass::ORDER`](crate::Pass::ORDER).
    pub fn optimize(&mut self) {
        passes::optimize_verified(&mut self.kernel);
    }

    /// Writes it as PTX.
    ///
    /// # Errors
    /// What the target does not have.
    pub fn lower(&self, options: &LowerOptions) -> Result<Module, LowerError> {
        if cfg!(debug_assertions) {
            verify(&self.kernel).map_err(LowerError::Invalid)?;
        }
        lower_verified(&self.kernel, options)
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The kernel, to change.
    pub fn into_kernel(self) -> Kernel {
        self.kernel
    }
}
